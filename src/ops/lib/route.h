/* ops/lib/route.h - which token goes into which slot of which expert: the loop of the
 * mixture-of-experts operators. Letters: t tokens of a group, k choices of a token, e experts, c
 * slots of an expert (its capacity); all other letters of the indices count groups.
 *
 * The choices of a group are served in the order of all first choices by token, then all second
 * choices, and so on; the i-th choice of an expert gets its slot i, and is dropped when i >= c.
 * Source: Lepikhin et al., GShard, 2021, algorithm 1 (without its random second choice). */
#ifndef PL_OPS_LIB_ROUTE_H
#define PL_OPS_LIB_ROUTE_H
#include "graph/walk.h"

typedef struct pl_route {
    pl_walk group;
    int operand;                  /* of the indices                                        */
    const void *ids;
    int factor[4];                /* t k e c                                               */
    int64_t index[4];             /* of the present choice, within the share; c: its slot  */
    int64_t n_slots;              /* given out so far of expert e                          */
    int64_t at[PL_MAX_OPERANDS];  /* element of each operand, hidden letters at 0          */
} pl_route;

/* Visit every choice of the share's experts that got a slot; indices outside of the range count as
 * absent. Starts before the first: while (pl_route_next(&r)) ... */
pl_route pl_route_new(const pl_share *s, int operand, const void *ids);
bool pl_route_next(pl_route *r);

/* Of choice k of token t in the group where r->group stands: its expert among the share's, and its
 * slot; -1: it has no slot, or is of another share. */
int64_t pl_route_slot(const pl_route *r, int64_t t, int64_t k, int64_t *expert);

/* 2 x the product of all factors but e, of which each choice names one: for moe_matmul and its
 * gradient, where experts are chosen equally often. */
double pl_route_flops(const pl_share *s);

#endif
