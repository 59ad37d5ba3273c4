/* data/clicks.h - logs of clicks as data: a line each, columns parted by tabs or commas, plain or
 * compressed by gzip. Of each line a label, numbers and ids, as the inputs "label", "dense" and
 * "cat_0", "cat_1" ... of a recommender (models/dlrm.c) have them.
 *
 *   Criteo   no header: label, as many numbers as the model has (13), ids (26, of 8 hex digits)
 *   others   a header: "label" or "click", "I1", "I2" ... are numbers, "id" is left out, all others
 *            are ids (Avazu; Criteo with a header)
 *
 * A number x is read as log(1 + max(x, 0)); an id as a hex number, or else by its hash, modulo the
 * rows of its table; what is empty is 0. Source: the code of Naumov et al.'s DLRM. */
#ifndef PL_DATA_CLICKS_H
#define PL_DATA_CLICKS_H
#include "data/data.h"

/* Read a file into memory, 4 bytes for each column of each line, and divide it as
 * pl_data_rows_open does. Fails with PL_EINPUT: unreadable, cut short; a header or a line that does
 * not fit, with line, column and what stands there; other numbers of columns than the model has;
 * and as pl_data_rows_open. */
PL_MUST_CHECK bool pl_data_clicks_open(const char *path, double share, bool in_order, int n,
                                       const pl_graph *const graph[], pl_arena *arena, pl_data *out,
                                       pl_err *err);

#endif
