/* The batch norm family. What depends on the channel alone is first written to a small table in
 * scratch; a row of x then either runs along the channels (channels last: the fast form) or within
 * one channel. Formulas: ops/batch_norm*.c, ops/lib/batch_norm.h. */
#include "backends/native/kernels.h"

#include "graph/walk.h"
#include "ops/lib/batch_norm.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MIN_BLOCK = 16384, MAX_BLOCKS = 64 }; /* elements of a block of the sums; blocks */

/* Rows of the table, [N_ROWS][channels]. */
enum {
    A,
    B, /* y = A x + B before relu                           */
    P,
    Q,
    R, /* dx = P dy + Q x + R                               */
    MEAN,
    N_ROWS,
};

typedef struct channel_norm {
    pl_loops loops; /* operand 0: x, y and dy; 1: channels                          */
    int64_t n_channels, pieces, n_blocks;
    double count, eps; /* values per channel in the whole batch                        */
    float floor;       /* y is at least this: 0 with relu                              */
} channel_norm;

static bool is_sums(const pl_op *op)
{
    return op == &pl_op_batch_norm_stats || op == &pl_op_batch_norm_grad_params;
}

static pl_loops loops_of(const pl_share *s)
{
    pl_loops l = { 0 };
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 0));
    for (int k = 0; k < w.n; k++) {
        int64_t step[2] = { w.stride[0][w.factor[k]], w.stride[1][w.factor[k]] };
        pl_loops_add(&l, s->factor[w.factor[k]].n, step, 2, 0);
    }
    pl_loops_close(&l, 2);
    return l;
}

bool pl_channel_norm_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    int like[2][PL_MAX_FACTORS], count[2], order[PL_MAX_FACTORS];
    PL_TRY(pl_kernels_all_f32(s, env, why));
    for (int k = 0; k < 2; k++) count[k] = pl_kernels_order(&sig->operand[k], like[k]);
    for (int o = 2; o < sig->n_in + sig->n_out; o++) {
        int n = pl_kernels_order(&sig->operand[o], order), k = n == count[1];
        if (n < 0 || n != count[k] || memcmp(order, like[k], (size_t)n * sizeof *order))
            return pl_err_set(why, PL_EUNSUPPORTED,
                              "operand %d is laid out neither as x nor as the channels", o);
    }
    pl_loops l = loops_of(s);
    if (l.step[l.n - 1][1] > 1)
        return pl_err_set(why, PL_EUNSUPPORTED, "the channels are in another order than in x");
    return true;
}

bool pl_channel_norm_make(const pl_share *s, const pl_kernel_env *env, void **state,
                          int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    channel_norm a = { .loops = loops_of(s), .floor = -FLT_MAX };
    (void)env;
    int last = a.loops.n - 1;
    a.n_channels = pl_shape_count(n->n_in > 1 ? &s->shape[1] : pl_share_out(s, 0));
    a.pieces = (a.loops.size[last] + PL_LOOPS_PIECE - 1) / PL_LOOPS_PIECE;
    int64_t n_units = pl_loops_count(&a.loops, 0, last) * a.pieces;
    int64_t n_blocks = pl_shape_count(&s->shape[0]) / MIN_BLOCK;
    n_blocks = n_blocks > MAX_BLOCKS ? MAX_BLOCKS : n_blocks;
    a.n_blocks = n_blocks > n_units ? n_units : n_blocks < 1 ? 1 : n_blocks;
    *scratch_bytes = a.n_channels * N_ROWS * (int64_t)sizeof(float);
    if (is_sums(n->op)) *scratch_bytes += a.n_blocks * 2 * a.n_channels * (int64_t)sizeof(double);
    if (n->op != &pl_op_batch_norm_stats) {
        a.eps = pl_node_real(n, "eps", 0);
        if (pl_node_int(n, "relu", 0)) a.floor = 0;
        a.count = pl_batch_norm_count(n);
    }
    return pl_kernels_keep(&a, sizeof a, state, err);
}

/* Inputs 1 to 4: sum, sumsq, scale, bias, or of batch_norm_eval mean, var, scale, bias; the
 * gradient's dscale and dbias, or NULL. */
static void make_table(const channel_norm *a, bool eval, const void *const in[],
                       const float *dscale, const float *dbias, float *table)
{
    const float *first = in[1], *second = in[2], *scale = in[3], *bias = in[4];
    int64_t n = a->n_channels;
    for (int64_t c = 0; c < n; c++) {
        double mean = eval ? (double)first[c] : (double)first[c] / a->count;
        double var = eval ? (double)second[c] : (double)second[c] / a->count - mean * mean;
        double rstd = 1 / sqrt((eval || var > 0 ? var : 0) + a->eps),
               slope = rstd * (double)scale[c];
        table[A * n + c] = (float)slope;
        table[B * n + c] = (float)((double)bias[c] - mean * slope);
        table[MEAN * n + c] = (float)mean;
        table[P * n + c] = (float)(dscale ? slope : rstd); /* batch_norm_grad_params wants rstd */
        if (!dscale) continue;
        double q = -slope * rstd * (double)dscale[c] / a->count;
        table[Q * n + c] = (float)q;
        table[R * n + c] = (float)(-slope * (double)dbias[c] / a->count - q * mean);
    }
}

typedef struct job {
    int64_t n_channels, step; /* step of the channels along a row: 1 or 0 */
    const float *x, *dy, *table;
    float *y;
    float floor;
} job;

static void forward_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const float *x = j->x + at[0], *a = j->table + A * j->n_channels + at[1];
    const float *b = j->table + B * j->n_channels + at[1], floor = j->floor;
    float *y = j->y + at[0];
    if (j->step) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float t = a[i] * x[i] + b[i];
            y[i] = t < floor ? floor : t;
        }
    } else {
        const float a0 = *a, b0 = *b;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float t = a0 * x[i] + b0;
            y[i] = t < floor ? floor : t;
        }
    }
}

static void grad_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const float *t = j->table + at[1], *a = t + A * j->n_channels, *b = t + B * j->n_channels;
    const float *p = t + P * j->n_channels, *q = t + Q * j->n_channels, *r = t + R * j->n_channels;
    const float *x = j->x + at[0], *dy = j->dy + at[0], floor = j->floor;
    float *dx = j->y + at[0];
    if (j->step) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float g = a[i] * x[i] + b[i] < floor ? 0 : dy[i];
            dx[i] = p[i] * g + (q[i] * x[i] + r[i]);
        }
    } else {
        const float a0 = *a, b0 = *b, p0 = *p, q0 = *q, r0 = *r;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float g = a0 * x[i] + b0 < floor ? 0 : dy[i];
            dx[i] = p0 * g + (q0 * x[i] + r0);
        }
    }
}

void pl_channel_norm_run(const pl_share *s, const pl_kernel_env *env, void *state,
                         const void *const in[], void *const out[], void *scratch)
{
    const channel_norm *a = state;
    const pl_op *op = s->node->op;
    bool is_grad = op == &pl_op_batch_norm_grad;
    job j = { a->n_channels, a->loops.step[a->loops.n - 1][1],
              in[0],         is_grad ? in[7] : NULL,
              scratch,       out[0],
              a->floor };
    make_table(a, op == &pl_op_batch_norm_eval, in, is_grad ? in[5] : NULL, is_grad ? in[6] : NULL,
               scratch);
    pl_loops_run(&a->loops, 2, env->n_threads, is_grad ? grad_row : forward_row, &j);
}

/* Adds the sums over a row: of x and x^2, or with dy of g and g (x - mean). */
static void sum_along(const job *j, int64_t n, const int64_t at[], double *first, double *second)
{
    const float *x = j->x + at[0];
    if (!j->dy) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            first[i] += (double)x[i];
            second[i] += (double)x[i] * (double)x[i];
        }
        return;
    }
    const float *t = j->table + at[1], *a = t + A * j->n_channels, *b = t + B * j->n_channels;
    const float *mean = t + MEAN * j->n_channels, *dy = j->dy + at[0], floor = j->floor;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float g = a[i] * x[i] + b[i] < floor ? 0 : dy[i];
        first[i] += (double)g;
        second[i] += (double)(g * (x[i] - mean[i]));
    }
}

static void sum_within(const job *j, int64_t n, const int64_t at[], double *first, double *second)
{
    const float *x = j->x + at[0];
    double u = 0, v = 0;
    if (!j->dy) {
#pragma omp simd reduction(+ : u, v)
        for (int64_t i = 0; i < n; i++) {
            u += (double)x[i];
            v += (double)x[i] * (double)x[i];
        }
    } else {
        const float *t = j->table + at[1], a = t[A * j->n_channels], b = t[B * j->n_channels];
        const float mean = t[MEAN * j->n_channels], *dy = j->dy + at[0], floor = j->floor;
#pragma omp simd reduction(+ : u, v)
        for (int64_t i = 0; i < n; i++) {
            float g = a * x[i] + b < floor ? 0 : dy[i];
            u += (double)g;
            v += (double)(g * (x[i] - mean));
        }
    }
    *first += u;
    *second += v;
}

static void sum_block(const channel_norm *a, const job *j, int64_t block, double *partial)
{
    int last = a->loops.n - 1;
    double *first = partial + block * 2 * a->n_channels, *second = first + a->n_channels;
    int64_t n_units = pl_loops_count(&a->loops, 0, last) * a->pieces;
    int64_t from = block * n_units / a->n_blocks, to = (block + 1) * n_units / a->n_blocks;
    memset(first, 0, (size_t)(2 * a->n_channels) * sizeof *first);
    for (int64_t u = from; u < to; u++) {
        int64_t at[2] = { 0 }, lo = u % a->pieces * PL_LOOPS_PIECE;
        int64_t n =
            a->loops.size[last] - lo < PL_LOOPS_PIECE ? a->loops.size[last] - lo : PL_LOOPS_PIECE;
        pl_loops_seek(&a->loops, 0, last, u / a->pieces, 2, at);
        at[0] += lo * a->loops.step[last][0];
        at[1] += lo * a->loops.step[last][1];
        (j->step ? sum_along : sum_within)(j, n, at, first + at[1], second + at[1]);
    }
}

/* batch_norm_stats gives sum, sumsq; batch_norm_grad_params dscale = rstd sum(g (x - mean)),
 * dbias. */
void pl_channel_norm_sums_run(const pl_share *s, const pl_kernel_env *env, void *state,
                              const void *const in[], void *const out[], void *scratch)
{
    const channel_norm *a = state;
    bool is_stats = s->node->op == &pl_op_batch_norm_stats;
    int64_t n = a->n_channels;
    double *partial = scratch;
    float *table = (float *)(partial + a->n_blocks * 2 * n);
    float *sum = out[is_stats ? 0 : 1], *product = out[is_stats ? 1 : 0];
    job j = {
        n, a->loops.step[a->loops.n - 1][1], in[0], is_stats ? NULL : in[5], table, NULL, a->floor
    };
    if (!is_stats) make_table(a, false, in, NULL, NULL, table);
    bool parallel = pl_shape_count(&s->shape[0]) > PL_LOOPS_SERIAL;
#pragma omp parallel for num_threads(env->n_threads) if (parallel) schedule(static)
    for (int64_t b = 0; b < a->n_blocks; b++) sum_block(a, &j, b, partial);
    for (int64_t c = 0; c < n; c++) {
        double first = 0, second = 0;
        for (int64_t b = 0; b < a->n_blocks; b++) {
            first += partial[b * 2 * n + c];
            second += partial[(b * 2 + 1) * n + c];
        }
        sum[c] = (float)first;
        product[c] = (float)(is_stats ? second : second * (double)table[P * n + c]);
    }
}
