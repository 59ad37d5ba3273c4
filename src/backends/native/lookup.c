/* embedding and its gradient. */
#include "backends/native/kernels.h"

#include <string.h>

enum { COLUMNS = 32 }; /* of the table's gradient that one piece of work adds up */
enum { AHEAD = 16 };   /* ids whose rows are fetched into the cache before it is their turn */

/* A lookup under way. */
typedef struct lookup {
    pl_looked_up x;
    pl_type type; /* of the ids */
    const void *ids;
    int64_t n; /* ids */
    pl_range rows;
} lookup;

/* Which operands are what. */
typedef struct roles {
    int ids, table, vectors;
} roles;

static roles find_roles(const pl_node *n)
{
    return n->op == &pl_op_embedding_grad ? (roles){ 0, 2, 1 } : (roles){ 1, 0, 2 };
}

static lookup begin(const pl_share *s, const void *const in[])
{
    const pl_node *n = s->node;
    const roles r = find_roles(n);
    return (lookup){ .x = pl_kernels_looked_up(s, r.ids, r.table, r.vectors),
                     .type = n->in[r.ids]->type,
                     .ids = in[r.ids],
                     .n = pl_shape_count(&s->shape[r.ids]),
                     .rows = s->factor[pl_sig_find(n->sig, 'v')] };
}

/* The element of the table at which the row of id i begins; -1: this share has it not. */
static inline int64_t find_row(const lookup *l, int64_t i)
{
    const int64_t row = i < l->n ? pl_kernels_row(l->type, l->ids, i, l->rows) : -1,
                  table = l->x.tables > 1 ? i / l->x.inner % l->x.tables : 0;
    return row < 0 ? -1 : (table * l->rows.n + row) * l->x.h;
}

/* Do only dimensions stand before the rows that the ids have too? */
static bool rows_lead(const pl_sig *sig, roles r)
{
    int order[PL_MAX_FACTORS], k = 0;
    const int n = pl_kernels_order(&sig->operand[r.table], order);
    while (k < n && pl_sig_has(&sig->operand[r.ids], sig, order[k])) k++;
    return k < n && order[k] == pl_sig_find(sig, 'v');
}

bool pl_lookup_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_type type = s->node->out[0]->type;
    const roles r = find_roles(s->node);
    pl_looked_up x;
    (void)env;
    if (!rows_lead(s->node->sig, r))
        return pl_err_set(why, PL_EUNSUPPORTED,
                          "'v' is not the table's first dimension, but for those "
                          "of the ids");
    PL_TRY(pl_kernels_is_looked_up(s, r.ids, r.table, r.vectors, &x, why));
    return type == PL_F32 || (s->node->op == &pl_op_embedding && x.bag == 1) ||
           pl_err_set(why, PL_EUNSUPPORTED, "rows of %s are added up, not of f32",
                      pl_type_name(type));
}

static void add_bag(const lookup *l, const float *table, int64_t vector, float *to)
{
    const int64_t h = l->x.h, first = vector * l->x.bag;
    memset(to, 0, (size_t)h * sizeof *to);
    for (int64_t i = first; i < first + l->x.bag; i++) {
        const int64_t row = find_row(l, i), next = find_row(l, i + AHEAD);
        if (next >= 0) __builtin_prefetch(table + next);
        if (row < 0) continue;
        const float *from = table + row;
#pragma omp simd
        for (int64_t k = 0; k < h; k++) to[k] += from[k];
    }
}

static void take_row(const lookup *l, size_t element, const char *table, int64_t i, char *to)
{
    const int64_t row = find_row(l, i), next = find_row(l, i + AHEAD);
    const size_t bytes = (size_t)l->x.h * element;
    if (next >= 0) __builtin_prefetch(table + (size_t)next * element);
    if (row < 0)
        memset(to, 0, bytes);
    else
        memcpy(to, table + (size_t)row * element, bytes);
}

void pl_lookup_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch)
{
    const lookup l = begin(s, in);
    const size_t element = (size_t)pl_type_bytes(s->node->out[0]->type);
    const int64_t vectors = l.n / l.x.bag, h = l.x.h;
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (l.n * h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < vectors; i++)
        if (l.x.bag > 1)
            add_bag(&l, in[0], i, (float *)out[0] + i * h);
        else
            take_row(&l, element, in[0], i, (char *)out[0] + (size_t)(i * h) * element);
}

/* To the columns [lo, hi) of one of the tables. */
static void add_columns(const lookup *l, const float *dy, int64_t table, int64_t lo, int64_t hi,
                        float *to)
{
    const int64_t inner = l->x.inner, h = l->x.h;
    for (int64_t run = table * inner; run < l->n; run += inner * l->x.tables)
        for (int64_t i = run; i < run + inner; i++) {
            const int64_t row = find_row(l, i);
            if (row < 0) continue;
            const float *from = dy + i / l->x.bag * h;
#pragma omp simd
            for (int64_t k = lo; k < hi; k++) to[row + k] += from[k];
        }
}

/* Every element of the table is added up in the order of the ids, by whichever thread has its
 * column. */
void pl_lookup_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                        const void *const in[], void *const out[], void *scratch)
{
    const lookup l = begin(s, in);
    const int64_t h = l.x.h, rows = l.x.tables * l.rows.n, pieces = (h + COLUMNS - 1) / COLUMNS;
    float *table = out[0];
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (rows * h > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < rows; r++) memset(table + r * h, 0, (size_t)h * sizeof *table);
#pragma omp parallel for num_threads(env->n_threads) if (l.n * h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < l.x.tables * pieces; i++) {
        const int64_t lo = i % pieces * COLUMNS, hi = lo + COLUMNS < h ? lo + COLUMNS : h;
        add_columns(&l, in[1], i / pieces, lo, hi, table);
    }
}
