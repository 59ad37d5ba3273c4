#include "ops/lib/resize.h"

#include <math.h>

enum { HALF_PIXEL, HALF_PIXEL_SYMMETRIC, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC };
static const char *const coords[] = { "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                      "align_corners", "asymmetric",           NULL };

enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
static const char *const rounds[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                      NULL };

enum { NEAREST, LINEAR };
static const char *const modes[] = { "nearest", "linear", NULL };

static int word_of(const pl_node *n, const char *name, const char *const words[])
{
    return pl_line_word(n, name, words, &(pl_err){ 0 });
}

static double size_of(const pl_node *n, char letter)
{
    return (double)n->sig->factor[pl_sig_find(n->sig, letter)].size;
}

/* Without a scale i u / v, which is exact where it is a whole number. */
static double find_coordinate(const pl_node *n, int64_t i)
{
    double u = size_of(n, 'u'), v = size_of(n, 'v'), scale = pl_node_real(n, "scale", 0);
    double x = (double)i, up = scale > 0 ? scale : v, down = scale > 0 ? 1 : u;
    double half = (x + 0.5) * down / up - 0.5;
    switch (word_of(n, "coords", coords)) {
    case HALF_PIXEL_SYMMETRIC: return scale > 0 ? u / 2 * (1 - v / (u * scale)) + half : half;
    case PYTORCH_HALF_PIXEL: return v > 1 ? half : 0;
    case ALIGN_CORNERS: return v > 1 ? x * (u - 1) / ((scale > 0 ? u * scale : v) - 1) : 0;
    case ASYMMETRIC: return x * down / up;
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

pl_line_taps pl_resize_find(const pl_node *n, int64_t i)
{
    double u = size_of(n, 'u'), x = find_coordinate(n, i), low = floor(x);
    if (word_of(n, "mode", modes) == NEAREST)
        return (pl_line_taps){ 1, { clamp(find_nearest(n, x), u) }, { 1 } };
    return (pl_line_taps){ 2, { clamp(low, u), clamp(low + 1, u) }, { 1 - (x - low), x - low } };
}

bool pl_resize_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double scale = pl_node_real(n, "scale", 0);
    double size = floor((double)sig->factor[pl_sig_find(sig, 'u')].size * scale);
    int64_t *v = &sig->factor[pl_sig_find(sig, 'v')].size;
    if (pl_line_word(n, "mode", modes, err) < 0 || pl_line_word(n, "coords", coords, err) < 0 ||
        pl_line_word(n, "round", rounds, err) < 0)
        return false;
    if (!(scale >= 0 && size < 0x1p40))
        return pl_err_set(err, PL_EINPUT, "scale=%g is out of range", scale);
    if (!*v && size >= 1) *v = (int64_t)size;
    return true;
}

const char *pl_resize_attrs(pl_builder *b, const pl_node *n)
{
    return pl_builder_fmt(b, "scale=%.17g mode=%s coords=%s round=%s", pl_node_real(n, "scale", 0),
                          modes[word_of(n, "mode", modes)], coords[word_of(n, "coords", coords)],
                          rounds[word_of(n, "round", rounds)]);
}
