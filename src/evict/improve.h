/* evict/improve.h - recompute: from what does not fit to what fits, from what fits to what is
 * faster. */
#ifndef PL_EVICT_IMPROVE_H
#define PL_EVICT_IMPROVE_H
#include "base/rng.h"
#include "evict/retain.h"

typedef struct pl_evict_improve {
    pl_evict_retain *retain;
    const double *price; /* [n_op] seconds per byte, of bound.h */
    pl_draw draw;        /* random numbers and the next of them */
    uint64_t drawn;
    int *candidate, n_candidate;
    double *key, *sum;   /* [n_item]; [n_op + 2] excess of the stages before, summed */
    int *stages;         /* [n_op + 1] */
} pl_evict_improve;

pl_evict_improve *pl_evict_improve_new(pl_evict_retain *retain, const double price[], uint64_t seed,
                                       pl_arena *arena);

/* Drop and make again until no stage is above the budget: greedily, the least seconds per byte of
 * excess. False: it got stuck; the state is what it had come to. */
bool pl_evict_improve_fit(pl_evict_improve *improve, double noise);

/* For so many steps (retain.h): keep something that is made again, repair what is then above the
 * budget, and take it when that is faster, or by little slower while it is warm. From a state that
 * fits to the best one met, never slower. `arena` owns nothing afterwards. */
void pl_evict_improve_run(pl_evict_improve *improve, int64_t steps);

#endif
