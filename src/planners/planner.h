/* planners/planner.h - ways to search for a plan, on the tables of cost/problem.h: one file each,
 * and one row of the list (list.h), which --search, help, manual and `pleat doctor` read.
 *
 * Each method gets the tables that the exact search gets and answers with values of their
 * variables, whose cost is that of the tables: so every claim of "better" compares like with like.
 * What a method leaves out of its own objective (computing, memory) is left out while it searches
 * and counted afterwards. Each file names its source, and where the method here differs from it. */
#ifndef PL_PLANNERS_PLANNER_H
#define PL_PLANNERS_PLANNER_H
#include "cost/problem.h"

typedef struct pl_planner {
    const char *name;   /* for --search                                                    */
    const char *about;  /* a line for the help                                             */
    const char *source; /* the publication; NULL: ours                                     */
    bool proves;        /* its bound is one of all plans, and it keeps to the cap          */
    /* As pl_planner_run, but time and memory of the answer need not be those of the tables. */
    bool (*run)(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err);
    /* Of a method that plans pipelines, in 1, 2, 4, ... stages: their schedule, and how many
     * micro-batches, at least, it takes for so many stages. NULL: it plans none. */
    const char *schedule;
    int (*micro)(int stages);
} pl_planner;

extern const pl_planner *const pl_planners[]; /* ends with NULL */

/* Fails with PL_EUSAGE, naming all there are. */
PL_MUST_CHECK bool pl_planner_find(const char *name, const pl_planner **out, pl_err *err);

/* Values of the written out chain: of outside, of copy 0, copy 1 ...; `out` owns them. Methods that
 * prove nothing give a bound of 0. Fails with PL_EINFEASIBLE when the method finds no plan, or one
 * that needs more bytes of a device than `cap` (INFINITY: no cap; most methods do not look at
 * memory); with PL_EUNSUPPORTED when it would take too long, with the number of plans. */
PL_MUST_CHECK bool pl_planner_run(const pl_planner *b, const pl_problem *problem, double cap,
                                   pl_arena *out, pl_answer *answer, pl_err *err);

#endif
