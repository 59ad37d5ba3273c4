/* Where inputs and states are stored. Read pl_storage_inputs(), then pl_storage_finish(): what each
 * state's update can split, then the axes that a layout adds. */
#include "layouts/storage.h"

#include "graph/op.h"

#include <string.h>

void pl_storage_append(pl_placement *p, int dim, int axis)
{
    pl_split x = { .dim = (int8_t)dim };
    for (int i = 0; i < p->n; i++)
        if (p->split[i].dim == dim) x = p->split[i]; /* the minor-most comes last */
    x.axis = (int8_t)axis;
    pl_placement_add(p, x);
}

/* -- inputs ------------------------------------------------------------------------------------ */

/* The first dimension over the axes of rows. */
static pl_placement place_rows(const pl_strategy *s, const pl_plan *p, const pl_shape *shape)
{
    const unsigned batch = pl_strategy_axes(s, PL_AXIS_BATCH);
    const unsigned rows = pl_strategy_axes(s, PL_AXIS_ROWS);
    pl_placement at = { 0 };
    int64_t left = shape->dim[0];
    for (int a = 0; a < p->mesh.n && shape->dim[0] > 1; a++) {
        const int size = p->mesh.axis[a].size;
        if (!(batch >> a & 1) && !(rows >> a & 1 && left >= size)) continue;
        pl_placement_split(&at, 0, a);
        left /= size;
    }
    return at;
}

static void split_rows(const pl_strategy *s, pl_plan *p, const pl_value *x)
{
    const pl_placement rows = place_rows(s, p, &x->shape);
    pl_placement *at = &p->stored[x->id];
    for (int i = 0; i < rows.n; i++) pl_placement_split(at, 0, rows.split[i].axis);
    *at = pl_placement_normal(at, &p->mesh, &x->shape);
}

static bool split_more(const pl_strategy *s, pl_plan *p, pl_err *err)
{
    for (int i = 0; i < s->n_degrees; i++) {
        const pl_layout *l = s->degree[i].layout;
        if (l->inputs && !l->inputs(p, err)) return false;
    }
    return true;
}

static bool check_batch(const pl_strategy *s, const pl_graph *g, pl_err *err)
{
    long long devices = 1;
    for (int i = 0; i < s->n_degrees; i++)
        if (s->degree[i].use & PL_AXIS_BATCH) devices *= s->degree[i].size;
    for (int i = 0; i < g->values.n && devices > 1; i++)
        if (g->values.at[i]->role == PL_INPUT && g->values.at[i]->shape.rank) return true;
    return devices == 1 || pl_err_set(err, PL_EINPUT,
                                      "strategy '%s': the graph has no input whose rows %lld "
                                      "devices could share",
                                      s->text, devices);
}

bool pl_storage_inputs(const pl_strategy *s, pl_plan *p, pl_err *err)
{
    const bool split = split_more(s, p, err);
    for (int v = 0; v < p->graph->values.n; v++) {
        const pl_value *x = p->graph->values.at[v];
        if (x->role == PL_INPUT && x->shape.rank) split_rows(s, p, x);
    }
    return check_batch(s, p->graph, err) && split;
}

/* -- states ------------------------------------------------------------------------------------ */

static const pl_value *find_like(const pl_plan *like, const pl_value *v)
{
    const pl_value *x = like ? pl_graph_find(like->graph, v->name) : NULL;
    return x && x->role == PL_STATE && pl_shape_same(&x->shape, &v->shape) ? x : NULL;
}

int64_t pl_storage_count_rows(const pl_graph *g)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role == PL_INPUT && v->shape.rank) return v->shape.dim[0];
    }
    return 0;
}

/* Numbers that are drawn for each row: of a seed alone. */
static bool draws_rows(const pl_node *n, int64_t rows)
{
    bool draws = n->n_in && n->n_out && n->phase == PL_FORWARD;
    for (int k = 0; k < n->n_in; k++) draws &= !n->in[k]->shape.rank && !n->in[k]->maker;
    return draws && n->out[0]->shape.rank && n->out[0]->shape.dim[0] == rows;
}

void pl_storage_rows(pl_forward *r)
{
    pl_plan *p = r->follow.plan;
    const int64_t rows = pl_storage_count_rows(p->graph);
    for (int i = 0; i < r->n_forward; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        if (!draws_rows(n, rows)) continue;
        const pl_placement at = place_rows(r->strategy, p, &n->out[0]->shape);
        pl_propagate_want(&r->follow, n->out[0], &at);
    }
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *v = p->graph->values.at[i];
        if (v->kind != PL_ROWS) continue;
        split_rows(r->strategy, p, v);
        pl_placement at = p->stored[i];
        pl_propagate_store(&r->follow, v, &at);
    }
}

void pl_storage_like(pl_propagation *f, const pl_plan *like)
{
    const pl_graph *g = f->plan->graph;
    for (int i = 0; i < g->values.n && like; i++) {
        const pl_value *v = g->values.at[i], *x;
        if (v->role != PL_STATE || !(x = find_like(like, v))) continue;
        pl_placement at = like->stored[x->id];
        pl_propagate_store(f, v, &at);
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
    for (int i = 0; i < g->values.n; i++) { /* what is cast of a master */
        const pl_value *v = g->values.at[i];
        if (pl_graph_is_copy(v))
            m[i] = (member){ v->next->maker, v->next->maker->n_in + v->next->out, true };
    }
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
    *c = pl_propagate_letters(p, x->user, x->operand, &normal);
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

/* What is added up stays as it was made: a sum pending over the axes that split rows, or with
 * zero=2 split over one of them. */
static void leave_pending(const pl_forward *r, pl_placement *at)
{
    const unsigned batch = pl_strategy_axes(r->strategy, PL_AXIS_BATCH | PL_AXIS_POSITIONS);
    const pl_mesh *m = &r->follow.plan->mesh;
    for (int a = 0; a < m->n; a++)
        if (batch >> a & 1 && m->axis[a].size > 1 && pl_placement_find(at, a) < 0)
            at->pending |= (uint8_t)(1u << a);
}

/* By kind of state: of all layouts what the one says that says something. */
static void find_rests(const pl_strategy *s, pl_rest rest[PL_N_STATE_KINDS])
{
    for (int k = 0; k < PL_N_STATE_KINDS; k++) {
        rest[k] = (pl_rest){ 0 };
        for (int i = 0; pl_layouts[i] && !rest[k].n; i++)
            if (pl_layouts[i]->rest) rest[k] = pl_layouts[i]->rest(s, (pl_state_kind)k);
    }
}

static void store_state(pl_forward *r, const pl_rest *rest, const member *m, const pl_value *v,
                        pl_placement at)
{
    pl_propagation *f = &r->follow;
    bool split = rest->n && split_state(f->plan, m, v, &at, rest->axis[0]);
    for (int i = 1; i < rest->n && split; i++) (void)split_state(f->plan, m, v, &at, rest->axis[i]);
    if (v->kind == PL_GRAD_SUM) leave_pending(r, &at);
    if (split || f->open[v->id]) pl_propagate_store(f, v, &at);
}

/* Is it made in parts over some of these axes, and put together for a reader? */
static bool is_gathered(const pl_propagation *f, const pl_value *v, unsigned axes)
{
    const pl_places *have = &f->have[v->id];
    for (int i = 1; i < have->n; i++)
        if (axes & pl_placement_axes(&have->at[0]) & ~pl_placement_axes(&have->at[i])) return true;
    return false;
}

/* What is made of a state alone is gathered again with it, and so are keys and values of all
 * positions: sequences are split because they are long. */
static void regather(const pl_forward *r, const pl_rest rest[])
{
    const pl_propagation *f = &r->follow;
    const unsigned positions = pl_strategy_axes(r->strategy, PL_AXIS_POSITIONS);
    for (int i = 0; i < f->plan->graph->values.n; i++) {
        const pl_value *v = f->plan->graph->values.at[i];
        if (v->role == PL_STATE) r->again[i] |= rest[v->kind].regather;
        if (is_gathered(f, v, positions)) r->again[i] = UINT8_MAX;
        if (f->cast[i]) r->again[f->cast[i]->id] |= r->again[i];
    }
}

/* Where a weight is stored, for a moment that may be one number along some of its dimensions. */
static pl_placement store_like(const pl_plan *p, const pl_value *v, const pl_value *weight)
{
    pl_placement x = p->stored[weight->id];
    for (int i = x.n - 1; i >= 0; i--) {
        const int d = x.split[i].dim;
        if (v->shape.dim[d] != weight->shape.dim[d]) pl_placement_remove(&x, i);
    }
    return x;
}

void pl_storage_finish(pl_forward *r, const pl_plan *like)
{
    pl_propagation *f = &r->follow;
    const pl_plan *p = f->plan;
    const pl_graph *g = p->graph;
    member *m = PL_NEW_N(f->arena, member, g->values.n + 1);
    pl_placement *at = PL_NEW_N(f->arena, pl_placement, g->values.n + 1);
    pl_rest rest[PL_N_STATE_KINDS];
    find_rests(r->strategy, rest);
    find_updates(g, m);
    follow_sums(g, m);
    find_readers(g, m);
    regather(r, rest);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i], *from = v->of ? v->of : v;
        if (v->role == PL_STATE && !f->open[from->id]) at[i] = store_like(p, v, from);
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role == PL_STATE && !find_like(like, v))
            store_state(r, &rest[v->kind], &m[i], v, at[i]);
    }
}
