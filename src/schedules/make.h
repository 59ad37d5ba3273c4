/* schedules/make.h - schedules by name, a generator each. */
#ifndef PL_SCHEDULES_MAKE_H
#define PL_SCHEDULES_MAKE_H
#include "schedules/play.h"

/* What is asked for. */
typedef struct pl_pipeline_request {
    int ranks, micro;
    int chunks; /* stages of a rank; 0: as many as the schedule usually has */
    /* Of "search" alone: */
    const pl_pass_costs *costs; /* NULL: 1 each                                               */
    double memory;              /* bytes that a rank may hold (play.h); 0: any number         */
    bool apart;                 /* ranks need not begin at once: own_seconds of play.h counts */
} pl_pipeline_request;

/* Fills s->row; the rest is set. Fails with PL_EUSAGE where it can not have such numbers, and with
 * PL_EINFEASIBLE where the memory is too little. */
typedef bool pl_pipeline_generator_make(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s,
                                        pl_err *err);

typedef struct pl_pipeline_generator {
    const char *name, *about;
    int chunks;            /* stages of a rank, usually                          */
    bool any_chunks;       /* it can have others                                 */
    bool is_v;             /* of two stages of a rank one is on the way back     */
    pl_pipeline_generator_make *make;
} pl_pipeline_generator;

extern const pl_pipeline_generator pl_pipeline_generators[]; /* ends with a row without a name */

/* The stages of a rank that a schedule usually has; 1: there is no such schedule. */
int pl_pipeline_chunks(const char *name);

/* Stage c p + r is on rank r of p; of those that are V, stage p + r on rank p - 1 - r. Checked
 * before it is returned. `out` owns it. Fails with PL_EUSAGE for a name that there is not, or
 * numbers that are none or not the schedule's. */
PL_MUST_CHECK bool pl_pipeline_make(const char *name, const pl_pipeline_request *r, pl_arena *out,
                                    pl_pipeline *s, pl_err *err);

/* For generators: the next pass of a row. */
void pl_pipeline_add(pl_pipeline *s, int rank, int kind, int stage, int micro, pl_arena *out);

pl_pipeline_generator_make pl_pipeline_gpipe, pl_pipeline_1f1b, pl_pipeline_interleaved;
pl_pipeline_generator_make pl_pipeline_zb_h1, pl_pipeline_zb_h2, pl_pipeline_zbv;
pl_pipeline_generator_make pl_pipeline_dualpipev, pl_pipeline_search;

#endif
