/* Tensors of a file as data: rows stay on their side of the file and together over the inputs, and
 * are the same however they are split; what cannot be data is refused, all of it at once. */
#include "data/rows.h"

#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/ports.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/arena.h"
#include "support/tensor_file.h"

enum { FILE_ROWS = 50, TRAIN_ROWS = 40, ROWS = 4, COLUMNS = 6, CLASSES = 5 };

static const char *const path = "data.safetensors";

/* Row r of x begins with r and goes on in halves; its label is r % CLASSES. */
static void write_rows(void)
{
    static float x[FILE_ROWS][COLUMNS];
    static int64_t label[FILE_ROWS];
    for (int r = 0; r < FILE_ROWS; r++) {
        label[r] = r % CLASSES;
        for (int c = 0; c < COLUMNS; c++) x[r][c] = (float)r + (float)c / 2;
    }
    const tensor t[] = {
        TENSOR("unused", "U64", label, 1, FILE_ROWS),
        TENSOR("x", "F32", x, 2, FILE_ROWS, COLUMNS),
        TENSOR("label", "I64", label, 1, FILE_ROWS),
    };
    write_tensors(path, 3, t, arena);
}

/* A graph that reads x, label (looked up in CLASSES), and what is fed to every one. */
static const pl_graph *make_graph(void)
{
    pl_graph *g;
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(ROWS, COLUMNS));
    pl_value *label = pl_add_input(&b, "label", PL_I32, PL_SHAPE(ROWS));
    pl_value *lr = pl_add_input(&b, "lr", PL_F32, PL_SCALAR);
    pl_value *table =
        pl_add_state(&b, "table", PL_F32, PL_SHAPE(CLASSES, COLUMNS), "ones", PL_WEIGHT);
    pl_value *rows = PL_ADD(&b, &pl_op_embedding, NULL, table, label);
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_add, NULL, rows, x));
    pl_add_output(&b, "z", PL_ADD(&b, &pl_op_add, "cb,->cb", table, lr));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static pl_data open_rows(bool in_order)
{
    const pl_graph *g = make_graph();
    pl_data d;
    pl_err err = { 0 };
    write_rows();
    if (!pl_data_rows_open(path, 0.8, in_order, 1, &g, arena, &d, &err)) fail_msg("%s", err.msg);
    assert_int_equal(d.n, FILE_ROWS);
    assert_int_equal(d.n_train, TRAIN_ROWS);
    assert_int_equal(strlen(d.hash), 32);
    return d;
}

typedef struct batch {
    float x[ROWS][COLUMNS];
    int32_t label[ROWS];
} batch;

static pl_value x_value(void)
{
    return make_value("x", PL_F32, PL_SHAPE(ROWS, COLUMNS), NULL);
}

static pl_value label_value(void)
{
    return make_value("label", PL_I32, PL_SHAPE(ROWS), NULL);
}

/* Row i of the batch is this row of the file, in both inputs. */
static int row_of(const batch *b, int i)
{
    int row = (int)b->x[i][0];
    for (int c = 0; c < COLUMNS; c++)
        assert_true(fabsf(b->x[i][c] - ((float)row + (float)c / 2)) <= 0);
    assert_int_equal(b->label[i], row % CLASSES);
    return row;
}

static void fill(const pl_data *d, uint64_t seed, int64_t step, int64_t n_valid, batch *b)
{
    pl_value x = x_value(), label = label_value();
    pl_port p = port_of_whole(&x), q = port_of_whole(&label);
    pl_data_fill(d, &p, seed, step, n_valid, 0, b->x);
    pl_data_fill(d, &q, seed, step, n_valid, 0, b->label);
}

static void test_random_rows(void **state)
{
    (void)state;
    pl_data d = open_rows(false);
    batch b, again, other;
    int seen[FILE_ROWS] = { 0 };
    for (int step = 0; step < 200; step++) {
        fill(&d, 7, step, 5, &b);
        for (int i = 0; i < ROWS; i++) seen[row_of(&b, i)]++;
    }
    for (int r = 0; r < FILE_ROWS; r++) assert_int_equal(seen[r] > 0, r < TRAIN_ROWS);
    fill(&d, 7, 199, 5, &again);
    fill(&d, 8, 199, 5, &other);
    assert_memory_equal(&b, &again, sizeof b);
    assert_memory_not_equal(&b, &other, sizeof b);
    pl_data_free(&d);
}

static void test_rows_in_order(void **state)
{
    (void)state;
    pl_data d = open_rows(true);
    batch b;
    for (int step = 0; step < 30; step++) { /* around the file, which is no multiple of a batch */
        fill(&d, 7, step, 5, &b);
        for (int i = 0; i < ROWS; i++)
            assert_int_equal(row_of(&b, i), (step * ROWS + i) % TRAIN_ROWS);
    }
    pl_data_free(&d);
}

static void test_validation_rows(void **state)
{
    (void)state;
    pl_data d = open_rows(true);
    batch b;
    for (int n = 1; n <= 5; n++)
        for (int k = 0, last = TRAIN_ROWS; k < n; k++) {
            fill(&d, 7, -1 - k, n, &b);
            if (!k) assert_int_equal(row_of(&b, 0), TRAIN_ROWS);
            if (k == n - 1) assert_int_equal(row_of(&b, ROWS - 1), FILE_ROWS - 1);
            for (int i = 0; i < ROWS; last = row_of(&b, i), i++)
                assert_in_range(row_of(&b, i), last, FILE_ROWS - 1);
        }
    pl_data_free(&d);
}

/* Parts of rows and of columns, in runs and strided, are those of the whole. */
static void check_parts(const pl_data *d, const pl_value *v, int64_t step)
{
    static const pl_placement wheres[] = {
        { .n = 1, .split = { { .dim = 0, .axis = 0 } } },
        { .n = 1, .split = { { .dim = 1, .axis = 0 } } },
        { .n = 2, .split = { { .dim = 0, .axis = 1 }, { .dim = 1, .axis = 0 } } },
        { .n = 1, .split = { { .dim = 1, .axis = 0, .size = 3, .unit = 2 } } },
        { .n = 1, .split = { { .dim = 0, .axis = 0, .size = 2, .unit = 1 } } },
    };
    float whole[ROWS * COLUMNS], part[ROWS * COLUMNS], built[ROWS * COLUMNS];
    pl_port all = port_of_whole(v);
    pl_data_fill(d, &all, 7, step, 3, 0, whole);
    for (size_t k = 0; k < sizeof wheres / sizeof *wheres; k++)
        for (int n = 2; n <= 3; n++) {
            pl_mesh m = { 2, { { .name = "a", .size = n }, { .name = "b", .size = 2 } } };
            memset(built, 0xFF, sizeof built);
            for (int r = 0; r < pl_mesh_ranks(&m); r++) {
                pl_port p = port_of(v, wheres[k], &m, r);
                pl_data_fill(d, &p, 7, step, 3, 0, part);
                pl_port_give(&p, part, built);
            }
            assert_memory_equal(whole, built, sizeof whole);
        }
}

static void test_parts(void **state)
{
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        pl_data d = open_rows(in_order);
        pl_value x = x_value();
        for (int64_t step = -3; step < 4; step++) check_parts(&d, &x, step);
        pl_data_free(&d);
    }
}

/* -- what cannot be data ----------------------------------------------------------------------- */

static const float x8[8][COLUMNS], x7[7][COLUMNS], narrow[8][5];
static const int64_t eight[8] = { 4, 3 }, big[8] = { 0, 1, 1LL << 40 }, high[8] = { 0, 5 },
                     low[8] = { 0, -1 }, none[1];
static const double doubles[8][COLUMNS] = { { 0, 0.1 } }, exact[8][COLUMNS] = { { 0, 0.5 } };
static const float reals[8];
static const uint8_t bools[8] = { 1, 0, 1 }, quarters[8][COLUMNS];

#define LABEL TENSOR("label", "I64", eight, 1, 8)

static const struct {
    const char *name;
    int n;
    tensor tensor[2];
    const char *words[4]; /* none: it is data */
} cases[] = {
    { "as needed", 2, { TENSOR("x", "F32", x8, 2, 8, COLUMNS), LABEL }, { NULL } },
    { "exact doubles", 2, { TENSOR("x", "F64", exact, 2, 8, COLUMNS), LABEL }, { NULL } },
    { "truth values",
      2,
      { TENSOR("x", "F32", x8, 2, 8, COLUMNS), TENSOR("label", "BOOL", bools, 1, 8) },
      { NULL } },
    { "all missing",
      1,
      { TENSOR("y", "F32", reals, 1, 8) },
      { "data.safetensors: 'x' f32[rows,6] is missing",
        "'label' i32[rows] is missing; the file has "
        "'y'" } },
    { "another name",
      2,
      { TENSOR("x", "F32", x8, 2, 8, COLUMNS), TENSOR("labels", "BOOL", bools, 1, 8) },
      { "'label' i32[rows] is missing (the file has 'labels': rename it)" } },
    { "rows differ",
      2,
      { TENSOR("x", "F32", x7, 2, 7, COLUMNS), LABEL },
      { "'label' has 8 rows in the file, 'x' has 7" } },
    { "columns",
      2,
      { TENSOR("x", "F32", narrow, 2, 8, 5), LABEL },
      { "'x' is f32[rows,6] here, F32[8,5] in the file" } },
    { "rank",
      2,
      { TENSOR("x", "F32", x8, 1, 8 * COLUMNS), LABEL },
      { "'x' is f32[rows,6] here, F32[48] in the file" } },
    { "kinds, two problems",
      2,
      { TENSOR("x", "U8", quarters, 2, 8, COLUMNS), TENSOR("label", "F32", reals, 1, 8) },
      { "'x' is uint8, and f32 is needed", "'label' is float, and i32 is needed" } },
    { "a type without a use",
      2,
      { TENSOR("x", "F8_E4M3", quarters, 2, 8, COLUMNS), LABEL },
      { "'x' is F8_E4M3, and f32 is needed" } },
    { "no float",
      2,
      { TENSOR("x", "F64", doubles, 2, 8, COLUMNS), LABEL },
      { "'x' is double, and f32 is needed, which element 1, 0.1" } },
    { "no i32",
      2,
      { TENSOR("x", "F32", x8, 2, 8, COLUMNS), TENSOR("label", "I64", big, 1, 8) },
      { "element 2, 1099511627776, is not" } },
    { "beyond the table",
      2,
      { TENSOR("x", "F32", x8, 2, 8, COLUMNS), TENSOR("label", "I64", high, 1, 8) },
      { "row 1 of 'label' has 5: it has to be at least 0 and below 5" } },
    { "before the table",
      2,
      { TENSOR("x", "F32", x8, 2, 8, COLUMNS), TENSOR("label", "I64", low, 1, 8) },
      { "row 1 of 'label' has -1" } },
    { "one row",
      2,
      { TENSOR("x", "F32", x8[0], 2, 1, COLUMNS), TENSOR("label", "I64", none, 1, 1) },
      { "1 rows give 0 for training and 1 for validation", "--train-share" } },
};

static void test_refusals(void **state)
{
    (void)state;
    const pl_graph *g = make_graph();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_data d = { 0 };
        pl_err err = { 0 };
        write_tensors(path, cases[i].n, cases[i].tensor, arena);
        bool ok = pl_data_rows_open(path, 0.5, false, 1, &g, arena, &d, &err);
        if (ok != !cases[i].words[0]) fail_msg("%s: %s", cases[i].name, err.msg);
        if (ok) pl_data_free(&d);
        if (!ok) assert_int_equal(err.code, PL_EINPUT);
        for (int k = 0; k < 4 && cases[i].words[k]; k++)
            if (!strstr(err.msg, cases[i].words[k]))
                fail_msg("%s: no '%s' in: %s", cases[i].name, cases[i].words[k], err.msg);
    }
}

/* Elements become what the input takes, with the same value. */
static void test_types(void **state)
{
    (void)state;
    static const uint16_t halves[2][2] = { { 0x3C00, 0xC100 }, { 0x0001, 0x7BFF } };
    static const int8_t i8[2][2] = { { -1, 127 }, { -128, 0 } };
    static const uint8_t odd[1];
    static const uint16_t brains[2][2] = { { 0x3F80, 0xC020 }, { 0x0001, 0x7F7F } };
    static const float half[] = { 1, -2.5f, 0x1p-24f, 65504 };
    static const float brain[] = { 1, -2.5f, 0x1p-133f, 0x1.fep127f };
    const tensor t[] = { TENSOR("half", "F16", halves, 2, 2, 2),
                         TENSOR("brain", "BF16", brains, 2, 2, 2), TENSOR("odd", "U8", odd, 1, 1),
                         TENSOR("i8", "I8", i8, 2, 2, 2) };
    static const int64_t small[] = { -1, 127, -128, 0 };
    float found[4];
    int64_t whole[4];
    pl_data d = { .kind = PL_DATA_TENSORS, .in_order = true, .n = 2, .n_train = 2 };
    pl_err err = { 0 };
    write_tensors(path, 4, t, arena);
    if (!pl_tensors_open(path, arena, &d.tensors, &err)) fail_msg("%s", err.msg);
    pl_value h = make_value("half", PL_F32, PL_SHAPE(2, 2), NULL);
    pl_value b = make_value("brain", PL_F32, PL_SHAPE(2, 2), NULL);
    pl_value i = make_value("i8", PL_I64, PL_SHAPE(2, 2), NULL);
    pl_port p = port_of_whole(&h), q = port_of_whole(&b), r = port_of_whole(&i);
    pl_data_fill(&d, &p, 1, 0, 1, 0, found);
    assert_memory_equal(found, half, sizeof half);
    pl_data_fill(&d, &q, 1, 0, 1, 0, found);
    assert_memory_equal(found, brain, sizeof brain);
    pl_data_fill(&d, &r, 1, 0, 1, 0, whole);
    assert_memory_equal(whole, small, sizeof small);
    pl_data_free(&d);
}

static int clean_up(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random_rows), TEST(test_rows_in_order), TEST(test_validation_rows),
        TEST(test_parts),       TEST(test_refusals),      TEST(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
