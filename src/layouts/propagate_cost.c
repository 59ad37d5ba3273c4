/* What a node's choice costs: pl_propagate_cost(). */
#include "layouts/propagate_cost.h"

#include "graph/op.h"

/* The greedy cost in bytes of memory traffic: one on a link costs as much as LINK of them, every
 * message LATENCY, and FLOPS operations one. Sums in a narrow type, where wide ones are wanted,
 * cost AVOIDED times more, and gathers where factors are to be exchanged FORBIDDEN times. Only the
 * order of choices depends on these numbers. */
enum { LINK = 32, LATENCY = 1 << 15, AVOIDED = 4, FORBIDDEN = 1024, FLOPS = 256 };

static const double ROUNDING = 1e-9; /* of sums in another order */

static double price(const pl_propagation *f, pl_type type, const pl_path *path)
{
    double cost = LINK * (double)path->bytes;
    bool avoid = f->wide_sums && pl_type_bytes(type) < pl_type_bytes(PL_F32);
    for (int i = 0; i < path->n; i++) {
        pl_collective k = path->move[i].kind;
        if (k > PL_MASK) cost += LATENCY;
        if (avoid && (k == PL_ALL_REDUCE || k == PL_REDUCE_SCATTER))
            cost += AVOIDED * LINK * (double)path->move[i].bytes;
        if (k == PL_ALL_GATHER && path->move[i].axes & f->exchange)
            cost += FORBIDDEN * LINK * (double)path->move[i].bytes;
    }
    return cost;
}

const pl_path *pl_propagate_path(pl_propagation *f, const pl_value *v, const pl_places *have,
                                 const pl_placement *to, double *cost, pl_path *path)
{
    int which;
    pl_err why = { 0 };
    *cost = 0;
    for (int i = 0; i < have->n; i++)
        if (pl_placement_same(&have->at[i], to)) return NULL;
    if (pl_reshard_find(&f->reshard, v->type, &v->shape, have->n, have->at, to, &which, path,
                        &why)) {
        *cost = price(f, v->type, path);
        return path;
    }
    *cost = PL_NO_WAY;
    return NULL;
}

double pl_propagate_bytes(const pl_propagation *f, const pl_value *v, const pl_placement *x)
{
    pl_shape s = pl_placement_local(x, &f->plan->mesh, &v->shape, 0);
    return (double)pl_shape_count(&s) * (double)pl_type_bytes(v->type);
}

static bool is_repeated(const pl_node *n, int o, const pl_placement at[])
{
    for (int i = 0; i < o; i++)
        if (n->in[i] == n->in[o] && pl_placement_same(&at[i], &at[o])) return true;
    return false;
}

bool pl_propagate_target(const pl_propagation *f, const pl_value *v, pl_placement *to)
{
    const pl_value *state = f->state_of[v->id];
    if (f->want[v->id].n)
        *to = f->want[v->id].at[0];
    else if (state && !f->open[state->id])
        *to = pl_placement_normal(&f->plan->stored[state->id], &f->plan->mesh, &state->shape);
    else
        return false;
    return true;
}

/* What a value has to go through: from where it lies, or is made, to where it is needed. */
typedef struct haul {
    const pl_value *value;
    pl_places from; /* [0]: none is needed */
    pl_placement to;
} haul;

/* Of an operand that lies at at[o]. An output goes on later; what is pending has to become whole
 * some day. */
static haul find_haul(const pl_propagation *f, const pl_node *n, int o, pl_placement at[])
{
    const pl_value *v = pl_node_value(n, o);
    haul x = { .value = v, .to = at[o] };
    if (o >= n->n_in) {
        x.from = (pl_places){ 1, 1, &at[o] };
        x.to.pending = 0;
        pl_propagate_target(f, v, &x.to);
    } else if (!f->open[v->id] && !is_repeated(n, o, at)) {
        x.from = f->have[v->id];
    }
    return x;
}

static double haul_cost(pl_propagation *f, const haul *x)
{
    pl_path path;
    double cost = 0;
    if (x->from.n) pl_propagate_path(f, x->value, &x->from, &x->to, &cost, &path);
    return cost;
}

static double least_haul_cost(const pl_propagation *f, const haul *x)
{
    return LINK * (double)pl_reshard_least_bytes(f->reshard.mesh, x->value->type, &x->value->shape,
                                                 x->from.n, x->from.at, &x->to);
}

/* What the device computes that has most to do; of nodes whose shares differ in that. */
static double heaviest(const pl_propagation *f, const pl_node *n)
{
    if (!n->op->most_flops) return 0;
    const pl_share s = pl_choice_share(&f->plan->choice[n->id], n, &f->plan->mesh, 0);
    return n->op->most_flops(&s) / FLOPS;
}

double pl_propagate_cost(pl_propagation *f, const pl_node *n, double most)
{
    pl_placement at[PL_MAX_OPERANDS];
    double bytes[PL_MAX_OPERANDS];
    haul x[PL_MAX_OPERANDS];
    const int all = n->n_in + n->n_out;
    const double enough = (1 + ROUNDING) * most;
    double cost = heaviest(f, n), least = cost;
    for (int o = 0; o < all; o++) {
        at[o] = pl_plan_operand(f->plan, n->id, o);
        least += bytes[o] = pl_propagate_bytes(f, pl_node_value(n, o), &at[o]);
    }
    for (int o = 0; o < all && least <= enough; o++) {
        x[o] = find_haul(f, n, o, at);
        least += least_haul_cost(f, &x[o]);
    }
    if (least > enough) return least;
    for (int o = 0; o < all && cost < most; o++) {
        cost += bytes[o];
        cost += haul_cost(f, &x[o]);
    }
    return cost;
}

double pl_propagate_reduce_cost(pl_propagation *f, const pl_value *v, const pl_placement *x,
                                int axis)
{
    pl_placement to = pl_placement_normal(x, &f->plan->mesh, &v->shape), from = to;
    pl_places have = { 1, 1, &from };
    pl_path path;
    double cost;
    int i = pl_placement_find(&to, axis);
    if (i >= 0) pl_placement_remove(&to, i);
    from = to;
    from.pending |= (uint8_t)(1u << axis), from.monoid = PL_SUM;
    pl_propagate_path(f, v, &have, &to, &cost, &path);
    return cost;
}
