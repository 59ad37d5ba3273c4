#include "ops/lib/adam.h"

#include "graph/walk.h"

#include <math.h>

const pl_example pl_adam_examples[] = {
    { NULL, .in = { { 2, { 4, 6 } },
                    { 2, { 4, 6 } },
                    { 2, { 4, 6 } },
                    { 2, { 4, 6 }, .lo = 0.1, .hi = 1 },
                    { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                    { 0, { 0 }, "i64", 1, 5 },
                    { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
    { "; beta1=0.8 beta2=0.95 eps=1e-3 decay=0.1", .in = { { 1, { 6 } },
                                                           { 1, { 6 }, "bf16" },
                                                           { 1, { 6 } },
                                                           { 1, { 6 }, .lo = 0.1, .hi = 1 },
                                                           { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                                                           { 0, { 0 }, "i64", 1, 5 },
                                                           { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
    { 0 },
};

bool pl_adam_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double beta1 = pl_node_real(n, "beta1", 0), beta2 = pl_node_real(n, "beta2", 0);
    double eps = pl_node_real(n, "eps", 0), decay = pl_node_real(n, "decay", 0);
    if (!(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1))
        return pl_err_set(err, PL_EINPUT, "beta1 is %g, beta2 %g; both have to be in [0, 1)", beta1,
                          beta2);
    (void)sig;
    return (eps >= 0 && decay >= 0) ||
           pl_err_set(err, PL_EINPUT, "eps is %g, decay %g: neither may be below 0", eps, decay);
}

double pl_adam_flops(const pl_share *s)
{
    return 15.0 * (double)pl_shape_count(&s->out[0]);
}

void pl_adam_ref(const pl_share *s, const void *const in[], void *const out[], bool decoupled)
{
    const pl_node *n = s->node;
    double beta1 = pl_node_real(n, "beta1", 0), beta2 = pl_node_real(n, "beta2", 0);
    double eps = pl_node_real(n, "eps", 0), decay = pl_node_real(n, "decay", 0);
    double lr = pl_type_get(n->in[4]->type, in[4], 0),
           scale = pl_type_get(n->in[6]->type, in[6], 0);
    double step = pl_type_get(n->in[5]->type, in[5], 0);
    double rate = lr / (1 - pow(beta1, step)), root = sqrt(1 - pow(beta2, step));
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, 0));
    do {
        double w = pl_type_get(n->in[0]->type, in[0], i.at[0]);
        double g = scale * pl_type_get(n->in[1]->type, in[1], i.at[1]);
        if (decoupled)
            w -= lr * decay * w;
        else
            g += decay * w;
        double m = beta1 * pl_type_get(n->in[2]->type, in[2], i.at[2]) + (1 - beta1) * g;
        double v = beta2 * pl_type_get(n->in[3]->type, in[3], i.at[3]) + (1 - beta2) * g * g;
        pl_type_put(n->out[0]->type, out[0], i.at[7], w - rate * m / (sqrt(v) / root + eps));
        pl_type_put(n->out[1]->type, out[1], i.at[8], m);
        pl_type_put(n->out[2]->type, out[2], i.at[9], v);
    } while (pl_walk_next(&i));
}
