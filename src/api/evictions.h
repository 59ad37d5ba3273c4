/* api/evictions.h - what every policy (policies/find.h) makes of a program's kernels when they are
 * to do with a share of their memory, beside a bound: what pleat memory --budgets shows. */
#ifndef PL_API_EVICTIONS_H
#define PL_API_EVICTIONS_H
#include "planners/eviction.h"
#include "planners/find.h"

enum { PL_EVICTIONS_BUDGETS = 10, PL_EVICTIONS_ROWS = 32 }; /* at most */

typedef struct pl_evictions_row {
    const char *policy;
    const char *why; /* it is not for this program; NULL: it is                             */
    double took;     /* seconds, of all budgets                                             */
    pl_evict_schedule schedule[PL_EVICTIONS_BUDGETS]; /* [n_budgets] n 0: nothing that fits */
} pl_evictions_row;

typedef struct pl_evictions {
    const pl_plan *plan;
    pl_eviction problem;
    int n_budgets;
    double share[PL_EVICTIONS_BUDGETS];   /* of problem.facts.peak */
    int64_t budget[PL_EVICTIONS_BUDGETS]; /* bytes                 */
    int n;
    pl_evictions_row at[PL_EVICTIONS_ROWS];
} pl_evictions;

/* "0.9,0.5": shares above 0, up to 1. Fails with PL_EUSAGE. */
PL_MUST_CHECK bool pl_evictions_shares(const char *text, pl_evictions *out, pl_err *err);

/* Of the plan that was taken, lowered whole; *e has the shares. Each schedule is played by the
 * independent judge (pl_evict_check). `watch` is told of each row; NULL: nobody. `out` owns it. */
PL_MUST_CHECK bool pl_evictions_study(const pl_found *found, const pl_watch *watch, pl_arena *out,
                                      pl_evictions *e, pl_err *err);

void pl_evictions_text(const pl_evictions *e, pl_text *out);
void pl_evictions_json(const pl_evictions *e, pl_text *out);

#endif
