/* Rounds of passes. Potentials creep: from one pass to the next they move on in about the same
 * direction, a little less far each time. So a round ends with an extrapolation in that
 * direction, which is taken back unless it gained more than passes did. Any potentials give a
 * true bound; a step too far can only make it a low one. */
#include "search/net.h"

#include <string.h>

/* How many times as far as the last two passes went. */
static const double FIRST_STEP = 4, LEAST_STEP = 2, MOST_STEP = 64;

/* Where the potentials were. */
typedef struct place {
    double *at, *unary, bound;
} place;

static size_t count_potentials(const pl_net *net)
{
    size_t n = 0;
    for (int p = 0; p < net->n_edges; p++)
        n += (size_t)net->edge[p].table.rows + (size_t)net->edge[p].table.cols;
    return n;
}

static size_t count_values(const pl_net *net)
{
    size_t n = 0;
    for (int v = 0; v < net->n; v++) n += (size_t)net->size[v];
    return n;
}

static place remember(const pl_net *net, pl_arena *arena)
{
    place s = { .at = pl_arena_get(arena, count_potentials(net), sizeof *s.at),
                .unary = pl_arena_get(arena, count_values(net), sizeof *s.unary),
                .bound = net->bound };
    double *at = s.at, *unary = s.unary;
    for (int p = 0; p < net->n_edges; p++) {
        const pl_net_edge *e = &net->edge[p];
        memcpy(at, e->to_a, (size_t)e->table.rows * sizeof *at);
        at += e->table.rows;
        memcpy(at, e->to_b, (size_t)e->table.cols * sizeof *at);
        at += e->table.cols;
    }
    for (int v = 0; v < net->n; unary += net->size[v++])
        memcpy(unary, net->unary[v], (size_t)net->size[v] * sizeof *unary);
    return s;
}

static void move(double *to, const double *from, const double *at, int n, double times)
{
    for (int x = 0; x < n; x++) to[x] = at[x] + times * (at[x] - from[x]);
}

/* From `from` over `at` and so many times on: 0 goes back to `at`. Its edges may have entries below
 * zero until the next pass. */
static void extrapolate(pl_net *net, const place *from, const place *at, double times)
{
    const double *f = from->at, *t = at->at;
    for (int p = 0; p < net->n_edges; p++) {
        pl_net_edge *e = &net->edge[p];
        move(e->to_a, f, t, e->table.rows, times);
        f += e->table.rows, t += e->table.rows;
        move(e->to_b, f, t, e->table.cols, times);
        f += e->table.cols, t += e->table.cols;
    }
    net->settled = false;
}

static void go_back(pl_net *net, const place *at)
{
    const double *unary = at->unary;
    extrapolate(net, at, at, 0);
    for (int v = 0; v < net->n; unary += net->size[v++])
        memcpy(net->unary[v], unary, (size_t)net->size[v] * sizeof *unary);
    net->bound = at->bound;
    net->settled = true;
}

static void pass_twice(pl_net *net, int *pick)
{
    pl_net_pass(net, true, pick);
    pl_net_pass(net, false, pick);
}

void pl_net_round(pl_net *net, int *pick)
{
    pl_arena *tmp = pl_arena_new("climb");
    pass_twice(net, pick);
    place from = remember(net, tmp);
    pass_twice(net, pick);
    place at = remember(net, tmp);
    if (net->step == 0) net->step = FIRST_STEP;
    extrapolate(net, &from, &at, net->step);
    pass_twice(net, pick);
    if (net->bound - at.bound > at.bound - from.bound) {
        net->step = fmin(1.5 * net->step, MOST_STEP);
    } else {
        net->step = fmax(net->step / 2, LEAST_STEP);
        go_back(net, &at);
    }
    pl_arena_free(tmp);
}
