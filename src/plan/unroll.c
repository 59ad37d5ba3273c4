/* Micro-batches side by side: pl_plan_unroll() copies nodes in order, micro-batch by micro-batch,
 * and keeps what states hold then (`now`). */
#include "plan/unroll.h"

#include "plan/stages.h"
#include "plan/terms.h"

typedef struct unrolling {
    const pl_plan *plan;
    const pl_graph *from;
    pl_graph *graph;
    pl_value **value; /* [micro][values] of the one; [n_micro] is that of updates      */
    pl_node **node;   /* [micro][nodes]                                                */
    pl_value **now;   /* [values] of states: what the last micro-batch so far left     */
    pl_value **then;  /* [values] what this one leaves; NULL: nothing                  */
    int n_micro;
    int *micro_of_value, *micro_of_node;
    int *stage_of_node;   /* of a plan in stages                                      */
    const pl_term **term; /* [nodes] of sums; NULL: no stages                         */
    bool *skipped;        /* [nodes] additions of terms: the stages add up their own  */
    pl_value **far;       /* [nodes] of a sum: that of the other stage, so far        */
    const pl_value **value_from;
    const pl_node **node_from;
} unrolling;

static pl_value **value_at(unrolling *x, int micro, const pl_value *v)
{
    return &x->value[(int64_t)micro * x->from->values.n + v->id];
}

static pl_node **node_at(unrolling *x, int micro, const pl_node *n)
{
    return &x->node[(int64_t)micro * x->from->nodes.n + n->id];
}

static const char *name_of(unrolling *x, const char *name, int micro)
{
    const bool once = micro == x->n_micro || x->n_micro == 1;
    return once ? name : pl_arena_fmt(x->graph->arena, "%s@%d", name, micro);
}

static pl_value *add_value(unrolling *x, const pl_value *v, int micro, bool named)
{
    const char *name = named ? name_of(x, v->name, micro) : v->name;
    pl_value *y = pl_graph_copy_value(x->graph, v, name);
    y->next = NULL;
    x->value_from[y->id] = v;
    x->micro_of_value[y->id] = micro == x->n_micro ? -1 : micro;
    return *value_at(x, micro, v) = y;
}

static void add_states(unrolling *x)
{
    for (int i = 0; i < x->from->values.n; i++) {
        const pl_value *v = x->from->values.at[i];
        if (v->role == PL_STATE && !v->maker) x->now[i] = add_value(x, v, x->n_micro, false);
    }
    for (int i = 0; i < x->graph->values.n; i++) {
        pl_value *y = x->graph->values.at[i];
        if (y->of) y->of = *value_at(x, x->n_micro, y->of);
    }
}

/* What a node of a micro-batch, or an update, reads. */
static pl_value *read_value(unrolling *x, const pl_value *v, int micro)
{
    if (v->role == PL_STATE && !v->maker) {
        pl_value *then = micro < x->n_micro ? *value_at(x, micro, v) : NULL;
        return then ? then : x->now[v->id];
    }
    if (micro == x->n_micro && *value_at(x, micro, v)) return *value_at(x, micro, v);
    const bool last = micro == x->n_micro && v->maker && v->maker->phase != PL_UPDATE;
    const int of = last ? x->n_micro - 1 : micro;
    pl_value *y = *value_at(x, of, v);
    return y ? y : v->maker ? NULL : add_value(x, v, of, true);
}

/* A copy of a node without operands. */
static pl_node *copy_node(unrolling *x, const pl_node *n, int micro)
{
    pl_node *y = PL_NEW(x->graph->arena, pl_node);
    *y = *n;
    y->id = x->graph->nodes.n;
    y->name = name_of(x, n->name, micro);
    x->node_from[y->id] = n;
    x->micro_of_node[y->id] = micro == x->n_micro ? -1 : micro;
    if (x->plan->stages) x->stage_of_node[y->id] = x->plan->stages->of[n->id];
    PL_PUSH(x->graph->arena, &x->graph->nodes, y);
    return y;
}

static bool add_node(unrolling *x, const pl_node *n, int micro, pl_err *err)
{
    pl_node *y = copy_node(x, n, micro);
    for (int k = 0; k < n->n_in; k++) {
        y->in[k] = read_value(x, n->in[k], micro);
        if (!y->in[k])
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "node '%s' reads what the micro-batch before leaves in a state at "
                              "its end: no pipeline can have that",
                              n->name);
    }
    for (int k = 0; k < n->n_out; k++) {
        y->out[k] = add_value(x, n->out[k], micro, true);
        y->out[k]->maker = y;
        if (y->out[k]->of) y->out[k]->of = *value_at(x, x->n_micro, y->out[k]->of);
    }
    if (n->of) y->of = *node_at(x, micro, n->of);
    *node_at(x, micro, n) = y;
    return true;
}

/* -- sums of two stages ------------------------------------------------------------------------ */

/* A copy of a node with one output, for the terms of another stage. */
static pl_value *add_far(unrolling *x, const pl_node *n, int n_in, pl_value *const in[], int micro,
                         int stage)
{
    pl_value *own = *value_at(x, micro, n->out[0]);
    pl_node *y = copy_node(x, n, micro);
    y->name = pl_arena_fmt(x->graph->arena, "%s/far", y->name);
    for (int k = 0; k < n_in; k++) y->in[k] = in[k];
    y->out[0] = add_value(x, n->out[0], micro, true);
    y->out[0]->name = pl_arena_fmt(x->graph->arena, "%s/far", y->out[0]->name);
    pl_map_put(&x->graph->names, pl_hash_text(0, y->out[0]->name), y->out[0]->id, x->graph->arena);
    y->out[0]->maker = y;
    y->out[0]->of = NULL;
    x->stage_of_node[y->id] = stage;
    *value_at(x, micro, n->out[0]) = own;
    return y->out[0];
}

/* The other stage's term of a micro-batch, added to its others. */
static void add_far_term(unrolling *x, const pl_term *t, int micro)
{
    pl_value *v = *value_at(x, micro, t->add->in[t->far]), **sum = &x->far[t->sum->id];
    for (int i = 0; i < t->n; i++) v = add_far(x, t->between[i], 1, &v, micro, t->stage);
    if (*sum) v = add_far(x, t->sum, 2, (pl_value *const[]){ *sum, v }, micro, t->stage);
    *sum = v;
}

/* After all micro-batches the sums of both stages are added: an update. */
static void add_far_sum(unrolling *x, const pl_term *t)
{
    const pl_node *n = t->sum;
    pl_value *const in[] = { *value_at(x, x->n_micro - 1, n->out[0]), x->far[n->id] };
    pl_value *v = add_far(x, n, 2, in, x->n_micro, x->plan->stages->of[n->id]);
    v->maker->phase = PL_UPDATE;
    v->maker->of = NULL;
    *value_at(x, x->n_micro, n->out[0]) = v;
    (*value_at(x, x->n_micro, n->in[0]))->next = v;
}

static void find_terms(unrolling *x, pl_arena *tmp)
{
    x->skipped = PL_NEW_N(tmp, bool, x->from->nodes.n + 1);
    x->term = PL_NEW_N(tmp, const pl_term *, x->from->nodes.n + 1);
    x->far = PL_NEW_N(tmp, pl_value *, x->from->nodes.n + 1);
    if (x->plan->stages) x->term = pl_terms_find(x->from, x->plan->stages, tmp);
    for (int i = 0; i < x->from->nodes.n; i++)
        if (x->term[i]) x->skipped[x->term[i]->add->id] = true;
}

/* The sum of two stages' terms is that of the nearer alone. */
static void skip_add(unrolling *x, const pl_node *n, int micro)
{
    for (int i = 0; i < x->from->nodes.n; i++)
        if (x->term[i] && x->term[i]->add == n)
            *value_at(x, micro, n->out[0]) = *value_at(x, micro, n->in[!x->term[i]->far]);
}

/* States that this node makes the next contents of. */
static void leave(unrolling *x, const pl_node *n, int micro, const ptrdiff_t *state_of)
{
    for (int k = 0; k < n->n_out; k++) {
        const ptrdiff_t state = state_of[n->out[k]->id];
        if (state < 0) continue;
        pl_value *y = *value_at(x, micro, n->out[k]);
        if (n->phase != PL_UPDATE) x->then[state] = y;
        (*value_at(x, x->n_micro, x->from->values.at[state]))->next = y;
    }
}

/* Both passes of a micro-batch read what its forward pass begins with. */
static void keep_states(unrolling *x, int micro)
{
    for (int i = 0; i < x->from->values.n; i++) {
        const pl_value *v = x->from->values.at[i];
        if (v->role == PL_STATE && !v->maker && v->next && v->next->maker &&
            v->next->maker->phase == PL_FORWARD)
            *value_at(x, micro, v) = x->now[i];
    }
}

static bool add_phase(unrolling *x, pl_phase phase, int micro, const ptrdiff_t *state_of,
                      pl_err *err)
{
    if (phase == PL_FORWARD) keep_states(x, micro);
    for (int i = 0; i < x->from->nodes.n; i++) {
        const pl_node *n = x->from->nodes.at[i];
        if (n->phase != phase) continue;
        if (x->skipped[i]) {
            skip_add(x, n, micro);
            continue;
        }
        PL_TRY(add_node(x, n, micro, err));
        leave(x, n, micro, state_of);
        if (x->term[i]) add_far_term(x, x->term[i], micro);
    }
    for (int i = 0; i < x->from->values.n; i++) {
        if (x->then[i]) x->now[i] = x->then[i];
        x->then[i] = NULL;
    }
    return true;
}

static bool add_nodes(unrolling *x, pl_arena *tmp, pl_err *err)
{
    ptrdiff_t *state_of = PL_NEW_N(tmp, ptrdiff_t, x->from->values.n + 1);
    for (int i = 0; i < x->from->values.n; i++) state_of[i] = -1;
    for (int i = 0; i < x->from->values.n; i++)
        if (x->from->values.at[i]->next) state_of[x->from->values.at[i]->next->id] = i;
    for (int m = 0; m < x->n_micro; m++) PL_TRY(add_phase(x, PL_FORWARD, m, state_of, err));
    for (int m = 0; m < x->n_micro; m++) PL_TRY(add_phase(x, PL_BACKWARD, m, state_of, err));
    for (int i = 0; i < x->from->nodes.n; i++)
        if (x->term[i]) add_far_sum(x, x->term[i]);
    return add_phase(x, PL_UPDATE, x->n_micro, state_of, err);
}

static void add_outputs(unrolling *x)
{
    for (int i = 0; i < x->from->outputs.n; i++) {
        const pl_value *v = x->from->outputs.at[i];
        const bool once = !v->maker || v->maker->phase == PL_UPDATE;
        for (int m = once ? x->n_micro : 0; m < (once ? x->n_micro + 1 : x->n_micro); m++) {
            pl_value *y = read_value(x, v, m);
            PL_PUSH(x->graph->arena, &x->graph->outputs, y);
        }
    }
}

/* -- the plan ---------------------------------------------------------------------------------- */

static const pl_stages *unroll_stages(const unrolling *x, const pl_stages *s, pl_arena *out)
{
    pl_stages *y = PL_NEW(out, pl_stages);
    int *home = PL_NEW_N(out, int, x->graph->values.n + 1);
    for (int i = 0; i < x->graph->values.n; i++) home[i] = s->home[x->value_from[i]->id];
    *y = (pl_stages){ s->axis, s->order, x->stage_of_node, home, x->micro_of_node };
    return y;
}

static pl_plan *unroll_plan(const unrolling *x, pl_arena *out)
{
    const pl_plan *p = x->plan;
    pl_plan *y = pl_plan_single(x->graph, out);
    y->mesh = p->mesh;
    y->strategy = p->strategy;
    for (int i = 0; i < x->graph->nodes.n; i++) {
        y->choice[i] = p->choice[x->node_from[i]->id];
        y->on_host[i] = p->on_host[x->node_from[i]->id];
    }
    for (int i = 0; i < x->graph->values.n; i++) {
        const int v = x->value_from[i]->id;
        y->stored[i] = p->stored[v];
        y->kept[i] = p->kept[v];
        y->recompute[i] = p->recompute[v];
    }
    if (p->stages) y->stages = unroll_stages(x, p->stages, out);
    return y;
}

const pl_value *pl_unrolled_from(const pl_unrolled *u, const pl_value *v, int64_t *micro)
{
    if (!u->graph) return v;
    if (u->micro[v->id] >= 0) *micro = u->micro[v->id];
    return u->from[v->id];
}

bool pl_plan_unroll(const pl_plan *plan, pl_arena *out, pl_unrolled *u, pl_err *err)
{
    const pl_graph *g = plan->graph;
    unrolling x = { .plan = plan, .from = g, .n_micro = (int)g->micro };
    const int64_t most = 3 * (g->micro + 1); /* terms of other stages are nodes of their own */
    pl_arena *tmp = pl_arena_new("unroll");
    x.graph = PL_NEW(out, pl_graph);
    *x.graph = (pl_graph){ .arena = out, .ops = g->ops, .name = g->name, .micro = 1 };
    x.value = PL_NEW_N(tmp, pl_value *, most * g->values.n + 1);
    x.node = PL_NEW_N(tmp, pl_node *, most * g->nodes.n + 1);
    x.now = PL_NEW_N(tmp, pl_value *, g->values.n + 1);
    x.then = PL_NEW_N(tmp, pl_value *, g->values.n + 1);
    x.node_from = PL_NEW_N(tmp, const pl_node *, most * g->nodes.n + 1);
    x.value_from = PL_NEW_N(out, const pl_value *, most * g->values.n + 1);
    x.micro_of_value = PL_NEW_N(out, int, most * g->values.n + 1);
    x.micro_of_node = PL_NEW_N(out, int, most * g->nodes.n + 1);
    x.stage_of_node = PL_NEW_N(out, int, most * g->nodes.n + 1);
    find_terms(&x, tmp);
    add_states(&x);
    const bool ok = add_nodes(&x, tmp, err);
    if (ok) {
        add_outputs(&x);
        *u = (pl_unrolled){ x.graph, unroll_plan(&x, out), x.value_from, x.micro_of_value };
    }
    pl_arena_free(tmp);
    return ok;
}
