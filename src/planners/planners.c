/* The list of searches: --search, help, manual and doctor read it. */
#include "planners/planner.h"

const pl_planner *const pl_planners[] = {
    &pl_planner_exact,   &pl_planner_tied,       &pl_planner_tapas,       &pl_planner_soybean,
    &pl_planner_tofu,    &pl_planner_tofu_order, &pl_planner_icml18,      &pl_planner_equal_chop,
    &pl_planner_spartan, &pl_planner_all_row,    &pl_planner_brute_force, NULL,
};
