/* reshard/queue.h - what is still to be looked at, the least seconds first: a binary heap. */
#ifndef PL_RESHARD_QUEUE_H
#define PL_RESHARD_QUEUE_H
#include "base/arena.h"
#include <stdint.h>

typedef struct pl_queued {
    double seconds, rest; /* so far, and from here on at least */
    double order;         /* set by the queue                  */
    int32_t id;           /* the caller's                      */
    uint8_t tag[4];       /* the caller's                      */
} pl_queued;

typedef struct pl_queue {
    pl_queued *at;
    int n, cap;
    double weight;
} pl_queue;

/* Empties the queue; its order is that of seconds + weight * rest. */
void pl_reshard_queue_start(pl_queue *q, double weight);
void pl_reshard_queue_weigh(pl_queue *q, double weight); /* from now on, and what waits in it */

void pl_reshard_queue_add(pl_queue *q, pl_arena *arena, pl_queued x);
bool pl_reshard_queue_take(pl_queue *q, pl_queued *x); /* false: empty */

#endif
