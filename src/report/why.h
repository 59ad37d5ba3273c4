/* report/why.h - the plan that was taken, as something to ask about (plan/reason.h). */
#ifndef PL_REPORT_WHY_H
#define PL_REPORT_WHY_H
#include "plan/reason.h"
#include "program/best.h"

/* Which contender is asked about: the one that was taken, or, where that is a layout that the
 * search does not know, the fastest that the search found. The cap of its alternatives is the limit
 * of a device without what the program needs beyond what the tables count. Fails with
 * PL_EINFEASIBLE when the search found nothing either; `b` must be of pl_best_plan. */
PL_MUST_CHECK bool pl_why_open(const pl_best *b, const pl_cluster *c,
                               const pl_auto_options *options, pl_arena *out, pl_reason *r,
                               const pl_contender **about, pl_err *err);

#endif
