/* report/tell.h - a plan told to people and to programs. */
#ifndef PL_REPORT_TELL_H
#define PL_REPORT_TELL_H
#include "plan/file.h"
#include "planners/find.h"

typedef struct pl_told {
    const char *model;        /* spec                                                            */
    const pl_graph *graph;    /* the training step                                               */
    const pl_cluster *cluster;
    const pl_found *best;
    double mean_seconds;      /* of a step, where in some not all objectives train; 0: all do    */
    const char *units;        /* what a step takes in: "tokens"; so many                         */
    int64_t n_units;
    const char *why;          /* pl_why_sentence; NULL: none                                     */
    const char *change;       /* of a plan that does not fit: with what it would; NULL: none     */
    const char *next;         /* lines: commands to go on with; NULL: none                       */
    const char *cache;        /* rows of tables that devices have; NULL or "": all               */
    int n_caches;             /* sizes that were compared with it                                */
    const pl_plan_cache *caches;
    int columns;              /* of a line of text where words fit; 0: 100                       */
} pl_told;

/* Share of the peak of all devices that the step reaches: model flops utilization. */
double pl_told_mfu(const pl_told *t);

/* Share of the search's own sum that its choice may be above the least: 0 <= gap < 1. */
double pl_told_gap(const pl_auto *x);

/* Of a search: could it have found how the plan that is taken divides the devices? */
bool pl_told_searched(const pl_told *t);

/* The step's time, speed and memory, and how near the search came to the best of its cost model
 * (which is no bound of the forecast step, as the forecast counts what the model leaves out); what
 * else could be taken; how every weight is split, a row for those that differ by the number of
 * their block only; messages by kind, those that make up 99 % of their time. */
void pl_tell_text(const pl_told *t, pl_text *out);

/* One JSON object, schema pleat.report/1, with a newline. `search` is about the sums of the search:
 * its `lower_bound_seconds` bounds its `objective_seconds`, and no predicted figure. */
void pl_tell_json(const pl_told *t, pl_text *out);

#endif
