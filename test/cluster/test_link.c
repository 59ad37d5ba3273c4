/* Units, curves and straight lines: known answers, and properties on random numbers. */
#include "base/rng.h"
#include "cluster/link.h"
#include "cluster/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void is_near(double x, double want, double relative)
{
    if (fabs(x - want) > relative * fabs(want)) fail_msg("%.17g is not %.17g", x, want);
}

/* -- units ------------------------------------------------------------------------------------- */

static void units_read(void **state)
{
    static const struct {
        const char *text;
        pl_unit unit;
        double value;
    } cases[] = {
        { "16 GiB", PL_UNIT_BYTES, 0x1p34 },
        { "16GB", PL_UNIT_BYTES, 16e9 },
        { "12", PL_UNIT_BYTES, 12 },
        { "15.7 TFLOP/s", PL_UNIT_FLOPS, 15.7e12 },
        { "25 Gbit/s", PL_UNIT_RATE, 3.125e9 },
        { "1e9", PL_UNIT_RATE, 1e9 },
        { "5 us", PL_UNIT_SECONDS, 5e-6 },
        { "0.6us", PL_UNIT_SECONDS, 0.6e-6 },
        { "1.5e-6", PL_UNIT_SECONDS, 1.5e-6 },
        { "70 %", PL_UNIT_SHARE, 0.7 },
        { ".5", PL_UNIT_SHARE, 0.5 },
        { "-1 ms", PL_UNIT_SECONDS, -1e-3 },
    };
    static const struct {
        const char *text;
        pl_unit unit;
    } bad[] = {
        { "", PL_UNIT_BYTES },         { "GiB", PL_UNIT_BYTES },      { "16 Gib", PL_UNIT_BYTES },
        { "16  GiB", PL_UNIT_BYTES },  { " 16", PL_UNIT_BYTES },      { "16 ", PL_UNIT_SHARE },
        { "nan", PL_UNIT_SHARE },      { "NaN", PL_UNIT_FLOPS },      { ".nan", PL_UNIT_FLOPS },
        { "inf", PL_UNIT_RATE },       { "-.inf", PL_UNIT_RATE },     { "1e999", PL_UNIT_RATE },
        { "0x10", PL_UNIT_BYTES },     { "1 GB/s", PL_UNIT_BYTES },   { "1 GB", PL_UNIT_RATE },
        { "1e308 TB", PL_UNIT_BYTES }, { "1,5 us", PL_UNIT_SECONDS }, { "+nan", PL_UNIT_SHARE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x = 0;
        if (!pl_unit_parse(cases[i].text, cases[i].unit, &x)) fail_msg("%s", cases[i].text);
        if (x != cases[i].value) fail_msg("%s is %.17g", cases[i].text, x);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x;
        if (pl_unit_parse(bad[i].text, bad[i].unit, &x)) fail_msg("'%s' is %g", bad[i].text, x);
    }
}

static void units_print(void **state)
{
    static const struct {
        double value;
        pl_unit unit;
        const char *text;
    } cases[] = {
        { 0, PL_UNIT_SECONDS, "0 s" },
        { 5e-6, PL_UNIT_SECONDS, "5 us" },
        { 16e9, PL_UNIT_BYTES, "16 GB" },
        { 0x1p34, PL_UNIT_BYTES, "16 GiB" },
        { 900e9, PL_UNIT_RATE, "900 GB/s" },
        { 3.125e9, PL_UNIT_RATE, "25 Gbit/s" },
        { 15.7e12, PL_UNIT_FLOPS, "15.7 TFLOP/s" },
        { 0.7, PL_UNIT_SHARE, "0.7" },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pl_unit_text(a, cases[i].unit, cases[i].value), cases[i].text);
    pl_arena_free(a);
}

/* Any value, printed, reads back as the same double. */
static void units_keep_every_bit(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_rng r = pl_rng_at(7, 1);
    for (uint64_t i = 0; i < 4000; i++) {
        const pl_unit u = (pl_unit)pl_rng_below(r, 3 * i, PL_N_UNITS);
        double x = exp(60 * pl_rng_uniform(r, 3 * i + 1) - 30), back = -1;
        if (i % 3 == 0) x = floor(x * 1e3) / 1e3;
        const char *text = pl_unit_text(a, u, x);
        if (!pl_unit_parse(text, u, &back) || back != x)
            fail_msg("seed 7, case %d: %.17g is printed as %s", (int)i, x, text);
    }
    pl_arena_free(a);
}

/* -- curves ------------------------------------------------------------------------------------ */

static void curve_is_linear_between_points(void **state)
{
    (void)state;
    const pl_link l = { .n_points = 3, .point = { { 1000, 5 }, { 2000, 7 }, { 4000, 17 } } };
    static const double known[][2] = { { 0, 5 },    { 1, 5 },     { 1000, 5 },  { 1500, 6 },
                                       { 2000, 7 }, { 3000, 12 }, { 4000, 17 }, { 8000, 34 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_near(pl_link_seconds(&l, known[i][0]), known[i][1], 1e-15);
    const pl_link straight = { .latency = 3, .per_byte = 0.5 };
    is_near(pl_link_seconds(&straight, 0), 3, 0);
    is_near(pl_link_seconds(&straight, 8), 7, 0);
}

static void hops_start_once(void **state)
{
    (void)state;
    const pl_link straight = { .start = 10, .latency = 3, .per_byte = 0.5 };
    is_near(pl_link_seconds(&straight, 8), 17, 0);
    is_near(pl_link_hops(&straight, 1, 8), 17, 0);
    is_near(pl_link_hops(&straight, 6, 8), 10 + 6 * 7, 0);
    assert_true(pl_link_hops(&straight, 0, 8) == 0);
    const pl_link curve = { .start = 4, .n_points = 2, .point = { { 10, 5 }, { 20, 7 } } };
    is_near(pl_link_seconds(&curve, 15), 6, 0);
    is_near(pl_link_hops(&curve, 3, 15), 4 + 3 * 2, 0);
    const pl_link noisy = { .start = 4, .n_points = 1, .point = { { 10, 3 } } };
    is_near(pl_link_hops(&noisy, 3, 10), 4, 0);
}

static void line_is_found_again(void **state)
{
    (void)state;
    const pl_rng r = pl_rng_at(11, 2);
    for (uint64_t i = 0; i < 500; i++) {
        const double a = 1e-7 * exp(8 * pl_rng_uniform(r, 2 * i));
        const double b = 1e-12 * exp(8 * pl_rng_uniform(r, 2 * i + 1));
        pl_point p[12];
        double latency, per_byte;
        for (int k = 0; k < 12; k++) {
            p[k].bytes = 64 * pow(4, k);
            p[k].seconds = a + b * p[k].bytes;
        }
        pl_link_fit(12, p, &latency, &per_byte);
        is_near(latency, a, 1e-6);
        is_near(per_byte, b, 1e-6);
    }
}

static double misfit(int n, const pl_point p[], double a, double b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += pow((a + b * p[i].bytes) / p[i].seconds - 1, 2);
    return sum;
}

/* Noisy points: no other line with both numbers >= 0 is nearer, by trying many. */
static void line_is_the_nearest(void **state)
{
    (void)state;
    const pl_rng r = pl_rng_at(13, 3);
    for (uint64_t i = 0; i < 300; i++) {
        pl_point p[6];
        double a, b;
        for (uint64_t k = 0; k < 6; k++) {
            p[k].bytes = 100 * (double)(k + 1);
            p[k].seconds = 1e-3 + 3 * pl_rng_uniform(r, 64 * i + k);
        }
        pl_link_fit(6, p, &a, &b);
        assert_true(a >= 0 && b >= 0);
        const double best = misfit(6, p, a, b);
        for (uint64_t k = 0; k < 40; k++) {
            const double x = fabs(a + 0.02 * pl_rng_normal(r, 64 * i + 8 + k));
            const double y = fabs(b + 1e-4 * pl_rng_normal(r, 64 * i + 9 + k));
            if (misfit(6, p, x, y) < best - 1e-9)
                fail_msg("seed 13, case %d: %g + %g x is nearer than %g + %g x", (int)i, x, y, a,
                         b);
        }
    }
}

static void line_of_few_points(void **state)
{
    (void)state;
    double a, b;
    const pl_point one[] = { { 200, 4 } };
    pl_link_fit(1, one, &a, &b);
    is_near(b, 0.02, 1e-15);
    assert_true(a == 0);
    const pl_point falling[] = { { 1, 4 }, { 100, 1 } }; /* noise: no negative bandwidth */
    pl_link_fit(2, falling, &a, &b);
    assert_true(a > 0 && b == 0);
    const pl_point steep[] = { { 1, 1e-9 }, { 100, 1 } };
    pl_link_fit(2, steep, &a, &b);
    assert_true(a == 0 && b > 0);
}

static void bad_points_are_named(void **state)
{
    static const struct {
        int n;
        pl_point p[3];
        const char *says;
    } cases[] = {
        { 0, { { 0, 0 } }, "0 points" },
        { 33, { { 0, 0 } }, "33 points" },
        { 2, { { 1, 1 }, { 1, 2 } }, "point 2: 1 bytes after 1" },
        { 2, { { 1, 1 }, { 2, 0 } }, "point 2: 2 bytes in 0 s" },
        { 1, { { -1, 1 } }, "point 1: -1 bytes" },
        { 1, { { (double)NAN, 1 } }, "point 1: " },
        { 1, { { 1, (double)INFINITY } }, "point 1: " },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_err err = { 0 };
        assert_false(pl_link_check(cases[i].n, cases[i].p, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].says)) fail_msg("'%s' lacks '%s'", err.msg, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_read),           cmocka_unit_test(units_print),
        cmocka_unit_test(units_keep_every_bit), cmocka_unit_test(curve_is_linear_between_points),
        cmocka_unit_test(line_is_found_again),  cmocka_unit_test(line_is_the_nearest),
        cmocka_unit_test(hops_start_once),      cmocka_unit_test(line_of_few_points),
        cmocka_unit_test(bad_points_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
