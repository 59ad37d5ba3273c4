/* Unsupported choices of a sum: Pareto points inside the convex hull of (memory, time), which no
 * price finds. eliminate() lists the Pareto front of all that is near enough to the bound,
 * offer_best() takes the fastest within the cap. */
#include "search/mix.h"
#include "search/front.h"

/* Takes the fastest label within the cap whose choice is better than the incumbent. */
static void offer_best(const pl_sum *sum, pl_mix *mix, const pl_net *net, const pl_fronts *fronts,
                       pl_front front, pl_arena *out)
{
    int *index = PL_NEW_N(fronts->arena, int, net->n), *value = PL_NEW_N(out, int, net->n);
    for (int i = front.n - 1; i >= 0; i--) {
        pl_label_trace(&front.at[i], index);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][index[v]];
        pl_cost cost = pl_sum_cost(sum, value);
        if (cost.memory > mix->cap) continue; /* by a rounding */
        if (!mix->value || cost.time < mix->cost.time) {
            mix->cost = cost;
            mix->value = value;
        }
        return;
    }
}

/* Every choice of the net that is better than the incumbent, if that is not too much work. */
static bool eliminate(const pl_sum *sum, const pl_net *net, pl_mix *mix, pl_arena *out,
                      pl_arena *tmp)
{
    bool bounded = mix->value && !mix->options->no_bound;
    double most =
        mix->value ? pl_solve_goal(mix->cost.time, mix->options) + mix->price * mix->cap : 0;
    pl_fronts limits = { .price = mix->price,
                         .slack = bounded ? most - net->bound : INFINITY,
                         .budget = mix->cap,
                         .most = mix->front,
                         .grain = mix->value ? 1e-13 * fabs(mix->cost.time) : 0,
                         .work_limit = (int64_t)mix->labels };
    pl_fronts *fronts = pl_fronts_new(net->n, net->size, &limits, tmp);
    pl_fronts_net(fronts, net);
    fronts->budget += 1e-12 * fabs(mix->cap);
    pl_order order = pl_fronts_order(fronts, NULL);
    mix->entries = order.work;
    mix->stopped = order.work > mix->most;
    if (mix->stopped) return false;
    pl_fronts_run(fronts, order);
    const pl_front *rest = pl_fronts_rest(fronts, 0, NULL);
    mix->work += fronts->work;
    mix->stopped = fronts->stopped;
    if (!fronts->stopped) offer_best(sum, mix, net, fronts, rest[0], out);
    return !fronts->stopped && !fronts->thinned;
}

bool pl_mix_net(const pl_sum *sum, const pl_net *net, pl_mix *mix, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("fronts");
    bool all = eliminate(sum, net, mix, out, tmp);
    pl_arena_free(tmp);
    return all;
}
