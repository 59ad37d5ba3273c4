/* The cost problem of a graph whose blocks are recomputed: pl_problem_recompute(). */
#include "cost/problem.h"
#include "plan/recompute.h"

#include <limits.h>

static bool is_recomputed(const pl_problem *problem, const pl_variable *v)
{
    const pl_graph *g = problem->graph;
    if (v->kind == PL_VARIABLE_SAVED) return problem->recompute[v->id];
    const pl_node *n = v->kind == PL_VARIABLE_NODE ? g->nodes.at[v->id] : NULL;
    for (int k = 0; n && k < n->n_out; k++)
        if (problem->recompute[n->out[k]->id]) return true;
    return false;
}

static double *scale(const double *from, int n, double by, pl_arena *out)
{
    double *to = PL_NEW_N(out, double, n);
    for (int i = 0; i < n; i++) to[i] = by * from[i];
    return to;
}

pl_problem *pl_problem_recompute(const pl_problem *problem, pl_arena *out)
{
    pl_problem *x = PL_NEW(out, pl_problem);
    *x = *problem;
    x->arena = out;
    x->recompute = pl_recompute_blocks(x->graph, x->fold, INT_MAX, out);
    for (int s = 0; s < 2; s++) {
        pl_variables *vars = &x->vars[s];
        pl_variable *at = PL_NEW_N(out, pl_variable, vars->n + 1);
        for (int i = 0; i < vars->n; i++) {
            at[i] = vars->at[i];
            if (!is_recomputed(x, &at[i])) continue;
            if (at[i].kind == PL_VARIABLE_SAVED)
                at[i].memory = scale(at[i].memory, at[i].n, 0, out);
            else
                at[i].time = scale(at[i].time, at[i].n, 2, out);
        }
        vars->at = at;
    }
    x->chain = pl_problem_chain(x, 1, out);
    return x;
}
