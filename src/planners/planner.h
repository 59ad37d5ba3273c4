/* planners/planner.h - published ways to search for a plan, on the tables of cost/tables.h.
 *
 * Each method gets the tables that the exact search gets and answers with values of their
 * variables, whose cost is that of the tables: so every claim of "better" compares like with like.
 * What a method leaves out of its own objective (computing, memory) is left out while it searches
 * and counted afterwards. The comments of baseline*.c name the sources, and where a method here
 * differs from its publication. */
#ifndef PL_PLANNERS_PLANNER_H
#define PL_PLANNERS_PLANNER_H
#include "cost/tables.h"

typedef struct pl_baseline {
    const char *name, *about;
    bool (*run)(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err);
} pl_baseline;

extern const pl_baseline pl_baselines[]; /* ends with a row without a name */

/* Fails with PL_EUSAGE, naming all there are. */
PL_MUST_CHECK bool pl_baseline_find(const char *name, const pl_baseline **out, pl_err *err);

/* Values of the written out chain: of outside, of copy 0, copy 1 ...; `out` owns them. Methods that
 * prove nothing give a bound of 0. Fails with PL_EINFEASIBLE when the method finds no plan, or one
 * that needs more bytes of a device than `cap` (INFINITY: no cap; most methods do not look at
 * memory); with PL_EUNSUPPORTED when it would take too long, with the number of plans. */
PL_MUST_CHECK bool pl_baseline_run(const pl_baseline *b, const pl_tables *t, double cap,
                                   pl_arena *out, pl_answer *answer, pl_err *err);

#endif
