/* layouts/propagate_cost.h - what greedy propagation goes by, private to it: bytes of memory
 * traffic, those on links for many of them. */
#ifndef PL_LAYOUTS_PROPAGATE_COST_H
#define PL_LAYOUTS_PROPAGATE_COST_H
#include "layouts/propagate.h"

static const double PL_NO_WAY = 1e30; /* the cost of what no message can do */

/* Of what a node takes under its choice in the plan: what it reads and writes, what it computes,
 * and the ways of its inputs from where they lie and of its outputs to where they are known to go.
 * Or any number above `most`, where the cost is not below that: paths take long to find. */
double pl_propagate_cost(pl_propagation *f, const pl_node *n, double most);

/* The cheapest way from where a value lies, and its cost; NULL when it lies there, or there is
 * none. */
const pl_path *pl_propagate_path(pl_propagation *f, const pl_value *v, const pl_places *have,
                                 const pl_placement *to, double *cost, pl_path *path);

/* Of a device's part. */
double pl_propagate_bytes(const pl_propagation *f, const pl_value *v, const pl_placement *x);

/* Where an output is known to go: where a reader wants it, or where its state is stored. False:
 * that is not known. */
bool pl_propagate_target(const pl_propagation *f, const pl_value *v, pl_placement *to);

#endif
