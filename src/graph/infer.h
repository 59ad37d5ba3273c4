/* graph/infer.h - what a node's text, operator and inputs say of it: signature, shapes, types. */
#ifndef PL_GRAPH_INFER_H
#define PL_GRAPH_INFER_H
#include "graph/graph.h"

/* Sets n->attr, n->sig, and the shapes of its outputs; op, spec and inputs are set. Nodes of one
 * kind, of the same operator, text, and shapes and types of inputs, share what the first of them
 * was found to be. `arena` owns it, and outlives `kinds`. Fails with PL_EINPUT, and says what is
 * wrong with the text or the inputs. */
PL_MUST_CHECK bool pl_infer(pl_kinds *kinds, pl_arena *arena, pl_node *n, pl_shape shape[],
                            pl_err *err);

/* The types of its outputs. Fails as above. */
PL_MUST_CHECK bool pl_infer_types(const pl_node *node, pl_type out[], pl_err *err);

/* The letter of an operand (op.h, types): the last inputs may be missing. */
char pl_infer_rule(const pl_node *n, int operand);

#endif
