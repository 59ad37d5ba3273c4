/* The planner. Read pl_schedule_find() and plan(): idle tasks are left out, key points cut the
 * rest into segments (find_segments), and those that matter are improved one by one, equal ones
 * once (solve_segments). */
#include "order/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "order/forced.h"
#include "order/idle.h"
#include "order/index.h"
#include "order/lescea.h"
#include "order/improve.h"
#include "order/segment.h"

/* Some seconds of search at worst; most problems end far earlier, at their bound. */
enum { DEFAULT_EFFORT = 20000000, DEFAULT_EFFORT_PER_TASK = 1000 };

/* The steps lo .. hi-1 of every order: the tasks between two key points. */
typedef struct segment {
    int lo, hi;
    int64_t peak;      /* of the given order */
    const pl_index *x; /* task k is that of step lo + k of the given order */
    uint64_t hash;
    int *order;                /* the best order of the segment, in its own numbers */
    int64_t best, bound, goal; /* its peak and bound; what it was solved for  */
    bool solved;
} segment;

typedef struct planner {
    const pl_index *x;
    const pl_schedule_options *options;
    pl_arena *a;
    pl_schedule *out;
    int *order;          /* [n] the best so far                                 */
    int64_t *live, *gap; /* [n] of the given order: during each step, before it */
    segment *segments;
    int n;
    int64_t effort; /* left */
} planner;

static void find_segments(planner *p)
{
    const pl_index *x = p->x;
    bool *key = PL_NEW_N(p->a, bool, x->n);
    if (!(p->options->without & PL_SCHEDULE_NO_SEGMENTS)) pl_segment_find(x, p->order, key);
    p->segments = PL_NEW_N(p->a, segment, x->n);
    for (int i = 0; i < x->n; i++) {
        if (key[i]) continue;
        if (i == 0 || key[i - 1]) p->segments[p->n++] = (segment){ .lo = i, .hi = i };
        segment *s = &p->segments[p->n - 1];
        s->hi = i + 1;
        s->peak = p->live[i] > s->peak ? p->live[i] : s->peak;
    }
}

static int compare_peaks(const void *a, const void *b)
{
    const segment *x = a, *y = b;
    if (x->peak != y->peak) return x->peak > y->peak ? -1 : 1;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* A solved segment of the same tasks and tensors that was solved for as low a peak, or NULL. What
 * is live throughout may differ: it moves peak, bound and goal alike. */
static const segment *find_equal(const planner *p, const segment *s)
{
    if (p->options->without & PL_SCHEDULE_NO_REUSE) return NULL;
    for (const segment *t = p->segments; t < s; t++) {
        if (!t->solved || t->hash != s->hash || !pl_index_equal(t->x, s->x)) continue;
        if (t->best == t->bound || t->goal - t->x->base <= s->goal - s->x->base) return t;
    }
    return NULL;
}

static void copy_solution(segment *s, const segment *equal)
{
    int64_t shift = s->x->base - equal->x->base;
    memcpy(s->order, equal->order, (size_t)s->x->n * sizeof *s->order);
    s->best = equal->best + shift;
    s->bound = equal->bound + shift;
}

static void solve_segment(planner *p, segment *s, int tasks_left)
{
    int n = s->hi - s->lo;
    int64_t share = (int64_t)((double)p->effort * n / tasks_left), left = share;
    s->order = PL_NEW_N(p->a, int, n);
    for (int k = 0; k < n; k++) s->order[k] = k;
    s->goal = p->out->bound;
    s->hash = pl_index_hash(s->x);
    s->solved = true;
    const segment *equal = find_equal(p, s);
    if (equal) {
        copy_solution(s, equal);
        p->out->n_reused++;
        return;
    }
    pl_improve piece = { .x = s->x, .order = s->order, .goal = s->goal };
    pl_improve_run(&piece, p->options->without, &left);
    p->effort -= share - left;
    s->best = piece.peak;
    s->bound = piece.bound;
}

static void write_segment(planner *p, const segment *s)
{
    int n = s->hi - s->lo, *list = PL_NEW_N(p->a, int, n);
    memcpy(list, p->order + s->lo, (size_t)n * sizeof *list);
    for (int k = 0; k < n; k++) p->order[s->lo + k] = list[s->order[k]];
}

/* Only segments whose peak exceeds the bound of the whole can matter; the highest go first, since
 * their bounds raise that of the whole. */
static void solve_segments(planner *p)
{
    const pl_index *x = p->x;
    bool *ran = PL_NEW_N(p->a, bool, x->n);
    int tasks_left = 0;
    for (int i = 0; i < p->n; i++) tasks_left += p->segments[i].hi - p->segments[i].lo;
    qsort(p->segments, (size_t)p->n, sizeof *p->segments, compare_peaks);
    for (int i = 0; i < p->n && p->segments[i].peak > p->out->bound; i++) {
        segment *s = &p->segments[i];
        for (int k = 0; k < x->n; k++) ran[p->order[k]] = k < s->lo;
        s->x = pl_index_part(x, s->hi - s->lo, p->order + s->lo, ran, p->gap[s->lo], p->a);
        solve_segment(p, s, tasks_left);
        tasks_left -= s->hi - s->lo;
        write_segment(p, s);
        p->out->bound = s->bound > p->out->bound ? s->bound : p->out->bound;
    }
}

static void solve(planner *p)
{
    p->live = PL_NEW_N(p->a, int64_t, p->x->n);
    p->gap = PL_NEW_N(p->a, int64_t, p->x->n);
    pl_index_live(p->x, p->order, p->live, p->gap);
    find_segments(p);
    solve_segments(p);
}

/* The problem without idle tasks, and its answer with them. */
static void solve_busy(planner *p)
{
    const pl_index *x = p->x;
    int *kept = PL_NEW_N(p->a, int, x->n);
    planner less = *p;
    less.x = pl_idle_drop(x, p->order, kept, p->a);
    less.order = PL_NEW_N(p->a, int, x->n);
    for (int k = 0; k < less.x->n; k++) less.order[k] = k;
    if (less.x->n > 0) solve(&less);
    pl_idle_insert(x, less.x->n, kept, less.order, p->order);
    p->n = less.n;
    p->effort = less.effort;
}

static void plan(planner *p)
{
    const pl_index *x = p->x;
    int64_t *forced = PL_NEW_N(p->a, int64_t, x->n), start = p->effort;
    p->out->bound = pl_forced_live(x, p->order, forced);
    p->out->given = pl_index_live(x, p->order, NULL, NULL);
    if (p->options->method == PL_SCHEDULE_LESCEA) pl_lescea_order(x, p->order);
    if (p->options->method == PL_SCHEDULE_PLEAT) {
        if (p->options->without & PL_SCHEDULE_NO_IDLE)
            solve(p);
        else
            solve_busy(p);
    }
    p->out->n_segments = p->n;
    p->out->peak = pl_index_live(x, p->order, NULL, NULL);
    p->out->effort = start - p->effort;
}

static bool check_given(const pl_index *index, const int given[], pl_arena *tmp, pl_err *err)
{
    int *step = PL_NEW_N(tmp, int, index->n);
    for (int i = 0; i < index->n; i++) {
        int t = given[i];
        if (t < 0 || t >= index->n || step[t])
            return pl_err_set(
                err, PL_EINPUT,
                "the given order has task %d at step %d: there are %d tasks, each once", t, i,
                index->n);
        step[t] = i + 1;
        for (int e = index->pred_at[t]; e < index->pred_at[t + 1]; e++)
            if (!step[index->pred[e]])
                return pl_err_set(
                    err, PL_EINPUT,
                    "the given order runs task %d at step %d, before task %d, which it "
                    "must follow",
                    t, i, index->pred[e]);
    }
    return true;
}

static bool find(const pl_schedule_problem *problem, planner *p, pl_err *err)
{
    p->x = pl_index_make(problem, p->a);
    p->order = p->out->order;
    if (!p->options->given) {
        PL_ASSERT(pl_index_order(p->x, p->out->order));
    } else {
        PL_TRY(check_given(p->x, p->options->given, p->a, err));
        memcpy(p->out->order, p->options->given, (size_t)problem->n * sizeof *p->out->order);
    }
    if (problem->n > 0) plan(p);
    p->out->optimal = p->out->peak == p->out->bound;
    return true;
}

bool pl_schedule_find(const pl_schedule_problem *problem, const pl_schedule_options *options,
                      pl_arena *out, pl_schedule *schedule, pl_err *err)
{
    PL_TRY(pl_schedule_validate(problem, err));
    *schedule = (pl_schedule){ .order = PL_NEW_N(out, int, problem->n) };
    pl_arena *tmp = pl_arena_new("schedule");
    planner q = { .options = options, .a = tmp, .out = schedule };
    q.effort = options->effort;
    if (q.effort <= 0) q.effort = DEFAULT_EFFORT + (int64_t)DEFAULT_EFFORT_PER_TASK * problem->n;
    bool ok = find(problem, &q, err);
    pl_arena_free(tmp);
    return ok;
}
