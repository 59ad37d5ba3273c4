/* run/widen.h - kernels of f32 serve bf16 too.
 *
 * Most kernels take f32 alone. A share with bf16 operands that nobody but the last backend, the
 * slow one that accepts everything, would take is run by the f32 kernel of an earlier backend: its
 * bf16 inputs are widened into scratch, which is exact, and its bf16 outputs rounded from there,
 * once and to nearest even. So results are those of the f32 kernel, rounded.
 *
 * A large share runs in pieces that fit a cache, one after the other, where its outermost factors
 * may be cut: then scratch is that of a piece, and memory is read and written as bf16 alone. */
#ifndef PL_RUN_WIDEN_H
#define PL_RUN_WIDEN_H
#include "run/kernel.h"

/* As pl_kernel_find over env->backends, but for such shares. The kernel that is returned for them
 * lives in `arena`, is named "gelu bf16" for the kernel "gelu", and stands under its backend.
 *
 * Left to the last backend, with the reason in `reasons`: views; nodes whose types an attribute
 * says; updates in place of a bf16 operand; what no other backend takes in f32 either. */
PL_MUST_CHECK bool pl_widen_find(const pl_share *s, const pl_kernel_env *env, pl_arena *arena,
                                 const pl_backend **backend, const pl_kernel **kernel,
                                 pl_text *reasons, pl_err *err);

#endif
