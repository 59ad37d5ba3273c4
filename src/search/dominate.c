/* Dominance: values that another one always beats (net.h). Read pl_net_is_beaten(). */
#include "search/net.h"

/* The least over the neighbour's values of (cost of s) - (cost of t). */
static double least_difference(const pl_net_edge *edge, int v, int s, int t, const bool *kept)
{
    const double *cost = edge->table.cost;
    size_t stride = (size_t)edge->table.cols;
    double least = INFINITY;
    if (edge->a == v) {
        const double *rs = cost + (size_t)s * stride, *rt = cost + (size_t)t * stride;
        for (int y = 0; y < edge->table.cols; y++)
            if (kept[y] && rs[y] - rt[y] < least) least = rs[y] - rt[y];
    } else {
        for (int x = 0; x < edge->table.rows; x++) {
            const double *row = cost + (size_t)x * stride;
            if (kept[x] && row[s] - row[t] < least) least = row[s] - row[t];
        }
    }
    return least;
}

/* How much s costs more than t, at the least. The sum over edges stops when it cannot recover: a
 * difference that is an illegal entry of t is never made good. */
bool pl_net_is_beaten(pl_net *net, int v, int s, int t, bool *const *keep)
{
    double sum = net->unary[v][s] - net->unary[v][t];
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        int other = e->a == v ? e->b : e->a;
        net->work += net->size[other];
        sum += least_difference(e, v, s, t, keep[other]);
        if (!pl_net_is_legal(-sum)) return false;
    }
    return sum >= 0;
}

/* The kept values of v with the least unary cost, potentials included. */
int pl_net_rivals(const pl_net *net, int v, const bool *kept, int rival[PL_NET_RIVALS])
{
    double *sum = net->scratch[0];
    for (int x = 0; x < net->size[v]; x++) sum[x] = net->unary[v][x];
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        for (int x = 0; x < net->size[v]; x++) sum[x] += e->a == v ? e->to_a[x] : e->to_b[x];
    }
    int n = 0;
    for (int x = 0; x < net->size[v]; x++) {
        if (!kept[x]) continue;
        int at = n < PL_NET_RIVALS ? n++ : PL_NET_RIVALS;
        for (; at > 0 && sum[rival[at - 1]] > sum[x]; at--)
            if (at < PL_NET_RIVALS) rival[at] = rival[at - 1];
        if (at < PL_NET_RIVALS) rival[at] = x;
    }
    return n;
}

int pl_net_dominate(pl_net *net, const bool *fixed, bool **keep)
{
    int gone = 0;
    for (int v = 0; v < net->n; v++) {
        if (net->size[v] == 1 || (fixed && fixed[v])) continue;
        int rival[PL_NET_RIVALS], n = pl_net_rivals(net, v, keep[v], rival);
        for (int s = 0; s < net->size[v]; s++)
            for (int i = 0; i < n && keep[v][s]; i++)
                if (rival[i] != s && keep[v][rival[i]] &&
                    pl_net_is_beaten(net, v, s, rival[i], keep)) {
                    keep[v][s] = false;
                    gone++;
                }
    }
    return gone;
}
