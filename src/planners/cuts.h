/* planners/cuts.h - one axis after the other: what SoyBean and Tofu have in common.
 *
 * Both cut a graph between groups of devices, then each group again: here axis by axis of the mesh,
 * the slowest first; each cut is the least of the messages, given the cuts before. In both partial
 * results are combined where they are made, and a gradient ends as its weight lies.
 *
 * Other than published:
 *   - a cut is n ways for an axis of n devices; for cuts in two give a mesh of axes of two;
 *   - messages are seconds on the mesh's links, not bytes; none counts as hidden by computing;
 *     equals, which their methods leave open, are told apart by computing;
 *   - legal forms come from signatures, so layers that their tables lack (attention, lookups,
 *     halos) can be cut; a tensor may lie otherwise for the backward pass, as the tables have it;
 *   - SoyBean's search by levels leaves out edges that skip a level, and is exponential in their
 *     width; Tofu's asks for a chain after coarsening. Here a cut is exact on any graph (or as good
 *     as pl_chain_min finds it). Neither coarsens here: nodes of a group may differ. */
#ifndef PL_PLANNERS_CUTS_H
#define PL_PLANNERS_CUTS_H
#include "planners/planner.h"

typedef struct pl_cuts {
    bool all;      /* whatever can be cut is; else products only                                 */
    bool unsummed; /* but no factor that is summed                                               */
    bool anywhere; /* an axis may come before those already cut                                  */
    bool order;    /* after the cuts the best order of axes on each dimension                    */
} pl_cuts;

/* As pl_planner.run. Does not look at memory. */
PL_MUST_CHECK bool pl_cuts_run(const pl_cuts *style, const pl_problem *problem, pl_arena *out,
                               pl_answer *answer, pl_err *err);

#endif
