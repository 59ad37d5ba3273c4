/* Experts' slots. Source: Lepikhin et al., GShard, 2021 (groups, capacity, weights that sum to 1);
 * Fedus, Zoph, Shazeer, Switch Transformers, 2022 (weights are the softmax over all experts, so
 * that k=1 trains its router too). */
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

pl_routed pl_routed_new(pl_builder *b, const char *spec, int64_t experts, int64_t k, int64_t tokens,
                        double capacity)
{
    double slots = ceil(capacity * (double)tokens * (double)k / (double)experts);
    if (k > experts)
        pl_err_set(&b->err, PL_EINPUT, "%s: k=%lld experts of a token, but there are experts=%lld",
                   spec, (long long)k, (long long)experts);
    return (pl_routed){ .b = b,
                        .experts = experts,
                        .k = k,
                        .slots = slots < 1                ? 1
                                 : slots < (double)tokens ? (int64_t)slots
                                                          : tokens };
}

pl_value *pl_routed_send(pl_routed *r, pl_value *scores, pl_value *x)
{
    pl_builder *b = r->b;
    if (!r->even) scores = PL_ADD_AS(b, &pl_op_softmax, "router.softmax", NULL, scores);
    const pl_node *choice =
        pl_add_node(b, &pl_op_topk, "router.topk",
                    pl_builder_fmt(b, "gte->gtk,gtk; k=%lld", (long long)r->k), 1, &scores);
    if (!choice) return NULL;
    r->weight = choice->out[0], r->ids = choice->out[1];
    /* The softmax of the largest scores is that of all, divided by their sum. */
    if (r->even) r->weight = PL_ADD_AS(b, &pl_op_softmax, "router.softmax", NULL, r->weight);
    const char *to = pl_builder_fmt(b, "gth,gtk->gech; e=%lld c=%lld", (long long)r->experts,
                                    (long long)r->slots);
    return PL_ADD_AS(b, &pl_op_moe_dispatch, "dispatch", to, x, r->ids);
}

pl_value *pl_routed_return(pl_routed *r, pl_value *y)
{
    return PL_ADD_AS(r->b, &pl_op_moe_combine, "combine", NULL, y, r->ids, r->weight);
}
