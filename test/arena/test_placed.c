/* Shelves: sets of bytes against a plain array, and finding by time against looking at all. */
#include "arena/placed.h"
#include "arena/taken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

enum { BYTES = 3000 };

/* The definition of pl_taken_rise. */
static int64_t rise(const bool taken[], int64_t floor, int64_t bytes, int64_t *top)
{
    for (;; floor++) {
        int64_t end = floor;
        while (end < BYTES && !taken[end]) end++;
        *top = end < BYTES ? end : INT64_MAX;
        if (end == BYTES || end - floor >= bytes) return floor;
        floor = end;
        while (floor + 1 < BYTES && taken[floor + 1]) floor++;
    }
}

static void test_taken(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_rng r = pl_rng_at(seed, pl_rng_name("taken"));
        bool taken[BYTES] = { 0 };
        pl_taken t = { 0 };
        uint64_t at = 0;
        for (int i = 0; i < 700; i++) { /* many chunks, then few spans */
            int64_t low = (int64_t)pl_rng_below(r, at++, BYTES - 60);
            int64_t high = low + 1 + (int64_t)pl_rng_below(r, at++, seed % 3 ? 3 : 50);
            pl_taken_add(&t, low, high, a);
            for (int64_t k = low; k < high; k++) taken[k] = true;
            if (i % 10) continue;
            pl_taken_walk w = { &t, 0, 0 };
            int64_t floor = 0, bytes = 1 + (int64_t)pl_rng_below(r, at++, 12), top, want;
            while (floor < BYTES) {
                const int64_t found = pl_taken_rise(&w, floor, bytes, &top);
                const int64_t low_free = rise(taken, floor, bytes, &want);
                if (found != low_free || top != want)
                    fail_msg("seed %d, from %d: %d up to %d, not %d up to %d", (int)seed,
                             (int)floor, (int)found, (int)top, (int)low_free, (int)want);
                if (top == INT64_MAX) break;
                floor = top + (int64_t)pl_rng_below(r, at++, 30);
            }
        }
        pl_arena_free(a);
    }
}

static void test_append(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_taken t = { 0 };
    for (int turn = 0; turn < 3; turn++) {
        pl_taken_clear(&t);
        for (int i = 0; i < 500 - 200 * turn; i++) {
            pl_taken_append(&t, 10 * i, 10 * i + 4, a);
            pl_taken_append(&t, 10 * i + 2, 10 * i + 6 + turn, a); /* joins it */
        }
        pl_taken_walk w = { &t, 0, 0 };
        int64_t top;
        assert_int_equal(pl_taken_rise(&w, 0, 1, &top), 6 + turn);
        assert_int_equal(top, 10);
        assert_int_equal(pl_taken_rise(&w, 777, 5, &top), 10 * (500 - 200 * turn - 1) + 6 + turn);
        assert_true(top == INT64_MAX);
    }
    pl_arena_free(a);
}

enum { MOST = 900 };

typedef struct problem {
    int n;
    pl_buf buf[MOST];
    pl_wish wish[MOST];
    pl_gap gap[MOST];
} problem;

/* Short and long lives, own alignments, and gaps of which some keep a part. */
static void make(uint64_t seed, problem *p)
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("shelf"));
    uint64_t at = 0;
    const int64_t steps = 2 + (int64_t)pl_rng_below(r, at++, 2000);
    p->n = 1 + (int)pl_rng_below(r, at++, MOST);
    for (int i = 0; i < p->n; i++) {
        int64_t birth = (int64_t)pl_rng_below(r, at++, (uint64_t)steps);
        int64_t most = pl_rng_below(r, at++, 3) ? 8 : steps;
        int64_t life = 1 + (int64_t)pl_rng_below(r, at++, (uint64_t)most);
        int64_t bytes = (int64_t)pl_rng_below(r, at++, 1000);
        p->wish[i] = (pl_wish){ .align = pl_rng_below(r, at++, 4) ? 0 : 48 };
        p->buf[i] = (pl_buf){ birth, birth + life, bytes, &p->wish[i] };
        if (life < 3 || pl_rng_below(r, at++, 4)) continue;
        p->gap[i] = (pl_gap){ birth + 1, birth + life - 1, bytes / 3, bytes / 2 };
        if (pl_rng_below(r, at++, 2)) p->gap[i].low = p->gap[i].high = 0;
        p->wish[i].gap = &p->gap[i];
        p->wish[i].n_gaps = 1;
    }
}

static void test_by_time(void **state)
{
    (void)state;
    static problem p;
    for (uint64_t seed = 0; seed < 40; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_boxes b;
        make(seed, &p);
        assert_true(pl_boxes_make(p.n, p.buf, 16, a, &b));
        pl_placed *all = pl_placed_new(&b, false, a), *timed = pl_placed_new(&b, true, a);
        for (int i = 0; i < p.n; i++) {
            const pl_boxed *x = &b.item[i];
            const bool low = (seed + (uint64_t)i) % 2;
            const int64_t want = pl_placed_find(all, x, low), at = pl_placed_find(timed, x, low);
            if (at != want)
                fail_msg("seed %d, buffer %d: at %lld, by time at %lld", (int)seed, i,
                         (long long)want, (long long)at);
            for (int64_t k = at > 64 ? at - 64 : 0; k <= at + 64; k += 16)
                assert_int_equal(pl_placed_fits(all, x, k), pl_placed_fits(timed, x, k));
            pl_placed_add(all, x, at);
            pl_placed_add(timed, x, at);
        }
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
