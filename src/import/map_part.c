/* Mappings of operators that join tensors or cut them. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

enum { MOST_BLOCK = 1024 };

/* Nine at a time. */
pl_value *pl_joined(pl_import *m, pl_value *const x[], int n, int axis)
{
    pl_value *some[9];
    const int most = 9;
    if (n == 1) return x[0];
    int took = n < most ? n : most;
    pl_text spec = { .arena = m->a };
    for (int k = 0; k < took; k++) {
        if (!x[k]) return NULL;
        some[k] = x[k];
        pl_text_add(&spec, "%s", k ? "," : "");
        for (int i = 0; i < x[k]->shape.rank; i++)
            pl_text_add(&spec, "%c", i == axis ? (char)('k' + k) : pl_letter(i));
    }
    pl_text_add(&spec, "->");
    for (int i = 0; i < x[0]->shape.rank; i++)
        pl_text_add(&spec, "%c", i == axis ? 'v' : pl_letter(i));
    pl_value *joined = pl_add_value(m->b, &pl_op_concat, NULL, pl_text_get(&spec), took, some);
    if (took == n || !joined) return joined;
    pl_value **rest = PL_NEW_N(m->a, pl_value *, n);
    rest[0] = joined;
    memcpy(rest + 1, x + took, (size_t)(n - took) * sizeof *rest);
    return pl_joined(m, rest, n - took + 1, axis);
}

bool pl_map_concat(pl_import *m)
{
    pl_value **x = PL_NEW_N(m->a, pl_value *, m->n_in + 1);
    int axis, n = 0;
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), pl_item_shape(m->in[0])->rank, &axis));
    for (int k = 0; k < m->n_in; k++) {
        if (!pl_has(m, k)) return pl_map_fail(m, "input %d is missing", k);
        const pl_shape *s = pl_item_shape(m->in[k]);
        if (s->rank != pl_item_shape(m->in[0])->rank)
            return pl_map_fail(m, "input %d has %d dimensions, input 0 has %d", k, s->rank,
                               pl_item_shape(m->in[0])->rank);
        if (pl_shape_count(s)) x[n++] = pl_in(m, k); /* PyTorch joins empty ones too */
    }
    if (n == 0) return pl_map_identity(m);
    pl_out(m, 0, pl_joined(m, x, n, axis));
    return true;
}

pl_tensor *pl_empty(pl_import *m, const pl_value *x, int axis)
{
    pl_shape s = x->shape;
    s.dim[axis] = 0;
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    *t = pl_tensor_of(x->type, &s, "");
    return t;
}

bool pl_map_split(pl_import *m)
{
    const int64_t *sizes;
    int n, axis, parts = (int)m->node->n_output;
    pl_value *x = pl_in(m, 0);
    PL_TRY(pl_ints_of(m, 1, "split", 4096, &sizes, &n));
    if (!x) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", 0), x->shape.rank, &axis));
    if (n >= 0 && n != parts) return pl_map_fail(m, "%d sizes for %d outputs", n, parts);
    const int64_t whole = x->shape.dim[axis], each = (whole + parts - 1) / parts;
    for (int64_t k = 0, at = 0; k < parts; k++) {
        int64_t size = n >= 0 ? sizes[k] : k + 1 < parts ? each : whole - at;
        if (size < 0 || size > whole - at)
            return pl_map_fail(m, "output %lld has %lld of %lld", (long long)k, (long long)size,
                               (long long)whole);
        if (size)
            pl_out(m, (int)k, pl_sliced(m, x, axis, at, size));
        else
            m->out[k].constant = pl_empty(m, x, axis);
        at += size;
    }
    return true;
}

/* Every `step`-th from `at` on, n of them: [at, at + n step) as n rows of step, of which the first.
 * A range that would end beyond the dimension is n - 1 rows and one more. */
static pl_value *strided(pl_import *m, pl_value *x, int dim, int64_t at, int64_t n, int64_t step)
{
    if (step == 1 || !x) return pl_sliced(m, x, dim, at, n);
    const int64_t whole = x->shape.dim[dim], rows = at + n * step <= whole ? n : n - 1;
    pl_value *part[2] = { NULL, NULL };
    int k = 0;
    if (rows) {
        pl_value *y = pl_sliced(m, x, dim, at, rows * step);
        if (!y) return NULL;
        y = pl_unsqueezed(m, y, dim + 1);
        if (!y) return NULL;
        pl_shape two = y->shape;
        two.dim[dim] = rows, two.dim[dim + 1] = step;
        part[k++] = pl_squeezed(m, pl_sliced(m, pl_shaped(m, y, &two), dim + 1, 0, 1), dim + 1);
    }
    if (rows < n) part[k++] = pl_sliced(m, x, dim, at + rows * step, 1);
    return pl_joined(m, part, k, dim);
}

static pl_value *flipped(pl_import *m, pl_value *x, int dim)
{
    if (!x) return NULL;
    char *letters = pl_arena_text(m->a, pl_letters(m, 0, x->shape.rank));
    letters[dim] = 'v';
    return PL_ADD(m->b, &pl_op_flip, pl_arena_fmt(m->a, "%s->%s", letters, letters), x);
}

/* from, from + step, ... of a dimension, n of them; those of a negative step end to start. */
static pl_value *stepped(pl_import *m, pl_value *x, int dim, int64_t from, int64_t n, int64_t step)
{
    if (step > 0) return strided(m, x, dim, from, n, step);
    return flipped(m, strided(m, x, dim, from + (n - 1) * step, n, -step), dim);
}

static bool check_counts(pl_import *m, int n, int n_to, int n_axes, int n_steps)
{
    return (n >= 0 && n_to == n && (n_axes < 0 || n_axes == n) && (n_steps < 0 || n_steps == n)) ||
           pl_map_fail(m, "%d starts, %d ends, %d axes, %d steps", n, n_to, n_axes, n_steps);
}

bool pl_map_slice(pl_import *m)
{
    const int64_t *from, *to, *axes, *steps = NULL;
    int n, n_to, n_axes, n_steps = -1;
    PL_TRY(pl_ints_of(m, 1, "starts", PL_MAX_RANK, &from, &n));
    PL_TRY(pl_ints_of(m, 2, "ends", PL_MAX_RANK, &to, &n_to));
    PL_TRY(pl_ints_of(m, 3, "axes", PL_MAX_RANK, &axes, &n_axes));
    if (pl_has(m, 4)) PL_TRY((steps = pl_in_ints(m, 4, PL_MAX_RANK, &n_steps)) != NULL);
    PL_TRY(check_counts(m, n, n_to, n_axes, n_steps));
    if (pl_has(m, 0) && pl_item_known(m->in[0]))
        return pl_known_slice(m, from, to, n_axes >= 0 ? axes : NULL, steps, n);
    pl_value *x = pl_in(m, 0);
    for (int i = 0; i < n && x; i++) {
        int axis;
        int64_t at = from[i], count = 0;
        PL_TRY(pl_axis(m, n_axes >= 0 ? axes[i] : i, x->shape.rank, &axis));
        const int64_t step = n_steps >= 0 ? steps[i] : 1;
        if (!step || step < -INT32_MAX || step > INT32_MAX)
            return pl_map_fail(m, "step %lld", (long long)step);
        count = pl_slice_count(x->shape.dim[axis], step, &at, to[i]);
        if (!count) {
            m->out[0].constant = pl_empty(m, x, axis);
            return true;
        }
        x = stepped(m, x, axis, at, count, step);
    }
    pl_out(m, 0, x);
    return true;
}

bool pl_map_space_to_depth(pl_import *m)
{
    static const int order[] = { 0, 3, 5, 1, 2, 4 };
    pl_value *x = pl_in(m, 0);
    const int64_t k = pl_attr_int(m, "blocksize", 1);
    if (!x) return false;
    const int64_t *d = x->shape.dim;
    if (x->shape.rank != 4 || k < 1 || k > MOST_BLOCK || d[2] % k || d[3] % k)
        return pl_map_fail(m, "blocksize %lld of %s", (long long)k,
                           pl_shape_text(m->a, x->type, &x->shape));
    const pl_shape to = PL_SHAPE(d[0], d[1] * k * k, d[2] / k, d[3] / k);
    x = pl_shaped(m, x, &PL_SHAPE(d[0], d[1], d[2] / k, k, d[3] / k, k));
    pl_out(m, 0, pl_shaped(m, pl_transposed(m, x, order), &to));
    return true;
}

bool pl_map_depth_to_space(pl_import *m)
{
    static const int depth_first[] = { 0, 3, 4, 1, 5, 2 }, column_first[] = { 0, 1, 4, 2, 5, 3 };
    pl_value *x = pl_in(m, 0);
    const int64_t k = pl_attr_int(m, "blocksize", 1);
    if (!x) return false;
    const int64_t *d = x->shape.dim;
    if (x->shape.rank != 4 || k < 1 || k > MOST_BLOCK || d[1] % (k * k))
        return pl_map_fail(m, "blocksize %lld of %s", (long long)k,
                           pl_shape_text(m->a, x->type, &x->shape));
    const bool columns = !strcmp(pl_attr_text(m, "mode", "DCR"), "CRD");
    const int64_t c = d[1] / (k * k);
    const pl_shape to = PL_SHAPE(d[0], c, d[2] * k, d[3] * k);
    const pl_shape parts =
        columns ? PL_SHAPE(d[0], c, k, k, d[2], d[3]) : PL_SHAPE(d[0], k, k, c, d[2], d[3]);
    x = pl_transposed(m, pl_shaped(m, x, &parts), columns ? column_first : depth_first);
    pl_out(m, 0, pl_shaped(m, x, &to));
    return true;
}
