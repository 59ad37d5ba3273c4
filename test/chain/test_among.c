/* Every mixture of known choices is one of the chain among them, at the same cost, and no other
 * choice is. */
#include "chain/among.h"
#include "support/rounds.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KNOWN = 3 };

static bool is_alike(double a, double b)
{
    return a == b || fabs(a - b) < 1e-9;
}

/* Does a known choice have this value there, of a variable of the block in any copy? */
static bool is_known(const pl_chain *chain, int *const *known, int v, int value)
{
    const int outside = chain->outside.n, block = chain->block.n;
    bool found = false;
    for (int k = 0; k < KNOWN; k++)
        for (int i = 0; i < chain->copies; i++) {
            const int at = v < outside ? v : outside + i * block + (v - outside) % block;
            found |= known[k][at] == value;
        }
    return found;
}

static void check_cost(pl_chain_pair pair, const pl_among *among, const int *value, const int *is)
{
    for (int k = 0; k < 2; k++) {
        const pl_cost here = pl_chain_cost(among->pair.sum[k], value),
                      there = pl_chain_cost(pair.sum[k], is);
        assert_true(is_alike(here.time, there.time) && is_alike(here.memory, there.memory));
    }
}

/* The next choice of the chain; false: that was the last. */
static bool step(const pl_chain *chain, int *value)
{
    const int outside = chain->outside.n, n = (int)pl_chain_variables(chain);
    for (int v = 0; v < n; v++) {
        const int size = v < outside ? chain->outside.n_values[v]
                                     : chain->block.n_values[(v - outside) % chain->block.n];
        if (++value[v] < size) return true;
        value[v] = 0;
    }
    return false;
}

static void test_mixtures(void **state)
{
    (void)state;
    int mixtures = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        const pl_chain one = draw_chain(&d, 2, 2, 3), other = redraw_chain(&d, &one);
        const pl_chain_pair pair = { { &one, &other } };
        const int n = (int)pl_chain_variables(&one);
        int *known[KNOWN], *value = PL_NEW_N(a, int, n);
        bool met[KNOWN] = { false };
        for (int k = 0; k < KNOWN; k++) known[k] = draw_values(&d, &one);
        const pl_among among = pl_chain_among(pair, KNOWN, known, a);
        do {
            const int *is = pl_among_choice(&among, value, a);
            check_cost(pair, &among, value, is);
            for (int v = 0; v < n; v++) assert_true(is_known(&one, known, v, is[v]));
            for (int k = 0; k < KNOWN; k++) met[k] |= !memcmp(is, known[k], (size_t)n * sizeof *is);
            mixtures++;
        } while (step(among.pair.sum[0], value));
        for (int k = 0; k < KNOWN; k++) assert_true(met[k]);
        pl_arena_free(a);
    }
    assert_true(mixtures > KNOWN * (int)ROUNDS_OF(200));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_mixtures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
