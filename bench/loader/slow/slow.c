/* Preloaded, it makes pictures slow to open, as storage does that many share: opening a .png takes
 * SLOW_MS milliseconds, ten times as long in the last SLOW_BURST of each SLOW_PERIOD seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double begin;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
    begin = now();
}

static double number(const char *name)
{
    const char *text = getenv(name);
    return text ? atof(text) : 0;
}

int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, mode_t);
    const size_t n = strlen(path);
    const double period = number("SLOW_PERIOD"), burst = number("SLOW_BURST");
    if (!next) next = (int (*)(const char *, int, mode_t))dlsym(RTLD_NEXT, "open");
    if (n > 4 && !strcmp(path + n - 4, ".png")) {
        const double at = period > 0 ? fmod(now() - begin, period) : 0;
        const int slow = burst > 0 && at >= period - burst;
        usleep((useconds_t)(1000 * number("SLOW_MS") * (slow ? 10 : 1)));
    }
    return next(path, flags, (mode_t)0666);
}
