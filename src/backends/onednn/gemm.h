/* backends/onednn/gemm.h - an einsum of two inputs as a loop nest around one matrix product.
 *
 * Pure data: which letters of the share become the rows (m), columns (n) and sums (k) of the
 * product, its leading dimensions, and the loops that stay around it. Steps count elements of the
 * local, row-major arrays. "left" and "right" are the operands of the product: the inputs 0 and 1
 * of the einsum, or 1 and 0 when `swap` (then the product gives the transposed output). */
#ifndef PL_BACKENDS_ONEDNN_GEMM_H
#define PL_BACKENDS_ONEDNN_GEMM_H
#include "graph/share.h"

typedef struct pl_gemm_loop {
    int64_t n;
    int64_t left, right, out; /* steps */
} pl_gemm_loop;

typedef struct pl_gemm {
    bool swap;
    int64_t m, n, k;
    bool left_t, right_t;               /* stored transposed: [k][m], [n][k]                    */
    int64_t left_ld, right_ld, out_ld;  /* leading dimensions, at least a stored row            */
    pl_gemm_loop dot;                   /* n = k and its steps: for products with m = n = 1     */
    int n_outer, n_sum;
    pl_gemm_loop outer[PL_MAX_FACTORS]; /* independent products: batch; m, n that do not nest   */
    pl_gemm_loop sum[PL_MAX_FACTORS];   /* k that does not nest: products that are added up     */
    int64_t products;                   /* of the sizes of outer                                */
} pl_gemm;

/* Fails with the reason when the share is not such a nest. */
PL_MUST_CHECK bool pl_gemm_plan(const pl_share *s, pl_gemm *g, pl_err *why);

/* Where independent product i, and within it the j-th product that is added, begins. */
typedef struct pl_gemm_at {
    int64_t left, right, out;
} pl_gemm_at;
pl_gemm_at pl_gemm_origin(const pl_gemm *g, int64_t i);
pl_gemm_at pl_gemm_sum_origin(const pl_gemm *g, pl_gemm_at at, int64_t j);
int64_t pl_gemm_sums(const pl_gemm *g); /* products that are added up, at least 1 */

/* Is it better to give each thread whole products than to split every product over the threads? */
bool pl_gemm_parallel(const pl_gemm *g, int n_threads);

#endif
