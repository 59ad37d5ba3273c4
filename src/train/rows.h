/* train/rows.h - gradients of tables that only lookups read: ids and rows in place of a tensor of
 * the table's shape. */
#ifndef PL_TRAIN_ROWS_H
#define PL_TRAIN_ROWS_H
#include "graph/graph.h"

/* A gradient that is rows: of ids[n] each that differs stands once, then come places with -1; of
 * rows f32[n, h] each is the sum of what its id has. n is the number of ids, or of the table's rows
 * where those are fewer. Many tables [t, v, h] have a list each: ids[t, n], rows f32[t, n, h]. */
typedef struct pl_row_grad {
    pl_value *ids, *rows;
} pl_row_grad;

/* Is a gradient that of one lookup in a table [v, h], or in many [t, v, h]? */
bool pl_rows_are(const pl_value *grad);
/* And are a step's ids fewer than the rows? Else a tensor of the table's shape is no larger. */
bool pl_rows_are_few(const pl_value *grad);

/* The gradient of f32 table `weight` as rows, in nodes named after it; what made `grad` is then in
 * nobody's use. False, and nothing was added: it is not pl_rows_are. */
bool pl_rows_add(pl_builder *b, const pl_value *weight, const pl_value *grad, pl_row_grad *out);

#endif
