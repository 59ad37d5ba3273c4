/* evict/items.h - a problem of evict.h from the other sides: storages, what ops make, who reads.
 *
 * An item is a storage: the value that has it and all views of it. Items are 0 .. n_item - 1 in the
 * order of their values. */
#ifndef PL_EVICT_ITEMS_H
#define PL_EVICT_ITEMS_H
#include "evict/evict.h"

typedef struct pl_evict_item {
    int root;      /* value with the storage                                                  */
    int64_t bytes;
    int born;      /* op that makes it first, or -1: there from the start                     */
    int last;      /* op that reads it (or a view) last, or born; n_op: needed at the end     */
    int held;      /* op before which the program lets go of it; n_op: never                  */
    bool pinned, at_end;
    bool again;    /* it may be made again: its maker and those of its views may run again (where
                    * runs are limited, an item with views is left alone)                     */
    double again_seconds; /* to make it and all views of it again, their inputs being there   */
} pl_evict_item;

typedef struct pl_evict_items {
    const pl_evict_problem *problem;
    int n_op, n_value, n_item;
    int *item_of;                  /* [n_value]                                               */
    pl_evict_item *item;           /* [n_item]                                                */
    int *value_at, *value;         /* [n_item + 1] values of an item, the root first          */
    int *make_at, *make;           /* [n_op + 1] values made by an op                         */
    int *in_at, *in;               /* [n_op + 1] items read by an op, each once               */
    int *out_at, *out;             /* [n_op + 1] items made by an op: none of a view's maker  */
    int64_t *made;                 /* [n_op] bytes made by an op                              */
    int *use_at, *use;             /* [n_item + 1] ops that read or make an item, rising      */
} pl_evict_items;

/* `arena` owns it; the problem is a valid one and outlives it. */
pl_evict_items *pl_evict_items_new(const pl_evict_problem *problem, pl_arena *arena);

bool pl_evict_items_is_view(const pl_evict_items *x, int value);

#endif
