/* Parts of a choice searched anew, against every choice of them; and copies of two kinds with a
 * seam, against the seam at every place. */
#include "chain/refit.h"
#include "chain/seam.h"
#include "search/solve.h"
#include "support/rounds.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Each of the parts at most once. */
static pl_parts draw_parts(draw *d, const pl_chain *c)
{
    pl_parts p = { 0 };
    for (int i = PL_PART_OUTSIDE; i < c->copies && p.n < 3; i++)
        if (draw_below(d, 3) == 0) p.at[p.n++] = i;
    return p;
}

static bool is_in(const pl_parts *p, const pl_chain *c, int v)
{
    const int part = v < c->outside.n ? PL_PART_OUTSIDE : (v - c->outside.n) / c->block.n;
    bool in = false;
    for (int i = 0; i < p->n; i++) in |= p->at[i] == part;
    return in;
}

/* The least cost with any values of the parts from variable v on. */
static double brute(const pl_chain *c, pl_cost weights, const pl_parts *p, int *value, int v)
{
    const int n = (int)pl_chain_variables(c);
    if (v == n) return pl_chain_weighted(c, weights, value);
    if (!is_in(p, c, v)) return brute(c, weights, p, value, v + 1);
    const int sizes = v < c->outside.n ? c->outside.n_values[v]
                                       : c->block.n_values[(v - c->outside.n) % c->block.n],
              was = value[v];
    double least = INFINITY;
    for (int x = 0; x < sizes; x++) {
        value[v] = x;
        least = fmin(least, brute(c, weights, p, value, v + 1));
    }
    value[v] = was;
    return least;
}

static void test_parts(void **state)
{
    (void)state;
    int better = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(300); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        const pl_chain c = draw_chain(&d, 2, 3, 5);
        const pl_cost weights = { 1, seed % 2 ? 0.3 : 0 };
        const int n = (int)pl_chain_variables(&c);
        int *value = draw_values(&d, &c), *before = PL_NEW_N(a, int, n);
        const pl_parts parts = draw_parts(&d, &c);
        memcpy(before, value, (size_t)n * sizeof *value);
        const double least = brute(&c, weights, &parts, value, 0),
                     cost = pl_chain_weighted(&c, weights, value);
        const pl_search_options o = pl_solve_defaults(NULL);
        pl_chain_refit(&c, weights, parts, &o, value);
        const double now = pl_chain_weighted(&c, weights, value);
        if (isfinite(least) && fabs(now - least) > 1e-9 * (1 + fabs(least)))
            fail_msg("seed %d: %g, and %g is the least", (int)seed, now, least);
        for (int v = 0; v < n; v++) assert_true(value[v] == before[v] || is_in(&parts, &c, v));
        better += now < cost;
        pl_arena_free(a);
    }
    assert_true(better > (int)ROUNDS_OF(50));
}

static int *copy_at(const pl_chain *c, int *value, int i)
{
    return value + c->outside.n + i * c->block.n;
}

/* The copies of `value`, which has its seam at `at`, with it elsewhere. */
static void move_seam(const pl_chain *c, const int *from, const int *to, const int *seam, int at,
                      int *value)
{
    for (int i = 1; i + 1 < c->copies; i++)
        memcpy(copy_at(c, value, i),
               i < at    ? from
               : i == at ? seam
                         : to,
               (size_t)c->block.n * sizeof *value);
}

/* The one copy between the ends that is like neither, or any. */
static int find_seam(const pl_chain *c, const int *from, const int *to, int *value)
{
    const size_t size = (size_t)c->block.n * sizeof *value;
    int at = 1;
    while (at + 2 < c->copies && !memcmp(copy_at(c, value, at), from, size)) at++;
    for (int i = at + 1; i + 1 < c->copies; i++)
        assert_true(!memcmp(copy_at(c, value, i), to, size));
    return at;
}

static void test_seams(void **state)
{
    enum { COPIES = 9 };
    (void)state;
    int found = 0, inside = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        d.illegal /= 4;
        pl_chain one = draw_chain(&d, 3, 3, 4);
        one.copies = COPIES;
        const pl_chain other = redraw_chain(&d, &one);
        const int n = (int)pl_chain_variables(&one);
        int *two[2], *value = PL_NEW_N(a, int, n);
        for (int k = 0; k < 2; k++) {
            two[k] = draw_values(&d, &one);
            for (int i = 1; i < COPIES; i++)
                memcpy(copy_at(&one, two[k], i), copy_at(&one, two[k], 0),
                       (size_t)one.block.n * sizeof **two);
        }
        const double memory =
            (pl_chain_cost(&one, two[0]).memory + pl_chain_cost(&one, two[1]).memory) / 2;
        const pl_search_options o = pl_solve_defaults(NULL);
        pl_seam seam = { .pair = { { &one, &other } },
                         .at_price = &one,
                         .cap = memory,
                         .from = two[0],
                         .to = two[1] };
        pl_cost cost;
        int64_t work;
        if (pl_chain_seam(&seam, &o, value, &cost, &work)) {
            const int *from = copy_at(&one, two[0], 1), *to = copy_at(&one, two[1], 1);
            const int at = find_seam(&one, from, to, value);
            const pl_cost told = pl_chain_pair_cost(seam.pair, value);
            int *own = PL_NEW_N(a, int, one.block.n);
            memcpy(own, copy_at(&one, value, at), (size_t)one.block.n * sizeof *own);
            assert_true(told.time == cost.time && told.memory == cost.memory);
            assert_true(cost.memory <= memory);
            /* a seam like `from` is seen a copy too late */
            const bool late = !memcmp(own, to, (size_t)one.block.n * sizeof *own);
            for (int k = 2 + late; k + 2 < COPIES; k++) {
                move_seam(&one, from, to, own, k, value);
                const pl_cost there = pl_chain_pair_cost(seam.pair, value);
                if (there.memory <= memory - 1e-9 && there.time < cost.time - 1e-9)
                    fail_msg("seed %d: seam at %d %g, at %d %g", (int)seed, at, cost.time, k,
                             there.time);
            }
            found++, inside += at > 2 && at + 3 < COPIES;
        }
        pl_arena_free(a);
    }
    assert_true(found > (int)ROUNDS_OF(50) && inside > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts),
                                        cmocka_unit_test(test_seams) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
