#include "ops/lib/resize.h"

#include <math.h>

enum { HALF_PIXEL, HALF_PIXEL_SYMMETRIC, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC };
static const char *const coords[] = { "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                      "align_corners", "asymmetric",           NULL };

enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
static const char *const rounds[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                      NULL };

enum { NEAREST, LINEAR, CUBIC };
static const char *const modes[] = { "nearest", "linear", "cubic", NULL };

static int word_of(const pl_node *n, const char *name, const char *const words[])
{
    return pl_line_word(n, name, words, &(pl_err){ 0 });
}

static double size_of(const pl_node *n, char letter)
{
    return (double)n->sig->factor[pl_sig_find(n->sig, letter)].size;
}

/* x / scale, a quotient of f32. Without a scale x u / v, which is exact where it is a whole
 * number. */
static double scaled_back(const pl_node *n, double x)
{
    double scale = pl_node_real(n, "scale", 0);
    return scale > 0 ? (double)(float)(x / scale) : x * size_of(n, 'u') / size_of(n, 'v');
}

static double find_coordinate(const pl_node *n, int64_t i)
{
    double u = size_of(n, 'u'), v = size_of(n, 'v'), scale = pl_node_real(n, "scale", 0);
    double x = (double)i, half = scaled_back(n, x + 0.5) - 0.5;
    switch (word_of(n, "coords", coords)) {
    case HALF_PIXEL_SYMMETRIC: return scale > 0 ? u / 2 * (1 - v / (u * scale)) + half : half;
    case PYTORCH_HALF_PIXEL: return v > 1 ? half : 0;
    case ALIGN_CORNERS: return v > 1 ? x * (u - 1) / (v - 1) : 0;
    case ASYMMETRIC: return scaled_back(n, x);
    default: return half;
    }
}

static double find_nearest(const pl_node *n, double x)
{
    switch (word_of(n, "round", rounds)) {
    case PREFER_CEIL: return floor(x + 0.5);
    case FLOOR: return floor(x);
    case CEIL: return ceil(x);
    default: return ceil(x - 0.5);
    }
}

static int64_t clamp(double x, double u)
{
    return (int64_t)fmin(fmax(x, 0), u - 1);
}

/* What lies x from a place counts there. */
static double weight_of(const pl_node *n, double x)
{
    double a = pl_node_real(n, "coeff", 0), d = fabs(x);
    if (word_of(n, "mode", modes) == LINEAR) return d < 1 ? 1 - d : 0;
    if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* How much narrower the weights are made than places are apart. */
static double find_narrowing(const pl_node *n, double u, double v)
{
    double scale = pl_node_real(n, "scale", 0);
    if (!(scale > 0)) scale = v / u;
    return pl_node_int(n, "antialias", 0) ? fmin(scale, 1) : 1;
}

/* The first tap, counted from the place below x; there are as many on both sides of x. */
static double find_first(const pl_node *n, double narrowing)
{
    return floor(-(word_of(n, "mode", modes) == CUBIC ? 2 : 1) / narrowing) + 1;
}

static void weigh(const pl_node *n, double x, pl_line_taps *taps)
{
    double u = size_of(n, 'u'), s = find_narrowing(n, u, size_of(n, 'v')), sum = 0;
    double first = find_first(n, s), low = floor(x);
    taps->n = (int)(2 - 2 * first);
    for (int k = 0; k < taps->n; k++) {
        double at = low + first + k;
        bool counts = !pl_node_int(n, "exclude", 0) || (at >= 0 && at < u);
        taps->at[k] = clamp(at, u);
        sum += taps->weight[k] = counts ? weight_of(n, s * (at - x)) : 0;
    }
    if (!(s < 1) && !pl_node_int(n, "exclude", 0)) return;
    for (int k = 0; k < taps->n; k++) taps->weight[k] /= sum;
}

pl_line_taps pl_resize_find(const pl_node *n, int64_t i)
{
    double u = size_of(n, 'u'), x = find_coordinate(n, i);
    pl_line_taps taps = { 1, { clamp(find_nearest(n, x), u) }, { 1 } };
    if (word_of(n, "mode", modes) != NEAREST) weigh(n, x, &taps);
    return taps;
}

/* A scale is given where 'v' is, or makes it. */
static bool fit_taps(const pl_node *n, double u, double v, pl_err *err)
{
    double s = find_narrowing(n, u, v);
    return u < 1 || v < 1 || 2 - 2 * find_first(n, s) <= PL_LINE_MOST ||
           pl_err_set(err, PL_EUNSUPPORTED, "antialias from %g to %g takes %g places, at most %d",
                      u, v, 2 - 2 * find_first(n, s), PL_LINE_MOST);
}

bool pl_resize_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double scale = pl_node_real(n, "scale", 0);
    double u = (double)sig->factor[pl_sig_find(sig, 'u')].size,
           size = floor((double)(float)(u * scale));
    int64_t *v = &sig->factor[pl_sig_find(sig, 'v')].size;
    if (pl_line_word(n, "mode", modes, err) < 0 || pl_line_word(n, "coords", coords, err) < 0 ||
        pl_line_word(n, "round", rounds, err) < 0)
        return false;
    if (!(scale >= 0 && size < 0x1p40))
        return pl_err_set(err, PL_EINPUT, "scale=%g is out of range", scale);
    if (!*v && size >= 1) *v = (int64_t)size;
    return fit_taps(n, u, (double)*v, err);
}

const char *pl_resize_attrs(pl_builder *b, const pl_node *n)
{
    return pl_builder_fmt(b,
                          "scale=%.17g mode=%s coords=%s round=%s coeff=%.17g antialias=%d "
                          "exclude=%d",
                          pl_node_real(n, "scale", 0), modes[word_of(n, "mode", modes)],
                          coords[word_of(n, "coords", coords)], rounds[word_of(n, "round", rounds)],
                          pl_node_real(n, "coeff", 0), pl_node_int(n, "antialias", 0) != 0,
                          pl_node_int(n, "exclude", 0) != 0);
}
