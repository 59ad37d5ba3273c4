/* MiniMalloc's hard instances, and generated ones like them. */
#include "arena/csv.h"
#include "arena/keys.h"
#include "arena/offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"

/* Heights proven optimal, or for D the capacity; the best of five greedy keys / bytes live. The
 * five are SIZE (lowest gap), DURATION, AREA, START and END (tightest gap), see keys.h. */
static const struct {
    const char *name;
    int64_t height;
    bool optimal;
    double ratio;
} known[] = {
    { "A.1048576.csv", 1048576, true, 1.290 }, { "B.1048576.csv", 1048576, true, 1.347 },
    { "C.1048576.csv", 1039360, true, 1.364 }, { "D.1048576.csv", 1048576, false, 1.309 },
    { "E.1048576.csv", 1048576, true, 1.369 }, { "F.1048576.csv", 1048576, true, 1.123 },
};
enum { CAPACITY = 1048576, EFFORT = 100000 };

/* Skips the test where the instances are not. */
static const pl_csv *read_instance(pl_arena *a, const char *name)
{
    const char *source = getenv("PLEAT_SOURCE_DIR");
    const char *path =
        pl_arena_fmt(a, "%s/../shared/data/minimalloc/%s", source ? source : ".", name);
    const char *text;
    size_t n;
    pl_csv *csv = NULL;
    pl_err err = { 0 };
    if (access(path, R_OK)) {
        print_message("skipped: no MiniMalloc instances in ../shared/data/minimalloc\n");
        pl_arena_free(a);
        skip();
    }
    if (!pl_file_read(path, 1 << 20, a, &text, &n, &err) ||
        !pl_csv_parse(text, n, name, a, &csv, &err))
        fail_msg("%s", err.msg);
    return csv;
}

static void test_hard(void **state)
{
    (void)state;
    double all = pl_clock_now();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_csv *c = read_instance(a, known[i].name);
        /* The effort suffices for the five that have a layout at the bound; the other one (D) gets
         * any layout within the capacity. */
        pl_offsets_options o = { .effort = EFFORT, .any = !known[i].optimal };
        pl_offsets l;
        pl_err err = { 0 };
        double start = pl_clock_now();
        if (!pl_offsets_solve(c->n, c->buf, 1, CAPACITY, &o, a, &l, &err) ||
            !pl_offsets_check(c->n, c->buf, 1, CAPACITY, &l, &err))
            fail_msg("%s: %s", known[i].name, err.msg);
        print_message("%s: %d buffers, height %lld, bound %lld, %s, %lld nodes, %.3f s\n",
                      known[i].name, c->n, (long long)l.height, (long long)l.bound,
                      l.optimal ? "optimal" : "open", (long long)l.nodes, pl_clock_now() - start);
        if (known[i].optimal && (!l.optimal || l.height != known[i].height))
            fail_msg("%s: not proven at %lld", known[i].name, (long long)known[i].height);
        pl_arena_free(a);
    }
    print_message("all: %.3f s\n", pl_clock_now() - all);
}

static void test_ratios(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_csv *c = read_instance(a, known[i].name);
        pl_boxes p;
        assert_true(pl_boxes_make(c->n, c->buf, 1, a, &p));
        int64_t *offset = PL_NEW_N(a, int64_t, c->n), best = INT64_MAX;
        for (int k = PL_KEY_SIZE; k <= PL_KEY_END; k++) {
            int64_t height = pl_keys_place(&p, (pl_key)k, offset);
            if (height < best) best = height;
        }
        double ratio = (double)best / (double)p.live;
        print_message("%s: best of five keys / bytes live %.3f\n", known[i].name, ratio);
        if (ratio < known[i].ratio - 0.0005 || ratio > known[i].ratio + 0.0005)
            fail_msg("%s: %.4f instead of %.3f", known[i].name, ratio, known[i].ratio);
        pl_arena_free(a);
    }
}

/* Every key gives a valid layout. */
static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_csv *c = read_instance(a, known[i].name);
        for (int k = 0; k < PL_KEYS_COUNT; k++) {
            const pl_offsets_options o = { .keys = 1u << k };
            pl_offsets l;
            pl_err err = { 0 };
            pl_key key;
            assert_true(pl_keys_find(pl_keys_name((pl_key)k), &key) && (int)key == k);
            if (!pl_offsets_solve(c->n, c->buf, 1, INT64_MAX, &o, a, &l, &err) ||
                !pl_offsets_check(c->n, c->buf, 1, INT64_MAX, &l, &err))
                fail_msg("%s, key %s: %s", known[i].name, pl_keys_name((pl_key)k), err.msg);
        }
        pl_arena_free(a);
    }
}

/* Cuts the rectangle [from, to) x bytes in two, or into five around a middle as no straight cuts
 * do, again and again: what comes out packs without loss, so its optimum is the height that it was
 * cut from. */
static void cut(pl_rng r, uint64_t *draw, int64_t from, int64_t to, int64_t units, int left, int *n,
                pl_buf buf[])
{
    bool in_time = pl_rng_below(r, (*draw)++, 2) == 0;
    if (left > 4 && to - from > 2 && units > 2 && pl_rng_below(r, (*draw)++, 8) > 1) {
        int64_t a = from + 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)(to - from - 2));
        int64_t b = a + 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)(to - a - 1));
        int64_t low = 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)units - 2);
        int64_t mid = 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)(units - low - 1));
        int some = left / 5;
        cut(r, draw, from, a, low + mid, some, n, buf);
        cut(r, draw, a, to, low, some, n, buf);
        cut(r, draw, b, to, units - low, some, n, buf);
        cut(r, draw, from, b, units - low - mid, some, n, buf);
        cut(r, draw, a, b, mid, left - 4 * some, n, buf);
    } else if (left > 1 && in_time && to - from > 2) {
        int64_t mid = from + 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)(to - from - 1));
        cut(r, draw, from, mid, units, left / 2, n, buf);
        cut(r, draw, mid, to, units, left - left / 2, n, buf);
    } else if (left > 1 && units > 1) {
        int64_t low = 1 + (int64_t)pl_rng_below(r, (*draw)++, (uint64_t)units - 1);
        cut(r, draw, from, to, low, left / 2, n, buf);
        cut(r, draw, from, to, units - low, left - left / 2, n, buf);
    } else {
        buf[(*n)++] = (pl_buf){ from, to, units * 1024, NULL };
    }
}

static void test_generated(void **state)
{
    (void)state;
    int solved = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_rng r = pl_rng_at(seed, pl_rng_name("hard layout"));
        uint64_t draw = 0;
        int want = 150 + 40 * (int)seed, n = 0;
        pl_buf *buf = PL_NEW_N(a, pl_buf, want);
        cut(r, &draw, 0, 20000, 1024, want, &n, buf);
        const pl_offsets_options o = { .effort = EFFORT };
        pl_offsets l;
        pl_err err = { 0 };
        double start = pl_clock_now();
        if (!pl_offsets_solve(n, buf, 1, INT64_MAX, &o, a, &l, &err) ||
            !pl_offsets_check(n, buf, 1, INT64_MAX, &l, &err))
            fail_msg("seed %d: %s", (int)seed, err.msg);
        assert_int_equal(l.bound, CAPACITY);
        solved += l.optimal;
        print_message("generated %d: %d buffers, height %lld, bound %lld, %s, %lld nodes, %.3f s\n",
                      (int)seed, n, (long long)l.height, (long long)l.bound,
                      l.optimal ? "optimal" : "open", (long long)l.nodes, pl_clock_now() - start);
        pl_arena_free(a);
    }
    print_message("%d of 5 solved\n", solved);
    assert_int_equal(solved, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hard),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
