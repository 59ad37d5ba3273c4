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
    return 15.0 * (double)pl_shape_count(pl_share_out(s, 0));
}

pl_adam pl_adam_new(const pl_node *n, double lr, double step, double scale, pl_adam_kind kind)
{
    const double beta1 = pl_node_real(n, "beta1", 0), beta2 = pl_node_real(n, "beta2", 0);
    return (pl_adam){ .beta1 = beta1,
                      .beta2 = beta2,
                      .eps = pl_node_real(n, "eps", 0),
                      .decay = pl_node_real(n, "decay", 0),
                      .lr = lr,
                      .scale = scale,
                      .rate = lr / (1 - pow(beta1, step)),
                      .root = sqrt(1 - pow(beta2, step)),
                      .decoupled = kind != PL_ADAM,
                      .belief = kind == PL_ADABELIEF };
}

double pl_adam_move(const pl_adam *a, double g, pl_type type, void *m, void *v, int64_t at)
{
    const double m1 = a->beta1 * pl_type_get(type, m, at) + (1 - a->beta1) * g,
                 x = a->belief ? g - m1 : g,
                 v1 = a->beta2 * pl_type_get(type, v, at) + (1 - a->beta2) * x * x +
                      (a->belief ? a->eps : 0);
    pl_type_put(type, m, at, m1);
    pl_type_put(type, v, at, v1);
    return a->rate * m1 / (sqrt(v1) / a->root + a->eps);
}

void pl_adam_element(const pl_adam *a, double g, pl_type type, void *const state[3], int64_t at)
{
    double w = pl_type_get(type, state[0], at);
    g *= a->scale;
    if (a->decoupled)
        w -= a->lr * a->decay * w;
    else
        g += a->decay * w;
    pl_type_put(type, state[0], at, w - pl_adam_move(a, g, type, state[1], state[2], at));
}

void pl_adam_ref(const pl_share *s, const void *const in[], void *const out[], pl_adam_kind kind)
{
    const pl_node *n = s->node;
    const pl_adam a =
        pl_adam_new(n, pl_type_get(n->in[4]->type, in[4], 0), pl_type_get(n->in[5]->type, in[5], 0),
                    pl_type_get(n->in[6]->type, in[6], 0), kind);
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, 0));
    do {
        const double g = pl_type_get(n->in[1]->type, in[1], i.at[1]);
        pl_adam_element(&a, g, n->out[0]->type, out, i.at[7]);
    } while (pl_walk_next(&i));
}

double pl_lamb_trust(double squares_w, double squares_u)
{
    return squares_w > 0 && squares_u > 0 ? sqrt(squares_w) / sqrt(squares_u) : 1;
}
