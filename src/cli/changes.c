#include "cli/changes.h"

#include "planners/eviction.h"
#include "train/step.h"

#include <math.h>
#include <string.h>

enum { MOST_TIMES = 64, MOST_DOUBLES = 3 };

/* -- nothing fits ------------------------------------------------------------------------------ */

/* So many times as many of the outermost groups. */
static bool grow(const pl_cluster *c, int times, pl_arena *a, pl_cluster *out)
{
    pl_err why = { 0 };
    *out = *c;
    out->level = PL_NEW_N(a, pl_level, c->n_levels);
    out->part = PL_NEW_N(a, pl_part, c->n_parts + 1);
    memcpy(out->level, c->level, (size_t)c->n_levels * sizeof *c->level);
    for (int i = 0; i < c->n_parts; i++)
        out->part[i] = (pl_part){ c->part[i].class, c->part[i].count * times };
    out->level[c->n_levels - 1].size *= times;
    return pl_cluster_finish(out, a, &why);
}

/* The batch, halved as often as it takes; 0: by its last two halves none is small enough, as what
 * does not depend on it is too large. */
static int64_t find_batch(pl_job_args *args, const char *spec, const pl_job *j, pl_arena *arena)
{
    const int64_t rows = pl_job_rows(j);
    double before = INFINITY, over;
    for (int64_t batch = rows / 2; batch >= 1; batch /= 2) {
        pl_job less;
        pl_err why = { 0 };
        args->sizes.batch = batch;
        pl_watch_tell(j->request.search.watch, "nothing fits: trying --batch", (int)batch,
                      (int)rows);
        if (!pl_job_args_open(args, spec, arena, &less, &why)) break;
        if (pl_plan_can_fit(&less.request, less.graph, &over)) return batch;
        if (before < INFINITY && 2 * over - before > 0) break;
        before = over;
    }
    return 0;
}

void pl_changes_add(const pl_job_args *a, const char *spec, const pl_job *j, pl_arena *arena,
                    pl_err *err)
{
    pl_text text = { .arena = arena };
    pl_err found = *err;
    double over;
    pl_job_args args = *a;
    const int64_t batch = find_batch(&args, spec, j, arena);
    if (batch) pl_text_add(&text, "; it fits with --batch %lld", (long long)batch);
    for (int times = 2; times <= MOST_TIMES; times *= 2) {
        pl_cluster more;
        if (!grow(j->request.cluster, times, arena, &more)) break;
        pl_watch_tell(j->request.search.watch, "nothing fits: trying times the devices", times,
                      MOST_TIMES);
        pl_plan_request r = j->request;
        r.cluster = &more;
        if (!pl_plan_can_fit(&r, j->graph, &over)) continue;
        pl_text_add(&text, "%s on %d such devices", text.n ? ", or" : "; it fits", more.n_devices);
        break;
    }
    pl_watch_tell(j->request.search.watch, NULL, 0, 0);
    *err = (pl_err){ 0 };
    const int room = (int)(sizeof err->msg - 1 - text.n); /* the changes are short */
    pl_err_set(err, found.code, "%.*s%s", room, found.msg, pl_text_get(&text));
}

/* -- a strategy does not fit ------------------------------------------------------------------- */

/* What is tried, each alone and in micro-batches, until one alone fits: the next ones do more. */
static const char *const words[] = { "", "recompute=full", "recompute=full,offload=optimizer",
                                     "recompute=full,offload=all",
                                     "recompute=full,offload=weights,offload=updates" };
enum { N_WORDS = sizeof words / sizeof *words };
static const char blocks[] = "recompute=full";

typedef struct change {
    const pl_job *j;
    const char *strategy;
    pl_arena *out;
    int64_t rows; /* of a step */
    double step;  /* INFINITY: nothing fits yet */
    const char *best;
    double peak;
} change;

static bool has(const char *strategy, const char *word)
{
    const size_t n = strcspn(word, "=") + 1;
    for (const char *at = strategy; at; at = pl_text_after(at, ','))
        if (!strncmp(at, word, n)) return true;
    return false;
}

/* Is any of a list of words given already? */
static bool is_given(const char *strategy, const char *list)
{
    for (const char *at = list; *list && at; at = pl_text_after(at, ','))
        if (has(strategy, at)) return true;
    return false;
}

static const char *join(const change *x, const char *more, int64_t micro)
{
    const char *text = pl_arena_fmt(x->out, "%s%s%s", x->strategy, *more ? "," : "", more);
    return micro > 1 ? pl_arena_fmt(x->out, "%s,micro=%lld", text, (long long)micro) : text;
}

/* Bytes that it takes, and of these those that lie there from step to step; false: it cannot be. */
static bool try_words(change *x, const char *text, double *peak, double *states)
{
    pl_arena *tmp = pl_arena_new("a change");
    pl_job j = *x->j;
    pl_found *f;
    pl_err why = { 0 };
    j.request.sketch = true;
    const bool ok = pl_job_find(&j, text, tmp, &f, &why);
    if (ok) {
        const pl_forecast *k = &f->take->forecast;
        *peak = (double)k->memory.peak;
        *states = (double)(k->memory.weights + k->memory.optimizer + k->memory.buffers);
        if (f->take->fits && k->step_seconds < x->step)
            x->step = k->step_seconds, x->best = text, x->peak = *peak;
    }
    pl_arena_free(tmp);
    return ok;
}

/* With what our policy of eviction makes of it (policies/). */
static void try_evicted(change *x)
{
    const pl_job *j = x->j;
    const char *text = pl_arena_fmt(x->out, "%s --evict pleat", x->strategy), *best = x->best;
    pl_job evicted = *j;
    double peak, states;
    evicted.request.evict = "pleat";
    x->j = &evicted;
    if (try_words(x, x->strategy, &peak, &states) && x->best != best) x->best = text;
    x->j = j;
}

/* In as many micro-batches as it takes, by what one of them holds. */
static void try_micro(change *x, const char *more, double limit, double peak, double states)
{
    int64_t micro = 1;
    for (int i = 0; i < MOST_DOUBLES && peak > limit && states < limit; i++) {
        const int64_t last = micro;
        const double parts = (double)last * (peak - states) / (limit - states);
        while (micro <= x->rows && ((double)micro < parts || micro == last)) micro *= 2;
        if (micro > x->rows || x->rows % micro) return;
        if (!try_words(x, join(x, more, micro), &peak, &states)) return;
    }
}

/* Without recomputing, where that is said already or there are no blocks; NULL: nothing is left. */
static const char *leave_blocks(const char *list)
{
    const size_t n = strlen(blocks);
    if (strncmp(list, blocks, n) != 0) return list;
    return list[n] ? list + n + 1 : NULL;
}

static void try_each(change *x, double limit, const pl_forecast_memory *m, bool splits)
{
    bool plain = has(x->strategy, blocks);
    for (int i = 0; i < N_WORDS; i++) {
        const char *more = plain ? leave_blocks(words[i]) : words[i];
        double peak = (double)m->peak;
        double states = (double)(m->weights + m->optimizer + m->buffers);
        pl_watch_tell(x->j->request.search.watch, "it does not fit: trying changes", i + 1,
                      N_WORDS);
        if (!more || is_given(x->strategy, more)) continue;
        if (*more && !try_words(x, join(x, more, 1), &peak, &states)) {
            plain |= !strcmp(more, blocks);
            continue;
        }
        if (peak <= limit) break;
        if (splits) try_micro(x, more, limit, peak, states);
    }
    if (x->j->graph->nodes.n <= PL_EVICTION_NODES) try_evicted(x);
}

/* What one finds of the ways between placements the others know. */
static void try_all(change *x, double limit, const pl_forecast_memory *m, bool splits)
{
    pl_arena *shared = pl_arena_new("paths");
    const pl_job *plain = x->j;
    pl_job j = *plain;
    pl_paths *own = j.request.lower.paths ? NULL : pl_paths_new(shared);
    if (own) j.request.lower.paths = own;
    x->j = &j;
    try_each(x, limit, m, splits);
    pl_watch_tell(j.request.search.watch, NULL, 0, 0);
    x->j = plain;
    pl_paths_finish(own);
    pl_arena_free(shared);
}

const char *pl_changes_words(const pl_job *j, const pl_found *found, const char *strategy,
                             pl_arena *out)
{
    const pl_forecast_memory *m = &found->take->forecast.memory;
    change x = {
        .j = j, .strategy = strategy, .out = out, .rows = pl_job_rows(j), .step = INFINITY
    };
    const double limit = pl_candidate_limit(found, found->take);
    if ((double)m->peak <= limit) return NULL; /* of the host it takes too much */
    const bool splits = !has(strategy, "micro=") && !pl_step_has_statistics(j->graph);
    try_all(&x, limit, m, splits);
    const char *over = pl_text_size(out, (double)m->peak - limit);
    if (!x.best)
        return pl_arena_fmt(out,
                            "it does not fit, by %s, nor with blocks recomputed, nor with "
                            "states and activations on the host%s",
                            over, splits ? ", nor in micro-batches" : "");
    return pl_arena_fmt(out, "it does not fit, by %s; --strategy %s does: %s, %.3f ms a step", over,
                        x.best, pl_text_size(out, x.peak), 1e3 * x.step);
}
