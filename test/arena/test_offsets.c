/* Layout of buffers: known answers, random instances, what the check must catch. */
#include "support/rounds.h"
#include "arena/keys.h"
#include "arena/offsets.h"

#include <limits.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"

/* clang-format off */
static const struct {
    const char *name;
    int64_t align, capacity, height, bound;
    int n;
    pl_buf buf[6];
    int64_t offset[6];
} answers[] = {
    { "nothing", 64, 0, 0, 0, 0, { { 0, 0, 0 } }, { 0 } },
    { "one", 1, 8, 8, 8, 1, { { 3, 5, 8 } }, { 0 } },
    { "disjoint lives share", 1, 8, 8, 8, 2, { { 0, 2, 8 }, { 2, 4, 8 } }, { 0, 0 } },
    { "so do they with the later one placed first", 1, 8, 8, 8, 2, { { 0, 2, 4 }, { 2, 4, 8 } },
      { 0, 0 } },
    { "overlapping lives stack", 1, 12, 12, 12, 2, { { 0, 3, 8 }, { 2, 4, 4 } }, { 0, 8 } },
    { "sizes are rounded up", 64, 192, 192, 192, 2, { { 0, 2, 1 }, { 0, 2, 65 } }, { 128, 0 } },
    { "an empty buffer takes nothing", 16, 16, 16, 16, 3, { { 0, 9, 0 }, { 0, 9, 5 }, { 1, 2, 0 } },
      { 0, 0, 0 } },
    { "equal sizes: earlier births first", 1, 20, 20, 20, 2, { { 1, 3, 10 }, { 0, 2, 10 } },
      { 10, 0 } },
    /* From step 2 on [0,10) is free again below the 8. */
    { "a gap below a neighbour", 1, 18, 18, 18, 3, { { 0, 2, 10 }, { 0, 4, 8 }, { 2, 4, 6 } },
      { 0, 10, 0 } },
    /* At step 2 [0,10) and [19,25) are free: 3 fits both, the second is the tighter one. */
    { "the tightest gap", 1, 29, 29, 29, 5,
      { { 0, 2, 10 }, { 0, 4, 9 }, { 0, 2, 6 }, { 0, 4, 4 }, { 2, 4, 3 } },
      { 0, 10, 19, 25, 19 } },
    { "negative steps", 1, 7, 7, 7, 2, { { -9, -3, 7 }, { -3, 5, 7 } }, { 0, 0 } },
};
/* clang-format on */

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_offsets l;
        pl_err err = { 0 };
        if (!pl_offsets_place(answers[i].n, answers[i].buf, answers[i].align, answers[i].capacity,
                              0, a, &l, &err))
            fail_msg("%s: %s", answers[i].name, err.msg);
        if (l.height != answers[i].height || l.bound != answers[i].bound)
            fail_msg("%s: height %lld, bound %lld", answers[i].name, (long long)l.height,
                     (long long)l.bound);
        for (int k = 0; k < answers[i].n; k++)
            if (l.offset[k] != answers[i].offset[k])
                fail_msg("%s: offset %d is %lld", answers[i].name, k, (long long)l.offset[k]);
        assert_true(pl_offsets_check(answers[i].n, answers[i].buf, answers[i].align,
                                     answers[i].capacity, &l, &err));
        pl_arena_free(a);
    }
}

static void test_infeasible(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        int64_t align, capacity;
        int n;
        pl_buf buf[3];
        const char *says[5];
    } cases[] = {
        { 1, 7, 1, { { 4, 6, 8 } },
          { "no layout fits", "8 bytes", "step 4", "capacity is 7", "1 bytes less" } },
        { 64, 100, 2, { { 0, 9, 1 }, { 5, 7, 1 } },
          { "128 bytes are live at step 5", "capacity is 100", "height found 128", "28 bytes", "" },
        },
        { 1, 0, 1, { { 0, 1, 1 } }, { "1 bytes are live at step 0", "capacity is 0", "", "", "" } },
        { 1, INT64_MAX, 2, { { 0, 1, INT64_MAX }, { 5, 6, 1 } },
          { "2 buffers", "2^63", "", "", "" } },
        { 64, INT64_MAX, 1, { { 0, 1, INT64_MAX - 5 } }, { "2^63", "", "", "", "" } },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_offsets l = { -1, -1, NULL };
        pl_err err = { 0 };
        assert_false(pl_offsets_place(cases[i].n, cases[i].buf, cases[i].align, cases[i].capacity,
                                      0, a, &l, &err));
        assert_int_equal(err.code, PL_EINFEASIBLE);
        assert_int_equal(l.height, -1); /* untouched */
        for (int k = 0; k < 5; k++)
            if (!strstr(err.msg, cases[i].says[k]))
                fail_msg("case %zu: '%s' is not in: %s", i, cases[i].says[k], err.msg);
        pl_arena_free(a);
    }
}

/* The rule is not optimal: where it fails although the bound fits, it must not claim a proof. */
static void test_greedy_misses(void **state)
{
    (void)state;
    static const pl_buf buf[] = { { 2, 5, 2 }, { 0, 2, 5 }, { 1, 4, 2 }, { 3, 4, 4 } };
    int64_t best[] = { 0, 0, 6, 2 };
    pl_arena *a = pl_arena_new("test");
    pl_offsets l, optimum = { 8, 8, best, true, 0 };
    pl_err err = { 0 };
    assert_true(pl_offsets_check(4, buf, 1, 8, &optimum, &err));
    const pl_offsets_options one = { .keys = 1u << PL_KEY_BEST };
    assert_true(pl_offsets_solve(4, buf, 1, 9, &one, a, &l, &err));
    assert_int_equal(l.height, 9);
    assert_int_equal(l.bound, 8);
    assert_true(pl_offsets_place(4, buf, 1, 9, 0, a, &l, &err)); /* places again what stuck out */
    assert_int_equal(l.height, 8);
    assert_false(pl_offsets_solve(4, buf, 1, 8, &one, a, &l, &err));
    assert_string_equal(err.msg,
                        "no layout found that fits: height 9, capacity 8; at most 8 bytes are live "
                        "at a time (step 3), so a lower layout may exist; 1 bytes more of memory "
                        "would do");
    const pl_offsets_options exact = { .keys = 1u << PL_KEY_BEST, .effort = 1000 };
    assert_true(pl_offsets_solve(4, buf, 1, 8, &exact, a, &l, &err));
    assert_true(l.optimal && pl_offsets_check(4, buf, 1, 8, &l, &err));
    pl_arena_free(a);
}

typedef struct instance {
    int n;
    int64_t align;
    pl_buf *buf;
} instance;

static instance make_random(pl_arena *a, uint64_t seed)
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("layout"));
    instance p = { (int)pl_rng_below(r, 0, 80), 1, NULL };
    p.align = (int64_t)1 << pl_rng_below(r, 1, 9);
    int64_t steps = 1 + (int64_t)pl_rng_below(r, 2, 60), largest = 1 << pl_rng_below(r, 3, 16);
    p.buf = PL_NEW_N(a, pl_buf, p.n);
    for (int i = 0; i < p.n; i++) {
        uint64_t at = 8 + 4 * (uint64_t)i;
        int64_t birth = (int64_t)pl_rng_below(r, at, (uint64_t)steps);
        int64_t life = 1 + (int64_t)pl_rng_below(r, at + 1, (uint64_t)(steps - birth));
        if (pl_rng_below(r, at + 3, 8) == 0) birth = 0, life = steps; /* as weights do */
        p.buf[i] = (pl_buf){ (int32_t)birth, (int32_t)(birth + life),
                             (int64_t)pl_rng_below(r, at + 2, (uint64_t)largest + 1) };
    }
    return p;
}

static void test_random(void **state)
{
    (void)state;
    double worst = 1;
    for (uint64_t seed = 0; seed < ROUNDS_OF(2000); seed++) {
        pl_arena *a = pl_arena_new("test");
        instance p = make_random(a, seed);
        pl_offsets l, again;
        pl_err err = { 0 };
        if (!pl_offsets_place(p.n, p.buf, p.align, INT64_MAX, 0, a, &l, &err) ||
            !pl_offsets_check(p.n, p.buf, p.align, l.height, &l, &err))
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.msg);
        if (l.height < l.bound || l.height % p.align)
            fail_msg("seed %llu: height %lld, bound %lld", (unsigned long long)seed,
                     (long long)l.height, (long long)l.bound);
        assert_true(pl_offsets_place(p.n, p.buf, p.align, l.height, 0, a, &again, &err));
        assert_memory_equal(l.offset, again.offset, (size_t)p.n * sizeof *l.offset);
        /* Lower only by another key, and never below the bound. */
        if (l.height > 0 &&
            pl_offsets_place(p.n, p.buf, p.align, l.height - 1, 0, a, &again, &err) &&
            (again.bound != l.bound ||
             !pl_offsets_check(p.n, p.buf, p.align, l.height - 1, &again, &err)))
            fail_msg("seed %llu: below its own height: %s", (unsigned long long)seed, err.msg);
        if (l.bound && (double)l.height / (double)l.bound > worst)
            worst = (double)l.height / (double)l.bound;
        pl_arena_free(a);
    }
    print_message("2000 random instances: height / bound at most %.3f\n", worst);
}

/* Spoil one thing of a good layout; the check must name it. */
static void test_corruption(void **state)
{
    (void)state;
    static const pl_buf buf[] = { { 0, 4, 128 }, { 1, 3, 60 }, { 5, 6, 64 }, { 2, 9, 0 } };
    static const struct {
        int index;
        int64_t offset, height, bound, capacity;
        const char *says;
    } cases[] = {
        { 0, 0, 192, 192, 192, NULL }, /* as placed */
        { 1, 64, 192, 192, 192, "overlap" },
        { 1, 0, 192, 192, 192, "overlap" },
        { 1, 132, 200, 192, 200, "not a multiple of 64" },
        { 1, -64, 192, 192, 192, "below 0" },
        { 1, 192, 192, 192, 192, "above the height" },
        { 1, INT64_MAX - 63, 192, 192, 192, "above the height" },
        { 2, 192, 192, 192, 192, "above the height" },
        { 3, 256, 192, 192, 192, "above the height" },
        { 3, 64, 192, 192, 192, NULL }, /* nothing overlaps an empty buffer */
        { 2, 128, 192, 192, 192, NULL },
        { 0, 0, 192, 192, 191, "above the capacity" },
        { 0, 0, 192, 191, 192, "bound" },
        { 0, 0, 192, 256, 192, "bound" },
    };
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_offsets l;
        pl_err err = { 0 };
        assert_true(pl_offsets_place(4, buf, 64, 192, 0, a, &l, &err));
        l.offset[cases[i].index] = cases[i].offset;
        l.height = cases[i].height;
        l.bound = cases[i].bound;
        bool ok = pl_offsets_check(4, buf, 64, cases[i].capacity, &l, &err);
        if (ok != !cases[i].says) fail_msg("case %zu: %s", i, ok ? "passed" : err.msg);
        if (!ok) assert_int_equal(err.code, PL_EMISMATCH);
        if (!ok && !strstr(err.msg, cases[i].says)) fail_msg("case %zu: %s", i, err.msg);
    }
    pl_arena_free(a);
}

/* Random corruption: a buffer moved onto a neighbour in time is always caught. */
static void test_random_corruption(void **state)
{
    (void)state;
    int moved = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(400); seed++) {
        pl_arena *a = pl_arena_new("test");
        instance p = make_random(a, seed);
        pl_offsets l;
        pl_err err = { 0 };
        assert_true(pl_offsets_place(p.n, p.buf, p.align, INT64_MAX, 0, a, &l, &err));
        pl_rng r = pl_rng_at(seed, pl_rng_name("spoil"));
        for (uint64_t k = 0; k < 20 && p.n > 1; k++) {
            int i = (int)pl_rng_below(r, 2 * k, (uint64_t)p.n);
            int j = (int)pl_rng_below(r, 2 * k + 1, (uint64_t)p.n);
            const pl_buf *b = &p.buf[i], *c = &p.buf[j];
            if (i == j || b->birth >= c->death || c->birth >= b->death || !b->bytes || !c->bytes)
                continue;
            int64_t before = l.offset[i];
            l.offset[i] = l.offset[j];
            pl_err found = { 0 };
            if (pl_offsets_check(p.n, p.buf, p.align, INT64_MAX, &l, &found))
                fail_msg("seed %llu: buffer %d on %d passes", (unsigned long long)seed, i, j);
            l.offset[i] = before;
            moved++;
        }
        pl_arena_free(a);
    }
    assert_true(moved > ROUNDS_OF(1000));
}

/* Many buffers in the shape of a training step. */
static void test_many(void **state)
{
    (void)state;
    enum { N = 6000 };
    pl_arena *a = pl_arena_new("test");
    pl_buf *buf = PL_NEW_N(a, pl_buf, N);
    pl_rng r = pl_rng_at(1, pl_rng_name("many"));
    for (int i = 0; i < N; i++) { /* forward i, backward 2N - i; one in four is transient */
        int32_t death = i % 4 ? 2 * N - i : i + 1 + (int32_t)pl_rng_below(r, (uint64_t)i, 5);
        int64_t bytes = 1 + (int64_t)pl_rng_below(r, (uint64_t)(N + i), 1 << 20);
        buf[i] = (pl_buf){ i, death, bytes };
    }
    pl_offsets l;
    pl_err err = { 0 };
    assert_true(pl_offsets_place(N, buf, 256, INT64_MAX, 0, a, &l, &err));
    assert_true(l.height >= l.bound);
    print_message("%d buffers: height / bound %.4f\n", N, (double)l.height / (double)l.bound);
    pl_arena_free(a);
}

#if defined __SANITIZE_ADDRESS__
enum { VERY_MANY = 10000 }; /* under sanitizers it is slow */
#else
enum { VERY_MANY = 30000 };
#endif

/* Random lives and sizes; the time is printed, a person judges it. */
static void test_very_many(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_buf *buf = PL_NEW_N(a, pl_buf, VERY_MANY);
    pl_rng r = pl_rng_at(2, pl_rng_name("very many"));
    for (int shape = 0; shape < 2; shape++) { /* lives of any length, short lives */
        for (uint64_t i = 0; i < VERY_MANY; i++) {
            uint64_t birth = pl_rng_below(r, 3 * i, VERY_MANY);
            uint64_t most = shape ? 1000 : VERY_MANY - birth;
            int64_t life = 1 + (int64_t)pl_rng_below(r, 3 * i + 1, most);
            buf[i] = (pl_buf){ (int64_t)birth, (int64_t)birth + life,
                               1 + (int64_t)pl_rng_below(r, 3 * i + 2, 1 << 20), NULL };
        }
        pl_offsets l;
        pl_err err = { 0 };
        double start = pl_clock_now();
        assert_true(pl_offsets_place(VERY_MANY, buf, 64, INT64_MAX, 0, a, &l, &err));
        assert_true(pl_offsets_check(VERY_MANY, buf, 64, INT64_MAX, &l, &err));
        print_message("%d random buffers: height / bound %.4f, %.2f s\n", VERY_MANY,
                      (double)l.height / (double)l.bound, pl_clock_now() - start);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_infeasible),
        cmocka_unit_test(test_greedy_misses), cmocka_unit_test(test_random),
        cmocka_unit_test(test_corruption),    cmocka_unit_test(test_random_corruption),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_very_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
