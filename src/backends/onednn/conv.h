/* backends/onednn/conv.h - conv2d and its two gradients: one to three windows, channels first or
 * last, groups, f32 and bf16. Which of image, weights and result a share computes is read off its
 * letters. */
#ifndef PL_BACKENDS_ONEDNN_CONV_H
#define PL_BACKENDS_ONEDNN_CONV_H
#include "run/kernel.h"

bool pl_conv_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why);
bool pl_conv_make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                  pl_err *err);
void pl_conv_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                 void *const out[], void *scratch);
void pl_conv_free(void *state);

#endif
