/* The exact search against CBC's branch and cut on the same sums: another method, written by
 * others. */
#include "support/request.h"
#include "support/training.h"
#include "support/search_draw.h"
#include "../../bench/search/ilp.c" /* the build lists no sources for one test */
#include "planners/auto.h"
#include "search/search.h"

#include <math.h>

static void compare(const pl_sum *s, double cap, const char *what, pl_arena *a)
{
    pl_answer exact;
    ilp_result ilp;
    pl_err err = { 0 }, other = { 0 };
    bool ok = pl_search_min(s, cap, NULL, a, &exact, &err);
    bool ilp_ok = ilp_min(s, cap, 20, 1000000, a, &ilp, &other);
    if (!ok) {
        if (ilp_ok && ilp.found) fail_msg("%s: CBC has %g, %s", what, ilp.objective, err.msg);
        assert_int_equal(err.code, PL_EINFEASIBLE);
        return;
    }
    if (!ilp_ok || !ilp.found) fail_msg("%s: %.12g; CBC: %s", what, exact.time, other.msg);
    if (!ilp.proven || !exact.proven) fail_msg("%s: not proven", what);
    if (fabs(ilp.objective - exact.time) > 2e-6 * fabs(exact.time) + 1e-12)
        fail_msg("%s: %.12g, CBC %.12g", what, exact.time, ilp.objective);
    if (ilp.bound > exact.time + 2e-6 * fabs(exact.time) + 1e-12)
        fail_msg("%s: %.12g, CBC's bound %.12g", what, exact.time, ilp.bound);
}

/* A cap that lies between the memory of the fastest choice and the least memory. */
static double tight_cap(const pl_sum *s, pl_arena *a)
{
    pl_answer free;
    pl_err err = { 0 }, why = { 0 };
    if (!pl_search_min(s, INFINITY, NULL, a, &free, &err)) return INFINITY;
    double cap = free.memory;
    for (double part = 0.9; part > 0.1; part -= 0.2) {
        pl_answer x;
        if (!pl_search_min(s, part * free.memory, NULL, a, &x, &why)) break;
        cap = part * free.memory;
    }
    return cap * (1 + 1e-4);
}

static void test_random(void **state)
{
    (void)state;
    if (!ilp_is_built()) {
        print_message("built without CBC (coinor-libcbc-dev)\n");
        skip();
    }
    for (uint64_t seed = 1; seed <= 40; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_sum s = draw_sum(&d, 2 + (int)(seed % 7), 5, 2 + (int)(seed % 9), false);
        compare(&s, INFINITY, pl_arena_fmt(a, "seed %d", (int)seed), a);
        compare(&s, tight_cap(&s, a), pl_arena_fmt(a, "seed %d, capped", (int)seed), a);
        pl_arena_free(a);
    }
}

/* The planner's own tables, written out. */
static void test_tables(void **state)
{
    static const char *const models[] = {
        "mlp:layers=2,in=64,hidden=256,classes=64,batch=64",
        "gpt2:layers=3,hidden=64,heads=4,vocab=96,seq=32,batch=8,dropout=0.1",
        "moe:layers=2,hidden=32,batch=8",
    };
    (void)state;
    if (!ilp_is_built()) {
        print_message("built without CBC (coinor-libcbc-dev)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(models[i], a);
        const pl_cluster *c = cluster_of("4xv100", a);
        pl_mesh m[4];
        const pl_speed speed = pl_speed_of(c);
        pl_fold fold = pl_fold_find(g, a);
        assert_true(pl_auto_meshes(c, 1, 1, 4, m) >= 1);
        const pl_problem *t = pl_problem_new(g, &fold, &m[0], &speed, a);
        pl_sum s = pl_chain_unroll(&t->chain, a);
        compare(&s, INFINITY, models[i], a);
        pl_arena_free(a);
    }
}

static void test_limit(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    draw d = draw_new(1, false, a);
    pl_sum s = draw_sum(&d, 6, 4, 5, true);
    ilp_result r;
    pl_err err = { 0 };
    assert_false(ilp_min(&s, INFINITY, 1, 1, a, &r, &err));
    assert_int_equal(err.code, PL_EUNSUPPORTED);
    assert_true(r.columns > 1);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
