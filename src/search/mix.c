#include "search/mix.h"
#include "search/front.h"

#include <string.h>

/* How often the slack is cut to a quarter before giving up. */
enum { MOST_CUTS = 8, PASSES = 24 };

/* Takes the fastest label within the cap whose choice is better than the incumbent. */
static void offer_best(const pl_sum *s, pl_mix *m, const pl_net *net, const pl_fronts *f,
                       pl_front front, pl_arena *out)
{
    int *index = PL_NEW_N(f->arena, int, net->n), *value = PL_NEW_N(out, int, net->n);
    for (int i = front.n - 1; i >= 0; i--) {
        pl_label_trace(&front.at[i], index);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][index[v]];
        pl_cost cost = pl_sum_cost(s, value);
        if (cost.memory > m->cap) continue; /* by a rounding */
        if (cost.time < m->cost.time) {
            m->cost = cost;
            m->value = value;
        }
        return;
    }
}

typedef enum outcome { TOO_LARGE, THINNED, EXACT } outcome;

static outcome eliminate(const pl_sum *s, pl_mix *m, pl_net *net, double slack, pl_arena *out)
{
    pl_arena *tmp = net ? pl_arena_new("fronts") : NULL;
    if (!net) return EXACT;
    pl_fronts limits = { .price = m->price,
                         .slack = slack,
                         .budget = m->cap,
                         .most = m->o->front,
                         .grain = 1e-13 * fabs(m->cost.time),
                         .work_limit = m->o->work_limit / 32 };
    pl_fronts *f = pl_fronts_new(net->n, net->size, &limits, tmp);
    pl_fronts_net(f, net);
    f->budget += 1e-12 * fabs(m->cap);
    pl_order order = pl_fronts_order(f, NULL);
    outcome result = TOO_LARGE;
    if (order.work <= (double)f->work_limit) {
        pl_fronts_run(f, order);
        const pl_front *rest = pl_fronts_rest(f, 0, NULL);
        if (!f->stopped) {
            offer_best(s, m, net, f, rest[0], out);
            result = f->thinned ? THINNED : EXACT;
        }
    }
    m->work += f->work;
    pl_arena_free(tmp);
    return result;
}

/* The best choice among the values in keep[][] whose weighted cost is at most `most`. */
static outcome mix_kept(const pl_sum *s, pl_mix *m, const pl_net *net, bool **keep, double most,
                        pl_arena *out, pl_arena *tmp)
{
    pl_net *cut = pl_net_keep(net, keep, NULL, false, tmp);
    if (cut) pl_net_remember(cut, s, tmp);
    if (cut) cut = pl_net_keep(cut, pl_net_keeps(cut, tmp), NULL, true, tmp);
    return eliminate(s, m, cut, m->o->no_bound || !cut ? INFINITY : most - cut->bound, out);
}

static void mix_known(const pl_sum *s, pl_mix *m, const pl_net *net, int n_known, int *const *known,
                      pl_arena *out, pl_arena *tmp)
{
    bool **keep = PL_NEW_N(tmp, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        keep[v] = PL_NEW_N(tmp, bool, net->size[v]);
        for (int x = 0; x < net->size[v]; x++)
            for (int k = 0; k < n_known; k++) keep[v][x] |= net->value[v][x] == known[k][v];
    }
    double most = pl_solve_goal(m->cost.time, m->o) + m->price * m->cap;
    mix_kept(s, m, net, keep, most, out, tmp);
}

static void mix(const pl_sum *s, int n_known, int *const *known, pl_mix *m, pl_net *net,
                pl_arena *out, pl_arena *tmp)
{
    double before = -INFINITY;
    for (int i = 0; i < PASSES && !m->o->no_bound; i++) {
        pl_net_pass(net, i % 2 == 0, NULL);
        if (i % 2 == 0) continue;
        if (net->bound - before < 1e-9 * fabs(net->bound)) break;
        before = net->bound;
    }
    m->work += net->work;
    double cap = m->price * m->cap, part = 1;
    mix_known(s, m, net, 2, known, out, tmp);
    mix_known(s, m, net, n_known, known, out, tmp);
    for (int i = 0; i < MOST_CUTS; i++, part /= 4) {
        double goal = pl_solve_goal(m->cost.time, m->o) + cap;
        double most = m->o->no_bound ? INFINITY : net->bound + (goal - net->bound) * part;
        bool **keep = pl_net_keeps(net, tmp);
        for (int v = 0; v < net->n; v++)
            for (int x = 0; x < net->size[v]; x++) keep[v][x] = net->least[v][x] <= most;
        outcome o = mix_kept(s, m, net, keep, most, out, tmp);
        if (o == EXACT)
            m->bound = fmax(m->bound, fmin(pl_solve_goal(m->cost.time, m->o), most - cap));
        if (o == EXACT || m->o->no_bound) return;
    }
}

void pl_mix_sum(const pl_sum *s, int n_known, int *const *known, pl_mix *m, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("mixtures");
    pl_net *net = pl_net_of(s, (pl_cost){ 1, m->price }, tmp);
    if (net) mix(s, n_known, known, m, net, out, tmp);
    pl_arena_free(tmp);
}
