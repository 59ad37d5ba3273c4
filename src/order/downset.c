/* Exact search over the sets of tasks that can have run. Read explore(): the set that needs
 * least is taken up, what dominance allows runs at once (settle), and each ready task leads to
 * another set; sets met before are dropped. */
#include "order/downset.h"

#include <string.h>

#include "base/map.h"
#include "order/frontier.h"

/* A set of tasks that have run: `parent`, then `task`, then what dominance runs at `level`. */
typedef struct state {
    int parent, task;
    int64_t level;
} state;

/* Task `task` of state `state` has not been tried; live while it runs: `need` bytes. */
typedef struct move {
    int64_t need;
    int state, task;
} move;

typedef struct moves {
    move *at;
    int n, cap;
} moves;

typedef struct search {
    const pl_index *x;
    const pl_downset_limits *limits;
    pl_arena *a;
    pl_frontier *f;
    const int *first; /* any order                                    */
    int at;           /* the state that the frontier shows, or -1     */
    int64_t level;    /* the least peak not ruled out                 */
    int64_t *effort;
    state *states;
    int n_states, words;
    uint64_t *sets, *set; /* of the states; of the frontier             */
    pl_map map;           /* of the states, by set                      */
    moves now, later;     /* need <= level: a stack; more: a heap       */
} search;

static void run(search *s, int task)
{
    pl_frontier_run(s->f, task);
    s->set[task / 64] |= (uint64_t)1 << (task % 64);
    --*s->effort;
}

/* Dominance: a task that fits under the level and leaves no more live than before may as well run
 * now. Bringing it forward adds its net change, <= 0, to what is live during each task it passes
 * (tensors it shares with those only help), and its own need is no more than the level. A function
 * of the set alone. Appends to `order` from place n on; returns the new n. */
static int settle(search *s, int64_t level, int order[], int n)
{
    const pl_frontier *f = s->f;
    while (s->limits->dominance && f->n_ready > 0) {
        int best = -1;
        for (int i = 0; i < f->n_ready; i++) {
            int t = f->ready[i];
            int64_t net = pl_frontier_net(f, t);
            if (net > 0 || pl_frontier_need(f, t) > level) continue;
            if (best >= 0) {
                int64_t least = pl_frontier_net(f, best);
                if (net > least || (net == least && t > best)) continue;
            }
            best = t;
        }
        if (best < 0) break;
        run(s, best);
        if (order) order[n] = best;
        n++;
    }
    return n;
}

static void show(search *s, int k)
{
    if (s->at == k) return;
    s->at = k;
    pl_frontier_reset(s->f);
    memset(s->set, 0, (size_t)s->words * sizeof *s->set);
    const uint64_t *set = s->sets + (size_t)k * (size_t)s->words;
    for (int i = 0; i < s->x->n; i++) {
        int t = s->first[i];
        if (set[t / 64] >> (t % 64) & 1) run(s, t);
    }
}

/* The number of the frontier's set, or -1 when it is known already. */
static int add_state(search *s, int parent, int task)
{
    size_t words = (size_t)s->words;
    uint64_t hash = 0;
    for (size_t w = 0; w < words; w++) hash = pl_hash_mix(hash, s->set[w]);
    PL_MAP_EACH (&s->map, hash, x)
        if (!memcmp(s->sets + (size_t)x.value * words, s->set, words * sizeof *s->set)) return -1;
    int k = s->n_states++;
    memcpy(s->sets + (size_t)k * words, s->set, words * sizeof *s->set);
    s->states[k] = (state){ parent, task, s->level };
    pl_map_put(&s->map, hash, k, s->a);
    s->at = k;
    return k;
}

static void push_later(search *s, move m)
{
    PL_PUSH(s->a, &s->later, m);
    move *heap = s->later.at;
    int i = s->later.n - 1;
    for (; i > 0 && heap[(i - 1) / 2].need > m.need; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = m;
}

static move pop_later(search *s)
{
    move *heap = s->later.at, top = heap[0], m = heap[--s->later.n];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= s->later.n) break;
        if (child + 1 < s->later.n && heap[child + 1].need < heap[child].need) child++;
        if (heap[child].need >= m.need) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = m;
    return top;
}

/* Moves that fit, the one that leaves least live on top of the stack; the others wait. */
static void add_moves(search *s, int k)
{
    const pl_frontier *f = s->f;
    int from = s->now.n;
    for (int i = 0; i < f->n_ready; i++) {
        int t = f->ready[i];
        move m = { pl_frontier_need(f, t), k, t };
        if (m.need >= s->limits->below) continue;
        if (m.need > s->level) {
            push_later(s, m);
            continue;
        }
        PL_PUSH(s->a, &s->now, m);
        int j = s->now.n - 1;
        for (; j > from; j--) {
            int64_t other = pl_frontier_net(f, s->now.at[j - 1].task), net = pl_frontier_net(f, t);
            if (other > net || (other == net && s->now.at[j - 1].task > t)) break;
            s->now.at[j] = s->now.at[j - 1];
        }
        s->now.at[j] = m;
    }
}

/* The number of the state in which all tasks have run, or -1. */
static int explore(search *s)
{
    settle(s, s->level, NULL, 0);
    int k = add_state(s, -1, -1);
    for (;;) {
        if (k >= 0 && s->f->n_done == s->x->n) return k;
        if (k >= 0) add_moves(s, k);
        if (s->n_states == s->limits->states || *s->effort <= 0) return -1;
        if (s->now.n == 0 && s->later.n == 0) break;
        move m = s->now.n > 0 ? s->now.at[--s->now.n] : pop_later(s);
        s->level = m.need > s->level ? m.need : s->level;
        show(s, m.state);
        s->at = -1;
        run(s, m.task);
        settle(s, s->level, NULL, 0);
        k = add_state(s, m.state, m.task);
    }
    s->level = s->limits->below;
    return -1;
}

static void write_order(search *s, int goal, int order[])
{
    int n = 0, *path = PL_NEW_N(s->a, int, s->n_states);
    for (int k = goal; k >= 0; k = s->states[k].parent) path[n++] = k;
    pl_frontier_reset(s->f);
    int done = 0;
    while (n-- > 0) {
        const state *k = &s->states[path[n]];
        if (k->task >= 0) {
            run(s, k->task);
            order[done++] = k->task;
        }
        done = settle(s, k->level, order, done);
    }
}

bool pl_downset_find(const pl_index *index, const pl_downset_limits *limits, int order[],
                     int64_t *bound, int64_t *effort)
{
    if (limits->floor >= limits->below) {
        *bound = limits->below;
        return false;
    }
    pl_arena *tmp = pl_arena_new("search over downsets");
    search s = { .x = index, .limits = limits, .a = tmp, .first = order, .effort = effort };
    s.f = pl_frontier_new(index, tmp);
    s.words = (index->n + 63) / 64;
    s.set = PL_NEW_N(tmp, uint64_t, s.words);
    s.sets = PL_NEW_N(tmp, uint64_t, (size_t)s.words * (size_t)limits->states);
    s.states = PL_NEW_N(tmp, state, limits->states);
    s.level = limits->floor;
    int goal = explore(&s);
    if (goal >= 0) write_order(&s, goal, order);
    *bound = s.level;
    pl_arena_free(tmp);
    return goal >= 0;
}
