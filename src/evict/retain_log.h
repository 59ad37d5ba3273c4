/* evict/retain_log.h - what to put back when changes of a pl_evict_retain are undone. */
#ifndef PL_EVICT_RETAIN_LOG_H
#define PL_EVICT_RETAIN_LOG_H
#include "evict/retain.h"

typedef struct pl_evict_retain_log pl_evict_retain_log;

pl_evict_retain_log *pl_evict_retain_log_new(const pl_evict_items *items, pl_arena *arena);

/* Before a change of these; the uses of an item and the runs of a stage are copied once. */
void pl_evict_retain_log_uses(pl_evict_retain_log *log, const pl_evict_retain *retain, int item);
void pl_evict_retain_log_runs(pl_evict_retain_log *log, const pl_evict_retain *retain, int stage);
void pl_evict_retain_log_load(pl_evict_retain_log *log, int from, int to, int64_t bytes);
void pl_evict_retain_log_inner(pl_evict_retain_log *log, int stage, int64_t was);
void pl_evict_retain_log_count(pl_evict_retain_log *log, int op, int change);

/* Add bytes to stages from .. to, and keep the sums above the budget; not written down. */
void pl_evict_retain_add(pl_evict_retain *retain, int from, int to, int64_t bytes);

#endif
