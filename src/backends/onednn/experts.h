/* backends/onednn/experts.h - moe_matmul and the gradient of its weights by dnnl_sgemm: the rows of
 * each expert are put together, multiplied by one product, and put back. */
#ifndef PL_BACKENDS_ONEDNN_EXPERTS_H
#define PL_BACKENDS_ONEDNN_EXPERTS_H
#include "run/kernel.h"

bool pl_experts_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why);
bool pl_experts_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err);
void pl_experts_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch);
void pl_experts_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                         const void *const in[], void *const out[], void *scratch);
void pl_experts_free(void *state);

#endif
