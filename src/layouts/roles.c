#include "layouts/roles.h"

#include "graph/op.h"
#include "layouts/states.h"

#include <string.h>

enum { UNKNOWN = -2 }; /* that features come from a layer at all */

/* One layer under way. */
typedef struct layer {
    pl_roles *r;
    const pl_node *n;
    pl_linear l;
    pl_choice fixed;   /* decided so far, else PL_FREE                        */
    pl_choice arrives; /* factors that the activations are split over         */
    bool open;         /* the weights' storage is not decided yet             */
    pl_choice stored;  /* factors that they are split over, where it is       */
} layer;

static int axis_of(const pl_mesh *m, const char *name)
{
    return pl_mesh_find(m, name);
}

/* They stand first. */
static int count_forward(const pl_graph *g)
{
    int n = 0;
    while (n < g->nodes.n && g->nodes.at[n]->phase == PL_FORWARD) n++;
    return n;
}

void pl_roles_init(pl_roles *r, const pl_strategy *s, pl_plan *p, pl_arena *arena)
{
    const pl_graph *g = p->graph;
    const pl_mesh *m = &p->mesh;
    *r = (pl_roles){ .strategy = s, .data = axis_of(m, "data"), .shard = axis_of(m, "shard") };
    r->expert = axis_of(m, "expert"), r->tensor = axis_of(m, "tensor");
    r->depth = axis_of(m, "depth"), r->spatial = axis_of(m, "spatial");
    r->m = axis_of(m, s->alternate ? "i" : "row");
    r->n = axis_of(m, s->alternate ? "j" : "column");
    r->k = axis_of(m, "l");
    pl_follow_init(&r->follow, p, arena);
    r->follow.wide_sums = s->wide_sums;
    for (int a = 0; a < m->n; a++) {
        bool batch = a == r->data || a == r->shard || a == r->spatial;
        bool grid = a == r->depth || a == r->m || a == r->n || a == r->k;
        if (!batch) r->follow.local |= 1u << a;
        if (grid || (a == r->tensor && s->sequence)) r->follow.roam |= 1u << a;
    }
    r->uses = PL_NEW_N(arena, int, g->values.n + 1);
    r->feature = PL_NEW_N(arena, int8_t, g->values.n + 1);
    memset(r->feature, UNKNOWN, (size_t)g->values.n);
    r->n_forward = count_forward(g);
    for (int i = 0; i < r->n_forward; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) r->uses[g->nodes.at[i]->in[k]->id]++;
}

/* -- picking factors --------------------------------------------------------------------------- */

static int64_t size_of(const layer *x, int factor)
{
    return x->n->sig->factor[factor].size;
}

static int devices_on(const layer *x, int axis)
{
    return x->r->follow.plan->mesh.axis[axis].size;
}

static bool has(uint32_t set, int factor)
{
    return factor >= 0 && set >> factor & 1;
}

/* Note what a layer offers to an axis, for the message when that is too little everywhere. */
static void offer(const layer *x, int axis, uint32_t set)
{
    int64_t widest = pl_linear_widest(x->n, set);
    if (widest <= x->r->axis[axis].widest) return;
    x->r->axis[axis].widest = widest;
    x->r->axis[axis].name = x->n->in[x->l.w]->name;
}

static void take(layer *x, int axis, int factor)
{
    x->fixed.factor[axis] = (int8_t)factor;
    x->r->axis[axis].used = true;
}

/* First factor of a set with at least as many positions as the axis has devices, or -1. */
static int pick(const layer *x, int axis, uint32_t set)
{
    for (int f = 0; f < x->n->sig->n_factors; f++)
        if (has(set, f) && size_of(x, f) >= devices_on(x, axis)) return f;
    return -1;
}

/* The first (or last) factor of a set with enough positions left when other axes took theirs. */
static int pick_left(const layer *x, int axis, uint32_t set, const pl_choice *taken, bool last)
{
    const pl_mesh *m = &x->r->follow.plan->mesh;
    int best = -1;
    for (int f = 0; f < x->n->sig->n_factors; f++) {
        int64_t left = size_of(x, f);
        for (int a = 0; a < m->n; a++)
            if (a != axis && taken->factor[a] == f) left /= m->axis[a].size;
        if (has(set, f) && left >= devices_on(x, axis) && (best < 0 || last)) best = f;
    }
    return best;
}

/* What the axes do as far as it is known: as decided, else as the activations arrive. */
static pl_choice taken_so_far(const layer *x)
{
    pl_choice c = x->arrives;
    for (int a = 0; a < PL_MAX_AXES; a++)
        if (x->fixed.factor[a] != PL_FREE) c.factor[a] = x->fixed.factor[a];
    return c;
}

/* A factor of the rows: the one by which they arrive split already, else one with room. */
static int pick_rows(const layer *x, int axis, bool last)
{
    pl_choice taken = taken_so_far(x);
    int at = x->arrives.factor[axis];
    if (has(x->l.m | x->l.batch, at)) return at;
    int f = pick_left(x, axis, x->l.m, &taken, last);
    return f >= 0 ? f : pick_left(x, axis, x->l.batch, &taken, last);
}

/* -- settling a layer -------------------------------------------------------------------------- */

/* The dimension of the weights that is summed over. */
static int summed_dim(const layer *x)
{
    const pl_operand *w = &x->n->sig->operand[x->l.w];
    for (int d = 0; d < w->rank; d++)
        for (int k = 0; k < w->dim[d].n; k++)
            if (has(x->l.k, w->dim[d].factor[k])) return d;
    return 0;
}

/* A sum that is pending over an axis of activations goes on as a split of the rows: noted as a
 * place where the result can be had. */
static void scatter(const layer *x)
{
    pl_follow *f = &x->r->follow;
    const pl_value *y = x->n->out[0];
    pl_choice *c = &f->plan->choice[x->n->id], before = *c;
    unsigned axes = f->have[y->id].at[0].pending & f->roam;
    for (int a = 0; a < f->plan->mesh.n; a++) {
        if (!(axes >> a & 1)) continue;
        int to = pick_left(x, a, x->l.m, c, a == x->r->tensor);
        if (to >= 0) c->factor[a] = (int8_t)to, c->level[a] = -1;
    }
    pl_placement at = pl_plan_operand(f->plan, x->n->id, x->n->n_in);
    *c = before;
    if (axes) PL_PUSH(f->arena, &f->have[y->id], at);
}

/* Choose what is still free and note where everything lies. On a grid the weights at rest are split
 * over the axis of m too. */
static void settle(const layer *x)
{
    pl_follow *f = &x->r->follow;
    const pl_value *w = pl_graph_state(x->n->in[x->l.w]);
    pl_follow_choose(f, x->n, &x->fixed);
    pl_follow_keep(f, x->n);
    if (x->open && x->r->m >= 0) {
        pl_placement at = f->plan->stored[w->id];
        pl_states_append(&at, summed_dim(x), x->r->m);
        pl_follow_store(f, w, &at);
    }
    scatter(x);
}

/* What it takes from here to the next linear layer. */
typedef struct toll {
    int64_t bytes; /* received after the layer itself               */
    double cost;   /* of the layer too, and of what is computed     */
} toll;

static toll look_ahead(layer *x, int axis, int factor)
{
    pl_follow *f = &x->r->follow;
    const pl_graph *g = f->plan->graph;
    int mark = pl_follow_mark(f);
    int8_t *fixed = &x->fixed.factor[axis], before = *fixed;
    double cost = f->cost;
    pl_linear l;
    *fixed = (int8_t)factor;
    settle(x);
    int64_t bytes = f->bytes;
    for (int i = x->n->id + 1; i < x->r->n_forward && !pl_linear_find(g->nodes.at[i], &l); i++)
        pl_follow_node(f, g->nodes.at[i]);
    pl_follow_undo(f, mark);
    *fixed = before;
    return (toll){ f->bytes - bytes, f->cost - cost };
}

/* The column factor for an axis after which all costs least, the first of equals; -1 when there is
 * none. */
static int pick_columns(layer *x, int axis, toll *least)
{
    int best = -1;
    for (int f = 0; f < x->n->sig->n_factors; f++) {
        if (!has(x->l.n, f) || size_of(x, f) < devices_on(x, axis)) continue;
        toll t = look_ahead(x, axis, f);
        if (best < 0 || t.cost < least->cost) best = f, *least = t;
    }
    return best;
}

/* The same when columns are worth it: no more has to move up to the next layer than when the
 * weights stay copied, or all is cheaper even with the gradient of the activations to be summed. */
static int pick_free_columns(layer *x, int axis)
{
    const pl_value *v = x->n->in[x->l.x];
    toll split, copied = look_ahead(x, axis, PL_COPIED);
    int best = pick_columns(x, axis, &split);
    if (best < 0 || split.bytes <= copied.bytes) return best;
    pl_placement at = *pl_follow_home(&x->r->follow, v);
    at.pending = 0;
    double sum = v->maker ? pl_follow_reduce_cost(&x->r->follow, v, &at, axis) : 0;
    return split.cost + sum < copied.cost ? best : -1;
}

/* -- what the axes do -------------------------------------------------------------------------- */

static void place_expert(layer *x)
{
    int a = x->r->expert, f;
    if (a < 0 || !x->l.batch) return;
    offer(x, a, x->l.batch);
    f = pick(x, a, x->l.batch);
    if (f >= 0) take(x, a, f);
}

/* Do the activations arrive split over the axis along a dimension that is summed? */
static bool arrives_by_k(const layer *x, int axis)
{
    const pl_placement *home = pl_follow_home(&x->r->follow, x->n->in[x->l.x]);
    int d = home ? pl_placement_dim(home, axis) : -1;
    if (d < 0) return false;
    const pl_sig_dim *dim = &x->n->sig->operand[x->l.x].dim[d];
    for (int k = 0; k < dim->n; k++)
        if (has(x->l.k, dim->factor[k])) return true;
    return false;
}

/* Megatron's rule; the factor, or -1 for a layer whose weights stay copied. */
static int pick_tensor(layer *x)
{
    int a = x->r->tensor, at = x->arrives.factor[a];
    if (!x->open) return x->stored.factor[a];
    if (x->l.lookup) return x->r->uses[x->n->in[x->l.w]->id] > 1 ? pick(x, a, x->l.k) : -1;
    if (has(x->l.k, at)) return at;
    if (arrives_by_k(x, a)) return pick(x, a, x->l.k);
    return pick_free_columns(x, a);
}

static void place_tensor(layer *x)
{
    int a = x->r->tensor;
    if (a < 0) return;
    offer(x, a, x->l.n | x->l.k);
    int f = pick_tensor(x);
    if (f >= 0) {
        take(x, a, f);
        if (x->r->strategy->sequence && has(x->l.n, f))
            x->r->follow.plan->regather[x->n->in[x->l.x]->id] = UINT8_MAX;
    } else if (x->r->strategy->sequence) {
        f = pick_rows(x, a, true);
        if (f >= 0) x->fixed.factor[a] = (int8_t)f;
    }
}

static void place_rows(layer *x, int axis)
{
    if (axis < 0) return;
    offer(x, axis, x->l.m | x->l.batch);
    int f = pick_rows(x, axis, false);
    if (f >= 0) take(x, axis, f);
}

/* Which axis takes the columns here: what split the columns of the layer before splits the sum of
 * this one. Where the activations do not show it any more, what they come from does. A table comes
 * before the first layer. */
static void find_axes(const layer *x, int *n, int *k)
{
    const pl_roles *r = x->r;
    *n = r->n, *k = r->k;
    if (!r->strategy->alternate) return;
    bool by_n = r->n >= 0 && arrives_by_k(x, r->n), by_k = r->k >= 0 && arrives_by_k(x, r->k);
    bool came = r->feature[x->n->in[x->l.x]->id] == r->n || x->l.lookup;
    if (by_n || (!by_k && came)) *n = r->k, *k = r->n;
}

static void place_grid(layer *x)
{
    pl_plan *p = x->r->follow.plan;
    int n, k, f;
    place_rows(x, x->r->depth);
    place_rows(x, x->r->m);
    find_axes(x, &n, &k);
    if (k >= 0) {
        offer(x, k, x->l.k);
        f = has(x->l.k, x->arrives.factor[k]) ? x->arrives.factor[k] : pick(x, k, x->l.k);
        if (f >= 0) take(x, k, f);
    }
    if (n >= 0) {
        offer(x, n, x->l.n);
        toll least;
        f = pick_columns(x, n, &least);
        if (f >= 0) take(x, n, f);
    }
    x->r->feature[x->n->out[0]->id] = (int8_t)n;
    if (x->r->m >= 0 && !x->r->strategy->alternate)
        p->regather[x->n->in[x->l.x]->id] = p->regather[x->n->in[x->l.w]->id] = UINT8_MAX;
}

static void choose_layer(pl_roles *r, const pl_node *n, const pl_linear *l)
{
    pl_follow *f = &r->follow;
    const pl_value *w = n->in[l->w];
    const pl_placement *home = pl_follow_home(f, n->in[l->x]), none = { 0 };
    layer x = { .r = r, .n = n, .l = *l, .open = f->open[w->id] };
    memset(&x.fixed, PL_FREE, sizeof x.fixed);
    memset(x.fixed.level, -1, sizeof x.fixed.level);
    x.arrives = pl_follow_letters(f->plan, n, l->x, home ? home : &none);
    x.stored = pl_follow_letters(f->plan, n, l->w, x.open ? &none : pl_follow_home(f, w));
    place_expert(&x);
    place_tensor(&x);
    place_grid(&x);
    settle(&x);
}

/* -- the forward pass -------------------------------------------------------------------------- */

static void pass_feature(pl_roles *r, const pl_node *n)
{
    int8_t axis = UNKNOWN;
    for (int i = 0; i < n->n_in && axis == UNKNOWN; i++) axis = r->feature[n->in[i]->id];
    for (int i = 0; i < n->n_out; i++) r->feature[n->out[i]->id] = axis;
}

void pl_roles_walk(pl_roles *r)
{
    const pl_graph *g = r->follow.plan->graph;
    pl_linear l;
    for (int i = 0; i < r->n_forward; i++) {
        const pl_node *n = g->nodes.at[i];
        pass_feature(r, n);
        if (pl_linear_find(n, &l))
            choose_layer(r, n, &l);
        else
            pl_follow_node(&r->follow, n);
    }
}

bool pl_roles_check(const pl_roles *r, pl_err *err)
{
    const pl_mesh *m = &r->follow.plan->mesh;
    for (int a = 0; a < m->n; a++) {
        bool rows = a == r->data || a == r->shard || a == r->spatial;
        if (rows || r->axis[a].used || m->axis[a].size == 1) continue;
        if (!r->axis[a].widest)
            return pl_err_set(err, PL_EINPUT,
                              "strategy '%s': the graph has no %s to split over the %d devices of "
                              "axis '%s'",
                              r->strategy->text, a == r->expert ? "experts" : "linear layer",
                              m->axis[a].size, m->axis[a].name);
        return pl_err_set(err, PL_EINPUT,
                          "strategy '%s': no linear layer can be split over the %d devices of axis "
                          "'%s' (the widest that was offered is %lld, of '%s'): lower that degree",
                          r->strategy->text, m->axis[a].size, m->axis[a].name,
                          (long long)r->axis[a].widest, r->axis[a].name);
    }
    return true;
}
