/* Signals that ask a run for its end. A handler has nobody to hand it anything, so what it notes is
 * of the whole process: the only such variables of the program. */
#include "cli/stop.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static const struct {
    int number;
    const char *name;
} signals[] = { { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGUSR1, "SIGUSR1" } };

enum { N_SIGNALS = sizeof signals / sizeof *signals };

static atomic_int first;        /* signal, or 0                              */
static atomic_llong first_time; /* nanoseconds of the monotonic clock, or 0  */

/* Whatever may be called in a handler, POSIX lists; all of this is in that list. */
static void note(int number)
{
    struct timespec t;
    int none = 0;
    long long unset = 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long long now = t.tv_sec * 1000000000LL + t.tv_nsec;
    if (atomic_compare_exchange_strong(&first_time, &unset, now)) unset = now;
    if (atomic_compare_exchange_strong(&first, &none, number)) return;
    if (now - unset < 1000000000LL) return;
    signal(number, SIG_DFL);
    raise(number);
}

void pl_stop_watch(void)
{
    struct sigaction a = { .sa_handler = note, .sa_flags = SA_RESTART };
    sigemptyset(&a.sa_mask);
    for (int i = 0; i < N_SIGNALS; i++) sigaddset(&a.sa_mask, signals[i].number);
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction was;
        bool ignored = !sigaction(signals[i].number, NULL, &was) && was.sa_handler == SIG_IGN;
        if (!ignored) sigaction(signals[i].number, &a, NULL); /* shells start jobs so, and nohup */
    }
}

void pl_stop_unwatch(void)
{
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction was;
        bool ours = !sigaction(signals[i].number, NULL, &was) && was.sa_handler == note;
        if (ours) signal(signals[i].number, SIG_DFL);
    }
}

const atomic_int *pl_stop_signal(void)
{
    return &first;
}

const char *pl_stop_name(int number)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].number == number) return signals[i].name;
    return "a signal";
}

int pl_stop_code(int number)
{
    return 128 + number;
}
