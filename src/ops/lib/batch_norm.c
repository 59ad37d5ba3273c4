#include "ops/lib/batch_norm.h"

#include "ops/lib/element.h"

#include <math.h>

double pl_batch_norm_count(const pl_node *n)
{
    uint32_t channel = pl_walk_mask(n, PL_BN_SUM);
    double count = 1;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (!(channel >> f & 1)) count *= (double)n->sig->factor[f].size;
    return count;
}

double pl_batch_norm_hat(const pl_walk *w, const void *const in[], double *rstd)
{
    const pl_node *n = w->share->node;
    double count = pl_batch_norm_count(n), mean = pl_element_get(w, in, PL_BN_SUM) / count;
    double var = fmax(pl_element_get(w, in, PL_BN_SUMSQ) / count - mean * mean, 0);
    *rstd = 1 / sqrt(var + pl_node_real(n, "eps", 0));
    return (pl_element_get(w, in, PL_BN_X) - mean) * *rstd;
}

pl_batch_norm_point pl_batch_norm_at(const pl_walk *w, const void *const in[], int dy)
{
    const pl_node *n = w->share->node;
    pl_batch_norm_point p;
    p.hat = pl_batch_norm_hat(w, in, &p.rstd);
    double y = p.hat * pl_element_get(w, in, PL_BN_SCALE) + pl_element_get(w, in, PL_BN_BIAS);
    p.g = pl_node_int(n, "relu", 0) && y <= 0 ? 0 : pl_element_get(w, in, dy);
    return p;
}
