/* A parallel for: pl_each() starts up to a thread per core, and each takes the next piece of
 * work until none is left (take_pieces). */
#include "base/each.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

typedef struct pieces {
    int n;
    void (*work)(void *with, int i);
    void *with;
    atomic_int next;
} pieces;

static void *take_pieces(void *self)
{
    pieces *p = self;
    for (int i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) p->work(p->with, i);
    return NULL;
}

static int count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

void pl_each(int n, void (*work)(void *with, int i), void *with)
{
    pieces p = { .n = n, .work = work, .with = with };
    pthread_t helper[MOST_THREADS];
    int want = count_cores() - 1, started = 0;
    if (want > n - 1) want = n - 1;
    if (want > MOST_THREADS) want = MOST_THREADS;
    while (started < want && !pthread_create(&helper[started], NULL, take_pieces, &p)) started++;
    take_pieces(&p);
    for (int i = 0; i < started; i++) pthread_join(helper[i], NULL);
}
