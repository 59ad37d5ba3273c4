/* What published searches ask of a value: is it split, copied, in one dimension alone. */
#include "planners/rules.h"

unsigned pl_rules_axes(const pl_mesh *m)
{
    unsigned axes = 0;
    for (int a = 0; a < m->n; a++)
        if (m->axis[a].size > 1) axes |= 1u << a;
    return axes;
}

/* What a value of a node's variable is, or NULL: it is a placement. */
static const pl_choice *choice_of(const pl_space *s, int var, int value)
{
    const pl_variable *v = s->var[var];
    return v->kind == PL_VARIABLE_NODE ? &s->problem->domain[v->id]->choice[value] : NULL;
}

static const pl_placement *placement_of(const pl_space *s, int var, int value)
{
    return &s->problem->placements[s->var[var]->id].at[value];
}

/* Axes that split a factor. */
static unsigned axes_of(const pl_choice *c, const pl_mesh *m)
{
    unsigned axes = 0;
    for (int a = 0; a < m->n; a++)
        if (c->factor[a] >= 0) axes |= 1u << a;
    return axes & pl_rules_axes(m);
}

bool pl_rules_plain(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    (void)with;
    if (!c) return !placement_of(s, var, value)->pending;
    for (int a = 0; a < s->problem->mesh->n; a++)
        if (c->factor[a] <= PL_LINEAR) return false;
    return true;
}

bool pl_rules_copied(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    if (!pl_rules_plain(s, var, value, with)) return false;
    return c ? !axes_of(c, s->problem->mesh) : !placement_of(s, var, value)->n;
}

bool pl_rules_split(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    unsigned axes = *(const unsigned *)with;
    unsigned have =
        c ? axes_of(c, s->problem->mesh) : pl_placement_axes(placement_of(s, var, value));
    return (have & axes) == axes;
}

/* Of axes on the same factor the first one of the mesh is major. */
static bool is_in_order(const pl_choice *c, const pl_mesh *m)
{
    for (int a = 0; a < m->n; a++)
        for (int b = 0; b < a; b++)
            if (c->factor[a] >= 0 && c->factor[a] == c->factor[b] && c->level[b] > c->level[a])
                return false;
    return true;
}

static bool is_uniform_choice(const pl_choice *c, const pl_mesh *m)
{
    unsigned axes = pl_rules_axes(m);
    int factor = PL_COPIED;
    bool first = true;
    for (int a = 0; a < m->n; a++) {
        if (!(axes >> a & 1)) continue;
        if (first) factor = c->factor[a];
        first = false;
        if (factor < 0 || c->factor[a] != factor) return false;
    }
    return is_in_order(c, m);
}

static bool is_uniform_spot(const pl_placement *p, const pl_mesh *m)
{
    for (int k = 1; k < p->n; k++) {
        const pl_split *a = &p->split[k - 1], *b = &p->split[k];
        if (a->dim != b->dim || a->size != b->size || a->unit != b->unit || a->axis > b->axis)
            return false;
    }
    return pl_placement_axes(p) == pl_rules_axes(m);
}

bool pl_rules_uniform(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    if (pl_rules_copied(s, var, value, with)) return true;
    return pl_rules_plain(s, var, value, with) &&
           (c ? is_uniform_choice(c, s->problem->mesh)
              : is_uniform_spot(placement_of(s, var, value), s->problem->mesh));
}

bool pl_rules_unsummed(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    (void)with;
    if (!c) return true;
    const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
    for (int a = 0; a < s->problem->mesh->n; a++)
        if (c->factor[a] >= 0 && !pl_share_touches(n, n->n_in, c->factor[a])) return false;
    return true;
}

bool pl_rules_rows(const pl_space *s, int var, int value, const void *with)
{
    const pl_choice *c = choice_of(s, var, value);
    pl_placement p;
    (void)with;
    if (c) {
        const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
        p = pl_choice_operand(c, n, s->problem->mesh, n->n_in);
    } else {
        p = *placement_of(s, var, value);
    }
    for (int k = 0; k < p.n; k++)
        if (p.split[k].dim) return false;
    return pl_placement_axes(&p) == pl_rules_axes(s->problem->mesh);
}

/* -- one axis after the other ------------------------------------------------------------------ */

/* Axes of the same factor stand as in what was fixed; the new one comes last, or anywhere. */
static bool keeps_order(const pl_choice *c, const pl_choice *fixed, const pl_rules_step *x)
{
    for (int a = 0; a <= x->axis; a++)
        for (int b = 0; b < a; b++) {
            bool same = c->factor[a] >= 0 && c->factor[a] == c->factor[b];
            bool after = c->level[b] > c->level[a];
            if (same && a < x->axis && after != (fixed->level[b] > fixed->level[a])) return false;
            if (same && a == x->axis && after && !x->anywhere) return false;
        }
    return true;
}

static bool extends_choice(const pl_choice *c, const pl_choice *fixed, const pl_mesh *m,
                           const pl_rules_step *x)
{
    for (int a = 0; a < m->n; a++) {
        int like = a < x->axis ? fixed->factor[a] : PL_COPIED;
        if (a != x->axis && c->factor[a] != like) return false;
    }
    return keeps_order(c, fixed, x);
}

/* Without split k it has the same axes on the same dimensions in the same order. The digits that
 * they split may differ on the dimension of k: what lies below the new axis is finer. */
static bool is_around(const pl_placement *p, int k, const pl_placement *fixed)
{
    if (p->n != fixed->n + 1) return false;
    for (int i = 0; i < fixed->n; i++) {
        const pl_split *a = &p->split[i < k ? i : i + 1], *b = &fixed->split[i];
        bool same = a->size == b->size && a->unit == b->unit && a->stride == b->stride;
        if (a->dim != b->dim || a->axis != b->axis) return false;
        if (a->dim != p->split[k].dim && !same) return false;
    }
    return true;
}

/* Without the axis it is what was fixed. */
static bool extends_spot(const pl_placement *p, const pl_placement *fixed, const pl_mesh *m,
                         const pl_shape *shape, const pl_rules_step *step)
{
    pl_placement x = *p;
    int k = pl_placement_find(p, step->axis);
    if (k < 0) return pl_placement_same(p, fixed);
    for (int i = k + 1; i < pl_placement_end(p, k); i++)
        if (p->split[i].axis < step->axis) return step->anywhere && is_around(p, k, fixed);
    if (!pl_placement_gather(&x, m, shape, step->axis)) {
        x = *p;
        pl_placement_remove(&x, k);
        x = pl_placement_normal(&x, m, shape);
    }
    return pl_placement_same(&x, fixed);
}

bool pl_rules_extends(const pl_space *s, int var, int value, const void *with)
{
    const pl_rules_step *x = with;
    const pl_choice *c = choice_of(s, var, value);
    int old = x->fixed[var];
    if (!pl_rules_plain(s, var, value, with)) return false;
    if (c) return extends_choice(c, choice_of(s, var, old), s->problem->mesh, x);
    const pl_shape *shape = &s->problem->graph->values.at[s->var[var]->id]->shape;
    return extends_spot(placement_of(s, var, value), placement_of(s, var, old), s->problem->mesh,
                        shape, x);
}

bool pl_rules_reorders(const pl_space *s, int var, int value, const void *with)
{
    const pl_rules_step *x = with;
    const pl_choice *c = choice_of(s, var, value), *old = choice_of(s, var, x->fixed[var]);
    if (!pl_rules_plain(s, var, value, with)) return false;
    for (int a = 0; a < s->problem->mesh->n; a++) {
        bool same = c ? c->factor[a] == old->factor[a]
                      : pl_placement_dim(placement_of(s, var, value), a) ==
                            pl_placement_dim(placement_of(s, var, x->fixed[var]), a);
        if (!same) return false;
    }
    return true;
}

/* -- variables and edges ----------------------------------------------------------------------- */

bool pl_rules_product(const pl_space *s, int var)
{
    if (s->var[var]->kind != PL_VARIABLE_NODE) return false;
    const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
    for (int f = 0; f < n->sig->n_factors; f++) {
        int readers = 0;
        for (int o = 0; o < n->n_in; o++) readers += pl_share_touches(n, o, f);
        if (readers > 1 && !pl_share_touches(n, n->n_in, f)) return true;
    }
    return false;
}

bool pl_rules_home(const pl_variable *a, const pl_variable *b, const pl_value *v)
{
    const pl_node *changes = v->next ? v->next->maker : NULL;
    if (!changes) return false;
    return (a->kind == PL_VARIABLE_STORED && b->kind == PL_VARIABLE_NODE && b->id == changes->id) ||
           (b->kind == PL_VARIABLE_STORED && a->kind == PL_VARIABLE_NODE && a->id == changes->id);
}

bool pl_rules_weights(const pl_variable *a, const pl_variable *b, const pl_value *v)
{
    const pl_value *state = pl_graph_state(v);
    (void)a, (void)b;
    return state && state->kind == PL_WEIGHT;
}

/* -- spaces ------------------------------------------------------------------------------------ */

pl_space pl_rules_one_dimension(const pl_problem *problem, pl_arena *arena)
{
    pl_space s = pl_space_new(problem, 0, arena);
    unsigned axes = pl_rules_axes(problem->mesh);
    pl_space_still(&s, pl_rules_home);
    pl_space_only(&s, pl_rules_uniform, NULL);
    for (int v = 0; v < s.n; v++) pl_space_prefer(&s, v, pl_rules_split, &axes);
    return s;
}
