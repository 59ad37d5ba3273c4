/* ops/lib/pad.h - what pad and pad_grad share: v is lo places, then u, then hi places. */
#ifndef PL_OPS_LIB_PAD_H
#define PL_OPS_LIB_PAD_H
#include "ops/lib/line.h"

typedef enum pl_pad_mode { PL_PAD_CONSTANT, PL_PAD_EDGE, PL_PAD_REFLECT, PL_PAD_WRAP } pl_pad_mode;

extern const char *const pl_pad_modes[]; /* names, in the order of the enum; NULL ends them */

pl_pad_mode pl_pad_mode_of(const pl_node *n);
pl_line_taps pl_pad_find(const pl_node *n, int64_t i);

/* Infer hook: the mode is known, lo and hi are sizes that it can make, v = lo + u + hi. */
PL_MUST_CHECK bool pl_pad_infer(const pl_node *n, pl_sig *sig, pl_err *err);

#endif
