/* What a plan says of an operand (pl_plan_operand) and a share, whether it is legal
 * (pl_plan_check), and its text. */
#include "plan/plan.h"

#include "graph/op.h"
#include "plan/stages.h"

#include <string.h>

/* Whole numbers made of others are rounded. */
static bool rounds(const pl_node *n, unsigned set)
{
    bool from = false, to = false;
    for (int i = 0; i < n->n_in; i++) from |= set >> i & 1 && pl_type_is_float(n->in[i]->type);
    for (int i = 0; i < n->n_out; i++) to |= !pl_type_is_float(n->out[i]->type);
    return from && to;
}

unsigned pl_plan_linear_set(const pl_node *n, int k)
{
    const char *at = n->op->linear ? n->op->linear : "";
    unsigned set = 0;
    for (; *at && k >= 0; at++) {
        if (*at == '|')
            k--;
        else if (k == 0 && *at - '0' < n->n_in)
            set |= 1u << (*at - '0');
    }
    return k > 0 || rounds(n, set) ? 0 : set;
}

/* How a split of factor f splits dimension d of an operand: all of it, one digit, or a window. */
static bool find_split(const pl_node *n, int o, int d, int f, pl_split *out)
{
    const pl_sig *sig = n->sig;
    const pl_sig_dim *x = &sig->operand[o].dim[d];
    *out = (pl_split){ .dim = (int8_t)d, .size = sig->factor[f].size, .unit = 1 };
    if (x->window >= 0) {
        const pl_window *w = &sig->window[x->window];
        out->stride = (int32_t)w->stride;
        out->reach = (int32_t)(w->dilation * (sig->factor[w->tap].size - 1) + 1);
        out->pad = (int32_t)w->pad_lo;
        return w->position == f;
    }
    for (int k = x->n - 1; k >= 0; k--) {
        if (x->factor[k] == f) return true;
        out->unit *= sig->factor[x->factor[k]].size;
    }
    return false;
}

static bool add_splits(const pl_node *n, int o, int f, int axis, pl_placement *x)
{
    for (int d = 0; d < n->sig->operand[o].rank; d++) {
        pl_split s;
        if (!find_split(n, o, d, f, &s)) continue;
        s.axis = (int8_t)axis;
        pl_placement_add(x, s);
        return true;
    }
    return false;
}

void pl_choice_order(const pl_choice *c, const pl_mesh *m, int axes[PL_MAX_AXES])
{
    for (int a = 0; a < m->n; a++) {
        int i = a;
        for (; i > 0 && c->level[axes[i - 1]] > c->level[a]; i--) axes[i] = axes[i - 1];
        axes[i] = a;
    }
}

pl_placement pl_choice_operand(const pl_choice *c, const pl_node *n, const pl_mesh *m, int o)
{
    const pl_value *v = pl_node_value(n, o);
    pl_placement x = { .monoid = n->op->monoid };
    int axes[PL_MAX_AXES];
    pl_choice_order(c, m, axes);
    for (int i = 0; i < m->n; i++) {
        int a = axes[i], f = c->factor[a];
        if (f <= PL_LINEAR) { /* the set's inputs and all outputs stay pending, as a sum */
            bool in_set = o >= n->n_in || pl_plan_linear_set(n, PL_LINEAR - f) >> o & 1;
            if (in_set) x.pending |= (uint8_t)(1u << a), x.monoid = PL_SUM;
        } else if (f >= 0 && !add_splits(n, o, f, a, &x) && o >= n->n_in) {
            x.pending |= (uint8_t)(1u << a);
        }
    }
    return pl_placement_normal(&x, m, &v->shape);
}

pl_placement pl_plan_operand(const pl_plan *p, int node, int o)
{
    pl_placement x = pl_choice_operand(&p->choice[node], p->graph->nodes.at[node], &p->mesh, o);
    x.host = p->on_host[node];
    return x;
}

pl_share pl_choice_share(const pl_choice *c, const pl_node *n, const pl_mesh *m, int rank)
{
    pl_share s = pl_share_whole(n);
    int axes[PL_MAX_AXES];
    pl_choice_order(c, m, axes);
    for (int f = 0; f < n->sig->n_factors; f++) {
        int64_t chunk = s.factor[f].n;
        pl_range r = s.factor[f];
        for (int i = 0; i < m->n; i++)
            if (c->factor[axes[i]] == f)
                r = pl_range_part(r, &chunk, m->axis[axes[i]].size,
                                  pl_mesh_coord(m, rank, axes[i]));
        if (r.n != s.factor[f].n) pl_share_cut(&s, f, r.lo, r.n);
    }
    return s;
}

pl_share pl_plan_share(const pl_plan *p, int node, int rank)
{
    return pl_choice_share(&p->choice[node], p->graph->nodes.at[node], &p->mesh, rank);
}

static bool check_choice(const pl_plan *p, const pl_node *n, int axis, pl_err *err)
{
    int f = p->choice[n->id].factor[axis];
    const char *name = p->mesh.axis[axis].name;
    if (f == PL_COPIED) return true;
    if (f <= PL_LINEAR)
        return pl_plan_linear_set(n, PL_LINEAR - f) ||
               pl_err_set(err, PL_EINPUT, "%s is not linear in a set %d", n->op->name,
                          PL_LINEAR - f);
    if (f >= n->sig->n_factors || !pl_share_can_cut(n, f))
        return pl_err_set(err, PL_EINPUT, "%s cannot be split on factor %d (axis '%s')",
                          n->op->name, f, name);
    return true;
}

/* Does every device have as much of a node as any other? */
static bool is_even(const pl_plan *p, const pl_node *n)
{
    for (int f = 0; f < n->sig->n_factors; f++) {
        int64_t parts = 1;
        for (int a = 0; a < p->mesh.n; a++)
            if (p->choice[n->id].factor[a] == f) parts *= p->mesh.axis[a].size;
        if (n->sig->factor[f].size % parts) return false;
    }
    return true;
}

bool pl_plan_can_run_on_host(const pl_plan *p, const pl_node *n)
{
    const char *at = n->op->inplace ? n->op->inplace : "";
    bool state = n->phase != PL_FORWARD || (n->n_out && pl_graph_state(n->out[0]));
    for (int k = 0; at[k]; k++)
        state |= at[k] != '-' && n->in[at[k] - '0']->role == PL_STATE && !n->in[at[k] - '0']->maker;
    if (!state || n->op->view || pl_op_multiplies(n)) return false;
    return n->op->elementwise || n->op->inplace || (n->phase == PL_UPDATE && is_even(p, n));
}

bool pl_plan_check_node(const pl_plan *p, const pl_node *n, pl_err *err)
{
    if (p->on_host[n->id] && !pl_plan_can_run_on_host(p, n))
        return pl_err_set(err, PL_EINPUT,
                          "%s is to run on the host: only what updates or casts states can, is "
                          "element-wise behind the forward pass, or evenly split in updates",
                          n->op->name);
    for (int a = 0; a < p->mesh.n; a++) PL_TRY(check_choice(p, n, a, err));
    return true;
}

/* Where a value is before anybody has moved it. */
static pl_placement find_home(const pl_plan *p, const pl_value *v)
{
    return v->maker ? pl_plan_operand(p, v->maker->id, v->maker->n_in + v->out)
                    : pl_placement_normal(&p->stored[v->id], &p->mesh, &v->shape);
}

void pl_plan_keep(pl_plan *p, const pl_value *v, unsigned axes, pl_arena *out)
{
    const pl_placement home = find_home(p, v);
    pl_placement *x = PL_NEW(out, pl_placement), y = home;
    bool whole = true;
    for (int a = 0; a < p->mesh.n && whole; a++)
        if (!(axes >> a & 1) && pl_placement_find(&y, a) >= 0)
            whole = pl_placement_gather(&y, &p->mesh, &v->shape, a);
    *x = whole ? y : home;
    p->kept[v->id] = x;
}

bool pl_plan_can_recompute(const pl_value *v)
{
    const pl_node *n = v->maker;
    return n && n->phase == PL_FORWARD && !pl_op_changes_state(n->op);
}

/* Does a node do the same under both, on all axes? */
static bool is_choice_same(const pl_choice *a, const pl_choice *b, const pl_mesh *m)
{
    for (int k = 0; k < m->n; k++)
        if (a->factor[k] != b->factor[k] || a->level[k] != b->level[k]) return false;
    return true;
}

bool pl_plan_runs_alike(const pl_plan *a, int i, const pl_plan *b, int k)
{
    return is_choice_same(&a->choice[i], &b->choice[k], &a->mesh) && a->on_host[i] == b->on_host[k];
}

bool pl_plan_kept_alike(const pl_plan *a, int u, const pl_plan *b, int v)
{
    const pl_placement *x = a->kept[u], *y = b->kept[v];
    if (a->recompute[u] != b->recompute[v]) return false;
    return x == y || (x && y && pl_placement_same(x, y));
}

bool pl_plan_check(const pl_plan *p, pl_err *err)
{
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *v = p->graph->values.at[i];
        if (p->kept[i] && !pl_placement_check(p->kept[i], &p->mesh, &v->shape, err))
            return pl_err_in(err, "'%s', as it is kept", v->name);
        if (p->recompute[i] && !pl_plan_can_recompute(v))
            return pl_err_set(err, PL_EINPUT, "'%s' cannot be made again: %s", v->name,
                              v->maker && v->maker->phase == PL_FORWARD
                                  ? "its node changes a state"
                                  : "no node of the forward pass makes it");
        if (v->maker) continue;
        if (p->stored[i].host && v->role != PL_STATE)
            return pl_err_set(err, PL_EINPUT,
                              "input '%s' is to lie in the host's memory: only states can",
                              v->name);
        if (!pl_placement_check(&p->stored[i], &p->mesh, &v->shape, err))
            return pl_err_in(err, "%s '%s'", v->role == PL_STATE ? "state" : "input", v->name);
    }
    for (int i = 0; i < p->graph->nodes.n; i++)
        if (!pl_plan_check_node(p, p->graph->nodes.at[i], err))
            return pl_err_in(err, "node '%s'", p->graph->nodes.at[i]->name);
    return !p->stages || pl_plan_check_stages(p, err);
}

static pl_plan *new_plan(const pl_graph *g, pl_arena *out)
{
    pl_plan *p = PL_NEW(out, pl_plan);
    *p = (pl_plan){ .graph = g, .strategy = "single" };
    p->choice = PL_NEW_N(out, pl_choice, g->nodes.n + 1);
    p->stored = PL_NEW_N(out, pl_placement, g->values.n + 1);
    p->kept = PL_NEW_N(out, const pl_placement *, g->values.n + 1);
    p->recompute = PL_NEW_N(out, bool, g->values.n + 1);
    p->on_host = PL_NEW_N(out, bool, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) memset(&p->choice[i], PL_COPIED, sizeof p->choice[i]);
    return p;
}

pl_plan *pl_plan_single(const pl_graph *g, pl_arena *out)
{
    return new_plan(g, out);
}

static void print_choice(const pl_plan *p, const pl_node *n, pl_text *out)
{
    int axes[PL_MAX_AXES];
    pl_choice_order(&p->choice[n->id], &p->mesh, axes);
    for (int i = 0; i < p->mesh.n; i++) {
        int f = p->choice[n->id].factor[axes[i]];
        const char *axis = p->mesh.axis[axes[i]].name;
        if (f >= 0)
            pl_text_add(out, " %s=%c", axis, n->sig->factor[f].letter);
        else if (f <= PL_LINEAR)
            pl_text_add(out, " %s=linear:%d", axis, PL_LINEAR - f);
    }
}

void pl_plan_print(const pl_plan *p, pl_text *out)
{
    pl_arena *tmp = pl_arena_new("plan text");
    pl_text_add(out, "plan %s\nmesh", p->strategy);
    for (int a = 0; a < p->mesh.n; a++)
        pl_text_add(out, " %s=%d", p->mesh.axis[a].name, p->mesh.axis[a].size);
    pl_text_add(out, "\n");
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *v = p->graph->values.at[i];
        if (!v->maker)
            pl_text_add(out, "store %s %s\n", v->name,
                        pl_placement_text(tmp, &p->stored[i], &p->mesh, v->shape.rank));
    }
    for (int i = 0; i < p->graph->nodes.n; i++) {
        pl_text_add(out, "node %s", p->graph->nodes.at[i]->name);
        print_choice(p, p->graph->nodes.at[i], out);
        if (p->on_host[i]) pl_text_add(out, " on host");
        if (p->stages && p->stages->of[i] >= 0) pl_text_add(out, " stage %d", p->stages->of[i]);
        pl_text_add(out, "\n");
    }
    pl_arena_free(tmp);
}
