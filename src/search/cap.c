#include "search/cap.h"

bool pl_cap_legal(const pl_elimination *f, pl_err *err)
{
    return f->value ||
           pl_err_set(err, PL_EINFEASIBLE,
                      f->bound < INFINITY ? "no legal choice was found within the limits of the "
                                            "search; raise them"
                                          : "no choice is legal: every one has a term of infinite "
                                            "time");
}

bool pl_cap_fits(const pl_elimination *f, double memory, double cap, pl_err *err)
{
    PL_TRY(pl_cap_legal(f, err));
    if (memory <= cap) return true;
    if (memory - f->bound <= 1e-9 * fabs(memory))
        return pl_err_set(err, PL_EINFEASIBLE,
                          "nothing fits in %.6g of memory: the least that any choice takes is %.6g",
                          cap, memory);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "found nothing that fits in %.6g of memory: the least found takes %.6g, and "
                      "%.6g is a lower bound; raise the limits of the search",
                      cap, memory, f->bound);
}

pl_answer pl_cap_answer(int *value, pl_cost cost, double bound, double price, int64_t work)
{
    bool proven = cost.time - bound <= 1e-9 * fabs(cost.time);
    if (proven || bound > cost.time) bound = cost.time;
    return (pl_answer){ value, cost.time, cost.memory, bound, proven, price, work };
}
