/* List scheduling under a target: what a run tells of its order. */
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/rounds.h"
#include "order/forced.h"
#include "order/hills.h"
#include "random_tasks.h"

/* A run's order has the peak that the run tells, and is the same under every target below `next`.
 * Larger graphs than a branch is followed through. */
static void test_hills(void **state)
{
    (void)state;
    int skipped = 0, others = 0;
    for (int seed = 0; seed < ROUNDS_OF(400); seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 8), 0 };
        pl_arena *a = pl_arena_new("graph");
        const int n = seed % 4 ? 20 : 150;
        const pl_schedule_problem p = make_random(a, &d, n);
        const pl_index *x = pl_index_make(&p, a);
        int *place = PL_NEW_N(a, int, n), *order[3];
        for (int k = 0; k < 3; k++) order[k] = PL_NEW_N(a, int, n);
        pl_hills *h = pl_hills_new(x, seed % 2 ? PL_HILLS_BRISK : PL_HILLS_PATIENT, a);
        const pl_hills_rule rule = (pl_hills_rule)roll(&d, PL_HILLS_RULES);
        int64_t effort = INT64_MAX, target = pl_forced_working(x);
        for (int k = 0; k < 3; k++) {
            pl_hills_result r, same;
            assert_true(pl_hills_run(h, target, INT64_MAX, rule, place, order[0], &r, &effort));
            const int64_t live = pl_index_live(x, order[0], NULL, NULL);
            if (live != r.peak)
                fail_msg("seed %d: peak %lld, not %lld", seed, (long long)live, (long long)r.peak);
            assert_true(r.next > target);
            if (r.next == INT64_MAX) break;
            skipped += r.next > target + 1;
            assert_true(
                pl_hills_run(h, r.next - 1, INT64_MAX, rule, place, order[1], &same, &effort));
            assert_memory_equal(order[0], order[1], (size_t)n * sizeof *order[0]);
            assert_int_equal(same.next, r.next);
            target = r.next;
            assert_true(pl_hills_run(h, target, INT64_MAX, rule, place, order[2], &same, &effort));
            others += memcmp(order[0], order[2], (size_t)n * sizeof *order[0]) != 0;
        }
        pl_arena_free(a);
    }
    printf("targets: %d skip some, %d orders change at the end of them\n", skipped, others);
    assert_true(skipped > ROUNDS_OF(100) && others > ROUNDS_OF(100));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hills) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
