/* graph/autodiff.h - reverse-mode differentiation within the IR (Griewank & Walther, Evaluating
 * Derivatives, 2008, ch. 3): each operator builds its own gradient from nodes. */
#ifndef PL_GRAPH_AUTODIFF_H
#define PL_GRAPH_AUTODIFF_H
#include "graph/graph.h"

/* Add the nodes that compute d loss / d wrt[i] to the graph under construction.
 *
 *   loss   a float scalar
 *   grad   [n] of wrt's shapes; NULL where the loss does not depend on wrt[i]
 *
 * Uses the operators "fill" and "add" of the graph's set. Fails (sticky error of b) naming the
 * operator on the way that has no gradient. */
void pl_autodiff(pl_builder *b, pl_value *loss, int n, pl_value *const wrt[], pl_value *grad[]);

#endif
