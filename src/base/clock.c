/* The monotonic clock in seconds, and that of a thread. */
#include "base/clock.h"

#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double pl_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double pl_clock_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
