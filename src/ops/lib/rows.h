/* ops/lib/rows.h - what the updates share that change those rows of a table, and of its moments,
 * which a step has read: their gradient is ids and rows, each id once (unique, coalesce). Rows that
 * no id names stay as they are, moments and decay included.
 *
 *   in   0 w f32 [..., v, h], 1 ids [..., n], 2 rows float [..., n, h], 3 ... moments like w, then
 *        scalars
 *   out  w and the moments, in place
 *
 * v, the table's rows, is a lookup letter: a share of it changes the rows it has. n is whole. The
 * leading dimensions are tables, each with ids of its own. */
#ifndef PL_OPS_LIB_ROWS_H
#define PL_OPS_LIB_ROWS_H
#include "graph/op.h"
#include "graph/walk.h"

/* A walk over the elements of the rows that the share has. */
typedef struct pl_rows {
    pl_walk walk;
    const void *const *in;
    int64_t to;   /* the element of w, and of the moments */
    bool begun;
} pl_rows;

pl_rows pl_rows_new(const pl_share *s, const void *const in[]);
bool pl_rows_next(pl_rows *r);
/* The element of the gradient. */
double pl_rows_gradient(const pl_rows *r);

/* A scalar input of a share. */
double pl_rows_scalar(const pl_share *s, const void *const in[], int input);

double pl_rows_flops(const pl_share *s);

#endif
