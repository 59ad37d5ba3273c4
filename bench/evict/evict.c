/* bench-evict: what to drop or copy so that others' traces and graphs fit a budget, as CSV rows.
 *
 *   bench-evict logs FILE RATIO[,RATIO...]           a log of the DTR simulator
 *   bench-evict graph FILE RATIO[,...] EFFORT[,...]  a graph of the MOCCASIN repository
 *
 * A row per budget (a share of the peak of the order as it stands; "least" is what one op needs)
 * and policy. All schedules are played by the judge (pl_evict_check); exit status 6 when it finds
 * one wrong. `overhead` is seconds / seconds of one run of each op, empty where nothing fits;
 * `bound` is below the overhead of any schedule. Of ours the rows are one sweep over the budgets,
 * and took_s its mean. */
#include "read.h"

#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUDGETS = 32 };
static const double link_bytes_per_s = 16e9; /* each way: that of the OLLA and MODeL figures */

typedef struct job {
    const char *set, *name;
    pl_evict_problem problem;
    pl_evict_facts facts;
    int64_t peak;
    int n;
    double ratio[MOST_BUDGETS];
    int64_t budget[MOST_BUDGETS];
    pl_arena *arena;
} job;

static bool print_row(const job *j, int k, const char *policy, int64_t effort,
                      const pl_evict_schedule *s, double took, pl_err *err)
{
    printf("%s,\"%s\",%d,%lld,%.9g,%.4g,%lld,%s,%lld,", j->set, j->name, j->problem.n_op,
           (long long)j->peak, j->facts.seconds, j->ratio[k], (long long)j->budget[k], policy,
           (long long)effort);
    if (s->n == 0) {
        printf(",,,,,,%.3f\n", took);
        return true;
    }
    double base = j->facts.seconds;
    printf("%.9g,%.5f,%.5f,%lld,%lld,%.5f,%.3f\n", s->seconds, s->seconds / base, s->bound / base,
           (long long)s->peak, (long long)s->copied, s->exposed / base, took);
    fflush(stdout);
    if (pl_evict_check(&j->problem, j->budget[k], s, err)) return true;
    return pl_err_in(err, "%s, %s, %lld bytes", j->name, policy, (long long)j->budget[k]);
}

static bool run_policy(job *j, const char *policy, int64_t effort, pl_err *err)
{
    for (int k = 0; k < j->n; k++) {
        pl_evict_options o = { .policy = policy, .budget = j->budget[k], .effort = effort };
        pl_evict_schedule s;
        pl_err miss = { 0 };
        double from = pl_clock_now();
        if (!pl_evict_find(&j->problem, &o, j->arena, &s, &miss)) {
            if (miss.code != PL_EINFEASIBLE) return pl_err_set(err, miss.code, "%s", miss.msg);
            s.n = 0;
        }
        PL_TRY(print_row(j, k, policy, effort, &s, pl_clock_now() - from, err));
    }
    return true;
}

static bool run_ours(job *j, const char *label, pl_evict_options o, pl_err *err)
{
    pl_evict_schedule s[MOST_BUDGETS];
    double from = pl_clock_now();
    PL_TRY(pl_evict_sweep(&j->problem, &o, j->n, j->budget, j->arena, s, err));
    double took = (pl_clock_now() - from) / j->n;
    for (int k = 0; k < j->n; k++) PL_TRY(print_row(j, k, label, o.effort, &s[k], took, err));
    return true;
}

static bool run_log(job *j, pl_err *err)
{
    static const char *const rules[] = { "dtr", "dtr-eq", "msps", "lru", "stale" };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        PL_TRY(run_policy(j, rules[k], 0, err));
    PL_TRY(run_ours(j, "pleat-recompute", (pl_evict_options){ 0 }, err));
    j->problem.out_bytes_per_s = j->problem.in_bytes_per_s = link_bytes_per_s;
    PL_TRY(run_policy(j, "delta", 0, err));
    PL_TRY(run_ours(j, "pleat-copies", (pl_evict_options){ .no_recompute = true }, err));
    return run_ours(j, "pleat-mixed", (pl_evict_options){ 0 }, err);
}

static bool run_graph(job *j, char *efforts, pl_err *err)
{
    for (char *e = strtok(efforts, ","); e; e = strtok(NULL, ",")) {
        int64_t effort;
        if (!pl_text_int(e, &effort)) return pl_err_set(err, PL_EUSAGE, "an effort of '%s'", e);
        PL_TRY(run_policy(j, "pleat", effort, err));
    }
    return true;
}

static bool run(int argc, char **argv, job *j, pl_err *err)
{
    bool log = argc == 4 && !strcmp(argv[1], "logs");
    if (!log && !(argc == 5 && !strcmp(argv[1], "graph")))
        return pl_err_set(err, PL_EUSAGE,
                          "bench-evict logs FILE RATIOS | graph FILE RATIOS EFFORTS");
    const char *slash = strrchr(argv[2], '/');
    j->set = argv[1];
    j->name = slash ? slash + 1 : argv[2];
    PL_TRY(log ? read_log(argv[2], j->arena, &j->problem, err)
               : read_graph(argv[2], j->arena, &j->problem, err));
    PL_TRY(pl_evict_validate(&j->problem, err));
    j->facts = pl_evict_measure(&j->problem);
    j->peak = log ? j->facts.held_peak : j->facts.peak;
    for (char *r = strtok(argv[3], ","); r && j->n < MOST_BUDGETS; r = strtok(NULL, ",")) {
        double ratio = (double)j->facts.need / (double)j->peak;
        if (strcmp(r, "least") != 0 && !pl_text_real(r, &ratio))
            return pl_err_set(err, PL_EUSAGE, "a budget of '%s'", r);
        double bytes = (double)j->peak * ratio;
        j->budget[j->n] = !strcmp(r, "least") ? j->facts.need
                          : log               ? (int64_t)bytes
                                              : (int64_t)ceil(bytes);
        j->ratio[j->n++] = ratio;
    }
    return log ? run_log(j, err) : run_graph(j, argv[4], err);
}

int main(int argc, char **argv)
{
    pl_err err = { 0 };
    job j = { .arena = pl_arena_new("bench-evict") };
    bool ok = run(argc, argv, &j, &err);
    if (!ok) fprintf(stderr, "bench-evict: %s\n", err.msg);
    pl_arena_free(j.arena);
    return ok ? 0 : (int)err.code;
}
