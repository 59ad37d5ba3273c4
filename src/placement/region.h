/* placement/region.h - the elements of a tensor that one device holds: a product of ranges of
 * digits.
 *
 * A part lies row-major in memory, digit after digit; so any part of a tensor can be found in any
 * other by counting digits (pl_region_copy). */
#ifndef PL_PLACEMENT_REGION_H
#define PL_PLACEMENT_REGION_H
#include "placement/placement.h"

enum { PL_MAX_DIGITS = PL_MAX_RANK + 4 * PL_MAX_AXES, PL_COPY_LOOPS = 6 };

/* Values [lo, lo + n) of the digit index / unit % size of a dimension. */
typedef struct pl_digit {
    int8_t dim;
    int64_t size, unit, lo, n;
} pl_digit;

/* Digits of all dimensions, outermost first; those of a dimension multiply to its size. */
typedef struct pl_region {
    int n;
    pl_digit digit[PL_MAX_DIGITS];
} pl_region;

pl_region pl_region_of(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank);
/* Of a rank by its place on each axis. */
pl_region pl_region_at(const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                       const int coord[]);
/* The same, in `out`. */
const pl_region *pl_region_new(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank,
                               pl_arena *out);
int64_t pl_region_count(const pl_region *r); /* elements */

/* Cut digits so that both regions have the same ones; those of one value go. False when one of them
 * is no product of ranges then: two odd splits of the same dimension. */
bool pl_region_align(pl_region *a, pl_region *b);

/* Cuts r's digits where `like` begins or ends one, so that all regions of two placements, each cut
 * like one of the other's, have the same. False as pl_region_align; r is as it was then. */
bool pl_region_cut(pl_region *r, const pl_region *like);

/* The common elements of two regions, false as pl_region_align unless one of the two is empty. They
 * may be none. */
bool pl_region_meet(const pl_region *a, const pl_region *b, pl_region *out);

/* Index in the whole tensor (row-major) of element i of the region. */
int64_t pl_region_global(const pl_region *r, const pl_shape *s, int64_t i);

/* Elements that stand at equal distances in the whole, *step apart: so many from each multiple of
 * their number on. */
int64_t pl_region_row(const pl_region *r, const pl_shape *s, int64_t *step);

/* Nested loops of memcpy: for all i_k < count[k], `bytes` bytes from from_at + sum i_k from[k] to
 * to_at + sum i_k to[k]. */
typedef struct pl_copy {
    int n;
    int64_t count[PL_COPY_LOOPS], from[PL_COPY_LOOPS], to[PL_COPY_LOOPS];
    int64_t from_at, to_at, bytes;
} pl_copy;

/* The elements (of `size` bytes) that both regions have, copied from a part that holds `from` into
 * a part that holds `to`. bytes is 0 when there are none. False as pl_region_meet, or when more
 * than PL_COPY_LOOPS loops are needed. */
bool pl_region_copy(const pl_region *from, const pl_region *to, int64_t size, pl_copy *out);
void pl_region_apply(const pl_copy *c, const void *from, void *to);

#endif
