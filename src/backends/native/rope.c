/* rope, for heads that are dense. The sines of a position are made once and serve all its heads. */
#include "backends/native/kernels.h"

#include "graph/walk.h"
#include "ops/lib/rope.h"

#include <math.h>

enum { MAX_PAIRS = 1024 }; /* sines and cosines of a position fit the stack */

typedef struct rope {
    pl_loops heads;                         /* of one position: all letters but s and d */
    int64_t n_positions, first, half, rest; /* pairs; numbers after them, which do not turn */
    int64_t step[2];                        /* from one position to the next: input, output */
    double angle[MAX_PAIRS];
    float sign, scale;
} rope;

bool pl_rope_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    int d = pl_sig_find(sig, 'd'), order[PL_MAX_FACTORS];
    PL_TRY(pl_kernels_all_f32(s, env, why));
    int n = pl_kernels_order(&sig->operand[0], order);
    if (n < 1 || order[n - 1] != d)
        return pl_err_set(why, PL_EUNSUPPORTED, "'d' is not the last dimension");
    if (s->factor[d].n > 2 * MAX_PAIRS)
        return pl_err_set(why, PL_EUNSUPPORTED, "'d' is %lld, more than %d",
                          (long long)s->factor[d].n, 2 * MAX_PAIRS);
    return true;
}

bool pl_rope_make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                  pl_err *err)
{
    const pl_node *n = s->node;
    int seq = pl_sig_find(n->sig, 's'), d = pl_sig_find(n->sig, 'd');
    uint32_t all = pl_walk_mask(n, 0);
    pl_walk w = pl_walk_new(s, all);
    rope r = { .heads = pl_loops_make(s, all & ~(1u << seq) & ~(1u << d), 0),
               .n_positions = s->factor[seq].n,
               .first = s->factor[seq].lo,
               .half = pl_rope_pairs(n, s->factor[d].n),
               .step = { w.stride[0][seq], w.stride[1][seq] },
               .scale = (float)pl_node_real(n, "scale", 0),
               .sign = pl_node_int(n, "inverse", 0) ? -1 : 1 };
    r.rest = s->factor[d].n - 2 * r.half;
    for (int64_t i = 0; i < r.half; i++) r.angle[i] = pl_rope_angle(n, i, r.half);
    (void)env;
    *scratch_bytes = 0;
    return pl_kernels_keep(&r, sizeof r, state, err);
}

/* y may be x: a pair is read before it is written. */
static void turn(int64_t half, const float *cosine, const float *sine, const float *x, float *y)
{
#pragma omp simd
    for (int64_t i = 0; i < half; i++) {
        float low = x[i], high = x[i + half];
        y[i] = low * cosine[i] - high * sine[i];
        y[i + half] = high * cosine[i] + low * sine[i];
    }
}

void pl_rope_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                 void *const out[], void *scratch)
{
    const rope *r = state;
    int64_t n_heads = pl_loops_count(&r->heads, 0, r->heads.n);
    (void)s, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (r->n_positions * n_heads * 2 * r->half >  \
                                                         PL_LOOPS_SERIAL)
    for (int64_t p = 0; p < r->n_positions; p++) {
        float cosine[MAX_PAIRS], sine[MAX_PAIRS];
        for (int64_t i = 0; i < r->half; i++) {
            double angle = (double)(r->first + p) * r->angle[i];
            cosine[i] = r->scale * (float)cos(angle);
            sine[i] = r->scale * r->sign * (float)sin(angle);
        }
        for (int64_t h = 0; h < n_heads; h++) {
            int64_t at[2] = { p * r->step[0], p * r->step[1] };
            pl_loops_seek(&r->heads, 0, r->heads.n, h, 2, at);
            const float *x = (const float *)in[0] + at[0];
            float *y = (float *)out[0] + at[1];
            turn(r->half, cosine, sine, x, y);
            for (int64_t i = 2 * r->half; i < 2 * r->half + r->rest; i++) y[i] = x[i];
        }
    }
}
