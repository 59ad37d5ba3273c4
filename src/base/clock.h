/* base/clock.h - seconds on the monotonic clock, from an arbitrary start: differences are times. */
#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

double pl_clock_now(void);

/* Those that this thread has spent on a processor. */
double pl_clock_thread(void);

#endif
