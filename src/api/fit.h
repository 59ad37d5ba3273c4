/* api/fit.h - a cluster's figures from measured runs: what makes the forecasts of these runs least
 * wrong, and how wrong they then are of runs that were not looked at. */
#ifndef PL_API_FIT_H
#define PL_API_FIT_H
#include "api/job.h"

enum { PL_FIT_ROWS = 1 << 20, PL_FIT_BYTES = 1 << 28 }; /* of a file, at most */

/* A measured run. */
typedef struct pl_fit_row {
    int line;                             /* of the file                                       */
    const char *model, *cluster, *strategy;
    double measured;                      /* seconds of a step                                 */
    double before, after;                 /* forecast with the figures before, and after; 0: it was
                                             not forecast                                      */
    bool held;                            /* out of the fit                                    */
    pl_job job;
    pl_strategy asked;
} pl_fit_row;

/* A figure that was fitted, as it was and is. */
typedef struct pl_fit_figure {
    const char *of, *name, *unit; /* class or level, "kernel_start", "s" */
    double before, after;
} pl_fit_figure;

typedef struct pl_fit_error {
    int n;
    double mean;   /* of |forecast / measured - 1|      */
    double median; /* of forecast / measured            */
} pl_fit_error;

typedef struct pl_fit_options {
    const char *cluster;   /* whose figures, and what is written: of rows those on its kind count */
    int rows;              /* at most so many are fitted, and as many held out                    */
    const pl_watch *watch; /* NULL: nobody is told                                                */
} pl_fit_options;

typedef struct pl_fit {
    pl_cluster *cluster;   /* with the figures that were found, and where they are from         */
    int n_rows, n_other, n_refused; /* of the file: of this kind, of another, that no plan is of */
    const char *refused;   /* why the first of these                                            */
    int n;
    pl_fit_row *row;       /* [n] that were forecast                                            */
    int n_figures;
    pl_fit_figure *figure; /* [n_figures]                                                       */
    pl_fit_error fitted[2], held[2]; /* before, and after                                       */
} pl_fit;

/* CSV with a head that names at least model, cluster, strategy and measured_s, as bench/runs.csv
 * has them; other columns are not read. Every fifth run is held out. Kernel starts, efficiencies of
 * products and of streams, and of each level its bandwidth, start and latency, are moved in turn,
 * in smaller and smaller steps, as long as the forecasts of the others come nearer: the mean of
 * |log(forecast / measured)|. `name` is that of the file. Fails with PL_EINPUT, naming line and
 * column, and with PL_EINFEASIBLE where no row is of this kind of devices. `out` owns the result.
 */
PL_MUST_CHECK bool pl_fit_make(const char *text, size_t n, const char *name,
                               const pl_fit_options *o, pl_arena *out, pl_fit **fit, pl_err *err);

/* Rows from such a file, in fit_rows.c. */
PL_MUST_CHECK bool pl_fit_read(const char *text, size_t n, const char *name, pl_arena *out,
                               int *n_rows, pl_fit_row **rows, pl_err *err);

#endif
