/* evict/anneal.h - recompute by simulated annealing: any state, the excess priced. */
#ifndef PL_EVICT_ANNEAL_H
#define PL_EVICT_ANNEAL_H
#include "evict/improve.h"

/* Changes of one choice each, for so many steps (retain.h). `heat`: at the start, a change for the
 * worse by that share of the mean seconds of an op is taken at odds of 1 to 1.7; `growth`: by what
 * share memory gets dearer at the start where it does not suffice. The state becomes the fastest
 * one met that fits; where none does, the last, and false. */
bool pl_evict_anneal_run(pl_evict_improve *improve, int64_t steps, double heat, double growth);

#endif
