/* placement/placement.h - where the elements of a tensor live on a mesh of devices.
 *
 * Per dimension an ordered list of mesh axes (major first), plus axes on which a combination is
 * pending (each device holds a partial result); the other axes hold copies. An axis occurs at most
 * once. Shardy's shardings and DTensor's placements are forms of it.
 *
 * An axis splits a whole dimension, or one *digit* of it. Index i of a dimension that is composed
 * as (v h d), d minor, has the digit i / d % h; splitting that one alone is a strided split of the
 * dimension: the heads of a fused query-key-value. Or it splits the positions of a *window* that
 * slides over the dimension, and each device holds what its positions see: neighbours overlap.
 *
 * n positions over p devices: each has ceil(n / p) in turn, the last ones fewer, maybe none. More
 * axes on the same digit split what the first one leaves.
 *
 * Text form: "[data;;node,gpu;t:12x64]+{s}" - dimension 0 split over data, 1 whole, 2 over node and
 * then gpu, of 3 the digit that has 12 values of 64 elements each over t; a sum over s pending. A
 * window of 8 positions with stride 2, reach 3 and padding 1: "t:8~2,3,1". What lies between the
 * first and the last index that a device's positions see is in its part as well, and a device with
 * all positions has the whole dimension.
 *
 * A device's part lies in its own memory, or, "@host" behind all else, in that of the machine it is
 * in. Nothing can be done with it there but to copy it from and to the device. */
#ifndef PL_PLACEMENT_PLACEMENT_H
#define PL_PLACEMENT_PLACEMENT_H
#include "graph/share.h"

enum { PL_MAX_AXES = 6 };

/* Named axes over the devices; rank = mixed-radix number of the coordinates, first axis slowest. */
typedef struct pl_mesh_axis {
    char name[16];
    int size;
    double latency;  /* seconds of a message between neighbours on the axis; 0: a default         */
    double per_byte; /* seconds, 1 / bandwidth of one device's link; 0: a default                 */
    double start;    /* seconds of a message or collective, whatever its hops and bytes           */
    double exchange_per_byte; /* the same of an all-to-all; 0: as of the others                   */
} pl_mesh_axis;

typedef struct pl_mesh {
    int n;
    pl_mesh_axis axis[PL_MAX_AXES];
    double copy_start, copy_per_byte; /* seconds of a copy of memory on a device; 0: defaults    */
    double host_per_byte;             /* the same to or from the host's memory, copy_start beside */
} pl_mesh;

int pl_mesh_ranks(const pl_mesh *m);
int pl_mesh_find(const pl_mesh *m, const char *name); /* axis or -1 */
bool pl_mesh_alike(const pl_mesh *a, const pl_mesh *b); /* in all but the names of their axes */
const char *pl_mesh_text(const pl_mesh *m, pl_arena *a);  /* "node=2 gpu=8" */
void pl_mesh_write(const pl_mesh *m, pl_json_out *out);   /* "mesh": [{"axis", "size"}, ...] */
/* The names of a set of axes (bits), as a list. */
void pl_mesh_write_axes(const pl_mesh *m, const char *key, unsigned axes, pl_json_out *out);
int pl_mesh_coord(const pl_mesh *m, int rank, int axis);
/* Ranks that differ from `rank` only on the axes of the set `axes` (bits), ascending; returns how
 * many and sets *me to the position of `rank`. `out` has room for all ranks. */
int pl_mesh_group(const pl_mesh *m, int rank, unsigned axes, int out[], int *me);

typedef struct pl_split {
    int8_t dim, axis;
    int64_t size, unit;         /* the digit index / unit % size; size 0: the whole dimension     */
    int32_t stride, reach, pad; /* a window when stride > 0: position p of `size` sees the indices
                                   [p stride - pad, p stride - pad + reach) that exist            */
} pl_split;

typedef struct pl_placement {
    int8_t n;
    uint8_t pending;             /* bit per axis                                                  */
    bool host;                   /* in the host's memory, not the device's                        */
    pl_monoid monoid;            /* of the pending axes                                           */
    pl_split split[PL_MAX_AXES]; /* by dimension, major digit first, major axis first             */
} pl_placement;

/* Of the digit that a split is of: its values, and the values of its dimension, which are so many,
 * below which it repeats. */
int64_t pl_split_values(const pl_split *x, int64_t dimension);
int64_t pl_split_top(const pl_split *x, int64_t dimension);

bool pl_placement_same(const pl_placement *a, const pl_placement *b);
uint64_t pl_placement_hash(const pl_placement *p); /* equal for those that are the same */
/* Adds a split where it belongs; of its digit it is the minor-most. */
void pl_placement_add(pl_placement *p, pl_split s);
void pl_placement_split(pl_placement *p, int dim, int axis); /* of the whole dimension          */
int pl_placement_find(const pl_placement *p, int axis);      /* index of its split, or -1       */
int pl_placement_dim(const pl_placement *p, int axis);       /* dimension it splits, or -1      */
void pl_placement_remove(pl_placement *p, int index);        /* of a split                      */
unsigned pl_placement_axes(const pl_placement *p);           /* that split something, as bits   */
int pl_placement_end(const pl_placement *p, int i);          /* of the splits of i's digit      */

/* The one form of all placements that say the same of a tensor of this shape: without axes of one
 * device, each digit as wide as it can be. pl_placement_same compares these. (A split of a single
 * value, which gives rank 0 all, keeps its dimension: of such placements there are several.) */
pl_placement pl_placement_normal(const pl_placement *p, const pl_mesh *m, const pl_shape *s);

/* Axes that split dimensions which the two split differently, and those pending in one alone. */
unsigned pl_placement_differ(const pl_placement *a, const pl_placement *b);

/* What is left when the parts of an axis are put together, and when an axis splits one more digit
 * (the minor-most split of it); of placements without windows, in normal form. Splits below an axis
 * that goes split a digit then: of (a b) over [x, y] without x, each y holds its b of all a. False
 * when that is none, of uneven parts, when the digit has one value, and when it cuts others that
 * are split. */
PL_MUST_CHECK bool pl_placement_gather(pl_placement *p, const pl_mesh *m, const pl_shape *s,
                                       int axis);
PL_MUST_CHECK bool pl_placement_slice(pl_placement *p, const pl_mesh *m, const pl_shape *s,
                                      pl_split digit);

/* Axes in range and used once, digits that the dimensions have and that do not overlap. Fails with
 * PL_EINPUT giving dimension, size and axis. */
PL_MUST_CHECK bool pl_placement_check(const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                                      pl_err *err);

/* Do all devices hold equally many elements? */
bool pl_placement_even(const pl_placement *p, const pl_mesh *m, const pl_shape *s);

/* Shape of one device's part. Rank 0 has the largest, but for windows: padding is no element. */
pl_shape pl_placement_local(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank);

/* Elements of the largest part of any rank. */
int64_t pl_placement_room(const pl_placement *p, const pl_mesh *m, const pl_shape *s);

const char *pl_placement_text(pl_arena *a, const pl_placement *p, const pl_mesh *m, int rank);
PL_MUST_CHECK bool pl_placement_parse(const char *text, const pl_mesh *m, pl_placement *out,
                                      pl_err *err);

#endif
