/* backends/onednn/reorder.h - einsum of one input: the same elements in another order. */
#ifndef PL_BACKENDS_ONEDNN_REORDER_H
#define PL_BACKENDS_ONEDNN_REORDER_H
#include "run/kernel.h"

bool pl_reorder_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why);
bool pl_reorder_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err);
void pl_reorder_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch);
void pl_reorder_free(void *state);

#endif
