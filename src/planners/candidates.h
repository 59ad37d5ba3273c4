/* planners/candidates.h - the plans that are looked at for one request, private to planners/. */
#ifndef PL_PLANNERS_CANDIDATES_H
#define PL_PLANNERS_CANDIDATES_H
#include "planners/find.h"

enum { PL_FEW_LENGTHS = 2 }; /* numbers of blocks that are tried, the smaller first */

/* What few blocks take that do not tell of more than themselves: one for each number that is tried,
 * and one of fewer yet. */
typedef struct pl_sample {
    int blocks; /* 0: nobody asked */
    double seconds, bytes;
} pl_sample;
enum { PL_FEWEST = PL_FEW_LENGTHS, PL_SAMPLES };

/* A layout in two tries: the first, with `only`, looks at the smaller number of blocks, and says
 * when that did not tell. */
typedef struct pl_halfway {
    bool only, left;
    pl_sample few[PL_SAMPLES];
} pl_halfway;

/* A request as it is worked on. */
typedef struct choosing {
    pl_found *b;
    const pl_graph *g;
    const pl_cluster *c;
    const pl_plan_request *r;
    pl_lower_options lower;
    bool brief; /* programs' orders are not searched for long; that of the one taken is */
    pl_speed speed;
    const pl_fold *fold;                 /* the graph's; read where few is set            */
    const pl_short *few[PL_FEW_LENGTHS]; /* the graph with fewer blocks; NULL: it has few */
    const pl_short *fewest;              /* for PL_FEWEST; NULL: it has few               */
    int few_from; /* of few[]: fewer blocks did not tell of the plans that pl_candidates_add gets */
    int stages;    /* of a pipeline, that auto plans alike; 1: it is none                         */
    double shares; /* into which these share what the tables have, at most: their number, or more
                      where some have faster devices than the tables count                        */
    bool tight; /* memory binds */
    bool bounded; /* the bound is of plans that recompute blocks, too */
    bool masters; /* 16-bit weights have them: the words of layouts say so */
    pl_auto *plain; /* the search of auto, without recomputing, */
    pl_auto *some;  /* and with any blocks recomputed; NULL: not asked for */
    pl_halfway *halfway; /* of pl_candidates_add_layout; NULL: one try                            */
    int n_known;
    const pl_candidate *known; /* [n_known] answers that were looked at before, of such tables */
    const pl_candidate *beat; /* of trials; what is clearly worse is not made whole. NULL: all is */
    pl_arena *out, *shared; /* the other one's lock is that of lower.paths */
    pl_paths *own; /* these, unless they are the request's */
} choosing;

choosing pl_candidates_open(pl_found *b, const pl_graph *g, const pl_cluster *c,
                            const pl_plan_request *r, pl_arena *out);
/* What all of them share becomes out's; no more of them then. */
void pl_candidates_close(choosing *x);

/* The time is over and something fits: what is left is not looked at. */
bool pl_candidates_late(const choosing *x);

/* Sets x->fold and x->few. */
void pl_candidates_shorten(choosing *x, const pl_fold *fold);

/* Lowers and forecasts a plan, from few of its blocks where they tell: one more in x->b. */
PL_MUST_CHECK bool pl_candidates_add(choosing *x, const char *name, const pl_plan *plan,
                                     double bound, pl_err *err);

/* The same of an answer to a mesh's tables. Where few blocks do not tell, the whole plan is made;
 * with PL_EINFEASIBLE if they say that it does not come near x->beat. */
PL_MUST_CHECK bool pl_candidates_add_answer(choosing *x, const char *name, const pl_auto_mesh *m,
                                            const int *value, pl_err *err);

/* The same, and fails so too, of a layout by its text: it does with many blocks what it does with
 * few. */
PL_MUST_CHECK bool pl_candidates_add_layout(choosing *x, const char *text, pl_err *err);

/* What the whole takes by two of few[PL_SAMPLES] numbers of its blocks: the seconds are on their
 * line within 2 percent, as seen (within 10 on that from the fewest); the bytes may be a quarter
 * less, as what is ahead or in buckets has its limits. One number tells of itself, none of nothing:
 * INFINITY. */
pl_sample pl_candidates_about(const choosing *x, const pl_sample few[]);

/* With the places of a pipeline, of which a stage sees one. */
const char *pl_candidates_mesh_name(const choosing *x, const pl_mesh *stage);

/* A plan that was found on the mesh of a stage becomes one of all stages, if there are any. */
PL_MUST_CHECK bool pl_candidates_cut(const choosing *x, pl_plan *p, pl_err *err);

PL_MUST_CHECK bool pl_candidates_plan(const choosing *x, const char *text, const pl_graph *g,
                                      pl_plan **p, pl_err *err);

/* Makes k->plan that of the whole graph, and k->store its states'. */
PL_MUST_CHECK bool pl_candidate_whole(const choosing *x, pl_candidate *k, pl_err *err);

/* Bytes of each of devices [first, first + n) that a plan may take; INFINITY: a policy decides. */
double pl_candidates_room(const choosing *x, int first, int n);

/* Bytes of a device that it takes above what it may take; below 0: room left. */
double pl_candidate_excess(const choosing *x, const pl_candidate *k);

bool pl_candidate_fits(const choosing *x, const pl_candidate *k);

/* Lowers and forecasts all of k->plan, and says whether it fits. */
PL_MUST_CHECK bool pl_candidate_forecast(const choosing *x, pl_candidate *k, pl_err *err);

/* The layout of one that was lowered briefly becomes as low as that of the program that runs. */
PL_MUST_CHECK bool pl_candidate_settle(const choosing *x, pl_candidate *k, pl_err *err);

/* pl_candidate_forecast of a plan in stages, which it calls: the program becomes that of the
 * fullest place (staged.c). */
PL_MUST_CHECK bool pl_candidate_forecast_stages(const choosing *x, pl_candidate *k, pl_err *err);

/* Is its schedule to be found for its own seconds? Of those that a search of layouts finds, only
 * that of the one that is taken. */
bool pl_candidate_seeks_schedule(const choosing *x, const pl_candidate *k);

/* By its name. NULL: there is none, or no name. */
const pl_candidate *pl_candidates_named(const pl_found *b, const char *name);

/* The fastest that fits. NULL: none does. */
const pl_candidate *pl_candidates_best(const pl_found *b);

/* Its seconds; INFINITY: there is none. */
double pl_candidates_fastest(const pl_found *b);

/* Seconds that are to be beaten: its, or fewer where the request says so. */
double pl_candidates_goal(const choosing *x);

/* Seconds of the fastest of all, whether it fits or not; INFINITY: there is none. */
double pl_candidates_least(const pl_found *b);

/* A candidate that is made beside others, in memory of its own. */
typedef struct trial {
    bool (*make)(choosing *x, const struct trial *t, pl_err *err); /* adds one to x->b, or none */
    const char *layout;        /* for it: a layout's text,                                       */
    pl_halfway *halfway;       /* and what is known of it;                                       */
    const pl_auto_mesh *mesh;  /* what was found on a mesh,                                      */
    const struct doubt *doubt; /* and how that is doubted;                                       */
    const pl_candidate *all;   /* one that recomputes all blocks,                                */
    const pl_candidate *none;  /* and the same without; NULL: that is not known;                 */
    double most;               /* seconds that there are to beat                                 */
    choosing x;
    pl_found made; /* n 0: it came to nothing */
    pl_err why;    /* which it said           */
} trial;

/* All of them at once, of what may come near `beat` (NULL: of everything); `what`, unless it is
 * NULL, is told of them. Whoever has no use for what one made frees its x.out. */
void pl_candidates_try(const choosing *x, const pl_candidate *beat, int n, trial t[],
                       const char *what);

/* What a trial made becomes *to, one of x's. */
void pl_candidates_take(choosing *x, trial *t, pl_candidate *to);

/* -- recomputing (recompute.c) ----------------------------------------------------------------- */

/* Does what was found keep to less memory than the fastest would take? */
bool pl_candidates_tight(const choosing *x);

/* The search's meshes where blocks may be recomputed, or with `always` all of them are; not yet
 * searched. */
pl_auto *pl_recompute_search(const choosing *x, bool always);

/* In the names of candidates that recompute all blocks. */
#define PL_RECOMPUTE_ALL "recompute=full"

/* A step whose forward pass runs twice takes no more of one whose runs once. */
#define PL_RECOMPUTE_MOST (4. / 3)

bool pl_recompute_is_all(const pl_candidate *k);

/* Do the answers of such a search recompute nothing? */
bool pl_recompute_is_none(const pl_auto *search);

/* Are whole blocks of it recomputed, or what is large of them, and not tensors one by one? */
bool pl_recompute_is_named(const pl_candidate *k);

/* A mesh's name with what an answer recomputes, in the words of strategies. */
const char *pl_recompute_name(const choosing *x, const char *mesh, const pl_problem *problem,
                              const int *value);

/* Of what was found the layout with this text, without recomputing all blocks. NULL: it recomputes
 * none, or that was not made. */
const pl_candidate *pl_recompute_base(const pl_found *b, const char *text, pl_arena *tmp);

/* Seconds of what recomputes as many blocks as it takes to fit, from what it takes with none of
 * them recomputed and with all, which fits: time and memory are about linear in them. */
double pl_recompute_outline(double limit, const pl_sample two[2]);
double pl_recompute_between(const choosing *x, const pl_candidate *none, const pl_candidate *all);

/* About what one that recomputes all blocks takes with no more of them recomputed than it takes to
 * fit. INFINITY: nobody knows. */
double pl_recompute_spared(const choosing *x, const pl_candidate *all);

/* Might one that recomputes all blocks be the fastest with fewer of them? As far as is known. */
bool pl_recompute_is_worth(const choosing *x, const pl_candidate *all);

/* Adds the fastest searched plan that recomputes all blocks, and the fastest such layout, each with
 * only as many recomputed as it takes to fit; unless it is slower by more than the forward pass
 * that it may do without. */
PL_MUST_CHECK bool pl_candidates_spare(choosing *x, pl_err *err);

/* What the search finds where memory does not bind, within `gap` of its bound (0: the usual), or
 * the first that takes less than `target` seconds (0: none will do), which raises the bound no
 * more; it goes on with *any, and what it found before stays. */
PL_MUST_CHECK bool pl_candidates_any_memory(const choosing *x, double gap, double target,
                                            pl_auto *any, pl_err *err);

/* -- eviction (evict.c) ------------------------------------------------------------------------ */

/* Of the fastest plan that would keep all, a candidate that makes some tensors again and has others
 * in the host's memory, as it takes to fit (evict/evict.h); where no candidate fits that does
 * neither. */
PL_MUST_CHECK bool pl_candidates_evict(choosing *x, pl_err *err);

/* Adds what a policy (policies/find.h) makes of a plan that does not fit, `base`, which is lowered
 * whole. Fails with PL_EINFEASIBLE when it makes nothing that fits, and as pl_evict_find does. */
PL_MUST_CHECK bool pl_candidates_evicted(choosing *x, const pl_candidate *base, const char *policy,
                                         pl_err *err);
enum { PL_EVICT_ROOM = 3 }; /* candidates that either adds at most, while it works */

#endif
