/* What no plan is below: pl_floor_of(). */
#include "planners/floor.h"

#include "placement/speed.h"
#include "plan/plan.h"

#include <math.h>

/* Devices in a row that are equally fast, and what the whole graph takes one of them. */
typedef struct kind {
    pl_speed speed;
    int n;
    bool hosted; /* the cluster has memory of the host for them */
    double seconds, weight;
} kind;

static int find_kinds(const pl_cluster *c, kind at[])
{
    const int group = pl_cluster_group_size(c, c->n_levels - 1);
    for (int i = 0, first = 0; i < c->n_parts; first += at[i++].n) {
        at[i] = (kind){ .n = c->part[i].count * group };
        at[i].speed = pl_speed_among(c, first, at[i].n);
        at[i].hosted = pl_cluster_host_memory(c) > 0;
    }
    return c->n_parts;
}

/* None of what the host may do. */
static double node_seconds(const pl_plan *whole, int node, const kind *k)
{
    if (k->hosted && pl_plan_can_run_on_host(whole, whole->graph->nodes.at[node])) return 0;
    const pl_share share = pl_plan_share(whole, node, 0);
    return fmax(0, pl_speed_share(&share, &k->speed) - k->speed.start);
}

static void find_weights(const pl_plan *whole, int n, kind at[])
{
    double rate = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < whole->graph->nodes.n; i++)
            at[k].seconds += node_seconds(whole, i, &at[k]);
        rate += at[k].n / at[k].seconds;
    }
    for (int k = 0; k < n; k++) at[k].weight = 1 / at[k].seconds / rate;
}

double pl_floor_of(const pl_graph *g, const pl_cluster *c)
{
    pl_arena *tmp = pl_arena_new("floor");
    const pl_plan *whole = pl_plan_single(g, tmp);
    kind *at = PL_NEW_N(tmp, kind, c->n_parts + 1);
    const int n = find_kinds(c, at);
    double sum = 0;
    find_weights(whole, n, at);
    for (int i = 0; i < g->nodes.n; i++) {
        double least = INFINITY;
        for (int k = 0; k < n; k++)
            least = fmin(least, at[k].weight * node_seconds(whole, i, &at[k]));
        sum += least;
    }
    pl_arena_free(tmp);
    return sum;
}
