/* plan/file_rows.h - what a plan file says of nodes and tensors, by name: no graph is known yet. */
#ifndef PL_PLAN_FILE_ROWS_H
#define PL_PLAN_FILE_ROWS_H
#include "plan/plan.h"

#define PL_PLAN_SCHEMA "pleat.plan/1"
#define PL_PLAN_LINEAR "linear:"

typedef struct pl_stored_row {
    const char *tensor;
    pl_placement where;
    int dims;            /* that the text of the placement has: of a scalar 1                    */
} pl_stored_row;

typedef struct pl_regather_row {
    const char *tensor;
    uint8_t axes;        /* as pl_plan.regather                                                  */
} pl_regather_row;

typedef struct pl_node_row {
    const char *node;
    pl_choice choice;    /* factors are letters; levels in the one form that a reader gives them */
} pl_node_row;

typedef struct pl_plan_rows {
    int n_stored, n_regather, n_nodes;
    pl_stored_row *stored;
    pl_regather_row *regather;
    pl_node_row *node;
} pl_plan_rows;

#endif
