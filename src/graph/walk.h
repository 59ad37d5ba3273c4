/* graph/walk.h - an odometer over the factors of a share: the loop nest of reference kernels. */
#ifndef PL_GRAPH_WALK_H
#define PL_GRAPH_WALK_H
#include "graph/share.h"

typedef struct pl_walk {
    const pl_share *share;
    int n_operands;
    int n;                                  /* loops, outermost first                             */
    int factor[PL_MAX_FACTORS];             /* which factor each loop counts                      */
    int64_t index[PL_MAX_FACTORS];          /* by factor: local index, 0 where it is not looped   */
    int64_t at[PL_MAX_OPERANDS];            /* element of each operand at this point; windows
                                               included, pad already subtracted                   */
    int64_t stride[PL_MAX_OPERANDS][PL_MAX_FACTORS];
} pl_walk;

/* Loop over the factors whose bit is set in `mask`, in signature order; start at index 0. */
pl_walk pl_walk_new(const pl_share *share, uint32_t mask);
bool pl_walk_next(pl_walk *w);              /* false after the last point (back at the start)     */
void pl_walk_to(pl_walk *w, const pl_walk *outer); /* take the outer loops' point as the origin   */
int64_t pl_walk_count(const pl_walk *w);    /* points in all                                      */
int64_t pl_walk_points(const pl_share *share, uint32_t mask); /* the same of a walk to be         */

/* Is the present point of every window inside operand o (not in the padding)? */
bool pl_walk_inside(const pl_walk *w, int o);

uint32_t pl_walk_mask(const pl_node *node, int operand); /* factors that occur in an operand */
uint32_t pl_walk_letters(const pl_node *node, const char *letters);

#endif
