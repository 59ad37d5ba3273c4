/* The saved set of PyTorch's partitioner under a memory budget (torch/_functorch/partitioners.py
 * and _activation_checkpointing/knapsack.py: 0/1 knapsack on what may be made again, its seconds
 * being the worth), on the storages present at the step with the most of them. torch takes the
 * budget as a share of their bytes and looks at no peak; here the share is the largest, by
 * halving, whose schedule fits. */
#include "policies/knapsack.h"

#include "evict/emit.h"
#include "policies/policy.h"

enum { MOST_PAIRS = 100000, HALVINGS = 30 };

typedef struct pair {
    int64_t weight;
    double worth;
    int before, thing; /* pair that it came from; what was added, -1: none */
} pair;

typedef struct pairs {
    pair *at;
    int n, cap;
} pairs;

/* All pairs of things 0 .. n-1 that no other beats, weights in units; they form a tree in `pool`,
 * of which `front` [returned count] holds the undominated, rising. -1: more than MOST_PAIRS. */
static int list_front(int n, const int64_t weight[], const double worth[], int64_t unit,
                      int64_t capacity, pairs *pool, int **front, pl_arena *tmp)
{
    int *now = PL_NEW_N(tmp, int, MOST_PAIRS + 1), *next = PL_NEW_N(tmp, int, MOST_PAIRS + 1);
    int n_now = 1;
    pair none = { .before = -1, .thing = -1 };
    PL_PUSH(tmp, pool, none);
    for (int thing = 0; thing < n; thing++) {
        int64_t w = (weight[thing] + unit - 1) / unit;
        int a = 0, b = 0, m = 0;
        while (a < n_now || b < n_now) {
            pair add = b < n_now ? pool->at[now[b]] : none;
            add =
                (pair){ add.weight + w, add.worth + worth[thing], b < n_now ? now[b] : -1, thing };
            bool old =
                a < n_now &&
                (b >= n_now || pool->at[now[a]].weight < add.weight ||
                 (pool->at[now[a]].weight == add.weight && pool->at[now[a]].worth >= add.worth));
            pair chosen = old ? pool->at[now[a]] : add;
            bool better = (m == 0 || chosen.worth > pool->at[next[m - 1]].worth) &&
                          chosen.weight <= capacity / unit;
            if (better && m == MOST_PAIRS) return -1;
            if (better && !old) PL_PUSH(tmp, pool, chosen);
            if (better) next[m++] = old ? now[a] : pool->n - 1;
            a += old;
            b += !old;
        }
        int *swap = now;
        now = next;
        next = swap;
        n_now = m;
    }
    *front = now;
    return n_now;
}

void pl_evict_knapsack_take(int n, const int64_t weight[], const double worth[], int64_t capacity,
                            bool taken[])
{
    int64_t unit = 1;
    for (bool done = false; !done; unit = unit * 16) {
        pl_arena *tmp = pl_arena_new("knapsack");
        pairs pool = { 0 };
        int *front, n_front = list_front(n, weight, worth, unit, capacity, &pool, &front, tmp);
        done = n_front >= 0;
        for (int k = 0; k < n; k++) taken[k] = false;
        for (int at = n_front > 0 ? front[n_front - 1] : -1; at >= 0; at = pool.at[at].before)
            if (pool.at[at].thing >= 0) taken[pool.at[at].thing] = true;
        pl_arena_free(tmp);
    }
}

/* Things to choose from, by item; their number. `step`: where most bytes are present. */
static int list_things(const pl_evict_retain *r, int *step, int item[])
{
    const pl_evict_items *x = r->items;
    int n = 0;
    (void)pl_evict_retain_peak(r, step);
    for (int i = 0; i < x->n_item; i++) {
        if (!r->tracked[i] || !x->item[i].again) continue;
        int k = pl_evict_retain_find(r, i, *step);
        if (k > 0 && k < r->uses[i].n && r->uses[i].at[k].stage != *step) item[n++] = i;
    }
    return n;
}

/* Keeps what fits the capacity; the rest is made again when it is read after the step. */
static void keep_some(pl_evict_retain *r, int64_t capacity, bool kept[], pl_arena *tmp)
{
    const pl_evict_items *x = r->items;
    int step, *item = PL_NEW_N(tmp, int, x->n_item), n = list_things(r, &step, item);
    int64_t *weight = PL_NEW_N(tmp, int64_t, n);
    double *worth = PL_NEW_N(tmp, double, n);
    bool *taken = PL_NEW_N(tmp, bool, n);
    for (int k = 0; k < n; k++) {
        weight[k] = x->item[item[k]].bytes;
        worth[k] = x->item[item[k]].again_seconds;
    }
    pl_evict_knapsack_take(n, weight, worth, capacity, taken);
    for (int i = 0; i < x->n_item; i++) kept[i] = true;
    for (int k = n - 1; k >= 0; k--) {
        kept[item[k]] = taken[k];
        if (!taken[k])
            (void)pl_evict_retain_change(r, item[k], pl_evict_retain_find(r, item[k], step),
                                         PL_RETAIN_AGAIN, 0, 0);
    }
    pl_evict_retain_accept(r);
}

void pl_evict_knapsack_keep(const pl_evict_items *items, int64_t capacity, bool kept[])
{
    pl_arena *tmp = pl_arena_new("knapsack keep");
    keep_some(pl_evict_retain_new(items, INT64_MAX / 4, tmp), capacity, kept, tmp);
    pl_arena_free(tmp);
}

bool pl_evict_policy_knapsack(const pl_evict_policy_ask *ask, pl_arena *out,
                              pl_evict_schedule *schedule, pl_err *err)
{
    const pl_evict_items *x = ask->items;
    pl_arena *tmp = ask->tmp;
    pl_evict_retain *r = pl_evict_retain_new(x, ask->options->budget, tmp);
    const pl_evict_retain_saved *start = pl_evict_retain_save(r, tmp);
    pl_evict_play *y = pl_evict_play_new(x, tmp);
    bool *kept = PL_NEW_N(tmp, bool, x->n_item), found = false;
    int64_t low = 0, high = pl_evict_retain_peak(r, NULL);
    for (int k = 0; k < HALVINGS && low <= high; k++) {
        int64_t mid = k == 0 ? high : low + (high - low) / 2;
        pl_evict_retain_load(r, start);
        keep_some(r, mid, kept, tmp);
        if (r->n_over == 0) {
            pl_evict_emit_all(r, y);
            found = true;
            low = mid + 1;
        } else {
            high = mid - 1;
        }
    }
    if (found) pl_evict_play_end(y, out, schedule);
    return found || pl_evict_policy_refuse(ask, err);
}
