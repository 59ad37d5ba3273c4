/* reshard/move.h - the price of one move, for the search in reshard/search.c.
 *
 * In a group of n devices, with the start, latency (by default 5 us) and per_byte (1 / (10 GB/s))
 * of the group's slowest axes, EXCHANGE with their exchange_per_byte:
 *
 *   GATHER SCATTER EXCHANGE   start + (n-1) latency + volume per_byte
 *   REDUCE                    start + 2 (n-1) latency + volume per_byte
 *   PERMUTE, HALO             start + latency + volume per_byte
 *
 * and for every copy of memory the mesh's copy_start and copy_per_byte: of the part that is kept
 * (SLICE, MASK), of the n blocks that go out (SCATTER, EXCHANGE) and of those that come in (GATHER,
 * EXCHANGE), where such blocks are not the part itself as it lies in memory; HALO: of what goes out
 * and comes in, and of the part. TO_HOST and FROM_HOST: copy_start + part host_per_byte. */
#ifndef PL_RESHARD_MOVE_H
#define PL_RESHARD_MOVE_H
#include "reshard/reshard.h"

#include <pthread.h>

int pl_move_members(const pl_mesh *m, unsigned axes); /* devices of a group */

/* What a message of these blocks costs, without the memory: 0 for SLICE and MASK. */
double pl_move_seconds(pl_collective k, const pl_mesh *m, unsigned axes, int64_t bytes);

/* What a copy of memory costs. */
double pl_move_copy_seconds(const pl_mesh *m, int64_t bytes);

/* No less than that is the price of an all-to-all, by what rank 0 keeps of its own part: a bound
 * that takes the same time on any number of devices. INFINITY: there is none. 0 of other moves. */
double pl_move_least(const pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s);

/* Sets block, bytes and seconds from kind, axes, from and to; an EXCHANGE in which each device
 * gives all it has to one becomes PERMUTE. False when pl_move_block is -1, or pl_halo_shifts, or
 * uneven parts of an EXCHANGE are not all in the group. */
bool pl_move_price(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s);

/* The same, and keeps what is dear to find of uneven parts for the next time; all on one mesh. */
typedef struct pl_blocks_memo pl_blocks_memo;
/* `lock` is of the arena, where several threads use it; NULL: one does. */
pl_blocks_memo *pl_blocks_memo_new(pl_arena *arena, pthread_mutex_t *lock);
bool pl_move_price_again(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s,
                         pl_blocks_memo *memo);

#endif
