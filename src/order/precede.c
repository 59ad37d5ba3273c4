/* A bound by deduction. Read deduce(): the minimum cut at the task shows which tasks it would
 * run early; those that would reach the known peak there must come later; cut again. */
#include "order/precede.h"

#include "order/mincut.h"

/* Tasks tried in one round, rounds, and tasks found to come later. */
enum { TRIES = 10, ROUNDS = 24, MOST = TRIES * ROUNDS + 1 };

typedef struct deduction {
    const pl_index *x;
    int task;
    int64_t peak, *effort;
    int later[MOST + 1], n; /* later[0] is the task itself */
    int64_t *working;       /* [n] bytes that a task touches */
    bool *ran, *tried;      /* [n] before the task in its least cut; tested already */
} deduction;

/* The task of largest working set that the cut runs early without need and that was not tried, or
 * -1. */
static int choose(const deduction *d)
{
    int best = -1;
    for (int t = 0; t < d->x->n; t++)
        if (d->ran[t] && !d->tried[t] && (best < 0 || d->working[t] > d->working[best])) best = t;
    return best;
}

/* Whether every order below the peak runs u after the task; what is known to come later than the
 * task comes later than a u before it. */
static bool must_wait(deduction *d, int u)
{
    d->tried[u] = true;
    return pl_mincut_live(d->x, u, d->n, d->later, NULL, d->effort) >= d->peak;
}

static int64_t deduce(deduction *d)
{
    int64_t bound = 0;
    for (int round = 0; round<ROUNDS && * d->effort> 0; round++) {
        int64_t live = pl_mincut_live(d->x, d->task, d->n - 1, d->later + 1, d->ran, d->effort);
        bound = live > bound ? live : bound;
        if (bound >= d->peak || *d->effort <= 0) break;
        int found[TRIES], n_found = 0;
        for (int i = 0; i<TRIES && * d->effort> 0; i++) {
            int u = choose(d);
            if (u >= 0 && must_wait(d, u)) found[n_found++] = u;
        }
        if (n_found == 0) break;
        for (int i = 0; i < n_found; i++) d->later[d->n++] = found[i];
    }
    return bound < d->peak ? bound : d->peak;
}

int64_t pl_precede_bound(const pl_index *index, int task, int64_t peak, int64_t *effort)
{
    pl_arena *tmp = pl_arena_new("precedences");
    deduction d = {
        .x = index, .task = task, .peak = peak, .effort = effort, .later = { task }, .n = 1
    };
    d.working = PL_NEW_N(tmp, int64_t, index->n);
    d.ran = PL_NEW_N(tmp, bool, index->n);
    d.tried = PL_NEW_N(tmp, bool, index->n);
    for (int t = 0; t < index->n; t++)
        for (int k = index->use_at[t]; k < index->use_at[t + 1]; k++)
            d.working[t] += index->bytes[index->use[k]];
    int64_t bound = deduce(&d);
    pl_arena_free(tmp);
    return bound;
}
