#include "ops/lib/adagrad.h"

#include "graph/op.h"

#include <math.h>
#include <string.h>

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

/* Of the letter u there is one where sums are read. */
bool pl_rowwise_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const int64_t sums = sig->factor[pl_sig_find(sig, 'u')].size;
    if (strstr(n->op->attrs, "columns"))
        return pl_node_int(n, "columns", 0) > 0 ||
               pl_err_set(err, PL_EINPUT, "the number of columns is needed: write columns=N");
    if (sums != 1)
        return pl_err_set(err, PL_EINPUT, "'u' is %lld; a row has one sum", (long long)sums);
    const double eps = pl_node_real(n, "eps", 0);
    return eps >= 0 || pl_err_set(err, PL_EINPUT, "eps is %g; it may not be below 0", eps);
}

double pl_rowwise_share(const pl_node *n, double scale)
{
    return scale * scale / (double)pl_node_int(n, "columns", 0);
}

double pl_rowwise_rate(double lr, double sum, double eps)
{
    return sum > 0 ? lr / (sqrt(sum) + eps) : 0;
}
