/* The caching allocator's rules: known answers, and a replay of random lives by another way. */
#include "base/rng.h"
#include "arena/caching.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define KIB INT64_C(1024)
#define MIB (KIB * KIB)

static void sizes_decide_the_segment(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes, reserved, allocated;
    } rows[] = {
        { 0, 0, 0 },
        { 1, 2 * MIB, 512 },
        { 512, 2 * MIB, 512 },
        { 513, 2 * MIB, 1024 },
        { MIB, 2 * MIB, MIB },
        { MIB + 1, 20 * MIB, MIB + 512 },
        { 10 * MIB - 512, 20 * MIB, 10 * MIB - 512 },
        { 10 * MIB, 10 * MIB, 10 * MIB },
        { 10 * MIB + 1, 12 * MIB, 10 * MIB + 512 },
        { 23 * MIB / 2, 12 * MIB, 12 * MIB }, /* too little is left to be split off */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pl_buf b = { .birth = 0, .death = 1, .bytes = rows[i].bytes };
        pl_caching c = pl_caching_replay(1, &b);
        assert_int_equal(c.reserved, rows[i].reserved);
        assert_int_equal(c.allocated, rows[i].allocated);
        assert_int_equal(c.n_segments, rows[i].bytes > 0);
    }
}

static void what_is_freed_is_used_again(void **state)
{
    (void)state;
    const pl_buf one_after_another[] = {
        { .birth = 0, .death = 1, .bytes = 30 * MIB },
        { .birth = 1, .death = 2, .bytes = 30 * MIB },
        { .birth = 2, .death = 3, .bytes = 12 * MIB },
        { .birth = 2, .death = 3, .bytes = 12 * MIB },
    };
    assert_int_equal(pl_caching_replay(4, one_after_another).reserved, 30 * MIB);
    /* What lies between two holes keeps them apart. */
    const pl_buf apart[] = {
        { .birth = 0, .death = 2, .bytes = 6 * MIB },
        { .birth = 0, .death = 3, .bytes = 6 * MIB },
        { .birth = 0, .death = 2, .bytes = 6 * MIB },
        { .birth = 2, .death = 3, .bytes = 9 * MIB },
    };
    const pl_caching c = pl_caching_replay(4, apart);
    assert_int_equal(c.reserved, 40 * MIB);
    assert_int_equal(c.allocated, 18 * MIB);
    /* The smallest hole that is large enough. */
    const pl_buf tight[] = {
        { .birth = 0, .death = 1, .bytes = 40 * MIB },
        { .birth = 0, .death = 1, .bytes = 20 * MIB },
        { .birth = 1, .death = 2, .bytes = 20 * MIB },
        { .birth = 1, .death = 2, .bytes = 40 * MIB },
    };
    assert_int_equal(pl_caching_replay(4, tight).reserved, 60 * MIB);
}

/* The slow twin: each segment is an array of units that are in use or not. */
enum { UNITS = 1 << 16, SEGMENTS = 64 };

typedef struct twin {
    int n, size[SEGMENTS]; /* units */
    bool small[SEGMENTS];
    unsigned char used[SEGMENTS][UNITS];
} twin;

static int64_t twin_allocate(twin *t, int64_t bytes, int *segment, int *first)
{
    const int want = (int)((bytes + 511) / 512);
    const bool small = want <= 2048;
    int best = UNITS + 1;
    for (int s = 0; s < t->n; s++)
        for (int i = 0; t->small[s] == small && i < t->size[s];) {
            int from = i, used = t->used[s][i];
            while (i < t->size[s] && t->used[s][i] == used) i++;
            if (!used && i - from >= want && i - from < best)
                best = i - from, *segment = s, *first = from;
        }
    if (best > UNITS) {
        *segment = t->n, *first = 0;
        best = small ? 4096 : want < 20480 ? 40960 : (want + 4095) / 4096 * 4096;
        assert_true(t->n < SEGMENTS && best <= UNITS);
        t->size[t->n] = best, t->small[t->n++] = small;
    }
    const int take = !small && best - want <= 2048 ? best : want;
    memset(&t->used[*segment][*first], 1, (size_t)take);
    return take * INT64_C(512);
}

static void as_the_slow_twin(void **state)
{
    (void)state;
    enum { N = 60, STEPS = 30 };
    twin *t = test_malloc(sizeof *t);
    for (uint64_t seed = 0; seed < 200; seed++) {
        const pl_rng r = pl_rng_at(seed, 1);
        pl_buf b[N];
        int segment[N], first[N];
        int64_t taken[N], reserved = 0, live = 0, most = 0;
        for (int i = 0; i < N; i++) {
            const uint64_t k = 8 * (uint64_t)i;
            const int64_t top = pl_rng_below(r, k, 2) ? 2 * MIB : 14 * MIB;
            const int64_t birth = (int64_t)pl_rng_below(r, k + 1, STEPS);
            b[i] = (pl_buf){ .birth = birth,
                             .death = birth + 1 + (int64_t)pl_rng_below(r, k + 2, 8),
                             .bytes = 1 + (int64_t)pl_rng_below(r, k + 3, (uint64_t)top) };
        }
        memset(t, 0, sizeof *t);
        for (int step = 0; step < STEPS + 9; step++) {
            for (int i = 0; i < N; i++)
                if (b[i].death == step) {
                    memset(&t->used[segment[i]][first[i]], 0, (size_t)(taken[i] / 512));
                    live -= taken[i];
                }
            for (int i = 0; i < N; i++)
                if (b[i].birth == step) {
                    live += taken[i] = twin_allocate(t, b[i].bytes, &segment[i], &first[i]);
                    if (live > most) most = live;
                }
        }
        for (int s = 0; s < t->n; s++) reserved += t->size[s] * INT64_C(512);
        const pl_caching c = pl_caching_replay(N, b);
        if (c.reserved != reserved || c.allocated != most || c.n_segments != t->n)
            fail_msg("seed %llu: %lld reserved, %lld allocated, not %lld, %lld",
                     (unsigned long long)seed, (long long)c.reserved, (long long)c.allocated,
                     (long long)reserved, (long long)most);
    }
    test_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_decide_the_segment),
        cmocka_unit_test(what_is_freed_is_used_again),
        cmocka_unit_test(as_the_slow_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
