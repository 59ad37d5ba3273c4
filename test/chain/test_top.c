/* The highest point under random planes: it lies under them all, and no point tried lies higher. */
#include "chain/top.h"
#include "base/rng.h"
#include "support/rounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 9, STEPS = 60 };

static double lowest(int n, const pl_plane *plane, double price, double memory_price)
{
    double low = INFINITY;
    for (int i = 0; i < n; i++) low = fmin(low, pl_plane_height(&plane[i], price, memory_price));
    return low;
}

static void test_highest_point(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS_OF(500); seed++) {
        const pl_rng rng = pl_rng_at(seed, 0);
        const int n = 1 + (int)pl_rng_below(rng, 0, MOST);
        const bool capped = seed % 4;
        pl_plane plane[MOST];
        for (int i = 0; i < n; i++) {
            const uint64_t at = 8 + 4 * (uint64_t)i;
            plane[i] = (pl_plane){ pl_rng_uniform(rng, at), pl_rng_uniform(rng, at + 1),
                                   capped ? 1e10 * (pl_rng_uniform(rng, at + 2) - 0.5) : 0 };
        }
        if (plane[0].over > 0) plane[0].over *= -1; /* one fits */
        const pl_top top = pl_top_of(n, plane);
        const double here = lowest(n, plane, top.price, top.memory_price);
        const double near = 1e-7 * (1 + 1e10 * top.memory_price);
        assert_true(fabs(here - top.height) < near);
        assert_true(top.price >= 0 && top.price <= 1 && top.memory_price >= 0);
        for (int i = 0; i <= STEPS; i++)
            for (int j = 0; j <= STEPS; j++) {
                const double m = capped ? 1e-11 * pow(1.2, j) - 1e-11 : 0;
                assert_true(lowest(n, plane, (double)i / STEPS, m) <= top.height + near);
            }
    }
}

/* So much of one and so much of another, at a thousand parts. */
static void test_mixed(void **state)
{
    enum { PARTS = 1000 };
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS_OF(500); seed++) {
        const pl_rng rng = pl_rng_at(seed, 1);
        pl_plane at[2];
        for (uint64_t i = 0; i < 2; i++)
            at[i] = (pl_plane){ pl_rng_uniform(rng, 3 * i), pl_rng_uniform(rng, 3 * i + 1),
                                seed % 4 ? 1e10 * (pl_rng_uniform(rng, 3 * i + 2) - 0.5) : 0 };
        const double mixed = pl_plane_mixed(&at[0], &at[1]);
        double least = INFINITY;
        for (int i = 0; i <= PARTS; i++) {
            const double q = (double)i / PARTS, p = 1 - q;
            if (p * at[0].over + q * at[1].over > 0) continue;
            least = fmin(least, fmax(p * at[0].computing + q * at[1].computing,
                                     p * at[0].sending + q * at[1].sending));
        }
        assert_true(isfinite(least) == isfinite(mixed));
        if (isfinite(least)) assert_true(mixed <= least + 1e-9 && mixed >= least - 2. / PARTS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_highest_point),
                                        cmocka_unit_test(test_mixed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
