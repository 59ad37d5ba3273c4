#include "run/progress.h"

#include "base/clock.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* After so many naps each is twice as long, up to 2^DOUBLINGS: about 1/64 of what was waited. Where
 * there is a bell, what comes soon is met by FEW_NAPS, which cost who rings nothing; then it is
 * waited for, and trusted for SLEEP_NS. */
enum { SPINS = 200, YIELDS = 50, FEW_NAPS = 4, NAPS = 64, DOUBLINGS = 4 };
enum { NAP_NS = 50 * 1000, SLEEP_NS = 10 * 1000 * 1000 };

/* A yield that took as long gave the core to somebody who computes. Whoever goes on yielding waits
 * for a turn of theirs each time; who sleeps comes first when it wakes. */
static const double TAKEN_S = 1.5e-3;

bool pl_progress_open(pl_progress *p, pl_stream *stream, int most, pl_bell *lane, pl_arena *arena,
                      pl_err *err)
{
    *p = (pl_progress){ .device = stream->device, .most = most, .lane = lane };
    pl_bell_open(&p->bell);
    p->done = PL_NEW_N(arena, bool, most + 1);
    pthread_mutex_init(&p->lock, NULL);
    return p->device->event_new(&p->computed, err);
}

void pl_progress_close(pl_progress *p)
{
    if (p->computed) p->device->event_free(p->computed);
    pthread_mutex_destroy(&p->lock);
    pl_bell_close(&p->bell);
}

void pl_progress_ring(pl_progress *p)
{
    pl_bell_ring(&p->bell);
    if (p->lane) pl_bell_ring(p->lane);
}

void pl_progress_begin(pl_progress *p, pl_stream *stream, int n)
{
    PL_ASSERT_CMP(n, <=, p->most);
    p->n = n;
    memset(p->done, 0, (size_t)p->most * sizeof *p->done);
    p->begun = ++p->last;
    p->device->record(stream, p->computed, p->begun);
    atomic_store(&p->finished, 0);
}

bool pl_progress_reached(pl_progress *p, int computed, int messages)
{
    return messages <= atomic_load(&p->finished) &&
           computed <= p->device->query(p->computed) - p->begun;
}

void pl_progress_finish(pl_progress *p, int message)
{
    pthread_mutex_lock(&p->lock);
    p->done[message] = true;
    int n = atomic_load(&p->finished);
    while (n < p->n && p->done[n]) n++;
    atomic_store(&p->finished, n);
    pthread_mutex_unlock(&p->lock);
    pl_progress_ring(p);
}

void pl_progress_fail(pl_progress *p, const pl_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->failed)) p->err = *err;
    atomic_store(&p->failed, true);
    pthread_mutex_unlock(&p->lock);
    pl_progress_ring(p);
}

static void nap(int naps)
{
    nanosleep(&(struct timespec){ 0, (long)NAP_NS << (naps / NAPS) }, NULL);
}

static bool give_way(void)
{
    const double start = pl_clock_now();
    sched_yield();
    return pl_clock_now() - start < TAKEN_S;
}

void pl_back_off(pl_wait *w)
{
    const int naps = w->tries - (SPINS + YIELDS);
    if (naps < NAPS * DOUBLINGS) w->tries++;
    if (naps >= FEW_NAPS && w->bell)
        pl_bell_sleep(w->bell, w->heard, SLEEP_NS);
    else if (naps >= 0)
        nap(naps);
    else if (w->tries > SPINS && !give_way())
        w->tries = SPINS + YIELDS;
    if (w->bell && w->tries >= SPINS + YIELDS) w->heard = pl_bell_heard(w->bell); /* sleeps next */
}
