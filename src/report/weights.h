/* report/weights.h - how a plan splits weights: a row for those that differ by the number of their
 * block only. */
#ifndef PL_REPORT_WEIGHTS_H
#define PL_REPORT_WEIGHTS_H
#include "program/program.h"

typedef struct pl_weights_row {
    const char *name;    /* "h.*.mlp.c_fc.weight": program/names.h                             */
    const char *shape;   /* "f32[768,3072]"                                                    */
    const char *stored;  /* a placement, or "whole"                                            */
    const char *used;    /* where the first node of the forward pass reads it                  */
    unsigned axes;       /* of the mesh, that split it at rest or in use                       */
    int count;
    int64_t bytes;       /* of one device, all of them                                         */
    const pl_value *one; /* the first of them                                                  */
} pl_weights_row;

typedef struct pl_weight_rows {
    int n;
    pl_weights_row *row; /* [n] in the order of the graph */
} pl_weight_rows;

pl_weight_rows pl_weights_of(const pl_plan *p, const pl_store *store, pl_arena *out);

#endif
