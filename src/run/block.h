/* run/block.h - one piece of memory as a device has it: on huge pages where there are any (page
 * faults cost a training step 30 %, small pages an addition of long arrays 10 %). */
#ifndef PL_RUN_BLOCK_H
#define PL_RUN_BLOCK_H
#include "base/err.h"

#include <stddef.h>

/* Zeros, aligned to pages; they come when they are touched. Fails with PL_ERUN. */
PL_MUST_CHECK bool pl_block_new(size_t bytes, char **out, pl_err *err);

void pl_block_free(char *block, size_t bytes); /* of pl_block_new; NULL is fine */

#endif
