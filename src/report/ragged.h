/* report/ragged.h - what a plan loses to rows that tensor cores take apart. */
#ifndef PL_REPORT_RAGGED_H
#define PL_REPORT_RAGGED_H
#include "planners/find.h"

typedef struct pl_ragged {
    double seconds;   /* of a step: 16-bit products with rows of no multiple of 16 bytes         */
    double aligned;   /* what these would take if their rows were                                */
    int64_t row, fit; /* numbers in the rows that cost most; the next multiple                   */
} pl_ragged;

/* Of the device whose program the candidate has. */
pl_ragged pl_ragged_of(const pl_candidate *k, const pl_cluster *c);

#endif
