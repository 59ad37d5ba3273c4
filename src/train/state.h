/* train/state.h - states of a device: from initial values, from and to checkpoints.
 *
 * Sums of gradients (PL_GRAD_SUM) start a step at zero: they are neither saved nor loaded. Masters
 * are saved as the weights that are cast of them (graph.h: pl_graph_known), and those are cast
 * again when they are loaded. */
#ifndef PL_TRAIN_STATE_H
#define PL_TRAIN_STATE_H
#include "run/checkpoint.h"
#include "run/exec.h"
#include "data/init.h"
#include "train/tables.h"

/* Is it in checkpoints? By the name of pl_graph_known. */
bool pl_state_is_saved(const pl_value *state);

/* Does a rank hold its part of a state, as the first of those that hold the same? */
bool pl_state_is_first(const pl_plan *plan, const pl_port *port, int rank);

/* The part of a whole that is as it is saved: cast, if the state is a copy of its master. */
void pl_state_take(const pl_port *p, const void *whole, void *part);

/* Initial values of every state of the store; of caches too, or not, as their tables have them. */
PL_MUST_CHECK bool pl_state_init(pl_exec *exec, const pl_store *store, const pl_init *from,
                                 bool caches, pl_err *err);

/* Sums of gradients become zero. */
void pl_state_clear(pl_exec *exec, const pl_store *store);

/* Fill every state from a checkpoint (this device's part of each, under any plan), but caches:
 * their tables the checkpoint has to have. Fails with PL_EINPUT naming states that are missing or
 * have another shape. Tensors that no state wants are fine (moments, when sampling). */
PL_MUST_CHECK bool pl_state_load(pl_exec *exec, const pl_store *store,
                                 const pl_checkpoint *checkpoint, pl_err *err);

/* How the parts of split states come together on rank 0: programs, each of which brings so many of
 * them that they need no more room, in the work block, than a quarter of the largest part; of those
 * that are larger it brings some positions of the first dimension at a time, where parts are such
 * positions. A part that several ranks hold is sent by the first of them. */
typedef struct pl_gather {
    const pl_store *store;
    int rank;
    int n;                      /* programs; the same on all ranks, 0 when no state is split */
    const pl_program **program; /* [n] for pl_exec_new; rank 0's outputs are pieces of states */
    int64_t bytes;              /* of all that is gathered                                    */
    const int64_t *at;          /* [states] where one lies among it; -1: nobody gathers it    */
    const int64_t *to;          /* where outputs lie there, of all programs one after another */
} pl_gather;

/* `store` is rank's, of this plan; a program may gather `room` bytes, or a row that has more; 0: so
 * many as said above, and 1 MiB. `out` owns the result. Fails with PL_EUNSUPPORTED when a state
 * waits for a sum, or its parts cannot be told in loops. */
PL_MUST_CHECK bool pl_state_gather(const pl_plan *plan, const pl_store *store, int rank,
                                   int64_t room, pl_arena *out, const pl_gather **gather,
                                   pl_err *err);

/* Write every state as a checkpoint, those that are caches out of `tables`, which have all that was
 * changed. All ranks call it together and return the same verdict; rank 0
 * writes. `first`: index in the executor of the first of the gather's programs. What is gathered
 * waits in a file without a name in `dir`, not in memory. */
PL_MUST_CHECK bool pl_state_save(pl_exec *exec, const pl_gather *gather, int first,
                                 const pl_tables *tables, const char *dir,
                                 const pl_manifest *manifest, pl_keep keep, pl_err *err);

#endif
