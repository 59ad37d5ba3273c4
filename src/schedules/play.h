/* schedules/play.h - what a schedule takes: its passes played through with their seconds. */
#ifndef PL_SCHEDULES_PLAY_H
#define PL_SCHEDULES_PLAY_H
#include "schedules/pipeline.h"

/* What passes take, per stage. B takes as long as I and W together, and is over when both would
 * be. Messages go beside computing: what a stage makes reaches another rank so much later. */
typedef struct pl_pass_costs {
    const double *forward, *input, *weight; /* [n_stages] seconds of F, I and W; NULL: 1 each   */
    double send;                            /* seconds to another rank                          */
    const double *held;                     /* [n_stages] bytes from the start of F until the end
                                               of I, or of B; NULL: 1 each                      */
    const double *rest;                     /* [n_stages] of these, bytes that stay until the end
                                               of W; NULL: all                                  */
} pl_pass_costs;

double pl_pass_seconds(const pl_pass_costs *c, const pl_pass *p);
double pl_pass_held(const pl_pass_costs *c, int stage);
double pl_pass_rest(const pl_pass_costs *c, int stage);

typedef struct pl_pipeline_times {
    double **begin, **end; /* [n_ranks][row.n] seconds                                          */
    double seconds;        /* from the first pass to the end of the last one                    */
    double own_seconds;    /* the longest that a rank takes, from its own first pass: of a step
                              where ranks need not begin at once (Qi et al.: the optimizer checks
                              its step afterwards)                                              */
    double busy;           /* seconds of passes, of the rank that has most of them              */
    double *held;          /* [n_ranks] bytes at the most                                       */
    double most_held;
} pl_pipeline_times;

/* The share of a step that the busiest rank waits: of `seconds`, or of `own_seconds`. */
double pl_pipeline_bubble(const pl_pipeline_times *t);
double pl_pipeline_own_bubble(const pl_pipeline_times *t);

/* Of a schedule that pl_pipeline_check takes: each pass begins when its rank is free and what it
 * waits for is there. `out` owns the arrays. */
void pl_pipeline_play(const pl_pipeline *s, const pl_pass_costs *costs, pl_arena *out,
                      pl_pipeline_times *t);

/* A line per rank, as wide as `columns` at most, time from left to right: of F the last digit of
 * the micro-batch, of B and I a letter in its place (A is 0), of W a colon, of waiting a dot. */
void pl_pipeline_picture(const pl_pipeline *s, const pl_pipeline_times *t, int columns,
                         pl_text *out);

#endif
