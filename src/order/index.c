/* Makes the form that searches walk: of a problem, of a part of one, backward in time. Also what
 * is live along an order, and a first order. */
#include "order/index.h"

#include <string.h>

#include "base/hash.h"

/* The inverse of lists at[from] .. list: for each of n_to targets, who lists it, in rising order.
 */
static void invert(int n_from, const int at[], const int list[], int n_to, int **to_at, int **to,
                   pl_arena *arena)
{
    int *start = PL_NEW_N(arena, int, n_to + 2), *out = PL_NEW_N(arena, int, at[n_from]);
    for (int k = 0; k < at[n_from]; k++) start[list[k] + 2]++;
    for (int t = 0; t < n_to; t++) start[t + 2] += start[t + 1];
    for (int f = 0; f < n_from; f++)
        for (int k = at[f]; k < at[f + 1]; k++) out[start[list[k] + 1]++] = f;
    *to_at = start;
    *to = out;
}

static int *copy(const int *list, int n, pl_arena *a)
{
    int *out = PL_NEW_N(a, int, n);
    if (n > 0) memcpy(out, list, (size_t)n * sizeof *out);
    return out;
}

static bool has_life(const pl_schedule_problem *p, int t)
{
    return p->bytes[t] > 0 && p->touch_at[t] < p->touch_at[t + 1];
}

pl_index *pl_index_make(const pl_schedule_problem *problem, pl_arena *arena)
{
    pl_index *x = PL_NEW(arena, pl_index);
    x->n = problem->n;
    x->succ_at = copy(problem->edge_at, problem->n + 1, arena);
    x->succ = copy(problem->edge, problem->edge_at[problem->n], arena);
    invert(problem->n, x->succ_at, x->succ, problem->n, &x->pred_at, &x->pred, arena);
    x->bytes = PL_NEW_N(arena, int64_t, problem->n_tensor);
    x->start = PL_NEW_N(arena, bool, problem->n_tensor);
    x->end = PL_NEW_N(arena, bool, problem->n_tensor);
    x->user_at = PL_NEW_N(arena, int, problem->n_tensor + 1);
    x->user = PL_NEW_N(arena, int, problem->touch_at[problem->n_tensor]);
    for (int t = 0; t < problem->n_tensor; t++) {
        bool start = (problem->ends[t] & PL_SCHEDULE_FROM_START) != 0;
        bool end = (problem->ends[t] & PL_SCHEDULE_TO_END) != 0;
        if (start && end) x->base += problem->bytes[t];
        if ((start && end) || !has_life(problem, t)) continue;
        x->bytes[x->m] = problem->bytes[t];
        x->start[x->m] = start;
        x->end[x->m] = end;
        int at = x->user_at[x->m];
        for (int k = problem->touch_at[t]; k < problem->touch_at[t + 1]; k++)
            x->user[at++] = problem->touch[k];
        x->user_at[++x->m] = at;
    }
    invert(x->m, x->user_at, x->user, x->n, &x->use_at, &x->use, arena);
    return x;
}

pl_index *pl_index_reverse(const pl_index *index, pl_arena *arena)
{
    pl_index *reversed = PL_NEW(arena, pl_index);
    *reversed = *index;
    reversed->pred_at = index->succ_at;
    reversed->pred = index->succ;
    reversed->succ_at = index->pred_at;
    reversed->succ = index->pred;
    reversed->start = index->end;
    reversed->end = index->start;
    return reversed;
}

/* A problem under construction from a part of another. */
typedef struct part {
    const pl_index *x;
    const bool *before;
    int n;
    const int *list;
    int *local; /* [x->n] number within the part, or -1 */
    int64_t *bytes;
    uint8_t *ends;
    int *touch_at, *touch;
} part;

/* Tensor t as the part sees it: its users inside, and whether it reaches in from either side. */
static void add_tensor(part *q, pl_schedule_problem *problem, int t)
{
    const pl_index *x = q->x;
    int at = q->touch_at[problem->n_tensor];
    uint8_t ends = (uint8_t)((x->start[t] ? PL_SCHEDULE_FROM_START : 0) |
                             (x->end[t] ? PL_SCHEDULE_TO_END : 0));
    for (int k = x->user_at[t]; k < x->user_at[t + 1]; k++) {
        int u = x->user[k];
        if (q->local[u] >= 0)
            q->touch[at++] = q->local[u];
        else
            ends |= q->before[u] ? PL_SCHEDULE_FROM_START : PL_SCHEDULE_TO_END;
    }
    q->bytes[problem->n_tensor] = x->bytes[t];
    q->ends[problem->n_tensor] = ends;
    q->touch_at[++problem->n_tensor] = at;
}

static pl_index *make_part(part *q, int64_t live, pl_arena *tmp, pl_arena *arena)
{
    const pl_index *x = q->x;
    int n_edges = 0, n_uses = 0;
    for (int k = 0; k < q->n; k++) {
        n_edges += x->succ_at[q->list[k] + 1] - x->succ_at[q->list[k]];
        n_uses += x->use_at[q->list[k] + 1] - x->use_at[q->list[k]];
    }
    int *edge_at = PL_NEW_N(tmp, int, q->n + 1), *edge = PL_NEW_N(tmp, int, n_edges);
    bool *taken = PL_NEW_N(tmp, bool, x->m);
    q->bytes = PL_NEW_N(tmp, int64_t, n_uses);
    q->ends = PL_NEW_N(tmp, uint8_t, n_uses);
    q->touch_at = PL_NEW_N(tmp, int, n_uses + 1);
    q->touch = PL_NEW_N(tmp, int, n_uses);
    pl_schedule_problem p = { q->n, edge_at, edge, 0, q->bytes, q->ends, q->touch_at, q->touch };
    for (int k = 0, at = 0; k < q->n; k++) {
        int t = q->list[k];
        for (int e = x->succ_at[t]; e < x->succ_at[t + 1]; e++)
            if (q->local[x->succ[e]] >= 0) edge[at++] = q->local[x->succ[e]];
        edge_at[k + 1] = at;
        for (int u = x->use_at[t]; u < x->use_at[t + 1]; u++) {
            if (taken[x->use[u]]) continue;
            taken[x->use[u]] = true;
            add_tensor(q, &p, x->use[u]);
        }
    }
    pl_index *made = pl_index_make(&p, arena);
    for (int t = 0; t < made->m; t++)
        if (made->start[t]) live -= made->bytes[t];
    made->base = live;
    return made;
}

pl_index *pl_index_part(const pl_index *index, int n, const int list[], const bool before[],
                        int64_t live, pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("part of a schedule");
    part q = {
        .x = index, .before = before, .n = n, .list = list, .local = PL_NEW_N(tmp, int, index->n)
    };
    for (int t = 0; t < index->n; t++) q.local[t] = -1;
    for (int k = 0; k < n; k++) q.local[list[k]] = k;
    pl_index *made = make_part(&q, live, tmp, arena);
    pl_arena_free(tmp);
    return made;
}

static void add_lives(const pl_index *index, const int step[], int64_t born[], int64_t dead[])
{
    for (int t = 0; t < index->m; t++) {
        int first = index->n, last = -1;
        for (int k = index->user_at[t]; k < index->user_at[t + 1]; k++) {
            int i = step[index->user[k]];
            first = i < first ? i : first;
            last = i > last ? i : last;
        }
        if (!index->start[t]) born[first] += index->bytes[t];
        if (!index->end[t]) dead[last] += index->bytes[t];
    }
}

int64_t pl_index_live(const pl_index *index, const int order[], int64_t live[], int64_t before[])
{
    if (index->n == 0) return 0;
    pl_arena *tmp = pl_arena_new("bytes live");
    int *step = PL_NEW_N(tmp, int, index->n);
    int64_t *born = PL_NEW_N(tmp, int64_t, index->n), *dead = PL_NEW_N(tmp, int64_t, index->n);
    for (int i = 0; i < index->n; i++) step[order[i]] = i;
    add_lives(index, step, born, dead);
    int64_t now = index->base, peak = 0;
    for (int t = 0; t < index->m; t++) now += index->start[t] ? index->bytes[t] : 0;
    for (int i = 0; i < index->n; i++) {
        if (before) before[i] = now;
        now += born[i];
        if (live) live[i] = now;
        peak = now > peak ? now : peak;
        now -= dead[i];
    }
    pl_arena_free(tmp);
    return peak;
}

static void push_ready(int heap[], int *n, int t)
{
    int i = (*n)++;
    while (i > 0 && heap[(i - 1) / 2] > t) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = t;
}

static int pop_ready(int heap[], int *n)
{
    int top = heap[0], t = heap[--*n], i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= *n) break;
        if (child + 1 < *n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= t) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = t;
    return top;
}

bool pl_index_order(const pl_index *index, int order[])
{
    if (index->n == 0) return true;
    pl_arena *tmp = pl_arena_new("first order");
    int *wait = PL_NEW_N(tmp, int, index->n), *heap = PL_NEW_N(tmp, int, index->n), n_heap = 0,
        done = 0;
    for (int t = 0; t < index->n; t++) {
        wait[t] = index->pred_at[t + 1] - index->pred_at[t];
        if (wait[t] == 0) push_ready(heap, &n_heap, t);
    }
    while (n_heap > 0) {
        int t = order[done++] = pop_ready(heap, &n_heap);
        for (int e = index->succ_at[t]; e < index->succ_at[t + 1]; e++)
            if (--wait[index->succ[e]] == 0) push_ready(heap, &n_heap, index->succ[e]);
    }
    pl_arena_free(tmp);
    return done == index->n;
}

static bool same(const int *a, const int *b, int n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* All but the base. */
bool pl_index_equal(const pl_index *a, const pl_index *b)
{
    if (a->n != b->n || a->m != b->m || !same(a->succ_at, b->succ_at, a->n + 1) ||
        !same(a->succ, b->succ, a->succ_at[a->n]) || !same(a->user_at, b->user_at, a->m + 1) ||
        !same(a->user, b->user, a->user_at[a->m]))
        return false;
    for (int t = 0; t < a->m; t++)
        if (a->bytes[t] != b->bytes[t] || a->start[t] != b->start[t] || a->end[t] != b->end[t])
            return false;
    return true;
}

uint64_t pl_index_hash(const pl_index *index)
{
    uint64_t h = pl_hash_mix((uint64_t)index->n, (uint64_t)index->m);
    for (int e = 0; e < index->succ_at[index->n]; e++) h = pl_hash_mix(h, (uint64_t)index->succ[e]);
    for (int k = 0; k < index->user_at[index->m]; k++) h = pl_hash_mix(h, (uint64_t)index->user[k]);
    for (int t = 0; t < index->m; t++)
        h = pl_hash_mix(h, (uint64_t)index->bytes[t] * 4 + (index->start[t] ? 2u : 0u) +
                               index->end[t]);
    return h;
}
