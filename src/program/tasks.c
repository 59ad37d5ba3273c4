/* Lowering, first stage: one task per node, and between the placement a value is made in and the
 * ones its readers need, the messages and copies that lead from one to the other. */
#include "graph/op.h"
#include "program/lower.h"

#include <string.h>

/* A part that nobody finds by its value. */
static int add_hidden(lowering *l, const pl_value *v, const pl_placement *where, int maker)
{
    pl_shape local = pl_placement_local(where, &l->plan->mesh, &v->shape);
    part p = { .value = v, .where = *where, .maker = maker, .home = l->parts.n, .port = -1 };
    p.bytes = pl_shape_count(&local) * pl_type_bytes(v->type);
    PL_PUSH(l->tmp, &l->parts, p);
    return l->parts.n - 1;
}

static int add_part(lowering *l, const pl_value *v, const pl_placement *where, int maker)
{
    int p = add_hidden(l, v, where, maker);
    PL_PUSH(l->tmp, &l->of_value[v->id], p);
    return p;
}

static int add_stored(lowering *l, const pl_value *v)
{
    pl_placement where = pl_placement_trim(&l->plan->stored[v->id], &l->plan->mesh);
    return add_part(l, v, &where, -1);
}

static task *add_task(lowering *l, task_kind kind, const char *label)
{
    task t = { .kind = kind, .step = { .label = label } };
    PL_PUSH(l->tmp, &l->tasks, t);
    return &l->tasks.at[l->tasks.n - 1];
}

/* Task `id` reads part p as its next input. */
static void read_part(lowering *l, int id, int p)
{
    task *t = &l->tasks.at[id];
    t->in[t->n_in++] = p;
    PL_PUSH(l->tmp, &l->parts.at[p].readers, id);
}

/* -- from one placement to another ------------------------------------------------------------- */

/* One task that reads part `from` and makes part `into`. */
static int add_move(lowering *l, task_kind kind, int from, int into, task **t)
{
    const pl_value *v = l->parts.at[from].value;
    int id = l->tasks.n;
    *t = add_task(l, kind, v->name);
    read_part(l, id, from);
    l->parts.at[into].maker = id;
    (*t)->out[(*t)->n_out++] = into;
    (*t)->step.type = v->type;
    return into;
}

static int reduce(lowering *l, int from, unsigned axes)
{
    task *t;
    pl_placement to = l->parts.at[from].where;
    pl_monoid monoid = to.monoid;
    to.pending &= (uint8_t)~axes;
    int p = add_move(l, TASK_REDUCE, from, add_part(l, l->parts.at[from].value, &to, -1), &t);
    t->step.axes = axes;
    t->step.monoid = monoid;
    t->step.count = l->parts.at[from].bytes / pl_type_bytes(l->parts.at[from].value->type);
    return p;
}

/* Elements before (outer) and within (inner) dimension d of a local shape. */
static void around(const pl_shape *s, int d, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int i = 0; i < s->rank; i++) {
        if (i < d) *outer *= s->dim[i];
        if (i > d) *inner *= s->dim[i];
    }
}

/* All-gather over the minor-most axis of dimension d. Blocks arrive one after another; where d is
 * not the outermost dimension a copy puts them in place. */
static int gather(lowering *l, int from, int d)
{
    const pl_mesh *m = &l->plan->mesh;
    const pl_value *v = l->parts.at[from].value;
    task *t;
    pl_placement to = l->parts.at[from].where;
    int axis = to.axis[d][--to.n[d]], n = m->axis[axis].size;
    pl_shape local = pl_placement_local(&l->parts.at[from].where, m, &v->shape);
    int64_t outer, inner, size = pl_type_bytes(v->type);
    around(&local, d, &outer, &inner);
    int64_t row = local.dim[d] * inner * size;
    int p = add_move(l, TASK_GATHER, from, add_hidden(l, v, &to, -1), &t);
    t->step.axes = 1u << axis;
    t->step.count = pl_shape_count(&local);
    if (outer == 1) {
        PL_PUSH(l->tmp, &l->of_value[v->id], p);
        return p;
    }
    int q = add_move(l, TASK_COPY, p, add_part(l, v, &to, -1), &t);
    t->step.n[0] = n, t->step.from[0] = outer * row, t->step.to[0] = row;
    t->step.n[1] = outer, t->step.from[1] = row, t->step.to[1] = n * row;
    t->step.bytes = row;
    return q;
}

/* Keep this device's share of dimension d along one more axis. */
static int slice(lowering *l, int from, int d, int axis)
{
    const pl_mesh *m = &l->plan->mesh;
    const pl_value *v = l->parts.at[from].value;
    task *t;
    pl_placement to = l->parts.at[from].where;
    pl_shape local = pl_placement_local(&to, m, &v->shape);
    int64_t outer, inner, size = pl_type_bytes(v->type);
    around(&local, d, &outer, &inner);
    pl_placement_split(&to, d, axis);
    int64_t whole = local.dim[d] * inner * size, row = whole / m->axis[axis].size;
    int p = add_move(l, TASK_COPY, from, add_part(l, v, &to, -1), &t);
    t->step.n[0] = 1, t->step.n[1] = outer;
    t->step.from[1] = whole, t->step.to[1] = row;
    t->step.bytes = row;
    t->step.in[0].at = row * pl_mesh_coord(m, l->rank, axis); /* added to the slot's place */
    return p;
}

/* Leading axes of dimension d that two placements share. */
static int shared_axes(const pl_placement *a, const pl_placement *b, int d)
{
    int k = 0;
    while (k < a->n[d] && k < b->n[d] && a->axis[d][k] == b->axis[d][k]) k++;
    return k;
}

/* Messages between two placements; more than any number where there is no way (nothing makes
 * partial results of whole ones). */
static int distance(const pl_placement *from, const pl_placement *to)
{
    int n = (from->pending & ~to->pending) != 0;
    if (to->pending & ~from->pending || (to->pending && from->monoid != to->monoid)) return 1000;
    for (int d = 0; d < PL_MAX_RANK; d++) n += from->n[d] - shared_axes(from, to, d);
    return n;
}

/* A part of v at placement `to`: one that is there, or else made from the nearest: combine what is
 * pending, gather what is split otherwise (minor-most axis first), then slice. */
static bool bring(lowering *l, const pl_value *v, const pl_placement *to, int *out, pl_err *err)
{
    const ints *parts = &l->of_value[v->id];
    int p = parts->at[0];
    for (int i = 0; i < parts->n; i++) {
        const pl_placement *x = &l->parts.at[parts->at[i]].where;
        *out = parts->at[i];
        if (pl_placement_same(x, to)) return true;
        if (distance(x, to) < distance(&l->parts.at[p].where, to)) p = parts->at[i];
    }
    if (distance(&l->parts.at[p].where, to) >= 1000)
        return pl_err_set(
            err, PL_EINPUT,
            "'%s' is at %s and wanted at %s: no message makes partial "
            "results",
            v->name,
            pl_placement_text(l->tmp, &l->parts.at[p].where, &l->plan->mesh, v->shape.rank),
            pl_placement_text(l->tmp, to, &l->plan->mesh, v->shape.rank));
    unsigned axes = l->parts.at[p].where.pending & ~(unsigned)to->pending;
    if (axes) p = reduce(l, p, axes);
    for (int d = 0; d < v->shape.rank; d++) {
        int same = shared_axes(&l->parts.at[p].where, to, d);
        while (l->parts.at[p].where.n[d] > same) p = gather(l, p, d);
    }
    for (int d = 0; d < v->shape.rank; d++)
        while (l->parts.at[p].where.n[d] < to->n[d])
            p = slice(l, p, d, to->axis[d][l->parts.at[p].where.n[d]]);
    *out = p;
    return true;
}

/* -- nodes ------------------------------------------------------------------------------------- */

static const pl_share *share_of(lowering *l, const pl_node *n)
{
    const pl_mesh *m = &l->plan->mesh;
    pl_share *s = PL_NEW(l->out, pl_share);
    *s = pl_share_whole(n);
    for (int a = 0; a < m->n; a++) {
        int f = l->plan->choice[n->id].factor[a];
        if (f < 0) continue;
        int64_t size = s->factor[f].n / m->axis[a].size;
        pl_share_cut(s, f, size * pl_mesh_coord(m, l->rank, a), size);
    }
    return s;
}

/* An output takes over the memory of an input: views and in-place updates. */
static void take_over(lowering *l, const task *t, int out, int in)
{
    l->parts.at[t->out[out]].home = t->in[in];
}

static bool add_node(lowering *l, const pl_node *n, pl_err *err)
{
    int in[PL_MAX_OPERANDS];
    for (int i = 0; i < n->n_in; i++) {
        pl_placement where = pl_plan_operand(l->plan, n->id, i);
        if (!bring(l, n->in[i], &where, &in[i], err)) return pl_err_in(err, "node '%s'", n->name);
    }
    int id = l->tasks.n;
    add_task(l, TASK_NODE, n->name)->step.share = share_of(l, n);
    for (int i = 0; i < n->n_in; i++) read_part(l, id, in[i]);
    for (int i = 0; i < n->n_out; i++) {
        pl_placement where = pl_plan_operand(l->plan, n->id, n->n_in + i);
        int p = add_part(l, n->out[i], &where, id);
        task *t = &l->tasks.at[id];
        t->out[t->n_out++] = p;
        char from = n->op->inplace && i < (int)strlen(n->op->inplace) ? n->op->inplace[i] : '-';
        if (from != '-')
            take_over(l, t, i, from - '0');
        else if (n->op->view)
            take_over(l, t, i, 0);
        t->eager |= from != '-' && l->parts.at[pl_lower_home(l, p)].port >= 0;
    }
    return true;
}

/* -- states ------------------------------------------------------------------------------------ */

int pl_lower_home(const lowering *l, int p)
{
    while (l->parts.at[p].home != p) p = l->parts.at[p].home;
    return p;
}

int pl_lower_copy(lowering *l, int from, const pl_value *v)
{
    task *t;
    pl_placement where = l->parts.at[from].where;
    int p = add_move(l, TASK_COPY, from, add_hidden(l, v, &where, -1), &t);
    t->step.n[0] = t->step.n[1] = 1;
    t->step.bytes = l->parts.at[from].bytes;
    return p;
}

/* A state's new contents that were made elsewhere are copied home. */
static bool add_state_copy(lowering *l, const pl_value *v, pl_err *err)
{
    int home = l->of_value[v->id].at[0], *from = &l->final[v->id];
    pl_placement where = l->parts.at[home].where;
    PL_TRY(bring(l, v->next, &where, from, err));
    if (pl_lower_home(l, *from) == home) return true;
    *from = pl_lower_copy(l, *from, v);
    l->parts.at[*from].home = home;
    return true;
}

static bool add_leaves(lowering *l, pl_err *err)
{
    const pl_graph *g = l->plan->graph;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->maker) continue;
        int p = add_stored(l, v), k = 0;
        if (v->role != PL_STATE) continue;
        while (k < l->store->n && strcmp(l->store->state[k].value->name, v->name)) k++;
        if (k == l->store->n)
            return pl_err_set(err, PL_EINPUT, "the store has no state '%s'", v->name);
        const pl_port *s = &l->store->state[k];
        if (s->value->type != v->type || !pl_shape_same(&s->value->shape, &v->shape) ||
            !pl_placement_same(&s->where, &l->plan->stored[i]))
            return pl_err_set(
                err, PL_EINPUT,
                "state '%s' is %s in the store (%s on this device), "
                "but %s at %s here",
                v->name, pl_shape_text(l->tmp, s->value->type, &s->value->shape),
                pl_shape_text(l->tmp, s->value->type, &s->shape),
                pl_shape_text(l->tmp, v->type, &v->shape),
                pl_placement_text(l->tmp, &l->plan->stored[i], &l->plan->mesh, v->shape.rank));
        l->parts.at[p].port = k;
    }
    return true;
}

bool pl_lower_tasks(lowering *l, pl_err *err)
{
    const pl_graph *g = l->plan->graph;
    l->output = PL_NEW_N(l->tmp, int, g->outputs.n + 1);
    l->of_value = PL_NEW_N(l->tmp, ints, g->values.n + 1);
    l->final = PL_NEW_N(l->tmp, int, g->values.n + 1);
    PL_TRY(add_leaves(l, err));
    for (int i = 0; i < g->nodes.n; i++) PL_TRY(add_node(l, g->nodes.at[i], err));
    for (int i = 0; i < g->outputs.n; i++) { /* the outside reads whole results */
        pl_placement whole = { 0 };
        PL_TRY(bring(l, g->outputs.at[i], &whole, &l->output[i], err));
    }
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->next) PL_TRY(add_state_copy(l, g->values.at[i], err));
    return true;
}
