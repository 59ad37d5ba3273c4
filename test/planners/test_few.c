/* Candidates are forecast from few of their blocks: of each, layouts and answers of the search
 * alike, the whole program says the same. And an answer decoded for few blocks is what is left of
 * the whole plan without the others. */
#include "planners/candidates.h"
#include "support/expect.h"
#include "support/request.h"
#include "support/rounds.h"
#include "support/training.h"

#include <math.h>
#include <string.h>

/* Weights of the second are gathered many blocks ahead; memory binds in the third, and some
 * of its gradients are scattered over some devices, summed over others, and gathered. */
static const struct row {
    const char *model, *cluster;
    double memory;
    int least; /* of every third candidate: told by few blocks */
} rows[] = {
    { "gpt2:layers=44,hidden=512,heads=8,batch=16", "2x8xv100", 0, 2 },
    { "gpt2:layers=44,hidden=1600,heads=25", "8x8xa100-80gb", 0, 3 },
    { "gpt2:layers=44,hidden=1600,heads=25,seq=1024,batch=64,dropout=0", "2x8xv100", 5e9, 6 },
};
enum { N_ROWS = sizeof rows / sizeof *rows - PL_SANITIZED }; /* the last one takes long */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static const pl_plan *whole_plan(const pl_candidate *k, const pl_graph *g, const pl_cluster *c,
                                 pl_arena *a)
{
    if (k->plan->graph == g) return k->plan;
    if (k->value) return pl_problem_plan(k->problem, k->value, NULL, "auto", NULL, a);
    pl_strategy s;
    pl_plan *p = NULL;
    pl_err err = { 0 };
    EXPECT(pl_strategy_parse(k->name, c->n_devices, a, &s, &err), "%s: %s", k->name, err.msg);
    s.cluster = c;
    EXPECT(pl_strategy_plan(&s, g, NULL, a, &p, &err), "%s: %s", k->name, err.msg);
    return p;
}

/* Returns whether the whole takes as many bytes, to a hundredth of its work block. */
static bool check_plan(const pl_candidate *k, const pl_plan *whole, const pl_cluster *c,
                       pl_arena *a)
{
    const pl_speed speed = pl_speed_of(c);
    const pl_lower_options o = { 0 };
    pl_program *p;
    pl_forecast f;
    pl_err err = { 0 };
    EXPECT(pl_plan_check(whole, &err), "%s: %s", k->name, err.msg);
    EXPECT(pl_program_lower(whole, 0, pl_store_new(whole, 0, a), &o, a, &p, &err), "%s: %s",
           k->name, err.msg);
    pl_forecast_make(p, &speed, a, &f);
    const pl_forecast *few = &k->forecast;
    EXPECT(is_near(f.step_seconds, few->step_seconds) && is_near(f.comm_seconds, few->comm_seconds),
           "%s: %.9g s, by few blocks %.9g s", k->name, f.step_seconds, few->step_seconds);
    EXPECT(f.comm_bytes == few->comm_bytes, "%s: %lld bytes, by few blocks %lld", k->name,
           (long long)f.comm_bytes, (long long)few->comm_bytes);
    const double work = (double)(f.memory.peak - f.memory.weights - f.memory.optimizer),
                 apart = fabs((double)(f.memory.peak - few->memory.peak));
    EXPECT(apart <= 0.03 * work, "%s: %lld bytes, by few blocks %lld", k->name,
           (long long)f.memory.peak, (long long)few->memory.peak);
    if (!f.comm_bytes) /* then orders are searched for, and of fewer steps other ones */
        return apart <= 0.01 * work;
    EXPECT(f.memory.weights == few->memory.weights &&
               f.memory.activations == few->memory.activations &&
               f.memory.gradients == few->memory.gradients,
           "%s: %lld bytes of activations, by few blocks %lld", k->name,
           (long long)f.memory.activations, (long long)few->memory.activations);
    return apart <= 0.01 * work;
}

static pl_found *find(const struct row *r, const pl_graph **g, pl_cluster **c, pl_arena *a)
{
    *c = cluster_of(r->cluster, a);
    *g = training_graph(r->model, a);
    pl_plan_request request = request_of("auto", *c, a);
    request.search.memory = r->memory;
    request.told = true;
    return find_plan(&request, *g, a);
}

/* Of every third, under sanitizers of a few. One of all may differ a little more. */
static void the_whole_says_the_same(void **state)
{
    (void)state;
    int other = 0;
    for (int i = 0; i < N_ROWS; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g;
        pl_cluster *c;
        const pl_found *b = find(&rows[i], &g, &c, a);
        int told = 0;
        for (int k = i % 3; k < b->n; k += PL_SANITIZED ? 24 : 3) {
            if (!b->at[k].forecast.times) continue;
            pl_arena *tmp = pl_arena_new("candidate");
            other += !check_plan(&b->at[k], whole_plan(&b->at[k], g, c, tmp), c, tmp);
            pl_arena_free(tmp);
            told++;
        }
        EXPECT(PL_SANITIZED || told >= rows[i].least, "%s: only %d of %d are told by few blocks",
               rows[i].model, told, b->n);
        pl_arena_free(a);
    }
    EXPECT(other <= 1, "%d layouts of the whole differ from those of few blocks", other);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void check_same(const pl_plan *p, const pl_plan *q)
{
    for (int i = 0; i < p->graph->nodes.n; i++)
        EXPECT(!memcmp(&p->choice[i], &q->choice[i], sizeof *p->choice), "'%s' is split otherwise",
               p->graph->nodes.at[i]->name);
    for (int v = 0; v < p->graph->values.n; v++) {
        const pl_value *x = p->graph->values.at[v];
        EXPECT(pl_plan_kept_alike(p, v, q, v) &&
                   (x->maker || pl_placement_same(&p->stored[v], &q->stored[v])) &&
                   p->recompute[v] == q->recompute[v],
               "'%s' lies elsewhere", x->name);
    }
}

/* All long stretches of the answer cut at once. */
static void check_answer(const pl_auto_mesh *m, const pl_fold *fold, pl_arena *a)
{
    enum { MOST = 64, ENDS = 3 };
    pl_cut stretch[MOST], cut[MOST];
    pl_short s;
    int n = 0;
    const int all = pl_problem_stretches(m->problem, m->answer.value, MOST, stretch);
    EXPECT(all > 0 && all <= MOST, "%d stretches", all);
    for (int i = 0; i < all; i++)
        if (stretch[i].to - stretch[i].from > 2 * ENDS + 1)
            cut[n++] = (pl_cut){ stretch[i].from + ENDS, stretch[i].to - ENDS, 0 };
    EXPECT(n > 0, "all of %d stretches are short", all);
    EXPECT(pl_graph_shorten(m->problem->graph, fold, n, cut, a, &s), "no such graph");
    const pl_plan *whole = pl_problem_plan(m->problem, m->answer.value, NULL, "auto", NULL, a);
    const pl_plan *left = pl_plan_shorten(whole, fold, &s, a);
    EXPECT(left, "the whole plan has other stretches");
    check_same(pl_problem_plan(m->problem, m->answer.value, &s, "auto", NULL, a), left);
}

static void answers_are_decoded_for_few_blocks(void **state)
{
    (void)state;
    for (int i = PL_SANITIZED ? N_ROWS - 1 : 0; i < N_ROWS; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g;
        pl_cluster *c;
        const pl_auto *f = find(&rows[i], &g, &c, a)->search;
        for (int k = 0; k < f->n; k++)
            if (f->mesh[k].fits) check_answer(&f->mesh[k], &f->fold, a);
        pl_arena_free(a);
    }
}

/* A sketch of a layout, which has few of its blocks, says what the layout does. */
static void a_sketch_says_the_same(void **state)
{
    static const char *const layouts[] = { "dp", "zero=3", "zero=1,tp=8,sp",
                                           "zero=3,recompute=full" };
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(rows[0].model, a);
        pl_plan_request r = request_of(layouts[i], cluster_of(rows[0].cluster, a), a);
        const pl_found *all = find_plan(&r, g, a);
        r.sketch = true;
        const pl_found *sketch = find_plan(&r, g, a);
        const pl_forecast *f = &all->take->forecast, *s = &sketch->take->forecast;
        EXPECT(sketch->take->plan->graph->nodes.n < g->nodes.n, "%s: not sketched", layouts[i]);
        EXPECT(is_near(f->step_seconds, s->step_seconds) && f->memory.peak == s->memory.peak,
               "%s: %.9g s in %lld bytes, sketched %.9g s in %lld", layouts[i], f->step_seconds,
               (long long)f->memory.peak, s->step_seconds, (long long)s->memory.peak);
        pl_arena_free(a);
    }
}

/* -- what is not worth making whole ------------------------------------------------------------ */

/* A layout that few blocks do not tell of, made whole: what takes it to ask for it once more. */
typedef struct untold {
    pl_arena *a;
    const char *layout;
    const pl_graph *g;
    pl_plan_request request;
    pl_candidate at[1];
    pl_found b;
    choosing x;
    double seconds, bytes;
} untold;

static untold *make_untold(const char *model, const char *layout)
{
    pl_arena *a = pl_arena_new("test");
    untold *u = PL_NEW(a, untold);
    const pl_cluster *c = cluster_of("2x8xv100", a);
    pl_err err = { 0 };
    u->a = a, u->layout = layout;
    u->g = training_graph(model, a);
    u->request = request_of("auto", c, a);
    u->b.at = u->at;
    u->x = pl_candidates_open(&u->b, u->g, c, &u->request, a);
    EXPECT(pl_auto_open(u->g, c, &u->request.search, a, &u->b.search, &err), "%s", err.msg);
    pl_candidates_shorten(&u->x, &u->b.search->fold);
    EXPECT(pl_candidates_add_layout(&u->x, layout, &err), "%s", err.msg);
    EXPECT(u->at->plan->graph == u->g && !u->at->forecast.times, "few blocks tell of %s", layout);
    u->seconds = u->at->forecast.step_seconds, u->bytes = (double)u->at->forecast.memory.peak;
    return u;
}

static void free_untold(untold *u)
{
    pl_candidates_close(&u->x);
    pl_arena_free(u->a);
}

/* Beside one that takes `part` of its time, where there is room for `room` of its bytes. */
static bool is_made(untold *u, double room, double part)
{
    const pl_candidate beat = { .fits = true, .forecast.step_seconds = part * u->seconds };
    pl_err err = { 0 };
    u->x.beat = &beat;
    u->b.n = 0;
    u->b.limit = 1.01 * room * u->bytes;
    const bool made = pl_candidates_add_layout(&u->x, u->layout, &err);
    EXPECT(made || (err.code == PL_EINFEASIBLE && strstr(err.msg, "of its blocks say")), "%s",
           err.msg);
    u->x.beat = NULL;
    return made;
}

static void what_is_clearly_worse_is_not_made_whole(void **state)
{
    (void)state;
    untold *u = make_untold("gpt2:layers=80,hidden=512,heads=8,batch=16", "grid:4x4x1");
    pl_err err = { 0 };
    EXPECT(is_made(u, 1, 1), "as fast, and not made");
    EXPECT(!is_made(u, 1, 0.9), "slower by a tenth, and made");
    EXPECT(is_made(u, 0.9, 1), "maybe not too large, and not made");
    EXPECT(!is_made(u, 0.5, 1), "twice too large, and made");
    pl_halfway half = { .only = true };
    u->x.halfway = &half;
    EXPECT(!pl_candidates_add_layout(&u->x, u->layout, &err) && half.left, "made whole at once");
    const pl_sample few = half.few[0];
    half.only = false;
    EXPECT(!is_made(u, 1, 0.9), "slower by a tenth, and made later");
    EXPECT(is_made(u, 1, 1), "as fast, and not made later");
    EXPECT(few.blocks && u->at->forecast.step_seconds == u->seconds, "%.9g s later, not %.9g",
           u->at->forecast.step_seconds, u->seconds);
    free_untold(u);
}

/* Of 24 blocks one number of few is left, and a smaller one for the line of two. */
static void the_line_of_two_is_near_the_whole(void **state)
{
    (void)state;
    untold *u = make_untold("gpt2:layers=24,hidden=512,heads=8,batch=16", "zero=3,tp=8,sp");
    EXPECT(is_made(u, 1, 1), "as fast, and not made");
    EXPECT(!is_made(u, 1, 0.8), "slower by a quarter, and made");
    free_untold(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_whole_says_the_same),
                                        cmocka_unit_test(answers_are_decoded_for_few_blocks),
                                        cmocka_unit_test(a_sketch_says_the_same),
                                        cmocka_unit_test(what_is_clearly_worse_is_not_made_whole),
                                        cmocka_unit_test(the_line_of_two_is_near_the_whole) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
