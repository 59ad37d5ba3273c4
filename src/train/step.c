/* Read pl_step_find(): where auto is to say how many micro-batches, the smallest number with which
 * something fits (find_fitting), then more of them as long as that is faster (find_fastest), and at
 * last some between (find_better). */
#include "train/step.h"

#include "base/clock.h"
#include "plan/file.h"
#include "train/pipelines.h"

#include <math.h>

bool pl_step_settle(pl_strategy *s, int64_t *micro, pl_optim *optim, pl_arena *arena, pl_err *err)
{
    PL_TRY(pl_strategy_read(s, arena, err));
    if (*micro && s->micro && *micro != s->micro)
        return pl_err_set(err, PL_EUSAGE, "--micro %lld, and strategy '%s' has %lld micro-batch%s",
                          (long long)*micro, s->text, (long long)s->micro,
                          s->micro == 1 ? "" : "es");
    if (!s->micro) s->micro = *micro;
    *micro = s->micro ? s->micro : 1;
    optim->masters = s->masters;
    if (!optim->objectives && s->file) optim->objectives = s->file->about.objectives;
    const char *cache = s->file ? s->file->about.cache : "";
    return !*cache || pl_cached_are(&optim->cache) || pl_cached_parse(cache, &optim->cache, err);
}

static pl_graph *find_made(const pl_trained *t, int64_t micro)
{
    const pl_steps *s = t->made;
    for (int i = 0; s && i < s->n; i++)
        if (s->at[i].micro == micro && s->at[i].masters == t->optim->masters) return s->at[i].graph;
    return NULL;
}

static void keep_made(const pl_trained *t, int64_t micro, const pl_arena *arena, pl_graph *g)
{
    pl_steps *s = t->made;
    if (!s || s->arena != arena || s->n == PL_MOST_STEPS) return;
    s->at[s->n].micro = micro;
    s->at[s->n].masters = t->optim->masters;
    s->at[s->n++].graph = g;
}

bool pl_step_graph(const pl_trained *t, int64_t micro, pl_arena *arena, pl_graph **g, pl_err *err)
{
    pl_model_args args;
    if ((*g = find_made(t, micro))) return true;
    PL_TRY(pl_optim_micro(t->args, micro, arena, &args, err));
    pl_builder b = pl_optim_step(&args, t->optim, micro, arena);
    PL_TRY(pl_builder_done(&b, g, err));
    keep_made(t, micro, arena, *g);
    return true;
}

/* -- numbers ----------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 256, MOST_BETWEEN = 3, MOST_RISES = 2 };

typedef struct numbers {
    const pl_plan_request *r;
    const pl_trained *t;
    pl_arena *arena;
    double begun;
    int n;
    int64_t at[MOST_NUMBERS];      /* that divide the batch, ascending */
    pl_found *found[MOST_NUMBERS]; /* NULL: not tried                 */
    pl_err why[MOST_NUMBERS];      /* that it came to nothing         */
    double seconds[MOST_NUMBERS];  /* of its plan, or about; INFINITY: nothing of use was found */
    int best;                      /* -1: none yet                    */
    bool blocks;                   /* as pl_plan_request's            */
} numbers;

bool pl_step_has_statistics(const pl_graph *g)
{
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->kind <= PL_ROWS && g->values.at[i]->next) return true;
    return false;
}

static void list_numbers(numbers *x, int64_t batch)
{
    for (int64_t k = 1; k <= batch && x->n < MOST_NUMBERS; k++)
        if (batch % k == 0) x->at[x->n++] = k;
}

/* The first that is at least twice as many; x->n: there is none. */
static int find_double(const numbers *x, int i)
{
    int next = i + 1;
    while (next < x->n && x->at[next] < 2 * x->at[i]) next++;
    return next;
}

/* Of the seconds that the request gives. */
static double seconds_left(const numbers *x)
{
    const double all = x->r->search.seconds;
    return all > 0 ? all - (pl_clock_now() - x->begun) : INFINITY;
}

/* False: an error that no other number mends. A model from a file may take no other batch: then
 * there are no more numbers. */
static bool try_number(numbers *x, int i, pl_err *err)
{
    pl_plan_request r = *x->r;
    pl_graph *g;
    r.blocks = x->blocks;
    if (r.search.seconds > 0) r.search.seconds = fmax(seconds_left(x), 1e-3);
    x->seconds[i] = INFINITY;
    if (x->best >= 0) r.beat = x->seconds[x->best], r.like = x->found[x->best];
    /* of the last number there is to be told what lacks; the least is of activations on the
     * device */
    r.hasty = i < x->n - 1 && !(x->best >= 0 && x->found[x->best]->take->forecast.memory.host);
    if (!pl_step_graph(x->t, x->at[i], x->arena, &g, &x->why[i])) {
        x->n = i;
        if (i > 0) return true;
        *err = x->why[i];
        return false;
    }
    if (pl_plan_find(&r, g, x->arena, &x->found[i], &x->why[i])) {
        x->seconds[i] = x->found[i]->take->forecast.step_seconds;
        if (x->best < 0 || x->seconds[i] < x->seconds[x->best]) x->best = i;
        return true;
    }
    if (x->found[i] && x->found[i]->outlined)
        x->seconds[i] = r.beat * x->found[i]->outline / r.like->outline;
    if (x->why[i].code == PL_EINFEASIBLE) return true;
    *err = x->why[i];
    return false;
}

/* The first number after i that may be enough, by the least memory that the last two took: of that
 * a part is the same for any number, and the rest shared out among the micro-batches. (Of one alone
 * no sums of gradients are a part.) */
static int guess_next(const numbers *x, int before, int i)
{
    const double limit = x->found[i]->limit, last = x->found[i]->least, n = (double)x->at[i];
    double same = 0, each = last * n; /* each: of all micro-batches together */
    if (before >= 0 && x->at[before] > 1) {
        const double m = (double)x->at[before];
        each = fmax(0, (x->found[before]->least - last) / (1 / m - 1 / n));
        same = last - each / n;
    }
    int next = i + 1;
    while (next < x->n - 1 && same + each / (double)x->at[next] > limit) next++;
    return next;
}

/* The smallest with which anything fits, as far as guesses go. */
static bool find_fitting(numbers *x, pl_err *err)
{
    int before = -1, i = 0;
    PL_TRY(try_number(x, 0, err));
    while (x->best < 0 && i < x->n - 1) {
        const int next = guess_next(x, before, i);
        before = i, i = next;
        PL_TRY(try_number(x, i, err));
    }
    if (x->best < 0) *err = x->why[i < x->n ? i : before];
    return x->best >= 0;
}

/* Does its plan spend time to take less memory? */
static bool is_paid_for(const pl_found *b)
{
    return b->take->forecast.again_seconds > 0 || b->take->forecast.memory.host > 0;
}

/* Are more micro-batches than these no use? Then memory does not bind, or what takes less of it is
 * slower though it neither recomputes nor copies. */
static bool is_enough(const numbers *x, int i)
{
    const pl_found *b = x->found[i], *best = x->found[x->best];
    if (b->beaten || !best->tight) return true;
    return i != x->best && (!is_paid_for(best) || (!x->why[i].code && !is_paid_for(b)));
}

/* More micro-batches take less memory and more time: worth a look as long as memory binds. Twice as
 * many may be slower, and four times as many not: they have none of the blocks to recompute that
 * few have. So two in a row have to be slower than the best. */
static bool find_fastest(numbers *x, pl_err *err)
{
    int i = x->best, rises = 0;
    while (!is_enough(x, i) && rises < MOST_RISES && (i = find_double(x, i)) < x->n) {
        if (seconds_left(x) < 0) break;
        PL_TRY(try_number(x, i, err));
        if (i >= x->n) break;
        rises = x->best == i ? 0 : rises + 1;
    }
    return true;
}

/* The middle one between the best and the next that was tried, up or down; the best: none. */
static int find_between(const numbers *x, int by)
{
    int end = x->best + by;
    while (end >= 0 && end < x->n && !x->found[end]) end += by;
    return end < 0 || end == x->n ? x->best : x->best + (end - x->best) / 2;
}

/* Numbers that are no powers of two. */
static bool find_better(numbers *x, pl_err *err)
{
    for (int k = 0; k < MOST_BETWEEN && seconds_left(x) > 0; k++) {
        int i = find_between(x, 1);
        if (i == x->best) i = find_between(x, -1);
        if (i == x->best) break;
        PL_TRY(try_number(x, i, err));
    }
    return true;
}

static void note_tried(const numbers *x, pl_found *b)
{
    pl_tried *tried = PL_NEW_N(x->arena, pl_tried, x->n);
    for (int i = 0; i < x->n; i++) {
        const pl_found *f = x->found[i];
        if (!f) continue;
        const bool fits = !x->why[i].code || f->beaten || f->outlined;
        const bool about = f->outlined || f->rough || (f->unevicted && f != b);
        tried[b->n_tried++] = (pl_tried){ x->at[i], x->seconds[i], fits, about };
    }
    b->tried = tried;
    b->seconds = pl_clock_now() - x->begun;
}

/* With eviction, where that was left out; what is no faster then stays. */
static bool refine_best(numbers *x, pl_err *err)
{
    pl_plan_request r = *x->r;
    pl_found *evicted, *before = x->found[x->best];
    pl_err why = { 0 };
    if (!before->unevicted || seconds_left(x) < 0) return true;
    if (r.search.seconds > 0) r.search.seconds = fmax(seconds_left(x), 1e-3);
    if (!pl_plan_evict(&r, before, x->arena, &evicted, &why)) {
        if (why.code != PL_EINFEASIBLE) *err = why;
        return why.code == PL_EINFEASIBLE;
    }
    const double seconds = evicted->take->forecast.step_seconds;
    if (seconds < x->seconds[x->best]) x->found[x->best] = evicted, x->seconds[x->best] = seconds;
    return true;
}

/* Numbers are compared without eviction, unless nothing fits that does without. */
static bool find_first(numbers *x, pl_err *err)
{
    bool unevicted = false;
    x->blocks = x->n > 1;
    if (find_fitting(x, err)) return true;
    for (int i = 0; i < x->n; i++) unevicted |= x->found[i] && x->found[i]->unevicted;
    if (err->code != PL_EINFEASIBLE || !unevicted) return false;
    *err = (pl_err){ 0 };
    x->blocks = false;
    return find_fitting(x, err);
}

static bool find_number(numbers *x, pl_found **found, pl_err *err)
{
    PL_TRY(find_first(x, err) && find_fastest(x, err));
    if (x->best || x->found[0]->tight) PL_TRY(find_better(x, err));
    PL_TRY(refine_best(x, err));
    *found = x->found[x->best];
    if (x->best || (*found)->tight) note_tried(x, *found);
    return true;
}

/* -- the entry --------------------------------------------------------------------------------- */

static bool find_as(pl_plan_request r, const pl_trained *t, pl_arena *arena, pl_found **found,
                    pl_err *err)
{
    const pl_strategy *s = &r.strategy;
    pl_steps made = { .arena = arena };
    const pl_trained once = { t->args, t->optim, t->made ? t->made : &made };
    pl_graph *g;
    t = &once;
    PL_TRY(pl_step_graph(t, s->micro ? s->micro : 1, arena, &g, err));
    if (!s->automatic || s->micro || r.search.method || pl_step_has_statistics(g))
        return pl_plan_find(&r, g, arena, found, err);
    numbers *x = PL_NEW(arena, numbers);
    *x = (numbers){ .r = &r, .t = t, .arena = arena, .begun = pl_clock_now(), .best = -1 };
    list_numbers(x, pl_model_has(t->args, "batch") ? pl_model_int(t->args, "batch") : 1);
    pl_arena *shared = pl_arena_new("paths");
    pl_paths *own = r.lower.paths ? NULL : pl_paths_new(shared);
    if (own) r.lower.paths = own;
    const bool ok = find_number(x, found, err);
    pl_paths_finish(own);
    pl_arena_adopt(arena, shared);
    return ok;
}

/* Is auto to say whether 16-bit weights have masters? Published searches know none. */
static bool may_have_masters(const pl_plan_request *r, const pl_trained *t)
{
    return r->strategy.automatic && !r->strategy.masters && !r->search.method &&
           pl_model_type(t->args) != PL_F32;
}

/* With masters there is less to cast and more to store, 2 bytes for each parameter that a device
 * holds: where memory binds, either is within a percent of the other as seen. So auto has them, but
 * where nothing fits then. */
static bool find_plain(const pl_plan_request *r, const pl_trained *t, pl_arena *arena,
                       pl_found **found, pl_err *err)
{
    pl_plan_request known = *r;
    PL_TRY(pl_strategy_read(&known.strategy, arena, err));
    pl_optim optim = *t->optim;
    const pl_trained with = { t->args, &optim, t->made };
    const bool both = may_have_masters(&known, t);
    pl_err why = { 0 };
    optim.masters = known.strategy.masters || both;
    if (find_as(known, &with, arena, found, both ? &why : err)) return true;
    optim.masters = false;
    if (both && why.code == PL_EINFEASIBLE) return find_as(known, &with, arena, found, err);
    if (both) *err = why;
    return false;
}

/* Pipelines cast in each micro-batch what has no masters. */
static bool find_pipelines(const pl_plan_request *r, const pl_trained *t, pl_found *plain,
                           const pl_err *why, pl_arena *arena, pl_found **found, pl_err *err)
{
    pl_optim optim = *t->optim;
    const pl_trained with = { t->args, &optim, t->made };
    optim.masters = r->strategy.masters || may_have_masters(r, t);
    return pl_pipelines_find(r, &with, plain, why, arena, found, err);
}

bool pl_step_find(const pl_plan_request *r, const pl_trained *t, pl_arena *arena, pl_found **found,
                  pl_err *err)
{
    const bool pipelines =
        r->search.pipelines && r->strategy.automatic && !r->strategy.micro && !r->search.method;
    const bool method = r->search.method && r->search.method->schedule && r->strategy.automatic &&
                        !r->strategy.micro;
    if (method) return pl_pipelines_method(r, t, arena, found, err);
    if (!pipelines) return find_plain(r, t, arena, found, err);
    pl_err why = { 0 };
    pl_found *plain = NULL;
    const bool fits = find_plain(r, t, arena, &plain, &why);
    if (!fits && why.code != PL_EINFEASIBLE) {
        *err = why;
        return false;
    }
    return find_pipelines(r, t, fits ? plain : NULL, &why, arena, found, err);
}
