/* reshard/halo.h - the ways to and from placements whose axes split the positions of a window.
 *
 * A dimension that is split plainly over the same axes becomes the windowed one when neighbours
 * give each other the rows at the borders (PL_HALO); one that is whole on each device, by a slice;
 * and a windowed part that has the plain one in it becomes that by a slice. All else is a way to
 * one of these (reshard/reshard.h). The dimensions with windows change one after the other, so that
 * the second message brings the corners. */
#ifndef PL_RESHARD_HALO_H
#define PL_RESHARD_HALO_H
#include "reshard/reshard.h"

bool pl_halo_is_end(const pl_placement *p); /* has it a window? */

/* As pl_reshard_find, where an end has a window; `from` and `to` in normal form, none of them the
 * same as `to`. False when there is no way. */
bool pl_halo_find(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                  const pl_placement from[], const pl_placement *to, int *which, pl_path *path);

/* Member i of a group gives something to member i + by, for some i of some group. */
typedef struct pl_shift {
    int by;
    int64_t most; /* elements of the largest such block of all ranks */
} pl_shift;

enum { PL_MAX_SHIFTS = 11 }; /* with the own part as many inputs as a task may have */

/* The shifts of a PL_HALO, the same on all ranks, -1, 1, -2, 2 ...; -1 when they are too many. */
int pl_halo_shifts(const pl_move *x, const pl_mesh *m, const pl_shape *s,
                   pl_shift out[PL_MAX_SHIFTS]);

/* What member `giver` of rank's group has of the part of member `getter`; none of what a member
 * has itself is given. False when there is none: no such member, or nothing in common. */
bool pl_halo_block(const pl_move *x, const pl_mesh *m, const pl_shape *s, int rank, int giver,
                   int getter, pl_region *out);

/* Elements of its part of x->to that a rank does not have before: it receives these. */
int64_t pl_halo_lack(const pl_move *x, const pl_mesh *m, const pl_shape *s, int rank);

#endif
