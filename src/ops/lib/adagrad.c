#include "ops/lib/adagrad.h"

#include <math.h>

bool pl_adagrad_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const double eps = pl_node_real(n, "eps", 0), decay = pl_node_real(n, "decay", 0);
    (void)sig;
    return (eps >= 0 && decay >= 0) ||
           pl_err_set(err, PL_EINPUT, "eps is %g, decay %g: neither may be below 0", eps, decay);
}

pl_adagrad pl_adagrad_new(const pl_node *n, double lr, double scale)
{
    return (pl_adagrad){ pl_node_real(n, "eps", 0), pl_node_real(n, "decay", 0), lr, scale };
}

void pl_adagrad_element(const pl_adagrad *a, double g, pl_type type, void *const state[2],
                        int64_t at)
{
    const double w = pl_type_get(type, state[0], at), d = a->scale * g + a->decay * w,
                 sum = pl_type_get(type, state[1], at) + d * d;
    if (sum > 0) pl_type_put(type, state[0], at, w - a->lr * d / (sqrt(sum) + a->eps));
    pl_type_put(type, state[1], at, sum);
}
