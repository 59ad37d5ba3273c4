/* The list of searches: --search, help, manual and doctor read it. */
#include "planners/list.h"

#define ROW(name) &pl_planner_##name,
const pl_planner *const pl_planners[] = { PL_PLANNER_LIST(ROW) NULL };
