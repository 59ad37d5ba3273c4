/* From the values of the tables' variables to a plan, and back. */
#include "layouts/propagate.h"
#include "cost/problem.h"
#include "plan/recompute.h"

#include <math.h>
#include <string.h>

/* An answer on its way to a plan: of the problem's graph, or of one with fewer of its blocks. */
typedef struct decoding {
    const pl_problem *problem;
    const int *value;
    const pl_short *s; /* or NULL */
    pl_plan *plan;
    bool *done; /* [nodes of the plan] it has a choice */
} decoding;

/* What a node or value of the plan is in the problem's graph. */
static const pl_node *whole_node(const decoding *d, int i)
{
    return d->problem->graph->nodes.at[d->s ? d->s->node[i] : i];
}

static int whole_value(const decoding *d, int i)
{
    return d->s ? d->s->value[i] : i;
}

/* The value that a variable has: of a block in that copy. */
static int value_in(const decoding *d, int copy, int var)
{
    const pl_variables *vars = d->problem->vars;
    return d->value[copy < 0 ? var : vars[0].n + copy * vars[1].n + var];
}

static const pl_placement *placement_in(const decoding *d, int whole, const int *vars)
{
    const pl_value *s = d->problem->counterpart[whole];
    int var = vars[s->id];
    return var < 0 ? NULL
                   : &d->problem->placements[s->id].at[value_in(d, d->problem->copy[whole], var)];
}

static void place_nodes(decoding *d)
{
    const pl_problem *problem = d->problem;
    for (int i = 0; i < d->plan->graph->nodes.n; i++) {
        const pl_node *n = whole_node(d, i), *s = pl_problem_counterpart(problem, n);
        int var = problem->node[s->id];
        d->done[i] = var >= 0;
        if (d->done[i])
            d->plan->choice[i] =
                problem->domain[s->id]->choice[value_in(d, pl_problem_copy(problem, n), var)];
    }
}

/* A leaf that has no variable lies where its one reader works. */
static void place_owned(decoding *d)
{
    pl_plan *p = d->plan;
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        for (int k = 0; k < n->n_in && d->done[i]; k++) {
            const int at = n->in[k]->id;
            const pl_value *s = d->problem->counterpart[whole_value(d, at)];
            if (!n->in[k]->maker && d->problem->stored[s->id] < 0)
                p->stored[at] = pl_plan_operand(p, i, k);
        }
    }
}

static void place_values(decoding *d)
{
    for (int i = 0; i < d->plan->graph->values.n; i++) {
        const pl_placement *store = placement_in(d, whole_value(d, i), d->problem->stored);
        if (store) d->plan->stored[i] = *store;
        d->plan->kept[i] = placement_in(d, whole_value(d, i), d->problem->saved);
    }
}

/* What has no variable follows. */
static void place_rest(const decoding *d, pl_paths *paths, pl_arena *tmp)
{
    const pl_graph *g = d->plan->graph;
    pl_propagation f;
    pl_propagate_init(&f, d->plan, tmp);
    if (paths) pl_propagate_share(&f, paths);
    for (int i = 0; i < g->values.n; i++) {
        pl_placement x = d->plan->stored[i];
        if (f.open[i]) pl_propagate_store(&f, g->values.at[i], &x);
    }
    memcpy(f.done, d->done, (size_t)g->nodes.n * sizeof *d->done);
    for (int i = 0; i < g->nodes.n; i++) pl_propagate_node(&f, g->nodes.at[i]);
}

static void recompute(const decoding *d, pl_arena *tmp)
{
    const int n = d->plan->graph->values.n;
    bool *again = PL_NEW_N(tmp, bool, n + 1);
    for (int i = 0; i < n; i++)
        again[i] = pl_problem_is_again(d->problem, d->value, whole_value(d, i));
    (void)pl_plan_recompute(d->plan, again);
}

pl_plan *pl_problem_plan(const pl_problem *problem, const int *value, const pl_short *s,
                         const char *strategy, pl_paths *paths, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("tables plan");
    decoding d = { .problem = problem, .value = value, .s = s };
    d.plan = pl_plan_single(s ? s->graph : problem->graph, out);
    d.plan->mesh = *problem->mesh;
    d.plan->strategy = strategy;
    d.done = PL_NEW_N(tmp, bool, d.plan->graph->nodes.n + 1);
    place_nodes(&d);
    place_owned(&d);
    place_values(&d);
    place_rest(&d, paths, tmp);
    recompute(&d, tmp);
    pl_arena_free(tmp);
    return d.plan;
}

/* Does an answer treat a copy as the one before it? */
static bool is_same_copy(const pl_problem *problem, const int *value, int copy)
{
    const pl_variables *vars = problem->vars;
    const int *at = value + vars[0].n + copy * vars[1].n;
    return !memcmp(at - vars[1].n, at, (size_t)vars[1].n * sizeof *at);
}

int pl_problem_stretches(const pl_problem *problem, const int *value, int most, pl_cut out[])
{
    const int first = problem->first;
    int n = 0;
    for (int i = 0; i < problem->fold->n_classes; i++)
        if (pl_fold_shortens(problem->fold, i) && (!problem->n_classes || !problem->folded[i]))
            return 0;
    for (int from = 0, to; from < problem->copies; from = to, n++) {
        for (to = from + 1; to < problem->copies && is_same_copy(problem, value, to);) to++;
        if (n < most) out[n] = (pl_cut){ .from = first + from, .to = first + to };
    }
    return n;
}

/* -- back -------------------------------------------------------------------------------------- */

/* The choice of a domain under which a node has all operands where a plan has them, in whichever
 * memory, and does as much; or -1. */
static int find_choice(const pl_problem *problem, const pl_plan *p, const pl_node *n)
{
    const pl_node *s = pl_problem_counterpart(problem, n);
    const pl_domain *d = problem->domain[s->id];
    int placement[PL_MAX_OPERANDS];
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = pl_plan_operand(p, n->id, o);
        x.host = false;
        placement[o] = -1;
        for (int i = 0; i < d->placements[o].n; i++)
            if (pl_placement_same(&d->placements[o].at[i], &x)) placement[o] = i;
    }
    pl_share mine = pl_plan_share(p, n->id, 0);
    for (int i = 0; i < d->n; i++) {
        bool same = true;
        for (int o = 0; o < n->n_in + n->n_out; o++) same &= d->at[o][i] == placement[o];
        if (!same) continue;
        pl_share other = pl_choice_share(&d->choice[i], s, problem->mesh, 0);
        for (int f = 0; f < n->sig->n_factors; f++) same &= mine.factor[f].n == other.factor[f].n;
        if (same) return i;
    }
    return -1;
}

static int find_placement(const pl_placement_set *s, const pl_placement *x)
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

/* Where a tensor is stored, in whichever memory: the tables know of one. */
static pl_placement stored_at(const pl_problem *problem, const pl_plan *p, const pl_value *v)
{
    pl_placement x = pl_placement_normal(&p->stored[v->id], problem->mesh, &v->shape);
    x.host = false;
    return x;
}

/* The value that a variable has in a plan, or -1. */
static int given_value(const pl_problem *problem, const pl_variable *v, const pl_plan *p)
{
    if (v->kind == PL_VARIABLE_NODE)
        return find_choice(problem, p, problem->graph->nodes.at[v->id]);
    const pl_value *x = problem->graph->values.at[v->id];
    const pl_placement where = stored_at(problem, p, x);
    return find_placement(&problem->placements[v->id], &where);
}

bool pl_problem_given(const pl_problem *problem, const pl_plan *p, pl_arena *a, pl_problem *out,
                      pl_err *err)
{
    *out = *problem;
    for (int k = 0; k < 2; k++) {
        pl_variables *vars = &out->vars[k];
        vars->at = PL_NEW_N(a, pl_variable, vars->n + 1);
        for (int i = 0; i < vars->n; i++) {
            pl_variable *v = &vars->at[i];
            *v = problem->vars[k].at[i];
            if (v->kind != PL_VARIABLE_NODE && v->kind != PL_VARIABLE_STORED) continue;
            int value = given_value(problem, v, p);
            if (value < 0)
                return pl_err_set(err, PL_EINPUT, "'%s' does nothing that the search knows",
                                  v->kind == PL_VARIABLE_NODE
                                      ? problem->graph->nodes.at[v->id]->name
                                      : problem->graph->values.at[v->id]->name);
            v->time = PL_NEW_N(a, double, v->n);
            for (int x = 0; x < v->n; x++)
                v->time[x] = x == value ? problem->vars[k].at[i].time[x] : INFINITY;
        }
    }
    return true;
}

bool pl_problem_fix(const pl_problem *problem, const pl_plan *p, pl_arena *a, pl_sum *out,
                    pl_err *err)
{
    pl_sum whole = pl_chain_unroll(&problem->chain, a);
    *out = copy_sum(&whole, a);
    for (int i = 0; i < problem->graph->nodes.n; i++) {
        const pl_node *n = problem->graph->nodes.at[i];
        int copy = pl_problem_copy(problem, n),
            var = problem->node[pl_problem_counterpart(problem, n)->id];
        if (var < 0) continue;
        int value = find_choice(problem, p, n);
        if (value < 0)
            return pl_err_set(err, PL_EINPUT, "node '%s': not among the choices of its domain",
                              n->name);
        fix(out, copy < 0 ? var : problem->vars[0].n + copy * problem->vars[1].n + var, value, a);
    }
    for (int i = 0; i < problem->graph->values.n; i++) {
        const pl_value *v = problem->graph->values.at[i], *s = problem->counterpart[i];
        int var = problem->stored[s->id];
        if (var < 0) continue;
        const pl_placement x = stored_at(problem, p, v);
        int value = find_placement(&problem->placements[s->id], &x);
        if (value < 0) return pl_err_set(err, PL_EINPUT, "'%s': stored nowhere known", v->name);
        int copy = problem->copy[i];
        fix(out, copy < 0 ? var : problem->vars[0].n + copy * problem->vars[1].n + var, value, a);
    }
    return true;
}
