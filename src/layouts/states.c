#include "layouts/states.h"

#include "graph/op.h"

#include <string.h>

void pl_states_append(pl_placement *p, int dim, int axis)
{
    pl_split x = { .dim = (int8_t)dim };
    for (int i = 0; i < p->n; i++)
        if (p->split[i].dim == dim) x = p->split[i]; /* the minor-most comes last */
    x.axis = (int8_t)axis;
    pl_placement_add(p, x);
}

/* -- inputs ------------------------------------------------------------------------------------ */

/* The dimension of an input that the first window slides over, or -1. */
static int find_rows(const pl_graph *g, const pl_value *x)
{
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const pl_operand *o = &g->nodes.at[i]->sig->operand[k];
            for (int d = 0; d < o->rank && pl_graph_leaf(g->nodes.at[i]->in[k]) == x; d++)
                if (o->dim[d].window >= 0) return d;
        }
    return -1;
}

void pl_states_inputs(pl_plan *p)
{
    static const char *const axes[] = { "data", "shard", "expert", "depth", "row", "i" };
    int spatial = pl_mesh_find(&p->mesh, "spatial");
    for (int v = 0; v < p->graph->values.n; v++) {
        const pl_value *x = p->graph->values.at[v];
        if (x->role != PL_INPUT || !x->shape.rank) continue;
        int rows = spatial >= 0 ? find_rows(p->graph, x) : -1;
        if (rows > 0) pl_placement_split(&p->stored[v], rows, spatial);
        if (x->shape.dim[0] < 2) continue;
        int64_t left = x->shape.dim[0];
        for (int k = 0; k < 6; k++) {
            int a = pl_mesh_find(&p->mesh, axes[k]);
            if (a < 0 || (k >= 3 && left < p->mesh.axis[a].size)) continue;
            pl_placement_split(&p->stored[v], 0, a);
            left /= p->mesh.axis[a].size;
        }
        p->stored[v] = pl_placement_normal(&p->stored[v], &p->mesh, &x->shape);
    }
}

/* -- states ------------------------------------------------------------------------------------ */

static const pl_value *find_like(const pl_plan *like, const pl_value *v)
{
    const pl_value *x = like ? pl_graph_find(like->graph, v->name) : NULL;
    return x && x->role == PL_STATE && pl_shape_same(&x->shape, &v->shape) ? x : NULL;
}

void pl_states_like(pl_follow *f, const pl_plan *like)
{
    const pl_graph *g = f->plan->graph;
    for (int i = 0; i < g->values.n && like; i++) {
        const pl_value *v = g->values.at[i], *x;
        if (v->role != PL_STATE || !(x = find_like(like, v))) continue;
        pl_placement at = like->stored[x->id];
        pl_follow_store(f, v, &at);
    }
}

/* The node by whose factors a state is split. */
typedef struct member {
    const pl_node *user; /* that changes or, where none does, reads it */
    int operand;         /* that it is of the user                     */
    bool changed;
} member;

static void find_updates(const pl_graph *g, member m[])
{
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        for (const char *at = n->op->inplace; at && *at; at++) {
            const pl_value *v = *at == '-' ? NULL : n->in[*at - '0'];
            if (v && v->role == PL_STATE) m[v->id] = (member){ n, *at - '0', true };
        }
    }
}

/* Where gradients are only added up, their sums tell how the weights are best split: in another
 * graph updates change both, in the same letters. */
static void follow_sums(const pl_graph *g, member m[])
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->kind == PL_GRAD_SUM && m[i].changed && !m[v->of->id].changed) m[v->of->id] = m[i];
    }
}

/* What nothing here changes is stored as its first reader can work. */
static void find_readers(const pl_graph *g, member m[])
{
    for (int i = g->nodes.n - 1; i >= 0; i--)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            member *x = &m[g->nodes.at[i]->in[k]->id];
            if (!x->changed) x->user = g->nodes.at[i], x->operand = k;
        }
}

/* -- zero -------------------------------------------------------------------------------------- */

/* Positions that are left of a factor for one more axis; 0 when it cannot take that. */
static int64_t count_left(const pl_plan *p, const member *x, const pl_choice *c, int factor)
{
    int64_t left = x->user->sig->factor[factor].size;
    if (!pl_share_can_cut(x->user, factor)) return 0;
    for (int a = 0; a < p->mesh.n; a++) {
        if (c->factor[a] != factor) continue;
        if (left % p->mesh.axis[a].size) return 0;
        left /= p->mesh.axis[a].size;
    }
    return left > 1 ? left : 0;
}

/* The factor of the user to split: the first that divides, else the widest of the first dimension
 * that has any; or -1. */
static int find_factor(const pl_plan *p, const member *x, const pl_choice *c, int axis)
{
    const pl_operand *o = &x->user->sig->operand[x->operand];
    int64_t most = 0;
    int best = -1, best_dim = -1;
    for (int d = 0; d < o->rank; d++)
        for (int k = 0; k < o->dim[d].n; k++) {
            int64_t left = count_left(p, x, c, o->dim[d].factor[k]);
            if (left && left % p->mesh.axis[axis].size == 0) return o->dim[d].factor[k];
            if (left <= most || (best >= 0 && d != best_dim)) continue;
            most = left, best_dim = d, best = o->dim[d].factor[k];
        }
    return best;
}

/* Splits a state over one more axis, so that the node that changes it can work there. */
static bool split_state(pl_plan *p, const member *x, const pl_value *v, pl_placement *at, int axis)
{
    bool split = pl_placement_find(at, axis) >= 0;
    if (split || !x->user || pl_shape_count(&v->shape) <= 1) return split;
    pl_placement normal = pl_placement_normal(at, &p->mesh, &v->shape);
    pl_choice *c = &p->choice[x->user->id], before = *c;
    *c = pl_follow_letters(p, x->user, x->operand, &normal);
    pl_placement worked = pl_plan_operand(p, x->user->id, x->operand);
    int factor = find_factor(p, x, c, axis);
    bool ok = factor >= 0 && pl_placement_same(&worked, &normal);
    if (ok) {
        int8_t level = -1;
        for (int a = 0; a < p->mesh.n; a++)
            if (c->factor[a] == factor && c->level[a] >= level) level = (int8_t)(c->level[a] + 1);
        c->factor[axis] = (int8_t)factor, c->level[axis] = level; /* the minor-most */
        *at = pl_plan_operand(p, x->user->id, x->operand);
    }
    *c = before;
    return ok;
}

/* What is added up stays as it was made: a sum pending over the axes that split the batch, or with
 * zero=2 split over one of them. */
static void leave_pending(const pl_roles *r, pl_placement *at)
{
    const pl_mesh *m = &r->follow.plan->mesh;
    const int axes[] = { r->data, r->shard, r->expert };
    for (int k = 0; k < 3; k++)
        if (axes[k] >= 0 && m->axis[axes[k]].size > 1 && pl_placement_find(at, axes[k]) < 0)
            at->pending |= (uint8_t)(1u << axes[k]);
}

void pl_states_finish(pl_roles *r, const pl_plan *like)
{
    static const int least[] = {
        [PL_BUFFER] = 4, [PL_WEIGHT] = 3, [PL_MOMENT] = 1, [PL_GRAD_SUM] = 2
    };
    pl_follow *f = &r->follow;
    pl_plan *p = f->plan;
    const pl_graph *g = p->graph;
    member *m = PL_NEW_N(f->arena, member, g->values.n + 1);
    pl_placement *at = PL_NEW_N(f->arena, pl_placement, g->values.n + 1);
    int axis = r->shard >= 0 ? r->shard : r->data;
    find_updates(g, m);
    follow_sums(g, m);
    find_readers(g, m);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i], *from = v->of ? v->of : v;
        if (v->role == PL_STATE && !f->open[from->id]) at[i] = p->stored[from->id];
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        bool split = v->role == PL_STATE && r->strategy->zero >= least[v->kind] && axis >= 0;
        bool twice = split && r->strategy->secondary; /* hpz: over both axes at rest */
        if (split && v->kind == PL_WEIGHT)
            p->regather[i] = (uint8_t)(twice ? 1u << axis : UINT8_MAX);
        if (f->cast[i]) p->regather[f->cast[i]->id] = p->regather[i];
        if (v->role != PL_STATE || find_like(like, v)) continue;
        if (split) split = split_state(p, &m[i], v, &at[i], axis);
        if (split && twice && r->data >= 0) (void)split_state(p, &m[i], v, &at[i], r->data);
        if (v->kind == PL_GRAD_SUM) leave_pending(r, &at[i]);
        if (split || f->open[i]) pl_follow_store(f, v, &at[i]);
    }
}
