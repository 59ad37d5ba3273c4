/* graph/form.h - may a node's own signature stand for its operator's?
 *
 * A node may name its own letters ("vh,bs->bsh" for the embedding's "vh,...->...h"), but each has
 * to stand where the kernel and the gradient expect it. A form says where, in words:
 *
 *   "02"      a letter may stand in just the operands 0 and 2 (counted from 0, inputs first)
 *   "v:0"     the letter v is needed, and stands in operand 0 alone
 *   "[0]01"   there are windows, all of them in operand 0 and in no other; their taps stand in 0, 1
 *   "1>1"     one input and one output; for an operator without a signature of its own
 *
 * Without a form the operator's own signature is read as one: a letter of a node may stand in just
 * the operands in which one of its letters stands, and whole and lookup letters are needed. So
 * "vh,...->...h" with the lookup letter v says "v:0 02 12". */
#ifndef PL_GRAPH_FORM_H
#define PL_GRAPH_FORM_H
#include "graph/graph.h"

/* n->sig against n->op: the number of operands, where the letters stand, which are needed, where
 * windows stand; and for `elementwise` that inputs with all letters of output 0 are laid out like
 * it. Operators with neither form nor signature check all of this in infer. Fails with PL_EINPUT
 * naming the letter and where it stands. */
PL_MUST_CHECK bool pl_form_check(const pl_node *node, pl_err *err);

#endif
