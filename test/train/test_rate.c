/* Schedules of the learning rate: their values at steps by hand, and what is refused. */
#include "train/rate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 6 };

/* A peak of 1; lr_min below 0: the usual one. */
static const struct {
    const char *schedule;
    double lr_min;
    int64_t steps, warmup;
    int64_t step[MOST]; /* a 0 behind the first ends them */
    double rate[MOST];
} rows[] = {
    { "constant", -1, 10, 0, { 0, 3, 9, 50 }, { 1, 1, 1, 1 } },
    { "constant", -1, 10, 3, { 0, 1, 2, 3, 9 }, { 0.25, 0.5, 0.75, 1, 1 } },
    { "linear", -1, 10, 0, { 0, 1, 5, 9, 10, 99 }, { 1, 0.91, 0.55, 0.19, 0.1, 0.1 } },
    { "linear", 0, 12, 2, { 0, 1, 2, 7, 11, 12 }, { 1 / 3., 2 / 3., 1, 0.5, 0.1, 0 } },
    { "linear", 0, 4, 9, { 0, 3, 9 }, { 0.1, 0.4, 0 } },
    { "cosine", 0, 8, 0, { 0, 2, 4, 6, 8 }, { 1, 0.85355339059, 0.5, 0.14644660941, 0 } },
    { "cosine", -1, 9, 1, { 0, 1, 5, 9 }, { 0.5, 1, 0.55, 0.1 } },
    { "polynomial", 0, 10, 0, { 0, 1, 5, 10 }, { 1, 0.9, 0.5, 0 } },
    { "polynomial:power=2", 0, 10, 0, { 0, 1, 5, 10 }, { 1, 0.81, 0.25, 0 } },
    { "polynomial:power=0.5", 0.2, 16, 0, { 0, 12, 15, 16 }, { 1, 0.6, 0.4, 0.2 } },
    { "step:every=3", -1, 9, 0, { 0, 2, 3, 5, 6, 9 }, { 1, 1, 0.1, 0.1, 0.01, 0.001 } },
    { "step:every=4,factor=0.5", -1, 9, 2, { 0, 2, 3, 4, 8 }, { 1 / 3., 1, 1, 0.5, 0.25 } },
    { "step:every=4,factor=0.5", 0.3, 9, 0, { 0, 4, 8, 12 }, { 1, 0.5, 0.3, 0.3 } },
    { "multistep:at=3-5-9", -1, 9, 0, { 0, 2, 3, 4, 5, 9 }, { 1, 1, 0.1, 0.1, 0.01, 0.001 } },
    { "multistep:factor=0.5,at=4", -1, 9, 0, { 0, 3, 4, 99 }, { 1, 1, 0.5, 0.5 } },
    { "rsqrt", -1, 9, 0, { 0, 1, 3, 8 }, { 1, 0.70710678119, 0.5, 1 / 3. } },
    { "rsqrt", -1, 9, 3, { 0, 2, 3, 15, 35 }, { 0.25, 0.75, 1, 0.5, 1 / 3. } },
    { "rsqrt", 0.4, 9, 3, { 0, 3, 15, 35 }, { 0.25, 1, 0.5, 0.4 } },
};

static void test_scaling(void **state)
{
    (void)state;
    static const char *const wrong[] = { "linear", "square:64", "sqrt:0", "linear:x", "sqrt:-4" };
    double times = 0;
    pl_err err = { 0 };
    assert_true(pl_rate_scale("linear:64", 256, &times, &err) && times == 4);
    assert_true(pl_rate_scale("sqrt:64", 256, &times, &err) && times == 2);
    assert_true(pl_rate_scale("linear:64", 32, &times, &err) && times == 0.5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (pl_err){ 0 };
        assert_false(pl_rate_scale(wrong[i], 256, &times, &err));
        assert_int_equal(err.code, PL_EUSAGE);
    }
}

static void test_values(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_rate r = {
            .lr = 1, .lr_min = rows[i].lr_min, .steps = rows[i].steps, .warmup = rows[i].warmup
        };
        pl_err err = { 0 };
        if (!pl_rate_read(rows[i].schedule, &r, a, &err)) fail_msg("%s", err.msg);
        for (int k = 0; k < MOST && (k == 0 || rows[i].step[k]); k++) {
            const double x = pl_rate_at(&r, rows[i].step[k]), want = rows[i].rate[k];
            if (!(fabs(x - want) <= 1e-11))
                fail_msg("row %d, %s: step %d has %.12g, not %.12g", (int)i, rows[i].schedule,
                         (int)rows[i].step[k], x, want);
        }
    }
    pl_arena_free(a);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        { "cosin", "--lr-schedule cosin: there are constant, linear, cosine, polynomial, step" },
        { "step", "write step:every=N,factor=X" },
        { "step:factor=0.5", "write step:every=N,factor=X" },
        { "step:every=0", "every: a number above 0" },
        { "step:every=2,power=2", "'power' is no key of it: write step:every=N,factor=X" },
        { "step:every", "'every' is no key of it" },
        { "cosine:", "'' is no key of it: write cosine" },
        { "multistep", "write multistep:at=N-N-N,factor=X" },
        { "multistep:at=5-3", "at: rising steps with dashes between" },
        { "multistep:at=5-x", "at: rising steps with dashes between" },
        { "polynomial:power=-1", "power: a number above 0" },
        { "polynomial:power=nan", "power: a number above 0" },
    };
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_rate r = { .lr = 1, .steps = 9 };
        pl_err err = { 0 };
        if (pl_rate_read(cases[i][0], &r, a, &err)) fail_msg("%s is taken", cases[i][0]);
        assert_int_equal(err.code, PL_EUSAGE);
        if (!strstr(err.msg, cases[i][1])) fail_msg("'%s' is not in '%s'", cases[i][1], err.msg);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
