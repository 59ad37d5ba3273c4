/* rms_norm and its gradient, for rows that are dense. */
#include "backends/native/kernels.h"

#include <math.h>

enum { MIN_ROWS = 8, MAX_BLOCKS = 64 }; /* rows of a block of the gradient; blocks */

typedef struct norm {
    int64_t rows, h, n_blocks;
    float eps, offset;
} norm;

/* The row is the last dimension of x, and all operands list the other factors in x's order. */
bool pl_row_norm_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    const pl_operand *x = &sig->operand[0];
    int h = pl_sig_find(sig, 'h');
    PL_TRY(pl_kernels_all_f32(s, env, why));
    for (int o = 0; o < sig->n_in + sig->n_out; o++) {
        bool is_vector = sig->operand[o].rank == 1 && pl_sig_has(&sig->operand[o], sig, h);
        if ((o == 0 || !is_vector) && !pl_kernels_is_rows(x, h, &sig->operand[o]))
            return pl_err_set(why, PL_EUNSUPPORTED,
                              "operand %d is not laid out as x, whose rows have to be 'h'", o);
    }
    return true;
}

bool pl_row_norm_make(const pl_share *s, const pl_kernel_env *env, void **state,
                      int64_t *scratch_bytes, pl_err *err)
{
    norm a = { .n_blocks = 1, .offset = (float)pl_node_real(s->node, "offset", 0) };
    (void)env;
    a.h = s->shape[0].dim[s->shape[0].rank - 1];
    a.rows = pl_shape_count(&s->shape[0]) / a.h;
    *scratch_bytes = 0;
    if (s->node->op == &pl_op_rms_norm_grad) {
        int64_t n = a.rows / MIN_ROWS;
        a.n_blocks = n < 1 ? 1 : n > MAX_BLOCKS ? MAX_BLOCKS : n;
        *scratch_bytes = a.n_blocks * a.h * (int64_t)sizeof(float);
    } else {
        a.eps = (float)pl_node_real(s->node, "eps", 0);
    }
    return pl_kernels_keep(&a, sizeof a, state, err);
}

void pl_row_norm_run(const pl_share *s, const pl_kernel_env *env, void *state,
                     const void *const in[], void *const out[], void *scratch)
{
    const norm *a = state;
    const float *scale = in[1];
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (a->rows * a->h > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)in[0] + r * a->h;
        float *y = (float *)out[0] + r * a->h, square = 0;
#pragma omp simd reduction(+ : square)
        for (int64_t i = 0; i < a->h; i++) square += x[i] * x[i];
        float rstd = (float)(1 / sqrt((double)(square / (float)a->h + a->eps)));
#pragma omp simd
        for (int64_t i = 0; i < a->h; i++) y[i] = x[i] * rstd * (a->offset + scale[i]);
        ((float *)out[1])[r] = rstd;
    }
}

/* Adds to dscale before it writes dx, which may lie over x or dy. */
static void grad_row(int64_t h, const float *x, float rstd, float offset, const float *scale,
                     const float *dy, float *dx, float *dscale)
{
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < h; i++) {
        float hat = x[i] * rstd;
        dot += dy[i] * (offset + scale[i]) * hat;
        dscale[i] += dy[i] * hat;
    }
    dot /= (float)h;
#pragma omp simd
    for (int64_t i = 0; i < h; i++)
        dx[i] = rstd * (dy[i] * (offset + scale[i]) - x[i] * rstd * dot);
}

void pl_row_norm_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                          const void *const in[], void *const out[], void *scratch)
{
    const norm *a = state;
    const float *x = in[0], *rstd = in[1], *scale = in[2], *dy = in[3];
    float *dx = out[0], *partial = scratch;
    int64_t h = a->h;
    (void)s;
#pragma omp parallel for num_threads(env->n_threads) if (a->rows * h > PL_LOOPS_SERIAL)
    for (int64_t b = 0; b < a->n_blocks; b++) {
        float *dscale = partial + b * h;
        for (int64_t i = 0; i < h; i++) dscale[i] = 0;
        for (int64_t r = b * a->rows / a->n_blocks; r < (b + 1) * a->rows / a->n_blocks; r++)
            grad_row(h, x + r * h, rstd[r], a->offset, scale, dy + r * h, dx + r * h, dscale);
    }
    pl_kernels_add_blocks(a->n_blocks, h, partial, out[1], env->n_threads);
}
