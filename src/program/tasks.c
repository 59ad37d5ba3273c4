/* Lowering, first stage: one task per node, and between the placement a value is made in and the
 * ones its readers need, the messages and copies that lead from one to the other. */
#include "graph/op.h"
#include "plan/stages.h"
#include "program/lower.h"
#include "reshard/move.h"

#include <stdlib.h>
#include <string.h>

/* For whose nodes a part was moved, or cast. */
enum { FORWARD, BACKWARD, UPDATE };

int pl_lower_part(lowering *l, const pl_value *v, const pl_placement *where, int64_t bytes)
{
    part p = { .value = v, .where = *where, .maker = -1, .phase = -1, .home = l->parts.n };
    p.pass = l->pass;
    int64_t room = pl_placement_room(where, &l->plan->mesh, &v->shape);
    p.bytes = bytes ? bytes : room * pl_type_bytes(v->type);
    p.port = -1;
    PL_PUSH(l->tmp, &l->parts, p);
    return l->parts.n - 1;
}

/* Part p is one that others may look for by its value. */
static int publish(lowering *l, int p)
{
    PL_PUSH(l->tmp, &l->of_value[l->parts.at[p].value->id], p);
    return p;
}

static int add_stored(lowering *l, const pl_value *v)
{
    pl_placement where = pl_placement_normal(&l->plan->stored[v->id], &l->plan->mesh, &v->shape);
    return publish(l, pl_lower_part(l, v, &where, 0));
}

static int add_task(lowering *l, task_kind kind, const char *label)
{
    task t = { .kind = kind, .step = { .label = label }, .pass = l->pass };
    PL_PUSH(l->tmp, &l->tasks, t);
    return l->tasks.n - 1;
}

void pl_lower_read(lowering *l, int id, int p)
{
    task *t = &l->tasks.at[id];
    t->in[t->n_in++] = p;
    PL_PUSH(l->tmp, &l->parts.at[p].readers, id);
}

/* Task `id` makes part p as its next output. */
static void make_part(lowering *l, int id, int p)
{
    task *t = &l->tasks.at[id];
    t->out[t->n_out++] = p;
    l->parts.at[p].maker = id;
}

int pl_lower_task(lowering *l, task_kind kind, const char *label, int from, int into)
{
    int id = add_task(l, kind, label);
    if (from >= 0) pl_lower_read(l, id, from);
    make_part(l, id, into);
    return id;
}

/* -- from one placement to another ------------------------------------------------------------- */

/* Is v made of a state alone? Then it is made just before it is read, and again for the backward
 * pass where the plan has it kept as it was made of the state as it is stored: that is kept. */
static bool is_cast(const pl_value *v)
{
    return v->maker && pl_graph_state(v);
}

/* Is v a state that lies in the host's memory, or cast there? */
static bool is_hosted(const lowering *l, const pl_value *v)
{
    if (v->maker) return is_cast(v) && l->plan->on_host[v->maker->id];
    return v->role == PL_STATE && l->plan->stored[v->id].host;
}

/* May a reader of this phase start from part `id`? Where the plan says where the value is kept, or
 * that it is made again, backward nodes start from there, or from what was made or moved for
 * them. What comes from the host comes anew for each phase, and once more for updates; it is cast
 * there once. */
static bool is_source(const lowering *l, int id, int phase)
{
    const part *p = &l->parts.at[id];
    const kept_value *kept = &l->kept[p->value->id];
    const bool state = pl_graph_state(p->value) != NULL;
    if (p->maker < 0 || (p->received && state)) return true;
    if (state && p->pass != l->pass && id != kept->part) return false; /* gathered anew */
    if (p->phase == phase) return true;
    if (is_hosted(l, p->value)) return p->where.host && p->value->maker;
    const bool backward = phase == BACKWARD, same = backward == (p->phase == BACKWARD);
    if ((!kept->where && !kept->again) || (same && p->phase >= 0)) return true;
    return backward ? id == kept->part : p->phase < 0;
}

/* The parts of v that a reader of this phase may start from. */
static int find_sources(const lowering *l, const pl_value *v, int phase, int source[])
{
    const ints *parts = &l->of_value[v->id];
    int n = 0;
    for (int i = 0; i < parts->n; i++)
        if (is_source(l, parts->at[i], phase)) source[n++] = parts->at[i];
    return n;
}

static bool add_node(lowering *l, const pl_node *n, int phase, pl_err *err);
static bool make_again(lowering *l, const pl_value *v, pl_err *err);

/* A part of v at placement `to` (in normal form): one that is there, or else the end of the
 * cheapest path from any that is. */
static bool bring(lowering *l, const pl_value *v, const pl_placement *to, int phase, int *out,
                  pl_err *err)
{
    int most = l->of_value[v->id].n + 1, which;
    int *source = PL_NEW_N(l->tmp, int, most);
    pl_placement *from = PL_NEW_N(l->tmp, pl_placement, most);
    int n = find_sources(l, v, phase, source);
    if (!n && phase == BACKWARD && l->kept[v->id].again) {
        PL_TRY(make_again(l, v, err));
        return bring(l, v, to, phase, out, err);
    }
    if (!n && is_cast(v)) {
        PL_TRY(add_node(l, v->maker, phase, err));
        n = find_sources(l, v, phase, source);
    }
    for (int i = 0; i < n; i++) {
        from[i] = l->parts.at[source[i]].where;
        *out = source[i];
        if (pl_placement_same(&from[i], to)) return true;
    }
    pl_path path;
    if (!pl_reshard_find(&l->reshard, v->type, &v->shape, n, from, to, &which, &path, err))
        return pl_err_in(err, "'%s'", v->name);
    *out = source[which];
    for (int i = 0; i < path.n; i++) {
        *out = publish(l, pl_lower_move(l, *out, &path.move[i]));
        l->parts.at[*out].phase = phase;
    }
    return true;
}

/* -- nodes ------------------------------------------------------------------------------------- */

static int phase_of(const pl_node *n)
{
    return n->phase == PL_BACKWARD ? BACKWARD : n->phase == PL_UPDATE ? UPDATE : FORWARD;
}

/* An output takes over the memory of an input: views and in-place updates. */
static void take_over(lowering *l, const task *t, int out, int in)
{
    l->parts.at[t->out[out]].home = t->in[in];
}

static bool add_node(lowering *l, const pl_node *n, int phase, pl_err *err)
{
    int in[PL_MAX_OPERANDS];
    for (int i = 0; i < n->n_in; i++) {
        pl_placement where = pl_plan_operand(l->plan, n->id, i);
        if (!bring(l, n->in[i], &where, phase, &in[i], err))
            return pl_err_in(err, "node '%s'", n->name);
    }
    int id = add_task(l, TASK_NODE, n->name);
    pl_share *share = PL_NEW(l->out, pl_share);
    *share = pl_plan_share(l->plan, n->id, l->rank);
    l->tasks.at[id].step.share = share;
    l->tasks.at[id].on_host = l->plan->on_host[n->id];
    for (int i = 0; i < n->n_in; i++) pl_lower_read(l, id, in[i]);
    for (int i = 0; i < n->n_out; i++) {
        pl_placement where = pl_plan_operand(l->plan, n->id, n->n_in + i);
        int p = publish(l, pl_lower_part(l, n->out[i], &where, 0));
        make_part(l, id, p);
        if (is_cast(n->out[i]) || l->again[n->id]) l->parts.at[p].phase = phase;
        task *t = &l->tasks.at[id];
        char from = n->op->inplace && i < (int)strlen(n->op->inplace) ? n->op->inplace[i] : '-';
        if (from != '-')
            take_over(l, t, i, from - '0');
        else if (n->op->view)
            take_over(l, t, i, 0);
        t->eager |= from != '-' && l->parts.at[pl_lower_home(l, p)].port >= 0;
    }
    return true;
}

/* -- what is kept for the backward pass -------------------------------------------------------- */

/* Is some of what a node makes made again? */
static bool is_again(const pl_plan *p, const pl_node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (p->recompute[n->out[k]->id]) return true;
    return false;
}

/* Does this rank run the node that makes value i? */
static bool is_made_here(const lowering *l, int i)
{
    const pl_node *maker = l->plan->graph->values.at[i]->maker;
    return maker && pl_plan_runs(l->plan, maker, l->rank);
}

/* Of values that the forward pass has, and nodes that run in the backward pass read. */
static void find_kept(lowering *l)
{
    const pl_graph *g = l->plan->graph;
    const pl_plan *p = l->plan;
    const int n_forward = pl_graph_forward(g);
    l->again = PL_NEW_N(l->tmp, bool, g->nodes.n + 1);
    l->kept = PL_NEW_N(l->tmp, kept_value, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++)
        l->kept[i] = (kept_value){ NULL, -1, -1, p->recompute[i] && is_made_here(l, i) };
    for (int i = 0; i < n_forward; i++) {
        const pl_node *n = g->nodes.at[i];
        if (!pl_plan_runs(p, n, l->rank)) continue;
        for (int k = 0; k < n->n_in + n->n_out; k++) l->kept[pl_node_value(n, k)->id].last = i;
    }
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        const bool reads = n->phase == PL_BACKWARD || (i < n_forward && is_again(p, n));
        if (!pl_plan_runs(p, n, l->rank)) continue;
        for (int k = 0; k < n->n_in && reads; k++) {
            kept_value *x = &l->kept[n->in[k]->id];
            if (x->last >= 0 && !x->again) x->where = p->kept[n->in[k]->id];
        }
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The node that makes v runs again, after those that make what it reads, where that is made again
 * too. */
static bool make_again(lowering *l, const pl_value *v, pl_err *err)
{
    pl_node *const *node = l->plan->graph->nodes.at;
    ints todo = { 0 }, found = { 0 };
    PL_PUSH(l->tmp, &todo, v->maker->id);
    while (todo.n) {
        const pl_node *n = node[todo.at[--todo.n]];
        if (l->again[n->id]) continue;
        l->again[n->id] = true;
        PL_PUSH(l->tmp, &found, n->id);
        for (int k = 0; k < n->n_in; k++)
            if (l->kept[n->in[k]->id].again) PL_PUSH(l->tmp, &todo, n->in[k]->maker->id);
    }
    qsort(found.at, (size_t)found.n, sizeof *found.at, by_number);
    for (int i = 0; i < found.n; i++) PL_TRY(add_node(l, node[found.at[i]], BACKWARD, err));
    return true;
}

/* Part p of a cast: was it made of the state as that is stored, or has it come from the host, which
 * did that? */
static bool is_cast_of_stored(const lowering *l, int p)
{
    const task *t = &l->tasks.at[l->parts.at[p].maker];
    if (pl_lower_is_fetch(t)) t = &l->tasks.at[l->parts.at[t->in[0]].maker];
    if (t->kind != TASK_NODE) return false;
    const int maker = l->parts.at[t->in[0]].maker;
    return maker < 0 || pl_lower_is_fetch(&l->tasks.at[maker]);
}

/* The last forward node that has value v has been added: what is kept of it is made now, so that
 * the rest need not wait for backward nodes. */
static bool keep(lowering *l, const pl_value *v, pl_err *err)
{
    kept_value *x = &l->kept[v->id];
    const pl_placement where = pl_placement_normal(x->where, &l->plan->mesh, &v->shape);
    const int before = l->tasks.n;
    int p;
    PL_TRY(bring(l, v, &where, FORWARD, &p, err));
    for (int id = before; id < l->tasks.n; id++) l->tasks.at[id].keeps = true;
    if (!is_cast(v) || !is_cast_of_stored(l, p)) x->part = p;
    return true;
}

static bool keep_values(lowering *l, const pl_node *n, pl_err *err)
{
    for (int k = 0; k < n->n_in + n->n_out; k++) {
        const pl_value *v = pl_node_value(n, k);
        if (l->kept[v->id].where && l->kept[v->id].last == n->id) PL_TRY(keep(l, v, err));
    }
    return true;
}

/* -- states ------------------------------------------------------------------------------------ */

int pl_lower_home(const lowering *l, int p)
{
    while (l->parts.at[p].home != p) p = l->parts.at[p].home;
    return p;
}

/* In the host's memory, where nothing copies: by way of the device. */
static int copy_hosted(lowering *l, int from, const pl_value *v)
{
    const pl_value *x = l->parts.at[from].value;
    pl_move m = { .kind = PL_FROM_HOST };
    m.from = m.to = l->parts.at[from].where;
    m.to.host = false;
    bool ok = pl_move_price(&m, x->type, &l->plan->mesh, &x->shape);
    const int between = pl_lower_move(l, from, &m);
    pl_move back = { .kind = PL_TO_HOST, .from = m.to, .to = m.from };
    ok &= pl_move_price(&back, x->type, &l->plan->mesh, &x->shape);
    PL_ASSERT(ok);
    const int p = pl_lower_move(l, between, &back);
    l->parts.at[p].value = v;
    return p;
}

int pl_lower_copy(lowering *l, int from, const pl_value *v)
{
    if (l->parts.at[from].where.host) return copy_hosted(l, from, v);
    pl_placement where = l->parts.at[from].where;
    int p = pl_lower_part(l, v, &where, l->parts.at[from].bytes);
    pl_copy *c = PL_NEW(l->out, pl_copy);
    *c = (pl_copy){ .bytes = l->parts.at[from].bytes };
    int id = pl_lower_task(l, TASK_COPY, l->parts.at[from].value->name, from, p);
    l->tasks.at[id].step.n_copies = 1;
    l->tasks.at[id].step.copy = c;
    return p;
}

/* Does an element-wise node make part p for the state at `home` alone, and read nothing of that? */
static bool is_made_for(const lowering *l, int p, int home)
{
    const part *x = &l->parts.at[p];
    if (l->options.apart || x->maker < 0 || x->home != p) return false;
    const task *t = &l->tasks.at[x->maker];
    bool alone = t->kind == TASK_NODE && t->step.share->node->op->elementwise && !x->readers.n;
    for (int k = 0; k < t->n_in; k++) alone &= pl_lower_home(l, t->in[k]) != home;
    for (int i = 0; i < l->plan->graph->outputs.n; i++) alone &= l->output[i] != p;
    return alone;
}

/* A state's new contents that were made elsewhere come home: what was moved for that alone, or made
 * for it alone of other things, is put right there, all else is copied. */
static bool add_state_copy(lowering *l, const pl_value *v, pl_err *err)
{
    int home = l->of_value[v->id].at[0], *from = &l->final[v->id], before = l->tasks.n;
    pl_placement where = l->parts.at[home].where;
    PL_TRY(bring(l, v->next, &where, UPDATE, from, err));
    if (pl_lower_home(l, *from) == home) return true;
    int maker = l->parts.at[*from].maker;
    bool moved = maker >= before && l->tasks.at[maker].kind != TASK_REDUCE;
    if (!moved && !is_made_for(l, *from, home)) {
        *from = pl_lower_copy(l, *from, v);
        maker = l->parts.at[*from].maker;
    }
    l->parts.at[*from].home = home;
    l->tasks.at[maker].eager = true;
    return true;
}

/* The state of a store by name, or -1; sought from number `from` on, and then from the start. */
static int find_stored(const pl_store *s, const char *name, int from)
{
    for (int i = 0; i < s->n; i++) {
        int k = from + i < s->n ? from + i : from + i - s->n;
        if (!strcmp(s->state[k].value->name, name)) return k;
    }
    return -1;
}

/* States that the rank holds, and inputs that its nodes read. */
static bool is_leaf_here(const lowering *l, const pl_value *v)
{
    if (!l->plan->stages) return true;
    return v->role == PL_STATE ? pl_plan_holds(l->plan, v, l->rank) : l->reads[v->id];
}

static void find_reads(lowering *l)
{
    const pl_graph *g = l->plan->graph;
    l->reads = PL_NEW_N(l->tmp, bool, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in && pl_plan_runs(l->plan, g->nodes.at[i], l->rank);
             k++)
            l->reads[g->nodes.at[i]->in[k]->id] = true;
}

static bool add_leaves(lowering *l, pl_err *err)
{
    const pl_graph *g = l->plan->graph;
    if (l->plan->stages) find_reads(l);
    int k = -1; /* a store has states in the order of its own graph, which is much the same */
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->maker || !is_leaf_here(l, v)) continue;
        int p = add_stored(l, v);
        if (v->role != PL_STATE) continue;
        k = find_stored(l->store, v->name, k + 1);
        if (k < 0) return pl_err_set(err, PL_EINPUT, "the store has no state '%s'", v->name);
        const pl_port *s = &l->store->state[k];
        if (s->value->type != v->type || !pl_shape_same(&s->value->shape, &v->shape) ||
            !pl_placement_same(&s->where, &l->parts.at[p].where))
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

static bool add_in_turn(lowering *l, const pl_node *n, pl_err *err)
{
    if (n->n_out && is_cast(n->out[0])) return true; /* when it is read */
    return add_node(l, n, phase_of(n), err) && (n->phase != PL_FORWARD || keep_values(l, n, err));
}

/* -- stages ------------------------------------------------------------------------------------ */

/* A message to the rank that has another stage, or from there. */
static int add_stage(lowering *l, const pl_handover *x, const pl_placement *where)
{
    const pl_mesh *mesh = &l->plan->mesh;
    const bool sends = x->from == l->stage.place;
    const unsigned axes = 1u << l->plan->stages->axis;
    const int64_t count = pl_placement_room(where, mesh, &x->value->shape);
    pl_transfer *t = PL_NEW(l->out, pl_transfer);
    *t = (pl_transfer){ .value = x->value };
    t->move = (pl_move){ PL_TO_STAGE, axes, *where, *where, .block = count };
    t->move.bytes = count * pl_type_bytes(x->value->type);
    const int id = add_task(l, TASK_STAGE, x->value->name);
    pl_step *s = &l->tasks.at[id].step;
    s->transfer = t;
    s->from = PL_PART_FROM, s->to = PL_PART_TO;
    s->type = x->value->type;
    s->axes = axes;
    s->count = count;
    s->collective = sends ? PL_SEND : PL_RECV;
    s->peer = sends ? x->to : x->from;
    s->bytes = sends ? 0 : t->move.bytes;
    return id;
}

/* As its maker leaves it, or as it is stored. */
static pl_placement left_at(const lowering *l, const pl_value *v)
{
    return v->maker ? pl_plan_operand(l->plan, v->maker->id, v->maker->n_in + v->out)
                    : pl_placement_normal(&l->plan->stored[v->id], &l->plan->mesh, &v->shape);
}

static void add_send(lowering *l, const pl_handover *x)
{
    const pl_placement where = left_at(l, x->value);
    pl_lower_read(l, add_stage(l, x, &where), l->of_value[x->value->id].at[0]);
}

static void add_receive(lowering *l, const pl_handover *x)
{
    const pl_placement where = left_at(l, x->value);
    const int id = add_stage(l, x, &where), p = publish(l, pl_lower_part(l, x->value, &where, 0));
    l->tasks.at[id].asked_for = x->asked;
    make_part(l, id, p);
    l->parts.at[p].received = true;
}

static void add_sends(lowering *l, int made)
{
    for (int i = 0; i < l->stage.n; i++) {
        const pl_handover *x = &l->stage.at[i];
        if (x->from == l->stage.place && x->made == made) add_send(l, x);
    }
}

static void add_receives(lowering *l, int pass)
{
    for (int i = 0; i < l->stage.n; i++) {
        const pl_handover *x = &l->stage.at[i];
        const bool updated = x->value->maker && x->value->maker->phase == PL_UPDATE;
        if (x->to == l->stage.place && x->there == pass && !updated) add_receive(l, x);
    }
}

/* [nodes] Is what it makes handed over? */
static const bool *find_given(const lowering *l)
{
    bool *given = PL_NEW_N(l->tmp, bool, l->plan->graph->nodes.n + 1);
    for (int k = 0; k < l->stage.n; k++) {
        const pl_node *maker = l->stage.at[k].value->maker;
        if (maker) given[maker->id] = true;
    }
    return given;
}

static void hand_over(lowering *l, const pl_node *n)
{
    for (int k = 0; k < l->stage.n; k++) {
        const pl_handover *x = &l->stage.at[k];
        if (x->value->maker != n) continue;
        if (x->from == l->stage.place)
            add_send(l, x);
        else
            add_receive(l, x);
    }
}

/* What updates send each other goes in the order of the nodes that make it. */
static bool add_updates(lowering *l, pl_err *err)
{
    const pl_graph *g = l->plan->graph;
    const bool *given = find_given(l);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->phase != PL_UPDATE) continue;
        if (pl_plan_runs(l->plan, n, l->rank)) PL_TRY(add_in_turn(l, n, err));
        if (given[i]) hand_over(l, n);
    }
    return true;
}

static bool add_passes(lowering *l, pl_err *err)
{
    const pl_lower_stage *s = &l->stage;
    pl_node *const *node = l->plan->graph->nodes.at;
    add_sends(l, -1);
    for (l->pass = 0; l->pass < s->n_passes - 1; l->pass++) {
        s->first_task[l->pass] = l->tasks.n;
        add_receives(l, l->pass);
        for (int i = s->first[l->pass]; i < s->first[l->pass + 1]; i++)
            PL_TRY(add_in_turn(l, node[s->node[i]], err));
        add_sends(l, l->pass);
    }
    s->first_task[l->pass] = l->tasks.n;
    add_receives(l, l->pass);
    return add_updates(l, err);
}

/* -- all --------------------------------------------------------------------------------------- */

bool pl_lower_changes(const lowering *l, const pl_value *state)
{
    return state->next && pl_plan_holds(l->plan, state, l->rank);
}

bool pl_lower_tasks(lowering *l, pl_err *err)
{
    const pl_graph *g = l->plan->graph;
    l->output = PL_NEW_N(l->tmp, int, g->outputs.n + 1);
    l->of_value = PL_NEW_N(l->tmp, ints, g->values.n + 1);
    l->final = PL_NEW_N(l->tmp, int, g->values.n + 1);
    find_kept(l);
    PL_TRY(add_leaves(l, err));
    if (!l->plan->stages)
        for (int i = 0; i < g->nodes.n; i++) PL_TRY(add_in_turn(l, g->nodes.at[i], err));
    else
        PL_TRY(add_passes(l, err));
    for (int i = 0; i < g->outputs.n; i++) { /* the outside reads whole results */
        pl_placement whole = { 0 };
        PL_TRY(bring(l, g->outputs.at[i], &whole, UPDATE, &l->output[i], err));
    }
    for (int i = 0; i < g->values.n; i++)
        if (pl_lower_changes(l, g->values.at[i])) PL_TRY(add_state_copy(l, g->values.at[i], err));
    return true;
}
