/* data/counts.h - how often each row of a table is in the data, for inputs of ids: what caches of
 * tables are filled by, and planned with. A file of them is safetensors: an i64 tensor for each
 * such input, under its name, as long as its table. */
#ifndef PL_DATA_COUNTS_H
#define PL_DATA_COUNTS_H
#include "base/output.h"
#include "data/data.h"

typedef struct pl_counts {
    int n;
    struct pl_counts_of {
        const char *input;
        int64_t rows;
        const int64_t *at; /* [rows] */
    } *of;                 /* [n]    */
} pl_counts;

/* Of what trains, of data that have rows (PL_DATA_TENSORS) or of a text; of other data of none. The
 * tables are those of `graph`. `arena` owns them. */
pl_counts pl_counts_take(const pl_data *data, const pl_graph *graph, pl_arena *arena);

/* Those of a file, which `arena` keeps, for the inputs of a graph that look up rows. Fails with
 * PL_EINPUT: the file is none of safetensors, or naming inputs that it does not have, or has of
 * tables of other sizes. */
PL_MUST_CHECK bool pl_counts_read(const char *path, const pl_graph *graph, pl_arena *arena,
                                  pl_counts *out, pl_err *err);

/* Fails as pl_output_write. */
PL_MUST_CHECK bool pl_counts_write(const pl_counts *counts, pl_output *file, pl_err *err);

const int64_t *pl_counts_find(const pl_counts *counts, const char *input); /* NULL: not known */

#endif
