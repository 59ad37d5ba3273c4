/* Mappings of sequences: lists of tensors whose length is known, of which nodes pick, add and join
 * parts at known places. */
#include "import/map.h"

#include <string.h>

enum { MOST_PARTS = 4096 };

/* -- parts joined ------------------------------------------------------------------------------ */

/* Rows of known parts of one shape, as one constant of another. */
static bool join_known(pl_import *m, int k, const pl_item part[], int n, bool stack)
{
    const pl_tensor *first = part[0].constant;
    const int64_t each = first ? pl_shape_count(&first->shape) : 0;
    pl_shape to = { 1, { n } };
    if (!each || first->shape.rank + stack > PL_MAX_RANK) return false;
    for (int i = 0; i < n; i++)
        if (!pl_item_known(&part[i]) || part[i].constant->type != first->type ||
            !pl_shape_same(&part[i].constant->shape, &first->shape))
            return false;
    if (!stack) to.dim[0] = n * first->shape.dim[0];
    for (int i = !stack; i < first->shape.rank; i++) to.dim[to.rank++] = first->shape.dim[i];
    char *data = pl_arena_get(m->a, (size_t)(each * n), (size_t)pl_type_bytes(first->type));
    for (int i = 0; i < n; i++)
        pl_tensor_convert(part[i].constant, part[i].constant->data, each,
                          data + i * each * pl_type_bytes(first->type));
    pl_out_constant(m, k, first->type, &to, data);
    return true;
}

bool pl_out_stacked(pl_import *m, int k, pl_item part[], int n, int axis, bool stack)
{
    const bool whole = stack || (part[0].constant && part[0].constant->shape.rank);
    if (axis == 0 && whole && join_known(m, k, part, n, stack)) return true;
    pl_value **x = PL_NEW_N(m->a, pl_value *, n + 1);
    for (int i = 0; i < n; i++) {
        x[i] = pl_item_value(m, &part[i]);
        if (x[i] && stack) x[i] = pl_unsqueezed(m, x[i], axis);
        if (!x[i]) return false;
        if (x[i]->shape.rank != x[0]->shape.rank)
            return pl_map_fail(m, "part %d has %d dimensions, part 0 has %d", i, x[i]->shape.rank,
                               x[0]->shape.rank);
    }
    pl_out(m, k, pl_joined(m, x, n, axis));
    return true;
}

bool pl_map_concat_from_sequence(pl_import *m)
{
    int axis;
    const bool stack = pl_attr_int(m, "new_axis", 0);
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    pl_item *x = m->in[0];
    if (!x->n_parts) return pl_map_refuse(m, "the sequence is empty");
    const int rank = pl_item_shape(&x->part[0])->rank;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), rank + stack, &axis));
    return pl_out_stacked(m, 0, x->part, x->n_parts, axis, stack);
}

/* -- sequences made ---------------------------------------------------------------------------- */

/* A sequence of n parts, of which the caller fills what it adds. */
static pl_item *out_sequence(pl_import *m, int n)
{
    if (n > MOST_PARTS) {
        pl_map_refuse(m, "a sequence of %d parts; the most is %d", n, MOST_PARTS);
        return NULL;
    }
    m->out[0].part = PL_NEW_N(m->a, pl_item, n + 1);
    m->out[0].n_parts = n;
    return m->out[0].part;
}

/* A tensor as a part: a constant stays one, all else gets its value now. */
static bool take_part(pl_import *m, int k, pl_item *part)
{
    if (!pl_has(m, k)) return pl_map_fail(m, "input %d is missing", k);
    if (m->in[k]->part) return pl_map_refuse(m, "a sequence of sequences");
    if (!pl_item_known(m->in[k]) && !pl_in(m, k)) return false;
    *part = *m->in[k];
    return true;
}

bool pl_map_sequence_construct(pl_import *m)
{
    if (m->trial) return false;
    pl_item *part = out_sequence(m, m->n_in);
    for (int k = 0; part && k < m->n_in; k++) PL_TRY(take_part(m, k, &part[k]));
    return part != NULL;
}

/* The place among n parts that input k says, from the end if it is negative, up to `most`; or the
 * usual one. */
static bool read_place(pl_import *m, int k, int n, int most, int usual, int64_t *at)
{
    *at = usual;
    if (pl_has(m, k)) PL_TRY(pl_in_int(m, k, at));
    if (*at < 0) *at += n;
    return (*at >= 0 && *at <= most) ||
           pl_map_fail(m, "place %lld in a sequence of %d", (long long)*at, n);
}

bool pl_map_sequence_insert(pl_import *m)
{
    int64_t at;
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    const int n = m->in[0]->n_parts;
    PL_TRY(read_place(m, 2, n, n, n, &at));
    pl_item *part = out_sequence(m, n + 1);
    if (!part) return false;
    memcpy(part, m->in[0]->part, (size_t)at * sizeof *part);
    memcpy(part + at + 1, m->in[0]->part + at, (size_t)(n - at) * sizeof *part);
    return take_part(m, 1, &part[at]);
}

bool pl_map_sequence_erase(pl_import *m)
{
    int64_t at;
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    const int n = m->in[0]->n_parts;
    PL_TRY(read_place(m, 1, n, n - 1, n - 1, &at));
    pl_item *part = out_sequence(m, n - 1);
    if (!part) return false;
    memcpy(part, m->in[0]->part, (size_t)at * sizeof *part);
    memcpy(part + at, m->in[0]->part + at + 1, (size_t)(n - 1 - at) * sizeof *part);
    return true;
}

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
    pl_item *part = out_sequence(m, n);
    for (int64_t i = 0, at = 0; part && i < n; at += sizes[i++]) {
        if (sizes[i] < 0 || sizes[i] > whole - at)
            return pl_map_fail(m, "part %lld has %lld of %lld", (long long)i, (long long)sizes[i],
                               (long long)whole);
        if (!sizes[i]) {
            part[i].constant = pl_empty(m, x, axis);
            continue;
        }
        pl_value *y = pl_sliced(m, x, axis, at, sizes[i]);
        part[i].value = drop ? pl_squeezed(m, y, axis) : y;
        if (!part[i].value) return false;
    }
    return part != NULL;
}

/* -- sequences read ---------------------------------------------------------------------------- */

bool pl_map_sequence_at(pl_import *m)
{
    int64_t at;
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    if (!pl_has(m, 1)) return pl_map_fail(m, "input 1 is missing");
    PL_TRY(read_place(m, 1, m->in[0]->n_parts, m->in[0]->n_parts - 1, 0, &at));
    pl_out_item(m, 0, &m->in[0]->part[at]);
    return true;
}

bool pl_map_sequence_length(pl_import *m)
{
    const pl_shape scalar = { 0, { 0 } };
    if (!pl_has(m, 0) || !m->in[0]->part) return pl_map_refuse(m, "input 0 is no known sequence");
    int64_t *n = PL_NEW(m->a, int64_t);
    *n = m->in[0]->n_parts;
    pl_out_constant(m, 0, PL_I64, &scalar, n);
    return true;
}
