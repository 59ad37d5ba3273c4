/* backends/widen/widen.h - kernels of f32 serve bf16 too.
 *
 * Most kernels take f32 alone. Behind them, and before the slow backend that takes everything, this
 * one runs shares with bf16 operands by the f32 kernel of a backend before it: their bf16 inputs
 * are widened into scratch, which is exact, and their bf16 outputs rounded from there, once and to
 * nearest even. So results are those of the f32 kernel, rounded.
 *
 * A large share runs in pieces that fit a cache, one after the other, where its outermost factors
 * may be cut: then scratch is that of a piece, and memory is read and written as bf16 alone.
 *
 * What it finds is named "gelu bf16" for the kernel "gelu", and stands under that one's backend.
 * Left to the backends behind, with the reason: views; nodes whose types an attribute says; updates
 * in place of a bf16 operand; what no backend before takes in f32 either. */
#ifndef PL_BACKENDS_WIDEN_WIDEN_H
#define PL_BACKENDS_WIDEN_WIDEN_H
#include "run/kernel.h"

extern const pl_backend pl_backend_widen;

#endif
