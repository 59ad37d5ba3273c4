/* The layer norm operators, for rows that are dense: x is [rows, h] in this share, and every other
 * operand is one of [rows, h], [rows] and [h]. A row may be part of a longer one, whose sums come
 * in as operands. */
#include "backends/native/kernels.h"

#include "ops/lib/layer_norm.h"

#include <math.h>
#include <string.h>

enum { MIN_ROWS = 8, MAX_BLOCKS = 64 }; /* rows of a block of grad_sums; blocks */

typedef struct layer_norm {
    int64_t rows, h, n_blocks;
    float count, eps; /* values of a whole row */
} layer_norm;

/* Factors [lo, hi) of x, in its order, are those of operand o. */
static bool is_range(const int x[], int lo, int hi, const pl_operand *o)
{
    int f[PL_MAX_FACTORS], n = pl_kernels_order(o, f);
    return n == hi - lo && !memcmp(x + lo, f, (size_t)n * sizeof *f);
}

bool pl_layer_norm_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    int x[PL_MAX_FACTORS], row[PL_MAX_FACTORS];
    int n = pl_kernels_order(&sig->operand[PL_LN_X], x);
    int n_row = pl_kernels_order(&sig->operand[PL_LN_SUM], row);
    PL_TRY(pl_kernels_all_f32(s, env, why));
    for (int o = 0; o < sig->n_in + sig->n_out; o++) {
        const pl_operand *p = &sig->operand[o];
        if (!is_range(x, 0, n, p) && !is_range(x, 0, n_row, p) && !is_range(x, n_row, n, p))
            return pl_err_set(why, PL_EUNSUPPORTED,
                              "operand %d is neither x, nor its first or last dimensions", o);
    }
    return true;
}

bool pl_layer_norm_make(const pl_share *s, const pl_kernel_env *env, void **state,
                        int64_t *scratch_bytes, pl_err *err)
{
    const pl_op *op = s->node->op;
    layer_norm a = { .count = (float)pl_layer_norm_count(s->node) };
    (void)env;
    a.rows =
        pl_shape_count(op == &pl_op_layer_norm_sum ? pl_share_out(s, 0) : &s->shape[PL_LN_SUM]);
    a.h = pl_shape_count(&s->shape[PL_LN_X]) / a.rows;
    if (op != &pl_op_layer_norm_sum && op != &pl_op_layer_norm_deviation)
        a.eps = (float)pl_node_real(s->node, "eps", 0);
    a.n_blocks = a.rows < MIN_ROWS ? 1 : a.rows / MIN_ROWS;
    if (a.n_blocks > MAX_BLOCKS) a.n_blocks = MAX_BLOCKS;
    *scratch_bytes =
        op == &pl_op_layer_norm_grad_sums ? a.n_blocks * 2 * a.h * (int64_t)sizeof(float) : 0;
    return pl_kernels_keep(&a, sizeof a, state, err);
}

static bool is_large(const layer_norm *a)
{
    return a->rows * a->h > PL_LOOPS_SERIAL;
}

static float find_rstd(const layer_norm *a, float deviation)
{
    return (float)(1 / sqrt((double)(deviation / a->count + a->eps)));
}

void pl_layer_norm_sum_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    const layer_norm *a = state;
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (is_large(a))
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)in[0] + r * a->h;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < a->h; i++) sum += x[i];
        ((float *)out[0])[r] = sum;
    }
}

void pl_layer_norm_deviation_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                 const void *const in[], void *const out[], void *scratch)
{
    const layer_norm *a = state;
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (is_large(a))
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)in[PL_LN_X] + r * a->h;
        float mean = ((const float *)in[PL_LN_SUM])[r] / a->count, square = 0;
#pragma omp simd reduction(+ : square)
        for (int64_t i = 0; i < a->h; i++) square += (x[i] - mean) * (x[i] - mean);
        ((float *)out[0])[r] = square;
    }
}

void pl_layer_norm_run(const pl_share *s, const pl_kernel_env *env, void *state,
                       const void *const in[], void *const out[], void *scratch)
{
    const layer_norm *a = state;
    const float *scale = in[PL_LN_SCALE], *bias = in[PL_LN_BIAS];
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (is_large(a))
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)in[PL_LN_X] + r * a->h;
        float *y = (float *)out[0] + r * a->h;
        float mean = ((const float *)in[PL_LN_SUM])[r] / a->count;
        float rstd = find_rstd(a, ((const float *)in[PL_LN_DEVIATION])[r]);
#pragma omp simd
        for (int64_t i = 0; i < a->h; i++) y[i] = (x[i] - mean) * rstd * scale[i] + bias[i];
    }
}

/* A row's sums; what it adds to those over rows. */
static void add_row(int64_t h, const float *x, float mean, float rstd, const float *scale,
                    const float *dy, float *gs, float *gh, float *dscale, float *dbias)
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
    *gs = sum;
    *gh = dot;
}

void pl_layer_norm_grad_sums_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                 const void *const in[], void *const out[], void *scratch)
{
    const layer_norm *a = state;
    const float *x = in[PL_LN_X], *sum = in[PL_LN_SUM], *dy = in[4];
    float *partial = scratch, *gs = out[0], *gh = out[1];
    int64_t h = a->h;
    (void)s;
#pragma omp parallel for num_threads(env->n_threads) if (is_large(a))
    for (int64_t b = 0; b < a->n_blocks; b++) {
        float *dscale = partial + b * h, *dbias = partial + (a->n_blocks + b) * h;
        for (int64_t i = 0; i < h; i++) dscale[i] = dbias[i] = 0;
        for (int64_t r = b * a->rows / a->n_blocks; r < (b + 1) * a->rows / a->n_blocks; r++)
            add_row(h, x + r * h, sum[r] / a->count,
                    find_rstd(a, ((const float *)in[PL_LN_DEVIATION])[r]), in[PL_LN_SCALE],
                    dy + r * h, gs + r, gh + r, dscale, dbias);
    }
    pl_kernels_add_blocks(a->n_blocks, h, partial, out[2], env->n_threads);
    pl_kernels_add_blocks(a->n_blocks, h, partial + a->n_blocks * h, out[3], env->n_threads);
}

/* dx may lie over x or dy. */
void pl_layer_norm_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                            const void *const in[], void *const out[], void *scratch)
{
    const layer_norm *a = state;
    const float *scale = in[PL_LN_SCALE], *gs = in[4], *gh = in[5];
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (is_large(a))
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)in[PL_LN_X] + r * a->h;
        const float *dy = (const float *)in[6] + r * a->h;
        float *dx = (float *)out[0] + r * a->h;
        float mean = ((const float *)in[PL_LN_SUM])[r] / a->count;
        float rstd = find_rstd(a, ((const float *)in[PL_LN_DEVIATION])[r]);
        float shift = gs[r] / a->count, slope = gh[r] / a->count;
#pragma omp simd
        for (int64_t i = 0; i < a->h; i++)
            dx[i] = rstd * (dy[i] * scale[i] - shift - (x[i] - mean) * rstd * slope);
    }
}
