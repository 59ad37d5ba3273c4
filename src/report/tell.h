/* report/tell.h - a plan told to people and to programs. */
#ifndef PL_REPORT_TELL_H
#define PL_REPORT_TELL_H
#include "program/best.h"

typedef struct pl_told {
    const char *model;        /* spec                                                            */
    const pl_graph *graph;    /* the training step                                               */
    const pl_cluster *cluster;
    const pl_best *best;
    const char *units;        /* what a step takes in: "tokens"; so many                         */
    int64_t n_units;
    const char *why;          /* one sentence; NULL: none                                        */
    const char *next;         /* a command to go on with; NULL: none                             */
} pl_told;

/* Share of the peak of all devices that the step reaches: model flops utilization. */
double pl_told_mfu(const pl_told *t);

/* The step's time, speed, bound and memory; what else could be taken; how every weight is split, a
 * row for those that differ by the number of their block only; messages by kind. */
void pl_tell_text(const pl_told *t, pl_text *out);

/* One JSON object, schema pleat.report/1, with a newline. */
void pl_tell_json(const pl_told *t, pl_text *out);

#endif
