/* reshard/reshard.h - the cheapest way from one placement of a tensor to another.
 *
 * A move changes what the axes of one group of devices do with the tensor; each is at most one
 * collective, priced by the latency and bandwidth of the mesh's axes (Hockney's alpha-beta model,
 * the bandwidth-optimal forms of Thakur et al., IJHPCA 2005), with the memory that it touches.
 * reshard/search.h finds the cheapest path. */
#ifndef PL_RESHARD_RESHARD_H
#define PL_RESHARD_RESHARD_H
#include "base/collective.h"
#include "placement/region.h"

/* One move. Message blocks: member i of the group gets block i of what a member sends, which is the
 * common region of the sender's part (of `from`) and the receiver's part (of `to`). All blocks of a
 * message have room for the largest. */
typedef struct pl_move {
    pl_collective kind;
    unsigned axes;         /* the group: devices that differ on these axes only                  */
    pl_placement from, to; /* in normal form                                                     */
    int64_t block;         /* elements of the largest block; REDUCE, HOST: of the part; HALO: that
                              the device receives that lacks most                                */
    int64_t bytes;         /* that one device receives, pl_move_volume; HALO: at most            */
    double seconds;        /* predicted                                                          */
} pl_move;

enum { PL_MAX_MOVES = 12, PL_MAX_SOURCES = 32 };

typedef struct pl_path {
    int n;
    pl_move move[PL_MAX_MOVES + 2]; /* from the host's memory, and to it */
    int64_t bytes;  /* sum over the moves */
    double seconds; /* sum over the moves */
} pl_path;

/* What moves are allowed and what they cost, with a memory of the paths found so far. */
typedef struct pl_reshard {
    const pl_mesh *mesh;
    int64_t most_bytes; /* of one device's part on the way (never less than its ends); 0: no cap */
    bool no_strided;    /* no split of a digit other than a whole dimension on the way: a strided
                           part must first become whole (what a system without them would pay)   */
    bool mask;          /* PL_MASK is allowed                                                    */
    struct pl_reshard_own *own;
} pl_reshard;

pl_reshard pl_reshard_new(const pl_mesh *m, pl_arena *arena); /* arena owns the memory of paths */

/* The paths found so far on several meshes: plans have most in common. Several threads may ask at
 * once. */
typedef struct pl_paths pl_paths;
pl_paths *pl_paths_new(pl_arena *arena); /* which owns all of them */

/* Nobody asks any more: the memory of searches is given back, that of paths stays. NULL is fine. */
void pl_paths_finish(pl_paths *p);

/* With what was found on meshes that are alike; it keeps what it finds there, too. */
pl_reshard pl_paths_on(pl_paths *p, const pl_mesh *m);

/* The cheapest path to `to` from any of n (at most PL_MAX_SOURCES) placements of a tensor of this
 * type and shape; *which tells from which one. Placements may be in any form. All axes may move,
 * and split any digit on the way: also those that split nothing at any end help, where something is
 * to be combined, where they are faster, or to save a copy of memory. Of the axes that one
 * all-to-all moves, all but one (uneven: two) come to where `to` has them, or two or three take
 * each other's places. Parts on the way are even if those at all ends are. Where a search takes too
 * long (reshard/search.h), the path may not be the cheapest. Of sources in the host's memory none
 * is taken where one on the device will do.
 *
 * Fails with PL_EUNSUPPORTED when there is no way: no message makes partial results of whole ones,
 * nor anything of the parts of a window that lack some of the dimension (reshard/halo.h). */
PL_MUST_CHECK bool pl_reshard_find(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                                   const pl_placement from[], const pl_placement *to, int *which,
                                   pl_path *path, pl_err *err);

/* Bytes that a device receives on any such path, at least: what rank 0 has at `to` and has not
 * before. Quick to find. Of placements in normal form. */
int64_t pl_reshard_least_bytes(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                               const pl_placement from[], const pl_placement *to);

/* Bytes that one of n devices receives in a collective of this kind under a bandwidth-optimal
 * algorithm; `block` as in pl_move. REDUCE: 2 (n-1)/n of the part, rounded down to whole
 * elements. */
int64_t pl_move_volume(pl_collective k, int n, int64_t block, int64_t element_bytes);

/* Elements of the largest block of a move between two placements over a group, or -1 when blocks
 * are no products of ranges (two odd splits of one dimension): no move then. */
int64_t pl_move_block(const pl_placement *from, const pl_placement *to, unsigned axes,
                      const pl_mesh *m, const pl_shape *s);

/* Where member i of rank's group over `axes` gets its region; the position of rank in it. */
int pl_move_group(const pl_mesh *m, int rank, unsigned axes, int *me);
int pl_move_member(const pl_mesh *m, int rank, unsigned axes, int i); /* rank of member i */

#endif
