/* planners/best.h - the plan to take of a graph on a cluster: the fastest that is found, lowered
 * and forecast, whose program fits; and what else could be taken. */
#ifndef PL_PLANNERS_BEST_H
#define PL_PLANNERS_BEST_H
#include "planners/auto.h"
#include "layouts/strategy.h"
#include "program/forecast.h"

/* One plan that was looked at: the best of a mesh, or a published layout. */
typedef struct pl_contender {
    const char *name;          /* "zero=3,tp=8", or the mesh "node=4 gpu0=2"                     */
    const pl_plan *plan;
    const pl_store *store;
    const pl_program *program; /* of rank 0, which has the largest parts                         */
    pl_forecast forecast;
    bool fits;
    bool searched;             /* found on a mesh, which is its name; else a layout              */
    bool known;                /* a layout that people look for: dp, zero=1, 2, 3, tp=8, ...     */
    double bound;              /* seconds: no plan on its mesh is faster by the search's figures;
                                  of a layout 0                                                  */
} pl_contender;

/* A layout that people look for, and why the model has none of it. */
typedef struct pl_refused {
    const char *name, *why;
} pl_refused;

typedef struct pl_best {
    pl_auto *found;         /* NULL: the plan was given                                          */
    pl_contender *take;     /* of at[]                                                           */
    int n;
    pl_contender *at;       /* [n] those that fit first, then by time; of equal ones the layout,
                               which has a name                                                  */
    int n_refused;
    pl_refused *refused;    /* [n_refused]                                                       */
    double limit;           /* bytes of a device; INFINITY: none                                 */
    double seconds;         /* that finding it took                                              */
} pl_best;

/* Searches all meshes; lowers what was found on each, and, but for a published method, the usual
 * layouts, those that people look for (`known`) among them; takes the one that is forecast to be
 * the fastest of those whose program fits options->memory. When none of the search's plans does, it
 * searches again below as much less as they take too much, and in the end takes what needs the
 * least memory. Fails with PL_EINFEASIBLE when nothing fits, with the least memory that was
 * found. */
PL_MUST_CHECK bool pl_best_plan(const pl_graph *g, const pl_cluster *c,
                                const pl_auto_options *options, const pl_lower_options *lower,
                                pl_arena *out, pl_best **best, pl_err *err);

/* Does the plan of some mesh that takes little memory fit, or a layout that does? Then pl_best_plan
 * finds one, too. */
bool pl_best_fits(const pl_graph *g, const pl_cluster *c, const pl_auto_options *options,
                  const pl_lower_options *lower);

/* The plan of a strategy: of auto that of pl_best_plan, else the one that its words or its file
 * say, as pl_best_given has it. Every command that runs, prints or studies a plan asks here, so
 * that all of them have the same one. On s->cluster, or where it has none on guesses of this
 * machine's devices (local:N). options->memory: no more than a device of the cluster has; 0: all of
 * it. Fails as these two and pl_strategy_plan do. */
PL_MUST_CHECK bool pl_best_of(const pl_strategy *s, const pl_graph *g,
                              const pl_auto_options *options, const pl_lower_options *lower,
                              pl_arena *out, pl_best **best, pl_err *err);

/* Plans of n graphs that share states by name: that of the first is what a search finds, or what
 * the words or the file say; the others have the states where it has them. *best is what was found,
 * or NULL. Fails as pl_best_of and pl_strategy_plan do. */
PL_MUST_CHECK bool pl_best_plans(const pl_strategy *s, int n, pl_graph *const graph[],
                                 const pl_auto_options *options, const pl_lower_options *lower,
                                 pl_arena *out, const pl_plan *plan[], const pl_best **best,
                                 pl_err *err);

/* A given plan, lowered and forecast. */
PL_MUST_CHECK bool pl_best_given(const pl_plan *plan, const pl_cluster *c, double limit,
                                 const pl_lower_options *lower, pl_arena *out, pl_best **best,
                                 pl_err *err);

#endif
