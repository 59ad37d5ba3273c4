/* Mappings of nodes whose inputs have to be known: sizes that follow from data, or shapes without
 * elements, which a graph does not have. */
#include "import/map.h"

#include <string.h>

static const void *elements(pl_import *m, int k)
{
    const pl_tensor *t = m->in[k]->constant;
    void *to =
        pl_arena_get(m->a, (size_t)pl_shape_count(&t->shape) + 1, (size_t)pl_type_bytes(t->type));
    pl_tensor_convert(t, t->data, pl_shape_count(&t->shape), to);
    return to;
}

/* -- slices ------------------------------------------------------------------------------------ */

int64_t pl_slice_count(int64_t whole, int64_t step, int64_t *from, int64_t to)
{
    const int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? whole : whole - 1;
    if (*from < 0) *from += whole;
    if (to < 0) to = to < -whole ? lo : to + whole;
    *from = *from < lo ? lo : *from > hi ? hi : *from;
    to = to < lo ? lo : to > hi ? hi : to;
    const int64_t n = step > 0 ? (to - *from + step - 1) / step : (*from - to - step - 1) / -step;
    return n > 0 ? n : 0;
}

/* Every `step`-th of a dimension, n of them: rows of `inner` bytes. */
static const char *pick(pl_import *m, const char *x, pl_shape *s, int dim, int64_t from, int64_t n,
                        int64_t step, size_t bytes)
{
    int64_t outer = 1;
    for (int i = 0; i < dim; i++) outer *= s->dim[i];
    for (int i = dim + 1; i < s->rank; i++) bytes *= (size_t)s->dim[i];
    char *y = pl_arena_get(m->a, (size_t)(outer * n) + 1, bytes + 1), *to = y;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++, to += bytes)
            memcpy(to, x + (size_t)(o * s->dim[dim] + from + i * step) * bytes, bytes);
    s->dim[dim] = n;
    return y;
}

bool pl_known_slice(pl_import *m, const int64_t from[], const int64_t to[], const int64_t axes[],
                    const int64_t steps[], int n)
{
    const pl_tensor *t = m->in[0]->constant;
    const char *x = elements(m, 0);
    pl_shape s = t->shape;
    for (int i = 0; i < n; i++) {
        int axis;
        const int64_t step = steps ? steps[i] : 1;
        int64_t at = from[i];
        PL_TRY(pl_axis(m, axes ? axes[i] : i, s.rank, &axis));
        if (!step || step < -INT32_MAX || step > INT32_MAX)
            return pl_map_fail(m, "step %lld", (long long)step);
        const int64_t count = pl_slice_count(s.dim[axis], step, &at, to[i]);
        x = pick(m, x, &s, axis, at, count, step, (size_t)pl_type_bytes(t->type));
    }
    pl_out_constant(m, 0, t->type, &s, x);
    return true;
}

/* -- scattering -------------------------------------------------------------------------------- */

/* Where row i of the indices points, in rows; -1: nowhere. */
static int64_t place(const int64_t *ids, int64_t k, const pl_shape *s)
{
    int64_t at = 0;
    for (int64_t i = 0; i < k; i++) {
        const int64_t id = ids[i] < 0 ? ids[i] + s->dim[i] : ids[i];
        if (id < 0 || id >= s->dim[i]) return -1;
        at = at * s->dim[i] + id;
    }
    return at;
}

bool pl_known_scatter_nd(pl_import *m)
{
    int n_ids;
    const pl_tensor *t = m->in[0]->constant, *ids = m->in[1]->constant, *by = m->in[2]->constant;
    const int rank = ids->shape.rank;
    const int64_t k = rank ? ids->shape.dim[rank - 1] : 0, *at = pl_in_ints(m, 1, 1 << 20, &n_ids);
    if (!at) return false;
    if (k < 1 || k > t->shape.rank || t->type != by->type)
        return pl_map_fail(m, "%lld indices of %d dimensions", (long long)k, t->shape.rank);
    int64_t row = 1;
    for (int i = (int)k; i < t->shape.rank; i++) row *= t->shape.dim[i];
    if (pl_shape_count(&by->shape) != n_ids / k * row)
        return pl_map_fail(m, "%lld updates of %lld elements are %s", (long long)(n_ids / k),
                           (long long)row, pl_shape_text(m->a, by->type, &by->shape));
    const size_t bytes = (size_t)row * (size_t)pl_type_bytes(t->type);
    const char *from = elements(m, 2);
    char *to = pl_arena_get(m->a, (size_t)pl_shape_count(&t->shape) + 1, 8);
    memcpy(to, elements(m, 0), (size_t)pl_shape_count(&t->shape) * (size_t)pl_type_bytes(t->type));
    for (int64_t i = 0; i < n_ids / k; i++) {
        const int64_t where = place(at + i * k, k, &t->shape);
        if (where < 0) return pl_map_fail(m, "index %lld is outside", (long long)i);
        memcpy(to + (size_t)where * bytes, from + (size_t)i * bytes, bytes);
    }
    pl_out_constant(m, 0, t->type, &t->shape, to);
    return true;
}

/* -- places that are not 0 --------------------------------------------------------------------- */

bool pl_map_non_zero(pl_import *m)
{
    if (!pl_has(m, 0) || !pl_item_known(m->in[0]))
        return pl_map_refuse(m, "its size follows from the data");
    const pl_tensor *t = m->in[0]->constant;
    const int64_t count = pl_shape_count(&t->shape);
    int64_t n = 0, stride[PL_MAX_RANK];
    for (int64_t i = 0; i < count; i++) n += pl_tensor_get(t, i) < 0 || pl_tensor_get(t, i) > 0;
    int64_t *out = PL_NEW_N(m->a, int64_t, n * t->shape.rank + 1), k = 0;
    pl_shape_strides(&t->shape, stride);
    for (int64_t i = 0; i < count; i++) {
        if (!(pl_tensor_get(t, i) < 0) && !(pl_tensor_get(t, i) > 0)) continue;
        for (int d = 0; d < t->shape.rank; d++) out[d * n + k] = i / stride[d] % t->shape.dim[d];
        k++;
    }
    pl_out_constant(m, 0, PL_I64, &PL_SHAPE(t->shape.rank, n), out);
    return true;
}
