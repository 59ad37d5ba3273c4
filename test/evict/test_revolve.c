/* Chains: the optimum of Griewank and Walther at every budget, unequal steps, and what is no
 * chain. */
#include "support/expect.h"

#include <string.h>

#include "brute.h"
#include "policies/revolve.h"
#include "support/arena.h"

static bool find(const pl_evict_problem *p, const char *policy, int64_t budget, int64_t effort,
                 pl_evict_schedule *s, pl_err *err)
{
    pl_evict_options o = { .policy = policy, .budget = budget, .effort = effort };
    if (!pl_evict_find(p, &o, arena, s, err)) return false;
    pl_err wrong = { 0 };
    EXPECT(pl_evict_check(p, budget, s, &wrong), "%s, budget %lld: %s", policy, (long long)budget,
           wrong.msg);
    return true;
}

/* Least forward steps by definition: t(1, c) = 0, t(l, c) = min_k k + t(l - k, c - 1) + t(k, c). */
static int64_t count_steps(int steps, int slots)
{
    int64_t best = INT64_MAX / 4;
    if (steps == 1) return 0;
    if (slots < 1) return best;
    if (slots == 1) return (int64_t)steps * (steps - 1) / 2;
    for (int k = 1; k < steps; k++) {
        int64_t sum = k + count_steps(steps - k, slots - 1) + count_steps(k, slots);
        best = sum < best ? sum : best;
    }
    return best;
}

static void test_closed_form(void **state)
{
    (void)state;
    for (int steps = 1; steps <= 11; steps++)
        for (int slots = 1; slots <= 5; slots++)
            EXPECT(pl_evict_revolve_steps(steps, slots) == count_steps(steps, slots),
                   "%d steps, %d slots: %lld, not %lld", steps, slots,
                   (long long)pl_evict_revolve_steps(steps, slots),
                   (long long)count_steps(steps, slots));
}

/* 16 steps of a second and a byte. What a step back reads lies there beside its two gradients, and
 * the start of all takes no bytes: 17 steps in budget - 2 slots. */
static void test_unit_chain(void **state)
{
    (void)state;
    script s;
    make_chain(&s, 16);
    for (int64_t budget = 4; budget <= 18; budget++) {
        double least = (double)pl_evict_revolve_steps(17, (int)budget - 2) + 17;
        static const char *const names[] = { "chain", "checkmate", "pleat" };
        for (int k = 0; k < 3; k++) {
            pl_evict_schedule got;
            pl_err err = { 0 };
            EXPECT(find(&s.problem, names[k], budget, 3000000, &got, &err), "%s, %lld bytes: %s",
                   names[k], (long long)budget, err.msg);
            EXPECT(got.seconds == least, "%s, %lld bytes: %g s, not %g", names[k],
                   (long long)budget, got.seconds, least);
        }
    }
    pl_evict_schedule got;
    pl_err err = { 0 };
    EXPECT(!find(&s.problem, "chain", 2, 0, &got, &err) && err.code == PL_EINFEASIBLE, "%s",
           err.msg);
}

/* Unequal steps: never faster than the exact search, and as fast on most. */
static void test_unequal_chain(void **state)
{
    (void)state;
    int same = 0, cases = 0;
    for (int round = 0; round < 12; round++) {
        script s;
        dice d = { .rng = pl_rng_at(11, (uint64_t)round) };
        make_chain(&s, 6);
        for (int t = 0; t < s.problem.n_op; t++) {
            s.seconds[t] = 1 + roll(&d, 5);
            s.bytes[t] = 1 + roll(&d, 4);
        }
        pl_evict_facts f = pl_evict_measure(&s.problem);
        for (int64_t budget = f.need; budget <= f.peak; budget++) {
            pl_evict_schedule chain, exact;
            pl_err err = { 0 }, other = { 0 };
            if (!find(&s.problem, "chain", budget, 0, &chain, &err)) continue;
            EXPECT(find(&s.problem, "checkmate", budget, 1000000, &exact, &other), "%s", other.msg);
            EXPECT(exact.optimal && chain.seconds >= exact.seconds, "chain %g, exact %g",
                   chain.seconds, exact.seconds);
            cases++;
            same += chain.seconds == exact.seconds;
        }
    }
    EXPECT(same * 10 >= cases * 8, "%d of %d", same, cases);
}

static void test_no_chain(void **state)
{
    (void)state;
    script s;
    begin(&s);
    int a = add(&s, 1, 1, NULL), b = add(&s, 1, 1, (const int[]){ a, -1 });
    int c = add(&s, 1, 1, (const int[]){ a, -1 });
    (void)add(&s, 1, 1, (const int[]){ a, b, c, -1 });
    pl_evict_schedule got;
    pl_err err = { 0 };
    EXPECT(!find(&s.problem, "chain", 100, 0, &got, &err) && err.code == PL_EUNSUPPORTED &&
               strstr(err.msg, "no chain"),
           "%s", err.msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_closed_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unit_chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unequal_chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_chain, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
