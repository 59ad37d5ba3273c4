#include "ops/lib/layer_norm.h"

#include <math.h>

double pl_layer_norm_count(const pl_node *n)
{
    uint32_t along = pl_walk_mask(n, PL_LN_X) & ~pl_walk_mask(n, PL_LN_SUM);
    double count = 1;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (along >> f & 1) count *= (double)n->sig->factor[f].size;
    return count;
}

void pl_layer_norm_moments(const pl_node *n, double sum, double deviation, double *mean,
                           double *rstd)
{
    double count = pl_layer_norm_count(n);
    *mean = sum / count;
    *rstd = 1 / sqrt(deviation / count + pl_node_real(n, "eps", 0));
}
