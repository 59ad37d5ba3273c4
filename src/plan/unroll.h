/* plan/unroll.h - a plan of micro-batches, which a pipeline has under way together, as the plan of
 * one graph that has all of them. */
#ifndef PL_PLAN_UNROLL_H
#define PL_PLAN_UNROLL_H
#include "plan/plan.h"

/* Forward and backward nodes stand there once for each micro-batch, "h0.fc@3" if there are
 * several, updates once. All
 * forward nodes come first, so that phases stay apart. A state that a micro-batch changes is read
 * as the one before left it: sums of gradients add up in the order of micro-batches. Of a gradient
 * with terms of two stages (plan/terms.h) each stage has a sum, and the first update adds them. */
typedef struct pl_unrolled {
    const pl_graph *graph;
    const pl_plan *plan;
    const pl_value **from; /* [values] the same in the graph of one micro-batch           */
    const int *micro;      /* [values] the micro-batch that makes or reads it; -1: states,
                              and what updates make or alone read                          */
} pl_unrolled;

/* Fails with PL_EUNSUPPORTED where a forward node reads what a backward one of the micro-batch
 * before leaves in a state. `out` owns the result. */
PL_MUST_CHECK bool pl_plan_unroll(const pl_plan *plan, pl_arena *out, pl_unrolled *u, pl_err *err);

/* What a value is in the graph of one micro-batch; *micro becomes that which makes or reads it, if
 * one does. Where nothing was unrolled (u is zeros), the value itself. */
const pl_value *pl_unrolled_from(const pl_unrolled *u, const pl_value *v, int64_t *micro);

#endif
