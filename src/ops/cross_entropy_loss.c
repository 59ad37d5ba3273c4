/* cross_entropy_loss: per row, from cross_entropy_sums and the largest logit top,
 *   loss = top + log(sum) - picked,
 * or 0 where the target c is ignored: below 0, or not below the number of classes. No gradient
 * flows into top, on which the loss does not depend in truth. */
#include "ops/lib/elementwise.h"

#include <math.h>

enum { SUM, PICKED, TOP, TARGET };

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{0},{3},{4}->{0},{1}; classes=%lld",
                                      (long long)pl_node_int(n, "classes", 0));
    const pl_node *g = pl_add_node(b, &pl_op_cross_entropy_loss_grad, NULL, pl_spec(b, n, spec), 3,
                                   (pl_value *const[]){ n->in[SUM], n->in[TARGET], dy[0] });
    for (int i = 0; g && i < 2; i++) dx[i] = g->out[i];
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)sig;
    return pl_node_int(n, "classes", 0) > 0 ||
           pl_err_set(err, PL_EINPUT, "the number of classes is needed: write classes=N");
}

static double loss(const double x[], const double attr[])
{
    double classes = attr[0];
    return x[TARGET] >= 0 && x[TARGET] < classes ? x[TOP] - x[PICKED] + log(x[SUM]) : 0;
}

/* The function that is differentiated does not depend on top. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    const pl_node *like = pl_add_node(b, &pl_op_cross_entropy_loss, NULL, spec, 4, in);
    if (!like) return NULL;
    pl_value *zero =
        pl_add_value(b, &pl_op_fill, NULL, pl_spec(b, like, "->{2}; value=0"), 0, NULL);
    return PL_ADD(b, &pl_op_cross_entropy_loss, spec, in[SUM], in[PICKED], zero, in[TARGET]);
}

const pl_op pl_op_cross_entropy_loss = {
    .name = "cross_entropy_loss",
    .sig = "...,...,...,...->...",
    .types = "F,F,f,i->F",
    .attrs = "classes=0",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .ref = pl_elementwise_ref,
    .element = loss,
    .examples = PL_EXAMPLES({ "; classes=5",
                              .in = { { 2, { 4, 3 }, .lo = 1, .hi = 5 },
                                      { 2, { 4, 3 } },
                                      { 2, { 4, 3 } },
                                      { 2, { 4, 3 }, "i32", -1, 6 } },
                              build }),
};
