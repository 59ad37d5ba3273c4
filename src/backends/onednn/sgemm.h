/* backends/onednn/sgemm.h - einsum of two f32 inputs by dnnl_sgemm: plain row-major operands, which
 * it multiplies faster than the matmul primitive does without packed weights. */
#ifndef PL_BACKENDS_ONEDNN_SGEMM_H
#define PL_BACKENDS_ONEDNN_SGEMM_H
#include "run/kernel.h"

bool pl_sgemm_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why);
bool pl_sgemm_make(const pl_share *s, const pl_kernel_env *env, void **state,
                   int64_t *scratch_bytes, pl_err *err);
void pl_sgemm_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                  void *const out[], void *scratch);
void pl_sgemm_free(void *state);

#endif
