/* softmax and its gradient, one row at a time. */
#include "backends/native/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct rows {
    int64_t n, v;   /* rows of v elements                                                        */
    int64_t q, q0;  /* causal: row r stands at position q0 + r % q and sees what is not later;
                       q is 0 when all rows see all                                              */
    int64_t window; /* the last so many of those; 0: all of them                                */
    float scale;
} rows;

bool pl_softmax_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    int rank = s->shape[0].rank;
    rows r = { .v = s->shape[0].dim[rank - 1], .scale = (float)pl_node_real(n, "scale", 0) };
    (void)env;
    r.n = pl_shape_count(&s->shape[0]) / r.v;
    if (n->op == &pl_op_softmax && pl_node_int(n, "causal", 0)) {
        r.q = s->shape[0].dim[rank - 2];
        r.window = pl_node_int(n, "window", 0);
        r.q0 = s->factor[n->sig->operand[0].dim[rank - 2].factor[0]].lo;
    }
    *scratch_bytes = 0;
    return pl_kernels_keep(&r, sizeof r, state, err);
}

/* Of the elements [first, live). */
static void softmax_row(int64_t first, int64_t live, int64_t v, float scale, const float *x,
                        float *y)
{
    float top = -FLT_MAX, sum = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = first; i < live; i++) top = scale * x[i] > top ? scale * x[i] : top;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = first; i < live; i++) {
        float e = expf(scale * x[i] - top);
        y[i] = e;
        sum += e;
    }
    float by = 1 / sum;
#pragma omp simd
    for (int64_t i = first; i < live; i++) y[i] *= by;
    memset(y, 0, (size_t)first * sizeof *y);
    memset(y + live, 0, (size_t)(v - live) * sizeof *y);
}

void pl_softmax_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch)
{
    const rows *a = state;
    const float *x = in[0];
    float *y = out[0];
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (a->n * a->v > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < a->n; r++) {
        int64_t seen = a->q ? a->q0 + r % a->q + 1 : a->v;
        if (seen > a->v) seen = a->v;
        int64_t first = a->window && seen > a->window ? seen - a->window : 0;
        softmax_row(first, seen, a->v, a->scale, x + r * a->v, y + r * a->v);
    }
}

void pl_softmax_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                         const void *const in[], void *const out[], void *scratch)
{
    const rows *a = state;
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (a->n * a->v > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < a->n; r++) {
        const float *y = (const float *)in[0] + r * a->v, *dy = (const float *)in[1] + r * a->v;
        float *dx = (float *)out[0] + r * a->v, dot = 0;
#pragma omp simd reduction(+ : dot)
        for (int64_t i = 0; i < a->v; i++) dot += dy[i] * y[i];
#pragma omp simd
        for (int64_t i = 0; i < a->v; i++) dx[i] = a->scale * y[i] * (dy[i] - dot);
    }
}
