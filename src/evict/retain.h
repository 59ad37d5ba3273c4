/* evict/retain.h - what is kept from where to where: the state that searches change.
 *
 * Stage t of a schedule is all that runs before op t runs first, after op t - 1 did; stage n_op is
 * what runs after the last. Within a stage ops run again in their order, then op t. An item is
 * used in some stages; from one use to the next it is kept, or dropped and made again in the later
 * stage (by a run of its maker there, which uses what that reads), or on the host. So a schedule
 * is one choice per item and pair of neighbouring uses (the retention intervals of MOCCASIN,
 * Bartan et al., ICML 2023, over the stages of Checkmate, Jain et al., MLSys 2020), and a change
 * costs what it touches: bytes per stage are an array, and adding to a range of it is a loop that
 * vectors make faster than a tree for the lengths that occur. */
#ifndef PL_EVICT_RETAIN_H
#define PL_EVICT_RETAIN_H
#include "evict/items.h"

typedef enum pl_evict_retain_how {
    PL_RETAIN_KEEP,
    PL_RETAIN_AGAIN,
    PL_RETAIN_HOST
} pl_evict_retain_how;

typedef struct pl_evict_retain_use {
    int stage;      /* -1: there from the start                                              */
    int count;      /* of runs in that stage that make it first or read it, and its end      */
    uint8_t how;    /* pl_evict_retain_how: how it got here from the use before              */
    int gone, back; /* of HOST: dropped before stage gone starts; comes in as `back` starts  */
} pl_evict_retain_use;

typedef struct pl_evict_retain_run {
    int op, wanted; /* by so many items: 1 or more */
} pl_evict_retain_run;

typedef struct pl_evict_retain_uses {
    pl_evict_retain_use *at;
    int n, cap;
} pl_evict_retain_uses;

typedef struct pl_evict_retain_runs {
    pl_evict_retain_run *at; /* rising by op */
    int n, cap;
} pl_evict_retain_runs;

typedef struct pl_evict_retain {
    const pl_evict_items *items;
    int64_t budget;
    bool *tracked;        /* [n_item] has bytes and is not pinned: a choice                  */
    pl_evict_retain_uses *uses; /* [n_item] of tracked items, rising by stage                */
    pl_evict_retain_runs *runs; /* [n_op + 1] again, in that stage                           */
    int *n_runs;          /* [n_op] the first included                                       */
    int64_t *load;        /* [n_op + 1] bytes at the most in each stage                      */
    int64_t *inner;       /* [n_op + 1] ... of it, of what is used or made there             */
    int *ends;            /* [n_ends] tracked items needed at the end                        */
    int n_ends, n_over;   /* stages above the budget                                         */
    double *weight;       /* [n_op + 1] of a byte above it in each stage; 1 of a new state   */
    double over;          /* weighted bytes above it, summed over stages                     */
    double cost;          /* seconds of runs again                                           */
    int foresight;        /* how deep runs are priced before one is added instead of keeping  */
    int n_host;           /* pairs of uses between which an item is on the host              */
    int64_t steps;        /* uses looked at so far: what work is counted in                  */
    struct pl_evict_inner *within;
    struct pl_evict_retain_log *log;
    pl_arena *arena;
} pl_evict_retain;

/* Everything is kept from its first use to its last. `arena` owns it. */
pl_evict_retain *pl_evict_retain_new(const pl_evict_items *items, int64_t budget, pl_arena *arena);
void pl_evict_retain_set_budget(pl_evict_retain *retain, int64_t budget);
void pl_evict_retain_sum(pl_evict_retain *retain); /* what is over, again: where weights changed */

/* Change how item gets to its use k (> 0). False: it may not be, or is so already; nothing
 * changed. */
bool pl_evict_retain_change(pl_evict_retain *retain, int item, int k, pl_evict_retain_how how,
                            int gone, int back);

/* A place to go back to: undo what changed since, for any number of places, the last first; until
 * accept, which forgets them all. */
typedef struct pl_evict_retain_mark {
    int uses, runs, loads, inners, counts, use_pool, run_pool, n_over, n_host;
    double cost, over;
} pl_evict_retain_mark;
pl_evict_retain_mark pl_evict_retain_here(pl_evict_retain *retain);
void pl_evict_retain_undo(pl_evict_retain *retain, pl_evict_retain_mark mark);
void pl_evict_retain_accept(pl_evict_retain *retain);

/* All choices, to return to: of the same items. */
typedef struct pl_evict_retain_saved pl_evict_retain_saved;
pl_evict_retain_saved *pl_evict_retain_save(const pl_evict_retain *retain, pl_arena *arena);
void pl_evict_retain_load(pl_evict_retain *retain, const pl_evict_retain_saved *saved);

/* Index of the first use of an item in a stage >= stage; n where there is none. */
int pl_evict_retain_find(const pl_evict_retain *retain, int item, int stage);

int64_t pl_evict_retain_peak(const pl_evict_retain *retain, int *stage); /* of all stages */

#endif
