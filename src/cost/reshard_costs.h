/* cost/reshard_costs.h - the tables of what it takes to move values, for cost/problem.c: each is
 * made once for all that are equal. */
#ifndef PL_COST_RESHARD_COSTS_H
#define PL_COST_RESHARD_COSTS_H
#include "reshard/convert.h"
#include "cost/domain.h"

typedef struct pl_reshard_costs pl_reshard_costs;

/* Of all values of one form with the same placements in the same order. */
typedef struct pl_reshard_cost pl_reshard_cost;

/* For a step of so many micro-batches. `arena` will own the tables, `tmp` the rest. */
pl_reshard_costs *pl_reshard_costs_new(const pl_mesh *m, int64_t micro, pl_arena *arena,
                                       pl_arena *tmp);

/* The placements are the caller's and stay as they are. */
pl_reshard_cost *pl_reshard_costs_find(pl_reshard_costs *x, const pl_value *v,
                                       const pl_placement_set *placements);

/* Of one device's part at each placement: [placements]. */
const double *pl_reshard_costs_bytes(pl_reshard_costs *x, pl_reshard_cost *w);

/* The values of a variable by the placement where each of them has the tensor; NULL: at that one.
 */
typedef struct pl_variable_places {
    int n;
    const int16_t *at;
} pl_variable_places;

/* Seconds of a step from each of a to each of b: [a.n][b.n]; `turned`: [b.n][a.n]. `each`: every
 * micro-batch goes that way, else the last one alone. */
const double *pl_reshard_costs_time(pl_reshard_costs *x, pl_reshard_cost *w,
                                    pl_variable_places a, pl_variable_places b, bool turned,
                                    bool each);

/* Seconds of all micro-batches to each placement from each: [placements][placements] from, to; none
 * where it is a part of what lies there. */
const double *pl_reshard_costs_keep(pl_reshard_costs *x, pl_reshard_cost *w);

/* No seconds at all: [placements][placements]. */
const double *pl_reshard_costs_none(pl_reshard_costs *x, pl_reshard_cost *w);

/* Bytes of what is kept at a placement beside what is stored at one: [placements][placements]
 * stored, kept. */
const double *pl_reshard_costs_beside(pl_reshard_costs *x, pl_reshard_cost *w);

#endif
