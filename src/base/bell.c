#include "base/bell.h"

#include <time.h>

void pl_bell_open(pl_bell *b)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&b->woken, &a);
    pthread_condattr_destroy(&a);
    pthread_mutex_init(&b->lock, NULL);
    atomic_init(&b->rung, 0);
    atomic_init(&b->sleepers, 0);
}

void pl_bell_close(pl_bell *b)
{
    pthread_cond_destroy(&b->woken);
    pthread_mutex_destroy(&b->lock);
}

/* One writes `rung` and reads `sleepers`, the other writes `sleepers` and reads `rung`: in the one
 * order of these accesses at least one of them sees the other. */
void pl_bell_ring(pl_bell *b)
{
    atomic_fetch_add(&b->rung, 1);
    if (!atomic_load(&b->sleepers)) return;
    pthread_mutex_lock(&b->lock);
    pthread_cond_broadcast(&b->woken);
    pthread_mutex_unlock(&b->lock);
}

uint64_t pl_bell_heard(const pl_bell *b)
{
    return atomic_load(&b->rung);
}

static struct timespec from_now(long ns)
{
    enum { SECOND = 1000 * 1000 * 1000 };
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ns;
    if (t.tv_nsec >= SECOND) t.tv_sec++, t.tv_nsec -= SECOND;
    return t;
}

bool pl_bell_sleep(pl_bell *b, uint64_t heard, long most_ns)
{
    const struct timespec until = from_now(most_ns);
    int late = 0;
    pthread_mutex_lock(&b->lock);
    atomic_fetch_add(&b->sleepers, 1);
    while (!late && atomic_load(&b->rung) == heard)
        late = pthread_cond_timedwait(&b->woken, &b->lock, &until);
    atomic_fetch_sub(&b->sleepers, 1);
    pthread_mutex_unlock(&b->lock);
    return !late;
}
