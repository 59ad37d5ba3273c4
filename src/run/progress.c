#include "run/progress.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* After so many naps each is twice as long, up to 2^DOUBLINGS: about 1/64 of what was waited. */
enum { SPINS = 200, YIELDS = 50, NAPS = 64, DOUBLINGS = 4 };

bool pl_progress_open(pl_progress *p, pl_stream *stream, int most, pl_arena *arena, pl_err *err)
{
    *p = (pl_progress){ .device = stream->device, .most = most };
    p->done = PL_NEW_N(arena, bool, most + 1);
    pthread_mutex_init(&p->lock, NULL);
    return p->device->event_new(&p->computed, err);
}

void pl_progress_close(pl_progress *p)
{
    if (p->computed) p->device->event_free(p->computed);
    pthread_mutex_destroy(&p->lock);
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
}

void pl_progress_fail(pl_progress *p, const pl_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->failed)) p->err = *err;
    atomic_store(&p->failed, true);
    pthread_mutex_unlock(&p->lock);
}

void pl_back_off(int *tries, long nap_ns)
{
    const int naps = *tries - (SPINS + YIELDS);
    if (naps < NAPS * DOUBLINGS) ++*tries;
    if (*tries <= SPINS) return;
    if (naps < 0)
        sched_yield();
    else
        nanosleep(&(struct timespec){ 0, nap_ns << (naps / NAPS) }, NULL);
}
