#include "ops/lib/layer_norm.h"

#include "ops/lib/element.h"

#include <math.h>

double pl_layer_norm_count(const pl_node *n)
{
    uint32_t along = pl_walk_mask(n, PL_LN_X) & ~pl_walk_mask(n, PL_LN_SUM);
    double count = 1;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (along >> f & 1) count *= (double)n->sig->factor[f].size;
    return count;
}

double pl_layer_norm_hat(const pl_walk *w, const void *const in[], double *rstd)
{
    const pl_node *n = w->share->node;
    double count = pl_layer_norm_count(n), mean = pl_element_get(w, in, PL_LN_SUM) / count;
    double var = pl_element_get(w, in, PL_LN_DEVIATION) / count;
    *rstd = 1 / sqrt(var + pl_node_real(n, "eps", 0));
    return (pl_element_get(w, in, PL_LN_X) - mean) * *rstd;
}
