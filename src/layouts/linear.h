/* layouts/linear.h - the factors of a linear layer by their part in [m,k] x [k,n].
 *
 * A linear layer is a node that reads a weight W of two or more dimensions and activations
 * X, and sums (or looks up) a factor of W that its output Y lacks. That is all that strategies know
 * of a model. A convolution is one with k its input channels; an embedding is one whose k is the
 * table's rows. */
#ifndef PL_LAYOUTS_LINEAR_H
#define PL_LAYOUTS_LINEAR_H
#include "graph/graph.h"

typedef struct pl_linear {
    int w, x;       /* inputs: the weights, and the activations                                  */
    bool lookup;    /* k is a table's index: the activations do not have it                      */
    /* factors that may be split, a bit each */
    uint32_t batch; /* X, W, Y     */
    uint32_t m;     /* X, Y        */
    uint32_t n;     /* W, Y        */
    uint32_t k;     /* X, W, not Y */
} pl_linear;

/* False when the node is none. Output 0 counts as Y. */
bool pl_linear_find(const pl_node *n, pl_linear *out);

/* Among the factors of a set the one that has the most positions, 0 for an empty set. */
int64_t pl_linear_widest(const pl_node *n, uint32_t set);

#endif
