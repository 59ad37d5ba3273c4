/* Augmentation: its words, and what is drawn: a function of seed and row, within its bounds, and by
 * the laws that it is to follow. */
#include "data/augment.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 20000 };

static const struct {
    const char *words;
    pl_augment is;
    const char *error; /* NULL: there is none */
} cases[] = {
    { NULL, { 0 }, NULL },
    { "", { 0 }, NULL },
    { "crop", { .crop = true }, NULL },
    { "flip,crop", { .crop = true, .flip = true }, NULL },
    { "scale,mixup", { .scale = 0.08, .mixup = 0.2 }, NULL },
    { "mixup=0.5,scale=1", { .scale = 1, .mixup = 0.5 }, NULL },
    { "turn", { 0 }, "--augment turn: there are crop, flip, scale=0.08, mixup=0.2" },
    { "cro", { 0 }, "--augment cro: there are" },
    { "crop,", { 0 }, "--augment crop,: there are" },
    { ",crop", { 0 }, "there are crop" },
    { "crop=4", { 0 }, "--augment crop=4: there are" },
    { "flip,flip", { 0 }, "--augment flip is given twice" },
    { "mixup,mixup=1", { 0 }, "--augment mixup=1 is given twice" },
    { "mixup=0", { 0 }, "--augment mixup=0: a number above 0, and at most 100" },
    { "mixup=x", { 0 }, "--augment mixup=x: a number above 0" },
    { "scale=1.5", { 0 }, "--augment scale=1.5: a number above 0, and at most 1, is needed" },
    { "scale=", { 0 }, "--augment scale=: a number" },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_augment a;
        pl_err err = { 0 };
        const bool ok = pl_augment_parse(cases[i].words, &a, &err);
        if (ok != !cases[i].error) fail_msg("%s: %s", cases[i].words, err.msg);
        if (ok) {
            assert_int_equal(a.crop, cases[i].is.crop);
            assert_int_equal(a.flip, cases[i].is.flip);
            assert_true(fabs(a.scale - cases[i].is.scale) + fabs(a.mixup - cases[i].is.mixup) <= 0);
        } else {
            assert_int_equal(err.code, PL_EUSAGE);
            if (!strstr(err.msg, cases[i].error))
                fail_msg("no '%s' in: %s", cases[i].error, err.msg);
        }
    }
}

/* Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)); its fourth central moment is
 * 3 / (16 (2 a + 1) (2 a + 3)). */
static void test_shares(void **state)
{
    static const double law[] = { 0.05, 0.2, 0.5, 1, 3, 50 };
    const pl_augment none = { .crop = true };
    (void)state;
    assert_true(fabs(pl_augment_share(&none, 1, 2) - 1) <= 0);
    for (size_t k = 0; k < sizeof law / sizeof *law; k++) {
        const pl_augment a = { .mixup = law[k] };
        double sum = 0, square = 0, fourth = 0;
        for (int i = 0; i < ROWS; i++) {
            const double x = pl_augment_share(&a, 7, i) - 0.5;
            assert_true(x >= -0.5 && x <= 0.5);
            assert_true(fabs(x - (pl_augment_share(&a, 7, i) - 0.5)) <= 0);
            sum += x, square += x * x, fourth += x * x * x * x;
        }
        const double v = 1 / (4 * (2 * law[k] + 1)),
                     m = 3 / (16 * (2 * law[k] + 1) * (2 * law[k] + 3));
        assert_true(fabs(sum / ROWS) < 4 * sqrt(v / ROWS));
        assert_true(fabs(square / ROWS - v) < 0.03 * v);
        assert_true(fabs(fourth / ROWS - m) < 0.06 * m);
    }
}

static bool is_same_view(const pl_view *v, const pl_view *w)
{
    return fabs(v->top - w->top) + fabs(v->left - w->left) <= 0 &&
           fabs(v->height - w->height) + fabs(v->width - w->width) <= 0 &&
           v->flipped == w->flipped && v->down == w->down && v->right == w->right;
}

static void test_views(void **state)
{
    static const unsigned char at[40 * 60];
    const pl_picture p = { 40, 60, 1, at, 60, 1, 0 };
    const pl_frame frame = { 32, 32, 1, false };
    const pl_augment a = { .crop = true, .flip = true }, s = { .scale = 0.25 };
    const pl_view middle = pl_view_middle(&p, &frame);
    int down[9] = { 0 }, right[9] = { 0 }, flips = 0;
    double least = 1, most = 0;
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const pl_view v = pl_augment_view(&a, 3, i, &p, &frame),
                      w = pl_augment_view(&a, 3, i, &p, &frame);
        assert_true(is_same_view(&v, &w));
        assert_true(fabs(v.top - middle.top) + fabs(v.width - middle.width) <= 0);
        assert_in_range(v.down + 4, 0, 8);
        assert_in_range(v.right + 4, 0, 8);
        down[v.down + 4]++, right[v.right + 4]++, flips += v.flipped;
        const pl_view x = pl_augment_view(&s, 3, i, &p, &frame);
        const double area = x.height * x.width / (40 * 60), ratio = x.width / x.height;
        assert_true(x.top >= 0 && x.left >= 0 && x.top + x.height <= 40 && x.left + x.width <= 60);
        assert_true(ratio > 0.749 && ratio < 1.334);
        least = fmin(least, area), most = fmax(most, area);
    }
    for (int i = 0; i < 9; i++) {
        assert_in_range(down[i], ROWS / 9 - 200, ROWS / 9 + 200);
        assert_in_range(right[i], ROWS / 9 - 200, ROWS / 9 + 200);
    }
    assert_in_range(flips, ROWS / 2 - 300, ROWS / 2 + 300);
    assert_true(least >= 0.2499 && least < 0.26 && most > 0.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
