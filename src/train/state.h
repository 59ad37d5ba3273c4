/* train/state.h - states of a device: from initial values, from and to checkpoints. */
#ifndef PL_TRAIN_STATE_H
#define PL_TRAIN_STATE_H
#include "run/checkpoint.h"
#include "run/exec.h"

/* Initial values of every state of the store. */
PL_MUST_CHECK bool pl_state_init(pl_exec *e, const pl_store *s, uint64_t seed, pl_err *err);

/* Fill every state from a checkpoint (this device's part of each). Fails with PL_EINPUT naming all
 * states that are missing or have another shape. Tensors that no state wants are fine (moments,
 * when sampling). */
PL_MUST_CHECK bool pl_state_load(pl_exec *e, const pl_store *s, const pl_checkpoint *c,
                                 pl_err *err);

/* Write every state as a checkpoint. Every state must be whole on this device. */
PL_MUST_CHECK bool pl_state_save(pl_exec *e, const pl_store *s, const char *dir,
                                 const pl_manifest *m, int keep, pl_err *err);

#endif
