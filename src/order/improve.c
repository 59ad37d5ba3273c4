/* All methods on one problem. Read solve() near the end: passes over cheap and dear methods
 * (improve), each lent a slice of the effort, as long as a pass helps. The try_...() are the
 * methods. */
#include "order/improve.h"

#include <stdlib.h>
#include <string.h>

#include "order/downset.h"
#include "order/forced.h"
#include "order/hills.h"
#include "order/lescea.h"
#include "order/mincut.h"
#include "order/precede.h"
#include "order/repair.h"

/* Exact search: the tasks it is tried with before the passes and in them, the sets it may keep. */
enum { SMALL = 64, MEDIUM = 400, STATES_SMALL = 100000, STATES_MEDIUM = 60000 };
/* The search for a target peak ends when it is known to one part in PRECISION. */
enum { PRECISION = 4000 };
/* A gap of one part in WORTH is not worth a pass. */
enum { WORTH = 100000 };
/* Precedences are deduced at this many of the busiest steps of the best order. */
enum { PRECEDE_TASKS = 16 };
/* Passes over all techniques: what one call may use in the first, moves per task, and how many
 * times as much in the next. Costs differ by a factor of 1000 from problem to problem, so what is
 * cheap comes first whatever it is. */
enum { FIRST_SLICE = 64, SLICE_GROWTH = 4 };

/* One rule in one direction: with the present places, targets in [from, to) are known to give the
 * same order, and no use. */
typedef struct run {
    int64_t from, to;
    bool dear, done; /* wants more than the slice; has tried all targets */
} run;

typedef struct work {
    pl_improve *piece;
    unsigned without;
    int64_t *effort;
    pl_arena *a;
    bool *cut;          /* [n] the min-cut bound of the task is known       */
    int *trial;         /* [n]                                              */
    int *place[2];      /* [n] step in the order to follow: forward, back   */
    pl_hills *hills[2]; /* forward and backward in time                     */
    run run[2][PL_HILLS_RULES];
    const pl_index *back;
    int patience;            /* of hills                                                */
    int64_t slice, followed; /* of effort, now; the peak of the order to follow         */
    int64_t mended, deduced; /* the peaks for which repair and precedences did all      */
    bool starved, searched;  /* something was cut short; the exact search did all       */
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

/* What one call may use now, and the end of that call: false when it was cut short. */
static int64_t lend(const work *w)
{
    return w->slice < *w->effort ? w->slice : *w->effort;
}

static bool take_back(work *w, int64_t lent, int64_t left)
{
    *w->effort -= lent - left;
    if (left > 0) return true;
    w->starved = true;
    return false;
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
    const int64_t lent = lend(w);
    int64_t bound, left = lent;
    memcpy(w->trial, p->order, (size_t)p->x->n * sizeof *w->trial);
    if (pl_downset_find(p->x, &limits, w->trial, &bound, &left)) keep(w, w->trial, bound);
    /* What the search ruled out lies below `bound`; at the floor it has ruled out nothing. */
    if (bound > limits.floor) p->bound = bound;
    w->searched = take_back(w, lent, left);
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
    for (int side = 0; side < 2; side++) {
        if (w->hills[side]) continue;
        w->place[side] = PL_NEW_N(w->a, int, p->x->n);
        w->hills[side] = pl_hills_new(side == 0 ? p->x : w->back, w->patience, w->a);
    }
    if (w->followed == p->peak) return;
    w->followed = p->peak;
    for (int i = 0; i < p->x->n; i++) {
        w->place[0][p->order[i]] = i;
        w->place[1][p->order[i]] = p->x->n - 1 - i;
    }
    memset(w->run, 0, sizeof w->run);
}

static void try_hills(work *w, int64_t target, int side, pl_hills_rule rule)
{
    const pl_improve *p = w->piece;
    run *r = &w->run[side][rule];
    if (r->dear || r->done || (r->from <= target && target < r->to)) return;
    const int64_t lent = lend(w);
    int64_t left = lent;
    pl_hills_result result;
    const bool found = pl_hills_run(w->hills[side], target, p->peak, rule, w->place[side], w->trial,
                                    &result, &left);
    r->dear = !take_back(w, lent, left);
    if (r->dear) return;
    r->from = target;
    r->to = result.next;
    if (!found) return;
    if (side == 1) turn(w->trial, p->x->n);
    keep(w, w->trial, pl_index_live(p->x, w->trial, NULL, NULL));
}

/* All rules in one direction under one target. */
static void try_target(work *w, int64_t target, int side)
{
    for (int rule = 0; rule < PL_HILLS_RULES; rule++) {
        if (w->piece->peak <= target || is_done(w)) return;
        try_hills(w, target, side, (pl_hills_rule)rule);
    }
}

/* Halve the gap between what was reached and what was tried in vain. */
static void try_targets(work *w, int side)
{
    follow_best(w);
    int64_t low = floor_of(w);
    try_target(w, low, side);
    while (!is_done(w) && w->piece->peak - low > 1 + low / PRECISION) {
        int64_t target = low + (w->piece->peak - low) / 2;
        try_target(w, target, side);
        if (w->piece->peak > target) low = target;
    }
    for (int rule = 0; rule < PL_HILLS_RULES; rule++) {
        w->run[side][rule].done = !w->run[side][rule].dear;
        w->run[side][rule].dear = false;
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

/* The tasks during which the best order has more live than the floor, most first: no bound at any
 * other can be higher than that, since it holds for this order too. Returns how many. */
static int rank_tasks(work *w, ranked by[])
{
    const pl_improve *p = w->piece;
    pl_arena *tmp = pl_arena_new("busy tasks");
    int64_t *live = PL_NEW_N(tmp, int64_t, p->x->n);
    int n = 0;
    pl_index_live(p->x, p->order, live, NULL);
    for (int i = 0; i < p->x->n; i++)
        if (live[i] > floor_of(w)) by[n++] = (ranked){ live[i], p->order[i] };
    qsort(by, (size_t)n, sizeof *by, compare);
    pl_arena_free(tmp);
    return n;
}

/* Min-cut bounds where they may matter. */
static void try_cuts(work *w)
{
    pl_improve *p = w->piece;
    const int64_t lent = lend(w);
    int64_t left = lent;
    ranked *by = PL_NEW_N(w->a, ranked, p->x->n);
    const int n = rank_tasks(w, by);
    for (int i = 0; i < n && left > 0 && by[i].key > floor_of(w); i++) {
        const int task = by[i].task;
        if (w->cut[task]) continue;
        const int64_t live = pl_mincut_live(p->x, task, 0, NULL, NULL, &left);
        w->cut[task] = left > 0;
        if (live > p->bound) p->bound = live;
    }
    take_back(w, lent, left);
}

/* Bounds for orders better than the best known, at the steps where most is live in it: those that
 * can be expected to raise the floor. */
static void try_precede(work *w)
{
    pl_improve *p = w->piece;
    if (w->deduced == p->peak) return;
    const int64_t lent = lend(w);
    int64_t left = lent;
    ranked *by = PL_NEW_N(w->a, ranked, p->x->n);
    const int n = rank_tasks(w, by), most = n < PRECEDE_TASKS ? n : PRECEDE_TASKS;
    for (int k = 0; k < 2 * most && left > 0 && by[k / 2].key > floor_of(w); k++) {
        const pl_index *x = k % 2 == 0 ? p->x : w->back; /* what must wait, what must not */
        int64_t bound = pl_precede_bound(x, by[k / 2].task, p->peak, &left);
        if (bound > p->bound) p->bound = bound;
    }
    if (take_back(w, lent, left)) w->deduced = p->peak;
}

static void begin(work *w)
{
    pl_improve *p = w->piece;
    int n = p->x->n;
    w->cut = PL_NEW_N(w->a, bool, n);
    w->trial = PL_NEW_N(w->a, int, n);
    p->peak = pl_index_live(p->x, p->order, NULL, NULL);
    p->bound = pl_forced_live(p->x, p->order, PL_NEW_N(w->a, int64_t, n));
    w->back = pl_index_reverse(p->x, w->a);
}

static void try_repair(work *w)
{
    pl_improve *p = w->piece;
    if (w->mended == p->peak) return;
    const int64_t lent = lend(w);
    int64_t left = lent;
    p->peak = pl_repair_order(p->x, p->order, floor_of(w), may(w, PL_SCHEDULE_NO_DOMINANCE), &left);
    if (take_back(w, lent, left)) w->mended = p->peak;
}

/* A pass over all techniques. */
static void improve(work *w)
{
    const bool exact = may(w, PL_SCHEDULE_NO_EXACT) && w->piece->x->n <= MEDIUM;
    const bool cut = may(w, PL_SCHEDULE_NO_CUT), repair = may(w, PL_SCHEDULE_NO_REPAIR);
    if (repair) try_repair(w);
    if (!is_done(w) && cut) try_cuts(w);
    for (int side = 0; side < (may(w, PL_SCHEDULE_NO_REVERSE) ? 2 : 1); side++) {
        if (!is_done(w) && may(w, PL_SCHEDULE_NO_HILLS)) try_targets(w, side);
        if (!is_done(w) && repair && w->followed != w->piece->peak) try_repair(w);
    }
    if (!is_done(w) && cut) try_precede(w);
    if (!is_done(w) && exact && !w->searched) try_exact(w, STATES_MEDIUM);
}

/* What the brisk runs missed is looked for when there is nothing else to do. */
static bool grow_patient(work *w)
{
    if (w->patience == PL_HILLS_PATIENT) return false;
    w->patience = PL_HILLS_PATIENT;
    w->hills[0] = w->hills[1] = NULL;
    w->followed = -1;
    return true;
}

/* As long as a pass helps, or has not done all that it might, and the gap is worth it. */
static void solve(work *w)
{
    const pl_improve *p = w->piece;
    begin(w);
    if (!is_done(w)) try_lescea(w);
    w->slice = *w->effort;
    if (!is_done(w) && may(w, PL_SCHEDULE_NO_EXACT) && p->x->n <= SMALL) try_exact(w, STATES_SMALL);
    w->slice = (int64_t)FIRST_SLICE * p->x->n;
    w->patience = PL_HILLS_BRISK;
    for (int64_t before = INT64_MAX; !is_done(w); w->slice *= w->starved ? SLICE_GROWTH : 1) {
        if (p->peak - floor_of(w) <= p->peak / WORTH) break;
        if (p->peak == before && !w->starved && !grow_patient(w)) break;
        before = p->peak;
        w->starved = false;
        improve(w);
    }
}

void pl_improve_run(pl_improve *piece, unsigned without, int64_t *effort)
{
    pl_arena *tmp = pl_arena_new("piece of a schedule");
    work w = { .piece = piece, .without = without, .effort = effort, .a = tmp };
    if (piece->x->n > 0) solve(&w);
    pl_arena_free(tmp);
}
