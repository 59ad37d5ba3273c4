/* train/rate.h - the learning rate of each step: a linear warm-up, then a schedule. */
#ifndef PL_TRAIN_RATE_H
#define PL_TRAIN_RATE_H
#include "base/text.h"

#define PL_RATE_USUAL "cosine"

enum { PL_RATE_DROPS = 32 }; /* of multistep, at most */

typedef struct pl_rate pl_rate;

typedef struct pl_rate_schedule {
    const char *name, *form, *about; /* form: with its keys, for help                        */
    const char *keys;                /* " every factor ": those it has, between blanks       */
    bool ends;                       /* lr_min comes after the last step; else it is the least */
    double (*at)(const pl_rate *r, int64_t step); /* behind the warm-up                      */
} pl_rate_schedule;

extern const pl_rate_schedule pl_rate_schedules[]; /* ends with {0} */

/* Steps are those of the run, the first of which is 0, warm-up included. */
struct pl_rate {
    double lr, lr_min;     /* the peak, which comes right after the warm-up; see `ends` */
    int64_t steps, warmup;
    const pl_rate_schedule *schedule;
    double power, factor;
    int64_t every;
    int n_drops;
    int64_t drop[PL_RATE_DROPS]; /* rising */
};

/* A schedule "step:every=30,factor=0.5" for a rate that has its first four fields; an lr_min below
 * 0 becomes the usual one: lr / 10 where the schedule ends at it, else 0. Fails with PL_EUSAGE. */
PL_MUST_CHECK bool pl_rate_read(const char *text, pl_rate *r, pl_arena *scratch, pl_err *err);

/* What a learning rate that is for batches of so many rows is times for this one: "linear:256" in
 * proportion (Goyal et al., 2017), "sqrt:256" by the square root (Krizhevsky, 2014). Fails with
 * PL_EUSAGE. */
PL_MUST_CHECK bool pl_rate_scale(const char *text, int64_t batch, double *times, pl_err *err);

double pl_rate_at(const pl_rate *r, int64_t step);

/* A line for each schedule, for help. */
void pl_rate_words(pl_text *out);

#endif
