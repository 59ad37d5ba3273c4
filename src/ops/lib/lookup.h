/* ops/lib/lookup.h - what the operators share that look up rows of a table, or add to them.
 *
 * The letter that the ids count is their operator's `lookup`. A share of it has some of the rows:
 * ids of others, and those outside of the whole table, bring nothing. */
#ifndef PL_OPS_LIB_LOOKUP_H
#define PL_OPS_LIB_LOOKUP_H
#include "graph/walk.h"

/* Where the row begins, in operand `table`, that operand `ids` names at w's point, counted from the
 * walk's place there; -1: the share has it not. */
int64_t pl_lookup_row(const pl_walk *w, const void *const in[], int ids, int table);

/* Reference kernels: the rows of in[0] that in[1] names, added up over what the result lacks; and a
 * table of zeros to whose rows, named by in[0], in[1] is added. */
void pl_lookup_take(const pl_share *s, const void *const in[], void *const out[]);
double pl_lookup_take_flops(const pl_share *s);
void pl_lookup_add(const pl_share *s, const void *const in[], void *const out[]);
double pl_lookup_add_flops(const pl_share *s);

#endif
