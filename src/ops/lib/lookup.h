/* ops/lib/lookup.h - what the operators share that look up rows of a table, or add to them.
 *
 * The letter that the ids count is their operator's `lookup`. A share of it has some of the rows:
 * ids of others, and those outside of the whole table, bring nothing. */
#ifndef PL_OPS_LIB_LOOKUP_H
#define PL_OPS_LIB_LOOKUP_H
#include "graph/share.h"

/* Reference kernels: the rows of in[0] that in[1] names; and a table of zeros to whose rows, named
 * by in[0], in[1] is added. */
void pl_lookup_take(const pl_share *s, const void *const in[], void *const out[]);
void pl_lookup_add(const pl_share *s, const void *const in[], void *const out[]);
double pl_lookup_add_flops(const pl_share *s);

#endif
