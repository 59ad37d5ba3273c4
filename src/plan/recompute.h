/* plan/recompute.h - which activations of a model are worth making again for the backward pass
 * (Chen et al., 2016; Korthikanti et al., MLSys 2023). None of these changes a state or is a weight
 * that was cast.
 *
 * A block is an instance of the graph's fold. All sets are [values]; `out` owns them. */
#ifndef PL_PLAN_RECOMPUTE_H
#define PL_PLAN_RECOMPUTE_H
#include "graph/fold.h"
#include "plan/plan.h"

/* What no forward node outside its block reads, of the first `most` blocks of each kind: with what
 * goes from block to block kept, all else can be made again. */
const bool *pl_recompute_blocks(const pl_graph *g, const pl_fold *fold, int most, pl_arena *out);

/* The same of a plan in stages: so many blocks of each kind, the first of every stage. */
const bool *pl_recompute_in_stages(const pl_plan *p, const pl_fold *fold, int most, pl_arena *out);

/* The same with most[place] of each place. */
const bool *pl_recompute_at_places(const pl_plan *p, const pl_fold *fold, const int most[],
                                   pl_arena *out);

/* What is larger than all that it is made from and no weight has a part in: the scores of
 * attention in nodes of their own (the operator attention keeps none), their softmax and its
 * dropout, where rows are longer than heads are wide. */
const bool *pl_recompute_large(const pl_graph *g, pl_arena *out);

/* Of a set that the plan makes again from now on; false: it is empty. */
bool pl_plan_recompute(pl_plan *p, const bool *set);

#endif
