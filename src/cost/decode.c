/* From the values of the tables' variables to a plan, and back. */
#include "layouts/propagate.h"
#include "cost/tables.h"

#include <math.h>
#include <string.h>

/* The value that a variable has: of a block in that copy. */
static int value_in(const pl_tables *t, const int *value, int copy, int var)
{
    return value[copy < 0 ? var : t->vars[0].n + copy * t->vars[1].n + var];
}

static const pl_placement *spot_in(const pl_tables *t, const int *value, const pl_value *v,
                                   const int *vars)
{
    const pl_value *s = t->like[v->id];
    int var = vars[s->id];
    return var < 0 ? NULL : &t->spot[s->id].at[value_in(t, value, t->copy[v->id], var)];
}

static void place_nodes(const pl_tables *t, const int *value, pl_plan *p, bool *done)
{
    for (int i = 0; i < t->graph->nodes.n; i++) {
        const pl_node *n = t->graph->nodes.at[i], *s = pl_tables_stand(t, n);
        int var = t->node[s->id];
        done[i] = var >= 0;
        if (done[i])
            p->choice[i] = t->domain[s->id]->choice[value_in(t, value, pl_tables_copy(t, n), var)];
    }
}

/* A leaf that has no variable lies where its one reader works. */
static void place_owned(const pl_tables *t, pl_plan *p, const bool *done)
{
    for (int i = 0; i < t->graph->nodes.n; i++) {
        const pl_node *n = t->graph->nodes.at[i];
        for (int k = 0; k < n->n_in && done[i]; k++)
            if (!n->in[k]->maker && t->store[t->like[n->in[k]->id]->id] < 0)
                p->stored[n->in[k]->id] = pl_plan_operand(p, i, k);
    }
}

static void place_values(const pl_tables *t, const int *value, pl_plan *p)
{
    for (int i = 0; i < t->graph->values.n; i++) {
        const pl_value *v = t->graph->values.at[i];
        const pl_placement *store = spot_in(t, value, v, t->store);
        const pl_placement *lie = spot_in(t, value, v, t->lie[0]);
        const pl_placement *save = spot_in(t, value, v, t->save);
        if (store) p->stored[i] = *store;
        if (lie && save && !pl_placement_same(lie, save))
            p->regather[i] = (uint8_t)pl_placement_axes(save);
    }
}

pl_plan *pl_tables_plan(const pl_tables *t, const int *value, const char *strategy, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("tables plan");
    bool *done = PL_NEW_N(tmp, bool, t->graph->nodes.n + 1);
    pl_plan *p = pl_plan_single(t->graph, out);
    p->mesh = *t->mesh;
    p->strategy = strategy;
    place_nodes(t, value, p, done);
    place_owned(t, p, done);
    place_values(t, value, p);
    pl_propagation f;
    pl_propagate_init(&f, p, tmp);
    for (int i = 0; i < t->graph->values.n; i++) {
        pl_placement x = p->stored[i];
        if (f.open[i]) pl_propagate_store(&f, t->graph->values.at[i], &x);
    }
    memcpy(f.done, done, (size_t)t->graph->nodes.n * sizeof *done);
    for (int i = 0; i < t->graph->nodes.n; i++) pl_propagate_node(&f, t->graph->nodes.at[i]);
    pl_arena_free(tmp);
    return p;
}

/* -- back -------------------------------------------------------------------------------------- */

/* The choice of a domain under which a node has all operands where a plan has them, and does as
 * much; or -1. */
static int find_choice(const pl_tables *t, const pl_plan *p, const pl_node *n)
{
    const pl_node *s = pl_tables_stand(t, n);
    const pl_domain *d = t->domain[s->id];
    int spot[PL_MAX_OPERANDS];
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = pl_plan_operand(p, n->id, o);
        spot[o] = -1;
        for (int i = 0; i < d->spot[o].n; i++)
            if (pl_placement_same(&d->spot[o].at[i], &x)) spot[o] = i;
    }
    pl_share mine = pl_plan_share(p, n->id, 0);
    for (int i = 0; i < d->n; i++) {
        bool same = true;
        for (int o = 0; o < n->n_in + n->n_out; o++) same &= d->at[o][i] == spot[o];
        if (!same) continue;
        pl_share other = pl_choice_share(&d->choice[i], s, t->mesh, 0);
        for (int f = 0; f < n->sig->n_factors; f++) same &= mine.factor[f].n == other.factor[f].n;
        if (same) return i;
    }
    return -1;
}

static int find_spot(const pl_spots *s, const pl_placement *x)
{
    for (int i = 0; i < s->n; i++)
        if (pl_placement_same(&s->at[i], x)) return i;
    return -1;
}

/* One variable of the sum takes one value alone. */
static void fix(pl_sum *s, int var, int value, pl_arena *a)
{
    const double *old = s->time[var];
    double *time = PL_NEW_N(a, double, s->n_values[var]);
    for (int i = 0; i < s->n_values[var]; i++) time[i] = i == value ? old[i] : INFINITY;
    ((const double **)s->time)[var] = time;
}

static pl_sum copy_sum(const pl_sum *s, pl_arena *a)
{
    pl_sum x = *s;
    const double **time = PL_NEW_N(a, const double *, s->n + 1);
    if (s->n) memcpy(time, s->time, (size_t)s->n * sizeof *time);
    x.time = time;
    return x;
}

/* The value that a variable has in a plan, or -1. */
static int given_value(const pl_tables *t, const pl_var *v, const pl_plan *p)
{
    if (v->kind == PL_VAR_NODE) return find_choice(t, p, t->graph->nodes.at[v->id]);
    const pl_value *x = t->graph->values.at[v->id];
    pl_placement where = pl_placement_normal(&p->stored[v->id], t->mesh, &x->shape);
    return find_spot(&t->spot[v->id], &where);
}

bool pl_tables_given(const pl_tables *t, const pl_plan *p, pl_arena *a, pl_tables *out, pl_err *err)
{
    *out = *t;
    for (int k = 0; k < 2; k++) {
        pl_vars *vars = &out->vars[k];
        vars->at = PL_NEW_N(a, pl_var, vars->n + 1);
        for (int i = 0; i < vars->n; i++) {
            pl_var *v = &vars->at[i];
            *v = t->vars[k].at[i];
            if (v->kind != PL_VAR_NODE && v->kind != PL_VAR_STORE) continue;
            int value = given_value(t, v, p);
            if (value < 0)
                return pl_err_set(err, PL_EINPUT, "'%s' does nothing that the search knows",
                                  v->kind == PL_VAR_NODE ? t->graph->nodes.at[v->id]->name
                                                         : t->graph->values.at[v->id]->name);
            v->time = PL_NEW_N(a, double, v->n);
            for (int x = 0; x < v->n; x++)
                v->time[x] = x == value ? t->vars[k].at[i].time[x] : INFINITY;
        }
    }
    return true;
}

bool pl_tables_fix(const pl_tables *t, const pl_plan *p, pl_arena *a, pl_sum *out, pl_err *err)
{
    pl_sum whole = pl_chain_unroll(&t->chain, a);
    *out = copy_sum(&whole, a);
    for (int i = 0; i < t->graph->nodes.n; i++) {
        const pl_node *n = t->graph->nodes.at[i];
        int copy = pl_tables_copy(t, n), var = t->node[pl_tables_stand(t, n)->id];
        if (var < 0) continue;
        int value = find_choice(t, p, n);
        if (value < 0)
            return pl_err_set(err, PL_EINPUT, "node '%s': not among the choices of its domain",
                              n->name);
        fix(out, copy < 0 ? var : t->vars[0].n + copy * t->vars[1].n + var, value, a);
    }
    for (int i = 0; i < t->graph->values.n; i++) {
        const pl_value *v = t->graph->values.at[i], *s = t->like[i];
        int var = t->store[s->id];
        if (var < 0) continue;
        pl_placement x = pl_placement_normal(&p->stored[i], t->mesh, &v->shape);
        int value = find_spot(&t->spot[s->id], &x);
        if (value < 0) return pl_err_set(err, PL_EINPUT, "'%s': stored nowhere known", v->name);
        int copy = t->copy[i];
        fix(out, copy < 0 ? var : t->vars[0].n + copy * t->vars[1].n + var, value, a);
    }
    return true;
}
