#include "backends/native/kernels.h"

#include "backends/host/host.h"
#include "backends/native/native.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 256 }; /* of a piece of pl_kernels_add_blocks */

bool pl_kernels_all_f32(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    (void)env;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_type t = pl_node_value(n, o)->type;
        if (t != PL_F32)
            return pl_err_set(why, PL_EUNSUPPORTED, "operand %d is %s, not f32", o,
                              pl_type_name(t));
    }
    return true;
}

int pl_kernels_order(const pl_operand *o, int factor[PL_MAX_FACTORS])
{
    int n = 0;
    for (int j = 0; j < o->rank; j++) {
        if (o->dim[j].window >= 0) return -1;
        for (int k = 0; k < o->dim[j].n; k++) factor[n++] = o->dim[j].factor[k];
    }
    return n;
}

bool pl_kernels_is_rows(const pl_operand *rows, int row, const pl_operand *o)
{
    int a[PL_MAX_FACTORS], b[PL_MAX_FACTORS];
    int n = pl_kernels_order(rows, a), m = pl_kernels_order(o, b);
    if (n < 1 || m < 0 || a[n - 1] != row) return false;
    if (m > 0 && b[m - 1] == row) m--;
    return m == n - 1 && !memcmp(a, b, (size_t)m * sizeof *a);
}

static int64_t count_positions(const pl_share *s, const int factor[], int n)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++) count *= s->factor[factor[i]].n;
    return count;
}

/* Where the n factors of `part` stand in `order`, side by side; -1: they do not. */
static int find_run(const int order[], int n_order, const int part[], int n)
{
    for (int at = 0; at + n <= n_order; at++)
        if (!memcmp(order + at, part, (size_t)n * sizeof *part)) return at;
    return -1;
}

/* The vectors have the factors of the ids, but for those of a bag, which are the last; then h. */
bool pl_kernels_is_looked_up(const pl_share *s, int ids, int table, int vectors, pl_looked_up *out,
                             pl_err *why)
{
    const pl_operand *o = s->node->sig->operand;
    int i[PL_MAX_FACTORS], t[PL_MAX_FACTORS], x[PL_MAX_FACTORS], lead = 0;
    const int n_ids = pl_kernels_order(&o[ids], i), n_table = pl_kernels_order(&o[table], t),
              n_vectors = pl_kernels_order(&o[vectors], x);
    while (lead < n_table && find_run(i, n_ids, t + lead, 1) >= 0) lead++;
    const int n_h = n_table - lead - 1, n_own = n_vectors - n_h, at = find_run(i, n_ids, t, lead);
    if (n_ids < 0 || n_h < 0 || n_own < 0 || n_own > n_ids || at < 0 || at + lead > n_own ||
        memcmp(x, i, (size_t)n_own * sizeof *x) != 0 ||
        memcmp(x + n_own, t + lead + 1, (size_t)n_h * sizeof *x) != 0)
        return pl_err_set(why, PL_EUNSUPPORTED, "the rows are not in the order of the ids");
    *out = (pl_looked_up){ .tables = count_positions(s, t, lead),
                           .inner = count_positions(s, i + at + lead, n_ids - at - lead),
                           .bag = count_positions(s, i + n_own, n_ids - n_own),
                           .h = count_positions(s, x + n_own, n_h) };
    return true;
}

pl_looked_up pl_kernels_looked_up(const pl_share *s, int ids, int table, int vectors)
{
    pl_looked_up x;
    pl_err err = { 0 };
    if (!pl_kernels_is_looked_up(s, ids, table, vectors, &x, &err))
        pl_bug(__FILE__, __LINE__, "%s", err.msg);
    return x;
}

int64_t pl_kernels_row(pl_type type, const void *ids, int64_t i, pl_range rows)
{
    const int64_t row = (int64_t)pl_type_get(type, ids, i) - rows.lo;
    return row >= 0 && row < rows.n ? row : -1;
}

bool pl_kernels_keep(const void *state, size_t bytes, void **out, pl_err *err)
{
    *out = malloc(bytes);
    if (!*out) return pl_err_set(err, PL_ERUN, "no memory for a kernel: %zu bytes", bytes);
    memcpy(*out, state, bytes);
    return true;
}

void pl_kernels_add_blocks(int64_t n_blocks, int64_t n, const float *partial, float *out,
                           int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n_blocks * n > PL_LOOPS_SERIAL) schedule(static)
    for (int64_t lo = 0; lo < n; lo += COLUMNS) {
        double total[COLUMNS] = { 0 };
        int64_t count = n - lo < COLUMNS ? n - lo : COLUMNS;
        for (int64_t b = 0; b < n_blocks; b++)
#pragma omp simd
            for (int64_t i = 0; i < count; i++) total[i] += (double)partial[b * n + lo + i];
        for (int64_t i = 0; i < count; i++) out[lo + i] = (float)total[i];
    }
}

/* Operator, who accepts (NULL: all shares), who makes, who runs. */
#define ROW(op, accepts, make, run)                                                                \
    {                                                                                              \
#op, &pl_op_##op, accepts, pl_##make##_make, pl_##run##_run, free                          \
    }
#define ROW_STATELESS(op, accepts, run)                                                            \
    {                                                                                              \
#op, &pl_op_##op, accepts, NULL, pl_##run##_run, NULL                                      \
    }
#define F32 pl_kernels_all_f32

static const pl_kernel kernels[] = {
    ROW(accumulate, F32, pointwise, pointwise),
    ROW(adabelief, pl_optimizer_accepts, optimizer, optimizer_adabelief),
    ROW(adagrad, pl_optimizer_accepts, optimizer, optimizer_adagrad),
    ROW_STATELESS(adagrad_rows, pl_rows_accepts, rows_adagrad),
    ROW(adam, pl_optimizer_accepts, optimizer, optimizer_adam),
    ROW_STATELESS(adam_rows, pl_rows_accepts, rows_adam),
    ROW(adamw, pl_optimizer_accepts, optimizer, optimizer_adam),
    ROW(add, F32, pointwise, pointwise),
    ROW(attention, pl_attention_accepts, attention, attention),
    ROW(attention_grad, pl_attention_accepts, attention_grad, attention_grad),
    ROW(avg_pool, pl_pool_accepts, pool, pool),
    ROW(avg_pool_grad, pl_pool_accepts, pool, pool_grad),
    ROW(batch_norm, pl_channel_norm_accepts, channel_norm, channel_norm),
    ROW(batch_norm_eval, pl_channel_norm_accepts, channel_norm, channel_norm),
    ROW(batch_norm_grad, pl_channel_norm_accepts, channel_norm, channel_norm),
    ROW(batch_norm_grad_params, pl_channel_norm_accepts, channel_norm, channel_norm_sums),
    ROW(batch_norm_stats, pl_channel_norm_accepts, channel_norm, channel_norm_sums),
    ROW(broadcast, NULL, copy, copy),
    ROW(cast, pl_pointwise_cast_accepts, pointwise, pointwise),
    { "cholesky", &pl_op_cholesky, pl_triangle_accepts, pl_cholesky_make, pl_cholesky_run, NULL },
    { "cholesky_solve", &pl_op_cholesky_solve, pl_triangle_accepts, pl_cholesky_solve_make,
      pl_cholesky_solve_run, NULL },
    ROW(coalesce, pl_coalesce_accepts, unique, coalesce),
    ROW(concat, NULL, copy, copy),
    ROW_STATELESS(cross_entropy_sums, pl_cross_entropy_accepts, cross_entropy_sums),
    ROW_STATELESS(cross_entropy_sums_grad, pl_cross_entropy_accepts, cross_entropy_sums_grad),
    ROW(div, F32, pointwise, pointwise),
    ROW(dropout, pl_dropout_accepts, dropout, dropout),
    ROW_STATELESS(embedding, pl_lookup_accepts, lookup),
    ROW_STATELESS(embedding_grad, pl_lookup_accepts, lookup_grad),
    ROW(exp, F32, pointwise, pointwise),
    ROW(fill, NULL, fill, fill),
    ROW(gelu, F32, pointwise, pointwise),
    ROW(gelu_grad, F32, pointwise, pointwise),
    ROW(lamb, pl_optimizer_accepts, optimizer, optimizer_lamb),
    ROW(lamb_direction, pl_optimizer_accepts, optimizer, optimizer_lamb_direction),
    ROW(layer_norm, pl_layer_norm_accepts, layer_norm, layer_norm),
    ROW(layer_norm_deviation, pl_layer_norm_accepts, layer_norm, layer_norm_deviation),
    ROW(layer_norm_grad, pl_layer_norm_accepts, layer_norm, layer_norm_grad),
    ROW(layer_norm_grad_sums, pl_layer_norm_accepts, layer_norm, layer_norm_grad_sums),
    ROW(layer_norm_sum, pl_layer_norm_accepts, layer_norm, layer_norm_sum),
    ROW(leaky_relu, F32, pointwise, pointwise),
    ROW(leaky_relu_grad, F32, pointwise, pointwise),
    ROW(less_equal, pl_less_equal_accepts, choice, less_equal),
    ROW(log, F32, pointwise, pointwise),
    ROW(max_pool, pl_pool_accepts, pool, pool),
    ROW(max_pool_grad, pl_pool_accepts, pool, pool_grad),
    ROW(maximum, F32, pointwise, pointwise),
    ROW(moe_combine, pl_route_accepts, route, route_combine),
    ROW(moe_combine_grad, pl_route_accepts, route, route_combine_grad),
    ROW(moe_dispatch, pl_route_accepts, route, route_dispatch),
    ROW(mul, F32, pointwise, pointwise),
    ROW(neg, F32, pointwise, pointwise),
    ROW(reduce_max, pl_reduce_accepts, reduce, reduce),
    ROW(reduce_sum, pl_reduce_accepts, reduce, reduce),
    ROW(relu, F32, pointwise, pointwise),
    ROW(relu6, F32, pointwise, pointwise),
    ROW(relu6_grad, F32, pointwise, pointwise),
    ROW(relu_grad, F32, pointwise, pointwise),
    ROW(rms_norm, pl_row_norm_accepts, row_norm, row_norm),
    ROW(rms_norm_grad, pl_row_norm_accepts, row_norm, row_norm_grad),
    ROW(rope, pl_rope_accepts, rope, rope),
    ROW_STATELESS(rowwise_adagrad, pl_rowwise_accepts, rowwise_adagrad),
    ROW_STATELESS(rowwise_adagrad_rows, pl_rowwise_accepts, rowwise_adagrad_rows),
    ROW(scale, F32, pointwise, pointwise),
    ROW_STATELESS(segment_max, pl_segment_accepts, segment_max),
    ROW_STATELESS(segment_max_grad, pl_segment_accepts, segment_max_grad),
    ROW_STATELESS(segment_sum, pl_segment_accepts, segment_sum),
    ROW_STATELESS(segment_sum_grad, pl_segment_accepts, segment_sum_grad),
    ROW(sgd, pl_optimizer_accepts, optimizer, optimizer_sgd),
    ROW_STATELESS(sgd_rows, pl_rows_accepts, rows_sgd),
    ROW(sigmoid, F32, pointwise, pointwise),
    ROW(silu, F32, pointwise, pointwise),
    ROW(silu_grad, F32, pointwise, pointwise),
    ROW(slice, NULL, copy, copy),
    ROW(slice_grad, NULL, copy, copy),
    ROW(softmax, F32, softmax, softmax),
    ROW(softmax_grad, F32, softmax, softmax_grad),
    ROW(softplus, F32, pointwise, pointwise),
    ROW(split, NULL, copy, copy),
    ROW(sqrt, F32, pointwise, pointwise),
    ROW(square_sum, pl_reduce_accepts, reduce, reduce),
    ROW(sub, F32, pointwise, pointwise),
    ROW(tanh, F32, pointwise, pointwise),
    ROW(transpose, NULL, copy, copy),
    ROW(unique, NULL, unique, unique),
    ROW(where, pl_where_accepts, choice, where),
};

const pl_backend pl_backend_native = {
    .name = "native",
    .device = &pl_device_cpu,
    .n = sizeof kernels / sizeof *kernels,
    .kernel = kernels,
    .about = "C loops compiled for this CPU, OpenMP",
};
