/* sgd: stochastic gradient descent with momentum, in place on the weights w and the velocity u,
 * from gradient g, learning rate lr and the gradient's scale (clip_scale; 1 for none):
 *   d = scale g + decay w,  u = momentum u + d,  w = w - lr (nesterov ? d + momentum u : u)
 * Source: torch.optim.SGD, dampening 0; a velocity of zeros makes its first step. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double momentum = pl_node_real(n, "momentum", 0), decay = pl_node_real(n, "decay", 0);
    (void)sig;
    return (momentum >= 0 && momentum <= 1 && decay >= 0) ||
           pl_err_set(err, PL_EINPUT,
                      "momentum is %g, decay %g; momentum has to be in [0, 1], decay not below 0",
                      momentum, decay);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double momentum = pl_node_real(n, "momentum", 0), decay = pl_node_real(n, "decay", 0);
    bool nesterov = pl_node_int(n, "nesterov", 0);
    double lr = pl_type_get(n->in[3]->type, in[3], 0),
           scale = pl_type_get(n->in[4]->type, in[4], 0);
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, 0));
    do {
        double w = pl_type_get(n->in[0]->type, in[0], i.at[0]);
        double d = scale * pl_type_get(n->in[1]->type, in[1], i.at[1]) + decay * w;
        double u = momentum * pl_type_get(n->in[2]->type, in[2], i.at[2]) + d;
        pl_type_put(n->out[0]->type, out[0], i.at[5], w - lr * (nesterov ? d + momentum * u : u));
        pl_type_put(n->out[1]->type, out[1], i.at[6], u);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_sgd = {
    .name = "sgd",
    .sig = "...,...,...,,->...,...",
    .inplace = "02",
    .types = "F,f,F,F,F->F,F",
    .attrs = "momentum=0 decay=0 nesterov=0",
    .infer = infer,
    .flops_per_out = 7,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL,
          .in = { { 2, { 4, 6 } }, { 2, { 4, 6 } }, { 2, { 4, 6 } }, { 0, { 0 } }, { 0, { 0 } } } },
        { "; momentum=0.9 decay=0.1 nesterov=1",
          .in = { { 1, { 6 } }, { 1, { 6 }, "bf16" }, { 1, { 6 } }, { 0, { 0 } }, { 0, { 0 } } } }),
};
