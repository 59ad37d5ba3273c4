/* train/caches.h - a rank's caches: before a batch, its rows come from their tables (tables.h) into
 * the states of the device, and the ids of its inputs become places there. All ranks see the ids of
 * the whole batch, and decide alike. */
#ifndef PL_TRAIN_CACHES_H
#define PL_TRAIN_CACHES_H
#include "cache/cache.h"
#include "data/counts.h"
#include "run/exec.h"
#include "train/tables.h"

typedef struct pl_caches_options {
    const pl_cache_policy *policy;
    const pl_counts *counts;
    int64_t ahead; /* steps whose ids are read ahead: for the policy, and for files */
    int64_t micro; /* batches of a step                                           */
    double warm;   /* share of the places that frequent rows have from the start  */
} pl_caches_options;

/* Fills the whole of an input of ids for micro-batch k of a step; step < 0: of an evaluation. It is
 * called from several threads. */
typedef void pl_caches_read(void *of, const pl_value *ids, int64_t step, int64_t k, int32_t *to);

typedef struct pl_caches pl_caches;

/* Of the states of `store` that are caches, whose lookups are in `graph` (of one micro-batch).
 * `rank` is one of the plan's, `tables` has all of them. `arena` owns it. */
pl_caches *pl_caches_new(const pl_graph *graph, const pl_plan *plan, const pl_store *store,
                         int rank, const pl_tables *tables, const pl_caches_options *o,
                         pl_arena *arena);

/* The most frequent rows come in. */
void pl_caches_warm(pl_caches *c, pl_exec *exec);

/* The rows of a step, or of an evaluation, come in. Fails with PL_ERUN where a table has no room
 * for them, naming it and both numbers: on all ranks alike. */
PL_MUST_CHECK bool pl_caches_take(pl_caches *c, pl_exec *exec, pl_caches_read *read, void *of,
                                  int64_t step, pl_err *err);

/* The places that an input is to hold for micro-batch k of what was taken last, whole; NULL: it is
 * none of ids of cached tables. */
const int32_t *pl_caches_places(const pl_caches *c, const char *input, int64_t k);

/* What was changed goes to the tables. */
void pl_caches_flush(pl_caches *c, pl_exec *exec);

/* Of all caches together. */
pl_cache_stats pl_caches_stats(const pl_caches *c);

#endif
