/* Nodes into pieces. First one piece per group, or node of no group; then circles of the order are
 * one (strongly connected components, Tarjan 1972); then pieces that a best cut has no reason to
 * part are merged, round by round, until nothing changes.
 *
 * Let p be the last before v: all others before v come before p too. Were v moved to the stage of
 * p, the two stages would no longer send what only p and v share, w2 seconds, and at worst pay for
 * v itself and for what v shares with others but not with p, w3 seconds. Where v weighs nothing on
 * a host and in memory and seconds(v) + w3 <= w2, no stage takes longer, and the two are merged.
 * The same holds of the first after v. */
#include "stages/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

typedef struct pair {
    int a, b;
} pair;

typedef struct pairs {
    int n, cap;
    pair *at;
} pairs;

/* -- lists ------------------------------------------------------------------------------------- */

static int compare_pairs(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

/* Lists of the b of each a, ascending, each once. */
static pl_stages_lists list_pairs(int n, pairs *p, pl_arena *arena)
{
    int *at = PL_NEW_N(arena, int, n + 1), *item = PL_NEW_N(arena, int, p->n), m = 0;
    if (p->n) qsort(p->at, (size_t)p->n, sizeof *p->at, compare_pairs);
    for (int i = 0; i < p->n; i++) {
        if (i && !compare_pairs(&p->at[i], &p->at[i - 1])) continue;
        item[m++] = p->at[i].b;
        at[p->at[i].a + 1]++;
    }
    for (int i = 0; i < n; i++) at[i + 1] += at[i];
    return (pl_stages_lists){ n, at, item };
}

static pl_stages_lists turn_lists(int n, const pl_stages_lists *lists, pl_arena *arena)
{
    pairs p = { 0 };
    for (int i = 0; i < lists->n; i++)
        for (int k = lists->at[i]; k < lists->at[i + 1]; k++)
            PL_PUSH(arena, &p, ((pair){ lists->item[k], i }));
    return list_pairs(n, &p, arena);
}

/* -- the order --------------------------------------------------------------------------------- */

/* Edges that ask for an order, between labels. */
static void order_labels(const pl_stages_problem *x, const bool *led, const int *label,
                         pl_arena *arena, pairs *p)
{
    for (int e = 0; e < x->n_edges; e++) {
        const int u = x->edge[e].from, v = x->edge[e].to;
        if (label[u] == label[v]) continue;
        if (!x->node[u].backward && !x->node[v].backward)
            PL_PUSH(arena, p, ((pair){ label[u], label[v] }));
        else if (x->node[u].backward && x->node[v].backward && !(led[u] && led[v]))
            PL_PUSH(arena, p, ((pair){ label[v], label[u] }));
    }
}

typedef struct tarjan {
    const pl_stages_lists *after;
    int *number, *low, *next, *part; /* [n] number 0: not seen; part -1: none yet */
    int *open, n_open, *path, n_path, n_seen, n_parts;
} tarjan;

static void enter(tarjan *t, int v)
{
    t->number[v] = t->low[v] = ++t->n_seen;
    t->next[v] = t->after->at[v];
    t->open[t->n_open++] = t->path[t->n_path++] = v;
}

static void leave(tarjan *t, int v)
{
    t->n_path--;
    if (t->n_path) {
        const int up = t->path[t->n_path - 1];
        if (t->low[v] < t->low[up]) t->low[up] = t->low[v];
    }
    if (t->low[v] < t->number[v]) return;
    while (t->part[v] < 0) t->part[t->open[--t->n_open]] = t->n_parts;
    t->n_parts++;
}

/* The strongly connected component of each label, numbered in an order that the edges allow. */
static int find_parts(int n, const pl_stages_lists *after, pl_arena *arena, int **part)
{
    tarjan t = { .after = after };
    t.number = PL_NEW_N(arena, int, n);
    t.low = PL_NEW_N(arena, int, n);
    t.next = PL_NEW_N(arena, int, n);
    t.open = PL_NEW_N(arena, int, n);
    t.path = PL_NEW_N(arena, int, n);
    t.part = PL_NEW_N(arena, int, n);
    memset(t.part, -1, sizeof(int) * (size_t)n);
    for (int root = n - 1; root >= 0; root--) {
        if (!t.number[root]) enter(&t, root);
        while (t.n_path) {
            const int v = t.path[t.n_path - 1];
            if (t.next[v] == after->at[v + 1]) {
                leave(&t, v);
                continue;
            }
            const int w = after->item[t.next[v]++];
            if (!t.number[w])
                enter(&t, w);
            else if (t.part[w] < 0 && t.number[w] < t.low[v])
                t.low[v] = t.number[w];
        }
    }
    for (int v = 0; v < n; v++) t.part[v] = t.n_parts - 1 - t.part[v];
    *part = t.part;
    return t.n_parts;
}

/* -- values ------------------------------------------------------------------------------------ */

static int compare_ints(const void *x, const void *y)
{
    const int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

/* The pieces that make or read what a node makes, ascending; how many. */
static int find_pins(const pl_stages_lists *readers, const int *piece_of, int node, int *pin)
{
    int n = 1, m = 1;
    pin[0] = piece_of[node];
    for (int k = readers->at[node]; k < readers->at[node + 1]; k++)
        pin[n++] = piece_of[readers->item[k]];
    qsort(pin, (size_t)n, sizeof *pin, compare_ints);
    for (int i = 1; i < n; i++)
        if (pin[i] != pin[i - 1]) pin[m++] = pin[i];
    return m;
}

/* Values with the same pins are one: they are sent together. */
static void add_values(const pl_stages_problem *x, const pl_stages_lists *readers, pl_arena *out,
                       pl_arena *tmp, pl_stages_pieces *p)
{
    struct {
        int n, cap, *at;
    } start = { 0 }, pins = { 0 };
    struct {
        int n, cap;
        double *at;
    } send = { 0 };
    pl_map known = { 0 };
    int *pin = PL_NEW_N(tmp, int, x->n_nodes + 1);
    PL_PUSH(out, &start, 0);
    for (int u = 0; u < x->n_nodes; u++) {
        if (x->node[u].send <= 0) continue;
        const int n = find_pins(readers, p->piece_of, u, pin);
        if (n < 2) continue;
        const uint64_t hash = pl_hash_span(0, pin, sizeof *pin * (size_t)n);
        int same = -1;
        PL_MAP_EACH (&known, hash, at) {
            const int from = start.at[at.value], to = start.at[at.value + 1];
            if (to - from == n && !memcmp(pins.at + from, pin, sizeof *pin * (size_t)n))
                same = at.value;
        }
        if (same >= 0) {
            send.at[same] += x->node[u].send;
            continue;
        }
        pl_map_put(&known, hash, send.n, tmp);
        for (int i = 0; i < n; i++) PL_PUSH(out, &pins, pin[i]);
        PL_PUSH(out, &start, pins.n);
        PL_PUSH(out, &send, x->node[u].send);
    }
    p->send = send.at;
    p->pins = (pl_stages_lists){ send.n, start.at, pins.at };
    p->values = turn_lists(p->n, &p->pins, out);
}

/* -- merging ----------------------------------------------------------------------------------- */

/* Of the pieces beside v that come last before it or first after it, all others being before or
 * after that one as well; -1: there is none. `near` are the edges to that side, `reach` the pieces
 * that can be reached from each that way. */
static int find_neighbor(const pl_stages_lists *near, const uint64_t *reach, size_t words, int v,
                         bool last)
{
    const int from = near->at[v], to = near->at[v + 1];
    if (from == to) return -1;
    const int p = near->item[last ? to - 1 : from];
    for (int k = from; k < to; k++) {
        const int u = near->item[k];
        if (u != p && !(reach[(size_t)p * words + (size_t)u / 64] >> (u % 64) & 1)) return -1;
    }
    return p;
}

static bool never_cut(const pl_stages_pieces *p, int v, int beside)
{
    double shared = 0, others = p->seconds[v];
    for (int k = p->values.at[v]; k < p->values.at[v + 1]; k++) {
        const int e = p->values.item[k], from = p->pins.at[e], to = p->pins.at[e + 1];
        bool has = false;
        for (int i = from; i < to; i++) has |= p->pins.item[i] == beside;
        if (!has)
            others += p->send[e];
        else if (to - from == 2)
            shared += p->send[e];
    }
    return others <= shared;
}

/* Which pieces come before each, or after, by any way. */
static uint64_t *find_reach(const pl_stages_lists *near, bool up, size_t words, pl_arena *tmp)
{
    uint64_t *reach = PL_NEW_N(tmp, uint64_t, (size_t)near->n * words);
    for (int i = 0; i < near->n; i++) {
        const int v = up ? i : near->n - 1 - i;
        uint64_t *own = reach + (size_t)v * words;
        for (int k = near->at[v]; k < near->at[v + 1]; k++) {
            const size_t u = (size_t)near->item[k];
            for (size_t w = 0; w < words; w++) own[w] |= reach[u * words + w];
            own[u / 64] |= (uint64_t)1 << (u % 64);
        }
    }
    return reach;
}

/* Two pieces beside v that may take it in, or -1: neighbours in the order; where it has none, any
 * piece may, and one that shares a value comes first. */
static void find_beside(const pl_stages_pieces *p, const uint64_t *up, const uint64_t *down,
                        size_t words, int v, int beside[2])
{
    beside[0] = find_neighbor(&p->before, up, words, v, true);
    beside[1] = find_neighbor(&p->after, down, words, v, false);
    if (p->before.at[v] < p->before.at[v + 1] || p->after.at[v] < p->after.at[v + 1]) return;
    beside[0] = p->n > 1 ? v == 0 : -1;
    for (int k = p->values.at[v]; k < p->values.at[v + 1]; k++) {
        const int *pin = p->pins.item + p->pins.at[p->values.item[k]];
        beside[1] = pin[pin[0] == v];
    }
}

/* Put each piece that need not be parted from one beside it under the label of that one; the
 * number of labels. In one round a piece that others join stays where it is. */
static int merge_pieces(const pl_stages_problem *x, const pl_stages_pieces *p, bool weighed,
                        pl_arena *tmp, int *label)
{
    const size_t words = (size_t)p->n / 64 + 1;
    const uint64_t *up = find_reach(&p->before, true, words, tmp);
    const uint64_t *down = find_reach(&p->after, false, words, tmp);
    int *joins = PL_NEW_N(tmp, int, p->n), *name = PL_NEW_N(tmp, int, p->n), n = 0;
    bool *stays = PL_NEW_N(tmp, bool, p->n);
    for (int v = 0; v < p->n; v++) joins[v] = v;
    for (int v = 0; v < p->n; v++) {
        if (stays[v] || (x->n_hosts && p->host[v] > 0) || (weighed && p->bytes[v] > 0)) continue;
        int beside[2];
        find_beside(p, up, down, words, v, beside);
        for (int k = 0; k < 2 && joins[v] == v; k++)
            if (beside[k] >= 0 && joins[beside[k]] == beside[k] && never_cut(p, v, beside[k])) {
                joins[v] = beside[k];
                stays[beside[k]] = true;
            }
    }
    for (int v = 0; v < p->n; v++)
        if (joins[v] == v) name[v] = n++;
    for (int u = 0; u < x->n_nodes; u++) label[u] = name[joins[p->piece_of[u]]];
    return n;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int label_groups(const pl_stages_problem *x, pl_arena *tmp, int *label, bool *led)
{
    int *of_group = PL_NEW_N(tmp, int, x->n_nodes), n = 0;
    bool *has_forward = PL_NEW_N(tmp, bool, x->n_nodes);
    memset(of_group, -1, sizeof(int) * (size_t)x->n_nodes);
    for (int u = 0; u < x->n_nodes; u++) {
        const int g = x->node[u].group;
        label[u] = g >= 0 && of_group[g] >= 0 ? of_group[g] : n++;
        if (g >= 0) of_group[g] = label[u];
        has_forward[label[u]] |= !x->node[u].backward;
    }
    for (int u = 0; u < x->n_nodes; u++) led[u] = has_forward[label[u]];
    return n;
}

static void build(const pl_stages_problem *x, const bool *led, const pl_stages_lists *readers,
                  int n_labels, const int *label, pl_arena *out, pl_arena *tmp, pl_stages_pieces *p)
{
    pairs order = { 0 }, quotient = { 0 };
    int *part, *piece_of = PL_NEW_N(out, int, x->n_nodes);
    order_labels(x, led, label, tmp, &order);
    const pl_stages_lists after = list_pairs(n_labels, &order, tmp);
    p->n = find_parts(n_labels, &after, tmp, &part);
    for (int u = 0; u < x->n_nodes; u++) piece_of[u] = part[label[u]];
    p->piece_of = piece_of;
    double *seconds = PL_NEW_N(out, double, p->n), *host = PL_NEW_N(out, double, p->n);
    int64_t *bytes = PL_NEW_N(out, int64_t, p->n);
    for (int u = 0; u < x->n_nodes; u++) {
        seconds[piece_of[u]] += x->node[u].seconds;
        host[piece_of[u]] += x->node[u].host_seconds;
        bytes[piece_of[u]] += x->node[u].bytes;
    }
    p->seconds = seconds, p->host = host, p->bytes = bytes;
    for (int a = 0; a < n_labels; a++)
        for (int k = after.at[a]; k < after.at[a + 1]; k++)
            if (part[a] != part[after.item[k]])
                PL_PUSH(tmp, &quotient, ((pair){ part[a], part[after.item[k]] }));
    p->after = list_pairs(p->n, &quotient, out);
    p->before = turn_lists(p->n, &p->after, out);
    add_values(x, readers, out, tmp, p);
}

void pl_stages_split(const pl_stages_problem *x, pl_arena *out, pl_stages_pieces *pieces)
{
    pl_arena *tmp = pl_arena_new("stage pieces");
    int *label = PL_NEW_N(tmp, int, x->n_nodes);
    bool *led = PL_NEW_N(tmp, bool, x->n_nodes); /* its group has a forward node */
    int n = label_groups(x, tmp, label, led);
    pairs edges = { 0 };
    int64_t bytes = 0;
    for (int e = 0; e < x->n_edges; e++)
        PL_PUSH(tmp, &edges, ((pair){ x->edge[e].from, x->edge[e].to }));
    for (int u = 0; u < x->n_nodes; u++) bytes += x->node[u].bytes;
    const pl_stages_lists readers = list_pairs(x->n_nodes, &edges, tmp);
    for (int before = -1; n != before;) {
        pl_arena *round = pl_arena_new("stage pieces, a round");
        pl_stages_pieces p = { 0 };
        build(x, led, &readers, n, label, round, round, &p);
        before = p.n;
        n = merge_pieces(x, &p, x->bytes > 0 && bytes > x->bytes, round, label);
        pl_arena_free(round);
    }
    build(x, led, &readers, n, label, out, tmp, pieces);
    pl_arena_free(tmp);
}
