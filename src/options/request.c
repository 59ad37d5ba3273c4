#include "options/request.h"

#include "base/clock.h"
#include "policies/policy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TOLD = 8 };

/* What long work is at, once it takes longer than people wait. */
typedef struct live {
    double begin;
    bool shown;
    int n_told;
    const char *told[MOST_TOLD]; /* kinds of work */
} live;

/* On a terminal: one line that is written over. */
static void show_live(void *self, const char *what, int i, int n)
{
    enum { PATIENCE = 1 }; /* seconds */
    live *l = self;
    if (what && pl_clock_now() - l->begin < PATIENCE) return;
    if (what)
        fprintf(stderr, "\r\033[K%s %d of %d", what, i, n);
    else if (l->shown)
        fprintf(stderr, "\r\033[K");
    l->shown = what != NULL;
    fflush(stderr);
}

/* Elsewhere: a line for each kind of work that takes long. */
static void show_line(void *self, const char *what, int i, int n)
{
    enum { PATIENCE = 5 };
    live *l = self;
    const double seconds = pl_clock_now() - l->begin;
    if (!what || seconds < PATIENCE || l->n_told == MOST_TOLD) return;
    for (int k = 0; k < l->n_told; k++)
        if (!strcmp(l->told[k], what)) return;
    fprintf(stderr, "after %.0f s: %s %d of %d\n", seconds, what, i, n);
    fflush(stderr);
    l->told[l->n_told++] = what;
}

const pl_watch *pl_request_watch(pl_arena *arena)
{
    live *l = PL_NEW(arena, live);
    pl_watch *w = PL_NEW(arena, pl_watch);
    l->begin = pl_clock_now();
    *w = (pl_watch){ isatty(STDERR_FILENO) ? show_live : show_line, l };
    return w;
}

bool pl_request_check_links(const pl_host_args *a, int n_ranks, pl_err *err)
{
    return n_ranks > 1 || !a->link_rate ||
           pl_err_set(err, PL_EUSAGE,
                      "--link-rate has no effect on one device, which gets nothing from others: "
                      "give --devices N");
}

void pl_request_tell_host(const char *dir, double rate, bool hosted, bool tables)
{
    if (dir && !hosted && !tables)
        fprintf(stderr, "note: --host-dir has no effect: nothing lies in the host's memory\n");
    if (rate > 0 && !hosted)
        fprintf(stderr, "note: --host-rate has no effect: nothing is offloaded\n");
}

void pl_request_tell_evict(const pl_plan_request *r, const pl_found *found)
{
    if (r->evict && !found->tight)
        fprintf(stderr, "note: --evict %s has no effect: the plan fits in memory as it is\n",
                r->evict);
}

bool pl_request_make(const pl_request_args *a, pl_arena *arena, pl_plan_request *out, pl_err *err)
{
    *out = (pl_plan_request){ .search = { .memory = (double)a->memory,
                                          .tied = a->effort == 1,
                                          .pipelines = a->effort == 3,
                                          .axes = (int)a->axes,
                                          .seconds = a->seconds,
                                          .watch = pl_request_watch(arena) },
                              .lower = { .bucket_bytes = a->bucket,
                                         .ahead_bytes = a->ahead == PL_LOWER_AHEAD ? 0
                                                        : a->ahead                 ? a->ahead
                                                                                   : -1,
                                         .step_bytes = a->gather_steps },
                              .evict = a->evict };
    const pl_evict_policy *policy;
    if (a->evict) PL_TRY(pl_evict_policy_find(a->evict, &policy, err));
    return !a->search || pl_planner_find(a->search, &out->search.method, err);
}
