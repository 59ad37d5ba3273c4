/* data/ids.h - inputs whose numbers are looked up: ids of a table's rows, labels of classes. */
#ifndef PL_DATA_IDS_H
#define PL_DATA_IDS_H
#include "graph/graph.h"

/* What the numbers of an input have to be below, by all nodes that look them up: the rows of the
 * smallest table; 0: none does. *least: the smallest that they may be; a label below 0 is ignored
 * (ops/cross_entropy_loss.c). */
int64_t pl_ids_below(const pl_graph *graph, const pl_value *input, int64_t *least);

/* The same of an input by its name; `otherwise` where no node looks anything up by it. */
int64_t pl_ids_limit(const pl_graph *graph, const char *input, int64_t otherwise);

#endif
