/* The area under the ROC curve against its definition: all pairs, ties count half. */
#include "train/auc.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double by_pairs(const pl_auc *x)
{
    double sum = 0, pairs = 0;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < x->n; k++) {
            if (!x->at[i].one || x->at[k].one) continue;
            const float a = x->at[i].score, b = x->at[k].score;
            pairs++;
            sum += a > b ? 1 : a == b ? 0.5 : 0;
        }
    return sum / pairs;
}

static void test_pairs(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const pl_rng r = pl_rng_at(seed, 1);
        pl_auc x = { 0 };
        for (uint64_t i = 0; i < 2 + seed % 40; i++) {
            const float score = (float)pl_rng_below(r, 2 * i, 1 + seed % 17);
            PL_PUSH(a, &x, ((pl_scored){ score, pl_rng_below(r, 2 * i + 1, 2) }));
        }
        const double wanted = by_pairs(&x), found = pl_auc_find(&x);
        if (isnan(wanted))
            assert_true(isnan(found));
        else
            assert_true(fabs(found - wanted) < 1e-12);
    }
    pl_auc none = { 0 };
    assert_true(isnan(pl_auc_find(&none)));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
