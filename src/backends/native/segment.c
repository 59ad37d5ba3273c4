/* Bags of rows: segment_sum, segment_max and their gradients. Threads have bags of their own in the
 * forward pass; in the backward pass columns, as bags may overlap. */
#include "backends/native/kernels.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 64 }; /* of the gradient that one piece of work adds up */

/* Operands by their part. `flat`: with a row a bag; `full`: with the rows that the bags have. */
typedef struct parts {
    int begin, flat, full;
} parts;

static parts find_parts(const pl_op *op)
{
    if (op == &pl_op_segment_max_grad) return (parts){ 3, 2, 5 };
    if (op == &pl_op_segment_sum_grad) return (parts){ 1, 0, 3 };
    return (parts){ 1, 3, 0 };
}

/* Rows of f32, in the order of n and of the bags. */
bool pl_segment_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    const parts p = find_parts(s->node->op);
    int first[PL_MAX_FACTORS];
    (void)env;
    if (s->node->out[0]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the rows are %s, not f32",
                          pl_type_name(s->node->out[0]->type));
    if (sig->operand[p.begin].rank != 1 || sig->operand[p.begin].dim[0].n != 1)
        return pl_err_set(why, PL_EUNSUPPORTED, "the bags are of several letters");
    if (pl_kernels_order(&sig->operand[p.full], first) < 1 || first[0] != pl_sig_find(sig, 'n'))
        return pl_err_set(why, PL_EUNSUPPORTED, "'n' is not the rows' first dimension");
    pl_looked_up x;
    return pl_kernels_is_looked_up(s, p.begin, p.full, p.flat, &x, why) &&
           (x.bag == 1 || pl_err_set(why, PL_EUNSUPPORTED, "bags are added up"));
}

typedef struct bags {
    int64_t n, h; /* bags, columns */
    pl_range rows;
    pl_type type;
    const void *begin, *end;
    bool mean;
} bags;

static bags open_bags(const pl_share *s, const void *const in[])
{
    const pl_node *n = s->node;
    const parts p = find_parts(n->op);
    const pl_range rows = s->factor[pl_sig_find(n->sig, 'n')];
    const bool sums = n->op == &pl_op_segment_sum || n->op == &pl_op_segment_sum_grad;
    return (bags){ .n = pl_shape_count(&s->shape[p.begin]),
                   .h = pl_shape_count(&s->shape[p.full]) / rows.n,
                   .rows = rows,
                   .type = n->in[p.begin]->type,
                   .begin = in[p.begin],
                   .end = in[p.begin + 1],
                   .mean = sums && pl_node_int(n, "mean", 0) != 0 };
}

/* The share's rows [*lo, *hi) of bag i; returns how many the bag has. */
static int64_t bag_rows(const bags *b, int64_t i, int64_t *lo, int64_t *hi)
{
    const int64_t from = (int64_t)pl_type_get(b->type, b->begin, i),
                  to = (int64_t)pl_type_get(b->type, b->end, i);
    *lo = from > b->rows.lo ? from - b->rows.lo : 0;
    *hi = to - b->rows.lo < b->rows.n ? to - b->rows.lo : b->rows.n;
    return to > from ? to - from : 0;
}

/* What each of so many rows counts. */
static float weight_of(const bags *b, int64_t whole)
{
    return b->mean && whole ? 1 / (float)whole : 1;
}

void pl_segment_sum_run(const pl_share *s, const pl_kernel_env *env, void *state,
                        const void *const in[], void *const out[], void *scratch)
{
    const bags b = open_bags(s, in);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (b.rows.n * b.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < b.n; i++) {
        float *y = (float *)out[0] + i * b.h;
        int64_t lo, hi;
        const int64_t whole = bag_rows(&b, i, &lo, &hi);
        memset(y, 0, (size_t)b.h * sizeof *y);
        for (const float *x = (const float *)in[0] + lo * b.h; lo < hi; lo++, x += b.h)
#pragma omp simd
            for (int64_t j = 0; j < b.h; j++) y[j] += x[j];
        const float by = weight_of(&b, whole);
#pragma omp simd
        for (int64_t j = 0; j < b.h; j++) y[j] *= by;
    }
}

void pl_segment_max_run(const pl_share *s, const pl_kernel_env *env, void *state,
                        const void *const in[], void *const out[], void *scratch)
{
    const bags b = open_bags(s, in);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (b.rows.n * b.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < b.n; i++) {
        float *y = (float *)out[0] + i * b.h;
        int64_t lo, hi;
        const float none = bag_rows(&b, i, &lo, &hi) ? -INFINITY : 0;
        for (int64_t j = 0; j < b.h; j++) y[j] = none;
        for (const float *x = (const float *)in[0] + lo * b.h; lo < hi; lo++, x += b.h)
#pragma omp simd
            for (int64_t j = 0; j < b.h; j++) y[j] = x[j] > y[j] || isnan(x[j]) ? x[j] : y[j];
    }
}

void pl_segment_sum_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                             const void *const in[], void *const out[], void *scratch)
{
    const bags b = open_bags(s, in);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (b.rows.n * b.h > PL_LOOPS_SERIAL)
    for (int64_t from = 0; from < b.h; from += COLUMNS) {
        const int64_t n = from + COLUMNS < b.h ? COLUMNS : b.h - from;
        float *dx = (float *)out[0] + from;
        for (int64_t i = 0; i < b.rows.n; i++) memset(dx + i * b.h, 0, (size_t)n * sizeof *dx);
        for (int64_t i = 0; i < b.n; i++) {
            const float *dy = (const float *)in[0] + i * b.h + from;
            int64_t lo, hi;
            const int64_t whole = bag_rows(&b, i, &lo, &hi);
            const float by = weight_of(&b, whole);
            for (float *to = dx + lo * b.h; lo < hi; lo++, to += b.h)
#pragma omp simd
                for (int64_t j = 0; j < n; j++) to[j] += by * dy[j];
        }
    }
}

/* Of n columns of one bag: the first row that is y has dy. */
static void put_first(int64_t n, int64_t h, int64_t count, const float *x, const float *y,
                      const float *dy, float *dx)
{
    float left[COLUMNS];
    memcpy(left, dy, (size_t)n * sizeof *left);
    for (int64_t i = 0; i < count; i++, x += h, dx += h)
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            const float d = x[j] == y[j] ? left[j] : 0;
            dx[j] += d;
            left[j] -= d;
        }
}

void pl_segment_max_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                             const void *const in[], void *const out[], void *scratch)
{
    const bags b = open_bags(s, in);
    const float *x = in[0], *y = in[1], *dy = in[2];
    float *dx = out[0];
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (b.rows.n * b.h > PL_LOOPS_SERIAL)
    for (int64_t from = 0; from < b.h; from += COLUMNS) {
        const int64_t n = from + COLUMNS < b.h ? COLUMNS : b.h - from;
        for (int64_t i = 0; i < b.rows.n; i++)
            memset(dx + i * b.h + from, 0, (size_t)n * sizeof *dx);
        for (int64_t i = 0; i < b.n; i++) {
            const int64_t at = i * b.h + from;
            int64_t lo, hi;
            (void)bag_rows(&b, i, &lo, &hi);
            put_first(n, b.h, hi - lo, x + lo * b.h + from, y + at, dy + at, dx + lo * b.h + from);
        }
    }
}
