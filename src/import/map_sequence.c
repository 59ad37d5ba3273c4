/* Mappings of sequences: a tensor cut into parts, of which nodes pick one by a known index. */
#include "import/map.h"

enum { MOST_PARTS = 4096 };

/* Sizes of the parts: as listed, equal ones and a rest, or 1 each. */
static const int64_t *read_sizes(pl_import *m, int64_t whole, int *n)
{
    int64_t each = 1;
    if (pl_has(m, 1) && pl_item_shape(m->in[1])->rank > 0) return pl_in_ints(m, 1, MOST_PARTS, n);
    if (pl_has(m, 1)) {
        const int64_t *size = pl_in_ints(m, 1, 1, n);
        if (!size) return NULL;
        each = *size;
    }
    if (each < 1 || (whole + each - 1) / each > MOST_PARTS) {
        pl_map_refuse(m, "parts of %lld of %lld", (long long)each, (long long)whole);
        return NULL;
    }
    *n = (int)((whole + each - 1) / each);
    int64_t *sizes = PL_NEW_N(m->a, int64_t, *n + 1);
    for (int i = 0; i < *n; i++) sizes[i] = i + 1 < *n ? each : whole - i * each;
    return sizes;
}

bool pl_map_split_to_sequence(pl_import *m)
{
    int axis, n;
    pl_value *x = pl_in(m, 0);
    if (!x || m->trial) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), x->shape.rank, &axis));
    const int64_t *sizes = read_sizes(m, x->shape.dim[axis], &n), whole = x->shape.dim[axis];
    if (!sizes) return false;
    const bool drop = !pl_has(m, 1) && !pl_attr_int(m, "keepdims", 1);
    m->out[0].part = PL_NEW_N(m->a, pl_value *, n + 1);
    m->out[0].n_parts = n;
    for (int64_t i = 0, at = 0; i < n; at += sizes[i++]) {
        if (sizes[i] < 1 || sizes[i] > whole - at)
            return pl_map_fail(m, "part %lld has %lld of %lld", (long long)i, (long long)sizes[i],
                               (long long)whole);
        pl_value *y = pl_sliced(m, x, axis, at, sizes[i]);
        m->out[0].part[i] = drop ? pl_squeezed(m, y, axis) : y;
    }
    return true;
}

bool pl_map_sequence_at(pl_import *m)
{
    int n;
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    const int64_t *at = pl_in_ints(m, 1, 1, &n);
    if (!at || n != 1) return pl_map_refuse(m, "the place has to be one constant");
    const int64_t i = *at < 0 ? *at + m->in[0]->n_parts : *at;
    if (i < 0 || i >= m->in[0]->n_parts)
        return pl_map_fail(m, "place %lld of %d", (long long)*at, m->in[0]->n_parts);
    pl_out(m, 0, m->in[0]->part[i]);
    return true;
}
