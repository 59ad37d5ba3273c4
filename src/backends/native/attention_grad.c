/* attention_grad: a task is a part of one head's keys, and goes through all queries that see them,
 * of all heads that read these keys, a block at a time (Dao, FlashAttention-2, 2023, algorithm 2).
 *
 * dk and dv of the part are summed in the task's scratch, in the order of the queries. dq of a
 * block is summed over the task's keys; where a head's keys are several parts, each has a dq of its
 * own, and these are added up in their order at the end. How many parts there are follows from the
 * shapes alone. */
#include "backends/native/attention.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { Q, K, V, Y, LSE, DY, SEED };
enum { LANES = PL_ATTENTION_LANES, KEYS = PL_ATTENTION_KEYS };
enum { TASKS = 16 }; /* where heads are fewer, their keys are taken in parts */

static const float LEAST = -87.0f, MOST = 87.0f; /* exponents stay within */

typedef struct attention_grad {
    pl_attention_shape x;
    pl_loops groups, members; /* heads of keys; heads of queries that read the same keys */
    int64_t n_groups, n_members, n_blocks;
    int64_t n_parts, part;  /* of the keys; keys of one, a multiple of KEYS            */
    int64_t wide_d, wide_e; /* widths as columns of a product                          */
    int64_t n_dq;           /* elements of dq                                          */
    int64_t floats;         /* of a thread's scratch                                   */
} attention_grad;

/* A thread's scratch. Of a block of queries q is scaled, and x_rows is x as [lane][width]. */
typedef struct room {
    float *q, *q_rows, *dy, *dy_rows, *dq, *lse, *delta;
    float *score, *p, *ds, *kept; /* tiles          */
    float *dk, *dv;               /* of all a part's keys */
} room;

static room take(const attention_grad *a, pl_attention_scratch *s)
{
    const int64_t tile = PL_ATTENTION_TILE;
    room r;
    r.q = pl_attention_deal(s, a->x.d * LANES);
    r.q_rows = pl_attention_deal(s, a->wide_d * LANES);
    r.dy = pl_attention_deal(s, a->x.e * LANES);
    r.dy_rows = pl_attention_deal(s, a->wide_e * LANES);
    r.dq = pl_attention_deal(s, a->x.d * LANES);
    r.lse = pl_attention_deal(s, LANES);
    r.delta = pl_attention_deal(s, LANES);
    r.score = pl_attention_deal(s, tile);
    r.p = pl_attention_deal(s, tile);
    r.ds = pl_attention_deal(s, tile);
    r.kept = pl_attention_deal(s, a->x.a.p > 0 ? tile : 0);
    r.dk = pl_attention_deal(s, a->part * a->wide_d);
    r.dv = pl_attention_deal(s, a->part * a->wide_e);
    return r;
}

static int64_t in_columns(int64_t n)
{
    return (n + PL_TILE_COLUMNS - 1) / PL_TILE_COLUMNS * PL_TILE_COLUMNS;
}

bool pl_attention_grad_make(const pl_share *s, const pl_kernel_env *env, void **state,
                            int64_t *scratch_bytes, pl_err *err)
{
    attention_grad a = { .x = pl_attention_shape_of(s),
                         .n_dq = pl_shape_count(pl_share_out(s, 0)) };
    const uint32_t rows = pl_attention_rows(&a.x.a, s->node),
                   groups = rows & pl_walk_mask(s->node, K);
    a.groups = pl_loops_make(s, groups, K);
    a.members = pl_loops_make(s, rows & ~groups, LSE);
    a.n_groups = pl_loops_count(&a.groups, 0, a.groups.n);
    a.n_members = pl_loops_count(&a.members, 0, a.members.n);
    a.n_blocks = pl_attention_blocks(&a.x);
    a.n_parts = (TASKS + a.n_groups - 1) / a.n_groups;
    a.part = ((a.x.k + a.n_parts - 1) / a.n_parts + KEYS - 1) / KEYS * KEYS;
    a.n_parts = (a.x.k + a.part - 1) / a.part;
    a.wide_d = in_columns(a.x.d), a.wide_e = in_columns(a.x.e);
    pl_attention_scratch counted = { 0 };
    take(&a, &counted);
    a.floats = counted.floats;
    *scratch_bytes = (env->n_threads * a.floats + (a.n_parts > 1 ? a.n_parts * a.n_dq : 0)) *
                     (int64_t)sizeof(float);
    return pl_kernels_keep(&a, sizeof a, state, err);
}

/* Rows of x into [lane][wide], times `by`, the rest 0. */
static void lay_out(const float *x, int64_t step, int64_t n, int64_t width, int64_t wide, float by,
                    float *out)
{
    for (int64_t q = 0; q < n; q++) {
        for (int64_t i = 0; i < width; i++) out[q * wide + i] = by * x[q * step + i];
        for (int64_t i = width; i < wide; i++) out[q * wide + i] = 0;
    }
}

/* What a block of queries brings, wherever its keys are; at[] is its first query. */
static void load_queries(const attention_grad *a, const pl_attention_block *b, const int64_t at[],
                         const void *const in[], const room *r)
{
    const pl_attention_shape *x = &a->x;
    const float *q = (const float *)in[Q] + at[Q], *y = (const float *)in[Y] + at[Y],
                *dy = (const float *)in[DY] + at[DY], *lse = (const float *)in[LSE] + at[LSE];
    const float scale = (float)x->a.scale;
    pl_attention_turn(q, x->q_step[Q], b->n, x->d, scale, r->q);
    pl_attention_turn(dy, x->q_step[DY], b->n, x->e, 1, r->dy);
    lay_out(q, x->q_step[Q], b->n, x->d, a->wide_d, scale, r->q_rows);
    lay_out(dy, x->q_step[DY], b->n, x->e, a->wide_e, 1, r->dy_rows);
    memset(r->dq, 0, (size_t)(x->d * LANES) * sizeof *r->dq);
    memset(r->lse, 0, LANES * sizeof *r->lse);
    memset(r->delta, 0, LANES * sizeof *r->delta);
    for (int64_t i = 0; i < b->n; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < x->e; c++)
            sum += dy[i * x->q_step[DY] + c] * y[i * x->q_step[Y] + c];
        r->delta[i] = sum;
        r->lse[i] = lse[i * x->q_step[LSE]];
    }
}

/* From scores and dp, which stands in ds, to p and ds. */
static void find_slopes(const attention_grad *a, const pl_attention_block *b, const room *r)
{
    const pl_attention_shape *x = &a->x;
    const float by = x->a.cap > 0 ? (float)(1 / x->a.cap) : 0;
    for (int64_t j = 0; j < b->n_k * LANES; j += LANES)
#pragma omp simd
        for (int q = 0; q < LANES; q++)
            r->p[j + q] = expf(fminf(fmaxf(r->score[j + q] - r->lse[q], LEAST), MOST));
    pl_attention_mask(x, b, 0, r->p);
    for (int64_t j = 0; j < b->n_k * LANES && x->a.p > 0; j += LANES)
#pragma omp simd
        for (int q = 0; q < LANES; q++) r->ds[j + q] *= r->kept[j + q];
    for (int64_t j = 0; j < b->n_k * LANES; j += LANES)
#pragma omp simd
        for (int q = 0; q < LANES; q++) {
            const float t = r->score[j + q] * by;
            r->ds[j + q] = r->p[j + q] * (r->ds[j + q] - r->delta[q]) * (1 - t * t);
        }
    for (int64_t i = 0; i < b->n_k * LANES && x->a.p > 0; i++) r->p[i] *= r->kept[i];
}

/* A tile: `from` is the first key of the part, k and v those of the head. */
static void add_keys(const attention_grad *a, const pl_attention_block *b, const room *r,
                     int64_t from, const float *k, const float *v, pl_rng rng)
{
    const pl_attention_shape *x = &a->x;
    const int64_t k_step = x->k_step[K], v_step = x->k_step[V];
    float *dk = r->dk + (b->k - from) * a->wide_d, *dv = r->dv + (b->k - from) * a->wide_e;
    k += b->k * k_step, v += b->k * v_step;
    pl_tile_multiply(b->n_k, LANES, x->d, (pl_tile_left){ k, k_step, 1 }, r->q, r->score, false);
    pl_tile_multiply(b->n_k, LANES, x->e, (pl_tile_left){ v, v_step, 1 }, r->dy, r->ds, false);
    if (x->a.cap > 0) pl_attention_cap(x, b->n_k * LANES, r->score);
    if (x->a.p > 0) pl_attention_draw(x, b, rng, r->kept);
    find_slopes(a, b, r);
    const pl_tile_left ds = { r->ds, LANES, 1 }, p = { r->p, LANES, 1 };
    pl_tile_multiply(x->d, LANES, b->n_k, (pl_tile_left){ k, 1, k_step }, r->ds, r->dq, true);
    pl_tile_multiply(b->n_k, a->wide_d, b->n, ds, r->q_rows, dk, true);
    pl_tile_multiply(b->n_k, a->wide_e, b->n, p, r->dy_rows, dv, true);
}

/* The keys [from, from + n) of one head, and all queries of one head that reads them; at[] is the
 * first of these, dq where the part's sums go. */
static void add_head(const attention_grad *a, int64_t from, int64_t n, const int64_t at[],
                     const void *const in[], float *dq, const room *r, pl_rng rng)
{
    const pl_attention_shape *x = &a->x;
    for (int64_t i = 0; i < a->n_blocks; i++) {
        pl_attention_block b = pl_attention_block_at(x, i);
        int64_t here[PL_MAX_OPERANDS];
        for (int o = 0; o < PL_MAX_OPERANDS; o++) here[o] = at[o] + b.q * x->q_step[o];
        for (int64_t q = 0; x->a.p > 0 && q < b.n; q++)
            b.row[q] = (uint64_t)pl_globals_at(&x->rows, here[LSE] + q * x->q_step[LSE]);
        const pl_range seen = pl_attention_keys(x, &b);
        const int64_t end = seen.lo + seen.n < from + n ? seen.lo + seen.n : from + n;
        b.k = seen.lo > from ? seen.lo : from;
        if (b.k < end)
            load_queries(a, &b, here, in, r);
        else
            memset(r->dq, 0, (size_t)(x->d * LANES) * sizeof *r->dq);
        for (; b.k < end; b.k += KEYS) {
            b.n_k = end - b.k < KEYS ? end - b.k : KEYS;
            add_keys(a, &b, r, from, (const float *)in[K] + at[K], (const float *)in[V] + at[V],
                     rng);
        }
        for (int64_t q = 0; q < b.n; q++)
            for (int64_t c = 0; c < x->d; c++)
                dq[here[Q] + q * x->q_step[Q] + c] = (float)x->a.scale * r->dq[c * LANES + q];
    }
}

static void put(int64_t n, int64_t width, int64_t wide, const float *from, float *out, int64_t step)
{
    for (int64_t j = 0; j < n; j++)
        memcpy(out + j * step, from + j * wide, (size_t)width * sizeof *out);
}

static void run_task(const attention_grad *a, int n_operands, int64_t t, const void *const in[],
                     void *const out[], float *dq, const room *r, pl_rng rng)
{
    const pl_attention_shape *x = &a->x;
    const int64_t from = t % a->n_parts * a->part,
                  n = x->k - from < a->part ? x->k - from : a->part;
    int64_t at[PL_MAX_OPERANDS] = { 0 };
    pl_loops_seek(&a->groups, 0, a->groups.n, t / a->n_parts, n_operands, at);
    memset(r->dk, 0, (size_t)(n * a->wide_d) * sizeof *r->dk);
    memset(r->dv, 0, (size_t)(n * a->wide_e) * sizeof *r->dv);
    for (int64_t m = 0; m < a->n_members; m++) {
        int64_t head[PL_MAX_OPERANDS];
        memcpy(head, at, sizeof head);
        pl_loops_seek(&a->members, 0, a->members.n, m, n_operands, head);
        add_head(a, from, n, head, in, dq + (a->n_parts > 1 ? t % a->n_parts * a->n_dq : 0), r,
                 rng);
    }
    put(n, x->d, a->wide_d, r->dk, (float *)out[1] + at[K] + from * x->k_step[K], x->k_step[K]);
    put(n, x->e, a->wide_e, r->dv, (float *)out[2] + at[V] + from * x->k_step[V], x->k_step[V]);
}

void pl_attention_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    const attention_grad *a = state;
    const bool drops = a->x.a.p > 0;
    const bool large = a->n_groups * a->n_members * a->x.q * a->x.k > PL_LOOPS_SERIAL;
    const pl_rng rng =
        drops ? pl_rng_at((uint64_t) * (const int64_t *)in[SEED], a->x.a.stream) : (pl_rng){ 0 };
    const int n_operands = s->node->n_in + s->node->n_out;
    float *parts = (float *)scratch + env->n_threads * a->floats;
    float *dq = a->n_parts > 1 ? parts : out[0];
#pragma omp parallel num_threads(env->n_threads) if (large)
    {
        pl_attention_scratch own = { (float *)scratch + omp_get_thread_num() * a->floats, 0 };
        const room r = take(a, &own);
#pragma omp for schedule(dynamic)
        for (int64_t t = 0; t < a->n_groups * a->n_parts; t++)
            run_task(a, n_operands, t, in, out, dq, &r, rng);
    }
    if (a->n_parts > 1) pl_kernels_add_blocks(a->n_parts, a->n_dq, parts, out[0], env->n_threads);
}
