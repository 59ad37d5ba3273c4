/* Sums of tables: the search against every choice in turn, with each technique on and off. */
#include "search/search.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double NEAR = 1e-7;

static pl_search_options switches(int mask)
{
    return (pl_search_options){ .no_bound = mask & 1,
                                .no_dominance = mask & 2,
                                .no_elimination = mask & 4,
                                .no_mixing = mask & 8,
                                .no_reduction = mask & 16,
                                .node_limit = 1000000 };
}

/* What an answer says of itself is true, and its bound is no more than the optimum. */
static void check_answer(uint64_t seed, const pl_sum *s, double cap, const pl_answer *a,
                         double optimum)
{
    pl_cost cost = pl_sum_cost(s, a->value);
    if (cost.memory > cap) fail_msg("seed %d: memory %g, cap %g", (int)seed, cost.memory, cap);
    if (fabs(cost.time - a->time) > NEAR || fabs(cost.memory - a->memory) > NEAR)
        fail_msg("seed %d: says (%g, %g), is (%g, %g)", (int)seed, a->time, a->memory, cost.time,
                 cost.memory);
    if (a->time < optimum - NEAR || a->bound > optimum + NEAR)
        fail_msg("seed %d: time %g and bound %g, the optimum is %g", (int)seed, a->time, a->bound,
                 optimum);
    if (a->proven && a->time > optimum + NEAR)
        fail_msg("seed %d: %g is no optimum: %g", (int)seed, a->time, optimum);
}

static pl_sum draw_small(draw *d, uint64_t seed)
{
    int n = 1 + draw_below(d, 8);
    return draw_sum(d, n, n > 6 ? 3 : 5, draw_below(d, 2 * n), seed % 5 == 0);
}

static void test_brute(void **state)
{
    (void)state;
    int legal = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, false, a);
        pl_sum s = draw_small(&d, seed);
        int value[8];
        pl_cost best;
        bool found = pl_sum_brute(&s, INFINITY, value, &best);
        legal += found;
        for (int k = 0; k < 16; k++) {
            const int mask = k < 8 ? k : k + 8;
            pl_search_options o = switches(mask);
            pl_answer x;
            pl_err err = { 0 };
            bool ok = pl_search_min(&s, INFINITY, &o, a, &x, &err);
            if (ok != found) fail_msg("seed %d, switches %d: %s", (int)seed, mask, err.msg);
            if (!ok) continue;
            check_answer(seed, &s, INFINITY, &x, best.time);
            if (!x.proven) fail_msg("seed %d, switches %d: no proof", (int)seed, mask);
        }
        pl_arena_free(a);
    }
    assert_in_range(legal, 1000, 1499); /* both kinds occur */
}

static void test_brute_capped(void **state)
{
    (void)state;
    int fits = 0, binds = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_sum s = draw_small(&d, seed);
        int value[8];
        pl_cost open, best;
        bool any = pl_sum_brute(&s, INFINITY, value, &open);
        double cap = any ? open.memory * (0.3 + 0.8 * draw_unit(&d)) : 10;
        bool found = pl_sum_brute(&s, cap, value, &best);
        fits += found;
        binds += found && open.memory > cap;
        for (int mask = 0; mask < 16; mask++) {
            pl_search_options o = switches(mask);
            pl_answer x;
            pl_err err = { 0 };
            bool ok = pl_search_min(&s, cap, &o, a, &x, &err);
            if (ok != found) fail_msg("seed %d, switches %d: %s", (int)seed, mask, err.msg);
            if (!ok) continue;
            check_answer(seed, &s, cap, &x, best.time);
            if (!x.proven && !o.no_mixing)
                fail_msg("seed %d, switches %d: no proof", (int)seed, mask);
        }
        pl_arena_free(a);
    }
    assert_in_range(fits, 500, 999);
    assert_in_range(binds, 200, 999);
}

/* What the message says is the least memory is just that. */
static void test_least_memory(void **state)
{
    (void)state;
    int told = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_sum s = draw_small(&d, seed);
        int value[8];
        pl_cost cost;
        pl_answer x;
        pl_err err = { 0 };
        const char *text = "that any choice takes is ";
        bool fits = pl_search_min(&s, 0, NULL, a, &x, &err);
        const char *at = fits ? NULL : strstr(err.msg, text);
        if (at) {
            double least = strtod(at + strlen(text), NULL);
            if (!pl_sum_brute(&s, 1.0001 * least, value, &cost) ||
                pl_sum_brute(&s, 0.9999 * least, value, &cost))
                fail_msg("seed %d: %g is not the least memory", (int)seed, least);
        } else if (!fits && pl_sum_brute(&s, INFINITY, value, &cost)) {
            fail_msg("seed %d: %s", (int)seed, err.msg);
        }
        told += at != NULL;
        pl_arena_free(a);
    }
    assert_in_range(told, 100, 399);
}

/* Trees and sums too large to try all: potentials, elimination and branching agree. */
static void test_methods_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(3 * seed, false, a); /* nothing illegal */
        bool tree = seed % 2;
        pl_sum s = tree ? draw_sum(&d, 200, 9, 0, true) : draw_sum(&d, 24, 4, 40, false);
        pl_search_options all = { 0 }, eliminate = { .no_bound = true, .no_dominance = true };
        pl_search_options branch = { .no_elimination = true, .node_limit = 1000000 };
        pl_answer x, y, z;
        pl_err err = { 0 };
        if (!pl_search_min(&s, INFINITY, &all, a, &x, &err) ||
            !pl_search_min(&s, INFINITY, &eliminate, a, &y, &err) ||
            !pl_search_min(&s, INFINITY, &branch, a, &z, &err))
            fail_msg("seed %d: %s", (int)seed, err.msg);
        assert_true(x.proven && y.proven && z.proven);
        check_answer(seed, &s, INFINITY, &x, y.time);
        check_answer(seed, &s, INFINITY, &z, y.time);
        pl_arena_free(a);
    }
}

/* A limit that is too small ends in an answer with a bound that is true, and no claim of proof. */
static void test_limits_are_honest(void **state)
{
    (void)state;
    int open = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(12 * seed, false, a);
        pl_sum s = draw_sum(&d, 24, 4, 60, false);
        pl_search_options small = { .no_elimination = true, .node_limit = 2, .passes = 2 };
        pl_answer x, y;
        pl_err err = { 0 };
        if (!pl_search_min(&s, INFINITY, NULL, a, &x, &err) ||
            !pl_search_min(&s, INFINITY, &small, a, &y, &err))
            fail_msg("seed %d: %s", (int)seed, err.msg);
        assert_true(x.proven);
        check_answer(seed, &s, INFINITY, &y, x.time);
        open += !y.proven;
        pl_arena_free(a);
    }
    assert_in_range(open, 1, 30);
}

/* Under a cap, with hardly any effort: what is found fits, the bound is one, and a choice that is
 * given is the least that comes back. */
static void test_short_efforts(void **state)
{
    (void)state;
    static const int64_t efforts[] = { 1, 3000, 100000 };
    int n = 0, open = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(7 * seed, true, a);
        pl_sum s = draw_small(&d, seed);
        int value[8];
        pl_cost best;
        if (pl_sum_brute(&s, INFINITY, value, &best) &&
            pl_sum_brute(&s, best.memory * (0.5 + 0.5 * draw_unit(&d)), value, &best)) {
            for (int i = 0; i < 6; i++, n++) {
                bool given = i % 2;
                pl_search_options o = { .effort = efforts[i / 2], .start = given ? value : NULL };
                pl_answer x;
                pl_err err = { 0 };
                double cap = best.memory + NEAR;
                if (pl_search_min(&s, cap, &o, a, &x, &err)) {
                    check_answer(seed, &s, cap, &x, best.time);
                    open += !x.proven;
                    if (given && x.time > best.time + NEAR)
                        fail_msg("seed %d: %g, given %g", (int)seed, x.time, best.time);
                } else if (given || !strstr(err.msg, "raise the limits")) {
                    fail_msg("seed %d, effort %d: %s", (int)seed, (int)o.effort, err.msg);
                }
            }
        }
        pl_arena_free(a);
    }
    assert_in_range(n, 1000, 2400);
    assert_in_range(open, 20, n);
}

static void test_same_again(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(4 * seed, true, a);
        pl_sum s = draw_sum(&d, 30, 5, 45, false);
        pl_answer x, y;
        pl_err err = { 0 };
        double cap = 60;
        bool ok = pl_search_min(&s, cap, NULL, a, &x, &err);
        err = (pl_err){ 0 };
        assert_int_equal(pl_search_min(&s, cap, NULL, a, &y, &err), ok);
        if (ok) {
            assert_memory_equal(x.value, y.value, 30 * sizeof(int));
            assert_int_equal(x.work, y.work);
            assert_memory_equal(&x.bound, &y.bound, sizeof x.bound);
        }
        pl_arena_free(a);
    }
}

/* Two variables of two values: costs 1 or 2, memory 4 or 3 each, the edge (0, 0) as given. */
static bool solve_two(double corner, double cap, const int *n_values, pl_arena *a, pl_err *err)
{
    static const double time[] = { 1, 2 }, memory[] = { 4, 3 };
    const double *times[] = { time, time }, *memories[] = { memory, memory };
    const double edge[] = { corner, 0, 0, 0 };
    const pl_sum_edge one = { 0, 1, edge, NULL };
    const int two[] = { 2, 2 };
    pl_sum s = { 2, n_values ? n_values : two, times, memories, 1, &one };
    pl_answer x;
    return pl_search_min(&s, cap, NULL, a, &x, err);
}

static void test_errors(void **state)
{
    (void)state;
    static const int none[] = { 2, 0 };
    static const struct {
        double corner, cap;
        const int *n_values;
        pl_code code;
        const char *says;
    } rows[] = {
        { 0, 7, NULL, PL_OK, "" },
        { 0, 5, NULL, PL_EINFEASIBLE, "the least that any choice takes is 6" },
        { NAN, 9, NULL, PL_EINPUT, "edge 0 (0, 1): the time of values (0, 0) is nan" },
        { -INFINITY, 9, NULL, PL_EINPUT, "is -inf" },
        { 0, -1, NULL, PL_EINPUT, "a memory cap of -1" },
        { 0, NAN, NULL, PL_EINPUT, "a memory cap of" },
        { 0, 9, none, PL_EINPUT, "variable 1 has 0 values" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_err err = { 0 };
        bool ok = solve_two(rows[i].corner, rows[i].cap, rows[i].n_values, a, &err);
        assert_int_equal(ok, rows[i].code == PL_OK);
        assert_int_equal(err.code, rows[i].code);
        if (!strstr(err.msg, rows[i].says)) fail_msg("'%s' lacks '%s'", err.msg, rows[i].says);
        pl_arena_free(a);
    }
}

static void test_nothing_legal(void **state)
{
    (void)state;
    static const double never[] = { INFINITY, INFINITY };
    const double *times[] = { never };
    static const int two[] = { 2 };
    pl_sum s = { 1, two, times, NULL, 0, NULL };
    pl_arena *a = pl_arena_new("test");
    pl_answer x;
    pl_err err = { 0 };
    assert_false(pl_search_min(&s, INFINITY, NULL, a, &x, &err));
    assert_int_equal(err.code, PL_EINFEASIBLE);
    assert_non_null(strstr(err.msg, "no choice is legal"));
    s = (pl_sum){ 0 };
    err = (pl_err){ 0 };
    assert_true(pl_search_min(&s, 0, NULL, a, &x, &err)); /* an empty sum is 0 */
    assert_true(x.proven && x.time >= 0 && x.time <= 0);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute),
        cmocka_unit_test(test_brute_capped),
        cmocka_unit_test(test_least_memory),
        cmocka_unit_test(test_methods_agree),
        cmocka_unit_test(test_limits_are_honest),
        cmocka_unit_test(test_short_efforts),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_nothing_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
