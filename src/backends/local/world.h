/* backends/local/world.h - what the ranks of one process share (for the files of this folder).
 *
 * Members of a group meet in a ring of slots: message number s of the group uses slot s % depth,
 * where every member has one cell. A cell holds the member's message and one atomic number, its
 * stage, 4 s + {ARRIVED, REDUCED, FINISHED}, which only grows: "stage >= 4 s + k" stays true when
 * the cell is used again for message s + depth, so nobody has to be told that a slot is free. A
 * stage is stored after the writes that it announces, and loaded with acquire before they are read.
 * Whoever is the last to come to a stage rings for the others (announce() in local.c). */
#ifndef PL_BACKENDS_LOCAL_WORLD_H
#define PL_BACKENDS_LOCAL_WORLD_H
#include "run/request.h"
#include <pthread.h>
#include <stdatomic.h>

enum { PL_WORLD_ARRIVED = 1, PL_WORLD_REDUCED = 2, PL_WORLD_FINISHED = 3, PL_WORLD_STAGES = 4 };

typedef struct pl_world_cell {
    pl_message m;          /* valid from ARRIVED until all members have finished         */
    _Atomic int64_t stage;
} pl_world_cell;           /* 64 bytes: a cache line                                     */

typedef struct pl_world_ring {
    int n, depth;          /* members, slots                                             */
    pl_world_cell *cell;   /* [depth][n]                                                 */
} pl_world_ring;

/* The shared side of a group. */
typedef struct pl_world_group {
    struct pl_world_group *next;
    int n, *rank;          /* [n]                                                        */
    bool *joined;          /* [n] the member has its own end of this group               */
    pl_world_ring all;     /* collectives                                                */
    pl_world_ring *pair;   /* [n*n] from * n + to: member 0 sends, member 1 receives     */
} pl_world_group;

typedef struct pl_world_rank {
    _Alignas(64) atomic_bool busy; /* reads or writes what belongs to others             */
    pl_bell bell;          /* rings when another rank has come further                   */
} pl_world_rank;

typedef struct pl_local_world {
    pl_arena *arena;       /* of everything here; taken from under the lock              */
    pthread_mutex_t lock;
    int n, alive;          /* ranks; those not yet freed, under the lock                 */
    pl_world_group *groups; /* under the lock                                            */
    pl_world_rank *rank;   /* [n]                                                        */
    atomic_bool failed;    /* set after `failure`, which does not change again           */
    pl_err failure;
    bool whole;            /* failure names its message; else the reader puts its own    */
} pl_local_world;

pl_local_world *pl_world_new(int n);
void pl_world_leave(pl_local_world *w);  /* frees it when the caller is the last rank          */

/* The shared side of a group for the member at position `me`: the first of these ranks that this
 * member has not joined, or a new one. So the i-th time each member asks is the same group. */
pl_world_group *pl_world_join(pl_local_world *w, int n, const int ranks[], int me);

/* Between enter and exit a rank may touch what belongs to others. False when the world has
 * failed. */
PL_MUST_CHECK bool pl_world_enter(pl_local_world *w, int rank);
void pl_world_exit(pl_local_world *w, int rank);

/* Fails the world for everybody; the first failure is the one that is kept. */
void pl_world_fail(pl_local_world *w, const pl_err *why, bool whole);

/* In a failed world: waits until no other rank is between enter and exit, and gives the failure.
 * After that the caller may free its buffers. r: the caller's message, or NULL. Returns false. */
bool pl_world_report(pl_local_world *w, int rank, const pl_request *r, pl_err *err);

#endif
