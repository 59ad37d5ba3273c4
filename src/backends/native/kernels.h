/* backends/native/kernels.h - the functions that the list in kernels.c is made of, one family per
 * file, and the few that families share. */
#ifndef PL_BACKENDS_NATIVE_KERNELS_H
#define PL_BACKENDS_NATIVE_KERNELS_H
#include "backends/native/loops.h"
#include "ops/list.h"

/* Do all operands have type f32. */
bool pl_kernels_all_f32(const pl_share *s, const pl_kernel_env *env, pl_err *why);

/* The factors of an operand in memory order, outermost first; returns how many. -1: it has
 * windows. */
int pl_kernels_order(const pl_operand *o, int factor[PL_MAX_FACTORS]);

/* Is operand `rows`, but for its last factor `row`, laid out as operand `o`; o may end with `row`
 * too. */
bool pl_kernels_is_rows(const pl_operand *rows, int row, const pl_operand *o);

/* Ids and the vectors of a table's rows: id i is one of table i / inner % tables, and vector
 * i / bag, of h elements, is its own. Tables of as many rows lie behind each other. */
typedef struct pl_looked_up {
    int64_t tables, inner, bag, h;
} pl_looked_up;

/* Operands of ids, of tables [.., row, h], and of vectors, in the order of the ids. Fails with
 * PL_EUNSUPPORTED: they are laid out otherwise. */
PL_MUST_CHECK bool pl_kernels_is_looked_up(const pl_share *s, int ids, int table, int vectors,
                                           pl_looked_up *out, pl_err *why);

/* The same of a share that was accepted. */
pl_looked_up pl_kernels_looked_up(const pl_share *s, int ids, int table, int vectors);

/* The place of the row that id i names among `rows`, a share's part of a table; -1: it is not
 * there. */
int64_t pl_kernels_row(pl_type type, const void *ids, int64_t i, pl_range rows);

/* A copy of `state` on the heap for pl_kernel.make; freed by free(). Fails with PL_ERUN. */
bool pl_kernels_keep(const void *state, size_t bytes, void **out, pl_err *err);

/* out[i] = sum over blocks of partial[block][i], in the order of the blocks. */
void pl_kernels_add_blocks(int64_t n_blocks, int64_t n, const float *partial, float *out,
                           int n_threads);

/* As in pl_kernel (run/kernel.h). */
#define PL_KERNELS_ACCEPTS(family)                                                                 \
    bool pl_##family##_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
#define PL_KERNELS_MAKE(family)                                                                    \
    bool pl_##family##_make(const pl_share *s, const pl_kernel_env *env, void **state,             \
                            int64_t *scratch_bytes, pl_err *err)
#define PL_KERNELS_RUN(family)                                                                     \
    void pl_##family##_run(const pl_share *s, const pl_kernel_env *env, void *state,               \
                           const void *const in[], void *const out[], void *scratch)

PL_KERNELS_ACCEPTS(attention);
PL_KERNELS_MAKE(attention);
PL_KERNELS_RUN(attention);
PL_KERNELS_MAKE(attention_grad);
PL_KERNELS_RUN(attention_grad);

PL_KERNELS_ACCEPTS(channel_norm);
PL_KERNELS_MAKE(channel_norm);
PL_KERNELS_RUN(channel_norm);
PL_KERNELS_RUN(channel_norm_sums);

PL_KERNELS_MAKE(choice);
PL_KERNELS_ACCEPTS(less_equal);
PL_KERNELS_RUN(less_equal);
PL_KERNELS_ACCEPTS(where);
PL_KERNELS_RUN(where);

PL_KERNELS_MAKE(copy);
PL_KERNELS_RUN(copy);
PL_KERNELS_MAKE(fill);
PL_KERNELS_RUN(fill);

PL_KERNELS_ACCEPTS(cross_entropy);
PL_KERNELS_RUN(cross_entropy_sums);
PL_KERNELS_RUN(cross_entropy_sums_grad);

PL_KERNELS_ACCEPTS(dropout);
PL_KERNELS_MAKE(dropout);
PL_KERNELS_RUN(dropout);

PL_KERNELS_ACCEPTS(layer_norm);
PL_KERNELS_MAKE(layer_norm);
PL_KERNELS_RUN(layer_norm);
PL_KERNELS_RUN(layer_norm_deviation);
PL_KERNELS_RUN(layer_norm_grad);
PL_KERNELS_RUN(layer_norm_grad_sums);
PL_KERNELS_RUN(layer_norm_sum);

PL_KERNELS_ACCEPTS(lookup);
PL_KERNELS_RUN(lookup);
PL_KERNELS_RUN(lookup_grad);

PL_KERNELS_ACCEPTS(optimizer);
PL_KERNELS_MAKE(optimizer);
PL_KERNELS_RUN(optimizer_adabelief);
PL_KERNELS_RUN(optimizer_adagrad);
PL_KERNELS_RUN(optimizer_adam);
PL_KERNELS_RUN(optimizer_lamb);
PL_KERNELS_RUN(optimizer_lamb_direction);
PL_KERNELS_RUN(optimizer_sgd);

PL_KERNELS_ACCEPTS(pointwise_cast);
PL_KERNELS_MAKE(pointwise);
PL_KERNELS_RUN(pointwise);

PL_KERNELS_ACCEPTS(pool);
PL_KERNELS_MAKE(pool);
PL_KERNELS_RUN(pool);
PL_KERNELS_RUN(pool_grad);

PL_KERNELS_ACCEPTS(reduce);
PL_KERNELS_MAKE(reduce);
PL_KERNELS_RUN(reduce);

PL_KERNELS_ACCEPTS(rope);
PL_KERNELS_MAKE(rope);
PL_KERNELS_RUN(rope);

PL_KERNELS_ACCEPTS(route);
PL_KERNELS_MAKE(route);
PL_KERNELS_RUN(route_dispatch);
PL_KERNELS_RUN(route_combine);
PL_KERNELS_RUN(route_combine_grad);

PL_KERNELS_ACCEPTS(row_norm);
PL_KERNELS_MAKE(row_norm);
PL_KERNELS_RUN(row_norm);
PL_KERNELS_RUN(row_norm_grad);

PL_KERNELS_ACCEPTS(triangle);
PL_KERNELS_MAKE(cholesky);
PL_KERNELS_RUN(cholesky);
PL_KERNELS_MAKE(cholesky_solve);
PL_KERNELS_RUN(cholesky_solve);

PL_KERNELS_MAKE(unique);
PL_KERNELS_RUN(unique);
PL_KERNELS_ACCEPTS(coalesce);
PL_KERNELS_RUN(coalesce);
PL_KERNELS_ACCEPTS(rows);
PL_KERNELS_ACCEPTS(rowwise);
PL_KERNELS_RUN(rowwise_adagrad);
PL_KERNELS_RUN(rowwise_adagrad_rows);
PL_KERNELS_RUN(rows_sgd);
PL_KERNELS_RUN(rows_adagrad);
PL_KERNELS_RUN(rows_adam);

PL_KERNELS_ACCEPTS(segment);
PL_KERNELS_RUN(segment_max);
PL_KERNELS_RUN(segment_max_grad);
PL_KERNELS_RUN(segment_sum);
PL_KERNELS_RUN(segment_sum_grad);

PL_KERNELS_MAKE(softmax);
PL_KERNELS_RUN(softmax);
PL_KERNELS_RUN(softmax_grad);

#endif
