/* List scheduling under a target peak. Read pl_hills_run() at the end: choose() picks a branch,
 * commit() runs it; follow() is what finds the hill and valley of a branch, which is done again
 * only when something that it saw has changed (watches). */
#include "order/hills.h"

#include <string.h>

#include "order/frontier.h"

/* A branch is followed this far; a task's candidates and the tasks looked at on the way to a ready
 * ancestor are bounded too. Effort grows with each, quality only until a layer's worth of tasks. */
enum { REACH = 48, WIDTH = 48, CLIMB = 12 };
/* Ready tasks or watches looked at in the time of one task run or tried. */
enum { SCAN = 16 };

/* The branch of a ready task, relative to what is live now. */
typedef struct branch {
    int64_t hill, valley; /* most bytes on the way, bytes left                */
    int length;           /* tasks to the valley                              */
    bool stale;           /* something it saw has changed since               */
    int version;
} branch;

/* Task `root` saw some task: when that changes, the branch of root (if still that version) is
 * stale. */
typedef struct watch {
    int root, version, next;
} watch;

typedef struct entry {
    int64_t hill;
    int place, root, version;
} entry;

struct pl_hills {
    const pl_index *x;
    pl_arena *a;
    pl_frontier *f;
    branch *branch; /* [n]                                            */
    int *watched;   /* [n] first watch of a task, or -1               */
    int *stale;     /* [n_stale] ready tasks whose branch is stale    */
    int n_stale;
    int *seen, stamp; /* [n] tasks seen by the branch being followed    */
    int *wanted;      /* [n] ... and candidates of it                   */
    int *born;        /* [n] step at which a task became ready          */
    int line[REACH], front[WIDTH + 1], n_front;
    struct {
        watch *at;
        int n, cap;
    } watches;
    struct {
        entry *at;
        int n, cap;
    } falls; /* heap of branches that end no higher            */
    const int *place;
    int64_t *effort;
    int64_t next; /* the least higher target under which some choice so far would differ */
    int patience;
};

pl_hills *pl_hills_new(const pl_index *index, int patience, pl_arena *arena)
{
    pl_hills *h = PL_NEW(arena, pl_hills);
    h->x = index;
    h->a = arena;
    h->patience = patience;
    h->f = pl_frontier_new(index, arena);
    h->branch = PL_NEW_N(arena, branch, index->n);
    h->watched = PL_NEW_N(arena, int, index->n);
    h->stale = PL_NEW_N(arena, int, index->n);
    h->seen = PL_NEW_N(arena, int, index->n);
    h->wanted = PL_NEW_N(arena, int, index->n);
    h->born = PL_NEW_N(arena, int, index->n);
    return h;
}

static bool is_ready(const pl_hills *h, int t)
{
    const pl_frontier *f = h->f;
    return f->slot[t] < f->n_ready && f->ready[f->slot[t]] == t;
}

static void see(pl_hills *h, int root, int task)
{
    if (h->seen[task] == h->stamp) return;
    h->seen[task] = h->stamp;
    watch w = { root, h->branch[root].version, h->watched[task] };
    h->watched[task] = h->watches.n;
    PL_PUSH(h->a, &h->watches, w);
}

static void want(pl_hills *h, int root, int task)
{
    see(h, root, task);
    if (h->wanted[task] == h->stamp || h->n_front == WIDTH) return;
    h->wanted[task] = h->stamp;
    h->front[h->n_front++] = task;
}

/* What `task` waits for that could run now: late generators, the other side of a join. */
static void climb(pl_hills *h, int root, int task)
{
    const pl_index *x = h->x;
    int list[CLIMB] = { task }, n = 1;
    see(h, root, task);
    for (int i = 0; i < n; i++)
        for (int e = x->pred_at[list[i]]; e < x->pred_at[list[i] + 1]; e++) {
            int p = x->pred[e];
            bool ready = is_ready(h, p);
            if (h->seen[p] == h->stamp || (h->f->wait[p] == 0 && !ready)) continue;
            if (n == CLIMB) return;
            see(h, root, p);
            if (ready)
                want(h, root, p);
            else
                list[n++] = p;
        }
}

/* Candidates in order: what frees without adding more, then what adds least. */
static int take_front(pl_hills *h)
{
    int best = 0;
    int64_t best_born = INT64_MAX;
    bool best_falls = false;
    for (int i = 0; i < h->n_front; i++) {
        int t = h->front[i];
        bool falls = pl_frontier_net(h->f, t) <= 0;
        int64_t born = h->f->born[t];
        bool better = falls != best_falls ? falls : born < best_born;
        if (falls == best_falls && born == best_born)
            better = h->place[t] < h->place[h->front[best]];
        if (i > 0 && !better) continue;
        best = i;
        best_falls = falls;
        best_born = born;
    }
    int t = h->front[best];
    h->front[best] = h->front[--h->n_front];
    return t;
}

/* Run one task of a branch and take up what it makes ready. */
static void step(pl_hills *h, int root, int task)
{
    const pl_index *x = h->x;
    pl_frontier_run(h->f, task);
    --*h->effort;
    for (int e = x->succ_at[task]; e < x->succ_at[task + 1]; e++) {
        int s = x->succ[e];
        if (h->f->wait[s] == 0)
            want(h, root, s);
        else if (h->seen[s] != h->stamp)
            climb(h, root, s);
    }
}

/* Follow the branch of a root; leaves the frontier as it was. */
static void follow(pl_hills *h, int root)
{
    pl_frontier *f = h->f;
    branch *b = &h->branch[root];
    int64_t from = f->live, hill = 0;
    int n = 0;
    h->stamp++;
    h->n_front = 0;
    b->version++;
    b->stale = false;
    want(h, root, root);
    b->valley = INT64_MAX;
    b->length = 0;
    while (n < REACH && h->n_front > 0 && n - b->length < h->patience) {
        int t = h->line[n++] = take_front(h);
        int64_t need = pl_frontier_need(f, t) - from;
        hill = need > hill ? need : hill;
        step(h, root, t);
        if (f->live - from >= b->valley) continue;
        b->valley = f->live - from;
        b->hill = hill;
        b->length = n;
        if (b->valley <= 0) break;
    }
    for (int i = n; i-- > 0;) pl_frontier_undo(f, h->line[i]);
}

static bool is_before(const entry *a, const entry *b)
{
    return a->hill < b->hill || (a->hill == b->hill && a->place < b->place);
}

static void push_fall(pl_hills *h, entry e)
{
    PL_PUSH(h->a, &h->falls, e);
    entry *heap = h->falls.at;
    int i = h->falls.n - 1;
    for (; i > 0 && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = e;
}

static void pop_fall(pl_hills *h)
{
    entry *heap = h->falls.at, e = heap[--h->falls.n];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= h->falls.n) break;
        if (child + 1 < h->falls.n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &e)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = e;
}

static void spoil(pl_hills *h, int root)
{
    if (h->branch[root].stale) return;
    h->branch[root].stale = true;
    h->stale[h->n_stale++] = root;
}

static void spoil_watchers(pl_hills *h, int task)
{
    int n = 0;
    for (int w = h->watched[task]; w >= 0; w = h->watches.at[w].next, n++) {
        const watch *k = &h->watches.at[w];
        if (h->branch[k->root].version == k->version) spoil(h, k->root);
    }
    h->watched[task] = -1;
    *h->effort -= n / SCAN;
}

/* Run a task for good: all whose needs it changes spoil the branches that saw them. */
static void commit(pl_hills *h, int task, int order[])
{
    const pl_index *x = h->x;
    pl_frontier *f = h->f;
    for (int k = x->use_at[task]; k < x->use_at[task + 1]; k++) {
        int t = x->use[k];
        bool first = f->seen[t] == 0, second_last = f->left[t] == 2 && !x->end[t];
        for (int u = x->user_at[t]; first && u < x->user_at[t + 1]; u++)
            spoil_watchers(h, x->user[u]);
        if (second_last) spoil_watchers(h, f->last[t] ^ task);
    }
    spoil_watchers(h, task);
    order[f->n_done] = task;
    pl_frontier_run(f, task);
    for (int e = x->succ_at[task]; e < x->succ_at[task + 1]; e++) {
        spoil_watchers(h, x->succ[e]);
        if (f->wait[x->succ[e]] > 0) continue;
        h->born[x->succ[e]] = f->n_done;
        spoil(h, x->succ[e]);
    }
}

static void refresh(pl_hills *h)
{
    while (h->n_stale > 0) {
        int root = h->stale[--h->n_stale];
        if (!is_ready(h, root)) continue;
        follow(h, root);
        const branch *b = &h->branch[root];
        if (b->valley > 0) continue;
        push_fall(h, (entry){ b->hill, h->place[root], root, b->version });
    }
}

/* Does a hill fit under the target? If not, a target under which it does is worth a run. */
static bool fits_under(pl_hills *h, int64_t hill, int64_t target)
{
    const int64_t need = h->f->live + hill;
    if (need <= target) return true;
    if (need < h->next) h->next = need;
    return false;
}

/* The root of least hill among the branches that end no higher than now, or -1 when none fits. */
static int choose_fall(pl_hills *h, int64_t target)
{
    while (h->falls.n > 0) {
        entry top = h->falls.at[0];
        if (is_ready(h, top.root) && h->branch[top.root].version == top.version)
            return fits_under(h, top.hill, target) ? top.root : -1;
        pop_fall(h);
    }
    return -1;
}

/* The larger, the sooner. */
static int64_t rank(const pl_hills *h, pl_hills_rule rule, int root)
{
    const branch *b = &h->branch[root];
    switch (rule) {
    case PL_HILLS_DEEP: return b->hill - b->valley;
    case PL_HILLS_FLAT: return -b->valley;
    case PL_HILLS_LAST: return h->born[root];
    default: return -h->place[root];
    }
}

/* Among the ready tasks whose branch fits, by the rule; if none fits, the one of least hill. */
static int choose_rise(pl_hills *h, pl_hills_rule rule, int64_t target)
{
    int best = -1;
    bool best_fits = false;
    int64_t best_rank = 0;
    for (int i = 0; i < h->f->n_ready; i++) {
        int t = h->f->ready[i];
        bool fits = fits_under(h, h->branch[t].hill, target);
        int64_t r = fits ? rank(h, rule, t) : -h->branch[t].hill;
        if (best >= 0) {
            if (fits != best_fits ? best_fits : r < best_rank) continue;
            if (fits == best_fits && r == best_rank && h->place[t] > h->place[best]) continue;
        }
        best = t;
        best_fits = fits;
        best_rank = r;
    }
    return best;
}

static void begin(pl_hills *h)
{
    pl_frontier_reset(h->f);
    h->watches.n = h->falls.n = h->n_stale = 0;
    h->next = INT64_MAX;
    for (int t = 0; t < h->x->n; t++) {
        h->watched[t] = -1;
        h->branch[t].stale = false;
        h->born[t] = 0;
    }
    for (int i = 0; i < h->f->n_ready; i++) spoil(h, h->f->ready[i]);
}

/* A branch to run now, its tasks as `line` has them, or -1: what was chosen, followed once more,
 * does not fit after all, since a bound of the walk kept a change from it. */
static int choose(pl_hills *h, int64_t target, pl_hills_rule rule)
{
    refresh(h);
    int root = choose_fall(h, target);
    if (root < 0) {
        root = choose_rise(h, rule, target);
        *h->effort -= h->f->n_ready / SCAN;
    }
    const int64_t hill = h->branch[root].hill;
    follow(h, root);
    const branch *b = &h->branch[root];
    if (b->hill <= hill || fits_under(h, b->hill, target)) return root;
    if (b->valley <= 0) push_fall(h, (entry){ b->hill, h->place[root], root, b->version });
    return -1;
}

bool pl_hills_run(pl_hills *h, int64_t target, int64_t below, pl_hills_rule rule, const int place[],
                  int order[], pl_hills_result *result, int64_t *effort)
{
    pl_frontier *f = h->f;
    h->place = place;
    h->effort = effort;
    begin(h);
    result->peak = 0;
    while (f->n_done < h->x->n && result->peak<below && * effort> 0) {
        const int root = choose(h, target, rule);
        if (root < 0) continue;
        const int64_t need = f->live + h->branch[root].hill;
        result->peak = need > result->peak ? need : result->peak;
        int list[REACH], n = h->branch[root].length;
        memcpy(list, h->line, (size_t)n * sizeof *list);
        for (int i = 0; i < n; i++) commit(h, list[i], order);
    }
    result->next = h->next;
    return f->n_done == h->x->n && result->peak < below;
}
