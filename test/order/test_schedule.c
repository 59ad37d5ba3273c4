/* Orders of tasks: against brute force, with each technique left out, and what the rules refuse. */
#include "support/rounds.h"
#include "order/schedule.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/arena.h"
#include "order/downset.h"
#include "order/forced.h"
#include "order/mincut.h"
#include "order/precede.h"
#include "order/segment.h"
#include "random_tasks.h"

/* Bytes of the tensors live while `task` runs after the set `ran`, from the definition. */
static int64_t sum_live(const pl_schedule_problem *p, unsigned ran, int task)
{
    int64_t sum = 0;
    for (int x = 0; x < p->n_tensor; x++) {
        bool before = p->ends[x] & PL_SCHEDULE_FROM_START, after = p->ends[x] & PL_SCHEDULE_TO_END;
        bool used = p->touch_at[x] < p->touch_at[x + 1] || (before && after);
        for (int k = p->touch_at[x]; k < p->touch_at[x + 1]; k++) {
            int t = p->touch[k];
            before = before || t == task || (ran >> t & 1);
            after = after || t == task || !(ran >> t & 1);
        }
        if (used && before && after) sum += p->bytes[x];
    }
    return sum;
}

/* The least peak over all orders: the best way into every set of tasks. */
static int64_t brute_force(const pl_schedule_problem *p, pl_arena *a)
{
    size_t sets = (size_t)1 << p->n;
    int64_t *best = PL_NEW_N(a, int64_t, sets);
    unsigned *before = PL_NEW_N(a, unsigned, p->n + 1);
    for (int t = 0; t < p->n; t++)
        for (int e = p->edge_at[t]; e < p->edge_at[t + 1]; e++) before[p->edge[e]] |= 1u << t;
    for (size_t s = 1; s < sets; s++) best[s] = INT64_MAX;
    for (unsigned s = 0; s < sets; s++)
        for (int t = 0; t < p->n && best[s] < INT64_MAX; t++) {
            if (s >> t & 1 || (before[t] & ~s)) continue;
            int64_t need = sum_live(p, s, t), *to = &best[s | 1u << t];
            need = need > best[s] ? need : best[s];
            if (need < *to) *to = need;
        }
    return best[sets - 1];
}

static pl_schedule find(const pl_schedule_problem *p, unsigned without, pl_schedule_method method,
                        const char *what)
{
    pl_schedule s;
    pl_err err = { 0 };
    pl_schedule_options o = { .method = method, .without = without };
    if (!pl_schedule_find(p, &o, arena, &s, &err)) fail_msg("%s: %s", what, err.msg);
    if (!pl_schedule_check(p, s.order, s.peak, &err)) fail_msg("%s: %s", what, err.msg);
    if (s.bound > s.peak || s.optimal != (s.bound == s.peak))
        fail_msg("%s: bound %lld, peak %lld, optimal %d", what, (long long)s.bound,
                 (long long)s.peak, s.optimal);
    return s;
}

enum { GRAPHS = ROUNDS_OF(4000) };

static void test_brute_force(void **state)
{
    (void)state;
    int tight[3] = { 0 }, lescea = 0, heuristic = 0, waits = 0;
    for (int seed = 0; seed < GRAPHS; seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 1), 0 };
        int n = seed % 8 == 0 ? 12 : 1 + roll(&d, 10);
        pl_arena *a = pl_arena_new("graph");
        pl_schedule_problem p = make_random(a, &d, n);
        char what[40];
        snprintf(what, sizeof what, "seed %d", seed);
        int64_t least = brute_force(&p, a);
        pl_schedule s = find(&p, 0, PL_SCHEDULE_PLEAT, what);
        if (s.peak != least || !s.optimal)
            fail_msg("%s: peak %lld, bound %lld, brute force %lld", what, (long long)s.peak,
                     (long long)s.bound, (long long)least);
        pl_index *x = pl_index_make(&p, a);
        int *order = PL_NEW_N(a, int, n);
        assert_true(pl_index_order(x, order));
        int64_t *forced = PL_NEW_N(a, int64_t, n), l1 = pl_forced_working(x), l3 = 0;
        int64_t l2 = pl_forced_live(x, order, forced), best = 0;
        for (int t = 0; t < n; t++) {
            int64_t effort = 1000000, cut = pl_mincut_live(x, t, 0, NULL, NULL, &effort);
            if (cut < forced[t]) fail_msg("%s: task %d: cut below forced", what, t);
            l3 = cut > l3 ? cut : l3;
            for (int above = 1; above < 100; above *= 4) {
                int64_t better = pl_precede_bound(x, t, least + above, &effort);
                if (better > least)
                    fail_msg("%s: task %d: precedences: %lld", what, t, (long long)better);
                best = better > best && above == 1 ? better : best;
            }
        }
        if (l1 > l2 || l2 > l3 || l3 > least)
            fail_msg("%s: %lld %lld %lld <= %lld", what, (long long)l1, (long long)l2,
                     (long long)l3, (long long)least);
        tight[0] += l1 == least;
        tight[1] += l2 == least;
        tight[2] += l3 == least;
        lescea += find(&p, 0, PL_SCHEDULE_LESCEA, what).peak == least;
        waits += best == least;
        s = find(&p, PL_SCHEDULE_NO_EXACT | PL_SCHEDULE_NO_REPAIR, PL_SCHEDULE_PLEAT, what);
        if (s.bound > least) fail_msg("%s: bound %lld", what, (long long)s.bound);
        heuristic += s.peak == least;
        pl_arena_free(a);
    }
    printf("of %d graphs: tight L1 %d, L2 %d, L3 %d, with precedences %d; optimal LESCEA %d, no "
           "exact search %d\n",
           GRAPHS, tight[0], tight[1], tight[2], waits, lescea, heuristic);
}

/* Every combination of techniques: valid, never below the optimum, never above the given order. */
static void test_switches(void **state)
{
    (void)state;
    for (int seed = 0; seed < 8; seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 2), 0 };
        pl_schedule_problem p = make_random(arena, &d, 4 + seed % 7);
        int64_t least = brute_force(&p, arena);
        int64_t given = find(&p, 0, PL_SCHEDULE_GIVEN, "given").peak;
        for (unsigned without = 0; without < 512; without++) {
            char what[60];
            snprintf(what, sizeof what, "seed %d without %u", seed, without);
            pl_schedule s = find(&p, without, PL_SCHEDULE_PLEAT, what);
            if (s.peak < least || s.bound > least || s.peak > given)
                fail_msg("%s: %lld <= %lld <= %lld <= %lld", what, (long long)s.bound,
                         (long long)least, (long long)s.peak, (long long)given);
            if (!(without & PL_SCHEDULE_NO_EXACT)) assert_int_equal(s.peak, least);
        }
    }
}

/* Larger graphs: the bound holds whatever is left out, and a run repeats itself. */
static void test_larger(void **state)
{
    (void)state;
    for (int seed = 0; seed < ROUNDS_OF(4); seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 3), 0 };
        pl_schedule_problem p = make_random(arena, &d, 60);
        pl_schedule all = find(&p, 0, PL_SCHEDULE_PLEAT, "all"), again;
        pl_schedule_options o = { .given = all.order };
        pl_err err = { 0 };
        for (unsigned bit = 1; bit < 512; bit *= 2) {
            pl_schedule s = find(&p, bit, PL_SCHEDULE_PLEAT, "one left out");
            if (s.peak < all.bound || s.bound > all.peak) fail_msg("seed %d without %u", seed, bit);
        }
        assert_int_equal(
            memcmp(all.order, find(&p, 0, PL_SCHEDULE_PLEAT, "again").order, sizeof(int[60])), 0);
        assert_true(pl_schedule_find(&p, &o, arena, &again, &err));
        assert_true(again.peak <= all.peak);
    }
}

/* Key points against the definition, by reachability. */
static void test_key_points(void **state)
{
    (void)state;
    for (int seed = 0; seed < ROUNDS_OF(300); seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 4), 0 };
        enum { N = 14 };
        pl_schedule_problem p = make_random(arena, &d, N);
        pl_index *x = pl_index_make(&p, arena);
        int order[N];
        bool key[N], reach[N][N] = { { false } };
        assert_true(pl_index_order(x, order));
        for (int i = N - 1; i >= 0; i--)
            for (int e = x->succ_at[order[i]]; e < x->succ_at[order[i] + 1]; e++) {
                reach[order[i]][x->succ[e]] = true;
                for (int t = 0; t < N; t++)
                    if (reach[x->succ[e]][t]) reach[order[i]][t] = true;
            }
        pl_segment_find(x, order, key);
        for (int i = 0; i < N; i++) {
            bool all = true;
            for (int t = 0; t < N; t++)
                all = all && (t == order[i] || reach[t][order[i]] || reach[order[i]][t]);
            if (all != key[i]) fail_msg("seed %d: step %d is key: %d", seed, i, all);
        }
    }
}

/* Equal blocks between key points: one is searched, the others copy it. */
static void test_twins(void **state)
{
    (void)state;
    enum { BLOCKS = 30 };
    tasks b = { .a = arena };
    int x = add_output(&b, add_task(&b), 10);
    for (int i = 0; i < BLOCKS; i++) {
        int wide[3], narrow[3], join = -1;
        for (int k = 0; k < 3; k++) {
            add_read(&b, b.n, x);
            wide[k] = add_output(&b, add_task(&b), 50 + 10 * k);
        }
        for (int k = 0; k < 3; k++) {
            add_read(&b, b.n, wide[k]);
            narrow[k] = add_output(&b, add_task(&b), 5 + k);
        }
        join = add_task(&b);
        for (int k = 0; k < 3; k++) add_read(&b, join, narrow[k]);
        x = add_output(&b, join, 10);
    }
    pl_schedule_problem p = build(&b);
    pl_schedule s = find(&p, PL_SCHEDULE_NO_CUT, PL_SCHEDULE_PLEAT, "twins");
    pl_schedule alone =
        find(&p, PL_SCHEDULE_NO_CUT | PL_SCHEDULE_NO_REUSE, PL_SCHEDULE_PLEAT, "alone");
    assert_true(s.optimal);
    assert_int_equal(s.peak, 10 + 70 + 7);
    assert_int_equal(s.n_segments, BLOCKS);
    assert_int_equal(s.n_reused, BLOCKS - 1);
    assert_int_equal(alone.n_reused, 0);
    assert_int_equal(memcmp(s.order, alone.order, (size_t)p.n * sizeof *s.order), 0);
}

/* 10,000 tasks, wide and random: valid, with a bound. */
static void test_many_tasks(void **state)
{
    (void)state;
    dice d = { pl_rng_at(7, 5), 0 };
    tasks b = { .a = arena };
    for (int t = 0; t < 10000; t++) {
        add_task(&b);
        int reads = t == 0 ? 0 : roll(&d, 3), last = -1;
        for (int k = 0; k < reads; k++) {
            int x = t - 1 - roll(&d, t < 200 ? t : 200);
            if (x != last) add_read(&b, t, x);
            last = x;
        }
        assert_int_equal(add_output(&b, t, 1 + roll(&d, 1000)), t);
    }
    pl_schedule_problem p = build(&b);
    pl_schedule given, lescea, s;
    pl_err err = { 0 };
    pl_schedule_options o = { .method = PL_SCHEDULE_GIVEN };
    assert_true(pl_schedule_find(&p, &o, arena, &given, &err));
    o.method = PL_SCHEDULE_LESCEA;
    assert_true(pl_schedule_find(&p, &o, arena, &lescea, &err));
    o.method = PL_SCHEDULE_PLEAT;
    o.effort = 3000000;
    assert_true(pl_schedule_find(&p, &o, arena, &s, &err));
    printf("10000 tasks: given %lld, LESCEA %lld, pleat %lld, bound %lld\n", (long long)given.peak,
           (long long)lescea.peak, (long long)s.peak, (long long)s.bound);
    assert_true(s.peak <= given.peak && s.peak <= lescea.peak && s.bound <= s.peak);
}

/* Effort cut short anywhere leaves a valid order, and no bound above what any order has. */
static void test_effort(void **state)
{
    (void)state;
    for (int seed = 0; seed < 40; seed++) {
        dice d = { pl_rng_at((uint64_t)seed, 9), 0 };
        pl_arena *a = pl_arena_new("graph");
        const pl_schedule_problem p = make_random(a, &d, 80);
        int64_t bound = 0, least = INT64_MAX;
        for (int64_t effort = 1; effort < 4000000; effort *= 3) {
            pl_schedule s;
            pl_err err = { 0 };
            const pl_schedule_options o = { .effort = effort };
            assert_true(pl_schedule_find(&p, &o, a, &s, &err));
            if (!pl_schedule_check(&p, s.order, s.peak, &err)) fail_msg("%s", err.msg);
            assert_true(s.peak <= s.given);
            bound = s.bound > bound ? s.bound : bound;
            least = s.peak < least ? s.peak : least;
        }
        if (bound > least)
            fail_msg("seed %d: bound %lld, peak %lld", seed, (long long)bound, (long long)least);
        pl_arena_free(a);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    tasks none = { .a = arena };
    pl_schedule_problem p = build(&none);
    assert_int_equal(find(&p, 0, PL_SCHEDULE_PLEAT, "nothing").peak, 0);
    tasks one = { .a = arena, .n = 1 };
    add_tensor(&one, 5, PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END);
    add_tensor(&one, 7, PL_SCHEDULE_FROM_START);
    p = build(&one);
    assert_int_equal(find(&p, 0, PL_SCHEDULE_PLEAT, "one task").peak, 5);
}

static void refuse(const pl_schedule_problem *p, const int *given, const char *words)
{
    pl_schedule s;
    pl_err err = { 0 };
    pl_schedule_options o = { .given = given };
    assert_false(pl_schedule_find(p, &o, arena, &s, &err));
    assert_int_equal(err.code, PL_EINPUT);
    if (!strstr(err.msg, words)) fail_msg("\"%s\" lacks \"%s\"", err.msg, words);
}

static void test_refusals(void **state)
{
    (void)state;
    tasks b = { .a = arena, .n = 4 };
    add_edge(&b, 0, 1);
    add_edge(&b, 1, 2);
    add_tensor(&b, 8, 0);
    add_touch(&b, 0, 0);
    add_touch(&b, 0, 1);
    pl_schedule_problem p = build(&b);
    refuse(&p, (const int[]){ 0, 2, 1, 3 }, "task 2 at step 1, before task 1");
    refuse(&p, (const int[]){ 0, 1, 2, 2 }, "task 2 at step 3");
    refuse(&p, (const int[]){ 0, 1, 2, 4 }, "task 4 at step 3");
    b.bytes.at[0] = -1;
    refuse(&p, NULL, "tensor 0 has -1 bytes");
    b.bytes.at[0] = INT64_MAX / 2;
    refuse(&p, NULL, "more than");
    b.bytes.at[0] = 8;
    b.ends.at[0] = 4;
    refuse(&p, NULL, "unknown ends 4");
    b.ends.at[0] = 0;
    add_touch(&b, 0, 1);
    p = build(&b);
    refuse(&p, NULL, "tensor 0 names task 1 twice");
    b.touches.at[2].to = 9;
    p = build(&b);
    refuse(&p, NULL, "names task 9 of 4");
    b.touches.n = 2;
    add_edge(&b, 2, 0);
    p = build(&b);
    refuse(&p, NULL, "must run before itself");
}

/* What the judge must notice. */
static void test_check(void **state)
{
    (void)state;
    tasks b = { .a = arena };
    for (int t = 0; t < 3; t++) {
        add_task(&b);
        if (t > 0) add_read(&b, t, t - 1);
        add_output(&b, t, 10 + t);
    }
    pl_schedule_problem p = build(&b);
    pl_err err = { 0 };
    assert_true(pl_schedule_check(&p, (const int[]){ 0, 1, 2 }, 23, &err));
    static const struct {
        int order[3];
        int64_t peak;
        const char *words;
    } wrong[] = {
        { { 0, 1, 2 }, 22, "the peak is 23 bytes (step 2), not 22" },
        { { 1, 0, 2 }, 23, "task 0 must run before task 1" },
        { { 0, 1, 1 }, 23, "task 1 runs at step 1 and at step 2" },
        { { 0, 1, 3 }, 23, "step 2 runs task 3 of 3" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&err, 0, sizeof err);
        assert_false(pl_schedule_check(&p, wrong[i].order, wrong[i].peak, &err));
        assert_int_equal(err.code, PL_EMISMATCH);
        if (!strstr(err.msg, wrong[i].words)) fail_msg("\"%s\"", err.msg);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_brute_force), TEST(test_switches),   TEST(test_larger), TEST(test_key_points),
        TEST(test_twins),       TEST(test_many_tasks), TEST(test_effort), TEST(test_nothing),
        TEST(test_refusals),    TEST(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
