#include "search/mix.h"
#include "search/front.h"

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
        if (!m->value || cost.time < m->cost.time) {
            m->cost = cost;
            m->value = value;
        }
        return;
    }
}

/* Every choice of the net that is better than the incumbent, if that is not too much work. */
static bool eliminate(const pl_sum *s, const pl_net *net, pl_mix *m, pl_arena *out, pl_arena *tmp)
{
    bool bounded = m->value && !m->o->no_bound;
    double most = m->value ? pl_solve_goal(m->cost.time, m->o) + m->price * m->cap : 0;
    pl_fronts limits = { .price = m->price,
                         .slack = bounded ? most - net->bound : INFINITY,
                         .budget = m->cap,
                         .most = m->front,
                         .grain = m->value ? 1e-13 * fabs(m->cost.time) : 0,
                         .work_limit = (int64_t)m->labels };
    pl_fronts *f = pl_fronts_new(net->n, net->size, &limits, tmp);
    pl_fronts_net(f, net);
    f->budget += 1e-12 * fabs(m->cap);
    pl_order order = pl_fronts_order(f, NULL);
    m->entries = order.work;
    m->stopped = order.work > m->most;
    if (m->stopped) return false;
    pl_fronts_run(f, order);
    const pl_front *rest = pl_fronts_rest(f, 0, NULL);
    m->work += f->work;
    m->stopped = f->stopped;
    if (!f->stopped) offer_best(s, m, net, f, rest[0], out);
    return !f->stopped && !f->thinned;
}

bool pl_mix_net(const pl_sum *s, const pl_net *net, pl_mix *m, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("fronts");
    bool all = eliminate(s, net, m, out, tmp);
    pl_arena_free(tmp);
    return all;
}
