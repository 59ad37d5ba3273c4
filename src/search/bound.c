/* Passes of sequential message passing (net.h), and their order. Read pl_net_pass() and visit():
 * a variable takes what the edges behind it can spare (pull), its least value goes to the bound,
 * and the rest goes on to the edges ahead (push). */
#include "search/lanes.h"
#include "search/net.h"

#include <string.h>

static int other_end(const pl_net *net, int i, int v)
{
    const pl_net_edge *e = &net->edge[net->incident[i]];
    return e->a == v ? e->b : e->a;
}

/* The variables that are open, and how many each would open if it came next. */
typedef struct front {
    int n, *open, *fresh;
    bool *seen;
} front;

static void open_one(const pl_net *net, front *f, int v)
{
    if (f->seen[v]) return;
    f->seen[v] = true;
    f->open[f->n++] = v;
    for (int i = net->first[v]; i < net->first[v + 1]; i++) f->fresh[other_end(net, i, v)]--;
}

int pl_net_spread(const pl_net *net, int *queue, bool *seen)
{
    int n = 1;
    memset(seen, 0, (size_t)net->n * sizeof *seen);
    seen[queue[0]] = true;
    for (int at = 0; at < n; at++)
        for (int i = net->first[queue[at]]; i < net->first[queue[at] + 1]; i++) {
            int other = other_end(net, i, queue[at]);
            if (!seen[other]) seen[queue[n++] = other] = true;
        }
    return n;
}

/* Where nothing is open: a variable at one end of what is left, so that the passes go along it and
 * not from its middle both ways. */
static int find_start(const pl_net *net, const front *f, int *queue, bool *seen)
{
    int v = 0;
    while (f->seen[v]) v++;
    for (int i = 0; i < 2; i++) {
        queue[0] = v;
        v = queue[pl_net_spread(net, queue, seen) - 1];
    }
    return v;
}

void pl_net_arrange(pl_net *net, pl_arena *arena)
{
    int n = net->n;
    front f = { 0, PL_NEW_N(arena, int, n), PL_NEW_N(arena, int, n), PL_NEW_N(arena, bool, n) };
    int *queue = PL_NEW_N(arena, int, n);
    bool *seen = PL_NEW_N(arena, bool, n);
    for (int v = 0; v < n; v++) f.fresh[v] = net->first[v + 1] - net->first[v];
    net->order = PL_NEW_N(arena, int, n);
    net->rank = PL_NEW_N(arena, int, n);
    for (int at = 0; at < n; at++) {
        int best = 0;
        if (!f.n) open_one(net, &f, find_start(net, &f, queue, seen));
        for (int i = 1; i < f.n; i++) /* of equals the one that has been open longest */
            if (f.fresh[f.open[i]] < f.fresh[f.open[best]]) best = i;
        int v = f.open[best];
        f.n--;
        for (int i = best; i < f.n; i++) f.open[i] = f.open[i + 1];
        net->order[at] = v;
        net->rank[v] = at;
        for (int i = net->first[v]; i < net->first[v + 1]; i++)
            open_one(net, &f, other_end(net, i, v));
    }
}

static int choose(const pl_net *net, int v, bool forward, const int *pick, const double *sum,
                  double *cost)
{
    int size = net->size[v], best = 0;
    memcpy(cost, sum, (size_t)size * sizeof *cost);
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        int other = e->a == v ? e->b : e->a;
        if ((net->rank[other] < net->rank[v]) != forward) continue;
        size_t stride = (size_t)e->table.cols, at = (size_t)pick[other];
        for (int x = 0; x < size; x++)
            cost[x] += e->a == v ? e->table.cost[(size_t)x * stride + at] - e->to_a[x]
                                 : e->table.cost[at * stride + (size_t)x] - e->to_b[x];
    }
    for (int x = 1; x < size; x++)
        if (cost[x] < cost[best]) best = x;
    return best;
}

/* Any potential up to what was pulled leaves no entry below zero. */
static void limit(double *to, int n)
{
    double most = 0;
    for (int x = 0; x < n; x++)
        if (pl_net_is_legal(to[x]) && to[x] > most) most = to[x];
    for (int x = 0; x < n; x++)
        if (!pl_net_is_legal(to[x])) to[x] = most;
}

/* What an edge can spare for each value of v: the least of the table, less the other end's. */
static void take_least(const pl_net *net, pl_net_edge *e, int v)
{
    const int cols = e->table.cols;
    const bool is_row = e->a == v;
    const pl_block b = { e->table.rows, cols, (size_t)cols, e->table.cost };
    const double *other = is_row ? e->to_b : e->to_a;
    double *less = net->scratch[0];
    for (int x = 0; x < (is_row ? cols : b.rows); x++) less[x] = -other[x];
    if (is_row)
        pl_least_of_rows(b, less, e->to_a);
    else
        pl_least_of_columns(b, less, e->to_b);
}

/* Takes what the edges to variables visited before v can spare. Returns how many lie ahead. */
static int pull(pl_net *net, int v, bool forward)
{
    int ahead = 0;
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        pl_net_edge *e = &net->edge[net->incident[i]];
        int other = e->a == v ? e->b : e->a;
        if ((net->rank[other] < net->rank[v]) != forward) {
            ahead++;
            continue;
        }
        net->work += (int64_t)e->table.rows * e->table.cols;
        take_least(net, e, v);
        if (e->loose) limit(e->a == v ? e->to_a : e->to_b, net->size[v]);
    }
    return ahead;
}

/* All goes on, in equal parts. (Kolmogorov's 1 / max(ahead, behind) keeps a part where many edges
 * end, and is several times slower on plans.) */
static void push(pl_net *net, int v, bool forward, const double *sum, double share)
{
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        pl_net_edge *e = &net->edge[net->incident[i]];
        int other = e->a == v ? e->b : e->a;
        if ((net->rank[other] < net->rank[v]) == forward) continue;
        double *to = e->a == v ? e->to_a : e->to_b;
        for (int x = 0; x < net->size[v]; x++) to[x] -= share * sum[x];
    }
}

static void visit(pl_net *net, int v, bool forward, int *pick)
{
    int size = net->size[v], ahead = pull(net, v, forward);
    double *sum = net->scratch[0], least = INFINITY;
    memcpy(sum, net->unary[v], (size_t)size * sizeof *sum);
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        const double *to = e->a == v ? e->to_a : e->to_b;
        for (int x = 0; x < size; x++) sum[x] += to[x];
    }
    for (int x = 0; x < size; x++) least = pl_lesser(least, sum[x]);
    net->bound += least;
    for (int x = 0; x < size; x++) {
        net->unary[v][x] -= least;
        sum[x] -= least;
        if (net->settled && net->bound + sum[x] > net->least[v][x])
            net->least[v][x] = net->bound + sum[x];
    }
    if (pick) pick[v] = choose(net, v, forward, pick, sum, net->scratch[1]);
    if (ahead) push(net, v, forward, sum, 1.0 / ahead);
}

void pl_net_pass(pl_net *net, bool forward, int *pick)
{
    for (int i = 0; i < net->n; i++)
        visit(net, net->order[forward ? i : net->n - 1 - i], forward, pick);
    net->settled = true;
}
