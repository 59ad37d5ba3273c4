/* report/ragged.h - what a plan loses to rows that tensor cores take apart, and to zeros that
 * fill the tiles of a matrix unit. */
#ifndef PL_REPORT_RAGGED_H
#define PL_REPORT_RAGGED_H
#include "planners/find.h"

typedef struct pl_ragged {
    double seconds;   /* of a step: 16-bit products with rows of no multiple of 16 bytes         */
    double aligned;   /* what these would take if their rows were                                */
    int64_t row, fit; /* numbers in the rows that cost most; the next multiple                   */
    double flops;     /* of a step: 16-bit products that a matrix unit's tiles hold              */
    double filled;    /* the same with the zeros that fill tiles                                 */
    double whole;     /* seconds of these products, if they filled their tiles;                  */
    double cut;       /* as they are                                                             */
} pl_ragged;

/* Of the device whose program the candidate has. */
pl_ragged pl_ragged_of(const pl_candidate *k, const pl_cluster *c);

#endif
