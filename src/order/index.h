/* order/index.h - a scheduling problem in the form that the searches walk. */
#ifndef PL_ORDER_INDEX_H
#define PL_ORDER_INDEX_H
#include "order/schedule.h"

/* Both directions of everything. Tensors that live throughout are summed up in `base` and left out,
 * as are tensors of no bytes and those that never live. */
typedef struct pl_index {
    int n, m;            /* tasks, tensors                                      */
    int64_t base;        /* bytes of the tensors that live throughout           */
    int *pred_at, *pred; /* tasks that run before a task                        */
    int *succ_at, *succ; /* tasks that run after it                             */
    int64_t *bytes;      /* [m]                                                 */
    bool *start, *end;   /* [m] there from the start, stays to the end          */
    int *user_at, *user; /* tasks that touch a tensor                           */
    int *use_at, *use;   /* tensors that a task touches                         */
} pl_index;

pl_index *pl_index_make(const pl_schedule_problem *problem, pl_arena *arena);

/* The same problem backward in time: an order's mirror image has the same peak. Shares arrays. */
pl_index *pl_index_reverse(const pl_index *index, pl_arena *arena);

/* The problem of ordering the tasks list[0 .. n-1] among themselves, which run one after the other
 * in some order of the whole: `before` tells which tasks run earlier, `live` the bytes live between
 * those and the part. Task k of the result is list[k]; what only passes by counts in its base. */
pl_index *pl_index_part(const pl_index *index, int n, const int list[], const bool before[],
                        int64_t live, pl_arena *arena);

/* Bytes live during each step of an order, and between it and the step before; base included.
 * Returns the peak. Either array [n] may be NULL. */
int64_t pl_index_live(const pl_index *index, const int order[], int64_t live[], int64_t before[]);

/* The order that runs the ready task of least number next; false: a cycle. */
bool pl_index_order(const pl_index *index, int order[]);

bool pl_index_equal(const pl_index *a, const pl_index *b);
uint64_t pl_index_hash(const pl_index *index);

#endif
