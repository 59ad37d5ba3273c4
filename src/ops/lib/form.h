/* ops/lib/form.h - may a node's own signature stand for the operator's?
 *
 * A node may name its own letters ("vh,bs->bsh" for the embedding's "vh,...->...h"), but each
 * letter has to stand where the kernel and the gradient expect it. A form says so in words:
 *
 *   "v:0 02 12"    letter v stands in operand 0 alone and must be there; every other letter stands
 *                  in just the operands 0 and 2, or in just 1 and 2 (inputs first, then outputs) */
#ifndef PL_OPS_LIB_FORM_H
#define PL_OPS_LIB_FORM_H
#include "graph/graph.h"

/* The numbers of operands, every letter against the form; also: no windows, no letter twice in one
 * operand. Fails with PL_EINPUT naming the letter and where it stands. */
PL_MUST_CHECK bool pl_form_check(const pl_sig *sig, int n_in, int n_out, const char *form,
                                 pl_err *err);

/* For an infer hook that needs sizes which are only solved after it: solve them now, in a copy.
 * Sizes that the hook is about to set have to be in the copy already, with any value. */
PL_MUST_CHECK bool pl_form_solve(const pl_node *n, pl_sig *copy, pl_err *err);

#endif
