/* cross_entropy_sums and its gradient: rows of logits, one row at a time. */
#include "backends/native/kernels.h"

#include <math.h>

/* The classes are the rows of the logits; whatever is one per row is in the order of the rows. */
bool pl_cross_entropy_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    int v = pl_sig_find(n->sig, 'v');
    (void)env;
    if (n->in[0]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the logits are %s, not f32",
                          pl_type_name(n->in[0]->type));
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (!pl_kernels_is_rows(&n->sig->operand[0], v, &n->sig->operand[o]))
            return pl_err_set(why, PL_EUNSUPPORTED,
                              "operand %d is not laid out as the logits, whose rows have to be 'v'",
                              o);
    return true;
}

static float sum_exp(int64_t n, const float *x, float top)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += expf(x[i] - top);
    return sum;
}

static float sum_all(int64_t n, const float *x)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* Label smoothing, and each class's share of it. */
typedef struct smoothing {
    double all, each;
} smoothing;

static smoothing smoothing_of(const pl_node *n)
{
    const double all = pl_node_real(n, "smoothing", 0);
    return (smoothing){ all, all / (double)n->sig->factor[pl_sig_find(n->sig, 'v')].size };
}

/* Pieces are summed in f32, their total in double: a vocabulary is too long for one f32 sum. */
void pl_cross_entropy_sums_run(const pl_share *s, const pl_kernel_env *env, void *state,
                               const void *const in[], void *const out[], void *scratch)
{
    const pl_node *node = s->node;
    pl_range here = s->factor[pl_sig_find(node->sig, 'v')];
    int64_t rows = pl_shape_count(&s->shape[1]);
    const float *top = in[2];
    const smoothing e = smoothing_of(node);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (rows * here.n > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)in[0] + r * here.n;
        int64_t c = (int64_t)pl_type_get(node->in[1]->type, in[1], r) - here.lo;
        double total = 0, sum = 0;
        for (int64_t lo = 0; lo < here.n; lo += PL_LOOPS_PIECE) {
            const int64_t left = here.n - lo, n = left < PL_LOOPS_PIECE ? left : PL_LOOPS_PIECE;
            total += (double)sum_exp(n, x + lo, top[r]);
            if (e.all > 0) sum += (double)sum_all(n, x + lo);
        }
        const float picked = c >= 0 && c < here.n ? x[c] : 0;
        ((float *)out[0])[r] = (float)total;
        ((float *)out[1])[r] =
            e.all > 0 ? (float)((1 - e.all) * (double)picked + e.each * sum) : picked;
    }
}

/* dx may lie over x. */
void pl_cross_entropy_sums_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                    const void *const in[], void *const out[], void *scratch)
{
    const pl_node *node = s->node;
    pl_range here = s->factor[pl_sig_find(node->sig, 'v')];
    int64_t rows = pl_shape_count(&s->shape[1]);
    const float *top = in[2], *dsum = in[3], *dpicked = in[4];
    const smoothing e = smoothing_of(node);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (rows * here.n > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)in[0] + r * here.n;
        float *dx = (float *)out[0] + r * here.n;
        int64_t c = (int64_t)pl_type_get(node->in[1]->type, in[1], r) - here.lo;
        const float shift = top[r], by = dsum[r], each = (float)e.each * dpicked[r];
#pragma omp simd
        for (int64_t i = 0; i < here.n; i++) dx[i] = by * expf(x[i] - shift) + each;
        if (c >= 0 && c < here.n) dx[c] += (float)(1 - e.all) * dpicked[r];
    }
}
