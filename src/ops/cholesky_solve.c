/* cholesky_solve(l, y): x with x l l^T = y, row by row, for the lower triangle l that cholesky
 * makes: "hg,...h->...g". Sums are taken in double. Rows split freely; h and g are whole. */
#include "graph/op.h"
#include "ops/lib/triangle.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return 2.0 * (double)(pl_shape_count(pl_share_out(s, 0)) * s->shape[0].dim[0]);
}

static double dot(pl_type t, const void *l, int64_t from, int64_t step, const double *z, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += pl_type_get(t, l, from + k * step) * z[k];
    return sum;
}

/* l z = y from the first element on, then l^T x = z from the last one on; rounded at the end. */
static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_type t = s->node->out[0]->type;
    const void *l = in[0];
    const int64_t n = s->shape[0].dim[0], count = pl_shape_count(pl_share_out(s, 0));
    pl_arena *tmp = pl_arena_new("cholesky_solve");
    double *z = PL_NEW_N(tmp, double, n + 1);
    for (int64_t row = 0; row < count; row += n) {
        for (int64_t i = 0; i < n; i++)
            z[i] = (pl_type_get(t, in[1], row + i) - dot(t, l, i * n, 1, z, i)) /
                   pl_type_get(t, l, i * n + i);
        for (int64_t i = n - 1; i >= 0; i--)
            z[i] = (z[i] - dot(t, l, (i + 1) * n + i, n, z + i + 1, n - 1 - i)) /
                   pl_type_get(t, l, i * n + i);
        for (int64_t i = 0; i < n; i++) pl_type_put(t, out[0], row + i, z[i]);
    }
    pl_arena_free(tmp);
}

const pl_op pl_op_cholesky_solve = {
    .name = "cholesky_solve",
    .sig = "hg,...h->...g",
    .whole = "hg",
    .linear = "1",
    .infer = pl_triangle_infer,
    .flops = flops,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 4 }, .lo = 1, .hi = 2 }, { 2, { 3, 4 } } } },
                    { NULL, .in = { { 2, { 3, 3 }, .lo = 1, .hi = 2 }, { 3, { 2, 4, 3 } } } }),
};
