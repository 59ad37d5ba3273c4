/* options/cache.h - the options of tables that devices have caches of. */
#ifndef PL_OPTIONS_CACHE_H
#define PL_OPTIONS_CACHE_H
#include "cache/cache.h"
#include "options/opt.h"
#include "train/cached.h"

#define PL_CACHE_POLICIES "dataset, lfu, lru or lookahead"

typedef struct pl_cache_args {
    const char *size, *policy, *ids;
    int64_t ahead;
} pl_cache_args;

/* Rows of every command that has such tables, and of those that run steps, for arguments that have
 * a pl_cache_args `f`. */
// clang-format off
#define PL_CACHE_OPTS(f) \
    { "cache", TEXT(f.size), "SIZE", NULL, \
      "tables lie in the host's memory; on a device 1.5% of their rows" }
#define PL_CACHE_PLAN_OPTS(f) \
    { "ids", TEXT(f.ids), "LAW", NULL, \
      "zipf=1.2, or counts (pleat data): what caches find; --cache auto", .needs = "cache" }
#define PL_CACHE_RUN_OPTS(f) \
    { "cache-policy", TEXT(f.policy), "NAME", PL_CACHE_USUAL, \
      "whose rows stay: " PL_CACHE_POLICIES, .needs = "cache" }, \
    { "cache-ahead", INT(f.ahead), "N", USUAL(PL_CACHE_AHEAD), \
      "steps that lookahead looks ahead", 1, 1000, .needs = "cache" }
// clang-format on

/* No size: no caches. Fails as pl_cached_parse does. */
PL_MUST_CHECK bool pl_cache_args_read(const pl_cache_args *a, pl_cached *out, pl_err *err);

#endif
