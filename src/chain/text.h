/* chain/text.h - a chain as text, and back: a problem can be kept, and searched again without the
 * model that it came from.
 *
 *     chain 12                        copies
 *     outside 1 0                     variables, edges
 *     variable 2 0.5 inf / 8 0        values, times, and where there is memory that
 *     block 2 1
 *     variable 2 0 1
 *     variable 1 0
 *     edge 0 1 0 0.25 / 4 4           a, b, times row by row, and where there is memory that
 *     links 1                         then "first", "last" and "every" in the same way
 *     edge 1 0 0 3
 *     ...
 *
 * Numbers are exact: what is parsed has the same answer, and prints the same. */
#ifndef PL_CHAIN_TEXT_H
#define PL_CHAIN_TEXT_H
#include "base/text.h"
#include "chain/chain.h"

void pl_chain_print(const pl_chain *chain, pl_text *out);

/* Fails with PL_EINPUT, naming the line. A checked chain (pl_chain_check); `arena` owns it. */
PL_MUST_CHECK bool pl_chain_parse(const char *text, pl_arena *arena, pl_chain *out, pl_err *err);

#endif
