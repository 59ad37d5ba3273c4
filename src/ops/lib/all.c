#include "ops/lib/all.h"

#include "ops/list.h"

#define ROW(name) &pl_op_##name,
static const pl_op *const rows[] = { PL_OP_LIST(ROW) };

const pl_ops pl_ops_all = { sizeof rows / sizeof *rows, rows };
