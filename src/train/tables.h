/* train/tables.h - tables that lie in slow memory: the host's, or a file. A process has each of
 * them whole, once for all of its ranks; these have caches of them (train/caches.h).
 *
 * Of ranks that hold the same rows the first one writes them back: no two write the same bytes.
 * What one writes before a step the others read after it, and a step ends on all ranks together. */
#ifndef PL_TRAIN_TABLES_H
#define PL_TRAIN_TABLES_H
#include "data/init.h"
#include "run/checkpoint.h"
#include "run/hostblock.h"

/* The whole of a state that is a cache on the device. */
typedef struct pl_table {
    const char *state;
    int64_t rows, width;
    float *row; /* [rows, width] */
} pl_table;

typedef struct pl_tables {
    int n;
    pl_table *at;
    pl_hostblock block;
} pl_tables;

/* Bytes that those of a graph need; 0: it has none. */
int64_t pl_tables_bytes(const pl_graph *graph);

/* Of the states of a graph that are caches, with initial values, or with what a checkpoint has of
 * them (`resume`, or NULL; a state that it has not, or in another shape, stays zero, which
 * pl_state_load refuses). dir: as of pl_hostblock_new. `arena` owns the list. Fails as
 * pl_hostblock_new and pl_init_fill do. */
PL_MUST_CHECK bool pl_tables_open(const pl_graph *graph, const char *dir, const pl_init *from,
                                  const pl_checkpoint *resume, pl_arena *arena, pl_tables *out,
                                  pl_err *err);
void pl_tables_free(pl_tables *t);

/* A row will be read soon: where it lies in a file, it begins to come. */
void pl_tables_want(const pl_tables *t, const pl_table *table, int64_t row);

const pl_table *pl_tables_find(const pl_tables *t, const char *state); /* it has it */

#endif
