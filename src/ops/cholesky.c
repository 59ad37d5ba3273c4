/* cholesky(a): the lower triangle l with l l^T = a + shift I; "hg->hg". Of the symmetric a the
 * lower triangle alone is read. Sums are taken in double. Where a + shift I is not positive
 * definite, a pivot that is not above 0 is taken as 1e-30: kernels cannot fail.
 *
 * Both letters are whole: every device that needs l makes all of it. */
#include "graph/op.h"
#include "ops/lib/triangle.h"
#include "ops/list.h"

#include <math.h>

static double flops(const pl_share *s)
{
    const double n = (double)s->shape[0].dim[0];
    return n * n * n / 3;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_type t = s->node->out[0]->type;
    const int64_t n = s->shape[0].dim[0];
    const double shift = pl_node_real(s->node, "shift", 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double x = 0;
            if (j <= i)
                x = pl_type_get(t, in[0], i * n + j) + (i == j ? shift : 0) -
                    pl_triangle_dot(t, out[0], i * n, 1, out[0], j * n, j);
            if (j == i) x = sqrt(fmax(x, 1e-30));
            if (j < i) x /= pl_type_get(t, out[0], j * n + j);
            pl_type_put(t, out[0], i * n + j, x);
        }
}

const pl_op pl_op_cholesky = {
    .name = "cholesky",
    .sig = "hg->hg",
    .whole = "hg",
    .attrs = "shift=0",
    .infer = pl_triangle_infer,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; shift=9", .in = { { 2, { 5, 5 } } } },
                            { "; shift=2", .in = { { 2, { 1, 1 } } } }),
};
