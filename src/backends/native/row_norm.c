/* layer_norm, rms_norm and their gradients, for rows that are dense. rms_norm is layer_norm with
 * mean and bias left out, so both run through the same row functions. */
#include "backends/native/kernels.h"

#include <math.h>

enum {
    MIN_ROWS = 8,
    MAX_BLOCKS = 64
}; /* rows of a block of the gradient; blocks                  */

typedef struct norm {
    bool centred; /* layer_norm */
    int64_t rows, h, n_blocks;
    float eps;
} norm;

static bool is_grad(const pl_op *op)
{
    return op == &pl_op_layer_norm_grad || op == &pl_op_rms_norm_grad;
}

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
    const pl_op *op = s->node->op;
    norm a = { .centred = op == &pl_op_layer_norm || op == &pl_op_layer_norm_grad, .n_blocks = 1 };
    (void)env;
    a.h = s->in[0].dim[s->in[0].rank - 1];
    a.rows = pl_shape_count(&s->in[0]) / a.h;
    *scratch_bytes = 0;
    if (is_grad(op)) {
        int64_t n = a.rows / MIN_ROWS;
        a.n_blocks = n < 1 ? 1 : n > MAX_BLOCKS ? MAX_BLOCKS : n;
        *scratch_bytes = a.n_blocks * 2 * a.h * (int64_t)sizeof(float);
    } else {
        a.eps = (float)pl_node_real(s->node, "eps", 0);
    }
    return pl_kernels_keep(&a, sizeof a, state, err);
}

static float mean_of(int64_t h, const float *x)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < h; i++) sum += x[i];
    return sum / (float)h;
}

/* mean and bias are NULL for rms_norm. */
static void norm_row(int64_t h, float eps, const float *x, const float *scale, const float *bias,
                     float *y, float *mean, float *rstd)
{
    float m = mean ? mean_of(h, x) : 0, square = 0;
#pragma omp simd reduction(+ : square)
    for (int64_t i = 0; i < h; i++) square += (x[i] - m) * (x[i] - m);
    float r = (float)(1 / sqrt((double)(square / (float)h + eps)));
    if (mean) *mean = m;
    *rstd = r;
    if (bias) {
#pragma omp simd
        for (int64_t i = 0; i < h; i++) y[i] = (x[i] - m) * r * scale[i] + bias[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < h; i++) y[i] = x[i] * r * scale[i];
    }
}

void pl_row_norm_run(const pl_share *s, const pl_kernel_env *env, void *state,
                     const void *const in[], void *const out[], void *scratch)
{
    const norm *a = state;
    const float *x = in[0], *scale = in[1], *bias = a->centred ? in[2] : NULL;
    float *y = out[0], *mean = a->centred ? out[1] : NULL, *rstd = out[a->centred ? 2 : 1];
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (a->rows * a->h > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < a->rows; r++)
        norm_row(a->h, a->eps, x + r * a->h, scale, bias, y + r * a->h, mean ? mean + r : NULL,
                 rstd + r);
}

/* Adds to dscale and dbias before it writes dx, which may lie over x or dy. */
static void grad_row(int64_t h, bool centred, const float *x, float mean, float rstd,
                     const float *scale, const float *dy, float *dx, float *dscale, float *dbias)
{
    float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < h; i++) {
        float hat = (x[i] - mean) * rstd, g = dy[i] * scale[i];
        sum += g;
        dot += g * hat;
        dscale[i] += dy[i] * hat;
        dbias[i] += dy[i];
    }
    sum = centred ? sum / (float)h : 0;
    dot /= (float)h;
#pragma omp simd
    for (int64_t i = 0; i < h; i++)
        dx[i] = rstd * (dy[i] * scale[i] - sum - (x[i] - mean) * rstd * dot);
}

void pl_row_norm_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                          const void *const in[], void *const out[], void *scratch)
{
    const norm *a = state;
    int k = a->centred ? 1 : 0; /* rms_norm has no mean and no dbias */
    const float *x = in[0], *mean = a->centred ? in[1] : NULL, *rstd = in[1 + k];
    const float *scale = in[2 + k], *dy = in[3 + k];
    float *dx = out[0], *partial = scratch;
    int64_t h = a->h;
    (void)s;
#pragma omp parallel for num_threads(env->n_threads) if (a->rows * h > PL_LOOPS_SERIAL)
    for (int64_t b = 0; b < a->n_blocks; b++) {
        float *dscale = partial + b * h, *dbias = partial + (a->n_blocks + b) * h;
        for (int64_t i = 0; i < h; i++) dscale[i] = dbias[i] = 0;
        for (int64_t r = b * a->rows / a->n_blocks; r < (b + 1) * a->rows / a->n_blocks; r++)
            grad_row(h, a->centred, x + r * h, mean ? mean[r] : 0, rstd[r], scale, dy + r * h,
                     dx + r * h, dscale, dbias);
    }
    pl_kernels_add_blocks(a->n_blocks, h, partial, out[1], env->n_threads);
    if (a->centred)
        pl_kernels_add_blocks(a->n_blocks, h, partial + a->n_blocks * h, out[2], env->n_threads);
}
