/* ops/lib/adagrad.h - what adagrad and adagrad_rows share, and their row-wise kin.
 *
 * With g' = scale g + decay w:  s = s + g'^2,  w = w - lr g' / (sqrt(s) + eps)
 * Source: Duchi, Hazan & Singer, 2011; eps as in torch.optim.Adagrad, without a decay of lr. */
#ifndef PL_OPS_LIB_ADAGRAD_H
#define PL_OPS_LIB_ADAGRAD_H
#include "graph/graph.h"

#define PL_ADAGRAD_ATTRS "eps=1e-10 decay=0"

PL_MUST_CHECK bool pl_adagrad_infer(const pl_node *n, pl_sig *sig, pl_err *err);

/* The numbers of a step. */
typedef struct pl_adagrad {
    double eps, decay, lr, scale;
} pl_adagrad;

pl_adagrad pl_adagrad_new(const pl_node *n, double lr, double scale);
/* One element of the weight and its sum of squares, which are laid out alike and of one type (f64
 * where a step is verified in that). */
void pl_adagrad_element(const pl_adagrad *a, double g, pl_type type, void *const state[2],
                        int64_t at);

/* Row-wise, of rows of H columns with one sum s a row:
 *   s = s + mean_j (scale g_j)^2 = s + scale^2 q / H,  w_j = w_j - lr scale g_j / (sqrt(s) + eps)
 * In parts, since columns may be split: the sums q of the squares of the gradient's rows are then
 * sums over devices (square_sum), s is on all (rowwise_sum), of w each has its own columns.
 * Source: FBGEMM's EXACT_ROWWISE_ADAGRAD (Khudia et al., 2021), without weight decay. */
PL_MUST_CHECK bool pl_rowwise_infer(const pl_node *n, pl_sig *sig, pl_err *err);

/* scale^2 / H, of a node with the attribute columns. */
double pl_rowwise_share(const pl_node *n, double scale);
/* What the gradient is to be multiplied by, lr being lr scale: 0 where the sum is. */
double pl_rowwise_rate(double lr, double sum, double eps);

#endif
