/* A state is the next op that runs for the first time and the set of items present. What has to be
 * made again at least, each op once, is what is missing and read later, and what that needs; its
 * seconds are the estimate of what is to come. */
#include "evict/exact.h"

#include "base/map.h"

#include <string.h>

typedef struct state {
    uint64_t here, twice; /* items present; where an op may run twice: made twice */
    double cost;          /* seconds of runs again until here */
    double least;         /* ... and of those to come, at least */
    int next, from;       /* op; state before */
    int act;              /* op that ran, or -1 - item that went */
    bool closed;
} state;

typedef struct exact {
    const pl_evict_items *x;
    int64_t budget, most;
    uint64_t keep;      /* items that may not go */
    uint64_t *in, *out; /* [n_op] items read, made */
    uint64_t *later;    /* [n_op + 1] items read by op t or later, or needed at the end */
    pl_map map;
    struct {
        state *at;
        int n, cap;
    } states;
    struct {
        int *at;
        int n, cap;
    } heap;
    pl_arena *arena;
} exact;

static int64_t sum_bytes(const exact *e, uint64_t set)
{
    int64_t sum = 0;
    for (; set; set &= set - 1) sum += e->x->item[__builtin_ctzll(set)].bytes;
    return sum;
}

/* Ops that have to run again at least, by their items; their seconds. */
static double estimate(const exact *e, uint64_t here, uint64_t twice, int next, uint64_t *again)
{
    uint64_t need = e->later[next] & ~here, made = 0;
    double sum = 0;
    for (int i = 0; i < e->x->n_item; i++)
        if (e->x->item[i].born >= next) need &= ~((uint64_t)1 << i);
    *again = 0;
    while (need & ~made) {
        int i = 63 - __builtin_clzll(need & ~made), op = e->x->item[i].born;
        made |= (uint64_t)1 << i;
        if (op < 0 || !e->x->item[i].again || (twice >> i & 1)) return -1; /* gone for good */
        *again |= (uint64_t)1 << i;
        bool counted = (e->out[op] & need & made & ~((uint64_t)1 << i)) != 0;
        if (!counted) sum += e->x->problem->seconds[op];
        need |= e->in[op] & ~here;
    }
    return sum;
}

static bool is_before(const exact *e, int a, int b)
{
    const state *p = &e->states.at[a], *q = &e->states.at[b];
    if (p->least != q->least) return p->least < q->least;
    if (p->next != q->next) return p->next > q->next;
    return a < b;
}

static void push_heap(exact *e, int s)
{
    PL_PUSH(e->arena, &e->heap, s);
    int k = e->heap.n - 1;
    while (k > 0 && is_before(e, s, e->heap.at[(k - 1) / 2])) {
        e->heap.at[k] = e->heap.at[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    e->heap.at[k] = s;
}

static int pop_heap(exact *e)
{
    int top = e->heap.at[0], last = e->heap.at[--e->heap.n], k = 0;
    for (;;) {
        int child = 2 * k + 1;
        if (child >= e->heap.n) break;
        if (child + 1 < e->heap.n && is_before(e, e->heap.at[child + 1], e->heap.at[child]))
            child++;
        if (!is_before(e, e->heap.at[child], last)) break;
        e->heap.at[k] = e->heap.at[child];
        k = child;
    }
    if (e->heap.n > 0) e->heap.at[k] = last;
    return top;
}

static uint64_t hash_of(uint64_t here, int next)
{
    return pl_hash_mix(pl_hash_mix(0, here), (uint64_t)next);
}

static void reach(exact *e, uint64_t here, uint64_t twice, int next, double cost, int from, int act)
{
    uint64_t again, hash = hash_of(here, next);
    double more = estimate(e, here, twice, next, &again);
    if (more < 0) return;
    PL_MAP_EACH (&e->map, hash, x) {
        const state *s = &e->states.at[x.value];
        if (s->here == here && !(s->twice & ~twice) && s->next == next && s->cost <= cost) return;
    }
    state s = { .here = here,
                .twice = twice,
                .cost = cost,
                .least = cost + more,
                .next = next,
                .from = from,
                .act = act };
    pl_map_put(&e->map, hash, e->states.n, e->arena);
    PL_PUSH(e->arena, &e->states, s);
    push_heap(e, e->states.n - 1);
}

/* A better way to the same state was found after this one went on the heap. */
static bool is_stale(const exact *e, int at)
{
    const state *s = &e->states.at[at];
    uint64_t hash = hash_of(s->here, s->next);
    PL_MAP_EACH (&e->map, hash, x) {
        const state *o = &e->states.at[x.value];
        if (x.value != at && o->here == s->here && !(o->twice & ~s->twice) && o->next == s->next &&
            (o->cost < s->cost || (o->cost == s->cost && o->closed)))
            return true;
    }
    return false;
}

static void expand(exact *e, int at)
{
    state s = e->states.at[at];
    uint64_t again, blocked = 0;
    int64_t bytes = sum_bytes(e, s.here);
    (void)estimate(e, s.here, s.twice, s.next, &again);
    for (int i = -1; i < e->x->n_item; i++) {
        if (i >= 0 && !(again >> i & 1)) continue;
        int op = i < 0 ? s.next : e->x->item[i].born;
        if (op >= e->x->n_op || (e->in[op] & ~s.here)) continue;
        if (bytes + e->x->made[op] > e->budget) {
            blocked |= ~e->in[op];
            continue;
        }
        double more = i < 0 ? 0 : e->x->problem->seconds[op];
        uint64_t twice = s.twice | (i >= 0 && e->x->problem->most_runs > 0 ? e->out[op] : 0);
        reach(e, s.here | e->out[op], twice, s.next + (i < 0), s.cost + more, at, op);
    }
    for (uint64_t set = s.here & blocked & ~e->keep; set; set &= set - 1) {
        int i = __builtin_ctzll(set);
        reach(e, s.here & ~((uint64_t)1 << i), s.twice, s.next, s.cost, at, -1 - i);
    }
}

static void play(const exact *e, int at, pl_evict_play *y)
{
    int n = 0, *path = PL_NEW_N(e->arena, int, e->states.n);
    for (int s = at; s >= 0; s = e->states.at[s].from) path[n++] = s;
    pl_evict_play_restart(y);
    for (int k = n - 2; k >= 0; k--) {
        int act = e->states.at[path[k]].act;
        if (act >= 0)
            pl_evict_play_run(y, act);
        else
            pl_evict_play_drop(y, -1 - act);
    }
}

static pl_evict_exact_result search(exact *e, pl_evict_play *y)
{
    uint64_t first = 0;
    for (int i = 0; i < e->x->n_item; i++)
        if (e->x->item[i].born < 0) first |= (uint64_t)1 << i;
    if (sum_bytes(e, first) <= e->budget) reach(e, first, 0, 0, 0, -1, 0);
    while (e->heap.n > 0) {
        int at = pop_heap(e);
        const state *s = &e->states.at[at];
        if (is_stale(e, at)) continue;
        if (s->next == e->x->n_op && !(e->later[s->next] & ~s->here)) {
            play(e, at, y);
            return PL_EXACT_FOUND;
        }
        e->states.at[at].closed = true;
        if (e->states.n > e->most) return PL_EXACT_TOO_LARGE;
        expand(e, at);
    }
    return PL_EXACT_NONE;
}

static void fill(exact *e)
{
    const pl_evict_items *x = e->x;
    e->in = PL_NEW_N(e->arena, uint64_t, x->n_op);
    e->out = PL_NEW_N(e->arena, uint64_t, x->n_op);
    e->later = PL_NEW_N(e->arena, uint64_t, x->n_op + 1);
    for (int i = 0; i < x->n_item; i++) {
        e->keep |= (uint64_t)x->item[i].pinned << i;
        e->later[x->n_op] |= (uint64_t)x->item[i].at_end << i;
    }
    for (int t = x->n_op - 1; t >= 0; t--) {
        for (int k = x->in_at[t]; k < x->in_at[t + 1]; k++) e->in[t] |= (uint64_t)1 << x->in[k];
        for (int k = x->out_at[t]; k < x->out_at[t + 1]; k++) e->out[t] |= (uint64_t)1 << x->out[k];
        e->later[t] = e->later[t + 1] | e->in[t];
    }
}

pl_evict_exact_result pl_evict_exact_find(const pl_evict_items *items, int64_t budget, int64_t most,
                                          pl_evict_play *play)
{
    if (items->n_item > PL_EXACT_ITEMS || items->n_item < items->n_value ||
        items->problem->most_runs > 2)
        return PL_EXACT_TOO_LARGE;
    pl_arena *tmp = pl_arena_new("evict exact");
    exact e = { .x = items, .budget = budget, .most = most, .arena = tmp };
    fill(&e);
    pl_evict_exact_result result = search(&e, play);
    pl_arena_free(tmp);
    return result;
}
