/* Logs of clicks: Criteo's and Avazu's columns, plain and compressed, what they become, and what is
 * said of those that are wrong. */
#include "data/clicks.h"

#include "models/model.h"
#include "ops/lib/all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static const char *const path = "clicks.tsv";

static const pl_graph *graph_of(const char *model, pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_model_parse(model, a, &args, &err)) fail_msg("%s", err.msg);
    pl_builder b = pl_builder_new(a, &pl_ops_all, "clicks");
    pl_model_build(&b, &args, PL_TRAIN);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static void write_log(const char *text, bool compressed)
{
    gzFile f = gzopen(path, compressed ? "wb" : "wbT");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
}

static bool open_as(const char *model, const char *text, bool compressed, pl_arena *a, pl_data *d,
                    pl_err *err)
{
    const pl_graph *g = graph_of(model, a);
    write_log(text, compressed);
    *err = (pl_err){ 0 };
    const bool ok = pl_data_clicks_open(path, 0.5, true, 1, &g, a, d, err);
    unlink(path);
    return ok;
}

static double get(const pl_data *d, const char *name, int64_t i)
{
    const int at = pl_tensors_find(&d->tensors, name);
    assert_true(at >= 0);
    return pl_tensor_get(&d->tensors.tensor[at], i);
}

/* No header: label, the model's numbers, ids in hex; an empty field is 0, and so is a number below
 * 0; the last line has no end. */
static void test_criteo(void **state)
{
    static const char text[] = "1\t2\t\t0000000b\t\r\n"
                               "\n"
                               "0\t-1\t10\tff\tzebra\n"
                               "0\t0\t1\t\t7\n"
                               "1\t3\t4\t1\t8";
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        pl_arena *a = pl_arena_new("test");
        pl_data d;
        pl_err err;
        if (!open_as("dlrm:dense=2,sizes=10-100,batch=2", text, compressed, a, &d, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(d.n, 4);
        assert_int_equal(d.n_train, 2);
        static const double label[] = { 1, 0, 0, 1 }, first[] = { 1, 5, 0, 1 };
        static const double dense[] = { 2, 0, 0, 10, 0, 1, 3, 4 };
        for (int i = 0; i < 4; i++) {
            assert_true(get(&d, "label", i) == label[i]);
            assert_true(get(&d, "cat_0", i) == first[i]);
            for (int k = 0; k < 2; k++)
                assert_true(get(&d, "dense", 2 * i + k) == (double)(float)log1p(dense[2 * i + k]));
        }
        assert_true(get(&d, "cat_1", 0) == 0 && get(&d, "cat_1", 2) == 7);
        assert_true(get(&d, "cat_1", 1) >= 0 && get(&d, "cat_1", 1) < 100);
        pl_data_free(&d);
        pl_arena_free(a);
    }
}

/* An input of tables that stand in one has their columns side by side. */
static void test_stacked(void **state)
{
    static const char text[] = "1\t2\t1\ta\t3\t4\n"
                               "0\t5\t2\tb\t6\t7\n";
    pl_arena *a = pl_arena_new("test");
    pl_data d;
    pl_err err;
    (void)state;
    if (!open_as("dlrm:dense=1,sizes=9-2x20-1x8,batch=1", text, false, a, &d, &err))
        fail_msg("%s", err.msg);
    static const double one[] = { 10, 3, 11, 6 }, last[] = { 4, 7 };
    for (int i = 0; i < 4; i++) assert_true(get(&d, "cat_1", i) == one[i]);
    for (int i = 0; i < 2; i++) assert_true(get(&d, "cat_3", i) == last[i]);
    pl_data_free(&d);
    assert_false(open_as("dlrm:dense=1,sizes=9-3x20-8,batch=1", text, false, a, &d, &err));
    assert_non_null(
        strstr(err.msg, "4 columns of ids, the model 5 tables: give it as many, by tables=4"));
    assert_false(
        open_as("dlrm:dense=1,sizes=9-2x20-8,hots=1-3-2,batch=1", text, false, a, &d, &err));
    assert_non_null(strstr(err.msg, "one id of each table, the model takes 3: write hots=1"));
    pl_arena_free(a);
}

/* A header: Avazu's, without numbers; and Criteo's, in another order. */
static void test_headers(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_data d;
    pl_err err;
    (void)state;
    if (!open_as("dlrm:dense=3,tables=3,rows=50,batch=1",
                 "id,click,hour,C1,site_id\n"
                 "77,0,14102100,1005,1fbe01fe\n"
                 "78,1,14102100,1002,1fbe01fe\n",
                 false, a, &d, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(d.n, 2);
    assert_true(get(&d, "label", 0) == 0 && get(&d, "label", 1) == 1);
    assert_true(get(&d, "dense", 5) == 0);
    assert_true(get(&d, "cat_0", 0) == get(&d, "cat_0", 1));
    assert_true(get(&d, "cat_1", 0) == 0x1005 % 50 && get(&d, "cat_1", 1) == 0x1002 % 50);
    pl_data_free(&d);
    if (!open_as("dlrm:dense=2,tables=1,rows=50,batch=1",
                 "C1,I2,Id,Label,I1\na,1,5,1,7\nb,2,6,0,8\n", true, a, &d, &err))
        fail_msg("%s", err.msg);
    assert_true(get(&d, "label", 0) == 1 && get(&d, "dense", 0) == (double)(float)log1p(1));
    pl_data_free(&d);
    pl_arena_free(a);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "is empty" },
        { "1\t2\t3\t4\n",
          "has 1 columns of ids, the model 2 tables: give it as many, by tables=1" },
        { "1\t2\t3\t4\t5\n0\t2\t3\t4\n", "line 2 has 4 columns, line 1 has 5" },
        { "1\t2\t3\t4\t5\n2\t2\t3\t4\t5\n", "line 2, column 1: the label is '2'" },
        { "1\t2\t3\t4\t5\n0\t2\tx\t4\t5\n", "line 2, column 3: 'x' is no number" },
        { "a,b\n", "no column 'label' or 'click'" },
        { "label,I1,a,b\n", "has 1 columns of numbers, the model 2: write dense=1" },
        { "1\t2\t3\t4\t5\n", "1 rows give 0 for training and 1 for validation" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_data d;
        pl_err err;
        assert_false(open_as("dlrm:dense=2,tables=2,batch=1", cases[i].text, false, a, &d, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].words)) fail_msg("'%s' lacks '%s'", err.msg, cases[i].words);
        pl_arena_free(a);
    }
}

/* What is compressed and cut short. */
static void test_cut(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = graph_of("dlrm:dense=2,tables=2,batch=1", a);
    pl_data d;
    pl_err err = { 0 };
    (void)state;
    write_log("1\t2\t3\t4\t5\n0\t2\t3\t4\t5\n1\t2\t3\t4\t5\n", true);
    assert_int_equal(truncate(path, 25), 0);
    assert_false(pl_data_clicks_open(path, 0.5, false, 1, &g, a, &d, &err));
    assert_int_equal(err.code, PL_EINPUT);
    unlink(path);
    assert_false(pl_data_clicks_open("no-such.tsv", 0.5, false, 1, &g, a, &d, &err));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_criteo),  cmocka_unit_test(test_stacked),
        cmocka_unit_test(test_headers), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
