/* plan/placement.h - where the elements of a tensor live on a mesh of devices.
 *
 * Per dimension an ordered list of mesh axes (major first), plus axes on which a combination is
 * pending (each device holds a partial result); the other axes hold copies. An axis occurs at most
 * once. Shardy's shardings and DTensor's placements are forms of it. Text form:
 * "[data;;node,gpu]+{t}" - dimension 0 split over data, 1 whole, 2 split over node and then gpu, a
 * sum over t pending. */
#ifndef PL_PLAN_PLACEMENT_H
#define PL_PLAN_PLACEMENT_H
#include "graph/graph.h"

enum { PL_MAX_AXES = 6 };

/* Named axes over the devices; rank = mixed-radix number of the coordinates, first axis slowest. */
typedef struct pl_mesh {
    int n;
    struct {
        char name[16];
        int size;
    } axis[PL_MAX_AXES];
} pl_mesh;

int pl_mesh_ranks(const pl_mesh *m);
int pl_mesh_coord(const pl_mesh *m, int rank, int axis);
/* Ranks that differ from `rank` only on the axes of the set `axes` (bits), ascending; returns how
 * many and sets *me to the position of `rank`. `out` has room for all ranks. */
int pl_mesh_group(const pl_mesh *m, int rank, unsigned axes, int out[], int *me);

typedef struct pl_placement {
    int8_t n[PL_MAX_RANK];                 /* axes on each dimension             */
    int8_t axis[PL_MAX_RANK][PL_MAX_AXES]; /* major first                        */
    uint8_t pending;                       /* bit per axis                       */
    pl_monoid monoid;                      /* of the pending axes                */
} pl_placement;

bool pl_placement_same(const pl_placement *a, const pl_placement *b);
void pl_placement_split(pl_placement *p, int dim, int axis); /* appends: minor-most  */
int pl_placement_dim(const pl_placement *p, int axis);       /* dimension it splits, or -1 */

/* The same without the axes of one device: they split nothing and leave nothing pending. */
pl_placement pl_placement_trim(const pl_placement *p, const pl_mesh *m);

/* Axes in range, used once, sizes divide. Fails with PL_EINPUT giving dimension, size and axis. */
PL_MUST_CHECK bool pl_placement_check(const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                                      pl_err *err);

/* Shape of one device's part, and where it starts in each dimension. */
pl_shape pl_placement_local(const pl_placement *p, const pl_mesh *m, const pl_shape *s);
void pl_placement_origin(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank,
                         int64_t lo[PL_MAX_RANK]);

const char *pl_placement_text(pl_arena *a, const pl_placement *p, const pl_mesh *m, int rank);
PL_MUST_CHECK bool pl_placement_parse(const char *text, const pl_mesh *m, pl_placement *out,
                                      pl_err *err);

#endif
