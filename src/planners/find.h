/* planners/find.h - the one entry: the plan to take of a graph on a cluster, and what else could be
 * taken. */
#ifndef PL_PLANNERS_FIND_H
#define PL_PLANNERS_FIND_H
#include "layouts/strategy.h"
#include "planners/auto.h"
#include "program/forecast_stages.h"

/* One plan that was looked at: the best of a mesh, or a published layout. */
typedef struct pl_candidate {
    const char *name;          /* "zero=3,tp=8", or the mesh "node=4 gpu0=2"                     */
    const pl_plan *plan;       /* of one that is not taken maybe of fewer blocks, as its store   */
    const pl_problem *problem; /* of which it is                                                 */
    const int *value;          /* an answer; NULL: it is none                                    */
    const struct doubt *doubt; /* of the tables, with which it was found; NULL: none             */
    const pl_store *store;
    const pl_program *program; /* of rank 0, which has the largest parts. With forecast.times that
                                  of a graph with fewer blocks, whose steps run so often         */
    pl_forecast forecast;
    const pl_stages_forecast *stages; /* of a plan in stages: program and forecast are those of
                                  the place that holds most                                      */
    double limit;              /* bytes of a device there; 0: as everywhere (pl_found)           */
    bool fits;
    bool brief;                /* its program's order was not searched for as long as for others */
    bool searched;             /* found on a mesh, which is its name; else a layout              */
    bool known;                /* a layout that people look for: dp, zero=1, 2, 3, tp=8, ...     */
    double bound;              /* seconds: no plan on its mesh is faster by the search's figures;
                                  of a layout 0                                                  */
} pl_candidate;

/* For qsort: those that fit first, then by time. */
int pl_candidate_order(const void *a, const void *b);

/* A layout that people look for, and why the model has none of it. */
typedef struct pl_refused {
    const char *name, *why;
} pl_refused;

/* A number of micro-batches that was tried. */
typedef struct pl_tried {
    int64_t micro;
    double seconds; /* of its fastest plan; INFINITY: none was found    */
    bool fits;      /* one may, that is no faster than another number's */
    bool outlined;  /* seconds: about, by layouts or few of its blocks, or without eviction */
} pl_tried;

typedef struct pl_found {
    pl_strategy strategy;   /* of the request; its cluster is the one that was planned for       */
    pl_auto *search;        /* NULL: the plan was given                                          */
    pl_auto *plain;         /* the one of plans that keep all; NULL: none was asked for          */
    pl_candidate *take;     /* of at[]                                                           */
    int n;
    pl_candidate *at;       /* [n] the one taken, then those that fit, and by time; of equal ones
                               the layout, which has a name                                      */
    int n_refused;
    pl_refused *refused;    /* [n_refused]                                                       */
    double limit;           /* bytes of a device; INFINITY: none                                 */
    double host_limit;      /* of the host's memory, its share                                   */
    double least;           /* of auto: by its tables no plan takes less, blocks recomputed      */
    bool outdone;           /* layouts are far faster than what is on the search's meshes in any
                               memory: it goes no further                                        */
    bool beaten;            /* no plan is below the request's `beat`                             */
    double outline;         /* of auto on several devices: seconds of usual layouts, about, with as
                               many of their blocks recomputed as it takes; INFINITY: none fits;
                               0: not looked at                                                  */
    bool outline_paid;      /* these recompute blocks                                            */
    bool outlined;          /* that is far beyond that of the request's `like`                   */
    bool unevicted;         /* eviction was left out, as the request's `blocks` has it            */
    bool rough;             /* few of its blocks say that it fits, nearly: it is not below `beat`,
                               so that the whole was not asked                                   */
    double floor;           /* seconds of a step that no plan of any kind is below: what its nodes
                               take, shared out evenly; 0: not asked for (-O3)                   */
    double seconds;         /* that finding it took                                              */
    bool tight;             /* memory binds: with more of it there may be a faster plan          */
    bool stopped;           /* when the request's seconds were over: not all was looked at       */
    int groups, within;     /* of auto: devices of the best groups, and of those within them, that
                               layouts were tried with; 0: none were                             */
    int n_tried;            /* numbers of micro-batches, where auto was to find one              */
    const pl_tried *tried;  /* [n_tried] in the order of the numbers                             */
} pl_found;

/* Bytes that it may take of the device that is fullest. */
double pl_candidate_limit(const pl_found *b, const pl_candidate *k);

/* What is asked for. A plan is a function of this and of the graph alone: plan, train, verify,
 * memory and explain all ask pl_plan_find, with the same options, and get the same one. (With
 * search.seconds not: what is found by then is up to the machine.) */
typedef struct pl_plan_request {
    pl_strategy strategy;      /* parsed, for so many devices                                    */
    const pl_cluster *cluster; /* NULL: that of the plan file, else guesses of this machine's
                                  devices (local:N)                                              */
    pl_auto_options search;    /* how auto searches; memory, also that of any other plan, is at
                                  most all that a device has                                     */
    pl_lower_options lower;    /* how its program is made                                        */
    const char *evict;         /* a policy (policies/find.h): the plan is that for any memory, and
                                  if it does not fit the policy says which tensors are made again
                                  or copied to the host. NULL: the search does                   */
    bool whole;                /* so that the program of what is taken has all blocks            */
    bool told;                 /* the plan is told of, not run or kept: few of its blocks may say
                                  that it fits, but for a hundredth of its work block            */
    bool sketch;               /* of a layout: its seconds and bytes alone are asked for, so that
                                  the plan may have few of its blocks                            */
    double beat;               /* of auto: seconds that a step has to be below, or there is no use
                                  in looking any further; 0: it is                               */
    const struct pl_found *like; /* of auto: what was found for another number of micro-batches and
                                  is to be beaten; it is no use to look where layouts are far slower
                                  than its `outline`. NULL: nobody knows                         */
    const struct pl_found *as; /* of auto in stages: what was found for the same graph and stages
                                  with another schedule. Its layouts are taken, and only where none
                                  of them fits others are searched. NULL: nobody knows           */
    bool blocks;               /* of auto: where memory binds whole blocks are recomputed, and no
                                  single tensors made again or copied: that takes long           */
    bool hasty;                /* of auto: nor is it where less than the least that its tables
                                  count is there                                                 */
} pl_plan_request;

/* The plan of a strategy, lowered and forecast.
 *
 * Of auto: searches all meshes; lowers what was found on each, and, but for a published search, the
 * usual layouts, those that people look for (`known`) among them; takes the one that is forecast to
 * be the fastest of those whose program fits. When none of the search's plans does, it searches
 * again below as much less as they take too much, and in the end takes what needs the least memory.
 * Else the plan is the one that the strategy's words or its file say.
 *
 * With r->evict either is found for any memory first.
 *
 * Fails as pl_strategy_plan does; with PL_EINFEASIBLE when nothing that auto finds fits, with the
 * least memory that was found, or when r->beat, r->like or r->hasty say so; then found->least
 * is set. */
PL_MUST_CHECK bool pl_plan_find(const pl_plan_request *r, const pl_graph *g, pl_arena *out,
                                pl_found **found, pl_err *err);

/* Goes on with what pl_plan_find found for a request with `blocks`: r is that without. Fails as it
 * does. */
PL_MUST_CHECK bool pl_plan_evict(const pl_plan_request *r, const pl_found *before, pl_arena *out,
                                 pl_found **found, pl_err *err);

/* pl_plan_find for n graphs that share states by name: the plan of the first is found, and the
 * others have its states where it has them, so that an evaluation reads the weights where training
 * keeps them. Fails as pl_plan_find and pl_strategy_plan do. */
PL_MUST_CHECK bool pl_plan_find_all(const pl_plan_request *r, int n, pl_graph *const graph[],
                                    pl_arena *out, const pl_plan *plan[], pl_found **found,
                                    pl_err *err);

/* Does the plan of some mesh that takes little memory fit, or a layout that does? Then auto finds
 * one, too. For cluster, search and lower of the request. *over: bytes that the smallest of
 * them takes too much; INFINITY: there is none. */
bool pl_plan_can_fit(const pl_plan_request *r, const pl_graph *g, double *over);

/* A given plan, lowered and forecast as the request says. Of r->strategy the cluster or the number
 * of devices is read, when the request names no cluster. */
PL_MUST_CHECK bool pl_plan_forecast(const pl_plan_request *r, const pl_plan *plan, pl_arena *out,
                                    pl_found **found, pl_err *err);

#endif
