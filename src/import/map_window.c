/* Mappings of operators that slide windows: convolutions, pools. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

enum { MOST_WINDOWS = PL_MAX_WINDOWS, MOST_STEP = 1 << 20 };

/* Positions y, x, z and taps r, s, t. */
static const char position[] = "yxz", tap[] = "rst";

typedef struct window {
    int n;
    int64_t kernel[MOST_WINDOWS], stride[MOST_WINDOWS], dilation[MOST_WINDOWS];
    int64_t lo[MOST_WINDOWS], hi[MOST_WINDOWS]; /* padding */
} window;

static bool read_each(pl_import *m, const char *name, int n, int64_t usual, int64_t out[])
{
    int count = 0;
    const int64_t *at = pl_attr_ints(m, name, &count);
    if (at && count != n) return pl_map_fail(m, "%s has %d of %d numbers", name, count, n);
    for (int i = 0; i < n; i++) {
        out[i] = at ? at[i] : usual;
        if (out[i] < 1 || out[i] > MOST_STEP)
            return pl_map_fail(m, "%s is %lld", name, (long long)out[i]);
    }
    return true;
}

static bool read_pads(pl_import *m, const pl_shape *x, window *w)
{
    const char *automatic = pl_attr_text(m, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4), lower = !strcmp(automatic, "SAME_LOWER");
    int count = 0;
    const int64_t *pads = same ? NULL : pl_attr_ints(m, "pads", &count);
    if (pads && count != 2 * w->n)
        return pl_map_fail(m, "pads has %d of %d numbers", count, 2 * w->n);
    for (int i = 0; i < w->n; i++) {
        const int64_t size = x->dim[2 + i], out = (size + w->stride[i] - 1) / w->stride[i];
        int64_t both = (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - size;
        if (both < 0 || !same) both = 0;
        w->lo[i] = pads ? pads[i] : lower ? both - both / 2 : both / 2;
        w->hi[i] = pads ? pads[w->n + i] : both - w->lo[i];
        if (w->lo[i] < 0 || w->hi[i] < 0 || w->lo[i] > INT32_MAX || w->hi[i] > INT32_MAX)
            return pl_map_refuse(m, "pads of %lld and %lld", (long long)w->lo[i],
                                 (long long)w->hi[i]);
    }
    return true;
}

static bool read_window(pl_import *m, const pl_shape *x, const int64_t kernel[], window *w)
{
    *w = (window){ .n = x->rank - 2 };
    if (w->n < 1 || w->n > MOST_WINDOWS)
        return pl_map_refuse(m, "%d spatial dimensions; 1 to %d are supported", w->n, MOST_WINDOWS);
    PL_TRY(read_each(m, "kernel_shape", w->n, 1, w->kernel));
    if (kernel) memcpy(w->kernel, kernel, (size_t)w->n * sizeof *kernel);
    for (int i = 0; i < w->n; i++)
        if (x->dim[2 + i] > INT32_MAX || w->kernel[i] > MOST_STEP)
            return pl_map_refuse(m, "a window of %lld over %lld", (long long)w->kernel[i],
                                 (long long)x->dim[2 + i]);
    PL_TRY(read_each(m, "strides", w->n, 1, w->stride));
    PL_TRY(read_each(m, "dilations", w->n, 1, w->dilation));
    return read_pads(m, x, w);
}

/* Signatures pad both ends alike: what goes beyond becomes a node of its own. */
static pl_value *pad_rest(pl_import *m, pl_value *x, window *w, double value)
{
    for (int i = 0; i < w->n; i++) {
        if (w->lo[i] == w->hi[i]) continue;
        x = pl_padded(m, x, 2 + i, w->lo[i], w->hi[i], value, "constant");
        w->lo[i] = w->hi[i] = 0;
    }
    return x;
}

/* "[y+r][x+s]", "yx", "rs" */
static const char *windows_text(pl_import *m, const window *w)
{
    pl_text t = { .arena = m->a };
    for (int i = 0; i < w->n; i++) pl_text_add(&t, "[%c+%c]", position[i], tap[i]);
    return pl_text_get(&t);
}

static const char *numbers(pl_import *m, const char *name, const int64_t *at, int n)
{
    pl_text t = { .arena = m->a };
    for (int i = 0; i < n; i++) pl_text_add(&t, "%s%lld", i ? "," : "", (long long)at[i]);
    return pl_arena_fmt(m->a, " %s=%s", name, pl_text_get(&t));
}

static const char *window_attrs(pl_import *m, const window *w)
{
    return pl_arena_fmt(m->a, ";%s%s%s", numbers(m, "stride", w->stride, w->n),
                        numbers(m, "dilation", w->dilation, w->n), numbers(m, "pad", w->lo, w->n));
}

/* y + bias, a number for each channel. */
static pl_value *add_bias(pl_import *m, pl_value *y, int k)
{
    if (!y || !pl_has(m, k)) return y;
    pl_value *bias = pl_in(m, k);
    const char *all = pl_letters(m, 0, y->shape.rank);
    return bias ? PL_ADD(m->b, &pl_op_add, pl_arena_fmt(m->a, "%s,B->%s", all, all), y, bias)
                : NULL;
}

bool pl_map_conv(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *k = pl_in(m, 1);
    window w;
    if (!x || !k) return false;
    const int64_t g = pl_attr_int(m, "group", 1);
    if (k->shape.rank != x->shape.rank || x->shape.rank < 3)
        return pl_map_fail(m, "%s by %s", pl_shape_text(m->a, x->type, &x->shape),
                           pl_shape_text(m->a, k->type, &k->shape));
    PL_TRY(read_window(m, &x->shape, k->shape.dim + 2, &w));
    if (g < 1 || g > MOST_STEP || k->shape.dim[0] % g || k->shape.dim[1] * g != x->shape.dim[1])
        return pl_map_fail(m, "group=%lld, %lld channels, weights for %lld", (long long)g,
                           (long long)x->shape.dim[1], (long long)k->shape.dim[1]);
    x = pad_rest(m, x, &w, 0);
    const char *at = windows_text(m, &w), *attrs = window_attrs(m, &w);
    const char *yx = pl_arena_span(m->a, position, (size_t)w.n),
               *rs = pl_arena_span(m->a, tap, (size_t)w.n);
    const char *spec = pl_arena_fmt(m->a, "nc%s,oc%s->no%s%s", at, rs, yx, attrs);
    if (g > 1)
        spec = pl_arena_fmt(m->a, "n(gc)%s,(go)c%s->n(go)%s%s g=%lld", at, rs, yx, attrs,
                            (long long)g);
    pl_out(m, 0, add_bias(m, x ? PL_ADD(m->b, &pl_op_conv2d, spec, x, k) : NULL, 2));
    return true;
}

/* Sizes of the result: what output_shape says, else all that windows reach, less the pads. */
static bool transposed_sizes(pl_import *m, const pl_shape *x, window *w, int64_t extent[])
{
    int n_out = 0, n_more = 0;
    const int64_t *shape = pl_attr_ints(m, "output_shape", &n_out);
    const int64_t *more = pl_attr_ints(m, "output_padding", &n_more);
    const char *automatic = pl_attr_text(m, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4);
    if ((shape && n_out != w->n) || (more && n_more != w->n))
        return pl_map_fail(m, "output_shape or output_padding has not %d numbers", w->n);
    for (int i = 0; i < w->n; i++) {
        int64_t full = (x->dim[2 + i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] +
                       1 + (more ? more[i] : 0);
        if (shape || same) {
            int64_t want = shape ? shape[i] : x->dim[2 + i] * w->stride[i], both = full - want;
            if (both < 0) return pl_map_refuse(m, "an output larger than the windows reach");
            w->lo[i] = !strcmp(automatic, "SAME_UPPER") ? both / 2 : both - both / 2;
            w->hi[i] = both - w->lo[i];
        }
        extent[i] = full; /* the pads are cut off afterwards */
    }
    return true;
}

bool pl_map_conv_transpose(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *k = pl_in(m, 1);
    window w;
    int64_t extent[MOST_WINDOWS];
    if (!x || !k) return false;
    const int64_t g = pl_attr_int(m, "group", 1);
    if (k->shape.rank != x->shape.rank || x->shape.rank < 3 || g < 1 || g > MOST_STEP ||
        x->shape.dim[1] % g)
        return pl_map_fail(m, "%s by %s, group=%lld", pl_shape_text(m->a, x->type, &x->shape),
                           pl_shape_text(m->a, k->type, &k->shape), (long long)g);
    PL_TRY(read_window(m, &x->shape, k->shape.dim + 2, &w));
    PL_TRY(transposed_sizes(m, &x->shape, &w, extent));
    const window cut = w;
    for (int i = 0; i < w.n; i++) w.lo[i] = 0;
    const char *at = windows_text(m, &w);
    const char *attrs =
        pl_arena_fmt(m->a, "%s%s", window_attrs(m, &w), numbers(m, "extent", extent, w.n));
    const char *yx = pl_arena_span(m->a, position, (size_t)w.n),
               *rs = pl_arena_span(m->a, tap, (size_t)w.n);
    const char *spec = pl_arena_fmt(m->a, "no%s,oc%s->nc%s%s", yx, rs, at, attrs);
    if (g > 1)
        spec = pl_arena_fmt(m->a, "n(go)%s,(go)c%s->n(gc)%s%s g=%lld", yx, rs, at, attrs,
                            (long long)g);
    pl_value *y = PL_ADD(m->b, &pl_op_conv2d_grad_data, spec, x, k);
    for (int i = 0; i < w.n && y; i++) {
        const int64_t left = extent[i] - cut.lo[i] - cut.hi[i];
        if (left < 1) return pl_map_fail(m, "pads leave %lld elements", (long long)left);
        y = pl_sliced(m, y, 2 + i, cut.lo[i], left);
    }
    pl_out(m, 0, add_bias(m, y, 2));
    return true;
}

/* -- pools ------------------------------------------------------------------------------------- */

/* With ceil_mode a last window may begin inside and end beyond: as if `more` were padded. */
static void round_up(pl_import *m, const pl_shape *x, const window *w, int64_t more[])
{
    for (int i = 0; i < w->n; i++) {
        const int64_t size = x->dim[2 + i], reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const int64_t room = size + w->lo[i] + w->hi[i] - reach;
        const int64_t over = room % w->stride[i] ? w->stride[i] - room % w->stride[i] : 0;
        const int64_t last = room + over; /* where the last window begins */
        more[i] = pl_attr_int(m, "ceil_mode", 0) && last < size + w->lo[i] ? over : 0;
    }
}

/* "nc[y+r][x+s]->ncyx; ..." */
static const char *pool_spec(pl_import *m, const window *w, const char *attrs)
{
    pl_text spec = { .arena = m->a };
    const char *yx = pl_arena_span(m->a, position, (size_t)w->n);
    pl_text_add(&spec, "nc%s->nc%s%s%s", windows_text(m, w), yx, window_attrs(m, w), attrs);
    for (int i = 0; i < w->n; i++) pl_text_add(&spec, " %c=%lld", tap[i], (long long)w->kernel[i]);
    return pl_text_get(&spec);
}

static pl_value *pool(pl_import *m, const struct pl_op *op, pl_value *x, window w, double pad,
                      const char *attrs)
{
    x = pad_rest(m, x, &w, pad);
    return x ? PL_ADD(m->b, op, pool_spec(m, &w, attrs), x) : NULL;
}

/* The window with what ceil_mode adds. */
static bool read_pool(pl_import *m, pl_value *x, window *w, int64_t more[])
{
    if (!x) return false;
    if (!pl_type_is_float(x->type)) return pl_map_refuse(m, "of whole numbers");
    PL_TRY(read_window(m, &x->shape, NULL, w));
    round_up(m, &x->shape, w, more);
    for (int i = 0; i < w->n; i++) w->hi[i] += more[i];
    return true;
}

/* Where the maximum of each window lies: an index of its plane, those of all planes counted
 * through. */
static pl_value *find_maximum(pl_import *m, pl_value *x, const window *w)
{
    const int64_t rows = x->shape.dim[0], channels = x->shape.dim[1];
    const int64_t plane = pl_shape_count(&x->shape) / (rows * channels);
    pl_shape s = { x->shape.rank, { rows, channels } };
    for (int i = 0; i < w->n; i++) {
        if (w->lo[i] != w->hi[i]) pl_map_refuse(m, "the indices of a maximum, with uneven padding");
        s.dim[2 + i] = 1;
    }
    if (pl_attr_int(m, "storage_order", 0)) pl_map_refuse(m, "storage_order=1");
    pl_value *at = PL_ADD(m->b, &pl_op_max_pool_index, pool_spec(m, w, ""), x);
    int64_t *first = PL_NEW_N(m->a, int64_t, rows * channels);
    for (int64_t i = 0; i < rows * channels; i++) first[i] = i * plane;
    return PL_EACH(m, &pl_op_add, "", at, pl_table(m, PL_I64, &s, first));
}

bool pl_map_max_pool(pl_import *m)
{
    window w;
    int64_t more[MOST_WINDOWS];
    pl_value *x = pl_in(m, 0);
    PL_TRY(read_pool(m, x, &w, more));
    if (m->node->n_output > 1 && *m->node->output[1]) pl_out(m, 1, find_maximum(m, x, &w));
    pl_out(m, 0, pool(m, &pl_op_max_pool, x, w, -3.4028234663852886e38, ""));
    return true;
}

/* Where padding is uneven it is a node of its own, which cannot say what counts: the sums of the
 * windows are divided by those of ones, which stand where an element counts. */
static pl_value *average_uneven(pl_import *m, pl_value *x, const window *w, const int64_t more[],
                                bool counts)
{
    pl_value *ones = pl_filled(m, x->type, 1, &x->shape);
    window rest = *w;
    for (int i = 0; i < w->n && counts; i++) {
        ones = pl_padded(m, ones, 2 + i, w->lo[i], w->hi[i] - more[i], 1, "constant");
        rest.lo[i] = 0, rest.hi[i] = more[i];
    }
    pl_value *sums = pool(m, &pl_op_avg_pool, x, *w, 0, " count_pad=1");
    return PL_EACH(m, &pl_op_div, "", sums,
                   pool(m, &pl_op_avg_pool, ones, rest, 0, " count_pad=1"));
}

bool pl_map_average_pool(pl_import *m)
{
    const bool counts = pl_attr_int(m, "count_include_pad", 0);
    bool uneven = false;
    window w;
    int64_t more[MOST_WINDOWS];
    pl_value *x = pl_in(m, 0);
    PL_TRY(read_pool(m, x, &w, more));
    for (int i = 0; i < w.n; i++) uneven |= counts ? more[i] > 0 : w.lo[i] != w.hi[i];
    pl_out(m, 0,
           uneven ? average_uneven(m, x, &w, more, counts)
                  : pool(m, &pl_op_avg_pool, x, w, 0, counts ? " count_pad=1" : " count_pad=0"));
    return true;
}

/* The reverse of MaxPool: each value where its index says, of the plane that the windows had; zeros
 * elsewhere, and in what output_shape has more. */
bool pl_map_max_unpool(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *at = pl_in(m, 1);
    window w;
    int n;
    if (!x || !at) return false;
    PL_TRY(read_window(m, &x->shape, NULL, &w));
    pl_shape to = x->shape, flat = PL_SHAPE(x->shape.dim[0], x->shape.dim[1], 1), planes = flat;
    for (int i = 0; i < w.n; i++) {
        to.dim[2 + i] = (x->shape.dim[2 + i] - 1) * w.stride[i] + w.kernel[i] - w.lo[i] - w.hi[i];
        if (to.dim[2 + i] < 1 || to.dim[2 + i] > PL_MOST_SIZE / planes.dim[2])
            return pl_map_fail(m, "dimension %d becomes %lld", 2 + i, (long long)to.dim[2 + i]);
        flat.dim[2] *= x->shape.dim[2 + i], planes.dim[2] *= to.dim[2 + i];
    }
    at = PL_EACH(m, &pl_op_mod, "", at, pl_constant(m, at->type, (double)planes.dim[2]));
    x = pl_shaped(m, x, &flat), at = pl_shaped(m, at, &flat);
    const char *spec = pl_arena_fmt(m->a, "nck,nck->nce; e=%lld", (long long)planes.dim[2]);
    pl_value *y = x && at ? PL_ADD(m->b, &pl_op_topk_grad, spec, at, x) : NULL;
    y = pl_shaped(m, y, &to);
    if (pl_has(m, 2)) {
        const int64_t *want = pl_in_ints(m, 2, PL_MAX_RANK, &n);
        if (!want || n != to.rank) return want && pl_map_fail(m, "output_shape has %d numbers", n);
        for (int i = 2; i < to.rank; i++)
            y = pl_padded(m, y, i, 0, want[i] - to.dim[i], 0, "constant");
    }
    pl_out(m, 0, y);
    return true;
}

/* x / (bias + alpha mean of squares)^beta, the mean over `size` channels around each; those that
 * are not there count as 0. */
bool pl_map_lrn(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    const int64_t size = pl_attr_int(m, "size", 0);
    if (!x) return false;
    if (size < 1 || size > MOST_STEP || x->shape.rank < 2)
        return pl_map_fail(m, "size %lld of %s", (long long)size,
                           pl_shape_text(m->a, x->type, &x->shape));
    pl_value *s = PL_ADD(m->b, &pl_op_mul, NULL, x, x);
    s = pl_padded(m, s, 1, (size - 1) / 2, size / 2, 0, "constant");
    const char *rest = pl_letters(m, 2, x->shape.rank - 2);
    const char *spec = pl_arena_fmt(m->a, "n[y+r]%s->ny%s; r=%lld", rest, rest, (long long)size);
    s = pl_scaled(m, s ? PL_ADD(m->b, &pl_op_avg_pool, spec, s) : NULL,
                  pl_attr_real(m, "alpha", 1e-4));
    if (!s) return false;
    s = PL_EACH(m, &pl_op_add, "", s, pl_constant(m, s->type, pl_attr_real(m, "bias", 1)));
    s = PL_EACH(m, &pl_op_pow, "", s, pl_constant(m, x->type, -pl_attr_real(m, "beta", 0.75)));
    pl_out(m, 0, PL_EACH(m, &pl_op_mul, "", x, s));
    return true;
}

/* -- columns ----------------------------------------------------------------------------------- */

/* The columns' positions, as the image's size and the windows have them. */
static bool read_columns(pl_import *m, window *w, int64_t extent[], pl_shape *columns)
{
    int n, n_block;
    const int64_t *image = pl_in_ints(m, 1, MOST_WINDOWS, &n);
    const int64_t *block = pl_in_ints(m, 2, MOST_WINDOWS, &n_block);
    if (!image || !block) return false;
    if (n < 1 || n != n_block) return pl_map_fail(m, "%d and %d sizes", n, n_block);
    pl_shape s = { 2 + n, { 1, 1 } };
    memcpy(s.dim + 2, image, (size_t)n * sizeof *image);
    PL_TRY(read_window(m, &s, block, w));
    *columns = (pl_shape){ 2 + n, { 0 } };
    for (int i = 0; i < n; i++) {
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        extent[i] = image[i] + w->lo[i] + w->hi[i];
        if (image[i] < 1 || w->kernel[i] < 1 || reach > extent[i])
            return pl_map_fail(m, "a block of %lld in %lld", (long long)reach,
                               (long long)extent[i]);
        columns->dim[2 + i] = (extent[i] - reach) / w->stride[i] + 1;
    }
    return true;
}

/* A transposed convolution, whose weights put element o of a column at tap o. */
bool pl_map_col2im(pl_import *m)
{
    window w;
    int64_t extent[MOST_WINDOWS], taps = 1;
    pl_shape s;
    pl_value *x = pl_in(m, 0);
    if (!x) return false;
    PL_TRY(read_columns(m, &w, extent, &s));
    const window cut = w;
    pl_shape kernel = { 1 + w.n, { 0 } };
    for (int i = 0; i < w.n; i++) {
        taps *= kernel.dim[1 + i] = w.kernel[i];
        w.lo[i] = 0;
    }
    if (x->shape.rank != 3 || taps > 256 || x->shape.dim[1] % taps)
        return pl_map_refuse(m, "columns of %lld in blocks of %lld; at most 256 are supported",
                             (long long)x->shape.dim[1], (long long)taps);
    s.dim[0] = x->shape.dim[0], s.dim[1] = x->shape.dim[1], kernel.dim[0] = taps;
    float *one = PL_NEW_N(m->a, float, taps *taps);
    for (int64_t i = 0; i < taps; i++) one[i * taps + i] = 1;
    const char *yx = pl_arena_span(m->a, position, (size_t)w.n),
               *rs = pl_arena_span(m->a, tap, (size_t)w.n);
    const char *spec = pl_arena_fmt(
        m->a, "n(go)%s,o%s->ng%s%s%s g=%lld", yx, rs, windows_text(m, &w), window_attrs(m, &w),
        numbers(m, "extent", extent, w.n), (long long)(x->shape.dim[1] / taps));
    pl_value *k = pl_cast_to(m, pl_table(m, PL_F32, &kernel, one), x->type);
    x = pl_shaped(m, x, &s);
    pl_value *y = x && k ? PL_ADD(m->b, &pl_op_conv2d_grad_data, spec, x, k) : NULL;
    for (int i = 0; i < w.n && y; i++)
        y = pl_sliced(m, y, 2 + i, cut.lo[i], extent[i] - cut.lo[i] - cut.hi[i]);
    pl_out(m, 0, y);
    return true;
}

/* Over all but the first two dimensions. */
static pl_value *global(pl_import *m, const struct pl_op *op, double *count)
{
    pl_value *x = pl_in(m, 0);
    unsigned axes = 0;
    *count = 1;
    for (int i = 2; x && i < x->shape.rank; i++) {
        axes |= 1u << i;
        *count *= (double)x->shape.dim[i];
    }
    return pl_reduced(m, op, x, axes, true);
}

bool pl_map_global_average_pool(pl_import *m)
{
    double n;
    pl_value *sum = global(m, &pl_op_reduce_sum, &n);
    pl_out(m, 0, pl_scaled(m, sum, 1 / n));
    return true;
}

bool pl_map_global_max_pool(pl_import *m)
{
    double n;
    pl_out(m, 0, global(m, &pl_op_reduce_max, &n));
    return true;
}
