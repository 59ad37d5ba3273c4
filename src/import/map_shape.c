/* Mappings of operators that give tensors another shape, and of shapes as tensors. */
#include "import/map.h"

#include "ops/list.h"

#include <math.h>
#include <string.h>

/* -- views ------------------------------------------------------------------------------------- */

/* PyTorch's TorchScript exporter keeps one of the weights that are equal, and gives it the others'
 * names. Fresh biases and scales, of one value, are so by chance: each is a weight of its own. */
static void name_weight(pl_import *m, const pl_item *x)
{
    double first;
    const pl_tensor *t = x->constant;
    if (!t || m->onnx->origins.list || t->shape.rank != 1 || !pl_weight_is_uniform(t, &first))
        return;
    pl_item *y = &m->out[0];
    y->value = NULL; /* it comes to be where it is read, so that equal blocks look equal */
    y->label = y->name;
}

/* pleat_export.py marks what PyTorch detaches. */
static bool is_detached(const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < n->n_metadata_props; i++)
        if (n->metadata_props[i]->key && !strcmp(n->metadata_props[i]->key, "pleat.detached"))
            return true;
    return false;
}

bool pl_map_identity(pl_import *m)
{
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    pl_item *x = m->in[0];
    if (m->trial) {
        pl_out(m, 0, x->value);
        return true;
    }
    if (is_detached(m->node) && !pl_item_known(x)) {
        pl_value *v = pl_in(m, 0);
        pl_out(m, 0, v ? PL_ADD(m->b, &pl_op_detach, NULL, v) : NULL);
        return !m->b->err.code;
    }
    pl_out_item(m, 0, x);
    if (x->trains) name_weight(m, x);
    if (x->trains && m->out[0].label == x->label) m->out[0].value = pl_item_value(m, x);
    return !m->b->err.code;
}

/* Would a reshape to `to`, whose dimension `open` follows (-1: none does), have the elements of
 * `from` if dimension i had another size? */
static bool would_fit(const pl_shape *from, const pl_shape *to, int64_t open, int i, int64_t size)
{
    const double have = (double)pl_shape_count(from);
    double want = 1;
    for (int k = 0; k < to->rank; k++)
        if (k != open) want *= (double)(k == i ? size : to->dim[k]);
    if (i == open || to->dim[i] == size || want < 1 || want > have) return false;
    return open < 0 ? have <= want : fmod(have, want) <= 0;
}

/* A wanted size that may be what a symbol of the file was when it was made; dimensions that have
 * the symbol's size now come first. */
static const char *find_baked(pl_import *m, const pl_shape *from, const pl_shape *to, int64_t open)
{
    for (int any = 0; any < 2; any++)
        for (int k = 0; k < m->options->n_binds; k++)
            for (int i = 0; i < to->rank; i++) {
                const pl_onnx_bind *b = &m->options->bind[k];
                const bool there = i < from->rank && from->dim[i] == b->size;
                if ((!any && !there) || !would_fit(from, to, open, i, b->size)) continue;
                return pl_arena_fmt(m->a,
                                    "; %lld may be what '%s' was at export: give that size, or "
                                    "export the module with one that is computed from its inputs",
                                    (long long)to->dim[i], b->symbol);
            }
    return "";
}

bool pl_map_reshape(pl_import *m)
{
    int n;
    const int64_t *want = pl_in_ints(m, 1, PL_MAX_RANK, &n);
    pl_value *x = pl_in(m, 0);
    if (!want || !x) return false;
    const bool zeros = pl_attr_int(m, "allowzero", 0);
    pl_shape to = { n, { 0 } };
    int64_t known = 1, open = -1;
    for (int i = 0; i < n; i++) {
        if (want[i] == -1 && open >= 0) return pl_map_fail(m, "two sizes are -1");
        if (want[i] < -1) return pl_map_fail(m, "size %lld", (long long)want[i]);
        if (want[i] == 0 && !zeros && i >= x->shape.rank)
            return pl_map_fail(m, "size 0 at %d keeps a dimension of only %d", i, x->shape.rank);
        to.dim[i] = want[i] == 0 && !zeros ? x->shape.dim[i] : want[i];
        if (want[i] == -1) {
            open = i;
            continue;
        }
        if (to.dim[i] && known > (INT64_MAX >> 4) / to.dim[i])
            return pl_map_fail(m, "sizes multiply to more than 2^59");
        known *= to.dim[i];
    }
    if (open >= 0 && known) to.dim[open] = pl_shape_count(&x->shape) / known;
    if (pl_shape_count(&x->shape) != pl_shape_count(&to) && pl_shape_count(&to) && !m->trial)
        return pl_map_fail(m, "%s does not have as many elements as %s%s",
                           pl_shape_text(m->a, x->type, &x->shape),
                           pl_shape_text(m->a, x->type, &to), find_baked(m, &x->shape, &to, open));
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}

bool pl_map_flatten(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    if (!x) return false;
    int64_t axis = pl_attr_int(m, "axis", 1), rows = 1;
    if (axis < 0) axis += x->shape.rank;
    if (axis < 0 || axis > x->shape.rank)
        return pl_map_fail(m, "axis %lld of %d dimensions", (long long)axis, x->shape.rank);
    for (int i = 0; i < axis; i++) rows *= x->shape.dim[i];
    const pl_shape to = PL_SHAPE(rows, rows ? pl_shape_count(&x->shape) / rows : 0);
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}

bool pl_map_squeeze(pl_import *m)
{
    const int64_t *axes;
    int n, axis;
    pl_value *x = pl_in(m, 0);
    PL_TRY(pl_ints_of(m, 1, "axes", PL_MAX_RANK, &axes, &n));
    if (!x) return false;
    unsigned drop = 0;
    for (int i = 0; i < n; i++) {
        PL_TRY(pl_axis(m, axes[i], x->shape.rank, &axis));
        if (x->shape.dim[axis] != 1)
            return pl_map_fail(m, "dimension %d is %lld, not 1", axis,
                               (long long)x->shape.dim[axis]);
        drop |= 1u << axis;
    }
    pl_shape to = PL_SCALAR;
    for (int i = 0; i < x->shape.rank; i++)
        if (n < 0 ? x->shape.dim[i] != 1 : !(drop >> i & 1)) to.dim[to.rank++] = x->shape.dim[i];
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}

bool pl_map_unsqueeze(pl_import *m)
{
    const int64_t *axes;
    int n, axis, next = 0;
    unsigned ones = 0;
    pl_value *x = pl_in(m, 0);
    PL_TRY(pl_ints_of(m, 1, "axes", PL_MAX_RANK, &axes, &n));
    if (!x) return false;
    if (n < 0) return pl_map_fail(m, "no axes");
    pl_shape to = { x->shape.rank + n, { 0 } };
    if (to.rank > PL_MAX_RANK) return pl_map_refuse(m, "more than %d dimensions", PL_MAX_RANK);
    for (int i = 0; i < n; i++) {
        PL_TRY(pl_axis(m, axes[i], to.rank, &axis));
        if (ones >> axis & 1) return pl_map_fail(m, "axis %d is given twice", axis);
        ones |= 1u << axis;
    }
    for (int i = 0; i < to.rank; i++) to.dim[i] = ones >> i & 1 ? 1 : x->shape.dim[next++];
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}

bool pl_map_transpose(pl_import *m)
{
    int n = 0, order[PL_MAX_RANK];
    unsigned seen = 0;
    pl_value *x = pl_in(m, 0);
    const int64_t *perm = pl_attr_ints(m, "perm", &n);
    if (!x) return false;
    const int rank = x->shape.rank;
    if (perm && n != rank) return pl_map_fail(m, "perm has %d of %d dimensions", n, rank);
    for (int i = 0; i < rank; i++) {
        if (perm) PL_TRY(pl_axis(m, perm[i], rank, &order[i]));
        if (!perm) order[i] = rank - 1 - i;
        if (seen >> order[i] & 1) return pl_map_fail(m, "perm has %d twice", order[i]);
        seen |= 1u << order[i];
    }
    pl_out(m, 0, pl_transposed(m, x, order));
    return true;
}

/* -- shapes as values -------------------------------------------------------------------------- */

bool pl_map_shape(pl_import *m)
{
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    const pl_shape *s = pl_item_shape(m->in[0]);
    int64_t from = pl_attr_int(m, "start", 0), to = pl_attr_int(m, "end", s->rank);
    if (from < 0) from += s->rank;
    if (to < 0) to += s->rank;
    from = from < 0 ? 0 : from > s->rank ? s->rank : from;
    to = to < from ? from : to > s->rank ? s->rank : to;
    int64_t *dims = PL_NEW_N(m->a, int64_t, PL_MAX_RANK);
    memcpy(dims, s->dim + from, (size_t)(to - from) * sizeof *dims);
    pl_out_constant(m, 0, PL_I64, &PL_SHAPE(to - from), dims);
    return true;
}

bool pl_map_size(pl_import *m)
{
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    int64_t *n = PL_NEW(m->a, int64_t);
    *n = pl_shape_count(pl_item_shape(m->in[0]));
    pl_out_constant(m, 0, PL_I64, &PL_SCALAR, n);
    return true;
}

static bool constant_list(pl_import *m, const Onnx__AttributeProto *x)
{
    const bool whole = !strcmp(x->name, "value_ints");
    const int64_t n = (int64_t)(whole ? x->n_ints : x->n_floats);
    if (!n) /* known all the same: the shape of a scalar */
        pl_out_constant(m, 0, whole ? PL_I64 : PL_F32, &PL_SHAPE(0), "");
    else if (whole)
        pl_out_constant(m, 0, PL_I64, &PL_SHAPE(n), x->ints);
    else
        pl_out_constant(m, 0, PL_F32, &PL_SHAPE(n), x->floats);
    return true;
}

bool pl_map_constant(pl_import *m)
{
    const Onnx__AttributeProto *x = m->node->n_attribute ? m->node->attribute[0] : NULL;
    if (!x || !x->name) return pl_map_fail(m, "no value");
    if (!strcmp(x->name, "value_int"))
        pl_out_constant(m, 0, PL_I64, &PL_SCALAR, &x->i);
    else if (!strcmp(x->name, "value_float"))
        pl_out_constant(m, 0, PL_F32, &PL_SCALAR, &x->f);
    else if (!strcmp(x->name, "value_ints") || !strcmp(x->name, "value_floats"))
        return constant_list(m, x);
    else if (strcmp(x->name, "value") != 0 || !x->t)
        return pl_map_refuse(m, "a constant given as %s", x->name);
    if (!x->t || strcmp(x->name, "value") != 0) return true;
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    PL_TRY(pl_tensor_read(x->t, m->node->output[0], m->a, t, &m->b->err));
    if (x->t->data_location) return pl_map_refuse(m, "external data in a node");
    if (!t->data) return pl_map_fail(m, "no data");
    m->out[0].constant = t;
    return true;
}

/* A tensor that repeats one element, as small constant or node. */
static bool out_filled(pl_import *m, pl_type type, double x, const pl_shape *s)
{
    bool empty = false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0) return pl_map_fail(m, "size %lld", (long long)s->dim[i]);
        empty |= !s->dim[i];
    }
    if (empty)
        pl_out_constant(m, 0, type, s, "");
    else
        pl_out(m, 0, pl_filled(m, type, x, s));
    return true;
}

bool pl_map_constant_of_shape(pl_import *m)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, "value");
    pl_tensor t = { .type = PL_F32 };
    pl_shape s = PL_SCALAR;
    const int64_t *want = pl_in_ints(m, 0, PL_MAX_RANK, &s.rank);
    if (!want) return false;
    memcpy(s.dim, want, (size_t)s.rank * sizeof *want);
    if (x && x->t) {
        PL_TRY(pl_tensor_read(x->t, "value", m->a, &t, &m->b->err));
        if (!t.data || pl_shape_count(&t.shape) != 1)
            return pl_map_fail(m, "value is not one element");
    }
    return out_filled(m, t.type, t.data ? pl_tensor_get(&t, 0) : 0, &s);
}

bool pl_map_eye_like(pl_import *m)
{
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    const pl_shape *s = pl_item_shape(m->in[0]);
    const pl_stored *to = pl_stored_find((int)pl_attr_int(m, "dtype", 0));
    const pl_type type = to ? to->type : pl_item_type(m->in[0]);
    const int64_t k = pl_attr_int(m, "k", 0);
    if (s->rank != 2) return pl_map_fail(m, "of %d dimensions", s->rank);
    if (!to && pl_attr_find(m, "dtype")) return pl_map_refuse(m, "of that type");
    if (pl_shape_count(s) > PL_MOST_LISTED)
        return pl_map_refuse(m, "%lld elements: at most %d are kept", (long long)pl_shape_count(s),
                             PL_MOST_LISTED);
    char *data = pl_arena_get(m->a, (size_t)pl_shape_count(s) + 1, (size_t)pl_type_bytes(type));
    for (int64_t i = 0; i < pl_shape_count(s); i++)
        pl_type_put(type, data, i, i % s->dim[1] - i / s->dim[1] == k);
    pl_out_constant(m, 0, type, s, data);
    return true;
}

bool pl_map_range(pl_import *m)
{
    double from, to, by;
    PL_TRY(pl_in_real(m, 0, &from));
    PL_TRY(pl_in_real(m, 1, &to));
    PL_TRY(pl_in_real(m, 2, &by));
    double n = (to - from) / by;
    if (!(n < PL_MOST_LISTED + 1))
        return pl_map_refuse(m, "%g elements: at most %d are kept", n, PL_MOST_LISTED);
    const int64_t count = n > 0 ? (int64_t)n + (n > (double)(int64_t)n) : 0;
    const pl_type type = pl_item_type(m->in[0]);
    char *data = pl_arena_get(m->a, (size_t)count + 1, (size_t)pl_type_bytes(type));
    for (int64_t i = 0; i < count; i++) pl_type_put(type, data, i, from + (double)i * by);
    pl_out_constant(m, 0, type, &PL_SHAPE(count), data);
    return true;
}

bool pl_map_expand(pl_import *m)
{
    int n;
    const int64_t *want = pl_in_ints(m, 1, PL_MAX_RANK, &n);
    pl_value *x = pl_in(m, 0);
    if (!want || !x) return false;
    pl_shape s = { n, { 0 } }, to;
    for (int i = 0; i < n; i++) {
        if (want[i] < 1) return pl_map_fail(m, "size %lld", (long long)want[i]);
        s.dim[i] = want[i];
    }
    PL_TRY(pl_common_shape(m, 2, (const pl_shape *const[]){ &x->shape, &s }, &to));
    pl_out(m, 0, pl_expanded(m, x, &to));
    return true;
}

/* Each dimension in turn: put one before it, repeat that, join the two. */
bool pl_map_tile(pl_import *m)
{
    int n;
    const int64_t *times = pl_in_ints(m, 1, PL_MAX_RANK, &n);
    pl_value *x = pl_in(m, 0);
    if (!times || !x) return false;
    if (n != x->shape.rank) return pl_map_fail(m, "%d repeats of %d dimensions", n, x->shape.rank);
    for (int i = 0; i < n && x; i++) {
        if (times[i] < 1) return pl_map_fail(m, "%lld repeats", (long long)times[i]);
        if (times[i] == 1) continue;
        pl_shape joined = x->shape;
        if (__builtin_mul_overflow(joined.dim[i], times[i], &joined.dim[i]))
            return pl_map_fail(m, "%lld repeats", (long long)times[i]);
        x = pl_unsqueezed(m, x, i);
        if (!x) break;
        pl_shape wide = x->shape;
        wide.dim[i] = times[i];
        x = pl_shaped(m, pl_expanded(m, x, &wide), &joined);
    }
    pl_out(m, 0, x);
    return true;
}
