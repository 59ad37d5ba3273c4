/* order/hills.h - list scheduling under a target peak, by hills and valleys. */
#ifndef PL_ORDER_HILLS_H
#define PL_ORDER_HILLS_H
#include "order/index.h"

/* What runs next when nothing that fits ends with less memory than now. */
typedef enum pl_hills_rule {
    PL_HILLS_DEEP,  /* the largest drop from hill to valley first (Liu 1987)       */
    PL_HILLS_GIVEN, /* the order given by `place`                                  */
    PL_HILLS_FLAT,  /* the lowest valley first                                     */
    PL_HILLS_LAST,  /* what became ready last                                      */
    PL_HILLS_RULES
} pl_hills_rule;

typedef struct pl_hills pl_hills;

typedef struct pl_hills_result {
    int64_t peak; /* bytes: of the order                                               */
    int64_t next; /* bytes: any target from that of the run up to below this one, with */
                  /* the same rule and places, leads to the same order                 */
} pl_hills_result;

/* Branches are followed no further than so many tasks after their lowest valley so far. The brisk
 * save effort where much that could run leads nowhere (updates, backward in time), and miss a
 * valley once in a while. */
enum { PL_HILLS_BRISK = 12, PL_HILLS_PATIENT = 1000 };

/* Scratch for any number of runs over one problem. */
pl_hills *pl_hills_new(const pl_index *index, int patience, pl_arena *arena);

/* Write an order whose peak is at most `target` if the rule finds one, else one that exceeds it
 * where it must. Gives up, returning false, when the peak reaches `below`. Each task run or tried
 * costs one effort; without any left the result is false, and `next` not to be used.
 *
 * From the tasks that have run, a branch is followed from each ready task: the tasks that it makes
 * ready, and what those wait for, until no more memory is live than before. The bytes on top of
 * what is live now are its hill, those left its valley. As in Liu 1987 ("An application of
 * generalized tree pebbling to sparse matrix factorization"), a branch that ends no higher than it
 * starts runs as soon as its hill fits under the target; one that does not fit is put off until
 * memory has been freed.
 *
 *   place  [n] numbers that break ties, least first */
bool pl_hills_run(pl_hills *h, int64_t target, int64_t below, pl_hills_rule rule, const int place[],
                  int order[], pl_hills_result *result, int64_t *effort);

#endif
