/* The list of layouts: parsing, help, manual, doctor and planners read it. */
#include "layouts/list.h"

#define ROW(name) &pl_layout_##name,
const pl_layout *const pl_layouts[] = { PL_LAYOUT_LIST(ROW) NULL };
