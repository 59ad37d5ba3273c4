/* Mappings of operators that pick elements by index or place. */
#include "import/map.h"

#include "ops/list.h"

#include <math.h>
#include <string.h>

/* -- indices ----------------------------------------------------------------------------------- */

/* Input k, whose negative elements count from the end of n. */
static pl_value *wrapped(pl_import *m, int k, int64_t n)
{
    pl_value *x = pl_in(m, k);
    if (!x) return NULL;
    pl_value *negative = PL_EACH(m, &pl_op_less, "", x, pl_constant(m, x->type, 0));
    pl_value *from_end = PL_EACH(m, &pl_op_add, "", x, pl_constant(m, x->type, (double)n));
    return PL_EACH(m, &pl_op_where, "", negative, from_end, x);
}

/* The same where they are known: checked, and a constant again. */
static pl_value *checked(pl_import *m, int k, int64_t n)
{
    int count;
    const int64_t *at = pl_in_ints(m, k, PL_MOST_LISTED, &count);
    if (!at) return NULL;
    bool negative = false;
    for (int i = 0; i < count; i++) {
        negative |= at[i] < 0;
        if (at[i] < -n || at[i] >= n) {
            pl_map_fail(m, "index %lld of %lld", (long long)at[i], (long long)n);
            return NULL;
        }
    }
    return negative ? wrapped(m, k, n) : pl_in(m, k);
}

pl_value *pl_indices(pl_import *m, int k, int64_t n)
{
    return pl_item_known(m->in[k]) ? checked(m, k, n) : wrapped(m, k, n);
}

/* [at, at + count) when that is what the known indices say. */
static bool is_range(pl_import *m, int k, int64_t n, int64_t *from, int64_t *count)
{
    int listed;
    const pl_shape *s = pl_item_shape(m->in[k]);
    if (!pl_item_known(m->in[k]) || s->rank > 1 || !pl_shape_count(s)) return false;
    const int64_t *at = pl_in_ints(m, k, PL_MOST_LISTED, &listed);
    for (int i = 0; at && i < listed; i++)
        if (at[i] < -n || at[i] >= n || at[i] != at[0] + i || (at[i] < 0) != (at[0] < 0))
            return false;
    *from = at ? at[0] < 0 ? at[0] + n : at[0] : 0;
    *count = listed;
    return at != NULL;
}

bool pl_map_gather(pl_import *m)
{
    int axis;
    int64_t from, count;
    pl_value *x = pl_in(m, 0);
    if (!x || !pl_has(m, 1)) return pl_map_fail(m, "an input is missing");
    const pl_shape *s = pl_item_shape(m->in[1]);
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), x->shape.rank, &axis));
    const int64_t n = x->shape.dim[axis];
    if (is_range(m, 1, n, &from, &count)) {
        x = pl_sliced(m, x, axis, from, count);
        pl_out(m, 0, s->rank ? x : pl_squeezed(m, x, axis));
        return true;
    }
    /* ids of a table of weights are not negative */
    const bool table = m->in[0]->trains && !pl_item_known(m->in[1]);
    pl_value *ids = table ? pl_in(m, 1) : pl_indices(m, 1, n);
    if (!ids) return false;
    const char *before = pl_letters(m, 0, axis);
    const char *after = pl_letters(m, axis + 1, x->shape.rank - axis - 1);
    pl_text rows = { .arena = m->a };
    for (int i = 0; i < s->rank; i++) pl_text_add(&rows, "%c", 'k' + i);
    const char *spec = pl_arena_fmt(m->a, "%sv%s,%s->%s%s%s", before, after, pl_text_get(&rows),
                                    before, pl_text_get(&rows), after);
    pl_out(m, 0, PL_ADD(m->b, &pl_op_embedding, spec, x, ids));
    return true;
}

/* Tuples of indices of the first dimensions, in the last dimension of the ids, as indices of these
 * dimensions made one. */
pl_value *pl_flat_indices(pl_import *m, const pl_value *x, pl_value *ids, int k, int64_t *rows)
{
    pl_value *flat = NULL;
    const int last = ids->shape.rank - 1;
    *rows = 1;
    for (int i = k; i-- > 0;) {
        const int64_t n = x->shape.dim[i];
        pl_value *at = pl_squeezed(m, pl_sliced(m, ids, last, i, 1), last);
        if (!at) return NULL;
        pl_value *below = PL_EACH(m, &pl_op_less, "", at, pl_constant(m, at->type, 0));
        pl_value *from_end = PL_EACH(m, &pl_op_add, "", at, pl_constant(m, at->type, (double)n));
        at = PL_EACH(m, &pl_op_where, "", below, from_end, at);
        if (*rows > 1)
            at = PL_EACH(m, &pl_op_mul, "", at, pl_constant(m, ids->type, (double)*rows));
        flat = flat ? PL_EACH(m, &pl_op_add, "", flat, at) : at;
        *rows *= n;
    }
    return flat;
}

/* The first dimensions, made one, are of both: each of its elements looks up in its own. */
static bool gather_batches(pl_import *m, pl_value *x, pl_value *ids)
{
    const int64_t n = pl_attr_int(m, "batch_dims", 0);
    const int last = ids->shape.rank - 1, rank = x->shape.rank;
    const int64_t k = last >= 0 ? ids->shape.dim[last] : 0;
    if (n < 1 || n > last || k < 1 || k > rank - n)
        return pl_map_fail(m, "%lld batch dimensions, %lld indices of %d", (long long)n,
                           (long long)k, rank);
    pl_shape to = { last, { 0 } }, rows = { 3, { 1, 1, 1 } };
    memcpy(to.dim, ids->shape.dim, (size_t)last * sizeof *to.dim);
    for (int i = 0; i < n; i++) {
        if (x->shape.dim[i] != ids->shape.dim[i])
            return pl_map_fail(m, "batches of %lld and %lld", (long long)x->shape.dim[i],
                               (long long)ids->shape.dim[i]);
        rows.dim[0] *= x->shape.dim[i];
    }
    for (int i = (int)(n + k); i < rank; i++) {
        if (to.rank == PL_MAX_RANK) return pl_map_refuse(m, "more than %d dimensions", PL_MAX_RANK);
        rows.dim[2] *= to.dim[to.rank++] = x->shape.dim[i];
    }
    pl_value one = { .shape = { rank - (int)n, { 0 } } };
    memcpy(one.shape.dim, x->shape.dim + n, (size_t)(rank - n) * sizeof *one.shape.dim);
    const int64_t each = pl_shape_count(&ids->shape) / k / rows.dim[0];
    ids = pl_flat_indices(m, &one, ids, (int)k, &rows.dim[1]);
    ids = pl_shaped(m, ids, &PL_SHAPE(rows.dim[0], each));
    x = pl_shaped(m, x, &rows);
    x = x && ids ? PL_ADD(m->b, &pl_op_gather_elements, "neh,nk->nkh", x, ids) : NULL;
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}

bool pl_map_gather_nd(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *ids = pl_in(m, 1);
    if (!x || !ids) return false;
    if (pl_attr_int(m, "batch_dims", 0)) return gather_batches(m, x, ids);
    const int last = ids->shape.rank - 1, rank = x->shape.rank;
    const int64_t k = last >= 0 ? ids->shape.dim[last] : 0;
    if (k < 1 || k > rank)
        return pl_map_fail(m, "%lld indices of %d dimensions", (long long)k, rank);
    pl_shape rows = { rank - (int)k + 1, { 0 } };
    ids = pl_flat_indices(m, x, ids, (int)k, &rows.dim[0]);
    memcpy(rows.dim + 1, x->shape.dim + k, (size_t)(rank - k) * sizeof *rows.dim);
    x = pl_shaped(m, x, &rows);
    if (!x || !ids) return false;
    pl_text at = { .arena = m->a };
    for (int i = 0; i < last; i++) pl_text_add(&at, "%c", 'k' + i);
    const char *rest = pl_letters(m, 0, rank - (int)k);
    const char *spec =
        pl_arena_fmt(m->a, "v%s,%s->%s%s", rest, pl_text_get(&at), pl_text_get(&at), rest);
    pl_out(m, 0, PL_ADD(m->b, &pl_op_embedding, spec, x, ids));
    return true;
}

/* "ABCD" with letter c in place of dimension `axis`. */
const char *pl_letters_with(pl_import *m, int rank, int axis, char c)
{
    char *text = pl_arena_text(m->a, pl_letters(m, 0, rank));
    text[axis] = c;
    return text;
}

/* Where the indices are fewer along other dimensions, so is what they pick from. */
bool pl_map_gather_elements(pl_import *m)
{
    int axis;
    pl_value *x = pl_in(m, 0);
    if (!x || !pl_has(m, 1)) return pl_map_fail(m, "an input is missing");
    const pl_shape *s = pl_item_shape(m->in[1]);
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), x->shape.rank, &axis));
    if (s->rank != x->shape.rank)
        return pl_map_fail(m, "%d and %d dimensions", s->rank, x->shape.rank);
    pl_value *ids = pl_indices(m, 1, x->shape.dim[axis]);
    for (int i = 0; i < s->rank && x; i++)
        if (i != axis) x = pl_sliced(m, x, i, 0, s->dim[i]);
    if (!x || !ids) return false;
    const char *to = pl_letters_with(m, s->rank, axis, 'k');
    const char *spec =
        pl_arena_fmt(m->a, "%s,%s->%s", pl_letters_with(m, s->rank, axis, 'e'), to, to);
    pl_out(m, 0, PL_ADD(m->b, &pl_op_gather_elements, spec, x, ids));
    return true;
}

bool pl_map_one_hot(pl_import *m)
{
    int64_t depth;
    int axis;
    if (!pl_has(m, 0) || !pl_has(m, 2)) return pl_map_fail(m, "an input is missing");
    PL_TRY(pl_in_int(m, 1, &depth));
    const pl_tensor *values = m->in[2]->constant;
    if (!pl_item_known(m->in[2]) || pl_shape_count(&values->shape) != 2)
        return pl_map_refuse(m, "input 2 has to be two constants");
    const int rank = pl_item_shape(m->in[0])->rank;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", -1), rank + 1, &axis));
    pl_value *ids = pl_cast_to(m, wrapped(m, 0, depth), PL_I64);
    if (!ids) return false;
    const char *spec = pl_arena_fmt(
        m->a, "%s->%sv%s; v=%lld off=%.17g on=%.17g to=%s", pl_letters(m, 0, rank),
        pl_letters(m, 0, axis), pl_letters(m, axis, rank - axis), (long long)depth,
        pl_tensor_get(values, 0), pl_tensor_get(values, 1), pl_type_name(values->type));
    pl_out(m, 0, PL_ADD(m->b, &pl_op_one_hot, spec, ids));
    return true;
}

static bool arg(pl_import *m, bool least)
{
    int axis;
    pl_value *x = pl_in(m, 0);
    if (!x) return false;
    const int rank = x->shape.rank;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), rank, &axis));
    const char *from = pl_letters_with(m, rank, axis, 'v');
    const char *to = pl_arena_fmt(m->a, "%s%s", pl_letters(m, 0, axis),
                                  pl_letters(m, axis + 1, rank - axis - 1));
    x = PL_ADD(m->b, &pl_op_argmax,
               pl_arena_fmt(m->a, "%s->%s; least=%d last=%d", from, to, least,
                            pl_attr_int(m, "select_last_index", 0) != 0),
               x);
    pl_out(m, 0, pl_attr_int(m, "keepdims", 1) ? pl_unsqueezed(m, x, axis) : x);
    return true;
}

bool pl_map_arg_max(pl_import *m)
{
    return arg(m, false);
}

bool pl_map_arg_min(pl_import *m)
{
    return arg(m, true);
}

bool pl_map_top_k(pl_import *m)
{
    int64_t k = pl_attr_int(m, "k", 0);
    int axis;
    pl_value *x = pl_in(m, 0);
    if (pl_has(m, 1)) PL_TRY(pl_in_int(m, 1, &k));
    if (!x) return false;
    const int rank = x->shape.rank;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", -1), rank, &axis));
    const bool least = !pl_attr_int(m, "largest", 1);
    if (!pl_type_is_float(x->type)) return pl_map_refuse(m, "of whole numbers");
    const char *to = pl_letters_with(m, rank, axis, 'k');
    const char *spec = pl_arena_fmt(m->a, "%s->%s,%s; k=%lld", pl_letters_with(m, rank, axis, 'e'),
                                    to, to, (long long)k);
    if (least) x = pl_scaled(m, x, -1);
    pl_node *n = x ? pl_add_node(m->b, &pl_op_topk, NULL, spec, 1, &x) : NULL;
    if (!n) return false;
    pl_out(m, 0, least ? pl_scaled(m, n->out[0], -1) : n->out[0]);
    pl_out(m, 1, pl_cast_to(m, n->out[1], PL_I64));
    return true;
}

/* -- places ------------------------------------------------------------------------------------ */

bool pl_map_cum_sum(pl_import *m)
{
    int64_t at;
    int axis;
    pl_value *x = pl_in(m, 0);
    PL_TRY(pl_in_int(m, 1, &at));
    if (!x) return false;
    PL_TRY(pl_axis(m, at, x->shape.rank, &axis));
    const char *letters = pl_letters_with(m, x->shape.rank, axis, 'v');
    const char *spec =
        pl_arena_fmt(m->a, "%s->%s; exclusive=%d reverse=%d", letters, letters,
                     pl_attr_int(m, "exclusive", 0) != 0, pl_attr_int(m, "reverse", 0) != 0);
    pl_out(m, 0, PL_ADD(m->b, &pl_op_cumsum, spec, x));
    return true;
}

bool pl_map_trilu(pl_import *m)
{
    int64_t k = 0;
    pl_value *x = pl_in(m, 0);
    if (pl_has(m, 1)) PL_TRY(pl_in_int(m, 1, &k));
    if (!x) return false;
    pl_out(m, 0,
           PL_ADD(m->b, &pl_op_trilu,
                  pl_arena_fmt(m->a, "; upper=%d diagonal=%lld", pl_attr_int(m, "upper", 1) != 0,
                               (long long)k),
                  x));
    return true;
}

pl_value *pl_padded(pl_import *m, pl_value *x, int dim, int64_t lo, int64_t hi, double value,
                    const char *mode)
{
    if (!x) return NULL;
    if (lo < 0 || hi < 0) {
        const int64_t from = lo < 0 ? -lo : 0, left = x->shape.dim[dim] - from + (hi < 0 ? hi : 0);
        if (left < 1) {
            pl_map_fail(m, "pads leave %lld elements", (long long)left);
            return NULL;
        }
        x = pl_sliced(m, x, dim, from, left);
        lo = lo < 0 ? 0 : lo, hi = hi < 0 ? 0 : hi;
    }
    if (!x || (!lo && !hi)) return x;
    const char *from = pl_letters_with(m, x->shape.rank, dim, 'u');
    return PL_ADD(m->b, &pl_op_pad,
                  pl_arena_fmt(m->a, "%s->%s; lo=%lld hi=%lld value=%.17g mode=%s", from,
                               pl_letters_with(m, x->shape.rank, dim, 'v'), (long long)lo,
                               (long long)hi, value, mode),
                  x);
}

bool pl_map_pad(pl_import *m)
{
    const int64_t *pads, *axes = NULL;
    int n, n_axes = -1, axis;
    double value;
    pl_value *x = pl_in(m, 0);
    const char *mode = pl_attr_text(m, "mode", "constant");
    PL_TRY(pl_ints_of(m, 1, "pads", 2 * PL_MAX_RANK, &pads, &n));
    PL_TRY(pl_real_of(m, 2, "value", 0, &value));
    if (pl_has(m, 3)) PL_TRY((axes = pl_in_ints(m, 3, PL_MAX_RANK, &n_axes)) != NULL);
    if (!x) return false;
    const int count = n_axes >= 0 ? n_axes : x->shape.rank;
    if (n != 2 * count) return pl_map_fail(m, "%d pads for %d dimensions", n, count);
    for (int i = 0; i < count && x; i++) {
        PL_TRY(pl_axis(m, axes ? axes[i] : i, x->shape.rank, &axis));
        x = pl_padded(m, x, axis, pads[i], pads[count + i], value, mode);
    }
    pl_out(m, 0, x);
    return true;
}

/* -- resizing ---------------------------------------------------------------------------------- */

typedef struct resizing {
    int n; /* numbers given */
    const int64_t *sizes;
    const pl_tensor *scales;
    const int64_t *axes; /* NULL: all */
    double aspect;       /* the scale of all sizes; 0: each has its own */
    const char *mode, *coords, *round;
    const char *more; /* attributes that pass as they are */
} resizing;

static pl_value *resize_dim(pl_import *m, pl_value *x, const resizing *r, int i, int dim)
{
    const double was = (double)x->shape.dim[dim];
    const double scale = r->scales       ? pl_tensor_get(r->scales, i)
                         : r->aspect > 0 ? r->aspect
                                         : (double)r->sizes[i] / was;
    if (!(was * scale < 0x1p40) || (!r->scales && r->sizes[i] < 1) || (float)(was * scale) < 1) {
        pl_map_fail(m, "dimension %d of %g is scaled by %g", dim, was, scale);
        return NULL;
    }
    const int64_t size = r->scales ? (int64_t)(float)(was * scale) : r->sizes[i]; /* as of f32 */
    if (size == x->shape.dim[dim] && !(scale < 1) && !(scale > 1)) return x;
    pl_text spec = { .arena = m->a };
    pl_text_add(&spec, "%s->%s; v=%lld mode=%s coords=%s round=%s%s",
                pl_letters_with(m, x->shape.rank, dim, 'u'),
                pl_letters_with(m, x->shape.rank, dim, 'v'), (long long)size, r->mode, r->coords,
                r->round, r->more);
    if (r->scales || r->aspect > 0) pl_text_add(&spec, " scale=%.17g", scale);
    return PL_ADD(m->b, &pl_op_resize, pl_text_get(&spec), x);
}

static bool resize(pl_import *m, pl_value *x, const resizing *r)
{
    int axis;
    if (!x) return false;
    if (r->n != x->shape.rank && !r->axes)
        return pl_map_fail(m, "%d sizes or scales of %d dimensions", r->n, x->shape.rank);
    for (int i = 0; i < r->n && x; i++) {
        PL_TRY(pl_axis(m, r->axes ? r->axes[i] : i, x->shape.rank, &axis));
        x = resize_dim(m, x, r, i, axis);
    }
    pl_out(m, 0, x);
    return true;
}

static bool take_scales(pl_import *m, int k, resizing *r)
{
    if (!pl_item_known(m->in[k])) return pl_map_refuse(m, "scales have to be constants");
    r->scales = m->in[k]->constant;
    r->n = (int)pl_shape_count(&r->scales->shape);
    return true;
}

/* All sizes by one scale, so that the largest or the smallest is as asked for. */
static bool keep_aspect(pl_import *m, resizing *r, const pl_shape *x)
{
    const char *policy = pl_attr_text(m, "keep_aspect_ratio_policy", "stretch");
    const bool smallest = !strcmp(policy, "not_larger");
    int64_t *sizes = PL_NEW_N(m->a, int64_t, r->n + 1);
    int axis;
    if (!strcmp(policy, "stretch")) return true;
    for (int i = 0; i < r->n; i++) {
        PL_TRY(pl_axis(m, r->axes ? r->axes[i] : i, x->rank, &axis));
        const double scale = (double)r->sizes[i] / (double)x->dim[axis];
        if (!i || (smallest ? scale < r->aspect : scale > r->aspect)) r->aspect = scale;
    }
    for (int i = 0; i < r->n; i++) {
        PL_TRY(pl_axis(m, r->axes ? r->axes[i] : i, x->rank, &axis));
        sizes[i] = (int64_t)fmin(r->aspect * (double)x->dim[axis] + 0.5, (double)PL_MOST_SIZE);
    }
    r->sizes = sizes;
    return true;
}

bool pl_map_resize(pl_import *m)
{
    if (m->onnx->file.opset < 11) return pl_map_upsample(m);
    resizing r = { .mode = pl_attr_text(m, "mode", "nearest"),
                   .coords = pl_attr_text(m, "coordinate_transformation_mode", "half_pixel"),
                   .round = pl_attr_text(m, "nearest_mode", "round_prefer_floor") };
    int n_axes = 0;
    r.more = pl_arena_fmt(
        m->a, " coeff=%.17g antialias=%d exclude=%d", pl_attr_real(m, "cubic_coeff_a", -0.75),
        pl_attr_int(m, "antialias", 0) != 0, pl_attr_int(m, "exclude_outside", 0) != 0);
    const bool scales = pl_has(m, 2) && pl_shape_count(pl_item_shape(m->in[2])) > 0;
    r.axes = pl_attr_ints(m, "axes", &n_axes);
    if (!strcmp(r.coords, "tf_crop_and_resize")) return pl_map_refuse(m, "tf_crop_and_resize");
    if (scales)
        PL_TRY(take_scales(m, 2, &r));
    else
        PL_TRY((r.sizes = pl_in_ints(m, 3, PL_MAX_RANK, &r.n)) != NULL);
    if (r.axes && n_axes != r.n) return pl_map_fail(m, "%d axes, %d sizes", n_axes, r.n);
    pl_value *x = pl_in(m, 0);
    if (!scales && x) PL_TRY(keep_aspect(m, &r, &x->shape));
    return resize(m, x, &r);
}

/* Until opset 9; Resize of opset 10 is the same. */
bool pl_map_upsample(pl_import *m)
{
    resizing r = { .mode = pl_attr_text(m, "mode", "nearest"),
                   .coords = "asymmetric",
                   .round = "floor",
                   .more = "" };
    const Onnx__AttributeProto *given = pl_attr_find(m, "scales");
    pl_tensor scales;
    if (pl_has(m, 1)) {
        PL_TRY(take_scales(m, 1, &r));
    } else {
        if (!given) return pl_map_fail(m, "no scales");
        scales = pl_tensor_of(PL_F32, &PL_SHAPE((int64_t)given->n_floats), given->floats);
        r.scales = &scales, r.n = (int)given->n_floats;
    }
    return resize(m, pl_in(m, 0), &r);
}
