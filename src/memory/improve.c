#include "memory/improve.h"

#include <stdlib.h>
#include <string.h>

#include "memory/downset.h"
#include "memory/forced.h"
#include "memory/hills.h"
#include "memory/lescea.h"
#include "memory/mincut.h"
#include "memory/precede.h"
#include "memory/repair.h"

/* Exact search: the tasks it is tried with before and after the heuristics, the sets it may keep.
 */
enum { SMALL = 64, MEDIUM = 400, STATES_SMALL = 100000, STATES_MEDIUM = 60000 };
/* The search for a target peak ends when it is known to one part in PRECISION. */
enum { PRECISION = 4000 };
/* Of the effort that is left, min-cut bounds may use one part in CUT_SHARE, and those that deduce
 * precedences one in PRECEDE_SHARE, at the PRECEDE_TASKS busiest steps of the best order. */
enum { CUT_SHARE = 6, PRECEDE_SHARE = 2, PRECEDE_TASKS = 16 };

typedef struct work {
    pl_improve *piece;
    unsigned without;
    int64_t *effort;
    pl_arena *a;
    int64_t *forced;    /* [n] lower bound on what is live during each task */
    bool *cut;          /* [n] forced[t] is the min-cut bound               */
    int *trial;         /* [n]                                              */
    int *place[2];      /* [n] step in the order to follow: forward, back   */
    pl_hills *hills[2]; /* forward and backward in time                     */
} work;

static bool may(const work *w, unsigned technique)
{
    return !(w->without & technique);
}

static int64_t floor_of(const work *w)
{
    return w->piece->bound > w->piece->goal ? w->piece->bound : w->piece->goal;
}

static bool is_done(const work *w)
{
    return w->piece->peak <= floor_of(w) || *w->effort <= 0;
}

/* Keep a better order. */
static bool keep(work *w, const int order[], int64_t peak)
{
    if (peak >= w->piece->peak) return false;
    w->piece->peak = peak;
    memcpy(w->piece->order, order, (size_t)w->piece->x->n * sizeof *order);
    return true;
}

static void try_lescea(work *w)
{
    pl_lescea_order(w->piece->x, w->trial);
    keep(w, w->trial, pl_index_live(w->piece->x, w->trial, NULL, NULL));
    *w->effort -= w->piece->x->n;
}

static void try_exact(work *w, int states)
{
    pl_improve *p = w->piece;
    pl_downset_limits limits = { floor_of(w), p->peak, states, may(w, PL_SCHEDULE_NO_DOMINANCE) };
    memcpy(w->trial, p->order, (size_t)p->x->n * sizeof *w->trial);
    int64_t bound;
    if (pl_downset_find(p->x, &limits, w->trial, &bound, w->effort)) keep(w, w->trial, bound);
    /* What the search ruled out lies below `bound`; at the floor it has ruled out nothing. */
    if (bound > limits.floor) p->bound = bound;
}

static void turn(int order[], int n)
{
    for (int i = 0; i < n / 2; i++) {
        int t = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = t;
    }
}

/* Break ties by the best order. */
static void follow_best(work *w)
{
    const pl_improve *p = w->piece;
    for (int i = 0; i < p->x->n; i++) {
        w->place[0][p->order[i]] = i;
        w->place[1][p->order[i]] = p->x->n - 1 - i;
    }
}

static void try_hills(work *w, int64_t target, int side, pl_hills_rule rule)
{
    const pl_improve *p = w->piece;
    int64_t peak;
    if (!pl_hills_run(w->hills[side], target, p->peak, rule, w->place[side], w->trial, &peak,
                      w->effort))
        return;
    if (side == 1) turn(w->trial, p->x->n);
    keep(w, w->trial, pl_index_live(p->x, w->trial, NULL, NULL));
}

/* All rules in both directions under one target. */
static void try_target(work *w, int64_t target)
{
    for (int rule = 0; rule < PL_HILLS_RULES; rule++)
        for (int side = 0; side < 2; side++) {
            if (side == 1 && !may(w, PL_SCHEDULE_NO_REVERSE)) continue;
            if (w->piece->peak <= target || is_done(w)) return;
            try_hills(w, target, side, (pl_hills_rule)rule);
        }
}

/* Halve the gap between what was reached and what was tried in vain. */
static void try_targets(work *w)
{
    int64_t low = floor_of(w);
    while (!is_done(w) && w->piece->peak - low > 1 + low / PRECISION) {
        int64_t target = low + (w->piece->peak - low) / 2;
        try_target(w, target);
        if (w->piece->peak > target) low = target;
    }
}

typedef struct ranked {
    int64_t key;
    int task;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static void cut_task(work *w, int task, int64_t *effort)
{
    if (w->cut[task] || *effort <= 0) return;
    w->cut[task] = true;
    int64_t live = pl_mincut_live(w->piece->x, task, 0, NULL, NULL, effort);
    if (live > w->piece->bound) w->piece->bound = live;
}

/* Min-cut bounds where they may matter: at the steps at the peak of the best order, then where most
 * is forced to be live. */
static void try_cuts(work *w)
{
    const pl_improve *p = w->piece;
    int n = p->x->n;
    int64_t share = *w->effort / CUT_SHARE, left = share;
    int64_t *live = PL_NEW_N(w->a, int64_t, n);
    ranked *by = PL_NEW_N(w->a, ranked, n);
    pl_index_live(p->x, p->order, live, NULL);
    for (int i = 0, some = 0; i < n && some < 8; i++) {
        if (live[i] < p->peak) continue;
        some++;
        cut_task(w, p->order[i], &left);
    }
    for (int t = 0; t < n; t++) by[t] = (ranked){ w->forced[t], t };
    qsort(by, (size_t)n, sizeof *by, compare);
    for (int i = 0; i < n && left > 0 && p->peak > floor_of(w); i++) cut_task(w, by[i].task, &left);
    *w->effort -= share - left;
}

/* Bounds for orders better than the best known, at the steps where most is live in it. */
static void try_precede(work *w)
{
    pl_improve *p = w->piece;
    int n = p->x->n;
    int64_t share = *w->effort / PRECEDE_SHARE, left = share;
    int64_t *live = PL_NEW_N(w->a, int64_t, n);
    ranked *by = PL_NEW_N(w->a, ranked, n);
    pl_index_live(p->x, p->order, live, NULL);
    for (int i = 0; i < n; i++) by[i] = (ranked){ live[i], p->order[i] };
    qsort(by, (size_t)n, sizeof *by, compare);
    const pl_index *back = pl_index_reverse(p->x, w->a);
    for (int k = 0; k < 2 * n && k < 2 * PRECEDE_TASKS && left > 0 && p->peak > floor_of(w); k++) {
        const pl_index *x = k % 2 == 0 ? p->x : back; /* what must wait, what must not */
        int64_t bound = pl_precede_bound(x, by[k / 2].task, p->peak, &left);
        if (bound > p->bound) p->bound = bound;
    }
    *w->effort -= share - left;
}

static void begin(work *w)
{
    pl_improve *p = w->piece;
    int n = p->x->n;
    w->forced = PL_NEW_N(w->a, int64_t, n);
    w->cut = PL_NEW_N(w->a, bool, n);
    w->trial = PL_NEW_N(w->a, int, n);
    p->peak = pl_index_live(p->x, p->order, NULL, NULL);
    p->bound = pl_forced_live(p->x, p->order, w->forced);
}

static void start_hills(work *w)
{
    const pl_index *x = w->piece->x;
    for (int side = 0; side < 2; side++) {
        w->place[side] = PL_NEW_N(w->a, int, x->n);
        w->hills[side] = pl_hills_new(side == 0 ? x : pl_index_reverse(x, w->a), w->a);
    }
    follow_best(w);
}

static void try_repair(work *w)
{
    pl_improve *p = w->piece;
    p->peak =
        pl_repair_order(p->x, p->order, floor_of(w), may(w, PL_SCHEDULE_NO_DOMINANCE), w->effort);
}

/* Heuristics, from cheap to dear, as long as each round helps. */
static void improve(work *w)
{
    bool hills = may(w, PL_SCHEDULE_NO_HILLS);
    if (hills) {
        start_hills(w);
        try_target(w, floor_of(w));
    }
    if (!is_done(w) && may(w, PL_SCHEDULE_NO_CUT)) try_cuts(w);
    for (int64_t before = INT64_MAX; !is_done(w) && w->piece->peak < before;) {
        before = w->piece->peak;
        if (hills) try_targets(w);
        if (hills) follow_best(w);
        if (!is_done(w) && may(w, PL_SCHEDULE_NO_REPAIR)) try_repair(w);
    }
    if (!is_done(w) && may(w, PL_SCHEDULE_NO_CUT)) try_precede(w);
}

static void solve(work *w)
{
    bool exact = may(w, PL_SCHEDULE_NO_EXACT);
    int n = w->piece->x->n;
    begin(w);
    if (!is_done(w)) try_lescea(w);
    if (!is_done(w) && exact && n <= SMALL) try_exact(w, STATES_SMALL);
    if (!is_done(w)) improve(w);
    if (!is_done(w) && exact && n <= MEDIUM) try_exact(w, STATES_MEDIUM);
}

void pl_improve_run(pl_improve *piece, unsigned without, int64_t *effort)
{
    pl_arena *tmp = pl_arena_new("piece of a schedule");
    work w = { .piece = piece, .without = without, .effort = effort, .a = tmp };
    if (piece->x->n > 0) solve(&w);
    pl_arena_free(tmp);
}
