/* Finding the repeated blocks of a graph.
 *
 * 1. Nodes that look the same are of a kind (fold_table.h).
 * 2. Two nodes of a kind are taken for neighbours: the pair is grown along inputs and readers to a
 *    partial shift of the graph onto itself. What the shift makes of the first node again and again
 *    is a run of seeds, one for each instance of a block. No shift is grown twice.
 * 3. From the seeds all instances grow in lockstep, and what breaks the promises of fold.h is taken
 *    out (fold_grow.h): what is left is right. Where something was lost, shorter runs are tried,
 *    cut where instances disagreed. What comes of them tells how one instance follows another, and
 *    the shift that its middle makes reaches all of them.
 * 4. Nodes outside that belong to an instance each are taken in where leaving out an instance at
 *    an end allows it.
 * Heavy kinds come first, forward nodes before others (the data orders them along the chain), near
 * pairs before far ones (the smallest period), and the block that covers most nodes wins, or one
 * of more instances with nearly as many nodes in each.
 *
 * Colours of Weisfeiler and Lehman would, once stable, tell each layer from all others by its
 * distance to the ends. A few rounds of them say which pairs to try first and tell readers apart
 * that look alike; they decide nothing. */
#include "graph/fold.h"

#include "graph/fold_grow.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PERIOD = 8,  /* nodes of the seeds' kind in one block                      */
    MAX_SPANS = 12,  /* shorter runs that are tried                                */
    LEAST_NODES = 4, /* of all instances together: fewer are not worth a class     */
    FEW = 32,        /* a part in so many                                          */
    WORK = 100,      /* the search ends after so many steps for each node          */
};

typedef struct best {
    int length, n, score, n_crossing, forward, back;
    bool torn; /* see pl_fold_growth   */
    int *node; /* [slot][instance]     */
    int *slot; /* [nodes] -1: not in it */
} best;

typedef struct value_pair {
    int a, b;
} value_pair;

typedef struct shift {
    uint64_t sum; /* of its pairs of nodes */
    int length;   /* of the run            */
} shift;

typedef struct finder {
    pl_arena *tmp, *out;
    pl_fold_table t;
    int *to, *from; /* [nodes] the shift; -1: not in it, -2: not to be taken                     */
    struct {
        int n, cap;
        int *at; /* nodes with a `to`, in the order of their entry */
    } shifted;
    struct {
        int n, cap;
        shift *at; /* runs of them were grown since the last class was entered */
    } grown;
    struct {
        int n, cap;
        value_pair *at; /* whose readers are uncertain */
    } late;
    pl_fold_growth x;
    best best;
    int *rank;       /* [nodes] among the free ones of its kind                               */
    unsigned *tried; /* [nodes] bit p: with the p-th one after it                             */
    int64_t work_limit;
    struct {
        int n, cap;
        pl_fold_class *at;
    } classes;
} finder;

/* -- a shift of the graph onto itself ---------------------------------------------------------- */

static void shift_node(finder *f, int a, int b)
{
    if (a == b || f->t.kind[a] != f->t.kind[b] || f->to[a] != -1 || f->from[b] != -1) return;
    f->to[a] = b;
    f->from[b] = a;
    PL_PUSH(f->tmp, &f->shifted, a);
}

/* Readers of a go to readers of b: at once where all of them agree and no two are alike; else that
 * waits until what is certain is done. */
static void shift_readers(finder *f, int a, int b, bool sure)
{
    pl_fold_table *t = &f->t;
    int first = t->first_reader[a], n = t->first_reader[a + 1] - first,
        n_b = t->first_reader[b + 1] - t->first_reader[b];
    if (a == b || !n || !n_b || n > PL_FOLD_MAX_READERS || n_b > PL_FOLD_MAX_READERS) return;
    bool wait = sure && t->sum[a] != t->sum[b];
    for (int k = 0; k < n && !wait; k++) {
        int from = t->reader[first + k].node;
        if (f->to[from] != -1) continue;
        int to = pl_fold_grow_match(t, a, k, f->to, b, f->from, sure);
        if (to >= 0) shift_node(f, from, to);
        wait = to == -2;
    }
    f->x.work += n;
    if (wait) PL_PUSH(f->tmp, &f->late, ((value_pair){ a, b }));
}

static void shift_around(finder *f, int a, int b)
{
    const pl_fold_table *t = &f->t;
    for (int k = 0; k < t->first_in[a + 1] - t->first_in[a]; k++) {
        int va = t->in[t->first_in[a] + k], vb = t->in[t->first_in[b] + k];
        int ma = t->maker[va], mb = t->maker[vb];
        if (ma >= 0 && mb >= 0 && t->port[va] == t->port[vb])
            shift_node(f, ma, mb);
        else if (ma < 0 && mb < 0)
            shift_readers(f, va, vb, true);
    }
    for (int k = 0; k < t->first_out[a + 1] - t->first_out[a]; k++)
        shift_readers(f, t->out[t->first_out[a] + k], t->out[t->first_out[b] + k], true);
}

static void clear_shift(finder *f)
{
    for (int i = 0; i < f->shifted.n; i++) {
        int x = f->shifted.at[i];
        f->from[f->to[x]] = -1;
        f->to[x] = -1;
    }
    f->shifted.n = f->late.n = 0;
}

/* The run through a that the shift with a -> b makes; its length, 0 for none. */
static int find_run(finder *f, int a, int b, int *run)
{
    clear_shift(f);
    shift_node(f, a, b);
    for (int done = 0, late = 0; done < f->shifted.n || late < f->late.n; f->x.work++) {
        if (done < f->shifted.n) {
            int x = f->shifted.at[done++];
            shift_around(f, x, f->to[x]);
        } else {
            value_pair p = f->late.at[late++];
            shift_readers(f, p.a, p.b, false);
        }
    }
    int n = 0, at = a, most = f->shifted.n + 1; /* more: it goes round in a circle */
    for (int i = 0; i < most && f->from[at] >= 0; i++) at = f->from[at];
    for (; at >= 0 && n <= most; at = f->to[at]) run[n++] = at;
    return n <= most && n > 1 ? n : 0;
}

/* -- the search -------------------------------------------------------------------------------- */

static void forget_best(finder *f)
{
    best *b = &f->best;
    for (int i = 0; i < b->n * b->length; i++) b->slot[b->node[i]] = -1;
    *b = (best){ .node = b->node, .slot = b->slot };
}

/* More instances, though they have a few slots less: that is where nodes add up what each instance
 * gives to all, one node less than there are instances. Or else more nodes in all. */
static bool is_better(const pl_fold_growth *growth, const best *b)
{
    if (!growth->score || !b->score) return growth->score > 0;
    if (growth->length > b->length && FEW * (b->n - growth->n_alive) <= b->n) return true;
    if (growth->length < b->length && FEW * (growth->n_alive - b->n) <= growth->n_alive)
        return false;
    if (growth->score != b->score) return growth->score > b->score;
    if (growth->length != b->length) return growth->length > b->length;
    return growth->n_crossing < b->n_crossing;
}

static void set_best(finder *f)
{
    const pl_fold_growth *x = &f->x;
    best *b = &f->best;
    forget_best(f);
    b->length = x->length, b->score = x->score, b->n_crossing = x->n_crossing;
    b->forward = x->forward, b->back = x->back;
    b->torn = x->torn;
    for (int s = 0; s < x->n; s++) {
        if (!x->alive[s]) continue;
        for (int i = 0; i < x->length; i++) {
            int node = x->node[s * x->length + i];
            b->node[b->n * x->length + i] = node;
            b->slot[node] = b->n;
        }
        b->n++;
    }
}

static void keep_best(finder *f)
{
    if (is_better(&f->x, &f->best)) set_best(f);
}

typedef struct span {
    int lo, n;
} span;

typedef struct spans {
    int n;
    span at[MAX_SPANS];
} spans;

/* In the order of length; the longest are kept. */
static void add_span(spans *l, int lo, int n)
{
    int k = 0;
    while (k < l->n && (l->at[k].n > n || (l->at[k].n == n && l->at[k].lo < lo))) k++;
    if (n < 2 || k == MAX_SPANS || (k < l->n && l->at[k].n == n && l->at[k].lo == lo)) return;
    if (l->n < MAX_SPANS) l->n++;
    memmove(l->at + k + 1, l->at + k, (size_t)(l->n - k - 1) * sizeof *l->at);
    l->at[k] = (span){ lo, n };
}

/* Instances between votes. The first and the last of a block have other neighbours than the rest,
 * so each end may lie one further out. */
static void find_spans(const pl_fold_growth *growth, spans *l)
{
    for (int lo = 0, i = 1; i <= growth->length; i++) {
        if (i < growth->length && !growth->votes[i]) continue;
        for (int first = lo ? lo - 1 : 0; first <= lo; first++)
            for (int end = i; end <= i + 1 && end <= growth->length; end++)
                if (end - first < growth->length) add_span(l, first, end - first);
        lo = i;
    }
    add_span(l, 1, growth->length - 1);
    add_span(l, 0, growth->length - 1);
    add_span(l, 1, growth->length - 2);
}

/* Grow a run, and where that loses slots shorter ones, down to the first that loses none. */
static void search(finder *f, const int *run, int length)
{
    const pl_fold_growth *x = &f->x;
    spans cut = { 0 };
    if (length < 2) return;
    pl_fold_grow(&f->x, 1, run, length, length);
    keep_best(f);
    if (x->n_alive == x->n) return;
    find_spans(x, &cut);
    for (int i = 0, clean = 0; i < cut.n && cut.at[i].n >= clean; i++) {
        pl_fold_grow(&f->x, 1, run + cut.at[i].lo, length, cut.at[i].n);
        keep_best(f);
        if (x->n_alive == x->n) clean = x->length;
    }
}

/* From other seeds a shift gives the same block again. */
static bool is_grown(finder *f, int length)
{
    shift s = { .length = length };
    for (int i = 0; i < f->shifted.n; i++)
        s.sum += pl_fold_key(f->shifted.at[i], f->to[f->shifted.at[i]]);
    for (int i = 0; i < f->grown.n; i++)
        if (f->grown.at[i].sum == s.sum && f->grown.at[i].length == length) return true;
    PL_PUSH(f->tmp, &f->grown, s);
    return false;
}

/* Try that b is to a what the next instance is to this one. */
static void search_shift(finder *f, int a, int b, int *run)
{
    const int *rank = f->rank;
    int length = find_run(f, a, b, run);
    for (int i = 1; i < length; i++) {
        int period = rank[run[i]] - rank[run[i - 1]];
        if (period > 0 && period <= MAX_PERIOD) f->tried[run[i - 1]] |= 1u << period;
    }
    if (!is_grown(f, length)) search(f, run, length);
}

/* The same; and as a pair that takes one node for another that looks alike is right on one side of
 * itself only, the middle of a block that comes of it is then tried in its place. */
static void search_pair(finder *f, int a, int b, int *run)
{
    const best *x = &f->best;
    /* In one slot of the best block already: a multiple of its period. */
    if (x->slot[a] >= 0 && x->slot[a] == x->slot[b]) return;
    for (bool again = true; again && f->x.work <= f->work_limit;) {
        int length = x->length, n = x->n;
        search_shift(f, a, b, run);
        again = x->length != length || x->n != n;
        if (again) a = x->node[x->length / 2 - 1], b = x->node[x->length / 2];
    }
}

/* A block of which each kind has several nodes may be several blocks: other nodes of its kind and
 * instance are tried as the next of a node. For seeds that do not depend on each other may come in
 * any order, and then the first shift that is found is not the least. */
static void search_shorter_period(finder *f, int *run)
{
    const best *b = &f->best;
    int *n_of = pl_fold_ints(f->tmp, f->t.n_kinds, 0), least = 0, node[MAX_PERIOD], n = 0;
    for (int s = 0; s < b->n; s++) n_of[f->t.kind[b->node[s * b->length]]]++;
    for (int s = 1; s < b->n; s++)
        if (n_of[f->t.kind[b->node[s * b->length]]] < n_of[f->t.kind[b->node[least * b->length]]])
            least = s;
    int kind = b->n ? f->t.kind[b->node[least * b->length]] : -1;
    for (int s = least; s < b->n && n < MAX_PERIOD; s++)
        if (f->t.kind[b->node[s * b->length]] == kind) node[n++] = b->node[s * b->length];
    for (int i = 1; i < n; i++) search_pair(f, node[0], node[i], run);
}

/* Try a member and the one `period` after it; is that enough? */
static bool search_members(finder *f, const int *member, int n, int i, int period, int *run)
{
    int n_in = 0;
    f->tried[member[i]] |= 1u << period;
    search_pair(f, member[i], member[i + period], run);
    for (int m = 0; m < n; m++) n_in += f->best.slot[member[m]] >= 0;
    return 8 * n_in >= 7 * n;
}

/* The best block that has nodes of these, which are of a kind and free. Pairs that are alike for
 * many steps around come first, among them the near ones, and of these the one in the middle. Runs
 * take one kind an eighth at most of the work that is left. */
static void search_kind(finder *f, const int *member, int n, int *run)
{
    const int start[] = { (n - 1) / 2, n / 4, 3 * n / 4, 0 };
    const int64_t limit = f->x.work + (f->work_limit - f->x.work) / 8;
    uint64_t *const *colour = f->t.colour;
    forget_best(f);
    for (int i = 0; i < n; i++) f->rank[member[i]] = i, f->tried[member[i]] = 0;
    pl_fold_table_refine(&f->t);
    for (int round = PL_FOLD_ROUNDS - 1; round >= -1; round--)
        for (int k = 0; k < 4 * MAX_PERIOD && f->x.work < limit; k++) {
            int period = 1 + k / 4;
            int i = start[k % 4] + period < n ? start[k % 4] : n - 1 - period;
            if (i < 0 || f->tried[member[i]] >> period & 1) continue;
            if (round >= 0 && colour[round][member[i]] != colour[round][member[i + period]])
                continue;
            if (search_members(f, member, n, i, period, run)) return;
        }
}

/* Nodes that add up what each instance gives to all, as the gradient of what all of them read, are
 * one less than there are instances: outside, each belongs to one of them. All instances but the
 * last, or but the first, or but both take in such nodes when they grow on from what they have. */
static void mend_torn(finder *f)
{
    const best *b = &f->best;
    const span part[] = { { 0, b->length - 1 }, { 1, b->length - 1 }, { 1, b->length - 2 } };
    for (int i = 0; i < 3 && b->torn && part[i].n > 2; i++) {
        pl_fold_grow(&f->x, b->n, b->node + part[i].lo, b->length, part[i].n);
        if (f->x.score && !f->x.torn && f->x.n_alive > b->n) set_best(f);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Enter the best block. The forward pass says which instance comes first; without one, the flow of
 * gradients does. */
static void accept(finder *f)
{
    const best *b = &f->best;
    clear_shift(f);
    f->grown.n = 0;
    int *order = PL_NEW_N(f->tmp, int, 2 * b->n);
    bool turn = b->forward < 0 || (!b->forward && b->back > 0);
    int **node = PL_NEW_N(f->out, int *, b->length);
    for (int s = 0; s < b->n; s++) {
        order[2 * s] = b->node[s * b->length + (turn ? b->length - 1 : 0)];
        order[2 * s + 1] = s;
    }
    qsort(order, (size_t)b->n, 2 * sizeof *order, by_number);
    for (int i = 0; i < b->length; i++) {
        node[i] = PL_NEW_N(f->out, int, b->n);
        for (int s = 0; s < b->n; s++) {
            node[i][s] = b->node[order[2 * s + 1] * b->length + (turn ? b->length - 1 - i : i)];
            f->to[node[i][s]] = f->from[node[i][s]] = f->x.slot[node[i][s]] = -2;
        }
    }
    PL_PUSH(f->tmp, &f->classes, ((pl_fold_class){ b->n, b->length, (const int *const *)node }));
}

/* -- the order of the search ------------------------------------------------------------------- */

typedef struct kind {
    int first, n;  /* its nodes */
    double weight; /* the product of its factors */
    bool backward;
} kind;

static int by_weight(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    if (x->backward != y->backward) return x->backward - y->backward;
    if (x->weight > y->weight || x->weight < y->weight) return x->weight > y->weight ? -1 : 1;
    return x->first - y->first;
}

/* Kinds of several nodes, and all nodes by kind. */
static int find_order(const finder *f, const pl_graph *graph, kind *at, int *member)
{
    int *end = pl_fold_ints(f->tmp, f->t.n_kinds, 0), n = 0;
    for (int i = 0; i < f->t.n_nodes; i++) end[f->t.kind[i]]++;
    for (int k = 0, sum = 0; k < f->t.n_kinds; k++) {
        at[k] = (kind){ .first = sum, .n = end[k], .weight = 1 };
        end[k] = sum;
        sum += at[k].n;
    }
    for (int i = 0; i < f->t.n_nodes; i++) {
        kind *k = &at[f->t.kind[i]];
        if (end[f->t.kind[i]] == k->first) {
            const pl_sig *s = graph->nodes.at[i]->sig;
            k->backward = f->t.backward[i];
            for (int x = 0; x < s->n_factors; x++) k->weight *= (double)s->factor[x].size;
        }
        member[end[f->t.kind[i]]++] = i;
    }
    for (int k = 0; k < f->t.n_kinds; k++)
        if (at[k].n > 1) at[n++] = at[k];
    qsort(at, (size_t)n, sizeof *at, by_weight);
    return n;
}

/* The free nodes of a kind: those of the forward pass where these are several. */
static int find_members(const finder *f, const kind *k, const int *member, int *found)
{
    for (int all = 0; all < 2; all++) {
        int n = 0;
        for (int i = k->first; i < k->first + k->n; i++)
            if (f->to[member[i]] != -2 && (all || !f->t.backward[member[i]]))
                found[n++] = member[i];
        if (n > 1 || all) return n;
    }
    return 0;
}

static void find_classes(finder *f, const pl_graph *graph)
{
    kind *at = PL_NEW_N(f->tmp, kind, f->t.n_kinds + 1);
    int n_kinds, *list[3]; /* all nodes by kind, those of one kind that are free, a run */
    for (int i = 0; i < 3; i++) list[i] = pl_fold_ints(f->tmp, f->t.n_nodes, 0);
    n_kinds = find_order(f, graph, at, list[0]);
    for (bool again = true; again;) {
        again = false;
        for (int k = 0; k < n_kinds; k++) {
            int n = find_members(f, &at[k], list[0], list[1]);
            if (n < 2) continue;
            search_kind(f, list[1], n, list[2]);
            if (f->best.score < LEAST_NODES) continue;
            search_shorter_period(f, list[2]);
            mend_torn(f);
            accept(f);
            again = true;
        }
    }
}

static int by_first(const void *a, const void *b)
{
    const pl_fold_class *x = a, *y = b;
    return x->node[0][0] - y->node[0][0];
}

pl_fold pl_fold_find(const pl_graph *graph, pl_arena *out)
{
    int n = graph->nodes.n, *where[3];
    pl_arena *tmp = pl_arena_new("fold");
    finder f = { .tmp = tmp, .out = out, .work_limit = (int64_t)WORK * (n + 1000) };
    f.t = pl_fold_table_new(graph, tmp);
    f.to = pl_fold_ints(tmp, n, -1);
    f.from = pl_fold_ints(tmp, n, -1);
    f.x = pl_fold_grow_new(&f.t, tmp);
    f.rank = pl_fold_ints(tmp, n, 0);
    f.tried = PL_NEW_N(tmp, unsigned, n + 1);
    f.best.node = pl_fold_ints(tmp, n, 0);
    f.best.slot = pl_fold_ints(tmp, n, -1);
    find_classes(&f, graph);
    pl_fold_class *at = PL_NEW_N(out, pl_fold_class, f.classes.n + 1);
    if (f.classes.n) memcpy(at, f.classes.at, (size_t)f.classes.n * sizeof *at);
    qsort(at, (size_t)f.classes.n, sizeof *at, by_first);
    for (int i = 0; i < 3; i++) where[i] = pl_fold_ints(out, n, -1);
    for (int c = 0; c < f.classes.n; c++)
        for (int i = 0; i < at[c].n_instances; i++)
            for (int s = 0; s < at[c].n_nodes; s++) {
                int id = at[c].node[i][s];
                where[0][id] = c, where[1][id] = i, where[2][id] = s;
            }
    pl_fold fold = { f.classes.n, at, where[0], where[1], where[2] };
    pl_arena_free(tmp);
    return fold;
}

int pl_fold_largest(const pl_fold *fold, int least)
{
    int largest = -1;
    int64_t most = 0;
    for (int i = 0; i < fold->n_classes; i++) {
        const pl_fold_class *c = &fold->at[i];
        const int64_t nodes = (int64_t)c->n_nodes * c->n_instances;
        if (c->n_instances >= least && nodes > most) most = nodes, largest = i;
    }
    return largest;
}
