/* Instances grow a slot at a time. First comes what has to be of one instance: the readers of a
 * leaf, and what makes the gradient of a node; then the forward pass, along readers where those of
 * all instances agree, and then along inputs; then the rest in the same way; at last readers of
 * which only some agree. So a block ends at a value that the last instance hands to something else,
 * and few values cross from one instance to the next. What comes of it is tested afterwards.
 *
 * Known limit: what touches its own instance only through other instances is not grown. */
#include "graph/fold_grow.h"

#include <string.h>

pl_fold_growth pl_fold_grow_new(pl_fold_table *table, pl_arena *arena)
{
    return (pl_fold_growth){
        .t = table,
        .arena = arena,
        .node = pl_fold_ints(arena, 2 * table->n_nodes, 0), /* slots, and one that is tried */
        .alive = PL_NEW_N(arena, bool, table->n_nodes + 1),
        .slot = pl_fold_ints(arena, table->n_nodes, -1),
        .inst = pl_fold_ints(arena, table->n_nodes, 0),
        .votes = pl_fold_ints(arena, table->n_nodes, 0),
        .crossed = pl_fold_ints(arena, table->n_values, 0),
    };
}

/* Readers of v like r, with the colour of node r->node after `round` rounds (-1: any), that are
 * free: their number, and the node of the rank-th. */
static int find_like(const pl_fold_table *table, int v, const pl_reader *r, int round,
                     const int *at, int rank, int *node)
{
    const uint64_t *colour = round < 0 ? NULL : table->colour[round];
    int n = 0;
    for (int i = table->first_reader[v]; i < table->first_reader[v + 1]; i++) {
        const pl_reader *q = &table->reader[i];
        if (at[q->node] != -1 || q->pos != r->pos || table->kind[q->node] != table->kind[r->node] ||
            (colour && colour[q->node] != colour[r->node]))
            continue;
        if (rank-- == 0) *node = q->node;
        n++;
    }
    return n;
}

int pl_fold_grow_match(pl_fold_table *table, int a, int k, const int *free_a, int b,
                       const int *free_b, bool sure)
{
    const pl_reader *list = &table->reader[table->first_reader[a]], *r = &list[k];
    int node = -1, unused, n = find_like(table, a, r, -1, free_a, 0, &unused);
    if (n > 1 && sure) return -2;
    if (find_like(table, b, r, -1, free_b, 0, &node) != n) return -1;
    if (n == 1) return node;
    pl_fold_table_refine(table);
    for (int round = PL_FOLD_ROUNDS - 1; round >= 0; round--)
        if (find_like(table, a, r, round, free_a, 0, &unused) == 1 &&
            find_like(table, b, r, round, free_b, 0, &node) == 1)
            return node;
    int rank = 0;
    for (int i = 0; i < k; i++)
        rank += free_a[list[i].node] == -1 && list[i].pos == r->pos &&
                table->kind[list[i].node] == table->kind[r->node];
    find_like(table, b, r, -1, free_b, rank, &node);
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
static void add_slot(pl_fold_growth *growth)
{
    const int *n = next_slot(growth), *kind = growth->t->kind;
    bool ok = true;
    for (int i = 1; i < growth->length; i++)
        if (kind[n[i]] != kind[n[i - 1]]) growth->votes[i]++, ok = false;
    if (!ok) return;
    int i = 0;
    for (; i < growth->length && growth->slot[n[i]] == -1; i++) {
        growth->slot[n[i]] = growth->n;
        growth->inst[n[i]] = i;
    }
    if (i == growth->length)
        growth->alive[growth->n++] = true;
    else
        while (i--) growth->slot[n[i]] = -1;
}

/* Are the readers of an operand alike in all instances? */
static bool is_agreed(pl_fold_growth *growth, pl_fold_port p)
{
    const uint64_t *sum = growth->t->sum;
    bool ok = true;
    for (int i = 1, v, before = value_at(growth, p, 0); i < growth->length; i++, before = v) {
        v = value_at(growth, p, i);
        if (sum[v] != sum[before]) growth->votes[i]++, ok = false;
    }
    return ok;
}

/* New slots of the readers of an operand. Where they have to be of one instance they need not agree
 * in all of them. What is not certain waits until everything else is done. Readers are looked up
 * from an instance in the middle, which is like most others. */
static void grow_readers(pl_fold_growth *growth, pl_fold_port p, bool sure)
{
    pl_fold_table *t = growth->t;
    int v = value_at(growth, p, growth->length / 2), first = t->first_reader[v];
    int n = t->first_reader[v + 1] - first;
    if (!n || n > PL_FOLD_MAX_READERS) return;
    bool agreed = !sure || is_agreed(growth, p), bound = v >= t->n_data || t->maker[v] < 0;
    bool wait = !agreed;
    for (int k = 0; k < n && (agreed || bound); k++) {
        int i = 0, *node = next_slot(growth);
        if (growth->slot[t->reader[first + k].node] != -1) continue;
        for (; i < growth->length; i++) {
            int u = value_at(growth, p, i);
            if (t->first_reader[u + 1] - t->first_reader[u] > PL_FOLD_MAX_READERS) break;
            node[i] = pl_fold_grow_match(t, v, k, growth->slot, u, growth->slot, sure);
            if (node[i] < 0) break;
        }
        growth->work += i;
        if (i == growth->length)
            add_slot(growth);
        else
            wait |= sure && node[i] == -2;
    }
    if (wait) PL_PUSH(growth->arena, &growth->late, p);
}

/* A new slot of the makers of an input. */
static void grow_makers(pl_fold_growth *growth, int slot, int k)
{
    const pl_fold_table *t = growth->t;
    const pl_fold_port p = { slot, ~k };
    int before = value_at(growth, p, 0), *node = next_slot(growth);
    bool all = true;
    for (int i = 0; i < growth->length; i++) {
        int v = value_at(growth, p, i), m = t->maker[v];
        if (i && v == before) return; /* shared */
        if (i < 2 && m >= 0 && growth->slot[m] != -1) return;
        bool is = m >= 0, was = t->maker[before] >= 0;
        if (is != was || t->port[v] != t->port[before]) growth->votes[i]++, all = false;
        all &= is;
        node[i] = m;
        before = v;
    }
    if (all) add_slot(growth);
}

/* Are these leaves, one for each instance? */
static bool is_own_leaf(const pl_fold_growth *x, pl_fold_port p)
{
    int a = value_at(x, p, 0), b = value_at(x, p, 1);
    return a != b && x->t->maker[a] < 0 && x->t->maker[b] < 0;
}

/* Steps of growth, most certain first. */
enum { BOUND, FORWARD_READERS, FORWARD_MAKERS, READERS, MAKERS, N_STEPS };

static void take_step(pl_fold_growth *growth, int step, int slot)
{
    int n_in = n_inputs(growth, slot),
        n_out = n_outputs(growth, slot); /* the last output says `of` */
    bool backward = growth->t->backward[growth->node[slot * growth->length]];
    if (step == BOUND) {
        growth->work += growth->length;
        grow_readers(growth, (pl_fold_port){ slot, n_out - 1 }, true);
        for (int k = 0; k < n_in; k++)
            if (is_own_leaf(growth, (pl_fold_port){ slot, ~k }))
                grow_readers(growth, (pl_fold_port){ slot, ~k }, true);
    } else if (step == (backward ? READERS : FORWARD_READERS)) {
        for (int k = 0; k < n_out - 1; k++) grow_readers(growth, (pl_fold_port){ slot, k }, true);
    } else if (step == (backward ? MAKERS : FORWARD_MAKERS)) {
        for (int k = 0; k < n_in; k++) grow_makers(growth, slot, k);
    }
}

static void forget(pl_fold_growth *x)
{
    for (int i = 0; i < x->n * x->length; i++)
        if (x->slot[x->node[i]] >= 0) x->slot[x->node[i]] = -1;
    x->n = x->late.n = 0;
}

static void grow(pl_fold_growth *growth)
{
    memset(growth->votes, 0, (size_t)growth->length * sizeof *growth->votes);
    for (int done[N_STEPS] = { 0 }, late = 0;;) {
        int step = 0;
        while (step < N_STEPS && done[step] == growth->n) step++;
        if (step < N_STEPS)
            take_step(growth, step, done[step]++);
        else if (late < growth->late.n)
            grow_readers(growth, growth->late.at[late++], false);
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
static uint64_t sum_slots(const pl_fold_growth *growth, int leaf, int i)
{
    const pl_fold_table *t = growth->t;
    uint64_t sum = 0;
    for (int k = t->first_reader[leaf]; k < t->first_reader[leaf + 1]; k++) {
        const pl_reader *r = &t->reader[k];
        if (growth->slot[r->node] < 0 || growth->inst[r->node] != i) return 0;
        sum += pl_fold_key(growth->slot[r->node], r->pos);
    }
    return sum ? sum : 1;
}

/* Is v, of instance i, a leaf of its own, like leaf a of instance 0 with that sum? */
static bool is_leaf_same(const pl_fold_growth *growth, int a, uint64_t sum, int v, int i)
{
    const pl_fold_table *t = growth->t;
    if (t->leaf[v] < 0 || t->leaf[v] != t->leaf[a] || (i && v == a) || !sum ||
        sum_slots(growth, v, i) != sum)
        return false;
    if (t->next[v] < 0) return true;
    link l = link_of(growth, t->next[v], i);
    return l.slot >= 0 && !l.step && is_link_same(l, link_of(growth, t->next[a], 0));
}

/* Do all instances take the same? The ones that do not as those before them get a vote. */
static bool is_taken_alike(pl_fold_growth *growth, int slot, int k)
{
    const pl_fold_port p = { slot, ~k };
    int a = value_at(growth, p, 0), last = growth->length - 1;
    link la = link_of(growth, a, 0), lb = link_of(growth, value_at(growth, p, 1), 1);
    bool before = la.slot < 0 && lb.slot >= 0, after = la.slot >= 0 && la.step > 0;
    bool own = la.slot < 0 && lb.slot < 0 && is_own_leaf(growth, p), ok = true, was = true;
    uint64_t sum = own ? sum_slots(growth, a, 0) : 0;
    link like = before ? lb : la;
    if (like.step != after - before) return false; /* not the same instance, nor a neighbour */
    for (int i = 0; i <= last; i++) {
        int v = value_at(growth, p, i);
        link l = link_of(growth, v, i);
        bool is, end = (before && !i) || (after && i == last);
        if (own)
            is = is_leaf_same(growth, a, sum, v, i);
        else if (end)
            is = l.slot < 0;
        else
            is = is_link_same(l, like) && (like.slot >= 0 || v == a);
        growth->votes[i] += is != was;
        ok &= was = is;
    }
    return ok;
}

/* The readers of a value that are in no slot. */
static uint64_t sum_outside(const pl_fold_growth *growth, int v)
{
    const pl_fold_table *t = growth->t;
    uint64_t sum = 0;
    for (int k = t->first_reader[v]; k < t->first_reader[v + 1]; k++)
        if (growth->slot[t->reader[k].node] < 0) sum += pl_fold_reader_key(t, &t->reader[k]);
    return sum;
}

static bool is_given_alike(pl_fold_growth *growth, int slot, int port)
{
    const pl_fold_table *t = growth->t;
    const pl_fold_port p = { slot, port };
    int a = value_at(growth, p, 0), leaf = t->next_of[a];
    if (leaf == -2) return false;
    uint64_t leaf_sum = leaf >= 0 ? sum_slots(growth, leaf, 0) : 0, sum = 0;
    bool ok = true;
    for (int i = 0; i < growth->length; i++) {
        int v = value_at(growth, p, i), next_of = t->next_of[v];
        bool is = t->reported[v] == t->reported[a] && (next_of < 0) == (leaf < 0) && next_of != -2;
        if (is && leaf >= 0) is = is_leaf_same(growth, leaf, leaf_sum, next_of, i);
        if (i && i < growth->length - 1) {
            uint64_t s = sum_outside(growth, v);
            is &= i == 1 || s == sum;
            sum = s;
        }
        growth->votes[i] += !is;
        ok &= is;
    }
    return ok;
}

/* Is a slot what fold.h promises? If not it is taken out. */
static bool test_slot(pl_fold_growth *growth, int slot)
{
    bool ok = true;
    for (int k = 0; k < n_inputs(growth, slot) && ok; k++) ok = is_taken_alike(growth, slot, k);
    for (int k = 0; k < n_outputs(growth, slot) && ok; k++) ok = is_given_alike(growth, slot, k);
    growth->work += growth->length;
    if (ok) return true;
    growth->alive[slot] = false;
    for (int i = 0; i < growth->length; i++)
        growth->slot[growth->node[slot * growth->length + i]] = -1;
    return false;
}

/* A slot that goes may make others wrong, before it and after it. */
static void settle(pl_fold_growth *growth)
{
    for (bool again = true; again;) {
        again = false;
        for (int s = 0; s < growth->n; s++) again |= growth->alive[s] && !test_slot(growth, s);
        for (int s = growth->n - 1; s >= 0 && again; s--)
            if (growth->alive[s]) (void)test_slot(growth, s);
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
static bool is_torn(const pl_fold_growth *growth, int slot, int port)
{
    const pl_fold_table *t = growth->t;
    const pl_fold_port p = { slot, port };
    int v = value_at(growth, p, growth->length / 2);
    for (int k = t->first_reader[v]; k < t->first_reader[v + 1] && !t->number[v]; k++)
        for (int i = 0; i < growth->length && growth->slot[t->reader[k].node] < 0; i++)
            if (!reads(t, t->reader[k].node, value_at(growth, p, i))) return true;
    return false;
}

static bool has_of(const pl_fold_growth *x, int slot)
{
    int n = n_inputs(x, slot);
    return n && value_at(x, (pl_fold_port){ slot, ~(n - 1) }, 0) >= x->t->n_data;
}

/* How the slots that are left hang together. */
static void measure(pl_fold_growth *growth)
{
    growth->round++;
    growth->n_alive = growth->n_crossing = growth->forward = growth->back = 0;
    growth->torn = false;
    for (int s = 0; s < growth->n; s++) {
        if (!growth->alive[s]) continue;
        growth->n_alive++;
        int node = growth->node[s * growth->length];
        for (int k = 0; k < n_outputs(growth, s) - 1 && !growth->torn; k++)
            growth->torn = is_torn(growth, s, k);
        for (int k = 0; k < n_inputs(growth, s); k++) {
            const pl_fold_port p = { s, ~k };
            if (value_at(growth, p, 0) >= growth->t->n_data) continue;
            link after = link_of(growth, value_at(growth, p, 0), 0),
                 before = link_of(growth, value_at(growth, p, 1), 1);
            int step = after.step > 0 ? 1 : before.step < 0 ? -1 : 0;
            if (!growth->t->backward[node]) growth->forward -= step;
            if (has_of(growth, s)) growth->back -= step;
            if (!step) continue;
            link l = step > 0 ? after : before;
            int *round = &growth->crossed[value_at(growth, (pl_fold_port){ l.slot, l.port }, 0)];
            growth->n_crossing += *round != growth->round;
            *round = growth->round;
        }
    }
    growth->score = growth->n_crossing ? growth->n_alive * growth->length : 0;
}

void pl_fold_grow(pl_fold_growth *growth, int n, const int *node, int stride, int length)
{
    forget(growth);
    growth->length = length;
    for (int s = 0; s < n; s++) {
        memcpy(next_slot(growth), node + s * stride, (size_t)length * sizeof *node);
        add_slot(growth);
    }
    grow(growth);
    settle(growth);
    measure(growth);
}
