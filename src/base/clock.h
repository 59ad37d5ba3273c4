/* base/clock.h - seconds on the monotonic clock, from an arbitrary start: differences are times. */
#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

double pl_clock_now(void);

#endif
