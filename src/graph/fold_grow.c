/* Instances grow a slot at a time. First comes what has to be of one instance: the readers of a
 * leaf, and what makes the gradient of a node; then the forward pass, along readers where those of
 * all instances agree, and then along inputs; then the rest in the same way; at last readers of
 * which only some agree. So a block ends at a value that the last instance hands to something else,
 * and few values cross from one instance to the next. What comes of it is tested afterwards.
 *
 * Known limit: what touches its own instance only through other instances is not grown. */
#include "graph/fold_grow.h"

#include <string.h>

pl_fold_growth pl_fold_grow_new(pl_fold_table *t, pl_arena *a)
{
    return (pl_fold_growth){
        .t = t,
        .arena = a,
        .node = pl_fold_ints(a, 2 * t->n_nodes, 0), /* slots, and one that is tried */
        .alive = PL_NEW_N(a, bool, t->n_nodes + 1),
        .slot = pl_fold_ints(a, t->n_nodes, -1),
        .inst = pl_fold_ints(a, t->n_nodes, 0),
        .votes = pl_fold_ints(a, t->n_nodes, 0),
        .crossed = pl_fold_ints(a, t->n_values, 0),
    };
}

/* Readers of v like r, with the colour of node r->node after `round` rounds (-1: any), that are
 * free: their number, and the node of the rank-th. */
static int find_like(const pl_fold_table *t, int v, const pl_reader *r, int round, const int *at,
                     int rank, int *node)
{
    const uint64_t *colour = round < 0 ? NULL : t->colour[round];
    int n = 0;
    for (int i = t->first_reader[v]; i < t->first_reader[v + 1]; i++) {
        const pl_reader *q = &t->reader[i];
        if (at[q->node] != -1 || q->pos != r->pos || t->kind[q->node] != t->kind[r->node] ||
            (colour && colour[q->node] != colour[r->node]))
            continue;
        if (rank-- == 0) *node = q->node;
        n++;
    }
    return n;
}

int pl_fold_grow_match(pl_fold_table *t, int a, int k, const int *free_a, int b, const int *free_b,
                       bool sure)
{
    const pl_reader *list = &t->reader[t->first_reader[a]], *r = &list[k];
    int node = -1, unused, n = find_like(t, a, r, -1, free_a, 0, &unused);
    if (n > 1 && sure) return -2;
    if (find_like(t, b, r, -1, free_b, 0, &node) != n) return -1;
    if (n == 1) return node;
    pl_fold_table_refine(t);
    for (int round = PL_FOLD_ROUNDS - 1; round >= 0; round--)
        if (find_like(t, a, r, round, free_a, 0, &unused) == 1 &&
            find_like(t, b, r, round, free_b, 0, &node) == 1)
            return node;
    int rank = 0;
    for (int i = 0; i < k; i++)
        rank += free_a[list[i].node] == -1 && list[i].pos == r->pos &&
                t->kind[list[i].node] == t->kind[r->node];
    find_like(t, b, r, -1, free_b, rank, &node);
    return node;
}

/* -- growth ------------------------------------------------------------------------------------ */

static int n_inputs(const pl_fold_growth *x, int slot)
{
    int n = x->node[slot * x->length];
    return x->t->first_in[n + 1] - x->t->first_in[n];
}

static int n_outputs(const pl_fold_growth *x, int slot)
{
    int n = x->node[slot * x->length];
    return x->t->first_out[n + 1] - x->t->first_out[n];
}

static int value_at(const pl_fold_growth *x, pl_fold_port p, int i)
{
    const pl_fold_table *t = x->t;
    int n = x->node[p.slot * x->length + i];
    return p.port >= 0 ? t->out[t->first_out[n] + p.port] : t->in[t->first_in[n] + ~p.port];
}

/* Where the nodes after the last slot go. */
static int *next_slot(const pl_fold_growth *x)
{
    return x->node + x->n * x->length;
}

/* The nodes at next_slot are a slot when they are of a kind, free, and no two the same. */
static void add_slot(pl_fold_growth *x)
{
    const int *n = next_slot(x), *kind = x->t->kind;
    bool ok = true;
    for (int i = 1; i < x->length; i++)
        if (kind[n[i]] != kind[n[i - 1]]) x->votes[i]++, ok = false;
    if (!ok) return;
    int i = 0;
    for (; i < x->length && x->slot[n[i]] == -1; i++) {
        x->slot[n[i]] = x->n;
        x->inst[n[i]] = i;
    }
    if (i == x->length)
        x->alive[x->n++] = true;
    else
        while (i--) x->slot[n[i]] = -1;
}

/* Are the readers of an operand alike in all instances? */
static bool is_agreed(pl_fold_growth *x, pl_fold_port p)
{
    const uint64_t *sum = x->t->sum;
    bool ok = true;
    for (int i = 1, v, before = value_at(x, p, 0); i < x->length; i++, before = v) {
        v = value_at(x, p, i);
        if (sum[v] != sum[before]) x->votes[i]++, ok = false;
    }
    return ok;
}

/* New slots of the readers of an operand. Where they have to be of one instance they need not agree
 * in all of them. What is not certain waits until everything else is done. Readers are looked up
 * from an instance in the middle, which is like most others. */
static void grow_readers(pl_fold_growth *x, pl_fold_port p, bool sure)
{
    pl_fold_table *t = x->t;
    int v = value_at(x, p, x->length / 2), first = t->first_reader[v];
    int n = t->first_reader[v + 1] - first;
    if (!n || n > PL_FOLD_MAX_READERS) return;
    bool agreed = !sure || is_agreed(x, p), bound = v >= t->n_data || t->maker[v] < 0;
    bool wait = !agreed;
    for (int k = 0; k < n && (agreed || bound); k++) {
        int i = 0, *node = next_slot(x);
        if (x->slot[t->reader[first + k].node] != -1) continue;
        for (; i < x->length; i++) {
            int u = value_at(x, p, i);
            if (t->first_reader[u + 1] - t->first_reader[u] > PL_FOLD_MAX_READERS) break;
            node[i] = pl_fold_grow_match(t, v, k, x->slot, u, x->slot, sure);
            if (node[i] < 0) break;
        }
        x->work += i;
        if (i == x->length)
            add_slot(x);
        else
            wait |= sure && node[i] == -2;
    }
    if (wait) PL_PUSH(x->arena, &x->late, p);
}

/* A new slot of the makers of an input. */
static void grow_makers(pl_fold_growth *x, int slot, int k)
{
    const pl_fold_table *t = x->t;
    const pl_fold_port p = { slot, ~k };
    int before = value_at(x, p, 0), *node = next_slot(x);
    bool all = true;
    for (int i = 0; i < x->length; i++) {
        int v = value_at(x, p, i), m = t->maker[v];
        if (i && v == before) return; /* shared */
        if (i < 2 && m >= 0 && x->slot[m] != -1) return;
        bool is = m >= 0, was = t->maker[before] >= 0;
        if (is != was || t->port[v] != t->port[before]) x->votes[i]++, all = false;
        all &= is;
        node[i] = m;
        before = v;
    }
    if (all) add_slot(x);
}

/* Are these leaves, one for each instance? */
static bool is_own_leaf(const pl_fold_growth *x, pl_fold_port p)
{
    int a = value_at(x, p, 0), b = value_at(x, p, 1);
    return a != b && x->t->maker[a] < 0 && x->t->maker[b] < 0;
}

/* Steps of growth, most certain first. */
enum { BOUND, FORWARD_READERS, FORWARD_MAKERS, READERS, MAKERS, N_STEPS };

static void take_step(pl_fold_growth *x, int step, int slot)
{
    int n_in = n_inputs(x, slot), n_out = n_outputs(x, slot); /* the last output says `of` */
    bool backward = x->t->backward[x->node[slot * x->length]];
    if (step == BOUND) {
        x->work += x->length;
        grow_readers(x, (pl_fold_port){ slot, n_out - 1 }, true);
        for (int k = 0; k < n_in; k++)
            if (is_own_leaf(x, (pl_fold_port){ slot, ~k }))
                grow_readers(x, (pl_fold_port){ slot, ~k }, true);
    } else if (step == (backward ? READERS : FORWARD_READERS)) {
        for (int k = 0; k < n_out - 1; k++) grow_readers(x, (pl_fold_port){ slot, k }, true);
    } else if (step == (backward ? MAKERS : FORWARD_MAKERS)) {
        for (int k = 0; k < n_in; k++) grow_makers(x, slot, k);
    }
}

static void forget(pl_fold_growth *x)
{
    for (int i = 0; i < x->n * x->length; i++)
        if (x->slot[x->node[i]] >= 0) x->slot[x->node[i]] = -1;
    x->n = x->late.n = 0;
}

static void grow(pl_fold_growth *x)
{
    memset(x->votes, 0, (size_t)x->length * sizeof *x->votes);
    for (int done[N_STEPS] = { 0 }, late = 0;;) {
        int step = 0;
        while (step < N_STEPS && done[step] == x->n) step++;
        if (step < N_STEPS)
            take_step(x, step, done[step]++);
        else if (late < x->late.n)
            grow_readers(x, x->late.at[late++], false);
        else
            break;
    }
}

/* -- what holds -------------------------------------------------------------------------------- */

typedef struct link {
    int slot, port, step; /* slot -1: from outside; step: instances from the reader */
} link;

static link link_of(const pl_fold_growth *x, int value, int i)
{
    int m = x->t->maker[value], slot = m >= 0 ? x->slot[m] : -1;
    return slot < 0 ? (link){ -1, 0, 0 } : (link){ slot, x->t->port[value], x->inst[m] - i };
}

static bool is_link_same(link a, link b)
{
    return a.slot == b.slot && a.port == b.port && a.step == b.step;
}

/* The readers of a leaf as slots; 0 when one is not in instance i. */
static uint64_t sum_slots(const pl_fold_growth *x, int leaf, int i)
{
    const pl_fold_table *t = x->t;
    uint64_t sum = 0;
    for (int k = t->first_reader[leaf]; k < t->first_reader[leaf + 1]; k++) {
        const pl_reader *r = &t->reader[k];
        if (x->slot[r->node] < 0 || x->inst[r->node] != i) return 0;
        sum += pl_fold_key(x->slot[r->node], r->pos);
    }
    return sum ? sum : 1;
}

/* Is v, of instance i, a leaf of its own, like leaf a of instance 0 with that sum? */
static bool is_leaf_same(const pl_fold_growth *x, int a, uint64_t sum, int v, int i)
{
    const pl_fold_table *t = x->t;
    if (t->leaf[v] < 0 || t->leaf[v] != t->leaf[a] || (i && v == a) || !sum ||
        sum_slots(x, v, i) != sum)
        return false;
    if (t->next[v] < 0) return true;
    link l = link_of(x, t->next[v], i);
    return l.slot >= 0 && !l.step && is_link_same(l, link_of(x, t->next[a], 0));
}

/* Do all instances take the same? The ones that do not as those before them get a vote. */
static bool is_taken_alike(pl_fold_growth *x, int slot, int k)
{
    const pl_fold_port p = { slot, ~k };
    int a = value_at(x, p, 0), last = x->length - 1;
    link la = link_of(x, a, 0), lb = link_of(x, value_at(x, p, 1), 1);
    bool before = la.slot < 0 && lb.slot >= 0, after = la.slot >= 0 && la.step > 0;
    bool own = la.slot < 0 && lb.slot < 0 && is_own_leaf(x, p), ok = true, was = true;
    uint64_t sum = own ? sum_slots(x, a, 0) : 0;
    link like = before ? lb : la;
    if (like.step != after - before) return false; /* not the same instance, nor a neighbour */
    for (int i = 0; i <= last; i++) {
        int v = value_at(x, p, i);
        link l = link_of(x, v, i);
        bool is, end = (before && !i) || (after && i == last);
        if (own)
            is = is_leaf_same(x, a, sum, v, i);
        else if (end)
            is = l.slot < 0;
        else
            is = is_link_same(l, like) && (like.slot >= 0 || v == a);
        x->votes[i] += is != was;
        ok &= was = is;
    }
    return ok;
}

/* The readers of a value that are in no slot. */
static uint64_t sum_outside(const pl_fold_growth *x, int v)
{
    const pl_fold_table *t = x->t;
    uint64_t sum = 0;
    for (int k = t->first_reader[v]; k < t->first_reader[v + 1]; k++)
        if (x->slot[t->reader[k].node] < 0) sum += pl_fold_reader_key(t, &t->reader[k]);
    return sum;
}

static bool is_given_alike(pl_fold_growth *x, int slot, int port)
{
    const pl_fold_table *t = x->t;
    const pl_fold_port p = { slot, port };
    int a = value_at(x, p, 0), leaf = t->next_of[a];
    if (leaf == -2) return false;
    uint64_t leaf_sum = leaf >= 0 ? sum_slots(x, leaf, 0) : 0, sum = 0;
    bool ok = true;
    for (int i = 0; i < x->length; i++) {
        int v = value_at(x, p, i), next_of = t->next_of[v];
        bool is = t->reported[v] == t->reported[a] && (next_of < 0) == (leaf < 0) && next_of != -2;
        if (is && leaf >= 0) is = is_leaf_same(x, leaf, leaf_sum, next_of, i);
        if (i && i < x->length - 1) {
            uint64_t s = sum_outside(x, v);
            is &= i == 1 || s == sum;
            sum = s;
        }
        x->votes[i] += !is;
        ok &= is;
    }
    return ok;
}

/* Is a slot what fold.h promises? If not it is taken out. */
static bool test_slot(pl_fold_growth *x, int slot)
{
    bool ok = true;
    for (int k = 0; k < n_inputs(x, slot) && ok; k++) ok = is_taken_alike(x, slot, k);
    for (int k = 0; k < n_outputs(x, slot) && ok; k++) ok = is_given_alike(x, slot, k);
    x->work += x->length;
    if (ok) return true;
    x->alive[slot] = false;
    for (int i = 0; i < x->length; i++) x->slot[x->node[slot * x->length + i]] = -1;
    return false;
}

/* A slot that goes may make others wrong, before it and after it. */
static void settle(pl_fold_growth *x)
{
    for (bool again = true; again;) {
        again = false;
        for (int s = 0; s < x->n; s++) again |= x->alive[s] && !test_slot(x, s);
        for (int s = x->n - 1; s >= 0 && again; s--)
            if (x->alive[s]) (void)test_slot(x, s);
    }
}

static bool reads(const pl_fold_table *t, int node, int v)
{
    for (int k = t->first_in[node]; k < t->first_in[node + 1]; k++)
        if (t->in[k] == v) return true;
    return false;
}

/* Is there a node outside that reads this of an instance in the middle, but not of all? Then there
 * is one for each of them, which belongs to it. Single numbers are not worth an instance. */
static bool is_torn(const pl_fold_growth *x, int slot, int port)
{
    const pl_fold_table *t = x->t;
    const pl_fold_port p = { slot, port };
    int v = value_at(x, p, x->length / 2);
    for (int k = t->first_reader[v]; k < t->first_reader[v + 1] && !t->number[v]; k++)
        for (int i = 0; i < x->length && x->slot[t->reader[k].node] < 0; i++)
            if (!reads(t, t->reader[k].node, value_at(x, p, i))) return true;
    return false;
}

static bool has_of(const pl_fold_growth *x, int slot)
{
    int n = n_inputs(x, slot);
    return n && value_at(x, (pl_fold_port){ slot, ~(n - 1) }, 0) >= x->t->n_data;
}

/* How the slots that are left hang together. */
static void measure(pl_fold_growth *x)
{
    x->round++;
    x->n_alive = x->n_crossing = x->forward = x->back = 0;
    x->torn = false;
    for (int s = 0; s < x->n; s++) {
        if (!x->alive[s]) continue;
        x->n_alive++;
        int node = x->node[s * x->length];
        for (int k = 0; k < n_outputs(x, s) - 1 && !x->torn; k++) x->torn = is_torn(x, s, k);
        for (int k = 0; k < n_inputs(x, s); k++) {
            const pl_fold_port p = { s, ~k };
            if (value_at(x, p, 0) >= x->t->n_data) continue;
            link after = link_of(x, value_at(x, p, 0), 0),
                 before = link_of(x, value_at(x, p, 1), 1);
            int step = after.step > 0 ? 1 : before.step < 0 ? -1 : 0;
            if (!x->t->backward[node]) x->forward -= step;
            if (has_of(x, s)) x->back -= step;
            if (!step) continue;
            link l = step > 0 ? after : before;
            int *round = &x->crossed[value_at(x, (pl_fold_port){ l.slot, l.port }, 0)];
            x->n_crossing += *round != x->round;
            *round = x->round;
        }
    }
    x->score = x->n_crossing ? x->n_alive * x->length : 0;
}

void pl_fold_grow(pl_fold_growth *x, int n, const int *node, int stride, int length)
{
    forget(x);
    x->length = length;
    for (int s = 0; s < n; s++) {
        memcpy(next_slot(x), node + s * stride, (size_t)length * sizeof *node);
        add_slot(x);
    }
    grow(x);
    settle(x);
    measure(x);
}
