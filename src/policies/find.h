/* policies/find.h - a schedule for a problem of evict/evict.h, by a policy of the table. */
#ifndef PL_POLICIES_FIND_H
#define PL_POLICIES_FIND_H
#include "evict/evict.h"

typedef struct pl_evict_options {
    const char *policy;   /* name in the table of policy.h; NULL: "pleat"                         */
    int64_t budget;       /* bytes, never exceeded                                                */
    int64_t effort;       /* steps of "pleat" (retain.h), some ten nanoseconds each, and states of
                           * "checkmate", some microseconds; 0: a default that ends in seconds    */
    bool no_recompute;    /* of "pleat": copies alone (no op runs twice)                          */
    bool no_copies;       /* ... or no copies                                                     */
    int stretches;        /* of "pleat" with both: the longer runs may get by what is made again,
                           * the more copies they hide; so many such guesses are planned; 0: all */
} pl_evict_options;

/* Find a schedule. Deterministic: the same problem and options give the same bytes; no clock is
 * read. `out` owns schedule->action. Fails with PL_EINPUT: the problem breaks a rule of evict.h;
 * PL_EUSAGE: there is no such policy; PL_EUNSUPPORTED: the policy does not take this problem;
 * PL_EINFEASIBLE: an op needs more than the budget at once (the message names the one with the
 * largest need, with the bytes), or the policy found no schedule that fits. */
PL_MUST_CHECK bool pl_evict_find(const pl_evict_problem *problem, const pl_evict_options *options,
                                 pl_arena *out, pl_evict_schedule *schedule, pl_err *err);

/* A schedule per budget, none slower than that of a smaller budget: what fits less fits more.
 * Budgets that nothing was found for get n = 0. budget [n] in any order; schedule [n]. Fails as
 * pl_evict_find, but for PL_EINFEASIBLE. */
PL_MUST_CHECK bool pl_evict_sweep(const pl_evict_problem *problem, const pl_evict_options *options,
                                  int n, const int64_t budget[], pl_arena *out,
                                  pl_evict_schedule schedule[], pl_err *err);

#endif
