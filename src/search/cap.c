/* Under a cap or not (pl_cap_min), and what both ways share: checks, messages, the answer. */
#include "search/cap.h"

bool pl_cap_legal(const pl_minimum *found, pl_err *err)
{
    return found->value || pl_err_set(err, PL_EINFEASIBLE,
                                      found->bound < INFINITY
                                          ? "no legal choice was found within the limits of the "
                                            "search; raise them"
                                          : "no choice is legal: every one has a term of infinite "
                                            "time");
}

bool pl_cap_fits(const pl_minimum *found, double memory, double cap, pl_err *err)
{
    PL_TRY(pl_cap_legal(found, err));
    if (memory <= cap) return true;
    if (memory - found->bound <= 1e-9 * fabs(memory))
        return pl_err_set(err, PL_EINFEASIBLE,
                          "nothing fits in %.6g of memory: the least that any choice takes is %.6g",
                          cap, memory);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "found nothing that fits in %.6g of memory: the least found takes %.6g, and "
                      "%.6g is a lower bound; raise the limits of the search",
                      cap, memory, found->bound);
}

pl_answer pl_cap_answer(int *value, pl_cost cost, double bound, double price, int64_t work)
{
    bool proven = cost.time - bound <= 1e-9 * fabs(cost.time);
    if (proven || bound > cost.time) bound = cost.time;
    return (pl_answer){ value, cost.time, cost.memory, bound, proven, price, work };
}

bool pl_cap_is_roomy(double cap, double memory)
{
    static const double part = 0.8;
    return memory <= part * cap;
}

bool pl_cap_check(double cap, pl_err *err)
{
    if (cap >= 0) return true;
    return pl_err_set(err, PL_EINPUT, "a memory cap of %g; it is 0 or more", cap);
}

bool pl_cap_min(const pl_sum *sum, double cap, const pl_search_options *options, pl_arena *out,
                pl_answer *answer, pl_err *err)
{
    if (cap < INFINITY) return pl_cap_sum(sum, cap, options, out, answer, err);
    pl_minimum found = pl_solve_sum(sum, (pl_cost){ 1, 0 }, options, out);
    PL_TRY(pl_cap_legal(&found, err));
    *answer = pl_cap_answer(found.value, pl_sum_cost(sum, found.value), found.bound, 0, found.work);
    return true;
}
