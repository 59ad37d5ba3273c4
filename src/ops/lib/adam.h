/* ops/lib/adam.h - what adam, adamw, adabelief and lamb_direction share: all but where the decay
 * goes and what the second moment is of. Of the first three:
 *
 *   in   0 w f32, 1 g float, 2 m f32, 3 v f32, 4 lr f32, 5 step (an integer, from 1), 6 scale f32
 *   out  w, m, v, in place
 *
 * With g' = scale g, after the decay:
 *   m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2
 *   w = w - lr / (1 - beta1^step) m / (sqrt(v) / sqrt(1 - beta2^step) + eps)
 * Source: Kingma & Ba, 2015; Loshchilov & Hutter, 2019; eps and corrections as in
 * torch.optim.AdamW.
 * adabelief: v = beta2 v + (1 - beta2) (g' - m)^2 + eps, of the new m, else as adamw.
 * Source: Zhuang et al., AdaBelief, NeurIPS 2020, algorithm 2. */
#ifndef PL_OPS_LIB_ADAM_H
#define PL_OPS_LIB_ADAM_H
#include "graph/op.h"

#define PL_ADAM_SIG "...,...,...,...,,,->...,...,..."
#define PL_ADAM_TYPES "F,f,F,F,F,i,F->F,F,F"
#define PL_ADAM_ATTRS "beta1=0.9 beta2=0.999 eps=1e-8 decay=0.01"

extern const pl_example pl_adam_examples[];

PL_MUST_CHECK bool pl_adam_infer(const pl_node *n, pl_sig *sig, pl_err *err);
double pl_adam_flops(const pl_share *s);

typedef enum pl_adam_kind { PL_ADAM, PL_ADAMW, PL_ADABELIEF } pl_adam_kind;

/* The numbers of a step. decoupled: w = w - lr decay w before the step, else g' = g' + decay w
 * (adam). */
typedef struct pl_adam {
    double beta1, beta2, eps, decay, lr, scale;
    double rate, root; /* lr / (1 - beta1^step), sqrt(1 - beta2^step) */
    bool decoupled, belief;
} pl_adam;

pl_adam pl_adam_new(const pl_node *n, double lr, double step, double scale, pl_adam_kind kind);
/* One element of the moments, which are laid out alike and of one type, takes g'. Returns what the
 * weight is to be changed by, as formulas above have it: rate m / (sqrt(v) / root + eps). */
double pl_adam_move(const pl_adam *a, double g, pl_type type, void *m, void *v, int64_t at);
/* One element of the weight and its moments, all three of which are laid out alike and of one type
 * (f64 where a step is verified in that). */
void pl_adam_element(const pl_adam *a, double g, pl_type type, void *const state[3], int64_t at);

void pl_adam_ref(const pl_share *s, const void *const in[], void *const out[], pl_adam_kind kind);

/* How far a step of LAMB goes in its direction (ops/lamb.c), from the squares of both norms. */
double pl_lamb_trust(double squares_w, double squares_u);

#endif
