/* plan/file_rows.h - what a plan file says of nodes and tensors, by name: no graph is known yet. */
#ifndef PL_PLAN_FILE_ROWS_H
#define PL_PLAN_FILE_ROWS_H
#include "plan/plan.h"

#define PL_PLAN_SCHEMA "pleat.plan/4"
#define PL_PLAN_SCHEMA_3 "pleat.plan/3"
#define PL_PLAN_SCHEMA_2 "pleat.plan/2"
#define PL_PLAN_SCHEMA_1 "pleat.plan/1"
#define PL_PLAN_LINEAR "linear:"
#define PL_PLAN_HOST "host"

typedef struct pl_stored_row {
    const char *tensor;
    pl_placement where;
    int dims;            /* that the text of the placement has: of a scalar 1                    */
} pl_stored_row;

/* Where a tensor is kept (pl_plan.kept). */
typedef struct pl_kept_row {
    const char *tensor;
    bool by_axes;        /* of version 1: as pl_plan_keep has it, with these axes                */
    unsigned axes;
    pl_placement where;  /* else here                                                            */
    int dims;            /* as of pl_stored_row                                                  */
} pl_kept_row;

typedef struct pl_node_row {
    const char *node;
    pl_choice choice;    /* factors are letters; levels in the one form that a reader gives them */
    bool on_host;
} pl_node_row;

typedef struct pl_stage_row {
    const char *node;
    int stage;
} pl_stage_row;

typedef struct pl_plan_rows {
    int n_stored, n_kept, n_recomputed, n_nodes, n_stages;
    pl_stored_row *stored;
    pl_kept_row *kept;
    const char **recomputed; /* names */
    pl_node_row *node;
    int axis;                /* of the stages; -1: there are none                                */
    const char *schedule, *passes; /* its name, and its rows as PyTorch's files have them        */
    pl_stage_row *stage;     /* of forward nodes                                                 */
} pl_plan_rows;

#endif
