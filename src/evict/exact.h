/* evict/exact.h - the fastest schedule without copies of a small problem, proven. */
#ifndef PL_EVICT_EXACT_H
#define PL_EVICT_EXACT_H
#include "evict/play.h"

enum { PL_EXACT_ITEMS = 64 }; /* with bytes, at most */

typedef enum pl_evict_exact_result {
    PL_EXACT_FOUND,
    PL_EXACT_NONE,
    PL_EXACT_TOO_LARGE
} pl_evict_exact_result;

/* Best first over what is present after each action (A*, Hart, Nilsson, Raphael 1968): any op that
 * ran may run again at any time, anything may go. Looks at `most` states at most. Views are not
 * taken: PL_EXACT_TOO_LARGE. FOUND leaves the schedule played. */
pl_evict_exact_result pl_evict_exact_find(const pl_evict_items *items, int64_t budget, int64_t most,
                                          pl_evict_play *play);

#endif
