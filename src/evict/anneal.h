/* evict/anneal.h - recompute by simulated annealing: any state, the excess priced. */
#ifndef PL_EVICT_ANNEAL_H
#define PL_EVICT_ANNEAL_H
#include "evict/improve.h"

/* `moves` changes of one choice each. The state becomes the best one met that fits, or stays as it
 * was when none does: false. */
bool pl_anneal_run(pl_improve *improve, int64_t moves, double heat_share, double growth);

#endif
