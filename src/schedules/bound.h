/* schedules/bound.h - what no schedule of one stage a rank is faster than, for given times within a
 * memory: the bound that a schedule is told beside. */
#ifndef PL_SCHEDULES_BOUND_H
#define PL_SCHEDULES_BOUND_H
#include "schedules/make.h"

/* Seconds of a step; with `apart` of one where ranks need not begin at once (own_seconds of
 * play.h). 0 of several stages a rank: not known. The bound is the largest over ranks q, which have
 * n passes of F, I and W each, of
 *
 *   path     to a later rank r, its n F and I, and back to q for its last I; then W
 *   memory   n (F + I + W), and what q waits for twice. From its first F to its first I, a round
 *            trip, it has only F to do, as many as memory holds; from its last F to the I of that,
 *            another one, only the I and W of what memory holds beside that F
 *
 * and without `apart` the way to q before it, F and a message a rank. Derived here; tests compare
 * it with brute force. */
double pl_pipeline_bound(const pl_pipeline_request *r, bool apart);

#endif
