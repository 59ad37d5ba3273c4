/* Mappings of operators that put updates at places of a tensor. Where the places are known and make
 * a block, as for x[:, 2:5] = u in a model's code, nothing is looked up: the block is cut out and
 * the rest joined with what takes its place. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

/* -- a block ----------------------------------------------------------------------------------- */

typedef struct block {
    int rank; /* dimensions that are cut, the first ones */
    int64_t lo[PL_MAX_RANK], n[PL_MAX_RANK];
} block;

/* What is at one place, and what comes to it. */
static pl_value *combined(pl_import *m, const char *how, pl_value *x, pl_value *u)
{
    if (!strcmp(how, "add")) return PL_EACH(m, &pl_op_add, "", x, u);
    if (!strcmp(how, "mul")) return PL_EACH(m, &pl_op_mul, "", x, u);
    if (!strcmp(how, "max")) return PL_EACH(m, &pl_op_maximum, "", x, u);
    if (!strcmp(how, "min")) return PL_EACH(m, &pl_op_minimum, "", x, u);
    return u;
}

/* x with u, of the block's sizes, in the block. */
static pl_value *replaced(pl_import *m, pl_value *x, pl_value *u, const block *b, int dim,
                          const char *how)
{
    if (!x || !u) return NULL;
    if (dim == b->rank) return combined(m, how, x, u);
    const int64_t lo = b->lo[dim], end = lo + b->n[dim], whole = x->shape.dim[dim];
    pl_value *part[3];
    int n = 0;
    if (lo) part[n++] = pl_sliced(m, x, dim, 0, lo);
    part[n++] = replaced(m, pl_sliced(m, x, dim, lo, b->n[dim]), u, b, dim + 1, how);
    if (end < whole) part[n++] = pl_sliced(m, x, dim, end, whole - end);
    for (int i = 0; i < n; i++)
        if (!part[i]) return NULL;
    return pl_joined(m, part, n, dim);
}

/* The index that tuple i of a block has in dimension d. */
static int64_t index_in(const block *b, int64_t i, int d)
{
    for (int k = b->rank - 1; k > d; k--) i /= b->n[k];
    return b->lo[d] + i % b->n[d];
}

/* Do n known tuples of k indices go through a block of x, in its order? */
static bool find_block(const int64_t *at, int64_t n, int k, const pl_shape *x, block *b)
{
    int64_t count = 1;
    *b = (block){ .rank = k };
    for (int d = 0; d < k; d++) {
        const int64_t first = at[d], last = at[(n - 1) * k + d];
        b->lo[d] = first < 0 ? first + x->dim[d] : first;
        b->n[d] = last - first + 1;
        if (b->n[d] < 1 || b->lo[d] < 0 || b->lo[d] + b->n[d] > x->dim[d]) return false;
        count *= b->n[d];
    }
    if (count != n) return false;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < k; d++) {
            const int64_t id = at[i * k + d];
            if (index_in(b, i, d) != (id < 0 ? id + x->dim[d] : id)) return false;
        }
    return true;
}

/* -- ScatterND --------------------------------------------------------------------------------- */

enum { MOST_IDS = 1 << 22 };

static bool put_block(pl_import *m, pl_value *x, pl_value *u, const block *b, const char *how)
{
    pl_shape s = { b->rank, { 0 } };
    memcpy(s.dim, b->n, sizeof s.dim);
    for (int i = b->rank; i < x->shape.rank; i++) s.dim[s.rank++] = x->shape.dim[i];
    pl_out(m, 0, replaced(m, x, pl_shaped(m, u, &s), b, 0, how));
    return true;
}

/* The indexed dimensions as one, 'e', which the ids 'k' look up; the others pass. */
static pl_value *put_rows(pl_import *m, pl_value *x, pl_value *u, int k, const char *how)
{
    const pl_shape was = x->shape;
    pl_value *ids = pl_in(m, 1);
    pl_shape rows = { was.rank - k + 1, { 0 } }, updates = rows;
    if (!ids) return NULL;
    updates.dim[0] = pl_shape_count(&ids->shape) / k;
    ids = pl_shaped(m, pl_flat_indices(m, x, ids, k, &rows.dim[0]), &PL_SHAPE(updates.dim[0]));
    for (int i = k; i < was.rank; i++) rows.dim[i - k + 1] = updates.dim[i - k + 1] = was.dim[i];
    x = pl_shaped(m, x, &rows), u = pl_shaped(m, u, &updates);
    const char *rest = pl_letters(m, 0, was.rank - k);
    const char *spec = pl_arena_fmt(m->a, "e%s,k,k%s->e%s; how=%s", rest, rest, rest, how);
    if (!x || !u || !ids) return NULL;
    return pl_shaped(m, PL_ADD(m->b, &pl_op_scatter, spec, x, ids, u), &was);
}

bool pl_map_scatter_nd(pl_import *m)
{
    const char *how = pl_attr_text(m, "reduction", "none");
    bool known = !strcmp(how, "none");
    for (int k = 0; k < 3; k++) {
        if (!pl_has(m, k)) return pl_map_fail(m, "input %d is missing", k);
        known &= pl_item_known(m->in[k]);
    }
    if (known) return pl_known_scatter_nd(m);
    const pl_shape *s = pl_item_shape(m->in[1]);
    if (!pl_shape_count(s)) return pl_map_identity(m); /* nothing is put */
    pl_value *x = pl_in(m, 0), *u = pl_in(m, 2);
    if (!x || !u) return false;
    const int64_t k = s->rank ? s->dim[s->rank - 1] : 0;
    if (k < 1 || k > x->shape.rank)
        return pl_map_fail(m, "%lld indices of %d dimensions", (long long)k, x->shape.rank);
    if (pl_item_known(m->in[1]) && pl_shape_count(s) <= MOST_IDS) {
        int n;
        block b;
        const int64_t *at = pl_in_ints(m, 1, MOST_IDS, &n);
        if (at && find_block(at, n / k, (int)k, &x->shape, &b)) return put_block(m, x, u, &b, how);
    }
    pl_out(m, 0, put_rows(m, x, u, (int)k, how));
    return true;
}

/* -- ScatterElements --------------------------------------------------------------------------- */

/* Does the known index of each element follow from its place along the axis alone, one after the
 * other? Then it puts a block. */
static bool is_shifted(pl_import *m, const pl_shape *s, int axis, int64_t whole, int64_t *lo)
{
    int n;
    int64_t stride[PL_MAX_RANK];
    if (!pl_item_known(m->in[1]) || pl_shape_count(s) > MOST_IDS) return false;
    const int64_t *at = pl_in_ints(m, 1, MOST_IDS, &n);
    if (!at) return false;
    pl_shape_strides(s, stride);
    *lo = at[0] < 0 ? at[0] + whole : at[0];
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = at[i] < 0 ? at[i] + whole : at[i];
        if (id != *lo + i / stride[axis] % s->dim[axis]) return false;
    }
    return *lo >= 0 && *lo + s->dim[axis] <= whole;
}

/* Where the indices are fewer along other dimensions, all happens within a block of x. */
bool pl_map_scatter_elements(pl_import *m)
{
    const char *how = pl_attr_text(m, "reduction", "none");
    int axis;
    if (!pl_has(m, 1)) return pl_map_fail(m, "input 1 is missing");
    const pl_shape s = *pl_item_shape(m->in[1]);
    if (!pl_shape_count(&s)) return pl_map_identity(m); /* nothing is put */
    pl_value *x = pl_in(m, 0), *u = pl_in(m, 2);
    if (!x || !u) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), x->shape.rank, &axis));
    if (s.rank != x->shape.rank || !pl_shape_same(&s, &u->shape))
        return pl_map_fail(m, "indices and updates differ in shape, or have not %d dimensions",
                           x->shape.rank);
    block b = { .rank = s.rank };
    memcpy(b.n, s.dim, sizeof b.n);
    if (is_shifted(m, &s, axis, x->shape.dim[axis], &b.lo[axis])) {
        pl_out(m, 0, replaced(m, x, u, &b, 0, how));
        return true;
    }
    pl_value *ids = pl_indices(m, 1, x->shape.dim[axis]), *part = x;
    b.n[axis] = x->shape.dim[axis], b.lo[axis] = 0;
    for (int i = 0; i < s.rank; i++) part = pl_sliced(m, part, i, 0, b.n[i]);
    const char *to = pl_letters_with(m, s.rank, axis, 'e'),
               *by = pl_letters_with(m, s.rank, axis, 'k');
    const char *spec = pl_arena_fmt(m->a, "%s,%s,%s->%s; how=%s", to, by, by, to, how);
    if (!part || !ids) return false;
    pl_out(m, 0, replaced(m, x, PL_ADD(m->b, &pl_op_scatter, spec, part, ids, u), &b, 0, "none"));
    return true;
}
