/* The loader's setting: known answers, and a loader and its training played against storage that is
 * ten times slower in bursts (bench/loader/replay.h). */
#include "../../bench/loader/replay.c" /* the build lists no sources for one test */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WINDOW = PL_CONGESTION_WINDOW };

static const pl_loading least = { 2, 2 }, most = { 64, WINDOW / 2 };

/* n batches of `pictures` that one thread fetches in `fetch` steps. */
static pl_loading add(pl_congestion *c, int n, double fetch, int64_t pictures)
{
    for (int i = 0; i < n; i++)
        pl_congestion_add(c, &(pl_fetched){ .fetch = fetch, .step = 1, .pictures = pictures });
    return c->now;
}

static void expect(pl_loading is, int threads, int ahead)
{
    assert_int_equal(is.threads, threads);
    assert_int_equal(is.ahead, ahead);
}

/* A batch of one picture that takes 8 steps needs 8 under way; of 32 pictures a quarter of a batch
 * is. */
static void test_up_and_down(void **state)
{
    static const struct {
        int64_t pictures;
        int ahead;
    } cases[] = { { 1, 11 }, { 4, 4 }, { 32, 2 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_congestion c = pl_congestion_of(least, most, 4);
        expect(add(&c, 5 * WINDOW, 0.8, cases[i].pictures), 2, 2);
        expect(add(&c, 1, 8, cases[i].pictures), 2, 2); /* no congestion yet */
        expect(add(&c, 1, 8, cases[i].pictures), 16, cases[i].ahead);
        expect(add(&c, 20 * WINDOW, 8, cases[i].pictures), 16, cases[i].ahead);
        expect(add(&c, WINDOW - 4, 0.8, cases[i].pictures), 16, cases[i].ahead);
        expect(add(&c, 1, 0.8, cases[i].pictures), 2, 2);
    }
}

/* Single slow batches, also every tenth, change nothing; a little late for long does. */
static void test_single_ones(void **state)
{
    (void)state;
    pl_congestion c = pl_congestion_of(least, most, 4);
    for (int i = 0; i < 100; i++) {
        expect(add(&c, 9, 0.8, 1), 2, 2);
        expect(add(&c, 1, 80, 1), 2, 2);
    }
    expect(add(&c, WINDOW, 0.8, 1), 2, 2);
    expect(add(&c, 5, 2.4, 1), 2, 2);
    expect(add(&c, 4, 2.4, 1), 5, 4);
}

/* Congestion that becomes less, but does not end. */
static void test_less(void **state)
{
    (void)state;
    pl_congestion c = pl_congestion_of(least, most, 4);
    expect(add(&c, 2, 16, 8), 32, 4);
    expect(add(&c, 5 * WINDOW, 3, 8), 32, 4);
    expect(add(&c, 5 * WINDOW, 3, 8), 6, 2);
    expect(add(&c, WINDOW, 16, 8), 32, 4);
}

/* Steps that took no time, and the bounds. */
static void test_bounds(void **state)
{
    (void)state;
    pl_congestion c = pl_congestion_of(least, most, 4);
    for (int i = 0; i < 5 * WINDOW; i++)
        pl_congestion_add(&c, &(pl_fetched){ .fetch = 1, .pictures = 1 });
    expect(c.now, most.threads, most.ahead);
    expect(add(&c, WINDOW + 5, 0.8, 1), 2, 2); /* the lag has an end too */
    c = pl_congestion_of(least, (pl_loading){ 11, 3 }, 4);
    expect(add(&c, 2, 50, 1), 11, 3);
    c = pl_congestion_of(most, most, 4);
    expect(add(&c, 100, 50, 1), most.threads, most.ahead);
}

/* Decoders that wait for nothing but four processors; that wait three quarters of their time. */
static void test_useful(void **state)
{
    static const struct {
        double cpu;
        int threads;
    } cases[] = { { 30, 4 }, { 7.5, 16 }, { 0, 60 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_congestion c = pl_congestion_of(least, most, 4);
        for (int k = 0; k < 3 * WINDOW; k++)
            pl_congestion_add(&c, &(pl_fetched){ 30, cases[i].cpu, 1, 32 });
        assert_int_equal(c.now.threads, cases[i].threads);
    }
}

/* -- bursts: ten times slower for a fifth of the time ------------------------------------------ */

enum { BATCHES = 6000 };

static storage make_storage(uint64_t seed, int rows, double length, bool by_batch)
{
    return (storage){ .seed = seed,
                      .rows = rows,
                      .latency = 0.8,
                      .spread = 0.3,
                      .slow = 10,
                      .share = 0.2,
                      .length = length,
                      .by_batch = by_batch };
}

static void check_bursts(const storage *s)
{
    const replay fixed = replay_run(s, BATCHES, (pl_loading){ 2, 1 }, most, false, 2),
                 tuned = replay_run(s, BATCHES, least, most, true, 2);
    assert_true(tuned.bursts >= 3);
    assert_true(tuned.most_changes <= 2);
    assert_true(tuned.slowest <= 2 * WINDOW);
    assert_true(tuned.stall < fixed.stall / 2);
    assert_int_equal(tuned.taken, fixed.taken);
}

static void test_bursts(void **state)
{
    static const int rows[] = { 1, 8, 32 };
    static const double lengths[] = { 100, 200, 300 };
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (int i = 0; i < 9; i++)
            for (int by_batch = 0; by_batch < 2; by_batch++) {
                const storage s = make_storage(seed, rows[i / 3], lengths[i % 3], by_batch);
                check_bursts(&s);
            }
}

/* The best of the loaders that do not adapt, with as many batches of memory and no more threads on
 * the average, waits at least twice as long. */
static void test_fixed(void **state)
{
    (void)state;
    for (int rows = 1; rows <= 32; rows *= 32) {
        const storage s = make_storage(7, rows, 200, true);
        const replay tuned = replay_run(&s, BATCHES, least, most, true, 2);
        for (int threads = 1; threads < tuned.threads + 1; threads++) {
            const pl_loading set = { threads, (int)ceil(tuned.memory) };
            const replay fixed = replay_run(&s, BATCHES, set, most, false, 2);
            assert_true(tuned.stall <= fixed.stall / 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_and_down), cmocka_unit_test(test_single_ones),
        cmocka_unit_test(test_less),        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_useful),      cmocka_unit_test(test_bursts),
        cmocka_unit_test(test_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
