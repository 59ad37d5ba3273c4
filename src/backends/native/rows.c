/* Gradients that are rows of a table, and the updates of these rows alone: unique, coalesce,
 * sgd_rows, adagrad_rows, adam_rows, rowwise_adagrad_rows; and rowwise_adagrad, of all rows. */
#include "backends/native/kernels.h"

#include "ops/lib/adagrad.h"
#include "ops/lib/adam.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* -- sorted ids -------------------------------------------------------------------------------- */

enum { DIGIT = 8, BUCKETS = 1 << DIGIT };

typedef struct place {
    int64_t id;
    int64_t at; /* among the ids */
} place;

/* By one digit of the id, otherwise in the order of `from`. False: all have the same one. */
static bool sort_digit(int64_t n, int shift, const place *from, place *to)
{
    int64_t begin[BUCKETS] = { 0 }, sum = 0;
    for (int64_t i = 0; i < n; i++) begin[from[i].id >> shift & (BUCKETS - 1)]++;
    if (begin[from[0].id >> shift & (BUCKETS - 1)] == n) return false;
    for (int b = 0; b < BUCKETS; b++) {
        const int64_t count = begin[b];
        begin[b] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[begin[from[i].id >> shift & (BUCKETS - 1)]++] = from[i];
    return true;
}

/* One table's ids among those of many: runs of `inner`, one from each `inner * tables`. */
typedef struct own_ids {
    pl_type type;
    const void *ids;
    int64_t n, table, tables, inner; /* n: of all tables */
} own_ids;

/* Those that are not below 0, ascending, equal ones in their order; *sorted lies in `scratch`,
 * which has room for two places an id. Returns how many. */
static int64_t sort_ids(const own_ids *x, void *scratch, place **sorted)
{
    place *a = scratch, *b = a + x->n / x->tables;
    int64_t count = 0, bits = 0;
    for (int64_t run = x->table * x->inner; run < x->n; run += x->inner * x->tables)
        for (int64_t i = run; i < run + x->inner; i++) {
            const int64_t id = x->type == PL_I32 ? ((const int32_t *)x->ids)[i]
                                                 : (int64_t)pl_type_get(x->type, x->ids, i);
            if (id < 0) continue;
            a[count++] = (place){ id, i };
            bits |= id;
        }
    for (int shift = 0; count && shift < 63 && bits >> shift; shift += DIGIT)
        if (sort_digit(count, shift, a, b)) {
            place *swap = a;
            a = b;
            b = swap;
        }
    *sorted = a;
    return count;
}

/* Tables are shared out among threads, each of which has room of its own. */
static void *own_scratch(void *scratch, const own_ids *x)
{
    return (place *)scratch + 2 * (x->n / x->tables) * omp_get_thread_num();
}

/* Tables that have a list each. */
static int64_t count_lists(const pl_shape *list)
{
    return list->rank ? pl_shape_count(list) / list->dim[list->rank - 1] : 1;
}

bool pl_unique_make(const pl_share *s, const pl_kernel_env *env, void **state,
                    int64_t *scratch_bytes, pl_err *err)
{
    const int64_t each = pl_shape_count(&s->shape[0]) /
                         count_lists(s->node->op == &pl_op_coalesce ? &s->shape[1] : &s->shape[0]);
    *scratch_bytes = 2 * each * env->n_threads * (int64_t)sizeof(place);
    return pl_kernels_keep("", 1, state, err);
}

/* In so many places. */
static void list_unique(const own_ids *x, void *scratch, int64_t places, void *out)
{
    const int64_t end = (x->table + 1) * places;
    place *sorted;
    const int64_t count = sort_ids(x, scratch, &sorted);
    int64_t k = end - places;
    for (int64_t i = 0; i < count && k < end; i++)
        if (!i || sorted[i].id != sorted[i - 1].id)
            pl_type_put(x->type, out, k++, (double)sorted[i].id);
    while (k < end) pl_type_put(x->type, out, k++, -1);
}

void pl_unique_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch)
{
    const int64_t n = pl_shape_count(&s->shape[0]), tables = count_lists(&s->shape[0]),
                  places = pl_shape_count(pl_share_out(s, 0)) / tables;
    (void)state;
#pragma omp parallel for num_threads(env->n_threads) if (tables > 1 && n > PL_LOOPS_SERIAL)
    for (int64_t t = 0; t < tables; t++) {
        const own_ids x = { s->node->in[0]->type, in[0], n, t, tables, n / tables };
        list_unique(&x, own_scratch(scratch, &x), places, out[0]);
    }
}

/* -- sums of equal ids ------------------------------------------------------------------------- */

/* Rows of f32 in the order of the ids. */
bool pl_coalesce_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    pl_looked_up x;
    (void)env;
    if (s->node->out[0]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the rows are %s, not f32",
                          pl_type_name(s->node->out[0]->type));
    return pl_kernels_is_looked_up(s, 0, 3, 2, &x, why);
}

/* The first place whose id is not below `id`; soon found where that is `guess`. */
static int64_t find_first(const place *sorted, int64_t count, int64_t id, int64_t guess)
{
    int64_t lo = 0, hi = count;
    if (guess && sorted[guess - 1].id < id && (guess == count || sorted[guess].id >= id))
        return guess;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (sorted[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Sums under way: those of one table. */
typedef struct sums {
    own_ids x;
    int64_t m, h, bag;
    pl_type type; /* of the list */
    const void *list;
    const float *rows;
    float *out;
    int n_threads;
} sums;

static void add_sums(const sums *a, void *scratch)
{
    const int64_t first = a->x.table * a->m, h = a->h;
    place *sorted;
    const int64_t count = sort_ids(&a->x, scratch, &sorted);
    int64_t i = 0; /* the list ascends: a thread goes on where it was */
#pragma omp parallel for firstprivate(i) num_threads(a->n_threads) if (a->m * h > PL_LOOPS_SERIAL)
    for (int64_t k = first; k < first + a->m; k++) {
        float *y = a->out + k * h;
        const int64_t id = (int64_t)pl_type_get(a->type, a->list, k);
        memset(y, 0, (size_t)h * sizeof *y);
        if (id < 0) continue;
        for (i = find_first(sorted, count, id, i); i < count && sorted[i].id == id; i++) {
            const float *x = a->rows + sorted[i].at / a->bag * h;
#pragma omp simd
            for (int64_t j = 0; j < h; j++) y[j] += x[j];
        }
    }
}

void pl_coalesce_run(const pl_share *s, const pl_kernel_env *env, void *state,
                     const void *const in[], void *const out[], void *scratch)
{
    const pl_node *n = s->node;
    const pl_looked_up x = pl_kernels_looked_up(s, 0, 3, 2);
    const int64_t all = pl_shape_count(&s->shape[0]), tables = x.tables;
    (void)state;
#pragma omp parallel for num_threads(env->n_threads) if (tables > 1 && all * x.h > PL_LOOPS_SERIAL)
    for (int64_t t = 0; t < tables; t++) {
        const sums a = { .x = { n->in[0]->type, in[0], all, t, tables, x.inner },
                         .m = pl_shape_count(&s->shape[1]) / tables,
                         .h = x.h,
                         .bag = x.bag,
                         .type = n->in[1]->type,
                         .list = in[1],
                         .rows = in[2],
                         .out = out[0],
                         .n_threads = tables > 1 ? 1 : env->n_threads };
        add_sums(&a, own_scratch(scratch, &a.x));
    }
}

/* -- updates ----------------------------------------------------------------------------------- */

enum { W, IDS, ROWS };

/* Tables laid out [.., v, h], ids [.., n], rows [.., n, h] of f32. */
static bool are_rows(const pl_sig *sig)
{
    int table[PL_MAX_FACTORS], ids[PL_MAX_FACTORS], rows[PL_MAX_FACTORS];
    const int n = pl_kernels_order(&sig->operand[W], table), v = pl_sig_find(sig, 'v');
    const int lead = pl_kernels_order(&sig->operand[IDS], ids) - 1;
    const size_t bytes = sizeof *table;
    return lead >= 0 && lead < n && table[lead] == v &&
           pl_kernels_order(&sig->operand[ROWS], rows) == n &&
           !memcmp(table, ids, (size_t)lead * bytes) &&
           !memcmp(rows, ids, (size_t)(lead + 1) * bytes) &&
           !memcmp(table + lead + 1, rows + lead + 1, (size_t)(n - lead - 1) * bytes);
}

/* Moments like the table. */
bool pl_rows_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    const pl_sig *sig = n->sig;
    int table[PL_MAX_FACTORS], other[PL_MAX_FACTORS];
    const int count = pl_kernels_order(&sig->operand[W], table);
    bool same = are_rows(sig);
    (void)env;
    if (n->in[ROWS]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the rows are %s, not f32",
                          pl_type_name(n->in[ROWS]->type));
    for (int k = 0; same && n->op->inplace[k]; k++)
        same = pl_kernels_order(&sig->operand[n->n_in + k], other) == count &&
               !memcmp(table, other, (size_t)count * sizeof *table);
    return same || pl_err_set(why, PL_EUNSUPPORTED, "rows and moments are not laid out alike");
}

/* An update under way. */
typedef struct update {
    const pl_share *s;
    const void *ids;
    const float *g;
    float *w, *moment[2];
    pl_range rows;
    int64_t n, each, h; /* ids; of one table */
    float lr, scale, decay, eps;
} update;

static update begin(const pl_share *s, const void *const in[], void *const out[], int lr, int scale)
{
    const pl_node *n = s->node;
    update u = { .s = s,
                 .ids = in[IDS],
                 .g = in[ROWS],
                 .w = out[0],
                 .rows = s->factor[pl_sig_find(n->sig, 'v')],
                 .n = pl_shape_count(&s->shape[IDS]),
                 .each = s->shape[IDS].dim[s->shape[IDS].rank - 1],
                 .h = pl_shape_count(&s->shape[ROWS]) / pl_shape_count(&s->shape[IDS]),
                 .lr = *(const float *)in[lr],
                 .scale = *(const float *)in[scale] };
    if (n->op != &pl_op_rowwise_adagrad_rows) u.decay = (float)pl_node_real(n, "decay", 0);
    for (int k = 1; k < n->n_out; k++) u.moment[k - 1] = out[k];
    return u;
}

/* Where the row that id i names begins; -1: this share has it not. */
static int64_t find_row(const update *u, int64_t i)
{
    const int64_t row = pl_kernels_row(u->s->node->in[IDS]->type, u->ids, i, u->rows);
    return row < 0 ? -1 : (i / u->each * u->rows.n + row) * u->h;
}

/* Rows lie anywhere in a large table: those of so many ids ahead are fetched into the cache. */
enum { AHEAD = 8 };

static inline void fetch_ahead(const update *u, int64_t i)
{
    const int64_t at = i + AHEAD < u->n ? find_row(u, i + AHEAD) : -1;
    if (at < 0) return;
    __builtin_prefetch(u->w + at, 1);
    for (int k = 0; k < 2 && u->moment[k]; k++) __builtin_prefetch(u->moment[k] + at, 1);
}

void pl_rows_sgd_run(const pl_share *s, const pl_kernel_env *env, void *state,
                     const void *const in[], void *const out[], void *scratch)
{
    const update u = begin(s, in, out, 3, 4);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (u.n * u.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < u.n; i++) {
        const int64_t at = find_row(&u, i);
        fetch_ahead(&u, i);
        if (at < 0) continue;
        float *w = u.w + at;
        const float *g = u.g + i * u.h;
#pragma omp simd
        for (int64_t j = 0; j < u.h; j++) w[j] -= u.lr * (u.scale * g[j] + u.decay * w[j]);
    }
}

void pl_rows_adagrad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                         const void *const in[], void *const out[], void *scratch)
{
    update u = begin(s, in, out, 4, 5);
    u.eps = (float)pl_node_real(s->node, "eps", 0);
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (u.n * u.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < u.n; i++) {
        const int64_t at = find_row(&u, i);
        fetch_ahead(&u, i);
        if (at < 0) continue;
        float *w = u.w + at, *sum = u.moment[0] + at;
        const float *g = u.g + i * u.h;
#pragma omp simd
        for (int64_t j = 0; j < u.h; j++) {
            const float d = u.scale * g[j] + u.decay * w[j], x = sum[j] + d * d;
            w[j] -= x > 0 ? u.lr * d / (sqrtf(x) + u.eps) : 0;
            sum[j] = x;
        }
    }
}

void pl_rows_adam_run(const pl_share *s, const pl_kernel_env *env, void *state,
                      const void *const in[], void *const out[], void *scratch)
{
    const update u = begin(s, in, out, 5, 7);
    const pl_adam a =
        pl_adam_new(s->node, (double)u.lr, pl_type_get(s->node->in[6]->type, in[6], 0),
                    (double)u.scale, pl_node_int(s->node, "decoupled", 0) ? PL_ADAMW : PL_ADAM);
    const float beta1 = (float)a.beta1, beta2 = (float)a.beta2, rest1 = (float)(1 - a.beta1),
                rest2 = (float)(1 - a.beta2), rate = (float)a.rate, by_root = (float)(1 / a.root),
                eps = (float)a.eps, add = a.decoupled ? 0 : u.decay,
                keep = a.decoupled ? 1 - u.lr * u.decay : 1;
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (u.n * u.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < u.n; i++) {
        const int64_t at = find_row(&u, i);
        fetch_ahead(&u, i);
        if (at < 0) continue;
        float *w = u.w + at, *m = u.moment[0] + at, *v = u.moment[1] + at;
        const float *g = u.g + i * u.h;
#pragma omp simd
        for (int64_t j = 0; j < u.h; j++) {
            const float x = u.scale * g[j] + add * w[j];
            m[j] = beta1 * m[j] + rest1 * x;
            v[j] = beta2 * v[j] + rest2 * x * x;
            w[j] = keep * w[j] - rate * m[j] / (sqrtf(v[j]) * by_root + eps);
        }
    }
}

/* -- one sum a row ----------------------------------------------------------------------------- */

bool pl_rowwise_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    const bool by_rows = n->op == &pl_op_rowwise_adagrad_rows;
    const int g = by_rows ? ROWS : 1;
    (void)env;
    if (n->in[g]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the gradient is %s, not f32",
                          pl_type_name(n->in[g]->type));
    return (by_rows ? are_rows(n->sig) : pl_share_same_index(n, W, g)) ||
           pl_err_set(why, PL_EUNSUPPORTED, "table and gradient are not laid out alike");
}

/* The sums are no table worth a kernel: they are a number a row, and left to the reference. */
static void step_row(float rate, int64_t h, const float *g, float *w)
{
#pragma omp simd
    for (int64_t j = 0; j < h; j++) w[j] -= rate * g[j];
}

void pl_rowwise_adagrad_rows_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                 const void *const in[], void *const out[], void *scratch)
{
    const update u = begin(s, in, out, 4, 5);
    const double eps = pl_node_real(s->node, "eps", 0), lr = (double)u.lr * (double)u.scale;
    const float *sum = in[3];
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (u.n * u.h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < u.n; i++) {
        const int64_t at = find_row(&u, i);
        fetch_ahead(&u, i);
        if (at < 0) continue;
        const float rate = (float)pl_rowwise_rate(lr, (double)sum[at / u.h], eps);
        step_row(rate, u.h, u.g + i * u.h, u.w + at);
    }
}

void pl_rowwise_adagrad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                            const void *const in[], void *const out[], void *scratch)
{
    const double eps = pl_node_real(s->node, "eps", 0),
                 lr = (double)*(const float *)in[3] * (double)*(const float *)in[4];
    const int64_t rows = pl_shape_count(&s->shape[2]), h = pl_shape_count(&s->shape[0]) / rows;
    const float *g = in[1], *sum = in[2];
    float *w = out[0];
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (rows * h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < rows; i++)
        step_row((float)pl_rowwise_rate(lr, (double)sum[i], eps), h, g + i * h, w + i * h);
}
