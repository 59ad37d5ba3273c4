/* Splices of known choices: each of them, written out and costed, against the one that is found. */
#include "chain/splice.h"
#include "support/rounds.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KNOWN = 4 };

/* One splice: outside of o, copies of a up to i, of b up to j, then of c. */
static void write_splice(const pl_chain *chain, int *const *known, const int from[4], int i, int j,
                         int *value)
{
    const int n = chain->outside.n, block = chain->block.n;
    memcpy(value, known[from[0]], (size_t)n * sizeof *value);
    for (int k = 0; k < chain->copies; k++) {
        const int at = n + k * block;
        memcpy(value + at,
               known[from[k < i   ? 1
                          : k < j ? 2
                                  : 3]] +
                   at,
               (size_t)block * sizeof *value);
    }
}

static double brute(pl_chain_pair pair, double cap, int *const *known, int *value)
{
    const int copies = pair.sum[0]->copies;
    double least = INFINITY;
    for (int at = 0; at < KNOWN * KNOWN * KNOWN * KNOWN; at++) {
        const int from[4] = { at % KNOWN, at / KNOWN % KNOWN, at / KNOWN / KNOWN % KNOWN,
                              at / KNOWN / KNOWN / KNOWN };
        for (int i = 1; i < copies; i++)
            for (int j = i + 1; j <= copies; j++) {
                write_splice(pair.sum[0], known, from, i, j, value);
                pl_cost cost = pl_chain_pair_cost(pair, value);
                if (cost.memory <= cap) least = fmin(least, cost.time);
            }
    }
    return least;
}

static void test_all_splices(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        d.illegal /= 4;
        pl_chain one = draw_chain(&d, 3, 3, 6), other = redraw_chain(&d, &one);
        const pl_chain_pair pair = { { &one, &other } };
        const int n = (int)pl_chain_variables(&one);
        int *known[KNOWN], *value = PL_NEW_N(a, int, n);
        double memory = 0;
        for (int k = 0; k < KNOWN; k++) {
            known[k] = draw_values(&d, &one);
            memory += pl_chain_cost(&one, known[k]).memory / KNOWN;
        }
        const double least = brute(pair, memory, known, value);
        pl_cost cost = { INFINITY, 0 };
        const bool any =
            pl_chain_splice(pair, memory, KNOWN, (const int *const *)known, value, &cost);
        /* An illegal copy spoils the sums behind it, which may hide a splice; never a wrong one. */
        if (any) {
            const pl_cost told = pl_chain_pair_cost(pair, value);
            assert_true(fabs(told.time - cost.time) < 1e-9 && told.memory <= memory);
            assert_true(cost.time >= least - 1e-9);
        }
        bool legal = true;
        for (int k = 0; k < KNOWN; k++) legal &= isfinite(pl_chain_cost(&one, known[k]).time);
        if (legal && one.copies > 1 && !one.n_every) {
            assert_true(any == isfinite(least));
            if (any) assert_true(fabs(cost.time - least) < 1e-9);
            found += any;
        }
        pl_arena_free(a);
    }
    assert_true(found > 0);
}

/* A search below one cap after the other knows what the last ones found: that bounds no more than
 * what is there, and finds no more than the bound of a search that knows nothing. */
static void test_cap_after_cap(void **state)
{
    enum { CAPS = 5, COPIES = 12 };
    static const double part[CAPS] = { 0.9, 0.7, 1, 0.8, 0.7 }; /* 1: without a cap */
    (void)state;
    int found = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(150); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        d.illegal /= 4;
        pl_chain one = draw_chain(&d, 3, 3, 4);
        one.copies = COPIES;
        const pl_chain other = redraw_chain(&d, &one);
        const pl_chain_pair pair = { { &one, &other } };
        pl_chain_opened *opened = NULL;
        pl_answer open, x, y;
        pl_err err = { 0 };
        const bool any = pl_chain_pair_min(pair, INFINITY, false, NULL, NULL, a, &open, NULL, &err);
        for (int i = 0; any && i < CAPS; i++) {
            const double cap = part[i] < 1 ? part[i] * open.memory : INFINITY;
            const bool fits = pl_chain_pair_min(pair, cap, false, NULL, NULL, a, &x, NULL, &err),
                       again =
                           pl_chain_pair_min(pair, cap, false, NULL, &opened, a, &y, NULL, &err);
            if (fits != again) fail_msg("seed %d, cap %d: %s", (int)seed, i, err.msg);
            if (!fits) continue;
            found++;
            const pl_cost cost = pl_chain_pair_cost(pair, y.value);
            assert_true(cost.memory <= cap && fabs(cost.time - y.time) < 1e-9);
            if (fmax(x.bound, y.bound) > fmin(x.time, y.time) + 1e-7)
                fail_msg("seed %d, cap %d: bounds %g and %g, found %g and %g", (int)seed, i,
                         x.bound, y.bound, x.time, y.time);
        }
        pl_arena_free(a);
    }
    assert_in_range(found, ROUNDS_OF(150), ROUNDS_OF(750));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_splices),
                                        cmocka_unit_test(test_cap_after_cap) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
