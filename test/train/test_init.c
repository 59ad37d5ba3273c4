/* Initial values: the same numbers for parts as for the whole, of the right spread. */
#include "train/init.h"

#include "ports.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 96, COLUMNS = 200, COUNT = ROWS * COLUMNS };

static float whole[COUNT], part[COUNT], built[COUNT];

static void fill(const pl_port *p, uint64_t seed, void *data)
{
    pl_err err = { 0 };
    if (!pl_init_fill(p, seed, data, &err)) fail_msg("%s", err.msg);
}

static const char *const inits[] = { "normal std=0.02", "uniform a=0.3", "ones", "zeros" };

static void test_parts(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof inits / sizeof *inits; k++) {
        pl_value v = make_value("h.0.w", PL_F32, PL_SHAPE(ROWS, COLUMNS), inits[k]);
        pl_port p = port_of_whole(&v);
        fill(&p, 1, whole);
        for (int dim = 0; dim < 2; dim++)
            for (int n = 2; n <= 8; n *= 2) {
                memset(built, 0xFF, sizeof built);
                for (int i = 0; i < n; i++) {
                    p = port_of_part(&v, dim, n, i);
                    fill(&p, 1, part);
                    pl_port_give(&p, part, built);
                }
                assert_memory_equal(whole, built, sizeof whole);
            }
    }
}

/* Uneven parts, parts of two dimensions, and a strided split: of each column the digits of 8. */
static void test_odd_parts(void **state)
{
    static const struct {
        pl_placement where;
        int sizes[2];
    } cases[] = {
        { { .n = 1, .split = { { .dim = 0, .axis = 0 } } }, { 7, 1 } },
        { { .n = 2, .split = { { .dim = 0, .axis = 1 }, { .dim = 1, .axis = 0 } } }, { 3, 7 } },
        { { .n = 2, .split = { { .dim = 1, .axis = 0 }, { .dim = 1, .axis = 1 } } }, { 3, 3 } },
        { { .n = 1, .split = { { .dim = 1, .axis = 0, .size = 8, .unit = 5 } } }, { 3, 1 } },
        { { .n = 1, .split = { { .dim = 1, .axis = 0, .size = 5, .unit = 1 } } }, { 6, 1 } },
        { { .n = 2,
            .split = { { .dim = 0, .axis = 1, .size = 4, .unit = 3 },
                       { .dim = 1, .axis = 0, .size = 8, .unit = 5 } } },
          { 2, 3 } },
    };
    (void)state;
    pl_value v = make_value("w", PL_F32, PL_SHAPE(ROWS, COLUMNS), "normal std=1");
    pl_port p = port_of_whole(&v);
    fill(&p, 1, whole);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        pl_mesh m = { 2, { { .name = "a" }, { .name = "b" } } };
        m.axis[0].size = cases[k].sizes[0], m.axis[1].size = cases[k].sizes[1];
        memset(built, 0xFF, sizeof built);
        int64_t count = 0;
        for (int r = 0; r < pl_mesh_ranks(&m); r++) {
            p = port_of(&v, cases[k].where, &m, r);
            fill(&p, 1, part);
            pl_port_give(&p, part, built);
            count += pl_region_count(&p.region);
        }
        assert_int_equal(count, COUNT);
        assert_memory_equal(whole, built, sizeof whole);
    }
}

static void measure(const char *init, double *mean, double *deviation, double *most)
{
    pl_value v = make_value("w", PL_F32, PL_SHAPE(ROWS, COLUMNS), init);
    pl_port p = port_of_whole(&v);
    double sum = 0, squares = 0;
    fill(&p, 3, whole);
    *most = 0;
    for (int i = 0; i < COUNT; i++) {
        double x = (double)whole[i];
        sum += x;
        squares += x * x;
        *most = fmax(*most, fabs(x));
    }
    *mean = sum / COUNT;
    *deviation = sqrt(squares / COUNT - *mean * *mean);
}

/* Limits are five standard errors: sigma / sqrt(n) of a mean, sigma / sqrt(2n) of a deviation. */
static void test_spread(void **state)
{
    (void)state;
    double mean, deviation, most, n = COUNT;
    measure("normal std=0.02", &mean, &deviation, &most);
    assert_true(fabs(mean) < 5 * 0.02 / sqrt(n));
    assert_true(fabs(deviation - 0.02) < 5 * 0.02 / sqrt(2 * n));
    assert_true(most > 3 * 0.02 && most < 6 * 0.02);
    measure("uniform a=0.3", &mean, &deviation, &most);
    assert_true(fabs(mean) < 5 * 0.3 / sqrt(3 * n));
    assert_true(fabs(deviation - 0.3 / sqrt(3)) < 5 * 0.3 / sqrt(6 * n));
    assert_true(most > 0.29 && most <= 0.3);
    measure("ones", &mean, &deviation, &most);
    assert_true(fabs(mean - 1) < 1e-12 && deviation < 1e-6);
    measure("zeros", &mean, &deviation, &most);
    assert_true(most <= 0);
}

static void test_names_and_seeds(void **state)
{
    (void)state;
    pl_value v = make_value("a", PL_F32, PL_SHAPE(ROWS, COLUMNS), "normal std=1");
    pl_value w = make_value("b", PL_F32, PL_SHAPE(ROWS, COLUMNS), "normal std=1");
    pl_port p = port_of_whole(&v), q = port_of_whole(&w);
    fill(&p, 1, whole);
    fill(&q, 1, part);
    assert_memory_not_equal(whole, part, sizeof whole);
    fill(&p, 2, part);
    assert_memory_not_equal(whole, part, sizeof whole);
    fill(&p, 1, part);
    assert_memory_equal(whole, part, sizeof whole);
}

static void test_types(void **state)
{
    (void)state;
    int64_t count[4] = { 9, 9, 9, 9 };
    uint16_t half[4] = { 0 };
    pl_value i = make_value("i", PL_I64, PL_SHAPE(4), "ones");
    pl_value h = make_value("h", PL_BF16, PL_SHAPE(4), "ones");
    pl_value s = make_value("s", PL_F32, PL_SCALAR, "normal std=1");
    pl_port p = port_of_whole(&i), q = port_of_whole(&h), r = port_of_whole(&s);
    float x = 0;
    fill(&p, 1, count);
    fill(&q, 1, half);
    fill(&r, 1, &x);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(count[k], 1);
        assert_int_equal(half[k], 0x3F80); /* 1.0 in bf16 */
    }
    assert_true(fabsf(x) > 0);
}

static void test_refusals(void **state)
{
    static const struct {
        pl_type type;
        const char *init, *words;
    } cases[] = {
        { PL_F32, "", "unknown initial value ''" },
        { PL_F32, "gauss", "unknown initial value 'gauss'" },
        { PL_F32, "normal", "unknown initial value 'normal'" },
        { PL_F32, "normal std=", "initial value 'normal std='" },
        { PL_F32, "normal std=x", "initial value 'normal std=x'" },
        { PL_F32, "normal std=1 a=2", "initial value 'normal std=1 a=2'" },
        { PL_F32, "uniform a=nan", "initial value 'uniform a=nan'" },
        { PL_I32, "normal std=1", "needs a float type" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_value v = make_value("w", cases[i].type, PL_SHAPE(4), cases[i].init);
        pl_port p = port_of_whole(&v);
        pl_err err = { 0 };
        if (pl_init_fill(&p, 1, part, &err)) fail_msg("accepted '%s'", cases[i].init);
        assert_int_equal(err.code, PL_EINPUT);
        assert_non_null(strstr(err.msg, "state 'w'"));
        if (!strstr(err.msg, cases[i].words)) fail_msg("no '%s' in: %s", cases[i].words, err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),  cmocka_unit_test(test_odd_parts),
        cmocka_unit_test(test_spread), cmocka_unit_test(test_names_and_seeds),
        cmocka_unit_test(test_types),  cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
