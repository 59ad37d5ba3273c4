/* The entry: pl_search_min() checks, and hands over to cap.c. */
#include "search/cap.h"

bool pl_search_min(const pl_sum *sum, double cap, const pl_search_options *options, pl_arena *out,
                   pl_answer *answer, pl_err *err)
{
    pl_search_options o = pl_solve_defaults(options);
    PL_TRY(pl_cap_check(cap, err));
    PL_TRY(pl_sum_check(sum, "sum", err));
    return pl_cap_min(sum, cap, &o, out, answer, err);
}
