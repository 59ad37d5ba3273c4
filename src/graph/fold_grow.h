/* graph/fold_grow.h - equal instances of a block, grown from one node of each, for fold.c. */
#ifndef PL_GRAPH_FOLD_GROW_H
#define PL_GRAPH_FOLD_GROW_H
#include "graph/fold_table.h"

enum { PL_FOLD_MAX_READERS = 64 }; /* with more a value is a hub, whose readers tell nothing */

/* An operand of all instances of a slot: output `port`, or input ~port. */
typedef struct pl_fold_port {
    int slot, port;
} pl_fold_port;

/* All instances of a block: slots [0, n) of `length` nodes each. */
typedef struct pl_fold_growth {
    pl_fold_table *t;
    pl_arena *arena;
    int length, n, n_alive;
    int *node;              /* [slot][instance]                                                   */
    bool *alive;            /* [slot]                                                             */
    int *slot, *inst;       /* [nodes] slot -1: in none, -2: not to be taken                      */
    int *votes;             /* [instance] how often it was unlike the instance before             */
    int score;              /* nodes in slots that are alive; 0 unless they are a chain           */
    int n_crossing;         /* outputs of slots that a neighbour takes                            */
    bool torn;              /* a node outside reads one in the middle, but not all of them        */
    int forward, back;      /* inputs of forward nodes, of nodes with `of`, that come from the
                               instance before, less those from the one after                     */
    int round, *crossed;    /* [values] the last round in which it crossed                        */
    int64_t work;           /* steps done, over all growths                                       */
    struct { int n, cap; pl_fold_port *at; } late; /* ports whose readers are uncertain         */
} pl_fold_growth;

pl_fold_growth pl_fold_grow_new(pl_fold_table *table, pl_arena *arena);

/* Grow instances from n >= 1 slots, each of `length` >= 2 nodes of a kind, then take out slots
 * until what is left holds all that fold.h promises. Slots are `stride` nodes apart in `node`: they
 * may be some of the instances that were grown before. The answer is in `growth`. */
void pl_fold_grow(pl_fold_growth *growth, int n, const int *node, int stride, int length);

/* Of the readers of value b that are free (free_b[node] is -1) the one that is to b what the k-th
 * reader of value a is to a among those that are free there: of its kind, in its position, and when
 * there are several, as many for a as for b, of its colour, or else of its rank. Its node, or -1.
 * With `sure` -2 where there are several. */
int pl_fold_grow_match(pl_fold_table *table, int a, int k, const int *free_a, int b,
                       const int *free_b, bool sure);

#endif
