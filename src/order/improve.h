/* order/improve.h - an order of one problem that does not fall apart: bounds, exact search,
 * heuristics. */
#ifndef PL_ORDER_IMPROVE_H
#define PL_ORDER_IMPROVE_H
#include "order/index.h"

typedef struct pl_improve {
    const pl_index *x;
    int *order;    /* [n] the best order known; in: any order */
    int64_t peak;  /* of it                                   */
    int64_t bound; /* no order of the piece has a lower peak  */
    int64_t goal;  /* a lower peak than this is of no use     */
} pl_improve;

/* Improve piece->order until its peak is the bound or the goal, or *effort is used up. `without` as
 * in schedule.h. Sets peak and bound. */
void pl_improve_run(pl_improve *piece, unsigned without, int64_t *effort);

#endif
