/* clip: y = x within [lo, hi], the nearer bound outside of it; a NaN stays. The defaults are beyond
 * every f32 and every integer: no bound. The gradient passes within. */
#include "ops/lib/elementwise.h"
#include "ops/lib/move.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *bounds = pl_elementwise_attrs(b, n);
    dx[0] = PL_LIKE(b, n, &pl_op_clip_grad, bounds, n->in[0], dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double lo = pl_node_real(n, "lo", 0), hi = pl_node_real(n, "hi", 0);
    (void)sig;
    return lo <= hi || pl_err_set(err, PL_EINPUT, "lo=%g is above hi=%g", lo, hi);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double lo = pl_node_real(s->node, "lo", 0), hi = pl_node_real(s->node, "hi", 0);
    if (lo <= -1e308) lo = -INFINITY;
    if (hi >= 1e308) hi = INFINITY;
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++) {
        double x = pl_type_get(t, in[0], i);
        if (x < lo || x > hi)
            pl_type_put(t, out[0], i, x < lo ? lo : hi);
        else
            pl_move_element(t, out[0], i, in[0], i);
    }
}

const pl_op pl_op_clip = {
    .name = "clip",
    .sig = "...->...",
    .types = "t",
    .attrs = "lo=-1e308 hi=1e308",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; lo=-0.5 hi=0.5", .in = { { 2, { 4, 7 }, .lo = -0.4, .hi = 0.4 } } },
                    { "; lo=-0.5", .in = { { 2, { 4, 7 }, .lo = -2, .hi = -0.6 } } },
                    { NULL, .in = { { 2, { 4, 7 } } } },
                    { "ab->ab; hi=0.25", .in = { { 2, { 3, 5 }, "bf16" } } },
                    { "; lo=-3 hi=4", .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } }),
};
