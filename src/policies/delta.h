/* policies/delta.h - DELTA's choice between making a value again and copying it out and in. */
#ifndef PL_POLICIES_DELTA_H
#define PL_POLICIES_DELTA_H
#include <stdbool.h>

/* True: making it again takes less than copying `bytes` out and in at bytes_per_s each. All times
 * are seconds. Source: DELTA's director (arXiv 2203.15980), in one unit. */
bool pl_evict_delta_makes(double bytes, double bytes_per_s, double maker_seconds);

#endif
