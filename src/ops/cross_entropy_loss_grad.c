/* cross_entropy_loss_grad: dsum = dloss / sum and dpicked = -dloss per row; both 0 where the target
 * is ignored: below 0, or not below the number of classes. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

enum { SUM, TARGET, DLOSS };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    double classes = (double)pl_node_int(s->node, "classes", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, DLOSS));
    do {
        double c = pl_element_get(&w, in, TARGET);
        double dloss = c >= 0 && c < classes ? pl_element_get(&w, in, DLOSS) : 0;
        pl_element_put(&w, out, 0, dloss / pl_element_get(&w, in, SUM));
        pl_element_put(&w, out, 1, -dloss);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_cross_entropy_loss_grad = {
    .name = "cross_entropy_loss_grad",
    .sig = "...,...,...->...,...",
    .types = "F,i,F->F,F",
    .linear = "2",
    .attrs = "classes=0",
    .ref = ref,
    .examples = PL_EXAMPLES({ "; classes=5", .in = { { 2, { 4, 3 }, .lo = 1, .hi = 5 },
                                                     { 2, { 4, 3 }, "i32", -1, 6 },
                                                     { 2, { 4, 3 } } } }),
};
