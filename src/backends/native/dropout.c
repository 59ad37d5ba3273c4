/* dropout: the random words of a row are made first, four per Philox block and many blocks side by
 * side; then they are compared. The same words as base/rng.h gives, so the same mask as the
 * reference. */
#include "backends/native/kernels.h"
#include "backends/native/philox.h"

#include <math.h>

enum { FEW = PL_PHILOX_LANES / 8 };

typedef struct dropout {
    pl_loops loops; /* operand 0: elements of this share, 1: their global index */
    int64_t lo;     /* global index of the share's first element                */
    uint64_t keep;  /* keep where the word is at least this: ceil(p 2^32)       */
    float factor;   /* 1 / (1 - p)                                              */
    uint64_t stream;
} dropout;

bool pl_dropout_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    (void)env;
    if (n->in[0]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "x is %s, not f32", pl_type_name(n->in[0]->type));
    if (n->in[1]->type != PL_I64)
        return pl_err_set(why, PL_EUNSUPPORTED, "the seed is %s, not i64",
                          pl_type_name(n->in[1]->type));
    return true;
}

bool pl_dropout_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    double p = pl_node_real(n, "p", 0);
    dropout d = { .keep = (uint64_t)ceil(p * 0x1p32),
                  .factor = (float)(1 / (1 - p)),
                  .stream = (uint64_t)pl_node_int(n, "stream", 0) };
    pl_globals g;
    (void)env;
    pl_share_globals(s, n->n_in, &g);
    for (int k = 0; k < g.n; k++) {
        int64_t step[2] = { g.level[k].local, g.level[k].global };
        d.lo += g.level[k].lo * g.level[k].global;
        pl_loops_add(&d.loops, g.level[k].n, step, 2, 0);
    }
    pl_loops_close(&d.loops, 2);
    *scratch_bytes = 0;
    return pl_kernels_keep(&d, sizeof d, state, err);
}

/* As many blocks as are made at once, from `first`: word[4 i + k] is word k of block first + i. */
static void draw_lanes(pl_rng r, uint64_t first, uint32_t word[4 * PL_PHILOX_LANES])
{
    uint64_t block[PL_PHILOX_LANES];
    uint32_t w[4][PL_PHILOX_LANES];
    for (int i = 0; i < PL_PHILOX_LANES; i++) block[i] = first + (uint64_t)i;
    pl_philox_lanes(r, block, w);
#pragma omp simd
    for (int i = 0; i < PL_PHILOX_LANES; i++)
        word[4 * i] = w[0][i], word[4 * i + 1] = w[1][i], word[4 * i + 2] = w[2][i],
                 word[4 * i + 3] = w[3][i];
}

/* n blocks from `first`, the last few one by one; `word` has room for PL_PHILOX_LANES more. */
static void draw_blocks(pl_rng r, uint64_t first, int64_t n, uint32_t word[])
{
    int64_t i = 0;
    for (; n - i > FEW; i += PL_PHILOX_LANES) draw_lanes(r, first + (uint64_t)i, word + 4 * i);
    for (; i < n; i++) pl_rng_block(r, first + (uint64_t)i, word + 4 * i);
}

typedef struct job {
    const dropout *d;
    pl_rng rng;
    const float *x;
    float *y;
} job;

static void drop_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const dropout *d = j->d;
    const float *x = j->x + at[0], factor = d->factor;
    float *y = j->y + at[0];
    uint64_t from = (uint64_t)(d->lo + at[1]);
    int64_t step = d->loops.step[d->loops.n - 1][1];
    uint32_t word[PL_LOOPS_PIECE + 8 + 4 * PL_PHILOX_LANES];
    if (step == 1) {
        draw_blocks(j->rng, from / 4, ((int64_t)(from % 4) + n + 3) / 4, word);
    } else {
        for (int64_t i = 0; i < n; i++) word[i] = pl_rng_u32(j->rng, from + (uint64_t)(i * step));
    }
    const uint32_t *w = step == 1 ? word + from % 4 : word;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = w[i] >= d->keep ? x[i] * factor : 0;
}

void pl_dropout_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch)
{
    const dropout *d = state;
    job j = { d, pl_rng_at((uint64_t) * (const int64_t *)in[1], d->stream), in[0], out[0] };
    (void)s, (void)scratch;
    pl_loops_run(&d->loops, 2, env->n_threads, drop_row, &j);
}
