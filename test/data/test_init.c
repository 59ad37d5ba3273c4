/* Initial values: the same numbers for parts as for the whole, of the right spread. */
#include "data/init.h"

#include "support/ports.h"

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
    if (!pl_init_fill(p, &(pl_init){ .seed = seed }, data, &err)) fail_msg("%s", err.msg);
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
            count += pl_region_count(p.region);
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

static void test_values(void **state)
{
    (void)state;
    pl_value f = make_value("f", PL_F32, PL_SHAPE(2, 2), "values 1 -2.5 inf 0.1");
    pl_value i = make_value("i", PL_I64, PL_SHAPE(3), "values 9007199254740993 -1 1e+17");
    pl_value u = make_value("u", PL_U8, PL_SHAPE(2, 1), "values 255 0");
    pl_value h = make_value("h", PL_BF16, PL_SCALAR, "values 1");
    pl_port p = port_of_part(&f, 1, 2, 1), q = port_of_whole(&i), r = port_of_part(&u, 0, 2, 0),
            s = port_of_whole(&h);
    float column[2];
    int64_t big[3];
    uint8_t first;
    uint16_t half;
    fill(&p, 1, column);
    assert_memory_equal(column, ((float[]){ -2.5f, 0.1f }), sizeof column);
    fill(&q, 1, big);
    assert_memory_equal(big, ((int64_t[]){ 9007199254740993, -1, 100000000000000000 }), sizeof big);
    fill(&r, 1, &first);
    assert_int_equal(first, 255);
    fill(&s, 1, &half);
    assert_int_equal(half, 0x3F80);
}

/* A source of one tensor. */
static pl_stack find_one(const void *of, const char *state)
{
    const pl_tensor *t = of;
    return (pl_stack){ !strcmp(t->name, state), t };
}

static void test_sources(void **state)
{
    (void)state;
    static const float stored[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    static const uint16_t brief[6] = { 0x3F80, 0x3F80, 0x3F80, 0x4000, 0x4000, 0x4000 };
    pl_tensor t = pl_tensor_of(PL_F32, &PL_SHAPE(2, 3), stored), b;
    pl_value v = make_value("w", PL_F32, PL_SHAPE(2, 3), "file");
    pl_port p = port_of_part(&v, 1, 3, 2);
    pl_init from = { .file = { find_one, &t } };
    float column[2];
    pl_err err = { 0 };
    t.name = "w";
    assert_true(pl_init_fill(&p, &from, column, &err));
    assert_memory_equal(column, ((float[]){ 3, 6 }), sizeof column);
    b = pl_tensor_of(PL_BF16, &PL_SHAPE(2, 3), brief);
    b.name = "w";
    from.weights = (pl_source){ find_one, &b }; /* goes first, and widens */
    assert_true(pl_init_fill(&p, &from, column, &err));
    assert_memory_equal(column, ((float[]){ 1, 2 }), sizeof column);
    v.shape.dim[0] = 3;
    p = port_of_whole(&v);
    assert_false(pl_init_fill(&p, &from, column, &err));
    assert_int_equal(err.code, PL_EINPUT);
    assert_non_null(strstr(err.msg, "state 'w' is f32[3,3], and bf16[2,3] in the file"));
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
        { PL_F32, "values", "0 values are listed, and f32[4] has 4" },
        { PL_F32, "values 1 2 3", "3 values are listed" },
        { PL_F32, "values 1 2 3 4 5", "5 values are listed" },
        { PL_F32, "values 1 2 x 4", "its value 2, 'x', is no f32" },
        { PL_I32, "values 1 2.5 3 4", "its value 1, '2.5', is no i32" },
        { PL_I32, "values 1 2 3 2147483648", "'2147483648', is no i32" },
        { PL_I64, "values 1 2 3 1e19", "'1e19', is no i64" },
        { PL_I64, "values nan 2 3 4", "'nan', is no i64" },
        { PL_U8, "values -1 2 3 4", "'-1', is no u8" },
        { PL_U8, "values 256 2 3 4", "'256', is no u8" },
        { PL_F32, "valuesx", "unknown initial value 'valuesx'" },
        { PL_F32, "file", "comes from a file, which does not have it" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_value v = make_value("w", cases[i].type, PL_SHAPE(4), cases[i].init);
        pl_port p = port_of_whole(&v);
        pl_err err = { 0 };
        if (pl_init_fill(&p, &(pl_init){ .seed = 1 }, part, &err))
            fail_msg("accepted '%s'", cases[i].init);
        assert_int_equal(err.code, PL_EINPUT);
        assert_non_null(strstr(err.msg, "state 'w'"));
        if (!strstr(err.msg, cases[i].words)) fail_msg("no '%s' in: %s", cases[i].words, err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_odd_parts),
        cmocka_unit_test(test_spread),  cmocka_unit_test(test_names_and_seeds),
        cmocka_unit_test(test_types),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_sources), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
