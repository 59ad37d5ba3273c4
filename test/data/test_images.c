/* Pictures as data: of IDX, CIFAR and folders; what trains and what validates; the same batches
 * however they are split; mixed ones against those that they are mixed of; and what is said of
 * files that are wrong. */
#include "data/images.h"

#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/ports.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pictures.h"
#include "support/arena.h"

enum { ROWS = 4, SIDE = 6, PIXELS = SIDE * SIDE, CLASSES = 5, ROW = 3 * PIXELS };

static const pl_augment none;

/* -- files ------------------------------------------------------------------------------------- */

static void remove_all(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0777), 0);
}

/* Picture i of a file begins with base + i, and goes on so in every pixel but the second, which is
 * its number in the row; its label is i % CLASSES. */
static void write_pair(const char *pictures, const char *labels, bool compressed, int n, int base)
{
    unsigned char *at = PL_NEW_N(arena, unsigned char, n *PIXELS),
                  *label = PL_NEW_N(arena, unsigned char, n);
    for (int i = 0; i < n; i++) {
        memset(at + i * PIXELS, base + i, PIXELS);
        at[i * PIXELS + 1] = 1;
        label[i] = (unsigned char)(i % CLASSES);
    }
    write_idx(pictures, compressed, 3, (int64_t[]){ n, SIDE, SIDE }, at, (size_t)(n * PIXELS));
    write_idx(labels, compressed, 1, (int64_t[]){ n }, label, (size_t)n);
}

static void write_cifar(const char *path, int n, bool fine, int base)
{
    const int head = fine ? 2 : 1, size = head + 3 * 1024;
    unsigned char *at = PL_NEW_N(arena, unsigned char, n *size);
    for (int i = 0; i < n; i++) {
        at[i * size + head - 1] = (unsigned char)(i % CLASSES);
        for (int c = 0; c < 3; c++)
            memset(at + i * size + head + c * 1024, base + i + 10 * c, 1024);
    }
    write_file(path, at, (size_t)(n * size));
}

static void write_class(const char *folder, int n, int base)
{
    unsigned char at[PIXELS];
    make_folder(folder);
    for (int i = 0; i < n; i++) {
        memset(at, base + i, sizeof at);
        const char *path = pl_arena_fmt(arena, "%s/%02d.%s", folder, i, i % 2 ? "PNG" : "jpg");
        (i % 2 ? write_png : write_jpeg)(path, SIDE, SIDE, 1, at);
    }
}

/* -- opening ----------------------------------------------------------------------------------- */

/* A graph that reads pictures of 3 channels and labels, looked up in CLASSES; with mixup the others
 * too. */
static const pl_graph *make_graph(bool mixed)
{
    pl_graph *g;
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "image", PL_F32, PL_SHAPE(ROWS, SIDE, SIDE, 3));
    pl_value *table = pl_add_state(&b, "table", PL_F32, PL_SHAPE(CLASSES, 3), "ones", PL_WEIGHT);
    pl_value *label = pl_add_input(&b, "label", PL_I32, PL_SHAPE(ROWS));
    pl_add_output(&b, "x", PL_ADD(&b, &pl_op_neg, NULL, x));
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_embedding, NULL, table, label));
    if (mixed) {
        label = pl_add_input(&b, "label2", PL_I32, PL_SHAPE(ROWS));
        pl_add_output(&b, "y2", PL_ADD(&b, &pl_op_embedding, NULL, table, label));
        pl_add_output(
            &b, "s",
            PL_ADD(&b, &pl_op_neg, NULL, pl_add_input(&b, "share", PL_F32, PL_SHAPE(ROWS))));
    }
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static bool try_open(const char *path, const char *augment, pl_data *d, pl_err *err)
{
    pl_augment a = none;
    *err = (pl_err){ 0 };
    if (!pl_augment_parse(augment, &a, err)) fail_msg("%s", err->msg);
    const pl_graph *g = make_graph(a.mixup > 0);
    return pl_images_open(path, 0.8, false, 1, &g, &a, arena, d, err);
}

static pl_data open_images(const char *path, const char *augment)
{
    pl_data d;
    pl_err err;
    assert_true(pl_images_are(path));
    if (!try_open(path, augment, &d, &err)) fail_msg("%s", err.msg);
    return d;
}

/* -- batches ----------------------------------------------------------------------------------- */

typedef struct batch {
    float image[ROWS][ROW];
    int32_t label[ROWS], label2[ROWS];
    float share[ROWS];
} batch;

static void fill_input(const pl_data *d, const char *name, pl_type type, pl_shape shape,
                       int64_t step, void *to)
{
    const pl_value v = make_value(name, type, shape, NULL);
    const pl_port p = port_of_whole(&v);
    pl_err err = { 0 };
    pl_data_fill(d, &p, 7, step, 8, 0, to);
    if (!pl_data_check(d, &err)) fail_msg("%s", err.msg);
}

static void fill(const pl_data *d, int64_t step, batch *b)
{
    fill_input(d, "image", PL_F32, PL_SHAPE(ROWS, SIDE, SIDE, 3), step, b->image);
    fill_input(d, "label", PL_I32, PL_SHAPE(ROWS), step, b->label);
    fill_input(d, "label2", PL_I32, PL_SHAPE(ROWS), step, b->label2);
    fill_input(d, "share", PL_F32, PL_SHAPE(ROWS), step, b->share);
}

static int byte_of(float x)
{
    return (int)lrintf((x + 1) * 127.5f);
}

/* Every picture of the data, by its first pixel, in what trains or what validates: their number. */
static int see(const pl_data *d, bool trains, int found[256])
{
    batch b;
    int n = 0;
    for (int i = 0; i < 256; i++) found[i] = -1;
    for (int64_t k = 0; k < (trains ? 200 : 8); k++) {
        fill(d, trains ? k : -1 - k, &b);
        for (int i = 0; i < ROWS; i++) {
            int *of = &found[byte_of(b.image[i][0])];
            n += *of < 0;
            *of = b.label[i];
        }
    }
    return n;
}

/* Bytes [from, from + n) are the pictures seen, with labels from 0 on. */
static void check_seen(const pl_data *d, bool trains, int from, int n)
{
    int found[256];
    assert_int_equal(see(d, trains, found), n);
    for (int i = 0; i < n; i++) assert_int_equal(found[from + i], i % CLASSES);
}

static void test_idx(void **state)
{
    batch b;
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        const char *gz = compressed ? ".gz" : "";
        remove_all("idx");
        make_folder("idx");
#define NAME(name) pl_arena_fmt(arena, "idx/" name "%s", gz)
        write_pair(NAME("train-images-idx3-ubyte"), NAME("train-labels-idx1-ubyte"), compressed, 30,
                   50);
        pl_data d = open_images(NAME("train-images-idx3-ubyte"), NULL);
        assert_int_equal(d.n, 30);
        assert_int_equal(d.n_bytes, 30 * (PIXELS + 1));
        assert_int_equal(d.n_train, 24);
        check_seen(&d, true, 50, 24);
        fill(&d, 3, &b);
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < ROW; k++)
                assert_int_equal(byte_of(b.image[i][k]), k / 3 == 1 ? 1 : byte_of(b.image[i][0]));
        pl_data_free(&d);
        write_pair(NAME("t10k-images-idx3-ubyte"), NAME("t10k-labels-idx1-ubyte"), compressed, 10,
                   150);
        for (int folder = 0; folder < 2; folder++) {
            d = open_images(folder ? "idx" : NAME("train-images-idx3-ubyte"), NULL);
            assert_int_equal(d.n, 40);
            assert_int_equal(d.n_train, 30);
            assert_int_equal(strlen(d.hash), 32);
            check_seen(&d, true, 50, 30);
            check_seen(&d, false, 150, 10);
            pl_data_free(&d);
        }
    }
    remove_all("idx");
}

static void test_cifar(void **state)
{
    (void)state;
    for (int fine = 0; fine < 2; fine++) {
        batch b;
        remove_all("cifar");
        make_folder("cifar");
        write_cifar("cifar/data_batch_1.bin", 10, fine, 10);
        write_cifar("cifar/data_batch_2.bin", 5, fine, 20);
        write_cifar("cifar/test_batch.bin", 5, fine, 100);
        pl_data d = open_images("cifar", NULL);
        assert_int_equal(d.n, 20);
        assert_int_equal(d.n_train, 15);
        check_seen(&d, true, 10, 15);
        check_seen(&d, false, 100, 5);
        fill(&d, 0, &b);
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < ROW; k++) /* channels that lay in planes */
                assert_int_equal(byte_of(b.image[i][k]), byte_of(b.image[i][0]) + 10 * (k % 3));
        pl_data_free(&d);
        d = open_images("cifar/data_batch_1.bin", NULL);
        assert_int_equal(d.n_train, 8);
        pl_data_free(&d);
    }
    remove_all("cifar");
}

/* Classes in the order of their names; of each the first part trains, or all. */
static void test_classes(void **state)
{
    int found[256];
    (void)state;
    remove_all("classes");
    make_folder("classes");
    for (int part = 0; part < 2; part++) {
        const char *folder = part ? "classes/val" : "classes/train";
        make_folder(folder);
        for (int c = 0; c < 3; c++)
            write_class(pl_arena_fmt(arena, "%s/%s", folder, (const char *[]){ "b", "c", "a" }[c]),
                        5, 100 * part + 10 * ((c + 1) % 3));
    }
    write_file("classes/train/a/notes.txt", "x", 1);
    write_file("classes/train/a/.hidden.png", "x", 1);
    for (int both = 0; both < 2; both++) {
        pl_data d = open_images(both ? "classes" : "classes/train", NULL);
        assert_int_equal(d.n, both ? 30 : 15);
        assert_int_equal(d.n_train, both ? 15 : 12);
        assert_int_equal(see(&d, true, found), both ? 15 : 12);
        for (int i = 0; i < 30; i++)
            assert_int_equal(found[i], i % 10 < (both ? 5 : 4) ? i / 10 : -1);
        assert_int_equal(see(&d, false, found), both ? 15 : 3);
        for (int i = 0; i < 30; i++)
            assert_int_equal(found[100 * both + i],
                             (both ? i % 10 < 5 : i % 10 == 4) ? i / 10 : -1);
        pl_data_free(&d);
    }
    remove_all("classes");
}

/* A run with evaluations, whose pictures are decoded ahead, batch after batch, against batches by
 * themselves. */
static void test_run(void **state)
{
    batch b, alone;
    (void)state;
    remove_all("classes");
    make_folder("classes");
    for (int c = 0; c < 3; c++) write_class(pl_arena_fmt(arena, "classes/%d", c), 7, 10 * c);
    pl_data d = open_images("classes", "crop,mixup=0.5");
    for (int64_t i = 0; i < 24; i++) {
        const int64_t step = i % 12 < 9 ? i / 12 * 9 + i % 12 : 8 - i % 12;
        fill(&d, step, &b);
        pl_data fresh = open_images("classes", "crop,mixup=0.5");
        fill(&fresh, step, &alone);
        pl_data_free(&fresh);
        assert_memory_equal(&b, &alone, sizeof b);
    }
    for (int64_t step = 18; step < 60; step += step % 4 ? 1 : 5) { /* some are left out */
        fill(&d, step, &b);
        if (step % 4) continue;
        pl_data fresh = open_images("classes", "crop,mixup=0.5");
        fill(&fresh, step, &alone);
        pl_data_free(&fresh);
        assert_memory_equal(&b, &alone, sizeof b);
    }
    pl_data_free(&d);
    remove_all("classes");
}

/* -- the same however it is split -------------------------------------------------------------- */

static const char *const file = "train-images-idx3-ubyte", *const labels =
                                                               "train-labels-idx1-ubyte";

static void check_parts(const pl_data *d, const pl_value *v, int64_t step)
{
    static const pl_placement wheres[] = {
        { .n = 1, .split = { { .dim = 0, .axis = 0 } } },
        { .n = 1, .split = { { .dim = 1, .axis = 0 } } },
        { .n = 1, .split = { { .dim = 3, .axis = 0 } } },
        { .n = 2, .split = { { .dim = 0, .axis = 1 }, { .dim = 2, .axis = 0 } } },
        { .n = 1, .split = { { .dim = 0, .axis = 0, .size = 2, .unit = 1 } } },
    };
    const size_t bytes = (size_t)pl_shape_count(&v->shape) * 4;
    char *whole = PL_NEW_N(arena, char, bytes), *part = PL_NEW_N(arena, char, bytes),
         *built = PL_NEW_N(arena, char, bytes);
    pl_port all = port_of_whole(v);
    pl_data_fill(d, &all, 7, step, 3, 0, whole);
    for (size_t k = 0; k < sizeof wheres / sizeof *wheres; k++)
        for (int n = 2; n <= 3; n++) {
            pl_mesh m = { 2, { { .name = "a", .size = n }, { .name = "b", .size = 2 } } };
            if (wheres[k].split[wheres[k].n - 1].dim >= v->shape.rank) continue;
            memset(built, 0xFF, bytes);
            for (int r = 0; r < pl_mesh_ranks(&m); r++) {
                pl_port p = port_of(v, wheres[k], &m, r);
                pl_data_fill(d, &p, 7, step, 3, 0, part);
                pl_port_give(&p, part, built);
            }
            assert_memory_equal(whole, built, bytes);
        }
}

static void test_parts(void **state)
{
    const pl_value v[] = { make_value("image", PL_F32, PL_SHAPE(ROWS, SIDE, SIDE, 3), NULL),
                           make_value("label", PL_I32, PL_SHAPE(ROWS), NULL),
                           make_value("label2", PL_I32, PL_SHAPE(ROWS), NULL),
                           make_value("share", PL_F32, PL_SHAPE(ROWS), NULL) };
    (void)state;
    write_pair(file, labels, false, 30, 50);
    pl_data d = open_images(file, "crop,flip,scale,mixup");
    for (int64_t step = -2; step < 3; step++)
        for (int i = 0; i < 4; i++) check_parts(&d, &v[i], step);
    pl_data_free(&d);
}

/* A mixed batch is made of one that is not: of its rows from both ends. None is to validate. */
static void test_mixed(void **state)
{
    batch plain, mixed, again;
    bool between = false;
    (void)state;
    write_pair(file, labels, false, 30, 50);
    pl_data d = open_images(file, "crop,flip"), m = open_images(file, "crop,flip,mixup=1");
    for (int64_t step = -3; step < 9; step++) {
        fill(&d, step, &plain);
        fill(&m, step, &mixed);
        fill(&m, step, &again);
        assert_memory_equal(&mixed, &again, sizeof mixed);
        assert_memory_equal(plain.label, mixed.label, sizeof plain.label);
        for (int i = 0; i < ROWS; i++) {
            const float share = mixed.share[i];
            assert_int_equal(mixed.label2[i], plain.label[ROWS - 1 - i]);
            if (step < 0) assert_true(share >= 1);
            between |= share > 0.1 && share < 0.9;
            for (int k = 0; k < ROW; k++)
                assert_true(fabsf(share * plain.image[i][k] +
                                  (1 - share) * plain.image[ROWS - 1 - i][k] - mixed.image[i][k]) <
                            1e-6f);
        }
    }
    assert_true(between);
    pl_data_free(&d);
    pl_data_free(&m);
}

/* A model that reads one channel, channels first, as ONNX files have it. */
static void test_planar(void **state)
{
    pl_graph *g;
    pl_data d;
    pl_err err = { 0 };
    float x[2 * PIXELS];
    (void)state;
    write_cifar("one.bin", 10, false, 10);
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *in = pl_add_input(&b, "input", PL_F32, PL_SHAPE(2, 1, SIDE, SIDE));
    pl_add_output(&b, "x", PL_ADD(&b, &pl_op_neg, NULL, in));
    in = pl_add_input(&b, "label", PL_I32, PL_SHAPE(2));
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_neg, NULL, PL_ADD(&b, &pl_op_cast, "; to=f32", in)));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    const pl_graph *const graph[] = { g };
    if (!pl_images_open("one.bin", 0.5, true, 1, graph, &none, arena, &d, &err))
        fail_msg("%s", err.msg);
    fill_input(&d, "input", PL_F32, PL_SHAPE(2, 1, SIDE, SIDE), 1, x);
    for (int i = 0; i < 2; i++) /* rows 2 and 3 of the file; luma of +0, +10, +20 */
        for (int k = 0; k < PIXELS; k++)
            assert_true(fabs((x[i * PIXELS + k] + 1) * 127.5 - (12 + i + 5.87 + 2.28)) < 1e-3);
    pl_data_free(&d);
    unlink("one.bin");
}

/* -- what is wrong ----------------------------------------------------------------------------- */

static void refuse(const char *path, const char *words)
{
    pl_data d = { 0 };
    pl_err err;
    if (try_open(path, NULL, &d, &err))
        fail_msg("%s: it is read; '%s' was to be said", path, words);
    assert_int_equal(err.code, PL_EINPUT);
    if (!strstr(err.msg, words)) fail_msg("no '%s' in: %s", words, err.msg);
}

static void test_wrong_idx(void **state)
{
    static const unsigned char zeros[4 * PIXELS], high[4] = { 0, 5, 1, 9 };
    const int64_t four[] = { 4, SIDE, SIDE }, five[] = { 5, SIDE, SIDE }, wide[] = { 2, SIDE, 12 };
    const int64_t huge[] = { 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF };
    (void)state;
    unlink(labels);
    write_idx(file, false, 3, four, zeros, sizeof zeros);
    refuse(file, "train-images-idx3-ubyte: there are no labels for it: train-labels-idx1-ubyte is");
    write_idx(labels, false, 1, five, high, 4);
    refuse(file, "train-labels-idx1-ubyte: its header says 5 bytes, and it has fewer");
    write_idx(labels, false, 1, five, zeros, 5);
    refuse(file, "train-labels-idx1-ubyte has 5 labels, and train-images-idx3-ubyte 4 pictures");
    write_idx(labels, false, 1, four, high, 4);
    refuse(file, "train-images-idx3-ubyte: picture 1 has the label 5, and the model has 5 classes, "
                 "from 0 on (2 labels are too large): write classes=10");
    write_idx(labels, false, 2, four, zeros, 24);
    refuse(file, "train-labels-idx1-ubyte: it does not begin as an IDX file of labels does");
    write_idx(labels, false, 1, four, zeros, 4);
    write_idx(file, true, 3, five, zeros, sizeof zeros);
    refuse(file, "its header says 180 bytes, and it has fewer");
    write_idx(file, false, 3, (int64_t[]){ 3, SIDE, SIDE }, zeros, sizeof zeros);
    refuse(file, "its header says 108 bytes, and it has more");
    write_idx(file, false, 3, huge, zeros, sizeof zeros);
    refuse(file, "train-images-idx3-ubyte");
    write_idx(file, false, 3, (int64_t[]){ 0, SIDE, SIDE }, zeros, 0);
    refuse(file, "its header says that it is empty");
    write_idx(file, false, 3, four, zeros, sizeof zeros);
    write_idx("t10k-images-idx3-ubyte", false, 3, wide, zeros, sizeof zeros);
    write_idx("t10k-labels-idx1-ubyte", false, 1, wide, zeros, 2);
    refuse(file, "t10k-images-idx3-ubyte has pictures of 6 x 12, and train-images-idx3-ubyte of 6");
    unlink("t10k-images-idx3-ubyte");
    unlink("t10k-labels-idx1-ubyte");
    write_idx("images-idx3", false, 3, four, zeros, sizeof zeros);
    rename("images-idx3", "plain");
    refuse("plain", "plain: there are no labels for it: call it ...-images-idx3-ubyte");
    unlink("plain");
}

static void test_wrong_cifar(void **state)
{
    static unsigned char bytes[2 * 3073];
    (void)state;
    remove_all("cifar");
    make_folder("cifar");
    write_file("cifar/a.bin", bytes, 100);
    write_file("cifar/b.bin", bytes, 0);
    refuse("cifar", "cifar/a.bin: it has 100 bytes, and neither begins as a file of IDX pictures");
    refuse("cifar", "cifar/b.bin: it has 0 bytes");
    bytes[3073] = 14;
    write_file("cifar/a.bin", bytes, sizeof bytes);
    refuse("cifar/a.bin", "cifar/a.bin: byte 3073 is 14: that is no label of CIFAR-10");
    write_cifar("cifar/a.bin", 10, false, 0);
    write_cifar("cifar/b.bin", 10, true, 0);
    refuse("cifar", "cifar/b.bin is of 100 classes, and cifar/a.bin of 10");
    remove_all("cifar");
    refuse("cifar", "cifar: cannot open");
}

static void test_wrong_classes(void **state)
{
    pl_data d;
    pl_err err = { 0 };
    (void)state;
    remove_all("classes");
    make_folder("classes");
    refuse("classes", "classes: there is no folder in it");
    for (int c = 0; c < 6; c++) write_class(pl_arena_fmt(arena, "classes/%d", c), 4, 10 * c);
    refuse("classes", "classes has 6 classes, a folder each, and the model 5: write classes=6");
    remove_all("classes/5");
    make_folder("classes/4b");
    write_file("classes/0/a.png", "GIF89a..", 8);
    write_file("classes/0/b.jpg", "", 0);
    refuse("classes", "classes/4b has no pictures: a class has .jpg, .jpeg or .png files");
    refuse("classes", "classes/0/a.png is neither a JPEG nor a PNG; classes/0/b.jpg is neither");
    remove_all("classes/4b");
    unlink("classes/0/b.jpg");
    write_file("classes/0/a.png", "\x89PNG\r\n\x1a\n....", 12); /* broken within: found when read */
    d = open_images("classes", NULL);
    batch b;
    const pl_value v = make_value("image", PL_F32, PL_SHAPE(ROWS, SIDE, SIDE, 3), NULL);
    const pl_port p = port_of_whole(&v);
    for (int64_t step = 0; step < 20; step++) pl_data_fill(&d, &p, 7, step, 1, 0, b.image);
    for (int64_t step = -8; step < 0; step++) pl_data_fill(&d, &p, 7, step, 8, 0, b.image);
    assert_false(pl_data_check(&d, &err));
    assert_int_equal(err.code, PL_EINPUT);
    assert_non_null(strstr(err.msg, "classes/0/a.png: not a whole PNG: "));
    pl_data_free(&d);
    remove_all("classes");
    make_folder("classes");
    make_folder("classes/train");
    make_folder("classes/test");
    for (int c = 0; c < 2; c++)
        write_class(pl_arena_fmt(arena, "classes/%s/%d", c ? "train" : "test", c), 4, 10 * c);
    refuse("classes",
           "classes/train has a class '1', and classes/test has not; classes/test has a");
    remove_all("classes");
}

/* A graph that reads something else. */
static void test_other_inputs(void **state)
{
    pl_graph *g;
    pl_data d;
    pl_err err = { 0 };
    (void)state;
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(ROWS, 7));
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_neg, NULL, x));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    const pl_graph *const graph[] = { g };
    assert_false(pl_images_open(file, 0.5, true, 1, graph, &none, arena, &d, &err));
    assert_int_equal(err.code, PL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "the model reads 'x' too, f32[4,7]: pictures give"));
}

static int clean_up(void **state)
{
    (void)state;
    unlink(file);
    unlink(labels);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_idx),           TEST(test_cifar),        TEST(test_classes),
        TEST(test_run),           TEST(test_parts),        TEST(test_mixed),
        TEST(test_planar),        TEST(test_wrong_idx),    TEST(test_wrong_cifar),
        TEST(test_wrong_classes), TEST(test_other_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
