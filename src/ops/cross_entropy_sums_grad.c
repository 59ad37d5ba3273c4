/* cross_entropy_sums_grad: dx[v] = exp(x[v] - top) dsum + [v = c] dpicked per row of logits x with
 * target class c and largest logit top, which counts as a constant; with label smoothing e, of V
 * classes in all, the factor of dpicked is (1 - e) [v = c] + e / V. v passes: a share compares the
 * target with global positions. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/element.h"
#include "ops/list.h"

#include <math.h>

enum { X, TARGET, TOP, DSUM, DPICKED };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    int v = pl_sig_find(s->node->sig, 'v');
    const double smoothing = pl_node_real(s->node, "smoothing", 0),
                 each = smoothing / (double)s->node->sig->factor[v].size;
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, X));
    do {
        double e = exp(pl_element_get(&w, in, X) - pl_element_get(&w, in, TOP));
        double dx = e * pl_element_get(&w, in, DSUM);
        if (pl_element_get(&w, in, TARGET) == (double)(s->factor[v].lo + w.index[v]))
            dx += (1 - smoothing) * pl_element_get(&w, in, DPICKED);
        if (smoothing > 0) dx += each * pl_element_get(&w, in, DPICKED);
        pl_element_put(&w, out, 0, dx);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_cross_entropy_sums_grad = {
    .name = "cross_entropy_sums_grad",
    .sig = "...v,...,...,...,...->...v",
    .form = "v:05 012345",
    .linear = "34",
    .types = "f,i,f,F,F->f",
    .attrs = "smoothing=0",
    .elementwise = true,
    .flops_per_out = 3, /* sub, exp, multiply */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 3, { 2, 4, 6 } },
                                            { 2, { 2, 4 }, "i32", -1, 7 },
                                            { 2, { 2, 4 } },
                                            { 2, { 2, 4 } },
                                            { 2, { 2, 4 } } } },
                            { "; smoothing=0.1", .in = { { 3, { 2, 4, 6 } },
                                                         { 2, { 2, 4 }, "i32", -1, 7 },
                                                         { 2, { 2, 4 } },
                                                         { 2, { 2, 4 } },
                                                         { 2, { 2, 4 } } } },
                            { "bvs,sb,bs,bs,sb->bvs", .in = { { 3, { 2, 5, 3 } },
                                                              { 2, { 3, 2 }, "i64", 0, 5 },
                                                              { 2, { 2, 3 } },
                                                              { 2, { 2, 3 } },
                                                              { 2, { 3, 2 } } } }),
};
