/* Policies of eviction: against brute force, bounds, budgets, and what the rules refuse. */
#include "support/expect.h"
#include "support/rounds.h"

#include <stdio.h>
#include <string.h>

#include "brute.h"
#include "support/arena.h"

static const char *const recompute[] = { "pleat", "dtr",   "dtr-eq",    "dtr-local", "msps", "lru",
                                         "size",  "stale", "checkmate", "knapsack",  "given" };
enum { N_RECOMPUTE = sizeof recompute / sizeof *recompute };

static bool find(const pl_evict_problem *p, const char *policy, int64_t budget,
                 pl_evict_schedule *s, pl_err *err)
{
    pl_evict_options o = { .policy = policy, .budget = budget };
    if (!strcmp(policy, "pleat")) o.effort = 100000;
    if (!pl_evict_find(p, &o, arena, s, err)) return false;
    pl_err wrong = { 0 };
    EXPECT(pl_evict_check(p, budget, s, &wrong), "%s, budget %lld: %s", policy, (long long)budget,
           wrong.msg);
    EXPECT(s->bound <= s->seconds * (1 + 1e-9), "%s: bound %g, seconds %g", policy, s->bound,
           s->seconds);
    return true;
}

/* All policies, all budgets from too small to all: none is faster than the fastest there is, the
 * exact one is as fast, its bound and that of ours are no more. */
static void test_random(void **state)
{
    (void)state;
    int rounds = ROUNDS_OF(40), found = 0, missed = 0, cases = 0;
    for (int round = 0; round < rounds; round++) {
        script s;
        dice d = { .rng = pl_rng_at(7, (uint64_t)round) };
        make_random(&s, 6 + round % 4, round % 3 ? 0 : 9, &d);
        pl_evict_facts f = pl_evict_measure(&s.problem);
        for (int64_t budget = f.need - 1; budget <= f.peak; budget += 1 + f.peak / 12) {
            double least = brute_recompute(&s.problem, budget);
            for (int k = 0; k < N_RECOMPUTE; k++) {
                pl_evict_schedule got;
                pl_err err = { 0 };
                bool ok = find(&s.problem, recompute[k], budget, &got, &err);
                EXPECT(ok || err.code == PL_EINFEASIBLE, "round %d: %s", round, err.msg);
                EXPECT(!ok || got.seconds >= least * (1 - 1e-9), "round %d, %s: %g < %g", round,
                       recompute[k], got.seconds, least);
                EXPECT(!ok || got.bound <= least * (1 + 1e-9), "round %d, %s: bound %g > %g", round,
                       recompute[k], got.bound, least);
                EXPECT(!ok || !got.optimal || got.seconds <= least * (1 + 1e-9),
                       "round %d, %s: %g is not the least, %g", round, recompute[k], got.seconds,
                       least);
                if (!strcmp(recompute[k], "checkmate"))
                    EXPECT(ok == isfinite(least) && (!ok || got.seconds <= least * (1 + 1e-9)),
                           "round %d, budget %lld: exact %d, %g, not %g", round, (long long)budget,
                           ok, got.seconds, least);
                if (k > 0 || !isfinite(least)) continue;
                cases++;
                missed += !ok;
                found += ok && got.seconds <= least * (1 + 1e-9);
            }
        }
    }
    EXPECT(found * 100 >= cases * 95, "pleat finds the least in %d of %d", found, cases);
    EXPECT(missed * 100 <= cases * 5, "pleat finds nothing in %d of %d", missed, cases);
}

/* Where an op may run twice at most: ours against brute force. */
static void test_limited_runs(void **state)
{
    (void)state;
    int rounds = ROUNDS_OF(30), found = 0, cases = 0;
    for (int round = 0; round < rounds; round++) {
        script s;
        dice d = { .rng = pl_rng_at(12, (uint64_t)round) };
        make_random(&s, 6, round % 2 ? 0 : 8, &d);
        s.problem.most_runs = 2;
        pl_evict_facts f = pl_evict_measure(&s.problem);
        for (int64_t budget = f.need; budget <= f.peak; budget += 1 + f.peak / 12) {
            double least = brute_recompute(&s.problem, budget);
            pl_evict_schedule got;
            pl_err err = { 0 };
            bool ok = find(&s.problem, "pleat", budget, &got, &err);
            EXPECT(!ok || (got.seconds >= least * (1 - 1e-9) && got.bound <= least * (1 + 1e-9)),
                   "round %d, %lld bytes: bound %g, least %g, %g", round, (long long)budget,
                   got.bound, least, got.seconds);
            cases += isfinite(least);
            found += ok && got.seconds <= least * (1 + 1e-9);
        }
    }
    EXPECT(found * 100 >= cases * 85, "pleat finds the least in %d of %d", found, cases);
}

static void test_random_with_link(void **state)
{
    (void)state;
    int rounds = ROUNDS_OF(25);
    for (int round = 0; round < rounds; round++) {
        script s;
        dice d = { .rng = pl_rng_at(8, (uint64_t)round) };
        make_random(&s, 4 + round % 2, 0, &d);
        s.problem.out_bytes_per_s = 1 + roll(&d, 4);
        s.problem.in_bytes_per_s = 1 + roll(&d, 4);
        pl_evict_facts f = pl_evict_measure(&s.problem);
        for (int64_t budget = f.need; budget <= f.peak; budget += 1 + f.peak / 8) {
            double least = brute_mixed(&s.problem, budget);
            static const char *const names[] = { "pleat", "delta", "dtr" };
            double seconds[3];
            for (int k = 0; k < 3; k++) {
                pl_evict_schedule got;
                pl_err err = { 0 };
                bool ok = find(&s.problem, names[k], budget, &got, &err);
                seconds[k] = ok ? got.seconds : INFINITY;
                EXPECT(!ok || got.seconds >= least * (1 - 1e-9), "round %d, %s: %g < %g", round,
                       names[k], got.seconds, least);
                EXPECT(!ok || got.bound <= least * (1 + 1e-9),
                       "round %d, %s, budget %lld: bound %g > %g", round, names[k],
                       (long long)budget, got.bound, least);
            }
            EXPECT(seconds[0] <= fmin(seconds[1], seconds[2]) * (1 + 1e-9),
                   "round %d: pleat %g, delta %g, dtr %g", round, seconds[0], seconds[1],
                   seconds[2]);
        }
    }
}

/* Ops that may not run again write over what such an op made, with much between: what was copied
 * out before is old then. (A copy that was not made anew ended in an op without its input.) */
static void test_written_over(void **state)
{
    (void)state;
    int rounds = ROUNDS_OF(60), copied = 0;
    for (int round = 0; round < rounds; round++) {
        script s;
        dice d = { .rng = pl_rng_at(31, (uint64_t)round) };
        make_random(&s, 8, 0, &d);
        (void)add_op(&s, 1, (const int[]){ roll(&d, 8), -1 });
        s.once[8] = true;
        int now = add_value(&s, 20 + roll(&d, 20));
        for (int k = 0; k < 4; k++) {
            int between = roll(&d, 8);
            for (int i = 0; i < 3; i++)
                between = add(&s, 3 + roll(&d, 5), i < 2 ? 15 + roll(&d, 20) : 1,
                              (const int[]){ between, -1 });
            int t = add_op(&s, 1 + roll(&d, 3), (const int[]){ now, between, -1 });
            s.once[t] = true;
            const int over = add_value(&s, 0);
            s.view_of[over] = now, now = over;
        }
        (void)add(&s, 1, 1, (const int[]){ now, -1 });
        s.problem.most_runs = round % 3;
        s.problem.out_bytes_per_s = s.problem.in_bytes_per_s = 10 + roll(&d, 9);
        pl_evict_facts f = pl_evict_measure(&s.problem);
        for (int64_t budget = f.need; budget < f.peak; budget += 1 + f.peak / 10) {
            pl_evict_schedule got;
            pl_err err = { 0 };
            if (find(&s.problem, "pleat", budget, &got, &err)) copied += got.copied > 0;
            EXPECT(!err.code || err.code == PL_EINFEASIBLE, "round %d: %s", round, err.msg);
        }
    }
    EXPECT(copied > 10, "%d copy", copied);
}

/* Over 100 falling budgets what was found never gets faster, and fits wherever less did. */
static void test_monotone(void **state)
{
    (void)state;
    script s;
    dice d = { .rng = pl_rng_at(9, 0) };
    make_random(&s, 40, 0, &d);
    pl_evict_facts f = pl_evict_measure(&s.problem);
    int64_t budget[100];
    pl_evict_schedule got[100];
    pl_err err = { 0 };
    for (int k = 0; k < 100; k++) budget[k] = f.peak - (f.peak - f.need) * k / 99;
    pl_evict_options o = { .effort = 30000 };
    EXPECT(pl_evict_sweep(&s.problem, &o, 100, budget, arena, got, &err), "%s", err.msg);
    int fits = 0;
    for (int k = 0; k < 100; k++) {
        if (got[k].n == 0) continue;
        fits++;
        EXPECT(pl_evict_check(&s.problem, budget[k], &got[k], &err), "%s", err.msg);
        EXPECT(got[k].bound <= got[k].seconds * (1 + 1e-9), "bound %g", got[k].bound);
        if (k > 0)
            EXPECT(got[k - 1].n > 0 && got[k - 1].seconds <= got[k].seconds,
                   "budget %lld: %g, %lld: %g", (long long)budget[k - 1], got[k - 1].seconds,
                   (long long)budget[k], got[k].seconds);
    }
    EXPECT(fits > 40, "only %d of 100 budgets fit", fits);
}

static void test_same_twice(void **state)
{
    (void)state;
    script s;
    make_chain(&s, 12);
    pl_evict_schedule a, b;
    pl_err err = { 0 };
    EXPECT(find(&s.problem, "pleat", 6, &a, &err) && find(&s.problem, "pleat", 6, &b, &err), "%s",
           err.msg);
    EXPECT(a.n == b.n && !memcmp(a.action, b.action, sizeof *a.action * (size_t)a.n),
           "%d and %d actions", a.n, b.n);
}

/* Two of three bytes fit: value 0 is dropped for op 1 and made again for op 3. */
static void test_hand(void **state)
{
    (void)state;
    script s;
    begin(&s);
    int a = add(&s, 2, 1, NULL);
    int b = add(&s, 1, 1, (const int[]){ a, -1 });
    int c = add(&s, 1, 2, (const int[]){ b, -1 });
    (void)add(&s, 1, 0, (const int[]){ a, c, -1 });
    pl_evict_facts f = pl_evict_measure(&s.problem);
    EXPECT(f.seconds == 5 && f.peak == 4 && f.need == 3, "%g s, peak %lld, need %lld", f.seconds,
           (long long)f.peak, (long long)f.need);
    pl_evict_schedule got;
    pl_err err = { 0 };
    for (int k = 0; k < N_RECOMPUTE - 1; k++) {
        EXPECT(find(&s.problem, recompute[k], 3, &got, &err), "%s", err.msg);
        EXPECT(got.seconds == 7 && got.peak == 3, "%s: %g s, peak %lld", recompute[k], got.seconds,
               (long long)got.peak);
    }
    s.once[0] = true;
    EXPECT(!find(&s.problem, "pleat", 3, &got, &err) && err.code == PL_EINFEASIBLE &&
               strstr(err.msg, "op 2") && strstr(err.msg, "3 bytes"),
           "%s", err.msg);
}

static void test_infeasible(void **state)
{
    (void)state;
    script s;
    make_chain(&s, 4);
    s.bytes[3] = 100;
    pl_evict_schedule got;
    pl_err err = { 0 };
    EXPECT(!find(&s.problem, "pleat", 50, &got, &err), "it fits");
    EXPECT(err.code == PL_EINFEASIBLE && strstr(err.msg, "op 5 needs 102 bytes") &&
               strstr(err.msg, "50"),
           "%s", err.msg);
}

static void test_bad_problems(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        int what;
    } cases[] = {
        { "op 2 takes -1 seconds", 0 },
        { "value 1 of -5 bytes", 1 },
        { "reads value 77 of", 2 },
        { "op 2 reads value 2, which op 2 makes", 3 },
        { "value 0 is made by op 99", 4 },
        { "a link of 5 bytes/s out and 0 in", 5 },
        { "value 3 is a view of value 99", 6 },
        { "there is no eviction policy 'best'; there are: pleat, ", 7 },
        { "a budget of -1 bytes", 8 },
        { "value 4 is held until op 44", 9 },
        { "has 1 bytes of its own", 10 },
        { "keep is 8", 11 },
    };
    int held[MOST_VALUES] = { [4] = 44 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        script s;
        make_chain(&s, 4);
        pl_evict_options o = { .budget = 10 };
        switch (cases[k].what) {
        case 0: s.seconds[2] = -1; break;
        case 1: s.bytes[1] = -5; break;
        case 2: s.read[0] = 77; break;
        case 3: s.read[1] = 2; break;
        case 4: s.maker[0] = 99; break;
        case 5: s.problem.out_bytes_per_s = 5; break;
        case 6: s.view_of[3] = 99; break;
        case 7: o.policy = "best"; break;
        case 8: o.budget = -1; break;
        case 9: s.problem.held = held; break;
        case 10: s.view_of[3] = 2; break;
        default: s.keep[0] = 8; break;
        }
        pl_evict_schedule got;
        pl_err err = { 0 };
        EXPECT(!pl_evict_find(&s.problem, &o, arena, &got, &err), "'%s' is taken", cases[k].says);
        const int code = cases[k].what == 7 ? PL_EUSAGE : PL_EINPUT;
        EXPECT((int)err.code == code && strstr(err.msg, cases[k].says), "'%s', not '%s'", err.msg,
               cases[k].says);
    }
}

/* Each way to spoil a schedule is seen. */
static void test_corrupted(void **state)
{
    (void)state;
    script s;
    make_chain(&s, 8);
    s.keep[16] = PL_EVICT_AT_END;
    s.problem.out_bytes_per_s = s.problem.in_bytes_per_s = 1;
    pl_evict_schedule good;
    pl_err err = { 0 };
    EXPECT(find(&s.problem, "pleat", 6, &good, &err), "%s", err.msg);
    pl_evict_action *kept = good.action;
    for (int k = 0; k < good.n; k++)
        for (int how = 0; how < 4; how++) {
            pl_evict_schedule bad = good;
            bad.action = PL_NEW_N(arena, pl_evict_action, good.n);
            memcpy(bad.action, kept, sizeof *kept * (size_t)good.n);
            if (how == 0 && kept[k].act != PL_EVICT_RUN) continue; /* a drop may not be needed */
            if (how == 0) {                                        /* left out */
                memmove(bad.action + k, bad.action + k + 1,
                        sizeof *kept * (size_t)(good.n - k - 1));
                bad.n--;
            }
            if (how == 1) bad.action[k].what += 1;
            if (how == 2) bad.action[k].act = 9;
            if (how == 3) bad.action[k].what = -1;
            pl_err e = { 0 };
            EXPECT(!pl_evict_check(&s.problem, 6, &bad, &e) && e.code == PL_EMISMATCH,
                   "action %d spoiled in way %d is taken", k, how);
        }
    pl_evict_schedule said[] = { good, good, good, good };
    said[0].seconds *= 1.001;
    said[1].peak--;
    said[2].copied++;
    said[3].compute += 1;
    for (int k = 0; k < 4; k++)
        EXPECT(!pl_evict_check(&s.problem, 6, &said[k], &(pl_err){ 0 }), "figure %d is taken", k);
    EXPECT(!pl_evict_check(&s.problem, good.peak - 1, &good, &(pl_err){ 0 }), "over budget");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limited_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_with_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_written_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_monotone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_infeasible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_corrupted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
