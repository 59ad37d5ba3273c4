/* policies/revolve.h - recompute on a chain. */
#ifndef PL_POLICIES_REVOLVE_H
#define PL_POLICIES_REVOLVE_H
#include <stdint.h>

/* The least number of forward steps that reverse a chain of `steps` >= 1 steps with `slots` >= 1
 * places for states, its first one included: r steps - binomial(slots + r, r - 1) with the least r
 * for which binomial(slots + r, r) >= steps. Source: Griewank and Walther, "Algorithm 799:
 * revolve", ACM TOMS 2000, theorem of Griewank 1992. */
int64_t pl_evict_revolve_steps(int steps, int slots);

#endif
