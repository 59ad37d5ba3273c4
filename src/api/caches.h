/* api/caches.h - how large caches of tables are best: a plan for each of some sizes, and what moves
 * beside it. */
#ifndef PL_API_CACHES_H
#define PL_API_CACHES_H
#include "api/job.h"

/* How ids are drawn: "zipf=1.2", or a file of counts (data/counts.h). Compares the job's size of
 * caches or, where that is "auto", some of them and whole tables on devices, and takes the one
 * whose step takes least: j->cache, j->caches and *found are its. Fails as pl_job_find does where
 * nothing fits, and as pl_counts_read does. */
PL_MUST_CHECK bool pl_job_find_cache(pl_job *j, const char *ids, const char *strategy,
                                     pl_arena *arena, pl_found **found, pl_err *err);

#endif
