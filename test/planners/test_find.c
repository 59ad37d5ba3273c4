/* The plan to take: those of all meshes and layouts in order; no slower than what the search finds
 * by its own figures alone, and than any published layout on these models. */
#include "planners/find.h"
#include "planners/floor.h"
#include "support/expect.h"
#include "support/request.h"
#include "support/rounds.h"
#include "layouts/strategy.h"
#include "support/training.h"

#include <math.h>

static const struct row {
    const char *model, *cluster;
    bool doubts; /* the search's own plan is not the fastest that it leads to */
} rows[] = {
    { "mlp:layers=4,hidden=4096,batch=512", "8xk80", true },
    { "mlp:layers=4,hidden=4096,batch=512", "2x8xv100", false },
    { "gpt2:layers=4,hidden=256,heads=4,vocab=1000,seq=128,batch=16", "2x4xv100", true },
};
enum { N_ROWS = sizeof rows / sizeof *rows, MOST_LAYOUTS = 256 };

static const pl_found *find_best(const pl_graph *g, const pl_cluster *c, pl_arena *a)
{
    const pl_plan_request r = request_of("auto", c, a);
    return find_plan(&r, g, a);
}

static double seconds_of(const pl_plan *p, const pl_cluster *c, pl_arena *a)
{
    const pl_plan_request r = { .cluster = c };
    pl_found *b;
    pl_err err = { 0 };
    if (!pl_plan_forecast(&r, p, a, &b, &err)) fail_msg("%s", err.msg);
    return b->take->fits ? b->take->forecast.step_seconds : INFINITY;
}

static void check_order(const pl_found *b)
{
    assert_true(b->take == b->at && b->take->fits);
    for (int i = 1; i < b->n; i++) {
        const pl_candidate *x = &b->at[i - 1], *y = &b->at[i];
        assert_true(x->fits || !y->fits);
        if (x->fits == y->fits) assert_true(x->forecast.step_seconds <= y->forecast.step_seconds);
        assert_string_not_equal(x->name, y->name);
    }
}

/* Each mesh has one candidate, and the search's own answer there is not faster. */
static void check_meshes(const struct row *r, const pl_found *b, const pl_cluster *c, pl_arena *a)
{
    bool faster = false;
    for (int i = 0; i < b->search->n; i++) {
        const pl_auto_mesh *m = &b->search->mesh[i];
        const char *name = pl_mesh_text(&m->mesh, a);
        double own =
            seconds_of(pl_problem_plan(m->problem, m->answer.value, NULL, "own", NULL, a), c, a);
        int n = 0;
        for (int k = 0; k < b->n; k++) {
            if (strcmp(b->at[k].name, name)) continue;
            n++;
            assert_true(b->at[k].bound > 0 && b->at[k].forecast.step_seconds <= own);
            faster |= b->at[k].forecast.step_seconds < own * (1 - 1e-6);
        }
        assert_int_equal(n, 1);
    }
    if (r->doubts) assert_true(faster);
}

static void check_layouts(const struct row *r, const pl_graph *g, const pl_found *b,
                          const pl_cluster *c, pl_arena *a)
{
    const char *text[MOST_LAYOUTS];
    int n = pl_strategy_all(c->n_devices, PL_HAS_POSITIONS, a, MOST_LAYOUTS, text), tried = 0;
    for (int i = 0; i < n; i += PL_SANITIZED ? 4 : 1) {
        pl_strategy s;
        pl_plan *p;
        pl_err err = { 0 };
        if (!pl_strategy_parse(text[i], c->n_devices, a, &s, &err)) fail_msg("%s", err.msg);
        s.cluster = c;
        if (!pl_strategy_plan(&s, g, NULL, a, &p, &err)) continue;
        double seconds = seconds_of(p, c, a);
        tried++;
        if (seconds < b->take->forecast.step_seconds * (1 - 1e-9))
            fail_msg("%s on %s: %s takes %g, found %g", r->model, r->cluster, text[i], seconds,
                     b->take->forecast.step_seconds);
    }
    assert_true(tried > ROUNDS_OF(12));
}

static void test_best(void **state)
{
    (void)state;
    for (int i = 0; i < N_ROWS; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(rows[i].model, a);
        const pl_cluster *c = cluster_of(rows[i].cluster, a);
        const pl_found *b = find_best(g, c, a);
        check_order(b);
        check_meshes(&rows[i], b, c, a);
        check_layouts(&rows[i], g, b, c, a);
        pl_arena_free(a);
    }
}

/* On many nodes, which the search's meshes do not divide: groups within groups, of sizes of which
 * none twice or half as large is faster. */
static void test_many_nodes(void **state)
{
    static const double times[][2] = { { 1, 1 }, { 2, 1 }, { .5, 1 }, { 1, 2 }, { 1, .5 } };
    enum { N_TIMES = sizeof times / sizeof *times };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=6,hidden=2048,heads=16,vocab=1000,seq=512,batch=512", a);
    const pl_cluster *c = cluster_of("256x8xh100", a);
    const pl_found *b = find_best(g, c, a);
    const pl_plan *taken = b->take->plan;
    const int shard = pl_mesh_find(&taken->mesh, "shard"),
              tensor = pl_mesh_find(&taken->mesh, "tensor");
    assert_true(shard >= 0 && tensor >= 0 && taken->mesh.n == 3);
    assert_true(b->take->forecast.step_seconds < 0.9 * b->search->seconds);
    assert_true(b->outdone && b->take->forecast.step_seconds < b->search->bound);
    for (int i = 0; i < N_TIMES; i++) {
        pl_strategy s;
        pl_plan *p;
        pl_err err = { 0 };
        const char *text =
            pl_arena_fmt(a, "hsdp=%g,tp=%g,sp", taken->mesh.axis[shard].size * times[i][0],
                         taken->mesh.axis[tensor].size * times[i][1]);
        if (!pl_strategy_parse(text, c->n_devices, a, &s, &err)) fail_msg("%s", err.msg);
        s.cluster = c;
        if (!pl_strategy_plan(&s, g, NULL, a, &p, &err)) fail_msg("%s", err.msg);
        const double seconds = seconds_of(p, c, a);
        if (!i) assert_true(fabs(seconds / b->take->forecast.step_seconds - 1) < 1e-9);
        if (seconds < b->take->forecast.step_seconds * (1 - 1e-9))
            fail_msg("%s takes %g, found %g", text, seconds, b->take->forecast.step_seconds);
    }
    pl_arena_free(a);
}

/* What is said to fit is found; below what fits nothing is said to. */
#define TIMES (PL_SANITIZED ? 6 : 9)
#define LESS (PL_SANITIZED ? 0.64 : 0.74)
static void test_fits(void **state)
{
    (void)state;
    if (PL_SANITIZED_THREADS) return; /* as many threads as the others have, and longer */
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph("mlp:layers=4,hidden=512,batch=256", a);
    const pl_cluster *c = cluster_of("2x4xv100", a);
    pl_plan_request r = request_of("auto", c, a);
    r.search.memory = (double)find_best(g, c, a)->take->forecast.memory.peak;
    int fit = 0, refused = 0;
    for (int i = 0; i < TIMES; i++, r.search.memory *= LESS) {
        pl_found *b;
        pl_err err = { 0 };
        double over;
        bool fits = pl_plan_can_fit(&r, g, &over), found = pl_plan_find(&r, g, a, &b, &err);
        assert_true(fits == (over <= 0));
        if (fits && !found) fail_msg("it fits %g: %s", r.search.memory, err.msg);
        if (found) assert_true((double)b->take->forecast.memory.peak <= r.search.memory);
        if (!found) assert_int_equal(err.code, PL_EINFEASIBLE);
        fit += fits, refused += !found;
    }
    assert_true(fit > TIMES / 8 && refused > TIMES / 4);
    pl_arena_free(a);
}

/* Where all activations do not fit, blocks are recomputed: of no more of them than are needed, and
 * the less memory, the slower. */
static void test_recompute(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=12,hidden=64,heads=4,vocab=500,seq=128,batch=32", a);
    const pl_cluster *c = cluster_of("4xv100", a);
    pl_plan_request r = request_of("auto", c, a);
    const pl_found *open = find_best(g, c, a);
    const double most = (double)open->take->forecast.memory.peak;
    double last = open->take->forecast.step_seconds;
    int again = 0;
    for (int i = 0; i < open->n; i++) assert_null(strstr(open->at[i].name, "recompute"));
    for (int part = PL_SANITIZED ? 2 : 8; part >= 2; part -= 3) {
        r.search.memory = most * part / 10;
        const pl_found *b = find_plan(&r, g, a);
        assert_true((double)b->take->forecast.memory.peak <= r.search.memory);
        assert_true(b->take->forecast.step_seconds >= last * (1 - 1e-9));
        last = b->take->forecast.step_seconds;
        again += strstr(b->take->name, "recompute") != NULL;
        if (b->search->plan) assert_true(b->search->seconds >= b->search->bound * (1 - 1e-9));
    }
    assert_true(again > 0);
    pl_arena_free(a);
}

/* What is found with doubt and takes a little too much is looked for below less. */
static void test_more(void **state)
{
    static const double memory[] = { 2.3e9, 2.5e9, 3e9 };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("moe:layers=4,hidden=512,experts=16,tokens=1024,batch=64", a);
    check_more(g, request_of("auto", cluster_of("2x8xv100", a), a), 3, memory, a);
    pl_arena_free(a);
}

/* A layout of which some blocks are recomputed is what a strategy of its name is. */
static void test_names(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=12,hidden=2048,heads=16,vocab=1000,seq=512,batch=512", a);
    const pl_cluster *c = cluster_of("256x8xh100", a);
    pl_plan_request r = request_of("auto", c, a);
    int some = 0;
    r.search.memory = 280e6;
    r.search.tied = r.blocks = true;
    const pl_found *b = find_plan(&r, g, a);
    for (int i = 0; i < b->n; i++) {
        const pl_candidate *k = &b->at[i];
        if (k->searched || !strstr(k->name, "recompute=") || strstr(k->name, "full")) continue;
        r = request_of(k->name, c, a);
        const pl_forecast *f = &find_plan(&r, g, a)->take->forecast;
        assert_true(fabs(f->step_seconds / k->forecast.step_seconds - 1) < 1e-9);
        assert_int_equal(f->memory.peak, k->forecast.memory.peak);
        some++;
    }
    assert_true(some > 0);
    pl_arena_free(a);
}

/* Of a net without a stack of equal blocks single tensors are made again: few that are cheap. */
static void test_tensors(void **state)
{
    (void)state;
    if (PL_SANITIZED_THREADS) return;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph("resnet18:size=64,width=16,classes=10,batch=32", a);
    const pl_cluster *c = cluster_of("1x1xv100", a);
    pl_plan_request r = request_of("auto", c, a);
    const pl_found *open = find_best(g, c, a);
    const double most = open->take->forecast.step_seconds;
    double last = most;
    for (int part = 95; part >= 80; part -= PL_SANITIZED ? 20 : 7) {
        int again = 0;
        r.search.memory = (double)open->take->forecast.memory.peak * part / 100;
        const pl_found *b = find_plan(&r, g, a);
        const pl_candidate *k = b->take;
        for (int i = 0; i < g->values.n; i++) again += k->plan->recompute[i];
        EXPECT(again && k->fits, "%d %%: %s", part, k->name);
        EXPECT(k->forecast.step_seconds < 1.1 * most && k->forecast.step_seconds >= last * 0.999,
               "%d %%: %g s, %g s with more", part, k->forecast.step_seconds, last);
        EXPECT(b->search->bound <= k->forecast.step_seconds, "%d %%: a bound above it", part);
        last = k->forecast.step_seconds;
    }
    pl_arena_free(a);
}

static bool is_hosted(const pl_candidate *k)
{
    return k->forecast.memory.host > 0;
}

/* What policies make of one layout: it fits, and is slower than with all memory. One that makes
 * nothing that fits says so. */
static void test_policies(void **state)
{
    (void)state;
    static const char *const names[] = { "pleat", "msps", "delta", "checkmate" };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=2,hidden=64,heads=4,vocab=500,seq=64,batch=16", a);
    const pl_cluster *c = cluster_of("2xv100", a);
    pl_plan_request r = request_of("dp", c, a);
    pl_found *found = find_plan(&r, g, a);
    pl_err err = { 0 };
    const pl_candidate whole = *found->take;
    r.search.memory = 0.7 * (double)whole.forecast.memory.peak;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        r.evict = names[i];
        found = find_plan(&r, g, a);
        const pl_candidate *k = found->take;
        EXPECT(k->fits && strstr(k->name, names[i]), "%s", k->name);
        EXPECT(k->forecast.step_seconds > whole.forecast.step_seconds, "%s is no slower", names[i]);
        EXPECT(!strcmp(names[i], "delta") || !strcmp(names[i], "pleat") || !is_hosted(k),
               "%s copies", names[i]);
    }
    r.evict = "given";
    assert_false(pl_plan_find(&r, g, a, &found, &err));
    assert_int_equal(err.code, PL_EINFEASIBLE);
    pl_arena_free(a);
}

/* Where not even recomputing is enough, states lie in the host's memory, if it has some: with no
 * more recomputed than is needed, and slower than with all on the device. */
static void test_offload(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=32,batch=4", a);
    pl_cluster *c = cluster_of("2xv100", a);
    pl_plan_request r = request_of("auto", c, a);
    const pl_found *open = find_best(g, c, a);
    const double least = (double)open->take->forecast.memory.optimizer; /* weights are half */
    pl_found *b;
    pl_err err = { 0 };
    assert_false(is_hosted(open->take));
    r.search.memory = least;
    b = find_plan(&r, g, a);
    assert_true(is_hosted(b->take) && b->take->fits);
    assert_true((double)b->take->forecast.memory.peak <= r.search.memory);
    assert_true(b->take->forecast.step_seconds > open->take->forecast.step_seconds);
    assert_true(b->search->bound <= b->take->forecast.step_seconds);
    double over;
    assert_true(pl_plan_can_fit(&r, g, &over));
    for (int i = 0; i < c->n_classes; i++) c->class[i].host_memory.value = 1 << 20;
    assert_false(pl_plan_find(&r, g, a, &b, &err));
    assert_int_equal(err.code, PL_EINFEASIBLE);
    assert_false(pl_plan_can_fit(&r, g, &over));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best),      cmocka_unit_test(test_fits),
        cmocka_unit_test(test_recompute), cmocka_unit_test(test_more),
        cmocka_unit_test(test_tensors),   cmocka_unit_test(test_policies),
        cmocka_unit_test(test_offload),   cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
