/* graph/excerpt.h - a part of a step: what some of its outputs, and of the changes of its states,
 * need. */
#ifndef PL_GRAPH_EXCERPT_H
#define PL_GRAPH_EXCERPT_H
#include "graph/graph.h"

typedef struct pl_excerpt {
    const pl_graph *whole;
    pl_graph *graph;         /* names, and the order of what stays, are those of the whole one */
    const int *node, *value; /* [of the graph] ids in the whole one                            */
} pl_excerpt;

/* keeps [values of the whole graph]: of an output, it stays one; of a state, the step changes it as
 * the whole one does (else it is read at most). States that nothing reads or changes are left out.
 * `out` owns the result. */
void pl_graph_excerpt(const pl_graph *whole, const bool keeps[], pl_arena *out, pl_excerpt *x);

/* A copy of a value, in another graph by that name; maker, next and of are those of the first. */
pl_value *pl_graph_copy_value(pl_graph *to, const pl_value *v, const char *name);

#endif
