#include "ops/lib/adagrad.h"

#include <math.h>

bool pl_adagrad_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const double eps = pl_node_real(n, "eps", 0), decay = pl_node_real(n, "decay", 0);
    (void)sig;
    return (eps >= 0 && decay >= 0) ||
           pl_err_set(err, PL_EINPUT, "eps is %g, decay %g: neither may be below 0", eps, decay);
}

void pl_adagrad_element(const pl_node *n, double g, double lr, double scale, void *const state[2],
                        int64_t at)
{
    const pl_type t = n->out[0]->type;
    const double w = pl_type_get(t, state[0], at), d = scale * g + pl_node_real(n, "decay", 0) * w,
                 sum = pl_type_get(t, state[1], at) + d * d;
    if (sum > 0) pl_type_put(t, state[0], at, w - lr * d / (sqrt(sum) + pl_node_real(n, "eps", 0)));
    pl_type_put(t, state[1], at, sum);
}
