/* Chains: folded against written out, tied against free, under caps, and the size of real ones. */
#include "support/rounds.h"
#include "chain/pair.h"
#include "search/solve.h"
#include "support/search_draw.h"
#include "layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double NEAR = 1e-7;

/* Small chains are written out, unless that is forbidden. */
static const pl_search_options FOLDED = { .no_unroll = true };

static void check_answer(uint64_t seed, const pl_chain *c, double cap, const pl_answer *x)
{
    pl_cost cost = pl_chain_cost(c, x->value);
    if (cost.memory > cap) fail_msg("seed %d: memory %g, cap %g", (int)seed, cost.memory, cap);
    if (fabs(cost.time - x->time) > NEAR * (1 + fabs(x->time)))
        fail_msg("seed %d: says %g, is %g", (int)seed, x->time, cost.time);
    if (x->bound > x->time) fail_msg("seed %d: bound %g, time %g", (int)seed, x->bound, x->time);
}

/* The chain's cost is the long sum's, for any choice. */
static void test_unroll(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(3 * seed, true, a);
        pl_chain c = draw_chain(&d, 5, 4, 6);
        pl_sum s = pl_chain_unroll(&c, a), t = pl_chain_tie(&c, a);
        int *value = PL_NEW_N(a, int, s.n), *tied = PL_NEW_N(a, int, s.n);
        for (int v = 0; v < s.n; v++) {
            int once = v < t.n ? v : c.outside.n + (v - c.outside.n) % c.block.n;
            value[v] = draw_below(&d, s.n_values[v]);
            tied[v] = v < t.n ? value[v] : tied[once];
        }
        pl_cost x = pl_chain_cost(&c, value), y = pl_sum_cost(&s, value);
        pl_cost p = pl_chain_cost(&c, tied), q = pl_sum_cost(&t, tied);
        assert_true(fabs(x.time - y.time) < NEAR && fabs(x.memory - y.memory) < NEAR);
        assert_true(fabs(p.time - q.time) < NEAR && fabs(p.memory - q.memory) < NEAR);
        pl_arena_free(a);
    }
}

/* The weighted sum of a chain as one sum, for the exact answer at a price of memory. */
static double least_priced(const pl_chain *c, double price, pl_arena *a)
{
    pl_sum s = pl_chain_unroll(c, a);
    const pl_search_options o = pl_solve_defaults(NULL);
    return pl_solve_sum(&s, (pl_cost){ 1, price }, &o, a).cost;
}

/* Rough answers: the bound is one whatever their gap. */
static void test_rough_bounds(void **state)
{
    (void)state;
    int legal = 0, open = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(300); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_chain c = draw_chain(&d, 6, 5, seed % 3 == 0 ? 40 : 9);
        for (int k = 0; k < 4; k++) {
            const double price = k * 0.3, exact = least_priced(&c, price, a);
            const pl_search_options o = { .gap = 0.03 * (k + 1), .no_unroll = true };
            pl_answer x;
            pl_err err = { 0 };
            const bool ok = pl_chain_priced(&c, price, &o, a, &x, &err);
            assert_true(ok == isfinite(exact));
            if (!ok) continue;
            const double sum = x.time + price * x.memory;
            legal++;
            open += x.bound < sum - NEAR;
            if (x.bound > exact + NEAR || sum < exact - NEAR)
                fail_msg("seed %d, price %g: %.12g .. %.12g, the least is %.12g", (int)seed, price,
                         x.bound, sum, exact);
        }
        pl_arena_free(a);
    }
    assert_true(legal > ROUNDS_OF(300) && open > 0);
}

/* The least memory is that of a legal choice, and no legal choice takes less. */
static void test_memory_is_least(void **state)
{
    (void)state;
    int legal = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(300); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_chain c = draw_chain(&d, 3, 2, 3);
        pl_sum s = pl_chain_unroll(&c, a);
        int *value = PL_NEW_N(a, int, s.n);
        pl_cost least, no;
        pl_answer x;
        pl_err err = { 0 };
        if (pl_sum_brute(&s, INFINITY, value, &least)) {
            legal++;
            if (!pl_chain_least(&c, NULL, a, &x, &err)) fail_msg("%s", err.msg);
            pl_cost is = pl_sum_cost(&s, x.value);
            assert_true(is.time < INFINITY && fabs(x.memory - is.memory) < NEAR);
            assert_true(x.proven && x.bound <= x.memory + NEAR);
            assert_true(pl_sum_brute(&s, x.memory + NEAR, value, &least));
            assert_false(pl_sum_brute(&s, x.memory - NEAR, value, &no));
        } else {
            assert_false(pl_chain_least(&c, NULL, a, &x, &err));
            assert_int_equal(err.code, PL_EINFEASIBLE);
        }
        pl_arena_free(a);
    }
    assert_true(legal > ROUNDS_OF(100));
}

static void test_folded_is_unrolled(void **state)
{
    (void)state;
    int legal = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(1000); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, false, a);
        pl_chain c = draw_chain(&d, 5, 4, seed % 7 == 0 ? 40 : 7);
        pl_sum s = pl_chain_unroll(&c, a);
        pl_answer x, y;
        pl_err err = { 0 };
        bool found = pl_search_min(&s, INFINITY, NULL, a, &x, &err);
        legal += found;
        for (int mask = 0; mask < 24; mask++) {
            pl_search_options o = { .no_bound = mask & 1,
                                    .no_dominance = mask & 2,
                                    .no_power = mask / 4 % 3 == 1,
                                    .no_unroll = mask / 4 % 3 == 2,
                                    .no_reduction = mask >= 12 };
            err = (pl_err){ 0 };
            bool ok = pl_chain_min(&c, INFINITY, &o, a, &y, &err);
            if (ok != found) fail_msg("seed %d, switches %d: %s", (int)seed, mask, err.msg);
            if (!ok) continue;
            check_answer(seed, &c, INFINITY, &y);
            if (!x.proven || !y.proven || fabs(x.time - y.time) > NEAR * (1 + fabs(x.time)))
                fail_msg("seed %d, switches %d: %.12g folded, %.12g written out", (int)seed, mask,
                         y.time, x.time);
        }
        pl_arena_free(a);
    }
    assert_in_range(legal, ROUNDS_OF(700), ROUNDS_OF(1000));
}

/* Short enough for every choice in turn. */
static void test_brute_capped(void **state)
{
    (void)state;
    int fits = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(300); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_chain c = draw_chain(&d, 2, 3, 4);
        pl_sum s = pl_chain_unroll(&c, a);
        int value[16];
        pl_cost open, best;
        if (pl_sum_brute(&s, INFINITY, value, &open)) {
            double cap = open.memory * (0.3 + 0.8 * draw_unit(&d));
            bool found = pl_sum_brute(&s, cap, value, &best);
            for (int fold = 0; fold < 2; fold++) {
                pl_answer x;
                pl_err err = { 0 };
                if (pl_chain_min(&c, cap, fold ? &FOLDED : NULL, a, &x, &err) != found)
                    fail_msg("seed %d: %s", (int)seed, err.msg);
                if (!found) continue;
                fits += fold;
                check_answer(seed, &c, cap, &x);
                if (x.bound > best.time + NEAR || x.time < best.time - NEAR ||
                    (x.proven && x.time > best.time + NEAR))
                    fail_msg("seed %d: %g, bound %g, optimum %g", (int)seed, x.time, x.bound,
                             best.time);
            }
        }
        pl_arena_free(a);
    }
    assert_in_range(fits, ROUNDS_OF(100), ROUNDS_OF(299));
}

/* With hardly any effort the bound is one, and a choice that is given is the least that comes
 * back. */
static void test_short_efforts(void **state)
{
    (void)state;
    static const int64_t efforts[] = { 1, 3000, 100000 };
    int n = 0, open = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(150); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(5 * seed, true, a);
        pl_chain c = draw_chain(&d, 2, 3, 4);
        pl_sum s = pl_chain_unroll(&c, a);
        int value[16];
        pl_cost best;
        if (pl_sum_brute(&s, INFINITY, value, &best) &&
            pl_sum_brute(&s, best.memory * (0.5 + 0.5 * draw_unit(&d)), value, &best)) {
            for (int i = 0; i < 12; i++, n++) {
                bool given = i % 2;
                pl_search_options o = { .effort = efforts[i / 4],
                                        .no_unroll = i / 2 % 2,
                                        .start = given ? value : NULL };
                pl_answer x;
                pl_err err = { 0 };
                double cap = best.memory + NEAR;
                if (pl_chain_min(&c, cap, &o, a, &x, &err)) {
                    check_answer(seed, &c, cap, &x);
                    open += !x.proven;
                    if (x.bound > best.time + NEAR || x.time < best.time - NEAR ||
                        (given && x.time > best.time + NEAR))
                        fail_msg("seed %d: %g, bound %g, given %g", (int)seed, x.time, x.bound,
                                 best.time);
                } else if (given || !strstr(err.msg, "raise the limits")) {
                    fail_msg("seed %d, effort %d: %s", (int)seed, (int)o.effort, err.msg);
                }
            }
        }
        pl_arena_free(a);
    }
    assert_in_range(n, ROUNDS_OF(600), ROUNDS_OF(1800));
    assert_in_range(open, ROUNDS_OF(20), n);
}

static void test_capped_and_tied(void **state)
{
    (void)state;
    int n = 0, proven = 0, worse = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_chain c = draw_chain(&d, 5, 4, seed % 7 == 0 ? 30 : 7);
        pl_sum s = pl_chain_unroll(&c, a);
        pl_answer open, x, y, z, t;
        pl_err err = { 0 }, none = { 0 };
        if (pl_search_min(&s, INFINITY, NULL, a, &open, &err)) {
            double cap = open.memory * (0.4 + 0.7 * draw_unit(&d));
            bool found = pl_search_min(&s, cap, NULL, a, &x, &err);
            if (pl_chain_min(&c, cap, NULL, a, &y, &err) != found ||
                pl_chain_min(&c, cap, &FOLDED, a, &z, &err) != found)
                fail_msg("seed %d: %s", (int)seed, err.msg);
            bool tied = pl_chain_tied(&c, cap, NULL, a, &t, &none);
            if (found) {
                double best = fmin(fmin(x.time, y.time), z.time);
                check_answer(seed, &c, cap, &y);
                check_answer(seed, &c, cap, &z);
                if (y.bound > best + NEAR || x.bound > best + NEAR || z.bound > best + NEAR)
                    fail_msg("seed %d: bounds %g, %g, folded %g; %g was found", (int)seed, x.bound,
                             y.bound, z.bound, best);
                if (tied) check_answer(seed, &c, cap, &t);
                if (tied && t.time < best - NEAR)
                    fail_msg("seed %d: tied %g, free %g", (int)seed, t.time, best);
                n++;
                proven += y.proven;
                worse += tied && t.time > y.time + NEAR;
            }
        }
        pl_arena_free(a);
    }
    assert_in_range(n, ROUNDS_OF(100), ROUNDS_OF(199));
    assert_true(proven > n * 98 / 100); /* small ones are solved, not only bounded */
    assert_true(worse > n / 10);        /* that copies may differ pays              */
}

/* A transformer layer on two mesh axes: folded equals written out, at any depth. */
static void test_layers(void **state)
{
    (void)state;
    static const int copies[] = { 1, 2, 3, 4, 9 };
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        pl_arena *a = pl_arena_new("test");
        layout l = layout_gpt(2, false, 1, copies[i]);
        pl_chain c = layout_chain(&l, a);
        pl_sum s = pl_chain_unroll(&c, a);
        pl_answer x, y, t;
        pl_err err = { 0 };
        if (!pl_chain_min(&c, INFINITY, &FOLDED, a, &x, &err) ||
            !pl_search_min(&s, INFINITY, NULL, a, &y, &err) ||
            !pl_chain_tied(&c, INFINITY, NULL, a, &t, &err))
            fail_msg("%d copies: %s", copies[i], err.msg);
        check_answer(i, &c, INFINITY, &x);
        assert_true(x.proven && y.proven && fabs(x.time - y.time) < NEAR * x.time);
        assert_true(t.time > x.time * (1 - NEAR));
        pl_arena_free(a);
    }
}

/* Caps down to a fifth of what the fastest choice takes: the gap is within 1 %. */
static void test_layers_capped(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    layout l = layout_gpt(2, false, 0, 12);
    pl_chain c = layout_chain(&l, a);
    pl_answer open, x;
    pl_err err = { 0 };
    assert_true(pl_chain_min(&c, INFINITY, &FOLDED, a, &open, &err));
    double last = open.time;
    for (int i = 1; i <= 10; i++) {
        double cap = open.memory * (1 - 0.08 * i);
        if (!pl_chain_min(&c, cap, &FOLDED, a, &x, &err)) fail_msg("cap %d: %s", i, err.msg);
        check_answer((uint64_t)i, &c, cap, &x);
        if (x.time - x.bound > 0.01 * x.time)
            fail_msg("cap %d: time %g, bound %g", i, x.time, x.bound);
        assert_true(x.bound > last * (1 - 0.01) && x.price > 0);
        last = x.time;
    }
    assert_false(pl_chain_min(&c, open.memory / 1e6, NULL, a, &x, &err));
    assert_int_equal(err.code, PL_EINFEASIBLE);
    pl_arena_free(a);
}

/* Caps evenly spaced from the least memory to what the fastest choice takes, of stacks that are
 * written out and of one that is folded: within 1 % of the bound (of 60 caps, one may be within
 * 2 %), and more memory is never worse. */
static void test_caps(void **state)
{
    (void)state;
    static const int copies[] = { 1, 2, 24 };
    int far = 0;
    const char *text = "that any choice takes is ";
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        pl_arena *a = pl_arena_new("test");
        layout l = layout_gpt(2, false, 0, copies[i]);
        pl_chain c = layout_chain(&l, a);
        pl_answer open, x;
        pl_err err = { 0 };
        assert_true(pl_chain_min(&c, INFINITY, NULL, a, &open, &err));
        assert_false(pl_chain_min(&c, 0, NULL, a, &x, &err));
        assert_non_null(strstr(err.msg, text));
        double least = strtod(strstr(err.msg, text) + strlen(text), NULL) * (1 + 1e-5);
        double last = INFINITY;
        assert_false(pl_chain_min(&c, 0.99 * least, NULL, a, &x, &err));
        for (int k = 0; k < 12; k++) {
            double cap = least + (open.memory - least) * k / 11;
            err = (pl_err){ 0 };
            if (!pl_chain_min(&c, cap, NULL, a, &x, &err)) fail_msg("cap %d: %s", k, err.msg);
            check_answer(i, &c, cap, &x);
            far += x.time - x.bound > 0.01 * x.time;
            if (x.time - x.bound > 0.02 * x.time || x.bound > last * (1 + NEAR))
                fail_msg("%d copies, cap %d: time %g, bound %g, with less memory %g", copies[i], k,
                         x.time, x.bound, last);
            last = x.time;
        }
        assert_true(last < open.time * (1 + NEAR));
        pl_arena_free(a);
    }
    assert_in_range(far, 0, 1);
}

/* 16 times the copies are no more than a little more work: the run of copies is a power. */
static void test_flat_in_depth(void **state)
{
    (void)state;
    int64_t work[2];
    for (int i = 0; i < 2; i++) {
        pl_arena *a = pl_arena_new("test");
        layout l = layout_gpt(2, false, 2, i ? 192 : 12);
        pl_chain c = layout_chain(&l, a);
        pl_answer x;
        pl_err err = { 0 };
        assert_true(pl_chain_min(&c, INFINITY, &FOLDED, a, &x, &err));
        assert_true(x.proven);
        work[i] = x.work;
        pl_arena_free(a);
    }
    if (work[1] > 3 * work[0]) fail_msg("work %d at 12, %d at 192", (int)work[0], (int)work[1]);
}

/* No variables in the block, or none outside, or no links between copies. */
static void test_empty_parts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(12 * seed, true, a); /* nothing illegal or negative */
        pl_chain c = { .copies = 1 + draw_below(&d, 9) };
        pl_answer x;
        pl_err err = { 0 };
        if (seed % 3) c.outside = draw_sum(&d, 2, 3, 1, false);
        if (seed % 2) c.block = draw_sum(&d, 2, 3, 1, false);
        pl_sum s = pl_chain_unroll(&c, a);
        pl_answer y;
        assert_true(pl_chain_min(&c, INFINITY, &FOLDED, a, &x, &err));
        assert_true(pl_search_min(&s, INFINITY, NULL, a, &y, &err));
        assert_true(x.proven && fabs(x.time - y.time) < NEAR);
        double cap = 0.9 * x.memory;
        bool fits = pl_search_min(&s, cap, NULL, a, &y, &err);
        err = (pl_err){ 0 };
        assert_int_equal(pl_chain_min(&c, cap, &FOLDED, a, &x, &err), fits);
        if (fits) check_answer(seed, &c, cap, &x);
        if (fits) assert_true(x.bound < y.time + NEAR && x.time > y.time - NEAR);
        if (fits && c.copies < PL_MANY_COPIES)
            assert_true(x.proven && fabs(x.time - y.time) < NEAR);
        pl_arena_free(a);
    }
}

static void test_errors(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    draw d = draw_new(0, false, a);
    pl_chain c = { .block = draw_sum(&d, 2, 3, 1, false), .copies = 0 };
    const pl_sum_edge beyond = { 0, 2, NULL, NULL };
    pl_answer x;
    pl_err err = { 0 };
    assert_false(pl_chain_min(&c, INFINITY, NULL, a, &x, &err));
    assert_non_null(strstr(err.msg, "0 copies"));
    c.copies = 3;
    c.link = &beyond;
    c.n_links = 1;
    err = (pl_err){ 0 };
    assert_false(pl_chain_min(&c, INFINITY, NULL, a, &x, &err));
    assert_int_equal(err.code, PL_EINPUT);
    assert_non_null(strstr(err.msg, "links: edge 0 joins variables 0 and 2"));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unroll),          cmocka_unit_test(test_folded_is_unrolled),
        cmocka_unit_test(test_brute_capped),    cmocka_unit_test(test_short_efforts),
        cmocka_unit_test(test_capped_and_tied), cmocka_unit_test(test_layers),
        cmocka_unit_test(test_layers_capped),   cmocka_unit_test(test_caps),
        cmocka_unit_test(test_flat_in_depth),   cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_memory_is_least),
        cmocka_unit_test(test_rough_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
