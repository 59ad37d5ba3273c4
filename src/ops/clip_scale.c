/* clip_scale: what to multiply gradients by, so that their global norm is at most max_norm, from
 * the sum of their squares: min(1, max_norm / (sqrt(ss) + 1e-6)). A NaN stays one, for all to see.
 * Source: torch.nn.utils.clip_grad_norm_, its 1e-6 included. */
#include "graph/op.h"
#include "ops/list.h"

#include <math.h>

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double max_norm = pl_node_real(n, "max_norm", 0);
    (void)sig;
    return max_norm > 0 ||
           pl_err_set(err, PL_EINPUT, "max_norm is %g; it has to be above 0", max_norm);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    double ss = pl_type_get(s->node->in[0]->type, in[0], 0);
    double scale = pl_node_real(s->node, "max_norm", 0) / (sqrt(ss) + 1e-6);
    pl_type_put(s->node->out[0]->type, out[0], 0, scale > 1 ? 1 : scale);
}

const pl_op pl_op_clip_scale = {
    .name = "clip_scale",
    .sig = "->",
    .types = "F->F",
    .attrs = "max_norm=1",
    .infer = infer,
    .flops_per_out = 3,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 0, { 0 }, "f32", 4, 9 } } },
                            { "; max_norm=0.5", .in = { { 0, { 0 }, "f32", 0, 0.1 } } }),
};
