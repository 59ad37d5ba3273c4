/* layouts/storage.h - where inputs, and the states that no forward node reads, are stored. */
#ifndef PL_LAYOUTS_STORAGE_H
#define PL_LAYOUTS_STORAGE_H
#include "layouts/layer.h"

/* Splits what is left of a dimension over one more axis, which becomes the minor-most. */
void pl_storage_append(pl_placement *p, int dim, int axis);

/* Dimension 0 of every input that has several rows: over the axes that split the batch, and over
 * those of rows as far as there are enough; and what layouts split beyond. Before pl_forward_open.
 * Fails with PL_EINPUT where one of them finds nothing to split; all else is split then. */
PL_MUST_CHECK bool pl_storage_inputs(const pl_strategy *s, pl_plan *p, pl_err *err);

/* Rows of the batch: as many as an input has; 0: no input has any. */
int64_t pl_storage_count_rows(const pl_graph *g);

/* States of the batch's rows (PL_ROWS), and numbers drawn for them, are split as inputs are. */
void pl_storage_rows(pl_forward *r);

/* States that the other plan's graph has too, by name and shape, are stored as there. */
void pl_storage_like(pl_propagation *f, const pl_plan *like);

/* All other states: moments like their weights, and over the axes that a layout adds (pl_rest).
 * Such an axis splits dimension 0 when that divides, else the first dimension that does, else
 * dimension 0 unevenly: a factor of the node that changes the state, which works as it is stored.
 * Scalars stay copied. */
void pl_storage_finish(pl_forward *r, const pl_plan *like);

#endif
