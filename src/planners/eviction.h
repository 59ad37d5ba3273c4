/* planners/eviction.h - a program's kernels as a problem of evict/evict.h, and what a schedule of
 * it says of the plan. */
#ifndef PL_PLANNERS_EVICTION_H
#define PL_PLANNERS_EVICTION_H
#include "evict/evict.h"
#include "program/forecast.h"

/* How ours is asked, so that it takes less than a second; and for graphs of so many nodes at most,
 * where nobody asked for it. */
enum { PL_EVICTION_EFFORT = 1000000, PL_EVICTION_STRETCHES = 2, PL_EVICTION_NODES = 2500 };

typedef struct pl_eviction {
    pl_evict_problem problem;
    pl_evict_facts facts;         /* of its order as it stands                    */
    const pl_value *const *value; /* [problem.n_value] whose contents each has    */
    const pl_node *const *node;   /* [problem.n_op] whose kernel each op runs     */
} pl_eviction;

/* The kernels of a program in their order, their seconds as forecast; states, and what is on its
 * way between placements, are no part of it. Kernels of the forward pass may run again.
 * host_limit: bytes of the host's memory; 0: nothing can be copied there, nor where the plan's mesh
 * has no link to it. `out` owns the arrays. */
pl_eviction pl_eviction_make(const pl_program *p, const pl_speed *speed, double host_limit,
                             pl_arena *out);

/* The plan of that program, changed as a schedule says. A plan knows less than a schedule: each
 * tensor stays, is made again once for the backward pass, or is copied to the host and back. `out`
 * owns it. */
pl_plan *pl_eviction_plan(const pl_eviction *e, const pl_evict_schedule *s, const pl_plan *plan,
                          pl_arena *out);

#endif
