/* Pictures decoded, encoded and looked at: PNG to the bit, JPEG nearly, what is damaged with an
 * error; views of the same size as they are, and others against sums by hand. */
#include "data/view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pictures.h"
#include "support/arena.h"

enum { HEIGHT = 11, WIDTH = 13, PIXELS = HEIGHT * WIDTH };

static const char *const path = "picture";

/* Smooth, so that JPEG comes near. */
static void paint(int channels, unsigned char *at)
{
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < channels; c++)
            at[i * channels + c] = (unsigned char)(10 * (i / WIDTH) + 8 * (i % WIDTH) + 20 * c);
}

static bool decode(pl_picture *p, pl_err *err)
{
    const char *bytes;
    size_t n;
    *err = (pl_err){ 0 };
    if (!pl_file_read(path, 1 << 20, arena, &bytes, &n, err)) fail_msg("%s", err->msg);
    return pl_picture_decode(bytes, n, arena, p, err);
}

static int get(const pl_picture *p, int y, int x, int c)
{
    return p->at[y * p->row + x * p->column + c * p->plane];
}

/* Every byte within `most` of what it was. */
static void check_bytes(const pl_picture *p, int channels, const unsigned char *at, int most)
{
    assert_int_equal(p->height, HEIGHT);
    assert_int_equal(p->width, WIDTH);
    assert_int_equal(p->channels, channels);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < channels; c++)
                assert_in_range(get(p, y, x, c) - at[(y * WIDTH + x) * channels + c] + most, 0,
                                2 * most);
}

static void test_decode(void **state)
{
    unsigned char at[4 * PIXELS];
    pl_picture p;
    pl_err err;
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        paint(channels, at);
        write_png(path, HEIGHT, WIDTH, channels, at);
        if (!decode(&p, &err)) fail_msg("%s", err.msg);
        check_bytes(&p, channels, at, 0);
        write_jpeg(path, HEIGHT, WIDTH, channels, at);
        if (!decode(&p, &err)) fail_msg("%s", err.msg);
        check_bytes(&p, channels, at, 24); /* its colours have half the places */
    }
}

/* Inks as Adobe has them, inverted; what is transparent is black. */
static void test_other_colors(void **state)
{
    unsigned char at[4 * PIXELS];
    pl_picture p;
    pl_err err;
    (void)state;
    for (int i = 0; i < 4 * PIXELS; i++) at[i] = (unsigned char[]){ 200, 100, 50, 128 }[i % 4];
    write_jpeg(path, HEIGHT, WIDTH, 4, at);
    if (!decode(&p, &err)) fail_msg("%s", err.msg);
    for (int c = 0; c < 3; c++)
        assert_in_range(get(&p, 5, 5, c), at[c] * 128 / 255 - 4, at[c] * 128 / 255 + 4);
    for (int i = 0; i < PIXELS; i++) at[4 * i + 3] = i % 2 ? 255 : 0;
    write_png(path, HEIGHT, WIDTH, 4, at);
    if (!decode(&p, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(get(&p, i / WIDTH, i % WIDTH, c), i % 2 ? at[4 * i + c] : 0);
}

/* Cut anywhere, and with any byte changed: an error or a picture, and always an error without its
 * second half. */
static void test_damage(void **state)
{
    unsigned char at[3 * PIXELS];
    (void)state;
    paint(3, at);
    for (int kind = 0; kind < 2; kind++) {
        const char *bytes;
        size_t n;
        pl_err err = { 0 };
        pl_picture p;
        (kind ? write_png : write_jpeg)(path, HEIGHT, WIDTH, 3, at);
        if (!pl_file_read(path, 1 << 20, arena, &bytes, &n, &err)) fail_msg("%s", err.msg);
        for (size_t k = 0; k < n; k++) {
            err = (pl_err){ 0 };
            const bool ok = pl_picture_decode(bytes, k, arena, &p, &err);
            if (ok && k < n / 2) fail_msg("%zu bytes of %zu are a picture", k, n);
            if (!ok) assert_int_equal(err.code, PL_EINPUT);
        }
        char *copy = pl_arena_span(arena, bytes, n);
        for (size_t k = 0; k < n; k++) {
            copy[k] = (char)(copy[k] ^ 0x55);
            err = (pl_err){ 0 };
            if (!pl_picture_decode(copy, n, arena, &p, &err)) assert_int_equal(err.code, PL_EINPUT);
            copy[k] = bytes[k];
        }
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *words;
    } cases[] = {
        { "", 0, "neither a JPEG nor a PNG (0 bytes)" },
        { "GIF89a", 6, "neither a JPEG nor a PNG (6 bytes)" },
        { "\xFF\xD8\xFF", 3, "not a whole JPEG: " },
        { "\x89PNG\r\n\x1a\n", 8, "not a whole PNG: " },
    };
    static const unsigned char wide[] = { 0xFF, 0xD8, 0xFF, 0xC0, 0, 11,   8, 0x80,
                                          0,    0x80, 0,    1,    1, 0x11, 0 };
    pl_picture p;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_err err = { 0 };
        assert_false(pl_picture_decode(cases[i].bytes, cases[i].n, arena, &p, &err));
        if (!strstr(err.msg, cases[i].words)) fail_msg("no '%s' in: %s", cases[i].words, err.msg);
    }
    pl_err err = { 0 };
    assert_false(pl_picture_decode(wide, sizeof wide, arena, &p, &err));
    assert_int_equal(err.code, PL_EINPUT);
}

/* -- views ------------------------------------------------------------------------------------- */

static pl_picture picture_of(int64_t height, int64_t width, int channels, const unsigned char *at)
{
    return (pl_picture){ height, width, channels, at, width * channels, channels, 1 };
}

static void check_floats(const float *found, int n, const double wanted[])
{
    for (int i = 0; i < n; i++)
        if (!(fabs(found[i] - (wanted[i] / 127.5 - 1)) < 1e-5))
            fail_msg("number %d is %g, not %g", i, 127.5 * (found[i] + 1), wanted[i]);
}

/* Of the frame's size: as it is, flipped, moved; of colours and grey, channels first or last. */
static void test_same_size(void **state)
{
    static const unsigned char at[] = { 10, 20, 30, 40, 50, 60 };
    static const struct {
        bool flipped;
        int64_t down, right;
        double wanted[6];
    } cases[] = {
        { false, 0, 0, { 10, 20, 30, 40, 50, 60 } },
        { true, 0, 0, { 30, 20, 10, 60, 50, 40 } },
        { false, 1, 0, { 0, 0, 0, 10, 20, 30 } },
        { true, -1, 1, { 0, 60, 50, 0, 0, 0 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_frame frame = { 2, 3, 1, false };
        const pl_picture p = picture_of(2, 3, 1, at);
        pl_view v = pl_view_middle(&p, &frame);
        float x[6];
        v.flipped = cases[i].flipped, v.down = cases[i].down, v.right = cases[i].right;
        pl_view_render(&v, &p, &frame, x);
        check_floats(x, 6, cases[i].wanted);
    }
}

static void test_channels(void **state)
{
    static const unsigned char at[] = { 10, 20, 30, 40, 50, 60 };
    static const double last[] = { 10, 20, 30, 40, 50, 60 }, first[] = { 10, 40, 20, 50, 30, 60 },
                        luma[] = { 2.99 + 11.74 + 3.42, 11.96 + 29.35 + 6.84 },
                        grey[] = { 10, 10, 10, 20, 20, 20 };
    const pl_picture color = picture_of(1, 2, 3, at), plain = picture_of(1, 2, 1, at);
    const pl_frame frames[] = { { 1, 2, 3, false }, { 1, 2, 3, true }, { 1, 2, 1, false } };
    const pl_view all = pl_view_middle(&color, &frames[0]);
    float x[6];
    (void)state;
    pl_view_render(&all, &color, &frames[0], x);
    check_floats(x, 6, last);
    pl_view_render(&all, &color, &frames[1], x);
    check_floats(x, 6, first);
    pl_view_render(&all, &color, &frames[2], x);
    check_floats(x, 2, luma);
    pl_view_render(&all, &plain, &frames[0], x);
    check_floats(x, 6, grey);
}

/* Twice as large: shares of 3/4 and 1/4. Half as large: a triangle over four pixels. */
static void test_scaling(void **state)
{
    static const unsigned char two[] = { 0, 100 }, four[] = { 0, 100, 200, 40 };
    static const double larger[] = { 0, 25, 75, 100 },
                        smaller[] = { (3 * 0 + 3 * 100 + 1 * 200) / 7.0,
                                      (1 * 100 + 3 * 200 + 3 * 40) / 7.0 };
    const pl_picture p = picture_of(1, 2, 1, two), q = picture_of(1, 4, 1, four);
    const pl_view of_two = { .height = 1, .width = 2 }, of_four = { .height = 1, .width = 4 };
    float x[4];
    (void)state;
    pl_view_render(&of_two, &p, &(pl_frame){ 1, 4, 1, false }, x);
    check_floats(x, 4, larger);
    pl_view_render(&of_four, &q, &(pl_frame){ 1, 2, 1, false }, x);
    check_floats(x, 2, smaller);
}

/* Whatever the sizes, a picture of one colour stays of it, and the middle has the proportions. */
static void test_sizes(void **state)
{
    unsigned char at[40 * 40];
    float x[24 * 24];
    (void)state;
    memset(at, 77, sizeof at);
    for (int height = 1; height <= 40; height += 3)
        for (int width = 1; width <= 40; width += 3)
            for (int size = 1; size <= 24; size += 7) {
                const pl_frame frame = { size, size, 1, false };
                const pl_picture p = picture_of(height, width, 1, at);
                const pl_view v = pl_view_middle(&p, &frame);
                assert_true(fabs(v.height - v.width) < 1e-9);
                assert_true(v.top >= -1e-9 && v.top + v.height <= height + 1e-9);
                assert_true(v.left >= -1e-9 && v.left + v.width <= width + 1e-9);
                pl_view_render(&v, &p, &frame, x);
                for (int i = 0; i < size * size; i++)
                    assert_true(fabs(x[i] - (77 / 127.5 - 1)) < 1e-5);
            }
}

/* What is encoded is decoded to the same bytes, and encoded again it is the same file. */
static void test_encode(void **state)
{
    unsigned char at[3 * PIXELS];
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        pl_text file = { .arena = arena }, again = { .arena = arena };
        const pl_picture whole = { HEIGHT, WIDTH, channels, at, WIDTH * channels, channels, 1 };
        pl_picture p;
        pl_err err = { 0 };
        paint(channels, at);
        assert_true(pl_picture_encode(&whole, &file, &err));
        assert_true(pl_picture_begins(file.at, file.n));
        assert_true(pl_picture_decode(file.at, file.n, arena, &p, &err));
        check_bytes(&p, channels, at, 0);
        assert_true(pl_picture_encode(&p, &again, &err));
        assert_int_equal(file.n, again.n);
        assert_memory_equal(file.at, again.at, file.n);
    }
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
        TEST(test_decode),   TEST(test_other_colors), TEST(test_damage),
        TEST(test_refusals), TEST(test_same_size),    TEST(test_channels),
        TEST(test_scaling),  TEST(test_sizes),        TEST(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
