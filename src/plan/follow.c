/* Complete a plan whose stored placements were written by hand: each node, in order, takes the
 * choice that is cheapest given the placements its inputs already have. */
#include "graph/op.h"
#include "plan/plan.h"

/* Weights of the greedy cost, in bytes: a byte on a link costs as much as this many bytes of memory
 * traffic, and every message costs a latency. Only the order of choices depends on them. */
enum { LINK = 4, LATENCY = 1 << 16 };

typedef struct greedy {
    pl_plan *plan;
    pl_placement *made; /* [values] as its maker leaves it */
} greedy;

static double local_bytes(const pl_value *v, const pl_placement *x, const pl_mesh *m)
{
    pl_shape s = pl_placement_local(x, m, &v->shape);
    return (double)pl_shape_count(&s) * (double)pl_type_bytes(v->type);
}

/* Bytes to change a placement, axis by axis; what cannot be done at all costs more than
 * anything. */
static double move_cost(const pl_value *v, const pl_placement *from, const pl_placement *to,
                        const pl_mesh *m)
{
    double whole = (double)pl_shape_count(&v->shape) * (double)pl_type_bytes(v->type), cost = 0;
    if (from->pending & to->pending && from->monoid != to->monoid) return 1e30;
    for (int a = 0; a < m->n; a++) {
        int d_from = pl_placement_dim(from, a), d_to = pl_placement_dim(to, a);
        bool p_from = from->pending >> a & 1, p_to = to->pending >> a & 1;
        if (d_from == d_to && p_from == p_to) continue;
        if (p_to) return 1e30; /* nothing makes partial results */
        if (p_from)
            cost += 2 * LINK * whole + LATENCY; /* all-reduce                    */
        else if (d_from >= 0)
            cost += LINK * whole + LATENCY;                 /* all-gather                    */
        if (d_to >= 0) cost += 2 * whole / m->axis[a].size; /* copy out the slice            */
    }
    return cost;
}

static double node_cost(const greedy *g, const pl_node *n)
{
    const pl_mesh *m = &g->plan->mesh;
    double cost = 0;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = pl_plan_operand(g->plan, n->id, o);
        const pl_value *v = o < n->n_in ? n->in[o] : n->out[o - n->n_in];
        cost += local_bytes(v, &x, m);
        if (o < n->n_in) cost += move_cost(v, &g->made[v->id], &x, m);
    }
    return cost;
}

static bool updates_state(const pl_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->op->inplace && n->in[i]->role == PL_STATE) return true;
    return false;
}

static void choose(greedy *g, const pl_node *n, int axis)
{
    int8_t *f = &g->plan->choice[n->id].factor[axis], best = PL_COPIED;
    *f = PL_COPIED;
    double least = node_cost(g, n);
    if (g->plan->mesh.axis[axis].size == 1) return;   /* nothing to split over */
    if (updates_state(n)) return;                     /* it works where its state is stored */
    for (int k = 0; k < n->sig->n_factors + 4; k++) { /* no operator has more than 4 linear sets */
        pl_err why = { 0 };
        *f = (int8_t)(k < n->sig->n_factors ? k : PL_LINEAR - (k - n->sig->n_factors));
        if (!pl_plan_check_node(g->plan, n, &why)) continue;
        double cost = node_cost(g, n);
        if (cost < least) least = cost, best = *f;
    }
    *f = best;
}

void pl_plan_follow(pl_plan *p)
{
    pl_arena *tmp = pl_arena_new("plan follow");
    greedy g = { .plan = p, .made = PL_NEW_N(tmp, pl_placement, p->graph->values.n + 1) };
    for (int i = 0; i < p->graph->values.n; i++)
        if (!p->graph->values.at[i]->maker) g.made[i] = p->stored[i];
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        for (int a = 0; a < p->mesh.n; a++) choose(&g, n, a);
        for (int k = 0; k < n->n_out; k++)
            g.made[n->out[k]->id] = pl_plan_operand(p, i, n->n_in + k);
    }
    pl_arena_free(tmp);
}
