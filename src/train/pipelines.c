/* Pipelines are ranked roughly (rank), and the first are forecast, several at once (try_all). The
 * layout within the stages of the best is searched, and that of pipelines like it (search_layouts);
 * what is best then is tried with other schedules and more micro-batches (refine). */
#include "train/pipelines.h"

#include "base/clock.h"
#include "base/each.h"
#include "graph/op.h"
#include "graph/shorten.h"
#include "placement/speed.h"
#include "plan/stages.h"
#include "planners/floor.h"
#include "reshard/move.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 4096,
    FORECAST = 4,
    KEPT = 3,
    MOST_STAGES = 64,
    MOST_MICRO = 4096,
    MOST_TRIED = 40,
    MOST_AT_ONCE = 5,
    MOST_SPARED = 5
};
static const double HOPEFUL = 1.3; /* times the best plan: pipelines to start from */

/* A pipeline: `stages` x `tensor` x `data` devices. */
typedef struct pipe {
    int stages, tensor, data;
    int64_t micro;
    int again;          /* so many blocks are recomputed                                */
    bool searched;      /* its layout is: of these, stages and micro-batches are given  */
    const char *extra;  /* words beside these                                           */
    double seconds;     /* roughly                                                      */
    const pl_found *as; /* of searched ones: of the request                             */
    const char *spared; /* "8-3": so many blocks are recomputed at each place, instead
                           (recompute=stages:); NULL: none                              */
} pipe;

/* Sums over the graph of a whole batch. */
typedef struct sums {
    double flops;   /* of a step                              */
    double weights; /* bytes of these,                        */
    double kept;    /* of what the backward pass reads,       */
    double passing; /* and of what goes from block to block   */
    double kernels; /* in one micro-batch                     */
    int blocks;
} sums;

/* What a pipeline takes. */
typedef struct taken {
    pipe of;
    double seconds;           /* of a step */
    int n;                    /* 0: nobody said */
    double peak[MOST_STAGES]; /* [n] bytes at each place */
} taken;

typedef struct trial {
    pipe of;
    const char *text;
    pl_graph *graph;
    pl_found *found;
    pl_arena *arena;
} trial;

typedef struct search {
    const pl_plan_request *r;
    const pl_trained *t;
    pl_arena *arena;
    const pl_cluster *c;
    pl_speed speed;
    double memory; /* bytes of a device */
    bool masters;  /* of 16-bit weights */
    int64_t batch;
    double until; /* by the clock: what is not looked at by then is not */
    sums sum;
    struct {
        int n;
        int made; /* the first so many */
        int64_t micro[64];
        pl_graph *graph[64];
        pl_arena *arena[64]; /* of those that are not made */
    } graphs;
    pl_found *best;
    pl_paths *paths; /* that plans on the same meshes found */
    int n_trials, tried;
    const char *asked[MOST_TRIED]; /* [tried] */
    trial trial[KEPT + 1];         /* [n_trials] the fastest that fits first */
    taken large;                   /* of those that do not, and recompute nothing, the fastest */
    taken spared;                  /* the last one that spares its places                      */
} search;

/* -- roughly ----------------------------------------------------------------------------------- */

/* Bytes that forward nodes make and backward ones read; and the least that passes a place in the
 * middle half of the forward pass. */
static void add_bytes(const pl_graph *g, sums *s, pl_arena *tmp)
{
    const int n = pl_graph_forward(g);
    int *last = PL_NEW_N(tmp, int, g->values.n + 1), *ahead = PL_NEW_N(tmp, int, g->values.n + 1);
    double *change = PL_NEW_N(tmp, double, n + 2), now = 0, least = INFINITY;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const int v = g->nodes.at[i]->in[k]->id;
            last[v] = i;
            if (i < n) ahead[v] = i;
        }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        const double bytes = (double)pl_value_bytes(v);
        if (v->kind == PL_WEIGHT && v->role == PL_STATE) s->weights += bytes;
        if (!v->maker || v->maker->id >= n || pl_graph_state(v)) continue;
        if (last[i] >= n) s->kept += bytes;
        if (ahead[i] <= v->maker->id) continue;
        change[v->maker->id + 1] += bytes;
        change[ahead[i] + 1] -= bytes;
    }
    for (int i = 1; i < n; i++) {
        now += change[i];
        if (i > n / 4 && i < 3 * n / 4) least = fmin(least, now);
    }
    s->passing = isfinite(least) ? least : 0;
}

static sums sum_up(const pl_graph *g, pl_arena *arena)
{
    const pl_fold fold = pl_fold_find(g, arena);
    sums s = { .flops = pl_graph_flops(g), .blocks = pl_fold_copies(&fold) };
    add_bytes(g, &s, arena);
    for (int i = 0; i < g->nodes.n; i++) s.kernels += g->nodes.at[i]->phase != PL_UPDATE;
    return s;
}

/* Bytes of the device that holds most. */
static double rough_memory(const search *x, const pipe *p)
{
    const double shares = (double)p->stages * p->tensor, rows = (double)p->micro * p->data;
    const double under_way = fmin((double)p->micro, p->stages);
    const double kept = p->again ? x->sum.passing * x->sum.blocks : x->sum.kept / p->tensor;
    const double wide = x->masters ? 2 : 1, moments = x->masters ? 3 : 2; /* f32 to a weight's */
    return x->sum.weights / shares * (1 + (p->micro > 1 ? wide : 0)) +
           x->sum.weights * wide * moments / shares / p->data + kept / rows * under_way / p->stages;
}

static double rough_seconds(const search *x, const pipe *p, const pl_mesh *m)
{
    const int pipe_axis = pl_mesh_find(m, PL_STAGE_AXIS), tensor = pl_mesh_find(m, "tensor"),
              data = pl_mesh_find(m, "data");
    const double n = (double)p->micro, part = x->sum.passing / (n * p->data);
    const double flops = fmax(x->speed.flops[PL_F32], x->speed.flops[PL_BF16]);
    double micro =
        x->sum.flops * (p->again ? 4. / 3 : 1) / flops / n / p->data / p->tensor / p->stages +
        x->sum.kernels * x->speed.start / p->stages;
    if (tensor >= 0) {
        const int64_t bytes = pl_move_volume(PL_ALL_REDUCE, p->tensor, (int64_t)part, 1);
        micro += (p->again ? 6 : 4) * x->sum.blocks / (double)p->stages *
                 pl_move_seconds(PL_ALL_REDUCE, m, 1u << tensor, bytes);
    }
    if (pipe_axis >= 0) micro += pl_move_seconds(PL_PERMUTE, m, 1u << pipe_axis, (int64_t)part);
    double step = micro * (n + p->stages - 1);
    if (data >= 0) {
        const int64_t bytes = pl_move_volume(PL_ALL_REDUCE, p->data,
                                             (int64_t)(x->sum.weights / p->stages / p->tensor), 1);
        step += pl_move_seconds(PL_ALL_REDUCE, m, 1u << data, bytes);
    }
    return step;
}

static const char *text_of(const search *x, const pipe *p)
{
    pl_text t = { .arena = x->arena };
    const char *comma = *p->extra ? "," : "";
    pl_text_add(&t, "pp=%d", p->stages);
    if (p->searched) {
        pl_text_add(&t, "%s%s,micro=%lld,auto", comma, p->extra, (long long)p->micro);
        return pl_text_get(&t);
    }
    if (p->tensor > 1) pl_text_add(&t, ",tp=%d,sp", p->tensor);
    if (p->data > 1)
        pl_text_add(&t, ",zero=1");
    else if (x->masters)
        pl_text_add(&t, ",masters"); /* which are a part of zero=1 */
    if (p->spared)
        pl_text_add(&t, ",recompute=stages:%s", p->spared);
    else if (p->again && p->again < x->sum.blocks)
        pl_text_add(&t, ",recompute=%d", p->again);
    else if (p->again)
        pl_text_add(&t, ",recompute=full");
    pl_text_add(&t, ",micro=%lld%s%s", (long long)p->micro, comma, p->extra);
    return pl_text_get(&t);
}

static bool mesh_of(const search *x, const pipe *p, pl_mesh *m)
{
    pl_strategy s;
    pl_err why = { 0 };
    if (!pl_strategy_parse(text_of(x, p), x->c->n_devices, x->arena, &s, &why)) return false;
    *m = s.mesh;
    return pl_speed_links(m, x->c, &why);
}

static int by_seconds(const void *a, const void *b)
{
    const pipe *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static void add_pipe(const search *x, pipe p, int *n, pipe at[])
{
    pl_mesh m;
    if (*n == MOST || x->batch % (p.micro * p.data) || rough_memory(x, &p) > x->memory) return;
    if (!mesh_of(x, &p, &m)) return;
    p.seconds = rough_seconds(x, &p, &m);
    at[(*n)++] = p;
}

/* All that may fit, the fastest first. */
static int rank(const search *x, pipe at[])
{
    const int devices = x->c->n_devices, near = x->c->level[0].size;
    int n = 0;
    for (int stages = 2; stages <= devices && stages <= MOST_STAGES; stages *= 2)
        for (int tensor = 1; tensor <= devices / stages && tensor <= near; tensor *= 2)
            for (int64_t micro = 2; micro <= x->batch && micro <= MOST_MICRO; micro *= 2)
                for (int again = 0; again < 2 && devices % (stages * tensor) == 0; again++)
                    add_pipe(x,
                             (pipe){ stages, tensor, devices / stages / tensor, micro,
                                     again * (x->sum.blocks > 0 ? x->sum.blocks : 1), false, "",
                                     0 },
                             &n, at);
    qsort(at, (size_t)n, sizeof *at, by_seconds);
    return n;
}

/* -- forecast ---------------------------------------------------------------------------------- */

/* One that is not made yet gets a place. */
static int find_graph(search *x, int64_t micro)
{
    for (int i = 0; i < x->graphs.n; i++)
        if (x->graphs.micro[i] == micro) return i;
    const int k = x->graphs.n++;
    PL_ASSERT_CMP(k, <, 64);
    x->graphs.micro[k] = micro;
    return k;
}

/* Graph i of those that are new. */
static void make_graph(void *with, int i)
{
    search *x = with;
    const int k = x->graphs.made + i;
    pl_err why = { 0 };
    x->graphs.arena[k] = pl_arena_new("graph of a step");
    if (!pl_step_graph(x->t, x->graphs.micro[k], x->graphs.arena[k], &x->graphs.graph[k], &why))
        x->graphs.graph[k] = NULL;
}

static void make_graphs(search *x)
{
    pl_each(x->graphs.n - x->graphs.made, make_graph, x);
    for (; x->graphs.made < x->graphs.n; x->graphs.made++) {
        pl_arena *own = x->graphs.arena[x->graphs.made];
        pl_graph *g = x->graphs.graph[x->graphs.made];
        if (g && g->arena == own) g->arena = x->arena; /* else it was there before */
        pl_arena_adopt(x->arena, own);
    }
}

static pl_graph *graph_of(search *x, int64_t micro)
{
    const int k = find_graph(x, micro);
    make_graphs(x);
    return x->graphs.graph[k];
}

static double seconds_of(const pl_found *f)
{
    return f && f->take->fits ? f->take->forecast.step_seconds : INFINITY;
}

static int by_fit(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    return pl_candidate_order(x->found->take, y->found->take);
}

/* Few are kept. */
static void keep_trial(search *x, const trial *t)
{
    x->trial[x->n_trials++] = *t;
    qsort(x->trial, (size_t)x->n_trials, sizeof *x->trial, by_fit);
    if (x->n_trials > KEPT) pl_arena_free(x->trial[--x->n_trials].arena);
}

static bool is_new(const search *x, const char *text)
{
    for (int i = 0; i < x->tried; i++)
        if (!strcmp(x->asked[i], text)) return false;
    return true;
}

/* Those of n pipelines that nobody tried yet, as far as there is time. */
static int list_trials(search *x, int n, const pipe p[], trial at[])
{
    int count = 0;
    PL_ASSERT_CMP(n, <=, MOST_AT_ONCE);
    for (int i = 0; i < n; i++) {
        const char *text = text_of(x, &p[i]);
        if (x->tried == MOST_TRIED || pl_clock_now() > x->until || !is_new(x, text)) continue;
        x->asked[x->tried++] = text;
        at[count++] = (trial){ .of = p[i], .text = text };
        find_graph(x, p[i].micro);
    }
    make_graphs(x);
    for (int i = 0; i < count; i++) at[i].graph = graph_of(x, at[i].of.micro);
    return count;
}

/* Trials that are made at once. */
typedef struct trials {
    search *x;
    trial *at;
    double beat; /* the same for all: what comes of them does not depend on which ends first */
    pthread_mutex_t lock;
} trials;

/* `beat`: INFINITY is nothing. False: it came to nothing. */
static bool find_trial(const search *x, double beat, trial *t)
{
    pl_plan_request r = *x->r;
    pl_err why = { 0 };
    r.search.watch = NULL; /* which is told of all */
    r.lower.paths = x->paths;
    if (beat < INFINITY) r.beat = beat;
    r.as = t->of.as;
    if (isfinite(x->until)) r.search.seconds = fmax(x->until - pl_clock_now(), 1e-3);
    t->arena = pl_arena_new("pipeline");
    const bool ok = t->graph &&
                    pl_strategy_parse(t->text, x->c->n_devices, t->arena, &r.strategy, &why) &&
                    pl_plan_find(&r, t->graph, t->arena, &t->found, &why);
    if (ok && !t->of.searched) t->found->take->name = r.strategy.text;
    return ok;
}

static taken read_taken(const trial *t)
{
    const pl_candidate *k = t->found->take;
    taken y = { .of = t->of, .seconds = k->forecast.step_seconds };
    if (k->stages) y.n = t->of.stages;
    for (int c = 0; c < y.n; c++) y.peak[c] = (double)k->stages->memory[c].peak;
    return y;
}

/* Of those whose layout is given: these have MOST_STAGES at most. */
static void note_taken(search *x, const trial *t)
{
    if (t->of.searched) return;
    const taken y = read_taken(t);
    const bool all = !t->of.again && !t->of.spared && !t->found->take->fits;
    if (t->of.spared) x->spared = y;
    if (all && y.n && (!x->large.n || y.seconds < x->large.seconds)) x->large = y;
}

static void run_trial(void *with, int i)
{
    trials *all = with;
    trial *t = &all->at[i];
    const bool ok = find_trial(all->x, all->beat, t);
    pthread_mutex_lock(&all->lock);
    if (ok) note_taken(all->x, t);
    if (ok)
        keep_trial(all->x, t);
    else
        pl_arena_free(t->arena);
    pthread_mutex_unlock(&all->lock);
}

/* Seconds of the fastest pipeline that fits; people look for that, too. */
static double best_pipeline(const search *x)
{
    return x->n_trials ? seconds_of(x->trial->found) : INFINITY;
}

/* The one of n pipelines that is the best so far, and not much slower than the best plan: what
 * comes of it may be faster. NULL: none is. */
static const pipe *try_all(search *x, int n, const pipe p[])
{
    trial at[MOST_AT_ONCE];
    const double beat = fmin(best_pipeline(x), HOPEFUL * seconds_of(x->best));
    trials all = { .x = x, .at = at, .beat = beat };
    const int count = list_trials(x, n, p, at);
    pl_watch_tell(x->r->search.watch, "pipelines", x->tried, MOST_TRIED);
    pthread_mutex_init(&all.lock, NULL);
    pl_each(count, run_trial, &all);
    pthread_mutex_destroy(&all.lock);
    const trial *first = x->n_trials ? x->trial : NULL;
    if (!first || seconds_of(first->found) >= all.beat) return NULL;
    if (seconds_of(first->found) < seconds_of(x->best)) x->best = first->found;
    for (int i = 0; i < n; i++)
        if (!strcmp(text_of(x, &p[i]), first->text)) return &p[i];
    return NULL;
}

/* With twice or half as many micro-batches or stages, as long as that is faster. Returns the
 * fastest of all so far, or what it was given. */
static pipe search_layouts(search *x, pipe first)
{
    pipe at = first, best = first;
    at.searched = true, at.data = 1;
    for (bool better = true; better;) {
        const int64_t micro[] = { at.micro, at.micro * 2, at.micro / 2, at.micro, at.micro };
        const int stages[] = { at.stages, at.stages, at.stages, at.stages * 2, at.stages / 2 };
        pipe p[5];
        int n = 0;
        for (int i = 0; i < 5; i++) {
            if (micro[i] < 2 || stages[i] < 2 || x->batch % micro[i] || x->c->n_devices % stages[i])
                continue;
            p[n] = at;
            p[n].micro = micro[i], p[n++].stages = stages[i];
        }
        const pipe *found = try_all(x, n, p);
        better = found;
        if (found) best = at = *found;
    }
    return best;
}

/* -- no more recomputed than it takes ---------------------------------------------------------- */

/* What a pipeline takes that is not to be kept; n 0: there is no such plan. */
static taken measure(search *x, pipe p)
{
    trial t = { .of = p, .text = text_of(x, &p), .graph = graph_of(x, p.micro) };
    const taken y = find_trial(x, INFINITY, &t) ? read_taken(&t) : (taken){ 0 };
    pl_arena_free(t.arena);
    return y;
}

/* "8-3" of 8, 3, 0, 0. */
static const char *say_blocks(const search *x, int n, const int blocks[])
{
    pl_text t = { .arena = x->arena };
    while (n > 1 && !blocks[n - 1]) n--;
    for (int c = 0; c < n; c++) pl_text_add(&t, "%s%d", c ? "-" : "", blocks[c]);
    return pl_text_get(&t);
}

/* So many more as a place lacks memory for. False: none lacks any, or more blocks are no help. */
static bool add_blocks(const search *x, const taken *y, const double each[], int blocks[])
{
    bool any = false;
    for (int c = 0; c < y->n; c++) {
        const double over = y->peak[c] - x->memory;
        if (over <= 0 || each[c] <= 0) continue;
        const int most = x->sum.blocks - blocks[c];
        const int more = (int)fmin(ceil(over / each[c]), most);
        blocks[c] += more;
        any |= more > 0;
    }
    return any;
}

/* May it be that, with so many blocks made again? */
static bool is_hopeful(const search *x, const taken *none, const taken *all, const int blocks[])
{
    double some = 0;
    for (int c = 0; c < none->n; c++) some += blocks[c];
    return none->seconds + (all->seconds - none->seconds) * some / x->sum.blocks < best_pipeline(x);
}

/* Of a pipeline that would keep more than there is room for, each place recomputes as many blocks
 * as it lacks memory for (AdaPipe: Sun et al., ASPLOS 2024); the cut has shorter stages there. */
static void spare(search *x, const taken *none)
{
    pipe p = none->of;
    double each[MOST_STAGES];
    int blocks[MOST_STAGES] = { 0 };
    p.again = x->sum.blocks;
    const taken all = measure(x, p);
    if (all.n != none->n) return;
    for (int c = 0; c < all.n; c++) each[c] = (none->peak[c] - all.peak[c]) * all.n / x->sum.blocks;
    p.again = 0;
    x->spared = *none;
    for (int i = 0; i < MOST_SPARED && add_blocks(x, &x->spared, each, blocks); i++) {
        p.spared = say_blocks(x, all.n, blocks);
        x->spared.n = 0;
        if (!is_hopeful(x, none, &all, blocks)) return;
        (void)try_all(x, 1, &p);
    }
}

/* The fastest that does not fit, if it is faster than those that do; and the best, if it recomputes
 * all. */
static void spare_best(search *x)
{
    const trial *first = x->n_trials ? x->trial : NULL;
    taken none = x->large;
    if (x->sum.blocks < 2) return;
    if (none.n && none.seconds < best_pipeline(x)) spare(x, &none);
    if (!first || !first->found->take->fits || !first->of.again || first->of.searched) return;
    pipe p = first->of;
    p.again = 0;
    none = measure(x, p);
    if (none.n) spare(x, &none);
}

/* What was found for the best pipeline, if its layout was searched: it is kept to the end. NULL:
 * there is none. */
static const pl_found *keep_best(search *x, const pipe *best)
{
    trial *t = x->trial;
    if (!x->n_trials || !best->searched || strcmp(t->text, text_of(x, best)) != 0) return NULL;
    pl_arena_adopt(x->arena, t->arena);
    t->arena = pl_arena_new("pipeline");
    return t->found;
}

enum { PAIRS = 3, FIRST_PAIRS = 2 };

/* The first n pairs of other schedules of a pipeline, two at once: each two have to beat those
 * before. *best becomes the fastest, if that is faster than all so far. */
static void try_schedules(search *x, const pipe *first, const pl_found *as, int n, pipe *best)
{
    static const char *const extra[PAIRS][2] = { { "vpp=2", "vpp=4" },
                                                 { "schedule=zbv", "schedule=search" },
                                                 { "schedule=zb-h1", "schedule=zb-h2" } };
    for (int i = 0; i < n; i++) {
        pipe p[2] = { *first, *first };
        for (int k = 0; k < 2; k++) p[k].extra = extra[i][k], p[k].as = as;
        const pipe *found = try_all(x, 2, p);
        if (found) *best = *found;
    }
}

static bool divides(const search *x, const pipe *p)
{
    return x->batch % (p->micro * p->data) == 0;
}

/* Other schedules; where memory binds first with twice as many micro-batches, which take less of
 * it: others then have to beat these. Then more of the best, as long as that is faster. */
static void refine(search *x, pipe first)
{
    pipe best = first, more = first;
    const pl_found *as = keep_best(x, &first);
    more.micro *= 2;
    if ((!as || as->tight) && divides(x, &more)) try_schedules(x, &more, NULL, FIRST_PAIRS, &best);
    try_schedules(x, &first, as, PAIRS, &best);
    for (const pipe *found = &best; found;) {
        more = best;
        more.micro *= 2, more.as = NULL; /* which is of another graph */
        found = divides(x, &more) ? try_all(x, 1, &more) : NULL;
        if (found) best = *found;
    }
    spare_best(x);
}

/* What was looked at beside it, of pipelines the fastest. */
static void list_others(search *x, pl_found *plain)
{
    pl_found *b = x->best;
    pl_candidate *at = PL_NEW_N(x->arena, pl_candidate, b->n + x->n_trials + 2);
    int n = 0;
    for (int i = 0; i < b->n; i++) at[n++] = b->at[i];
    /* people look for the best plan without stages, and for the best pipeline */
    if (plain && plain != b) at[n] = *plain->take, at[n++].known = true;
    if (x->n_trials) x->trial[0].found->take->known = true;
    for (int i = 0; i < x->n_trials; i++) {
        pl_arena_adopt(x->arena, x->trial[i].arena);
        if (x->trial[i].found == b) continue;
        at[n] = *x->trial[i].found->take;
        at[n].name = x->trial[i].found->strategy.text, at[n++].searched = false;
    }
    qsort(at + 1, (size_t)n - 1, sizeof *at, pl_candidate_order);
    b->at = at, b->n = n, b->take = at;
}

static void search_pipelines(search *x, int n, const pipe at[])
{
    pl_arena *shared = pl_arena_new("paths");
    pl_paths *own = x->r->lower.paths ? NULL : pl_paths_new(shared);
    x->paths = own ? own : x->r->lower.paths;
    const pipe *best = try_all(x, n < FORECAST ? n : FORECAST, at);
    if (n) refine(x, search_layouts(x, best ? *best : *at));
    pl_paths_finish(own);
    pl_arena_adopt(x->arena, shared);
}

bool pl_pipelines_find(const pl_plan_request *r, const pl_trained *t, pl_found *plain,
                       const pl_err *why, pl_arena *arena, pl_found **found, pl_err *err)
{
    const double begun = pl_clock_now();
    search *x = PL_NEW(arena, search);
    pipe *at = PL_NEW_N(arena, pipe, MOST);
    *x = (search){ .r = r, .t = t, .arena = arena, .best = plain };
    x->c = plain ? plain->strategy.cluster : r->cluster;
    x->batch = pl_model_has(t->args, "batch") ? pl_model_int(t->args, "batch") : 1;
    pl_graph *g = graph_of(x, 1);
    const double spent = plain ? plain->seconds : 0;
    x->until = r->search.seconds > 0 ? begun + r->search.seconds - spent : INFINITY;
    if (g && x->c && !pl_step_has_statistics(g)) {
        x->speed = pl_speed_of(x->c);
        x->masters = pl_graph_has_masters(g);
        x->memory = pl_cluster_memory(x->c);
        if (r->search.memory > 0) x->memory = fmin(x->memory, r->search.memory);
        x->sum = sum_up(g, arena);
        search_pipelines(x, rank(x, at), at);
        pl_watch_tell(r->search.watch, NULL, 0, 0);
    }
    if (!x->best) {
        *err = *why;
        return false;
    }
    list_others(x, plain);
    if (x->speed.stream > 0) x->best->floor = pl_floor_of(g, x->c);
    x->best->seconds = spent + pl_clock_now() - begun;
    *found = x->best;
    return true;
}

/* With the smallest number of micro-batches that divides the batch; NULL: there is none. */
static const char *say_stages(const pl_planner *method, int stages, int64_t batch, pl_arena *arena)
{
    int64_t micro = stages > 1 ? method->micro(stages) : 1;
    while (micro < batch && batch % micro) micro++;
    if (batch % micro) return NULL;
    return stages > 1 ? pl_arena_fmt(arena, "pp=%d,schedule=%s,micro=%lld,auto", stages,
                                     method->schedule, (long long)micro)
                      : "micro=1,auto";
}

bool pl_pipelines_method(const pl_plan_request *r, const pl_trained *t, pl_arena *arena,
                         pl_found **found, pl_err *err)
{
    const int64_t batch = pl_model_has(t->args, "batch") ? pl_model_int(t->args, "batch") : 1;
    pl_err first = { 0 };
    *found = NULL;
    for (int stages = 1; stages <= r->strategy.devices; stages *= 2) {
        const char *text = say_stages(r->search.method, stages, batch, arena);
        pl_plan_request one = *r;
        pl_graph *g;
        pl_found *f = NULL;
        pl_err why = { 0 };
        if (!text || r->strategy.devices % stages) continue;
        const bool ok = pl_strategy_parse(text, r->strategy.devices, arena, &one.strategy, &why) &&
                        pl_step_graph(t, one.strategy.micro, arena, &g, &why) &&
                        pl_plan_find(&one, g, arena, &f, &why);
        if (!ok && !first.code) first = why;
        if (ok && seconds_of(f) < seconds_of(*found)) *found = f;
    }
    if (!*found) *err = first;
    return *found;
}
