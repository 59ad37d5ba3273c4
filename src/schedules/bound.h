/* schedules/bound.h - what no schedule is faster than, of stages that lie on given ranks, for given
 * times within a memory: the bound that a schedule is told beside. */
#ifndef PL_SCHEDULES_BOUND_H
#define PL_SCHEDULES_BOUND_H
#include "schedules/play.h"

/* Seconds of a step; with `apart` of one where ranks need not begin at once (own_seconds of
 * play.h). Of `s` the stages, ranks and micro-batches are read, no row. memory: bytes that a rank
 * may hold; 0: any number. The bound is the largest over ranks q of
 *
 *   path     from q's first stage to a later rank r, F and I of all that r has, and back for q's
 *            last I; then W
 *   memory   all passes of q, and what it waits for twice. From its first F to its first I, a round
 *            trip, it has only F to do, as many as memory holds; of one stage a rank, from its last
 *            F to the I of that, another one, only the I and W of what memory holds beside that F
 *
 * and without `apart` the way to q before it, F and a message a stage. Derived here; tests compare
 * it with brute force. */
double pl_pipeline_bound(const pl_pipeline *s, const pl_pass_costs *costs, double memory,
                         bool apart);

#endif
