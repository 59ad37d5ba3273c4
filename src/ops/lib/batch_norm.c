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

void pl_batch_norm_moments(const pl_node *n, double sum, double sumsq, double *mean, double *rstd)
{
    double count = pl_batch_norm_count(n);
    *mean = sum / count;
    *rstd = 1 / sqrt(fmax(sumsq / count - *mean * *mean, 0) + pl_node_real(n, "eps", 0));
}

pl_batch_norm_point pl_batch_norm_at(const pl_walk *w, const void *const in[], int dy)
{
    const pl_node *n = w->share->node;
    pl_batch_norm_point p;
    double mean;
    pl_batch_norm_moments(n, pl_element_get(w, in, PL_BN_SUM), pl_element_get(w, in, PL_BN_SUMSQ),
                          &mean, &p.rstd);
    p.hat = (pl_element_get(w, in, PL_BN_X) - mean) * p.rstd;
    double y = p.hat * pl_element_get(w, in, PL_BN_SCALE) + pl_element_get(w, in, PL_BN_BIAS);
    p.g = pl_node_int(n, "relu", 0) && y <= 0 ? 0 : pl_element_get(w, in, dy);
    return p;
}
