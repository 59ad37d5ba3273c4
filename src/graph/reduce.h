/* graph/reduce.h - element-wise combination, one cache-sized block at a time.
 *
 * load the first rank's elements, fold the others in, store: the order of the folds is the order of
 * the sum. bf16 is held as f32 in between and rounded once, by store. Integer sums wrap. The
 * maximum or minimum with a NaN is NaN. */
#ifndef PL_GRAPH_REDUCE_H
#define PL_GRAPH_REDUCE_H
#include "graph/type.h"

enum { PL_REDUCE_BLOCK = 1024 }; /* elements; 8 KiB at most, for the stack and L1 */

typedef union pl_reduce_acc {
    float f32[PL_REDUCE_BLOCK]; /* f32 and bf16 */
    double f64[PL_REDUCE_BLOCK];
    uint32_t i32[PL_REDUCE_BLOCK];
    uint64_t i64[PL_REDUCE_BLOCK];
    uint8_t u8[PL_REDUCE_BLOCK];
} pl_reduce_acc;

/* n <= PL_REDUCE_BLOCK elements at `from` or `to`. */
void pl_reduce_load(pl_type type, pl_reduce_acc *acc, const void *from, int64_t n);
void pl_reduce_fold(pl_type type, pl_monoid op, pl_reduce_acc *acc, const void *from, int64_t n);
void pl_reduce_store(pl_type type, void *to, const pl_reduce_acc *acc, int64_t n);

/* to[i] = to[i] combined with from[i]; any n. */
void pl_reduce_into(pl_type type, pl_monoid op, void *to, const void *from, int64_t n);

#endif
