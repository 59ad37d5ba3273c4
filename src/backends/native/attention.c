/* attention: blocks of queries, each against all keys that it sees, a block of these at a time.
 *
 * Queries stand side by side in vectors: the tiles are scores [key][query] and results [e][query],
 * so a row's maximum and sum are kept by each lane for itself, and what was summed so far is scaled
 * down when its maximum grows (Milakov and Gimelshein, 2018; Dao, FlashAttention-2, 2023, algorithm
 * 1). Blocks of queries are independent: threads take them in any order. */
#include "backends/native/attention.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { Q, K, V, SEED };
enum { LANES = PL_ATTENTION_LANES, KEYS = PL_ATTENTION_KEYS };

static const float LOW = -1e30f;   /* below all scores                                      */
static const float LEAST = -87.0f; /* exponents stop here: e^-87 is the least normal number */

typedef struct attention {
    pl_attention_shape x;
    pl_loops heads;
    int64_t n_heads, n_blocks;
    int64_t floats; /* of a thread's scratch */
} attention;

/* A thread's scratch. */
typedef struct room {
    float *q, *score, *kept, *y, *top, *sum;
} room;

static room take(const attention *a, pl_attention_scratch *s)
{
    room r;
    r.q = pl_attention_deal(s, a->x.d * LANES);
    r.score = pl_attention_deal(s, PL_ATTENTION_TILE);
    r.kept = pl_attention_deal(s, a->x.a.p > 0 ? PL_ATTENTION_TILE : 0);
    r.y = pl_attention_deal(s, a->x.e * LANES);
    r.top = pl_attention_deal(s, LANES);
    r.sum = pl_attention_deal(s, LANES);
    return r;
}

bool pl_attention_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    (void)env;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        if (v->type != (v->shape.rank ? PL_F32 : PL_I64))
            return pl_err_set(why, PL_EUNSUPPORTED, "operand %d is %s, not f32", o,
                              pl_type_name(v->type));
    }
    return true;
}

bool pl_attention_make(const pl_share *s, const pl_kernel_env *env, void **state,
                       int64_t *scratch_bytes, pl_err *err)
{
    attention a = { .x = pl_attention_shape_of(s) };
    a.heads = pl_loops_make(s, pl_attention_rows(&a.x.a, s->node), a.x.a.lse);
    a.n_heads = pl_loops_count(&a.heads, 0, a.heads.n);
    a.n_blocks = pl_attention_blocks(&a.x);
    pl_attention_scratch counted = { 0 };
    take(&a, &counted);
    a.floats = counted.floats;
    *scratch_bytes = env->n_threads * a.floats * (int64_t)sizeof(float);
    return pl_kernels_keep(&a, sizeof a, state, err);
}

/* The tile's scores become exponentials, and all lanes move to their new maximum. */
static void add_exponentials(const attention *a, const pl_attention_block *b, const room *r)
{
    float top[LANES], slower[LANES], sum[LANES];
    memcpy(top, r->top, sizeof top);
    for (int64_t j = 0; j < b->n_k; j++)
#pragma omp simd
        for (int q = 0; q < LANES; q++)
            top[q] = r->score[j * LANES + q] > top[q] ? r->score[j * LANES + q] : top[q];
#pragma omp simd
    for (int q = 0; q < LANES; q++) {
        slower[q] = expf(fmaxf(r->top[q] - top[q], LEAST));
        sum[q] = r->sum[q] * slower[q];
    }
    for (int64_t j = 0; j < b->n_k; j++)
#pragma omp simd
        for (int q = 0; q < LANES; q++)
            r->score[j * LANES + q] = expf(fmaxf(r->score[j * LANES + q] - top[q], LEAST));
    pl_attention_mask(&a->x, b, 0, r->score);
    for (int64_t j = 0; j < b->n_k; j++)
#pragma omp simd
        for (int q = 0; q < LANES; q++) sum[q] += r->score[j * LANES + q];
    for (int64_t i = 0; i < a->x.e; i++)
#pragma omp simd
        for (int q = 0; q < LANES; q++) r->y[i * LANES + q] *= slower[q];
    memcpy(r->top, top, sizeof top);
    memcpy(r->sum, sum, sizeof sum);
}

static void add_keys(const attention *a, const pl_attention_block *b, const room *r, const float *k,
                     const float *v, pl_rng rng)
{
    const pl_attention_shape *x = &a->x;
    const int64_t k_step = x->k_step[K], v_step = x->k_step[V];
    pl_tile_multiply(b->n_k, LANES, x->d, (pl_tile_left){ k + b->k * k_step, k_step, 1 }, r->q,
                     r->score, false);
    if (x->a.cap > 0) pl_attention_cap(x, b->n_k * LANES, r->score);
    pl_attention_mask(x, b, LOW, r->score);
    add_exponentials(a, b, r);
    if (x->a.p > 0) {
        pl_attention_draw(x, b, rng, r->kept);
#pragma omp simd
        for (int64_t i = 0; i < b->n_k * LANES; i++) r->score[i] *= r->kept[i];
    }
    pl_tile_multiply(x->e, LANES, b->n_k, (pl_tile_left){ v + b->k * v_step, 1, v_step }, r->score,
                     r->y, true);
}

static void put(const attention *a, const pl_attention_block *b, const room *r, float *y,
                int64_t y_step, float *lse, int64_t lse_step)
{
    for (int64_t q = 0; q < b->n; q++) {
        const float by = 1 / r->sum[q];
        for (int64_t i = 0; i < a->x.e; i++) y[q * y_step + i] = r->y[i * LANES + q] * by;
        lse[q * lse_step] = r->top[q] + logf(r->sum[q]);
    }
}

/* Block `i` of the queries of the head that starts at at[]. */
static void attend(const attention *a, int64_t i, const int64_t at[], const void *const in[],
                   void *const out[], const room *r, pl_rng rng)
{
    const pl_attention_shape *x = &a->x;
    const int o = x->a.lse - 1; /* operand y */
    pl_attention_block b = pl_attention_block_at(x, i);
    const int64_t lse = at[o + 1] + b.q * x->q_step[o + 1];
    for (int64_t q = 0; x->a.p > 0 && q < b.n; q++)
        b.row[q] = (uint64_t)pl_globals_at(&x->rows, lse + q * x->q_step[o + 1]);
    pl_attention_turn((const float *)in[Q] + at[Q] + b.q * x->q_step[Q], x->q_step[Q], b.n, x->d,
                      (float)x->a.scale, r->q);
    memset(r->y, 0, (size_t)(x->e * LANES) * sizeof *r->y);
    for (int q = 0; q < LANES; q++) r->top[q] = LOW, r->sum[q] = 0;
    const pl_range seen = pl_attention_keys(x, &b);
    for (b.k = seen.lo; b.k < seen.lo + seen.n; b.k += KEYS) {
        b.n_k = seen.lo + seen.n - b.k < KEYS ? seen.lo + seen.n - b.k : KEYS;
        add_keys(a, &b, r, (const float *)in[K] + at[K], (const float *)in[V] + at[V], rng);
    }
    put(a, &b, r, (float *)out[0] + at[o] + b.q * x->q_step[o], x->q_step[o], (float *)out[1] + lse,
        x->q_step[o + 1]);
}

void pl_attention_run(const pl_share *s, const pl_kernel_env *env, void *state,
                      const void *const in[], void *const out[], void *scratch)
{
    const attention *a = state;
    const bool drops = a->x.a.p > 0, large = a->n_heads * a->x.q * a->x.k > PL_LOOPS_SERIAL;
    const pl_rng rng =
        drops ? pl_rng_at((uint64_t) * (const int64_t *)in[SEED], a->x.a.stream) : (pl_rng){ 0 };
    const int n_operands = s->node->n_in + s->node->n_out;
#pragma omp parallel num_threads(env->n_threads) if (large)
    {
        pl_attention_scratch own = { (float *)scratch + omp_get_thread_num() * a->floats, 0 };
        const room r = take(a, &own);
#pragma omp for schedule(dynamic)
        for (int64_t t = 0; t < a->n_heads * a->n_blocks; t++) {
            int64_t at[PL_MAX_OPERANDS] = { 0 };
            pl_loops_seek(&a->heads, 0, a->heads.n, t / a->n_blocks, n_operands, at);
            attend(a, a->n_blocks - 1 - t % a->n_blocks, at, in, out, &r, rng);
        }
    }
}
