/* order/frontier.h - how far an order has come: what is live, what each task would add and
 * free. */
#ifndef PL_ORDER_FRONTIER_H
#define PL_ORDER_FRONTIER_H
#include "order/index.h"

/* Kept up to date in time proportional to what changes, so that born and dying of every task that
 * has not run are always at hand. While task t runs, live + born[t] bytes are live; after it, live
 * + born[t] - dying[t]. */
typedef struct pl_frontier {
    const pl_index *x;
    int64_t live; /* between two tasks, base included                               */
    int n_done, n_ready;
    int64_t *born, *dying; /* [n] of tasks that have not run                                 */
    int *wait;             /* [n] tasks that must still run before                           */
    int *ready;            /* [n_ready] tasks that could run, in no special order            */
    int *slot;             /* [n] place in `ready`                                           */
    int *seen, *left;      /* [m] users that ran (and 1 for the start); that have not        */
    int *last;             /* [m] the numbers of the users that have not run, xor-ed         */
} pl_frontier;

pl_frontier *pl_frontier_new(const pl_index *index, pl_arena *arena);
void pl_frontier_reset(pl_frontier *f);

/* Run a ready task; take back the latest one. Taking back restores all but the order of `ready`. */
void pl_frontier_run(pl_frontier *f, int task);
void pl_frontier_undo(pl_frontier *f, int task);

static inline int64_t pl_frontier_need(const pl_frontier *f, int task)
{
    return f->live + f->born[task];
}

static inline int64_t pl_frontier_net(const pl_frontier *f, int task)
{
    return f->born[task] - f->dying[task];
}

#endif
