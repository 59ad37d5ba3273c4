/* data/ids.h - inputs whose numbers are looked up: ids of a table's rows, labels of classes. */
#ifndef PL_DATA_IDS_H
#define PL_DATA_IDS_H
#include "graph/graph.h"

/* What the numbers of an input have to be below, by all nodes that look them up: the rows of the
 * smallest table, of a cached one of the whole; 0: none does. *least: the smallest that they may
 * be; a label below 0 is ignored (ops/cross_entropy_loss.c). */
int64_t pl_ids_below(const pl_graph *graph, const pl_value *input, int64_t *least);

/* A table whose rows they name; NULL: none. */
const pl_value *pl_ids_table(const pl_graph *graph, const pl_value *input);

/* What the numbers of all inputs of whole numbers have to be below, found once. */
typedef struct pl_limits {
    const pl_graph *graph; /* NULL: of none, `otherwise` holds for all */
    int64_t otherwise;     /* where no node looks anything up          */
    int64_t *below;        /* [values] 0: nothing is looked up by it   */
    struct pl_bags *bags;  /* [values] those whose bounds it is (bags.h) */
} pl_limits;

/* `places`: of the graph as it stands, where ids of rows of a table (pl_value.rows) have become
 * places in its cache. */
pl_limits pl_ids_limits(const pl_graph *graph, int64_t otherwise, bool places, pl_arena *arena);
int64_t pl_ids_limit(const pl_limits *limits, const char *input);
/* The bags that an input says the bounds of; NULL: it says none. */
const struct pl_bags *pl_ids_bags(const pl_limits *limits, const char *input);

#endif
