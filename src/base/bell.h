/* base/bell.h - who waits for one of several things sleeps until a bell rings.
 *
 *     heard = pl_bell_heard(bell);
 *     if (nothing has come) pl_bell_sleep(bell, heard, most_ns);
 *
 * Whoever brings something about rings after it: what rings after `heard` was read ends the sleep,
 * or keeps it from beginning. */
#ifndef PL_BASE_BELL_H
#define PL_BASE_BELL_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pl_bell {
    _Atomic uint64_t rung;
    atomic_int sleepers;
    pthread_mutex_t lock;
    pthread_cond_t woken;
} pl_bell;

void pl_bell_open(pl_bell *b);
void pl_bell_close(pl_bell *b); /* nobody sleeps */

/* Costs next to nothing while nobody sleeps. */
void pl_bell_ring(pl_bell *b);

uint64_t pl_bell_heard(const pl_bell *b);

/* Until it has rung since `heard`; false: after most_ns nanoseconds (below 1e9) nobody had woken
 * who sleeps. */
bool pl_bell_sleep(pl_bell *b, uint64_t heard, long most_ns);

#endif
