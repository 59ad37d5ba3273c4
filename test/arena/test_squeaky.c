/* Placing again: known answers, what it owes its caller, and training steps solved to the bound. */
#include "arena/squeaky.h"
#include "arena/keys.h"
#include "arena/offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

enum { MOST = 400 };

/* Sizes in multiples of 64, lives of any length. */
static int make_random(uint64_t seed, pl_buf buf[])
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("bump"));
    const int n = 1 + (int)pl_rng_below(r, 0, 60);
    for (int i = 0; i < n; i++) {
        uint64_t at = 1 + 3 * (uint64_t)i;
        int64_t birth = (int64_t)pl_rng_below(r, at, 40);
        int64_t life = 1 + (int64_t)pl_rng_below(r, at + 1, (uint64_t)(50 - birth));
        buf[i] = (pl_buf){ birth, birth + life, 64 * (int64_t)pl_rng_below(r, at + 2, 50), NULL };
    }
    return n;
}

/* Forward, backward: half of the buffers wait for their turn back, others live for a few steps;
 * sizes of a few kinds, as layers of a few widths have. */
static int make_step(uint64_t seed, pl_buf buf[])
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("training step"));
    for (int i = 0; i < MOST; i++) {
        const bool waits = i < MOST / 2 && pl_rng_below(r, 2 * (uint64_t)i, 2);
        const int64_t death = waits ? 2 * MOST - i : i + 2 + (int64_t)pl_rng_below(r, 7, 3);
        const int64_t bytes = (int64_t)64 << pl_rng_below(r, 2 * (uint64_t)i + 1, 12);
        buf[i] = (pl_buf){ i, death, bytes + (i % 3 ? 0 : 64 * 7), NULL };
    }
    return MOST;
}

static int64_t place(int n, const pl_buf buf[], int64_t rounds, pl_arena *a, pl_offsets *l)
{
    pl_boxes p;
    pl_err err = { 0 };
    assert_true(pl_boxes_make(n, buf, 64, a, &p));
    l->offset = PL_NEW_N(a, int64_t, n);
    l->bound = p.bound;
    l->height = pl_squeaky_place(&p, p.bound, rounds, l->offset);
    l->optimal = l->height == l->bound;
    if (l->height >= 0 && !pl_offsets_check(n, buf, 64, l->height, l, &err))
        fail_msg("%s", err.msg);
    return l->height;
}

static void test_known(void **state)
{
    (void)state;
    static const pl_buf missed[] = { { 2, 5, 128 }, { 0, 2, 320 }, { 1, 4, 128 }, { 3, 4, 256 } };
    static const pl_wish at_0 = { .is_fixed = true };
    static const pl_buf clash[] = { { 0, 2, 64, &at_0 }, { 1, 3, 64, &at_0 } };
    pl_arena *a = pl_arena_new("test");
    pl_offsets l;
    assert_int_equal(place(4, missed, 100, a, &l), 512); /* best fit needs 576 */
    assert_int_equal(place(4, missed, 0, a, &l), -1);
    assert_int_equal(place(2, clash, 100, a, &l), -1);
    assert_int_equal(place(1, clash, 100, a, &l), 64);
    pl_arena_free(a);
}

/* What is found is a layout of that height, and more rounds never make it higher. */
static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_buf buf[MOST];
        const int n = make_random(seed, buf);
        pl_offsets l, again;
        int64_t last = INT64_MAX;
        for (int64_t rounds = 1; rounds < 200; rounds *= 3) {
            const int64_t height = place(n, buf, rounds, a, &l);
            if (height < l.bound || height > last)
                fail_msg("seed %d, %d rounds: height %lld, before %lld, bound %lld", (int)seed,
                         (int)rounds, (long long)height, (long long)last, (long long)l.bound);
            assert_int_equal(place(n, buf, rounds, a, &again), height);
            assert_memory_equal(l.offset, again.offset, (size_t)n * sizeof *l.offset);
            last = height;
        }
        pl_arena_free(a);
    }
}

static void test_steps(void **state)
{
    (void)state;
    int greedy = 0, solved = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_buf buf[MOST];
        const int n = make_step(seed, buf);
        const pl_offsets_options best = { .keys = 1u << PL_KEY_BEST };
        const pl_offsets_options quick = { .pairs = 100 * n * n };
        const pl_offsets_options off = { .pairs = 100 * n * n, .off = PL_OFFSETS_SQUEAKY };
        const pl_offsets_options keys = { 0 };
        pl_offsets l, m;
        pl_err err = { 0 };
        assert_true(pl_offsets_solve(n, buf, 64, INT64_MAX, &best, a, &l, &err));
        greedy += l.optimal;
        assert_true(pl_offsets_solve(n, buf, 64, INT64_MAX, &quick, a, &l, &err));
        assert_true(pl_offsets_check(n, buf, 64, l.height, &l, &err));
        solved += l.optimal;
        assert_true(pl_offsets_solve(n, buf, 64, INT64_MAX, &off, a, &l, &err));
        assert_true(pl_offsets_solve(n, buf, 64, INT64_MAX, &keys, a, &m, &err));
        assert_int_equal(l.height, m.height); /* switched off: the keys alone */
        pl_arena_free(a);
    }
    print_message("at the bound: greedy %d of 20, placed again %d\n", greedy, solved);
    assert_true(greedy < 15);
    assert_int_equal(solved, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
