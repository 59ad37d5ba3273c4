/* graph/fold.h - the repeated blocks of a graph, found by isomorphism and never by names.
 *
 * A class is a chain of equal blocks: `n_instances` times the same `n_nodes` slots. With i an
 * instance and s a slot, node[i][s] is for every i the same operator with the same signature text,
 * attributes (but those that only count: fold_table.c), types and shapes, and
 *   - each input of it is, for all i alike, one of
 *       output o of slot t of instance i;
 *       output o of slot t of instance i - 1, or for all i of i + 1, where the first (the last)
 *       instance has any value from outside the class;
 *       one value from outside the class that all instances share;
 *       a leaf of its own: equal in role, type, shape, init, kind; read by the same slots of
 *       its instance and by nothing else; its `next` made by the same output of its instance;
 *   - its `of` is likewise none, of the same instance, of a neighbour, or shared;
 *   - its outputs are, for all i alike, reported or not, the `next` of such a leaf or not; and all
 *     instances but the first and the last are read by equal nodes outside the class.
 * Instances are in chain order: forward nodes read the instance before, so gradients flow from the
 * instance after. At least one slot reads a neighbour. A node is in one class at most. */
#ifndef PL_GRAPH_FOLD_H
#define PL_GRAPH_FOLD_H
#include "graph/graph.h"

typedef struct pl_fold_class {
    int n_nodes, n_instances; /* n_instances >= 2                               */
    const int *const *node;   /* [instance][slot] node ids, ascending in [0][*] */
} pl_fold_class;

typedef struct pl_fold {
    int n_classes;            /* 0: nothing repeats                             */
    const pl_fold_class *at;
    const int *class_of, *instance_of, *slot_of; /* [nodes] -1: in no block     */
} pl_fold;

/* Blocks as large and as many as were found; classes are in the order of their first node. What
 * each instance gives to all may be added up by one or two nodes less than there are instances, as
 * is the gradient of what all of them read: such nodes are in the block, and the first instance,
 * the last or both are left outside, where three stay. The same graph under other names gives the
 * same answer. About linear in the size of the graph. `out` owns the answer. */
pl_fold pl_fold_find(const pl_graph *graph, pl_arena *out);

/* Of the classes with at least so many instances the one whose blocks hold the most nodes; -1:
 * none. */
int pl_fold_largest(const pl_fold *fold, int least);

/* Does all of the above hold? Shares nothing with the finder. Fails with PL_EINTERNAL naming the
 * class, the slot and the instance. */
PL_MUST_CHECK bool pl_fold_check(const pl_graph *graph, const pl_fold *fold, pl_err *err);

#endif
