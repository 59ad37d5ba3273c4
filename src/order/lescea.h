/* order/lescea.h - LESCEA, the greedy order that ROAM (arXiv 2310.19295) takes as its heuristic
 * baseline. */
#ifndef PL_ORDER_LESCEA_H
#define PL_ORDER_LESCEA_H
#include "order/index.h"

/* Among the ready tasks that do not raise the peak so far, the one that leaves least memory live;
 * if all raise it, the one that raises it least. Ties by task number. O(n * ready tasks). */
void pl_lescea_order(const pl_index *index, int order[]);

#endif
