#include "backends/onednn/sgemm.h"
#include "backends/onednn/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

bool pl_sgemm_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    pl_gemm g = { 0 };
    (void)env;
    pl_type t = s->node->out[0]->type;
    if (t != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "multiplies f32, not %s", pl_type_name(t));
    return pl_gemm_plan(s, &g, why);
}

bool pl_sgemm_make(const pl_share *s, const pl_kernel_env *env, void **state,
                   int64_t *scratch_bytes, pl_err *err)
{
    (void)env;
    pl_gemm g = { 0 };
    PL_TRY(pl_gemm_plan(s, &g, err));
    pl_gemm *kept = malloc(sizeof *kept);
    if (!kept) pl_bug(__FILE__, __LINE__, "no memory for %zu bytes", sizeof *kept);
    *kept = g;
    *state = kept;
    *scratch_bytes = 0;
    return true;
}

void pl_sgemm_free(void *state)
{
    free(state);
}

/* dnnl_sgemm needs 2.4 us for a dot product of 768 elements: four times as long as this loop. */
static float dot(const pl_gemm_loop *k, const float *a, const float *b)
{
    float sum = 0;
    if (k->left == 1 && k->right == 1) {
#pragma omp simd reduction(+ : sum) simdlen(16)
        for (int64_t i = 0; i < k->n; i++) sum += a[i] * b[i];
    } else {
        for (int64_t i = 0; i < k->n; i++) sum += a[i * k->left] * b[i * k->right];
    }
    return sum;
}

/* Nor does it begin in the time that a product of so many multiplications takes. */
enum { SMALL = 1024 };

static void multiply_small(const pl_gemm *g, const float *l, const float *r, float *y, bool add)
{
    const int64_t row = g->left_t ? 1 : g->left_ld, depth = g->left_t ? g->left_ld : 1;
    const pl_gemm_loop sum = { .n = g->k, .left = depth, .right = 1 };
    for (int64_t i = 0; i < g->m; i++, l += row, y += g->out_ld) {
        if (!add) memset(y, 0, (size_t)g->n * sizeof *y);
        for (int64_t j = 0; g->right_t && j < g->n; j++) y[j] += dot(&sum, l, r + j * g->right_ld);
        for (int64_t p = 0; !g->right_t && p < g->k; p++) {
            const float a = l[p * depth], *b = r + p * g->right_ld;
#pragma omp simd
            for (int64_t j = 0; j < g->n; j++) y[j] += a * b[j];
        }
    }
}

static void multiply(const pl_gemm *g, int64_t i, const float *left, const float *right, float *out)
{
    pl_gemm_at o = pl_gemm_origin(g, i);
    for (int64_t j = 0, n = pl_gemm_sums(g); j < n; j++) {
        pl_gemm_at at = pl_gemm_sum_origin(g, o, j);
        const float *l = left + at.left, *r = right + at.right;
        float *y = out + at.out;
        if (g->m == 1 && g->n == 1) {
            *y = (j ? *y : 0) + dot(&g->dot, l, r);
            continue;
        }
        if (g->m * g->n * g->k <= SMALL) {
            multiply_small(g, l, r, y, j > 0);
            continue;
        }
        dnnl_status_t status =
            dnnl_sgemm(g->left_t ? 'T' : 'N', g->right_t ? 'T' : 'N', g->m, g->n, g->k, 1, l,
                       g->left_ld, r, g->right_ld, j ? 1 : 0, y, g->out_ld);
        PL_ASSERT_CMP(status, ==, dnnl_success);
    }
}

void pl_sgemm_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                  void *const out[], void *scratch)
{
    const pl_gemm *g = state;
    const float *left = in[g->swap], *right = in[!g->swap];
    (void)s, (void)scratch;
    if (!pl_gemm_parallel(g, env->n_threads)) {
        for (int64_t i = 0; i < g->products; i++) multiply(g, i, left, right, out[0]);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(env->n_threads)
    for (int64_t i = 0; i < g->products; i++) multiply(g, i, left, right, out[0]);
}
