/* A problem without its idle tasks: pl_idle_drop() joins the edges that ran through them,
 * pl_idle_insert() puts them back into an order. */
#include "order/idle.h"

/* The kept tasks that must precede each task, directly or through idle ones. */
typedef struct drop {
    const pl_index *x;
    pl_arena *a;
    int *number;       /* [n] in the reduced problem, or -1        */
    int *from, *count; /* [n] the task's part of `list`            */
    struct {
        int *at;
        int n, cap;
    } list;
} drop;

static void add_kept(drop *d, int task)
{
    const pl_index *x = d->x;
    d->from[task] = d->list.n;
    for (int e = x->pred_at[task]; e < x->pred_at[task + 1]; e++) {
        int p = x->pred[e];
        if (d->number[p] >= 0) {
            PL_PUSH(d->a, &d->list, d->number[p]);
            continue;
        }
        for (int k = 0; k < d->count[p]; k++) {
            int q = d->list.at[d->from[p] + k];
            PL_PUSH(d->a, &d->list, q);
        }
    }
    d->count[task] = d->list.n - d->from[task];
}

static pl_index *make(const drop *d, int n, const int kept[], pl_arena *tmp, pl_arena *arena)
{
    const pl_index *x = d->x;
    int *edge_at = PL_NEW_N(tmp, int, n + 2), *edge = PL_NEW_N(tmp, int, d->list.n);
    int *touch = PL_NEW_N(tmp, int, x->user_at[x->m]);
    uint8_t *ends = PL_NEW_N(tmp, uint8_t, x->m);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < d->count[kept[k]]; i++) edge_at[d->list.at[d->from[kept[k]] + i] + 2]++;
    for (int k = 0; k < n; k++) edge_at[k + 2] += edge_at[k + 1];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < d->count[kept[k]]; i++)
            edge[edge_at[d->list.at[d->from[kept[k]] + i] + 1]++] = k;
    for (int t = 0; t < x->m; t++)
        ends[t] = (uint8_t)((x->start[t] ? PL_SCHEDULE_FROM_START : 0) |
                            (x->end[t] ? PL_SCHEDULE_TO_END : 0));
    for (int u = 0; u < x->user_at[x->m]; u++) touch[u] = d->number[x->user[u]];
    pl_schedule_problem p = { n, edge_at, edge, x->m, x->bytes, ends, x->user_at, touch };
    pl_index *y = pl_index_make(&p, arena);
    y->base = x->base;
    return y;
}

pl_index *pl_idle_drop(const pl_index *index, const int order[], int kept[], pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("idle tasks");
    drop d = { .x = index, .a = tmp };
    int n = 0;
    d.number = PL_NEW_N(tmp, int, index->n);
    d.from = PL_NEW_N(tmp, int, index->n);
    d.count = PL_NEW_N(tmp, int, index->n);
    for (int i = 0; i < index->n; i++) {
        int t = order[i];
        add_kept(&d, t);
        int64_t before = d.count[t], after = index->succ_at[t + 1] - index->succ_at[t];
        bool idle = index->use_at[t] == index->use_at[t + 1] && before * after <= before + after;
        d.number[t] = idle ? -1 : n;
        if (!idle) kept[n++] = t;
    }
    pl_index *y = make(&d, n, kept, tmp, arena);
    pl_arena_free(tmp);
    return y;
}

void pl_idle_insert(const pl_index *index, int n_kept, const int kept[], const int less[],
                    int order[])
{
    pl_arena *tmp = pl_arena_new("idle tasks");
    int *place = PL_NEW_N(tmp, int, index->n), *start = PL_NEW_N(tmp, int, n_kept + 2);
    int *topo = PL_NEW_N(tmp, int, index->n);
    bool *is_kept = PL_NEW_N(tmp, bool, index->n);
    PL_ASSERT(pl_index_order(index, topo));
    for (int t = 0; t < index->n; t++) place[t] = n_kept;
    for (int i = 0; i < n_kept; i++) {
        place[kept[less[i]]] = i;
        is_kept[kept[less[i]]] = true;
    }
    for (int i = index->n - 1; i >= 0; i--) {
        int t = topo[i];
        for (int e = index->succ_at[t]; !is_kept[t] && e < index->succ_at[t + 1]; e++)
            if (place[index->succ[e]] < place[t]) place[t] = place[index->succ[e]];
    }
    for (int t = 0; t < index->n; t++) start[place[t] + 1]++;
    for (int i = 0; i <= n_kept; i++) start[i + 1] += start[i];
    for (int i = 0; i < n_kept; i++) order[start[i + 1] - 1] = kept[less[i]];
    for (int i = 0; i < index->n; i++)
        if (!is_kept[topo[i]]) order[start[place[topo[i]]]++] = topo[i];
    pl_arena_free(tmp);
}
