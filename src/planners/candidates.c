/* Candidates are lowered and forecast (pl_candidates_add), deep models from few of their blocks;
 * several at once in trials (pl_candidates_try). */
#include "planners/candidates.h"

#include "base/clock.h"
#include "base/each.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

choosing pl_candidates_open(pl_found *b, const pl_graph *g, const pl_cluster *c,
                            const pl_plan_request *r, pl_arena *out)
{
    choosing x = {
        .b = b, .g = g, .c = c, .r = r, .lower = r->lower, .speed = pl_speed_of(c), .out = out
    };
    if (!x.lower.paths) x.lower.paths = pl_paths_new(out);
    b->limit = fmin(r->search.memory > 0 ? r->search.memory : INFINITY, pl_cluster_memory(c));
    return x;
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

/* So many equal blocks show what any number of them does, where the periods of their program are of
 * 1 to 4 or 6 blocks: what is left out is a multiple of all. */
enum { FEW_BLOCKS = 8, PERIODS = 12, MOST_STRETCHES = 16 };

/* What can be left out of blocks [from, to); false: they are few. */
static bool cut_stretch(int from, int to, pl_cut *cut)
{
    const int all = to - from, few = FEW_BLOCKS + (all - FEW_BLOCKS) % PERIODS;
    if (all < FEW_BLOCKS + PERIODS) return false;
    *cut = (pl_cut){ .from = from + few / 2, .to = from + few / 2 + all - few };
    return true;
}

/* The graph with fewer blocks; NULL: there is none. */
static const pl_short *shorten(const choosing *x, int n, const pl_cut cut[])
{
    pl_short *s = PL_NEW(x->out, pl_short);
    return n && pl_graph_shorten(x->g, &x->b->search->fold, n, cut, x->out, s) ? s : NULL;
}

/* That for plans that plan all blocks alike. */
void pl_candidates_shorten(choosing *x)
{
    pl_cut cut;
    const int n = cut_stretch(0, pl_fold_copies(&x->b->search->fold), &cut);
    x->few = shorten(x, n, &cut);
}

/* That in which each stretch of blocks that a plan plans alike has a few of them. */
static const pl_short *shorten_plan(const choosing *x, const pl_plan *plan)
{
    pl_cut stretch[MOST_STRETCHES], cut[MOST_STRETCHES];
    const int all = pl_plan_stretches(plan, &x->b->search->fold, MOST_STRETCHES, stretch);
    int n = 0;
    if (all == 1) return x->few;
    for (int i = 0; i < all && all <= MOST_STRETCHES; i++)
        n += cut_stretch(stretch[i].from, stretch[i].to, &cut[n]);
    return shorten(x, n, cut);
}

static bool lower(const choosing *x, pl_candidate *k, const pl_plan *plan, pl_err *err)
{
    pl_program *program;
    k->store = pl_store_new(plan, 0, x->out);
    PL_TRY(pl_program_lower(plan, 0, k->store, &x->lower, x->out, &program, err));
    k->program = program;
    return true;
}

/* Forecast from few blocks, as this plan of them has it. False: they do not tell. */
static bool forecast_few(const choosing *x, pl_candidate *k, const pl_short *s, const pl_plan *few)
{
    pl_err why = { 0 };
    if (!lower(x, k, few, &why) ||
        !pl_forecast_fold(k->program, s, &x->speed, x->out, &k->forecast))
        return false;
    k->program = k->forecast.program;
    return true;
}

bool pl_candidate_forecast(const choosing *x, pl_candidate *k, pl_err *err)
{
    PL_TRY(lower(x, k, k->plan, err));
    pl_forecast_make(k->program, &x->speed, x->out, &k->forecast);
    return true;
}

static void add_candidate(choosing *x, pl_candidate k)
{
    k.searched = strcmp(k.name, k.plan->strategy) != 0;
    k.fits = (double)k.forecast.memory.peak <= x->b->limit;
    x->b->at[x->b->n++] = k;
}

bool pl_candidates_add(choosing *x, const char *name, const pl_plan *plan, double bound,
                       pl_err *err)
{
    pl_candidate k = { .name = name, .plan = plan, .bound = bound };
    const pl_short *s = x->few ? shorten_plan(x, plan) : NULL;
    const pl_plan *few = s ? pl_plan_shorten(plan, &x->b->search->fold, s, x->out) : NULL;
    if (!few || !forecast_few(x, &k, s, few)) PL_TRY(pl_candidate_forecast(x, &k, err));
    add_candidate(x, k);
    return true;
}

int pl_candidate_order(const void *a, const void *b)
{
    const pl_candidate *x = a, *y = b;
    double p = x->forecast.step_seconds, q = y->forecast.step_seconds;
    if (x->fits != y->fits) return x->fits ? -1 : 1;
    if (p != q) return p < q ? -1 : 1;
    if (x->searched != y->searched) return x->searched ? 1 : -1;
    return strcmp(x->name, y->name);
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

/* -- trials ------------------------------------------------------------------------------------ */

/* All trials that are made at once, and how many have begun. */
typedef struct trials {
    int n, begun;
    trial *at;
    const char *what; /* is told of them */
    const pl_watch *watch;
    pthread_mutex_t lock;
} trials;

static void tell_trial(trials *all)
{
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

/* A layout does with many blocks what it does with few: the whole plan is made when it is taken. */
bool pl_candidates_add_layout(choosing *x, const char *text, pl_err *err)
{
    pl_candidate k = { .name = text };
    pl_plan *p;
    if (x->few) {
        PL_TRY(pl_candidates_plan(x, text, x->few->graph, &p, err));
        k.plan = p;
        if (forecast_few(x, &k, x->few, p)) {
            add_candidate(x, k);
            return true;
        }
    }
    PL_TRY(pl_candidates_plan(x, text, x->g, &p, err));
    k.plan = p;
    PL_TRY(pl_candidate_forecast(x, &k, err));
    add_candidate(x, k);
    return true;
}

static void make_trial(void *with, int i)
{
    trials *all = with;
    trial *t = &all->at[i];
    tell_trial(all);
    t->made = (pl_found){ .search = t->x.b->search, .limit = t->x.b->limit };
    t->made.at = PL_NEW(t->x.out, pl_candidate);
    t->x.b = &t->made;
    (void)!t->make(&t->x, t, &t->why);
}

void pl_candidates_try(const choosing *x, int n, trial t[], const char *what)
{
    trials all = { .n = n, .at = t, .what = what, .watch = x->b->search->watch };
    for (int i = 0; i < n; i++) {
        t[i].x = *x;
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
