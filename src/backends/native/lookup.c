/* embedding and its gradient. */
#include "backends/native/kernels.h"

#include <string.h>

enum { COLUMNS = 64 }; /* of the table's gradient that one piece of work adds up */
enum { AHEAD = 16 };   /* ids whose rows are fetched into the cache before it is their turn */

/* The table is rows of v; the result is one such row per id, in the order of the ids. */
bool pl_lookup_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    const pl_sig *sig = n->sig;
    bool is_grad = n->op == &pl_op_embedding_grad;
    const pl_operand *ids = &sig->operand[is_grad ? 0 : 1], *table = &sig->operand[is_grad ? 2 : 0],
                     *rows = &sig->operand[is_grad ? 1 : 2];
    int first[PL_MAX_FACTORS];
    (void)env;
    if (is_grad && n->out[0]->type != PL_F32)
        return pl_err_set(why, PL_EUNSUPPORTED, "the table is %s, not f32",
                          pl_type_name(n->out[0]->type));
    if (pl_kernels_order(table, first) < 1 || first[0] != pl_sig_find(sig, 'v'))
        return pl_err_set(why, PL_EUNSUPPORTED, "'v' is not the table's first dimension");
    return pl_kernels_is_looked_up(ids, table, rows, why);
}

void pl_lookup_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch)
{
    const pl_node *n = s->node;
    pl_range rows = s->factor[pl_sig_find(n->sig, 'v')];
    int64_t n_ids = pl_shape_count(&s->in[1]), h = pl_shape_count(&s->in[0]) / rows.n;
    size_t bytes = (size_t)(h * pl_type_bytes(n->out[0]->type));
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (n_ids * h > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < n_ids; i++) {
        int64_t row = pl_kernels_row(n->in[1]->type, in[1], i, rows);
        char *to = (char *)out[0] + (size_t)i * bytes;
        const int64_t next =
            i + AHEAD < n_ids ? pl_kernels_row(n->in[1]->type, in[1], i + AHEAD, rows) : -1;
        if (next >= 0) __builtin_prefetch((const char *)in[0] + (size_t)next * bytes);
        if (row < 0)
            memset(to, 0, bytes);
        else
            memcpy(to, (const char *)in[0] + (size_t)row * bytes, bytes);
    }
}

/* Every element of the table is added up in the order of the ids, by whichever thread has its
 * column. */
void pl_lookup_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                        const void *const in[], void *const out[], void *scratch)
{
    const pl_node *n = s->node;
    pl_range rows = s->factor[pl_sig_find(n->sig, 'v')];
    int64_t n_ids = pl_shape_count(&s->in[0]), h = pl_shape_count(&s->out[0]) / rows.n;
    const float *dy = in[1];
    float *table = out[0];
    (void)state, (void)scratch;
#pragma omp parallel for num_threads(env->n_threads) if (rows.n * h > PL_LOOPS_SERIAL)
    for (int64_t r = 0; r < rows.n; r++) memset(table + r * h, 0, (size_t)h * sizeof *table);
#pragma omp parallel for num_threads(env->n_threads) if (n_ids * h > PL_LOOPS_SERIAL)
    for (int64_t lo = 0; lo < h; lo += COLUMNS) {
        int64_t hi = lo + COLUMNS < h ? lo + COLUMNS : h;
        for (int64_t i = 0; i < n_ids; i++) {
            int64_t row = pl_kernels_row(n->in[0]->type, in[0], i, rows);
            if (row < 0) continue;
#pragma omp simd
            for (int64_t k = lo; k < hi; k++) table[row * h + k] += dy[i * h + k];
        }
    }
}
