/* reduce_sum, reduce_max, square_sum: any letters kept, any letters summed.
 *
 * Work is cut in (kept elements) x (blocks of what is summed). Blocks are of a size that follows
 * from the shapes; when there is more than one, their partial results stand in scratch as doubles
 * and are combined in order. */
#include "backends/native/kernels.h"

#include "graph/walk.h"

#include <float.h>
#include <string.h>

enum {
    COLUMNS = 256,     /* kept elements summed side by side                       */
    MIN_BLOCK = 16384, /* elements that a block has at least                      */
    MAX_BLOCKS = 64,   /* of one sum; also: so many sums at once need no blocks   */
};

typedef enum monoid { SUM, SQUARES, MAX } monoid;

typedef struct reduction {
    monoid monoid;
    pl_loops kept, summed;
    bool side_by_side;     /* kept elements are dense in the input: add rows of them  */
    int64_t kept_pieces;   /* side_by_side: pieces of a row, else 1                   */
    int64_t summed_pieces; /* otherwise: pieces of a summed row                     */
    int64_t n_tasks, n_units, n_blocks, n_out;
} reduction;

static int64_t pieces_of(int64_t n, int64_t piece)
{
    return (n + piece - 1) / piece;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

bool pl_reduce_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    PL_TRY(pl_kernels_all_f32(s, env, why));
    if (s->node->sig->n_windows) return pl_err_set(why, PL_EUNSUPPORTED, "has windows");
    if (pl_walk_mask(s->node, 1) & ~pl_walk_mask(s->node, 0))
        return pl_err_set(why, PL_EUNSUPPORTED, "the output has letters that the input lacks");
    return true;
}

bool pl_reduce_make(const pl_share *s, const pl_kernel_env *env, void **state,
                    int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    uint32_t kept = pl_walk_mask(n, 1), all = pl_walk_mask(n, 0);
    reduction r = {
        .monoid = n->op == &pl_op_reduce_sum   ? SUM
                  : n->op == &pl_op_square_sum ? SQUARES
                                               : MAX,
        .kept = pl_loops_make(s, kept, 1),
        .summed = pl_loops_make(s, all & ~kept, 0),
        .kept_pieces = 1,
        .summed_pieces = 1,
        .n_out = pl_shape_count(pl_share_out(s, 0)),
    };
    int last = r.kept.n - 1;
    (void)env;
    r.side_by_side = r.kept.size[last] > 1 && r.kept.step[last][0] == 1;
    if (r.side_by_side) {
        r.kept_pieces = pieces_of(r.kept.size[last], COLUMNS);
        r.n_tasks = pl_loops_count(&r.kept, 0, last) * r.kept_pieces;
        r.n_units = pl_loops_count(&r.summed, 0, r.summed.n);
    } else {
        r.summed_pieces = pieces_of(r.summed.size[r.summed.n - 1], PL_LOOPS_PIECE);
        r.n_tasks = r.n_out;
        r.n_units = pl_loops_count(&r.summed, 0, r.summed.n - 1) * r.summed_pieces;
    }
    r.n_blocks = r.n_tasks >= MAX_BLOCKS
                     ? 1
                     : clamp(pl_shape_count(&s->shape[0]) / MIN_BLOCK, 1, MAX_BLOCKS);
    r.n_blocks = clamp(r.n_blocks, 1, r.n_units);
    *scratch_bytes = r.n_blocks > 1 ? r.n_blocks * r.n_out * (int64_t)sizeof(double) : 0;
    return pl_kernels_keep(&r, sizeof r, state, err);
}

static double first(monoid m)
{
    return m == MAX ? -FLT_MAX : 0;
}

static double combine(monoid m, double a, double b)
{
    return m != MAX ? a + b : a > b ? a : b;
}

/* Inlined with a step of 1, so that the common loops have no stride. */
static inline double reduce_strided(monoid m, int64_t n, const float *x, int64_t step)
{
    float a = (float)first(m);
    if (m == SQUARES) {
#pragma omp simd reduction(+ : a)
        for (int64_t i = 0; i < n; i++) a += x[i * step] * x[i * step];
    } else if (m == MAX) {
#pragma omp simd reduction(max : a)
        for (int64_t i = 0; i < n; i++) a = x[i * step] > a ? x[i * step] : a;
    } else {
#pragma omp simd reduction(+ : a)
        for (int64_t i = 0; i < n; i++) a += x[i * step];
    }
    return (double)a;
}

static double reduce_row(monoid m, int64_t n, const float *x, int64_t step)
{
    return step == 1 ? reduce_strided(m, n, x, 1) : reduce_strided(m, n, x, step);
}

/* Units [from, to) of the sum of one kept element: each unit is a piece of a dense row. */
static double reduce_one(const reduction *r, const float *x, int64_t from, int64_t to)
{
    int last = r->summed.n - 1;
    double total = first(r->monoid);
    for (int64_t u = from; u < to; u++) {
        int64_t at[1] = { 0 }, lo = u % r->summed_pieces * PL_LOOPS_PIECE;
        int64_t n = clamp(r->summed.size[last] - lo, 0, PL_LOOPS_PIECE);
        int64_t step = r->summed.step[last][0];
        pl_loops_seek(&r->summed, 0, last, u / r->summed_pieces, 1, at);
        total = combine(r->monoid, total, reduce_row(r->monoid, n, x + at[0] + lo * step, step));
    }
    return total;
}

/* Units [from, to) of the sums of n neighbours: each unit adds a row of n. */
static void reduce_columns(const reduction *r, const float *x, int64_t n, int64_t from, int64_t to,
                           double total[COLUMNS])
{
    for (int64_t i = 0; i < n; i++) total[i] = first(r->monoid);
    for (int64_t u = from; u < to; u++) {
        int64_t at[1] = { 0 };
        pl_loops_seek(&r->summed, 0, r->summed.n, u, 1, at);
        const float *row = x + at[0];
        if (r->monoid == SUM) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) total[i] += (double)row[i];
        } else if (r->monoid == SQUARES) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) total[i] += (double)row[i] * (double)row[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) total[i] = combine(MAX, total[i], (double)row[i]);
        }
    }
}

static void reduce_task(const reduction *r, int64_t task, int64_t block, const float *x, float *y,
                        double *partial)
{
    int64_t at[2] = { 0 }, from = block * r->n_units / r->n_blocks;
    int64_t to = (block + 1) * r->n_units / r->n_blocks, n = 1, lo = 0;
    int last = r->kept.n - 1;
    double total[COLUMNS];
    if (r->side_by_side) {
        lo = task % r->kept_pieces * COLUMNS;
        n = clamp(r->kept.size[last] - lo, 0, COLUMNS);
        pl_loops_seek(&r->kept, 0, last, task / r->kept_pieces, 2, at);
        reduce_columns(r, x + at[0] + lo, n, from, to, total);
    } else {
        pl_loops_seek(&r->kept, 0, r->kept.n, task, 2, at);
        total[0] = reduce_one(r, x + at[0], from, to);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t o = at[1] + (lo + i) * (r->side_by_side ? r->kept.step[last][1] : 0);
        if (partial)
            partial[block * r->n_out + o] = total[i];
        else
            y[o] = (float)total[i];
    }
}

void pl_reduce_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch)
{
    const reduction *r = state;
    float *y = out[0];
    double *partial = r->n_blocks > 1 ? scratch : NULL;
    int64_t n_tasks = r->n_tasks * r->n_blocks;
    bool parallel = pl_shape_count(&s->shape[0]) > PL_LOOPS_SERIAL;
#pragma omp parallel for num_threads(env->n_threads) if (parallel) schedule(static)
    for (int64_t t = 0; t < n_tasks; t++)
        reduce_task(r, t / r->n_blocks, t % r->n_blocks, in[0], y, partial);
    if (!partial) return;
    for (int64_t o = 0; o < r->n_out; o++) {
        double total = first(r->monoid);
        for (int64_t b = 0; b < r->n_blocks; b++)
            total = combine(r->monoid, total, partial[b * r->n_out + o]);
        y[o] = (float)total;
    }
}
