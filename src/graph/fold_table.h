/* graph/fold_table.h - a graph as tables of numbers, for fold.c: what looks the same has the same
 * number, and names are gone. That a node is `of` another is written as a value more: the last
 * output of each node, which the nodes that are of it take as their last input. */
#ifndef PL_GRAPH_FOLD_TABLE_H
#define PL_GRAPH_FOLD_TABLE_H
#include "graph/graph.h"

typedef struct pl_reader {
    int node, pos;
} pl_reader;

enum { PL_FOLD_ROUNDS = 4 };

typedef struct pl_fold_table {
    pl_arena *arena;
    int n_nodes, n_kinds;
    int n_values, n_data;     /* values [n_data, n_values) only say `of`                          */
    int *kind;                /* [nodes] equal: same operator, signature text, attributes (but
                                 those that only count), types and shapes; has an `of` or none    */
    int *first_in, *in;       /* [nodes + 1] into values                                          */
    int *first_out, *out;     /* [nodes + 1] into values                                          */
    bool *backward;           /* [nodes] a gradient goes into it                                  */
    int *maker, *port;        /* [values] node and output; -1: a leaf                             */
    int *leaf;                /* [values] equal: role, type, shape, init, kind, has a next;
                                 -1: computed                                                     */
    int *next, *next_of;      /* [values] or -1; next_of -2: of several                           */
    bool *reported;           /* [values] an output of the graph                                  */
    bool *number;             /* [values] a single one                                            */
    int *first_reader;        /* [values + 1] into reader                                         */
    pl_reader *reader;        /* in the order of the nodes                                        */
    uint64_t *sum;            /* [values] of the kinds and positions of its readers               */
    uint64_t *colour[PL_FOLD_ROUNDS]; /* see pl_fold_table_refine                                 */
} pl_fold_table;

/* `arena` owns the table. */
pl_fold_table pl_fold_table_new(const pl_graph *graph, pl_arena *arena);

/* Make colour[r][node], if not made yet: equal for nodes around which the graph is the same for
 * r + 1 steps (Weisfeiler and Lehman, 1968). */
void pl_fold_table_refine(pl_fold_table *table);

/* A hash for adding up: never 0, which would leave its like out of the sum. Neither number is
 * negative. */
uint64_t pl_fold_key(int what, int pos);
/* What a reader adds to the sum of a value. */
uint64_t pl_fold_reader_key(const pl_fold_table *table, const pl_reader *r);
int *pl_fold_ints(pl_arena *arena, int n, int value); /* n + 1 times value */

#endif
