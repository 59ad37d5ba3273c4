/* plan/offload.h - what lies in the host's memory and comes to the device when it is needed:
 * optimizer states and weights (ZeRO-Offload, Ren et al., ATC 2021; Gemini of Colossal-AI), and
 * activations from their last reader in the forward pass to their first in the backward pass (vDNN,
 * Rhu et al., MICRO 2016).
 *
 * The smallest, below a thousandth of the largest, stay where they are: the start of their copies
 * would take longer than the copies. */
#ifndef PL_PLAN_OFFLOAD_H
#define PL_PLAN_OFFLOAD_H
#include "graph/fold.h"
#include "plan/plan.h"

/* States of a kind from now on; false: there are none. */
bool pl_plan_offload_states(pl_plan *p, pl_state_kind kind);

/* The host runs what changes states in place that lie there, casts them, or casts or reduces
 * gradients for that; false: there is nothing. Not of a plan in stages. */
bool pl_plan_offload_updates(pl_plan *p);

/* What forward nodes make and backward nodes read, where it is not made again; a view of it is, as
 * that costs nothing. What is made behind the last of the equal blocks stays, as it is read again
 * at once. False: there is nothing. `out` owns where they are kept. */
bool pl_plan_offload_activations(pl_plan *p, const pl_fold *fold, pl_arena *out);

/* May a value leave the device between the passes? */
bool pl_plan_can_offload(const pl_value *v);

/* It waits for the backward pass in the host's memory, split as it is kept. */
void pl_plan_offload(pl_plan *p, const pl_value *v, pl_arena *out);

#endif
