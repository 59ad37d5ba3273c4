/* report/why.h - why the plan that was taken is it: in a sentence, and as something to ask about
 * (explain/reason.h). */
#ifndef PL_REPORT_WHY_H
#define PL_REPORT_WHY_H
#include "explain/reason.h"
#include "planners/find.h"

/* Which candidate is asked about: the one that was taken, or, where that is a layout that the
 * search does not know, the fastest that the search found. The cap of its alternatives is the limit
 * of a device without what the program needs beyond what the tables count. Fails with
 * PL_EINFEASIBLE when the search found nothing either; the plan must be that of auto. */
PL_MUST_CHECK bool pl_why_open(const pl_found *b, pl_arena *out, pl_reason *r,
                               const pl_candidate **about, pl_err *err);

/* What people call a candidate: "zero=3", or "auto" on a mesh: "auto, mesh nvlink0=2 nvlink1=4". */
const char *pl_why_name(const pl_candidate *k, pl_arena *out);

/* What the next best costs more, and whether memory binds: "zero=1 is 0.2 ms slower: all-gather
 * of updated states over data takes 0.4 ms. Memory binds: 73.0 GiB of 74.5 GiB." All figures are
 * the forecast's. NULL: nothing else was looked at. The plan must be that of auto. */
const char *pl_why_sentence(const pl_found *b, pl_arena *out);

#endif
