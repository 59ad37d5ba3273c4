/* layouts/list.h - the layouts, in the order of the mesh: slow axes first. To add one: a file here
 * that defines pl_layout_<name>, and its row. */
#ifndef PL_LAYOUTS_LIST_H
#define PL_LAYOUTS_LIST_H
#include "layouts/layout.h"

#define PL_LAYOUT_LIST(X) \
    X(pipeline) \
    X(apart) \
    X(data) \
    X(zero) \
    X(embrace) \
    X(tables) \
    X(expert) \
    X(spatial) \
    X(context) \
    X(megatron) \
    X(grid) \
    X(recompute) \
    X(offload)

#define PL_LAYOUT_DECLARE(name) extern const pl_layout pl_layout_##name;
PL_LAYOUT_LIST(PL_LAYOUT_DECLARE)

#endif
