/* What training reads: rows stay on their side of the file, and are the same however they are
 * split. */
#include "data/text.h"

#include "base/rng.h"
#include "support/ports.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void check_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g (+- %g)", a, b, tolerance);
}

enum { SEQ = 8, ROWS = 4 };

static const char *const path = "data.bin";

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A file whose byte i is i, so that a token tells its place. */
static pl_data open_places(int n, double share, pl_arena *a)
{
    unsigned char bytes[256];
    pl_data d;
    pl_err err = { 0 };
    for (int i = 0; i < n; i++) bytes[i] = (unsigned char)i;
    write_file(path, bytes, (size_t)n);
    if (!pl_data_text_open(path, NULL, share, SEQ, a, &d, &err)) fail_msg("%s", err.msg);
    return d;
}

static pl_value tokens(const char *name)
{
    return make_value(name, PL_I32, PL_SHAPE(ROWS, SEQ), NULL);
}

static void check_row(const int32_t *row, int64_t from)
{
    for (int64_t i = 0; i < SEQ; i++) assert_int_equal(row[i], from + i);
}

static void test_train_rows(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data d = open_places(200, 0.8, a); /* 160 bytes to learn: starts 0 .. 151 */
    pl_value in = tokens("tokens"), want = tokens("targets");
    pl_port x = port_of_whole(&in), y = port_of_whole(&want);
    int32_t row[ROWS][SEQ], next[ROWS][SEQ];
    int seen[256] = { 0 };
    assert_int_equal(d.n_train, 160);
    for (int64_t step = 0; step < 1000; step++) {
        pl_data_fill(&d, &x, 7, step, 5, 256, row);
        pl_data_fill(&d, &y, 7, step, 5, 256, next);
        for (int i = 0; i < ROWS; i++) {
            check_row(row[i], row[i][0]);
            check_row(next[i], row[i][0] + 1);
            assert_true(row[i][0] >= 0 && next[i][SEQ - 1] < d.n_train);
            seen[row[i][0]]++;
        }
    }
    for (int i = 0; i < 160 - SEQ; i++) assert_true(seen[i] > 0); /* every place, both ends too */
    pl_data_free(&d);
    pl_arena_free(a);
}

static void test_rows_differ(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data d = open_places(250, 0.9, a);
    pl_value in = tokens("tokens");
    pl_port x = port_of_whole(&in);
    int32_t one[ROWS][SEQ], again[ROWS][SEQ], step[ROWS][SEQ], seed[ROWS][SEQ];
    pl_data_fill(&d, &x, 7, 3, 5, 256, one);
    pl_data_fill(&d, &x, 7, 3, 5, 256, again);
    pl_data_fill(&d, &x, 7, 4, 5, 256, step);
    pl_data_fill(&d, &x, 8, 3, 5, 256, seed);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, step, sizeof one);
    assert_memory_not_equal(one, seed, sizeof one);
    pl_data_free(&d);
    pl_arena_free(a);
}

/* In order the rows of every step are the same, spread over the text. */
static void test_rows_in_order(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data d = open_places(200, 0.8, a);
    pl_value in = tokens("tokens"), want = tokens("targets");
    pl_port x = port_of_whole(&in), y = port_of_whole(&want);
    int32_t row[ROWS][SEQ], next[ROWS][SEQ];
    d.in_order = true;
    for (int64_t step = 0; step < 9; step += 4) {
        pl_data_fill(&d, &x, (uint64_t)step, step, 5, 256, row);
        pl_data_fill(&d, &y, 7, step, 5, 256, next);
        for (int i = 0; i < ROWS; i++) {
            check_row(row[i], i * ((160 - SEQ) / ROWS));
            check_row(next[i], row[i][0] + 1);
        }
    }
    pl_data_free(&d);
    pl_arena_free(a);
}

/* Rows [i, i + 1) and columns of a batch as parts are what they are in the whole. */
static void check_parts(const pl_data *d, pl_value *v, int64_t step)
{
    int32_t whole[ROWS * SEQ], part[ROWS * SEQ], built[ROWS * SEQ];
    pl_port x = port_of_whole(v);
    pl_data_fill(d, &x, 7, step, 5, 99, whole);
    for (int dim = 0; dim < 2; dim++)
        for (int n = 2; n <= 8; n *= 2) { /* of eight parts of four rows some are empty */
            memset(built, 0xFF, sizeof built);
            for (int i = 0; i < n; i++) {
                pl_port p = port_of_part(v, dim, n, i);
                pl_data_fill(d, &p, 7, step, 5, 99, part);
                pl_port_give(&p, part, built);
            }
            assert_memory_equal(whole, built, sizeof whole);
        }
}

static void test_parts(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data text = open_places(250, 0.8, a), synthetic = { 0 };
    pl_value in = tokens("tokens"), want = tokens("targets");
    for (int64_t step = -5; step < 5; step++) {
        check_parts(&text, &in, step);
        check_parts(&text, &want, step);
        check_parts(&synthetic, &in, step);
    }
    pl_data_free(&text);
    pl_arena_free(a);
}

/* n_valid batches of rows, from the first byte of the validation part to its last. */
static void test_validation_rows(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data d = open_places(250, 0.4, a); /* bytes 100 .. 249 validate */
    pl_value in = tokens("tokens"), want = tokens("targets");
    pl_port x = port_of_whole(&in), y = port_of_whole(&want);
    int32_t row[ROWS][SEQ], next[ROWS][SEQ];
    for (int n = 1; n <= 9; n += 2) {
        double gap = (250 - 100 - SEQ - 1) / (double)(n * ROWS - 1);
        for (int batch = 0; batch < n; batch++) {
            pl_data_fill(&d, &x, 7, -1 - batch, n, 256, row);
            pl_data_fill(&d, &y, 7, -1 - batch, n, 256, next);
            for (int i = 0; i < ROWS; i++) {
                check_row(row[i], row[i][0]);
                check_row(next[i], row[i][0] + 1);
                double place = 100 + gap * (batch * ROWS + i);
                assert_true(fabs(row[i][0] - place) <= 1);
                if (!batch && !i) assert_int_equal(row[i][0], 100);
                if (batch == n - 1 && i == ROWS - 1) assert_int_equal(next[i][SEQ - 1], 249);
            }
        }
    }
    pl_data_free(&d);
    pl_arena_free(a);
}

static void test_synthetic(void **state)
{
    (void)state;
    pl_data d = { 0 };
    pl_value labels = make_value("label", PL_I32, PL_SHAPE(4000), NULL);
    pl_value x = make_value("x", PL_F32, PL_SHAPE(1000, 4), NULL);
    pl_port p = port_of_whole(&labels), q = port_of_whole(&x);
    static int32_t label[4000];
    static float value[4000];
    int count[10] = { 0 };
    double sum = 0;
    pl_data_fill(&d, &p, 1, 0, 5, 10, label);
    pl_data_fill(&d, &q, 1, 0, 5, 10, value);
    for (int i = 0; i < 4000; i++) {
        assert_in_range(label[i], 0, 9);
        assert_true(value[i] >= -1 && value[i] < 1);
        count[label[i]]++;
        sum += (double)value[i];
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(count[i], 300, 500); /* 400 +- 5 deviations of 19 */
    assert_true(fabs(sum / 4000) < 0.05);    /* 5 deviations of 0.009 */
}

static void test_entropy(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_data d = open_places(256, 0.5, a);
    check_near(pl_data_text_entropy(&d), log(384), 1e-12); /* 128 bytes, then 128 others */
    pl_data_free(&d);
    /* 20 a, then 10 a and 10 b; each byte counts once more than it was seen. */
    write_file(path, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbb", 40);
    pl_err err = { 0 };
    assert_true(pl_data_text_open(path, NULL, 0.5, SEQ, a, &d, &err));
    check_near(pl_data_text_entropy(&d), -0.5 * log(21.0 / 276) - 0.5 * log(1.0 / 276), 1e-12);
    pl_data_free(&d);
    pl_arena_free(a);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name;
        int bytes; /* of the file; -1: none, -2: a folder, -3: a pipe without a writer */
        double share;
        const char *words[4];
    } cases[] = {
        { "missing", -1, 0.9, { "no.bin", "No such file", "synthetic" } },
        { "a folder", -2, 0.9, { "folder.bin", "not a regular file" } },
        { "a pipe", -3, 0.9, { "pipe.bin", "not a regular file" } },
        { "empty", 0, 0.9, { "0 bytes", "needs 9" } },
        { "short to learn", 40, 0.2, { "40 bytes", "8 for training", "needs 9", "longer file" } },
        { "short to validate",
          80,
          0.9,
          { "72 for training", "8 for validation", "smaller --seq" } },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = path, zeros[80] = { 0 };
        if (cases[i].bytes == -1)
            name = "no.bin";
        else if (cases[i].bytes == -2)
            mkdir(name = "folder.bin", 0777);
        else if (cases[i].bytes == -3)
            (void)!mkfifo(name = "pipe.bin", 0666);
        else
            write_file(name, zeros, (size_t)cases[i].bytes);
        pl_data d;
        pl_err err = { 0 };
        if (pl_data_text_open(name, NULL, cases[i].share, SEQ, a, &d, &err))
            fail_msg("%s", cases[i].name);
        assert_int_equal(err.code, PL_EINPUT);
        for (int k = 0; k < 4 && cases[i].words[k]; k++)
            if (!strstr(err.msg, cases[i].words[k]))
                fail_msg("%s: no '%s' in: %s", cases[i].name, cases[i].words[k], err.msg);
    }
    pl_arena_free(a);
}

static int clean_up(void **state)
{
    (void)state;
    unlink(path);
    unlink("pipe.bin");
    rmdir("folder.bin");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_rows),      cmocka_unit_test(test_rows_differ),
        cmocka_unit_test(test_rows_in_order),   cmocka_unit_test(test_parts),
        cmocka_unit_test(test_validation_rows), cmocka_unit_test(test_synthetic),
        cmocka_unit_test(test_entropy),         cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
