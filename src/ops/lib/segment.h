/* ops/lib/segment.h - what the operators share that reduce bags of rows: bag i is the rows
 * [begin[i], end[i]) of x[n, h], as torch.nn.EmbeddingBag has them by its offsets.
 *
 * n is a lookup letter, or whole: a share of it has some of the rows, and bags have those alone. A
 * bag that ends where it begins, or before, is empty. Bags may overlap. */
#ifndef PL_OPS_LIB_SEGMENT_H
#define PL_OPS_LIB_SEGMENT_H
#include "graph/op.h"
#include "graph/walk.h"

/* The rows of w's bag, whose bounds are the operands `begin` and begin + 1, that the share has,
 * counted from its first. *whole: of how many. */
pl_range pl_segment_rows(const pl_walk *w, const void *const in[], int begin, int64_t *whole);
/* One such row further in an operand. */
int64_t pl_segment_step(const pl_walk *w, int operand);

/* -- nodes ------------------------------------------------------------------------------------- */

typedef enum pl_bag { PL_BAG_SUM, PL_BAG_MEAN, PL_BAG_MAX, PL_BAGS } pl_bag;

extern const char *const pl_bag_names[]; /* [PL_BAGS] "sum" */

/* Where bags end that begin at offsets[b]: where the next one begins, and the last with the n
 * rows. */
pl_value *pl_bag_ends(pl_builder *b, pl_value *offsets, int64_t n);
/* Of x[n, h] the bags [begin[b], end[b]), reduced: [b, h]. Empty bags are 0. */
pl_value *pl_bag_reduce(pl_builder *b, pl_bag how, pl_value *x, pl_value *begin, pl_value *end);

#endif
