/* Candidates are lowered and forecast (pl_candidates_add), deep models from few of their blocks;
 * several at once in trials (pl_candidates_try). */
#include "planners/candidates.h"

#include "plan/stages.h"

#include "base/clock.h"
#include "base/each.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* How many times as fast as others devices are at most, whatever they do. */
static double find_speedup(const pl_speed *fast, const pl_speed *slow)
{
    double most = fmax(fast->stream / slow->stream, fast->vector / slow->vector);
    for (int t = 0; t < PL_N_TYPES; t++) most = fmax(most, fast->flops[t] / slow->flops[t]);
    if (fast->start > 0) most = fmax(most, slow->start / fast->start);
    const double share = fmax(fmax(fast->windows / slow->windows, fast->fused / slow->fused),
                              fast->unaligned / slow->unaligned);
    for (int i = 0; i < 2; i++) /* rows once, columns and sums both */
        most *= pow(fmax(1, (double)slow->tile[i] / fmax(1, (double)fast->tile[i])), 1 + i);
    return most * fmax(1, share);
}

/* Places each do a share of what the tables have by the figures of the slowest device: the longest
 * of them takes no less than that over the sum of how many times as fast they are. */
static double count_shares(const pl_cluster *c, int stages, const pl_speed *slowest)
{
    const int n = c->n_devices / stages;
    double sum = 0;
    if (c->n_classes == 1) return stages;
    for (int place = 0; place < stages; place++) {
        const pl_speed speed = pl_speed_among(c, place * n, n);
        sum += find_speedup(&speed, slowest);
    }
    return sum;
}

choosing pl_candidates_open(pl_found *b, const pl_graph *g, const pl_cluster *c,
                            const pl_plan_request *r, pl_arena *out)
{
    choosing x = { .b = b,
                   .g = g,
                   .c = c,
                   .r = r,
                   .lower = r->lower,
                   .speed = pl_speed_of(c),
                   .out = out,
                   .masters = pl_graph_has_masters(g) };
    x.stages = b->strategy.automatic ? pl_strategy_size(&b->strategy, PL_STAGE_AXIS) : 1;
    x.shares = count_shares(c, x.stages, &x.speed);
    x.shared = pl_arena_new("paths");
    if (!x.lower.paths) x.lower.paths = x.own = pl_paths_new(x.shared);
    b->limit = fmin(r->search.memory > 0 ? r->search.memory : INFINITY, pl_cluster_memory(c));
    b->host_limit = pl_cluster_host_memory(c);
    return x;
}

void pl_candidates_close(choosing *x)
{
    pl_paths_finish(x->own);
    pl_arena_adopt(x->out, x->shared);
}

/* The time is over and something fits: what is left is not looked at. */
bool pl_candidates_late(const choosing *x)
{
    const double until = x->b->search ? x->b->search->until : 0;
    bool fits = false;
    if (until <= 0 || pl_clock_now() <= until) return false;
    for (int i = 0; i < x->b->n; i++) fits |= x->b->at[i].fits;
    if (fits) x->b->stopped = true;
    return fits;
}

/* -- candidates -------------------------------------------------------------------------------- */

/* So many equal blocks, and as many more as leave a multiple of `period` out, show what any number
 * of them does. Most programs have a period of 1 or 2 blocks. It takes more blocks where that is 3,
 * 4 or 6, or weights are gathered several blocks ahead. */
static const struct {
    int least, period;
} few_blocks[PL_SAMPLES] = { { 8, 2 }, { 32, 12 }, { 4, 2 } };
enum { BRIEF = 20000, MOST_STRETCHES = 16 };
enum { TRIAL_ROOM = 3 }; /* candidates of a trial, the best so far and those at hand */
static const double SLOW = 1.03, LARGE = 1.5; /* clearly, where few blocks do not tell exactly, */
static const double SLOW_BY_FEWEST = 1.1;     /* and where one number of few is not of many       */
static const double ROOMY = 0.005; /* above its bound, a layout of a brief program is low enough */
static const double MOST_LEFT = 0.8; /* of all blocks: with more it saves nothing                 */

/* What can be left out of blocks [from, to); false: they are few. */
static bool cut_stretch(int from, int to, int length, pl_cut *cut)
{
    const int all = to - from, least = few_blocks[length].least, period = few_blocks[length].period,
              few = least + (all - least) % period;
    if (all < least + period) return false;
    *cut = (pl_cut){ .from = from + few / 2, .to = from + few / 2 + all - few };
    return true;
}

/* The graph with fewer blocks; NULL: there is none that is much smaller. */
static const pl_short *shorten(const choosing *x, int n, const pl_cut cut[])
{
    pl_short *s = PL_NEW(x->out, pl_short);
    const int all = pl_fold_copies(x->fold);
    int left = all;
    for (int i = 0; i < n; i++) left -= cut[i].to - cut[i].from;
    return n && left <= MOST_LEFT * all && pl_graph_shorten(x->g, x->fold, n, cut, x->out, s)
               ? s
               : NULL;
}

/* That for plans that plan all blocks alike. */
static const pl_short *shorten_all(const choosing *x, int length)
{
    pl_cut cut;
    return shorten(x, cut_stretch(0, pl_fold_copies(x->fold), length, &cut), &cut);
}

void pl_candidates_shorten(choosing *x, const pl_fold *fold)
{
    x->fold = fold;
    for (int i = 0; i < PL_FEW_LENGTHS; i++) x->few[i] = shorten_all(x, i);
    if (x->few[0]) x->fewest = shorten_all(x, PL_FEWEST);
}

/* That in which each stretch of blocks that are planned alike has a few of them. */
static const pl_short *cut_stretches(const choosing *x, int length, int all, const pl_cut stretch[])
{
    pl_cut cut[MOST_STRETCHES];
    int n = 0;
    for (int i = 0; i < all && all <= MOST_STRETCHES; i++)
        n += cut_stretch(stretch[i].from, stretch[i].to, length, &cut[n]);
    return shorten(x, n, cut);
}

static const pl_short *shorten_plan(const choosing *x, int length, const pl_plan *plan)
{
    pl_cut stretch[MOST_STRETCHES];
    const int all = pl_plan_stretches(plan, x->fold, MOST_STRETCHES, stretch);
    return all == 1 ? x->few[length] : cut_stretches(x, length, all, stretch);
}

/* As above, without the plan. */
static const pl_short *shorten_answer(const choosing *x, int length, const pl_problem *problem,
                                      const int *value)
{
    const pl_short *usual = x->few[length];
    pl_cut stretch[MOST_STRETCHES];
    const int all = pl_problem_stretches(problem, value, MOST_STRETCHES, stretch);
    const bool inside =
        all == 1 && usual && stretch->from < usual->cut->from && stretch->to > usual->cut->to;
    return inside ? usual : cut_stretches(x, length, all, stretch);
}

/* `out` owns the program. */
static bool lower(const choosing *x, pl_candidate *k, const pl_plan *plan, pl_arena *out,
                  pl_err *err)
{
    pl_program *program;
    pl_lower_options o = x->lower;
    k->brief = x->brief && !o.moves;
    if (k->brief) o.moves = BRIEF, o.slack = ROOMY;
    k->store = pl_store_new(plan, 0, out);
    PL_TRY(pl_program_lower(plan, 0, k->store, &o, out, &program, err));
    k->program = program;
    return true;
}

/* What the program of few blocks takes by itself. */
static pl_sample take_sample(const choosing *x, const pl_candidate *k, const pl_short *s,
                             pl_arena *tmp)
{
    pl_forecast f;
    pl_forecast_make(k->program, &x->speed, tmp, &f);
    return (pl_sample){ s->kept, f.step_seconds, (double)f.memory.peak };
}

/* Forecast from few blocks, as this plan of them has it. False: they do not tell of more than
 * themselves, which is *alone where there is something to beat. */
static bool forecast_few(const choosing *x, pl_candidate *k, const pl_short *s, const pl_plan *few,
                         pl_sample *alone)
{
    pl_err why = { 0 };
    pl_arena *own = pl_arena_new("few blocks");
    const bool lowered = lower(x, k, few, own, &why);
    if (lowered && pl_forecast_fold(k->program, s, &x->speed, own, &k->forecast)) {
        k->program = k->forecast.program;
        pl_arena_adopt(x->out, own);
        return true;
    }
    if (lowered && alone && (x->beat || (x->halfway && x->halfway->only)))
        *alone = take_sample(x, k, s, own);
    k->program = NULL, k->store = NULL;
    pl_arena_free(own);
    return false;
}

pl_sample pl_candidates_about(const choosing *x, const pl_sample few[])
{
    const bool fewest = few[PL_FEWEST].blocks > 0 && !few[1].blocks;
    if (!few[0].blocks) return (pl_sample){ 0, INFINITY, INFINITY };
    const pl_sample *a = &few[fewest ? PL_FEWEST : 0], *b = &few[!fewest && few[1].blocks];
    const double more =
        b == a ? 0 : (double)(pl_fold_copies(x->fold) - b->blocks) / (b->blocks - a->blocks);
    return (pl_sample){ b->blocks, b->seconds + more * (b->seconds - a->seconds),
                        b->bytes + more * (b->bytes - a->bytes) };
}

/* Where few blocks do not tell exactly, they tell about whether more would come near what there is
 * to beat. False: it would not. */
static bool is_promising(const choosing *x, const pl_sample few[static PL_SAMPLES], pl_err *err)
{
    const pl_candidate *beat = x->beat;
    if (!beat || !few[0].blocks) return true;
    const pl_sample about = pl_candidates_about(x, few);
    const double clearly = few[1].blocks ? SLOW : SLOW_BY_FEWEST;
    const bool slow = about.seconds > clearly * beat->forecast.step_seconds,
               large = about.bytes > LARGE * x->b->limit;
    if (!large && !(slow && beat->fits)) return true;
    return pl_err_set(err, PL_EINFEASIBLE,
                      "%d of its blocks say that it takes about %.4g s a step or more, in about %s",
                      about.blocks, about.seconds, pl_text_size(x->out, about.bytes));
}

const char *pl_candidates_mesh_name(const choosing *x, const pl_mesh *stage)
{
    pl_mesh m = *stage;
    if (x->stages > 1) m.axis[pl_mesh_find(&m, PL_STAGE_AXIS)].size = x->stages;
    return pl_mesh_text(&m, x->out);
}

bool pl_candidates_cut(const choosing *x, pl_plan *p, pl_err *err)
{
    if (x->stages == 1) return true;
    p->mesh.axis[pl_mesh_find(&p->mesh, PL_STAGE_AXIS)].size = x->stages;
    p->strategy = x->b->strategy.text;
    return pl_strategy_cut(&x->b->strategy, p, x->out, err);
}

bool pl_candidate_whole(const choosing *x, pl_candidate *k, pl_err *err)
{
    pl_plan *p;
    if (k->plan && k->plan->graph == x->g) {
        if (k->forecast.times) k->store = pl_store_new(k->plan, 0, x->out);
        return true;
    }
    if (k->value) {
        p = pl_problem_plan(k->problem, k->value, NULL, "auto", x->lower.paths, x->out);
        PL_TRY(pl_candidates_cut(x, p, err));
    } else {
        PL_TRY(pl_candidates_plan(x, k->name, x->g, &p, err));
    }
    k->plan = p;
    k->store = pl_store_new(p, 0, x->out);
    return pl_plan_check(p, err);
}

double pl_candidate_limit(const pl_found *b, const pl_candidate *k)
{
    return k->limit > 0 ? k->limit : b->limit;
}

double pl_candidate_excess(const choosing *x, const pl_candidate *k)
{
    return (double)k->forecast.memory.peak - pl_candidate_limit(x->b, k);
}

bool pl_candidate_fits(const choosing *x, const pl_candidate *k)
{
    return pl_candidate_excess(x, k) <= 0 && (double)k->forecast.memory.host <= x->b->host_limit;
}

double pl_candidates_room(const choosing *x, int first, int n)
{
    const double asked = x->r->search.memory > 0 ? x->r->search.memory : INFINITY;
    if (!isfinite(x->b->limit)) return INFINITY;
    return fmin(asked, pl_cluster_memory_among(x->c, first, n));
}

bool pl_candidate_forecast(const choosing *x, pl_candidate *k, pl_err *err)
{
    if (k->plan->stages) return pl_candidate_forecast_stages(x, k, err);
    PL_TRY(lower(x, k, k->plan, x->out, err));
    pl_forecast_make(k->program, &x->speed, x->out, &k->forecast);
    k->fits = pl_candidate_fits(x, k);
    return true;
}

bool pl_candidate_settle(const choosing *x, pl_candidate *k, pl_err *err)
{
    if (!k->brief || k->program->work_bytes == k->program->work_bound) return true;
    if (!k->forecast.few) return pl_candidate_forecast(x, k, err);
    pl_candidate again = *k;
    if (!forecast_few(x, &again, k->forecast.few, k->program->plan, NULL)) return true;
    again.store = k->store; /* the whole one's */
    *k = again;
    return true;
}

/* After few blocks did not tell. */
static bool make_whole(const choosing *x, pl_candidate *k, pl_err *err)
{
    return pl_candidate_whole(x, k, err) && pl_candidate_forecast(x, k, err);
}

static void add_candidate(choosing *x, pl_candidate k)
{
    k.searched = strcmp(k.name, k.plan->strategy) != 0;
    k.fits = pl_candidate_fits(x, &k);
    x->b->at[x->b->n++] = k;
}

bool pl_candidates_add(choosing *x, const char *name, const pl_plan *plan, double bound,
                       pl_err *err)
{
    pl_candidate k = { .name = name, .plan = plan, .bound = bound };
    bool told = false;
    for (int i = x->few_from; i < PL_FEW_LENGTHS && x->few[0] && !plan->stages && !told; i++) {
        const pl_short *s = shorten_plan(x, i, plan);
        const pl_plan *few = s ? pl_plan_shorten(plan, x->fold, s, x->out) : NULL;
        told = few && forecast_few(x, &k, s, few, NULL);
        x->few_from = i;
    }
    if (!told) PL_TRY(pl_candidate_forecast(x, &k, err));
    add_candidate(x, k);
    return true;
}

/* What is known of an answer. False: nothing is. */
static bool recall_answer(const choosing *x, pl_candidate *k)
{
    const size_t n = (size_t)pl_chain_variables(&k->problem->chain);
    for (int i = 0; i < x->n_known; i++) {
        const pl_candidate *known = &x->known[i];
        const bool same = !strcmp(known->name, k->name) &&
                          (size_t)pl_chain_variables(&known->problem->chain) == n &&
                          !memcmp(known->value, k->value, n * sizeof *k->value);
        if (!same) continue;
        const pl_candidate asked = *k;
        *k = *known;
        k->bound = asked.bound, k->problem = asked.problem, k->value = asked.value;
        return true;
    }
    return false;
}

bool pl_candidates_add_answer(choosing *x, const char *name, const pl_auto_mesh *m,
                              const int *value, pl_err *err)
{
    pl_candidate k = {
        .name = name, .bound = m->bound / x->shares, .problem = m->problem, .value = value
    };
    pl_sample few[PL_SAMPLES] = { 0 };
    bool told = recall_answer(x, &k);
    for (int i = 0; i < PL_FEW_LENGTHS && x->few[0] && !told; i++) {
        const pl_short *s = shorten_answer(x, i, m->problem, value);
        if (!s) continue;
        pl_plan *p = pl_problem_plan(m->problem, value, s, "auto", x->lower.paths, x->out);
        PL_TRY(pl_plan_check(p, err));
        k.plan = p;
        told = forecast_few(x, &k, s, p, &few[i]);
        if (!told) PL_TRY(is_promising(x, few, err));
    }
    if (!told) PL_TRY(make_whole(x, &k, err));
    add_candidate(x, k);
    return true;
}

bool pl_candidates_any_memory(const choosing *x, double gap, double target, pl_auto *any,
                              pl_err *err)
{
    *any = *x->plain;
    any->gap = gap, any->target = target;
    any->mesh = PL_NEW_N(x->out, pl_auto_mesh, any->n);
    memcpy(any->mesh, x->plain->mesh, (size_t)any->n * sizeof *any->mesh);
    return pl_auto_again(any, INFINITY, x->out, err);
}

int pl_candidate_order(const void *a, const void *b)
{
    const pl_candidate *x = a, *y = b;
    double p = x->forecast.step_seconds, q = y->forecast.step_seconds;
    if (x->fits != y->fits) return x->fits ? -1 : 1;
    if (p == q) p = x->forecast.device_seconds, q = y->forecast.device_seconds;
    if (p != q) return p < q ? -1 : 1;
    if (x->searched != y->searched) return x->searched ? 1 : -1;
    return strcmp(x->name, y->name);
}

const pl_candidate *pl_candidates_named(const pl_found *b, const char *name)
{
    for (int i = 0; name && i < b->n; i++)
        if (!strcmp(b->at[i].name, name)) return &b->at[i];
    return NULL;
}

const pl_candidate *pl_candidates_best(const pl_found *b)
{
    const pl_candidate *k = NULL;
    for (int i = 0; i < b->n; i++)
        if (b->at[i].fits && (!k || pl_candidate_order(&b->at[i], k) < 0)) k = &b->at[i];
    return k;
}

double pl_candidates_fastest(const pl_found *b)
{
    const pl_candidate *k = pl_candidates_best(b);
    return k ? k->forecast.step_seconds : INFINITY;
}

double pl_candidates_least(const pl_found *b)
{
    double least = INFINITY;
    for (int i = 0; i < b->n; i++) least = fmin(least, b->at[i].forecast.step_seconds);
    return least;
}

double pl_candidates_goal(const choosing *x)
{
    const double fastest = pl_candidates_fastest(x->b);
    return x->r->beat > 0 ? fmin(fastest, x->r->beat) : fastest;
}

/* -- trials ------------------------------------------------------------------------------------ */

/* All trials that are made at once, and how many have begun. */
typedef struct trials {
    int n, begun;
    trial *at;
    const char *what; /* is told of them; NULL: nothing is */
    const pl_watch *watch;
    pthread_mutex_t lock;
} trials;

static void tell_trial(trials *all)
{
    if (!all->what) return;
    pthread_mutex_lock(&all->lock);
    pl_watch_tell(all->watch, all->what, ++all->begun, all->n);
    pthread_mutex_unlock(&all->lock);
}

bool pl_candidates_plan(const choosing *x, const char *text, const pl_graph *g, pl_plan **p,
                        pl_err *err)
{
    pl_strategy s;
    PL_TRY(pl_strategy_parse(text, x->c->n_devices, x->out, &s, err));
    s.cluster = x->c;
    s.paths = x->lower.paths;
    return pl_strategy_plan(&s, g, NULL, x->out, p, err);
}

/* For the line of two small numbers of blocks, where there is something to beat. */
static bool sample_fewest(const choosing *x, const char *text, pl_sample few[], pl_err *err)
{
    pl_candidate k = { .name = text };
    pl_plan *p;
    if (!x->beat || !x->fewest || !few[0].blocks) return true;
    pl_arena *own = pl_arena_new("fewest blocks");
    const bool ok =
        pl_candidates_plan(x, text, x->fewest->graph, &p, err) && lower(x, &k, p, own, err);
    if (ok) few[PL_FEWEST] = take_sample(x, &k, x->fewest, own);
    pl_arena_free(own);
    return ok;
}

/* A layout does with many blocks what it does with few: the whole plan is made when it is taken. */
bool pl_candidates_add_layout(choosing *x, const char *text, pl_err *err)
{
    pl_candidate k = { .name = text };
    pl_halfway once = { 0 }, *half = x->halfway ? x->halfway : &once;
    pl_sample *few = half->few;
    bool told = false;
    for (int i = 0; i < (half->only ? 1 : PL_FEW_LENGTHS) && x->few[i] && !told; i++) {
        if (!few[i].blocks) {
            pl_plan *p;
            PL_TRY(pl_candidates_plan(x, text, x->few[i]->graph, &p, err));
            if (p->stages) break; /* blocks are of different stages */
            k.plan = p;
            told = forecast_few(x, &k, x->few[i], p, &few[i]);
        }
        if (!told) PL_TRY((i || sample_fewest(x, text, few, err)) && is_promising(x, few, err));
    }
    half->left = half->only && !told;
    if (half->left) return pl_err_set(err, PL_EUNSUPPORTED, "few of its blocks do not tell");
    if (!told) PL_TRY(make_whole(x, &k, err));
    add_candidate(x, k);
    return true;
}

static void make_trial(void *with, int i)
{
    trials *all = with;
    trial *t = &all->at[i];
    tell_trial(all);
    t->made = (pl_found){ .strategy = t->x.b->strategy,
                          .search = t->x.b->search,
                          .limit = t->x.b->limit,
                          .host_limit = t->x.b->host_limit };
    t->made.at = PL_NEW_N(t->x.out, pl_candidate, TRIAL_ROOM);
    t->x.b = &t->made;
    (void)!t->make(&t->x, t, &t->why);
}

void pl_candidates_try(const choosing *x, const pl_candidate *beat, int n, trial t[],
                       const char *what)
{
    trials all = { .n = n, .at = t, .what = what, .watch = x->b->search->watch };
    for (int i = 0; i < n; i++) {
        t[i].x = *x;
        t[i].x.beat = beat;
        t[i].x.out = pl_arena_new("trial");
    }
    pthread_mutex_init(&all.lock, NULL);
    pl_each(n, make_trial, &all);
    pthread_mutex_destroy(&all.lock);
}

/* What a trial made becomes *to, one of x's. */
void pl_candidates_take(choosing *x, trial *t, pl_candidate *to)
{
    *to = *t->made.at;
    pl_arena_adopt(x->out, t->x.out);
}
