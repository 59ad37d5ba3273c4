/* ops/lib/line.h - operators along one letter: pad, resize and their gradients.
 *
 * The letter is u before and v after, both whole; all others pass. Place i of v is a sum of some
 * places of u, each with a weight: pad and resize gather these, their gradients hand back. */
#ifndef PL_OPS_LIB_LINE_H
#define PL_OPS_LIB_LINE_H
#include "graph/op.h"

enum { PL_LINE_MOST = 128 };

typedef struct pl_line_taps {
    int n;                    /* 0: place i is padding */
    int64_t at[PL_LINE_MOST]; /* places of u           */
    double weight[PL_LINE_MOST];
} pl_line_taps;

/* What place i of v takes from u, by the attributes of n. */
typedef pl_line_taps pl_line_find(const pl_node *n, int64_t i);

/* Reference kernels: v in out[0] from u in in[0], `padding` where there are no taps; and the
 * reverse, u in out[0] from v in in[0], summed in their type. */
void pl_line_gather(const pl_share *s, const void *const in[], void *const out[],
                    pl_line_find *find, double padding);
void pl_line_scatter(const pl_share *s, const void *const in[], void *const out[],
                     pl_line_find *find);

/* For infer: which of the words, a list that ends with NULL, attribute `name` is; -1: none, and err
 * says which there are. */
int pl_line_word(const pl_node *n, const char *name, const char *const words[], pl_err *err);

#endif
