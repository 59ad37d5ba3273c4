/* backends/onednn/matmul.h - einsum of two inputs by the matmul primitive with bf16 inputs and sums
 * in f32: for bf16 tensors, and for f32 tensors where the run allows it (pl_kernel_env.matmul). */
#ifndef PL_BACKENDS_ONEDNN_MATMUL_H
#define PL_BACKENDS_ONEDNN_MATMUL_H
#include "run/kernel.h"

bool pl_matmul_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why);
bool pl_matmul_make(const pl_share *s, const pl_kernel_env *env, void **state,
                    int64_t *scratch_bytes, pl_err *err);
void pl_matmul_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch);
void pl_matmul_free(void *state);

#endif
