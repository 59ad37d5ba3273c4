/* Tiles of attention: packing, masks, cap and dropout. */
#include "backends/native/attention.h"
#include "backends/native/philox.h"

#include <math.h>

enum { LANES = PL_ATTENTION_LANES };
_Static_assert((int)LANES == (int)PL_PHILOX_LANES, "queries have their words side by side");

pl_attention_shape pl_attention_shape_of(const pl_share *s)
{
    pl_attention_shape x = { .a = pl_attention_of(s->node) };
    const pl_walk w = pl_walk_new(s, 0);
    const pl_range q = s->factor[x.a.q], k = s->factor[x.a.k];
    const int64_t queries = s->node->sig->factor[x.a.q].size;
    x.run = q.n, x.n_runs = x.a.chunk < 0 ? 1 : s->factor[x.a.chunk].n, x.gap = queries - q.n;
    if (!x.gap) x.run *= x.n_runs, x.n_runs = 1;
    x.q = x.run * x.n_runs, x.k = k.n, x.d = s->factor[x.a.d].n, x.e = s->factor[x.a.e].n;
    for (int o = 0; o < s->node->n_in + s->node->n_out; o++)
        x.q_step[o] = w.stride[o][x.a.q], x.k_step[o] = w.stride[o][x.a.k];
    x.diagonal = pl_attention_position(&x.a, s, 0, 0) - k.lo;
    x.keys = s->node->sig->factor[x.a.k].size, x.first_key = k.lo;
    pl_share_globals(s, x.a.lse, &x.rows);
    x.keep = (uint64_t)ceil(x.a.p * 0x1p32);
    x.factor = (float)(1 / (1 - x.a.p));
    return x;
}

uint32_t pl_attention_rows(const pl_attention *a, const pl_node *n)
{
    const uint32_t queries = 1u << a->q | (a->chunk < 0 ? 0 : 1u << a->chunk);
    return pl_walk_mask(n, a->lse) & ~queries;
}

static int64_t blocks_of_run(const pl_attention_shape *x)
{
    return (x->run + LANES - 1) / LANES;
}

int64_t pl_attention_blocks(const pl_attention_shape *x)
{
    return x->n_runs * blocks_of_run(x);
}

pl_attention_block pl_attention_block_at(const pl_attention_shape *x, int64_t i)
{
    const int64_t run = i / blocks_of_run(x), from = i % blocks_of_run(x) * LANES;
    return (pl_attention_block){ .q = run * x->run + from,
                                 .n = x->run - from < LANES ? x->run - from : LANES,
                                 .diagonal = x->diagonal + run * x->gap };
}

float *pl_attention_deal(pl_attention_scratch *s, int64_t floats)
{
    float *part = s->at ? s->at + s->floats : NULL;
    s->floats += floats;
    return part;
}

void pl_attention_turn(const float *x, int64_t step, int64_t n, int64_t width, float by, float *out)
{
    for (int64_t q = 0; q < n; q++)
        for (int64_t i = 0; i < width; i++) out[i * LANES + q] = by * x[q * step + i];
    for (int64_t i = 0; i < width; i++)
        for (int64_t q = n; q < LANES; q++) out[i * LANES + q] = 0;
}

static int64_t within(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

pl_range pl_attention_keys(const pl_attention_shape *x, const pl_attention_block *b)
{
    if (!x->a.causal) return (pl_range){ 0, x->k };
    const int64_t end = within(b->q + b->n + b->diagonal, x->k);
    const int64_t first = x->a.window ? b->q + 1 + b->diagonal - x->a.window : 0;
    return (pl_range){ within(first, end), end - within(first, end) };
}

void pl_attention_mask(const pl_attention_shape *x, const pl_attention_block *b, float with,
                       float *tile)
{
    if (!x->a.causal) return;
    for (int64_t j = 0; j < b->n_k; j++, tile += LANES) {
        const int64_t first = within(b->k + j - b->diagonal - b->q, LANES);
        const int64_t end =
            x->a.window ? within(b->k + j - b->diagonal - b->q + x->a.window, LANES) : LANES;
        for (int64_t q = 0; q < first; q++) tile[q] = with;
        for (int64_t q = end; q < LANES; q++) tile[q] = with;
    }
}

void pl_attention_cap(const pl_attention_shape *x, int64_t n, float *tile)
{
    const float cap = (float)x->a.cap, by = 1 / cap;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) tile[i] = cap * tanhf(tile[i] * by);
}

static void compare(const pl_attention_shape *x, const uint32_t word[LANES], float kept[LANES])
{
#pragma omp simd
    for (int q = 0; q < LANES; q++) kept[q] = word[q] >= x->keep ? x->factor : 0;
}

/* Four keys at a time, where a query's words for them are a block of Philox. */
static void draw_four(const pl_attention_shape *x, const pl_attention_block *b, int64_t j,
                      pl_rng rng, float *kept)
{
    const uint64_t key = (uint64_t)(x->first_key + b->k + j);
    uint64_t block[LANES];
    uint32_t word[4][LANES];
    for (int q = 0; q < LANES; q++) block[q] = (b->row[q] * (uint64_t)x->keys + key) / 4;
    pl_philox_lanes(rng, block, word);
    for (int i = 0; i < 4; i++) compare(x, word[i], kept + i * LANES);
}

static void draw_one(const pl_attention_shape *x, const pl_attention_block *b, int64_t j,
                     pl_rng rng, float *kept)
{
    const uint64_t key = (uint64_t)(x->first_key + b->k + j);
    uint64_t index[LANES], block[LANES];
    uint32_t word[4][LANES], own[LANES];
    for (int q = 0; q < LANES; q++)
        index[q] = b->row[q] * (uint64_t)x->keys + key, block[q] = index[q] / 4;
    pl_philox_lanes(rng, block, word);
    for (int q = 0; q < LANES; q++) own[q] = word[index[q] % 4][q];
    compare(x, own, kept);
}

void pl_attention_draw(const pl_attention_shape *x, const pl_attention_block *b, pl_rng rng,
                       float *kept)
{
    int64_t j = 0;
    const bool aligned = x->keys % 4 == 0 && (x->first_key + b->k) % 4 == 0;
    for (; aligned && j + 4 <= b->n_k; j += 4) draw_four(x, b, j, rng, kept + j * LANES);
    for (; j < b->n_k; j++) draw_one(x, b, j, rng, kept + j * LANES);
}
