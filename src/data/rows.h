/* data/rows.h - tensors of a safetensors file as data: each is named as an input of the
 * graph, its first dimension counts rows. The first part of the rows trains, the rest validates; a
 * row of a batch is a random one, a function of (seed, step, row), or the next one of the file. */
#ifndef PL_DATA_ROWS_H
#define PL_DATA_ROWS_H
#include "graph/graph.h"
#include "data/data.h"

/* Map a file for the inputs of n graphs; those that pl_data_is_scalar knows are not looked for.
 * `share` (0 < share < 1) of the rows trains; in_order: rows are taken as they lie in the file,
 * from the first again after the last. Fails with PL_EINPUT: unreadable, no safetensors file; too
 * few rows; and, all at once, naming each: inputs that are missing, of other shapes or types
 * (pl_tensors_fit), with ids or labels outside of the table that they are looked up in, tensors of
 * other numbers of rows. */
PL_MUST_CHECK bool pl_data_rows_open(const char *path, double share, bool in_order, int n,
                                     const pl_graph *const graph[], pl_arena *arena, pl_data *out,
                                     pl_err *err);

/* The same of tensors that are open; they are *out's then, and freed when it fails. */
PL_MUST_CHECK bool pl_data_rows_take(const pl_tensors *tensors, double share, bool in_order, int n,
                                     const pl_graph *const graph[], pl_arena *arena, pl_data *out,
                                     pl_err *err);

/* As pl_data_fill. */
void pl_data_rows_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                       int64_t n_valid, void *to);

#endif
