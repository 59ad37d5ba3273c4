/* planners/auto.h - the fastest plan of a graph on a cluster that fits, with its lower bound. */
#ifndef PL_PLANNERS_AUTO_H
#define PL_PLANNERS_AUTO_H
#include "planners/planner.h"

/* Told of what long work is at: part `i` of n. what NULL: it is over. */
typedef struct pl_watch {
    void (*see)(void *self, const char *what, int i, int n);
    void *self;
} pl_watch;

typedef struct pl_auto_options {
    double memory;            /* bytes of a device that a plan may take; 0: no limit             */
    bool tied;                /* equal blocks are planned alike (-O1)                            */
    bool pipelines;           /* plans in stages are looked at, too (-O3): train/pipelines.h     */
    const pl_planner *method; /* a published search instead; NULL: exact, or tied                */
    int axes;                 /* of a mesh at most; 0: 2, or as many as the cluster has levels   */
    int stages;               /* places of a pipeline, along axis PL_STAGE_AXIS in front of these,
                                 which the search does not split over; 0 or 1: none              */
    double seconds;           /* after so many the best so far is taken; 0: all is looked at     */
    const pl_watch *watch;    /* told of what long work is at; NULL: nobody                      */
} pl_auto_options;

void pl_watch_tell(const pl_watch *w, const char *what, int i, int n);

/* What was found on one mesh. */
typedef struct pl_auto_mesh {
    pl_mesh mesh;
    bool fits;
    double seconds, memory;
    double cap, bound;             /* no plan on this mesh that keeps to `cap` is faster; it is
                                      the largest that was searched below                       */
    bool proven;
    pl_answer answer;
    pl_problem *problem;
    pl_chain_opened *opened;       /* by its searches so far                                    */
} pl_auto_mesh;

typedef struct pl_auto {
    pl_plan *plan;          /* of pl_auto_plan                                                   */
    double seconds, bound;  /* of a step; no plan on any of the meshes is faster                 */
    double memory;          /* bytes of one device, as the tables count them                     */
    int best, n;            /* best -1: nothing was found yet                                    */
    pl_auto_mesh *mesh;     /* [n], of which best is the fastest                                 */
    pl_fold fold;
    bool tied;
    const pl_planner *method;
    const pl_watch *watch;
    double gap;             /* of a search on a mesh (pl_search_options); 0: the usual           */
    double until;           /* by the clock, when the best so far will do; 0: none              */
    double target;          /* seconds: a plan that takes less will do, any bound; 0: none       */
    double cap;             /* bytes of a device that the last search kept to; INFINITY: none    */
    double fold_seconds, tables_seconds, search_seconds; /* what each took, of all meshes        */
} pl_auto;

double pl_auto_seconds(const pl_auto *x); /* all three */

/* What was found on a mesh like this one; NULL: nothing. */
const pl_auto_mesh *pl_auto_on(const pl_auto *x, const pl_mesh *m);

/* Meshes over the levels of a cluster, slowest axis first: sizes of level k are factors whose
 * product is its size. With `stages` > 1 the first axis is theirs, over the outermost levels, and
 * of size 1, as one stage sees it: the mesh of a stage. At most `most` are written; returns their
 * number, 0 where the levels cannot be divided so. */
int pl_auto_meshes(const pl_cluster *c, int axes, int stages, int most, pl_mesh out[]);

/* The tables of all meshes, without a search. Fails with PL_EINPUT when a mesh needs more axes. */
PL_MUST_CHECK bool pl_auto_open(const pl_graph *g, const pl_cluster *c,
                                const pl_auto_options *options, pl_arena *out, pl_auto **found,
                                pl_err *err);

/* The plan of a mesh that takes the least memory, as its tables count it; NULL: none is legal. */
pl_plan *pl_auto_least(const pl_auto *x, int mesh, pl_arena *out);

/* Fails with PL_EINFEASIBLE when nothing fits options->memory (the least that was possible). */
PL_MUST_CHECK bool pl_auto_plan(const pl_graph *g, const pl_cluster *c,
                                const pl_auto_options *options, pl_arena *out, pl_auto **found,
                                pl_err *err);

/* Searches the same tables, for plans that take no more than so many bytes; bounds stay those of
 * the largest limit so far. When nothing fits what was found before stays. */
PL_MUST_CHECK bool pl_auto_again(pl_auto *x, double memory, pl_arena *out, pl_err *err);

#endif
