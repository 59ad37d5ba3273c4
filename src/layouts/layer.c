/* The forward pass under a strategy, layer by layer. Read pl_forward_walk(), choose_layer(), then
 * what layouts call: picking factors with look_ahead(), which follows a choice up to the next
 * layer. */
#include "layouts/layer.h"

#include "graph/op.h"
#include "layouts/storage.h"

#include <string.h>

enum { UNKNOWN = -2 }; /* that features come from a layer at all */

void pl_forward_open(pl_forward *r, const pl_strategy *s, pl_plan *p, pl_arena *arena)
{
    const pl_graph *g = p->graph;
    *r = (pl_forward){ .strategy = s };
    pl_propagate_init(&r->follow, p, arena);
    if (s->paths) pl_propagate_share(&r->follow, s->paths);
    r->follow.wide_sums = s->wide_sums;
    r->follow.local = pl_strategy_axes(s, PL_AXIS_LAYERS);
    r->follow.roam = pl_strategy_axes(s, PL_AXIS_ROAM);
    r->follow.digits = pl_strategy_axes(s, PL_AXIS_POSITIONS);
    r->follow.exchange = pl_strategy_axes(s, PL_AXIS_EXCHANGE);
    r->uses = PL_NEW_N(arena, int, g->values.n + 1);
    r->again = PL_NEW_N(arena, uint8_t, g->values.n + 1);
    r->feature = PL_NEW_N(arena, int8_t, g->values.n + 1);
    memset(r->feature, UNKNOWN, (size_t)g->values.n);
    r->n_forward = pl_graph_forward(g);
    for (int i = 0; i < r->n_forward; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) r->uses[g->nodes.at[i]->in[k]->id]++;
}

/* -- picking factors --------------------------------------------------------------------------- */

static int64_t size_of(const pl_layer *x, int factor)
{
    return x->n->sig->factor[factor].size;
}

static int devices_on(const pl_layer *x, int axis)
{
    return x->on->follow.plan->mesh.axis[axis].size;
}

bool pl_layer_has(uint32_t set, int factor)
{
    return factor >= 0 && set >> factor & 1;
}

void pl_layer_offer(const pl_layer *x, int axis, uint32_t set)
{
    int64_t widest = pl_linear_widest(x->n, set);
    if (widest <= x->on->axis[axis].widest) return;
    x->on->axis[axis].widest = widest;
    x->on->axis[axis].name = x->n->in[x->l.w]->name;
}

void pl_layer_take(pl_layer *x, int axis, int factor)
{
    if (factor < 0) return;
    x->fixed.factor[axis] = (int8_t)factor;
    x->on->axis[axis].used = true;
}

int pl_layer_pick(const pl_layer *x, int axis, uint32_t set)
{
    for (int f = 0; f < x->n->sig->n_factors; f++)
        if (pl_layer_has(set, f) && size_of(x, f) >= devices_on(x, axis)) return f;
    return -1;
}

static bool is_inner(const pl_layer *x, int axis)
{
    return pl_strategy_axes(x->on->strategy, PL_AXIS_INNER) >> axis & 1;
}

/* The first (or last) factor of a set with enough positions left when other axes took theirs. */
static int pick_left(const pl_layer *x, int axis, uint32_t set, const pl_choice *taken, bool last)
{
    const pl_mesh *m = &x->on->follow.plan->mesh;
    int best = -1;
    for (int f = 0; f < x->n->sig->n_factors; f++) {
        int64_t left = size_of(x, f);
        for (int a = 0; a < m->n; a++)
            if (a != axis && taken->factor[a] == f) left /= m->axis[a].size;
        if (pl_layer_has(set, f) && left >= devices_on(x, axis) && (best < 0 || last)) best = f;
    }
    return best;
}

/* What the axes do as far as it is known: as decided, else as the activations arrive. */
static pl_choice taken_so_far(const pl_layer *x)
{
    pl_choice c = x->arrives;
    for (int a = 0; a < PL_MAX_AXES; a++)
        if (x->fixed.factor[a] != PL_FREE) c.factor[a] = x->fixed.factor[a];
    return c;
}

int pl_layer_pick_rows(const pl_layer *x, int axis)
{
    const bool last = is_inner(x, axis);
    pl_choice taken = taken_so_far(x);
    int at = x->arrives.factor[axis];
    if (pl_layer_has(x->l.m | x->l.batch, at)) return at;
    int f = pick_left(x, axis, x->l.m, &taken, last);
    return f >= 0 ? f : pick_left(x, axis, x->l.batch, &taken, last);
}

/* -- settling a layer -------------------------------------------------------------------------- */

/* The dimension of the weights that is summed over. */
static int summed_dim(const pl_layer *x)
{
    const pl_operand *w = &x->n->sig->operand[x->l.w];
    for (int d = 0; d < w->rank; d++)
        for (int k = 0; k < w->dim[d].n; k++)
            if (pl_layer_has(x->l.k, w->dim[d].factor[k])) return d;
    return 0;
}

/* A sum that is pending over an axis of activations goes on as a split of the rows: noted as a
 * place where the result can be had. */
static void scatter(const pl_layer *x)
{
    pl_propagation *f = &x->on->follow;
    const pl_value *y = x->n->out[0];
    pl_choice *c = &f->plan->choice[x->n->id], before = *c;
    unsigned axes = f->have[y->id].at[0].pending & f->roam;
    for (int a = 0; a < f->plan->mesh.n; a++) {
        if (!(axes >> a & 1)) continue;
        int to = pick_left(x, a, x->l.m, c, is_inner(x, a));
        if (to >= 0) c->factor[a] = (int8_t)to, c->level[a] = -1;
    }
    pl_placement at = pl_plan_operand(f->plan, x->n->id, x->n->n_in);
    *c = before;
    if (axes) PL_PUSH(f->arena, &f->have[y->id], at);
}

/* The result goes on as X arrived, whatever its axes did here. */
static void send_back(const pl_layer *x)
{
    pl_propagation *f = &x->on->follow;
    pl_places *have = &f->have[x->n->out[0]->id];
    pl_choice *c = &f->plan->choice[x->n->id], before = *c;
    for (int a = 0; a < f->plan->mesh.n; a++)
        if (x->back >> a & 1)
            c->factor[a] = x->arrives.factor[a], c->level[a] = x->arrives.level[a];
    have->n = 0;
    PL_PUSH(f->arena, have, pl_plan_operand(f->plan, x->n->id, x->n->n_in));
    *c = before;
}

/* Choose what is still free and note where everything lies. */
static void settle(const pl_layer *x)
{
    pl_propagation *f = &x->on->follow;
    const pl_value *w = pl_graph_state(x->n->in[x->l.w]);
    pl_propagate_choose(f, x->n, &x->fixed);
    pl_propagate_keep(f, x->n);
    if (x->open && x->at_rest >= 0) {
        pl_placement at = f->plan->stored[w->id];
        pl_storage_append(&at, summed_dim(x), x->at_rest);
        pl_propagate_store(f, w, &at);
    }
    scatter(x);
    if (x->back) send_back(x);
}

/* What it takes from here to the next linear layer. */
typedef struct toll {
    int64_t bytes; /* received after the layer itself               */
    double cost;   /* of the layer too, and of what is computed     */
} toll;

static toll look_ahead(pl_layer *x, int axis, int factor)
{
    pl_propagation *f = &x->on->follow;
    const pl_graph *g = f->plan->graph;
    int mark = pl_propagate_mark(f);
    int8_t *fixed = &x->fixed.factor[axis], before = *fixed;
    double cost = f->cost;
    pl_linear l;
    *fixed = (int8_t)factor;
    settle(x);
    int64_t bytes = f->bytes;
    for (int i = x->n->id + 1; i < x->on->n_forward && !pl_linear_find(g->nodes.at[i], &l); i++)
        pl_propagate_node(f, g->nodes.at[i]);
    pl_propagate_undo(f, mark);
    *fixed = before;
    return (toll){ f->bytes - bytes, f->cost - cost };
}

/* The column factor for an axis after which all costs least, the first of equals; -1 when there is
 * none. */
static int find_columns(pl_layer *x, int axis, toll *least)
{
    int best = -1;
    for (int f = 0; f < x->n->sig->n_factors; f++) {
        if (!pl_layer_has(x->l.n, f) || size_of(x, f) < devices_on(x, axis)) continue;
        toll t = look_ahead(x, axis, f);
        if (best < 0 || t.cost < least->cost) best = f, *least = t;
    }
    return best;
}

int pl_layer_pick_columns(pl_layer *x, int axis)
{
    toll least;
    return find_columns(x, axis, &least);
}

/* Where rows are split over the axis, weights that are copied have a gradient to be summed over it:
 * the cost of that, as a part of the forward pass. What columns move is moved three times, in the
 * forward pass once. */
static double gradient_cost(pl_layer *x, int axis)
{
    const pl_placement whole = { 0 };
    if (!pl_layer_has(x->l.m | x->l.batch, x->arrives.factor[axis])) return 0;
    return pl_propagate_reduce_cost(&x->on->follow, x->n->in[x->l.w], &whole, axis) / 3;
}

int pl_layer_pick_free_columns(pl_layer *x, int axis)
{
    const pl_value *v = x->n->in[x->l.x];
    const pl_placement *home = pl_propagate_home(&x->on->follow, v); /* NULL: of a state, not yet */
    toll split, copied = look_ahead(x, axis, PL_COPIED);
    int best = find_columns(x, axis, &split);
    if (best < 0 || split.bytes <= copied.bytes) return best;
    copied.cost += gradient_cost(x, axis);
    pl_placement at = home ? *home : (pl_placement){ 0 };
    at.pending = 0;
    double sum = v->maker ? pl_propagate_reduce_cost(&x->on->follow, v, &at, axis) : 0;
    return split.cost + sum < copied.cost ? best : -1;
}

/* -- what a layout may know and say ------------------------------------------------------------ */

int pl_layer_axis(const pl_layer *x, const char *name)
{
    return pl_mesh_find(&x->on->follow.plan->mesh, name);
}

int pl_layer_uses(const pl_layer *x)
{
    return x->on->uses[x->n->in[x->l.w]->id];
}

bool pl_layer_arrives_by_k(const pl_layer *x, int axis)
{
    const pl_placement *home = pl_propagate_home(&x->on->follow, x->n->in[x->l.x]);
    int d = home ? pl_placement_dim(home, axis) : -1;
    if (d < 0) return false;
    const pl_sig_dim *dim = &x->n->sig->operand[x->l.x].dim[d];
    for (int k = 0; k < dim->n; k++)
        if (pl_layer_has(x->l.k, dim->factor[k])) return true;
    return false;
}

int pl_layer_came_by(const pl_layer *x)
{
    return x->on->feature[x->n->in[x->l.x]->id];
}

void pl_layer_goes_by(pl_layer *x, int axis)
{
    x->on->feature[x->n->out[0]->id] = (int8_t)axis;
}

void pl_layer_copy_rows(pl_layer *x, int axis, int factor)
{
    if (factor >= 0) x->fixed.factor[axis] = (int8_t)factor;
}

void pl_layer_regather(pl_layer *x, int operand)
{
    const pl_placement *home = pl_propagate_home(&x->on->follow, x->n->in[operand]);
    if (home && home->pending) return; /* as a sum it would take no less */
    x->on->again[x->n->in[operand]->id] = UINT8_MAX;
}

/* -- the forward pass -------------------------------------------------------------------------- */

static void choose_layer(pl_forward *r, const pl_node *n, const pl_linear *l)
{
    pl_propagation *f = &r->follow;
    const pl_value *w = n->in[l->w];
    const pl_placement *home = pl_propagate_home(f, n->in[l->x]), none = { 0 };
    pl_layer x = { .on = r, .n = n, .l = *l, .open = f->open[w->id], .at_rest = -1 };
    memset(&x.fixed, PL_FREE, sizeof x.fixed);
    memset(x.fixed.level, -1, sizeof x.fixed.level);
    x.arrives = pl_propagate_letters(f->plan, n, l->x, home ? home : &none);
    x.stored = pl_propagate_letters(f->plan, n, l->w, x.open ? &none : pl_propagate_home(f, w));
    for (int i = 0; pl_layouts[i]; i++)
        if (pl_layouts[i]->layer) pl_layouts[i]->layer(&x);
    settle(&x);
}

static void pass_feature(pl_forward *r, const pl_node *n)
{
    int8_t axis = UNKNOWN;
    for (int i = 0; i < n->n_in && axis == UNKNOWN; i++) axis = r->feature[n->in[i]->id];
    for (int i = 0; i < n->n_out; i++) r->feature[n->out[i]->id] = axis;
}

/* The first input that has rows, where what the node makes of a scalar input alone, as noise of a
 * seed, has as many: nothing that it reads says that it is split as they are. */
static const pl_value *find_rows_like(const pl_graph *g, const pl_node *n)
{
    if (n->n_in != 1 || n->in[0]->role != PL_INPUT || n->in[0]->shape.rank) return NULL;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_INPUT || !v->shape.rank) continue;
        return n->out[0]->shape.rank && n->out[0]->shape.dim[0] == v->shape.dim[0] ? v : NULL;
    }
    return NULL;
}

static void choose_drawn(pl_propagation *f, const pl_node *n, const pl_value *like)
{
    const pl_placement *stored = &f->plan->stored[like->id];
    pl_placement rows = { 0 };
    for (int i = 0; i < stored->n; i++)
        if (!stored->split[i].dim) pl_placement_add(&rows, stored->split[i]);
    pl_choice fixed = pl_propagate_letters(f->plan, n, n->n_in, &rows);
    for (int a = 0; a < PL_MAX_AXES; a++)
        if (fixed.factor[a] < 0) fixed.factor[a] = PL_FREE;
    pl_propagate_choose(f, n, &fixed);
    pl_propagate_keep(f, n);
}

void pl_forward_walk(pl_forward *r)
{
    const pl_graph *g = r->follow.plan->graph;
    pl_linear l;
    for (int i = 0; i < r->n_forward; i++) {
        const pl_node *n = g->nodes.at[i];
        const pl_value *like = find_rows_like(g, n);
        pass_feature(r, n);
        if (pl_linear_find(n, &l))
            choose_layer(r, n, &l);
        else if (like)
            choose_drawn(&r->follow, n, like);
        else
            pl_propagate_node(&r->follow, n);
    }
}

static bool check_axis(const pl_forward *r, int a, pl_err *err)
{
    const pl_mesh_axis *axis = &r->follow.plan->mesh.axis[a];
    const char *split = r->strategy->degree[a].layout->split;
    if (r->axis[a].used || axis->size == 1) return true;
    if (!r->axis[a].widest)
        return pl_err_set(err, PL_EINPUT,
                          "strategy '%s': the graph has no %s to split over the %d devices of axis "
                          "'%s'",
                          r->strategy->text, split ? split : "linear layer", axis->size,
                          axis->name);
    return pl_err_set(err, PL_EINPUT,
                      "strategy '%s': no linear layer can be split over the %d devices of axis "
                      "'%s' (the widest that was offered is %lld, of '%s'): lower that degree",
                      r->strategy->text, axis->size, axis->name, (long long)r->axis[a].widest,
                      r->axis[a].name);
}

bool pl_forward_check(const pl_forward *r, pl_err *err)
{
    const unsigned axes = pl_strategy_axes(r->strategy, PL_AXIS_LAYERS);
    for (int a = 0; axes >> a; a++)
        if (axes >> a & 1) PL_TRY(check_axis(r, a, err));
    return true;
}
