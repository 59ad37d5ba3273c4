/* Augmentation: words to a pl_augment, and the draws of a row. Each row has a stream of its own,
 * whose first numbers are as the enum says. */
#include "data/augment.h"

#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* -- words ------------------------------------------------------------------------------------- */

static bool read_number(const char *word, const char *value, double usual, double most, double *out,
                        pl_err *err)
{
    *out = usual;
    if (!value) return true;
    return (pl_text_real(value, out) && *out > 0 && *out <= most) ||
           pl_err_set(err, PL_EUSAGE, "--augment %s: a number above 0, and at most %g, is needed",
                      word, most);
}

static bool read_word(const char *word, size_t n, const char *value, pl_augment *a, pl_err *err)
{
    static const char *const words[] = { "crop", "flip", "scale", "mixup" };
    size_t which = 0;
    while (which < 4 && (strlen(words[which]) != n || strncmp(word, words[which], n) != 0)) which++;
    const bool has[] = { a->crop, a->flip, a->scale > 0, a->mixup > 0 };
    if (which == 4 || (which < 2 && value))
        return pl_err_set(err, PL_EUSAGE, "--augment %s: there are " PL_AUGMENT_WORDS, word);
    if (has[which]) return pl_err_set(err, PL_EUSAGE, "--augment %s is given twice", word);
    if (which == 0) a->crop = true;
    if (which == 1) a->flip = true;
    if (which == 2) return read_number(word, value, 0.08, 1, &a->scale, err);
    return which < 3 || read_number(word, value, 0.2, 100, &a->mixup, err);
}

bool pl_augment_parse(const char *words, pl_augment *out, pl_err *err)
{
    char word[64];
    *out = (pl_augment){ 0 };
    for (const char *at = words; at && *at;) {
        const size_t n = strcspn(at, ",");
        if (n >= sizeof word || (at[n] && !at[n + 1]))
            return pl_err_set(err, PL_EUSAGE, "--augment %s: there are " PL_AUGMENT_WORDS, words);
        memcpy(word, at, n);
        word[n] = 0;
        const char *value = strchr(word, '=');
        PL_TRY(read_word(word, value ? (size_t)(value - word) : n, value ? value + 1 : NULL, out,
                         err));
        at += n + (at[n] == ',');
    }
    return true;
}

/* -- draws ------------------------------------------------------------------------------------- */

enum { FLIP, DOWN, RIGHT, WINDOW, TRIES = 10, OF_TRY = 4 };

static pl_rng of_row(const char *what, uint64_t seed, int64_t row)
{
    return pl_rng_at(seed, pl_rng_mix(pl_rng_name(what), (uint64_t)row));
}

/* -most .. most, each as likely. */
static int64_t draw_move(pl_rng r, uint64_t index, int64_t most)
{
    return (int64_t)pl_rng_below(r, index, (uint64_t)(2 * most + 1)) - most;
}

/* A window inside the picture; of ten that do not fit none is taken, but all of the middle. */
static void draw_window(const pl_augment *a, pl_rng r, const pl_picture *p, const pl_frame *frame,
                        pl_view *v)
{
    const double h = (double)p->height, w = (double)p->width;
    for (uint64_t i = 0, at = WINDOW; i < TRIES; i++, at += OF_TRY) {
        const double area = h * w * (a->scale + (1 - a->scale) * pl_rng_uniform(r, at));
        const double ratio = exp(log(4.0 / 3) * (2 * pl_rng_uniform(r, at + 1) - 1)) *
                             (double)frame->width / (double)frame->height;
        const double height = sqrt(area / ratio), width = sqrt(area * ratio);
        if (height > h || width > w || height < 1 || width < 1) continue;
        v->height = height;
        v->width = width;
        v->top = pl_rng_uniform(r, at + 2) * (h - height);
        v->left = pl_rng_uniform(r, at + 3) * (w - width);
        return;
    }
}

pl_view pl_augment_view(const pl_augment *a, uint64_t seed, int64_t row, const pl_picture *picture,
                        const pl_frame *frame)
{
    pl_view v = pl_view_middle(picture, frame);
    const pl_rng r = of_row("augment", seed, row);
    if (a->scale > 0) draw_window(a, r, picture, frame, &v);
    v.flipped = a->flip && pl_rng_uniform(r, FLIP) < 0.5;
    if (a->crop) {
        v.down = draw_move(r, DOWN, frame->height / 8);
        v.right = draw_move(r, RIGHT, frame->width / 8);
    }
    return v;
}

/* Devroye, "Random variate generation in one line of code", 1996: from Bailey's polar method for
 * Student's t. */
double pl_augment_share(const pl_augment *a, uint64_t seed, int64_t row)
{
    if (!(a->mixup > 0)) return 1;
    const pl_rng r = of_row("mixup", seed, row);
    const double u = pl_rng_uniform(r, 0) + 0x1p-33, turn = pl_rng_uniform(r, 1) + 0x1p-33;
    const double x = cos(2 * 3.141592653589793 * turn), w = (pow(u, -1 / a->mixup) - 1) * x * x;
    return 0.5 + copysign(0.5 / sqrt(1 + 1 / w), x);
}
