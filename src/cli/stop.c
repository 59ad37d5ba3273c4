/* Signals that ask a run for its end. A handler has nobody to hand it anything, so what it notes is
 * of the whole process: the only such variables of the program.
 *
 * Handlers run on a thread that does nothing else, never on one that computes: products of oneDNN
 * before 3.11.2 use the stack pointer for something else, and the frame of a handler would be
 * written over the heap (its issue 4845). */
#include "cli/stop.h"

#include <pthread.h>
#include <semaphore.h>
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

/* The thread of the handlers, while it is watched. */
static struct {
    pthread_t thread;
    sem_t end;
    sigset_t before; /* what the calling thread had blocked */
    bool runs;
} watcher;

static sigset_t all_signals(void)
{
    sigset_t s;
    sigemptyset(&s);
    for (int i = 0; i < N_SIGNALS; i++) sigaddset(&s, signals[i].number);
    return s;
}

static void *stand_by(void *none)
{
    const sigset_t ours = all_signals();
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    while (sem_wait(&watcher.end)) continue;
    return none;
}

/* Threads that are made from here on have them blocked as the calling one has. Without a thread to
 * be had, they come to the calling one as ever. */
static void start_watcher(void)
{
    const sigset_t ours = all_signals();
    if (sem_init(&watcher.end, 0, 0)) return;
    pthread_sigmask(SIG_BLOCK, &ours, &watcher.before);
    watcher.runs = !pthread_create(&watcher.thread, NULL, stand_by, NULL);
    if (watcher.runs) return;
    pthread_sigmask(SIG_SETMASK, &watcher.before, NULL);
    sem_destroy(&watcher.end);
}

static void end_watcher(void)
{
    if (!watcher.runs) return;
    sem_post(&watcher.end);
    pthread_join(watcher.thread, NULL);
    sem_destroy(&watcher.end);
    pthread_sigmask(SIG_SETMASK, &watcher.before, NULL);
    watcher.runs = false;
}

void pl_stop_watch(void)
{
    struct sigaction a = { .sa_handler = note, .sa_flags = SA_RESTART, .sa_mask = all_signals() };
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction was;
        bool ignored = !sigaction(signals[i].number, NULL, &was) && was.sa_handler == SIG_IGN;
        if (!ignored) sigaction(signals[i].number, &a, NULL); /* shells start jobs so, and nohup */
    }
    start_watcher();
}

void pl_stop_unwatch(void)
{
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction was;
        bool ours = !sigaction(signals[i].number, NULL, &was) && was.sa_handler == note;
        if (ours) signal(signals[i].number, SIG_DFL);
    }
    end_watcher();
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
