/* planners/list.h - the searches, as help and README.md name them: ours first. To add one: a file
 * here that defines pl_planner_<name>, and its row. */
#ifndef PL_PLANNERS_LIST_H
#define PL_PLANNERS_LIST_H
#include "planners/planner.h"

#define PL_PLANNER_LIST(X) \
    X(exact) \
    X(tied) \
    X(tapas) \
    X(rhino) \
    X(alpa) \
    X(soybean) \
    X(tofu) \
    X(tofu_order) \
    X(icml18) \
    X(equal_chop) \
    X(spartan) \
    X(all_row) \
    X(brute_force)

#define PL_PLANNER_DECLARE(name) extern const pl_planner pl_planner_##name;
PL_PLANNER_LIST(PL_PLANNER_DECLARE)

#endif
