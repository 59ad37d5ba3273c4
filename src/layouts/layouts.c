/* The list of layouts: parsing, help, manual, doctor and planners read it. */
#include "layouts/layout.h"

/* Slow axes first. */
const pl_layout *const pl_layouts[] = {
    &pl_layout_data,
    &pl_layout_zero,
    &pl_layout_expert,
    &pl_layout_spatial,
    &pl_layout_megatron,
    &pl_layout_grid,
    NULL,
};
