/* The cost problem of a graph whose blocks may be recomputed: pl_problem_recompute(). A variable of
 * the block says what is made again, and an edge from it to each node and saved value what that
 * changes. */
#include "cost/problem.h"
#include "plan/recompute.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_again(const pl_problem *x, int what, const pl_variable *v)
{
    const bool *set = x->again[what];
    if (v->kind == PL_VARIABLE_SAVED) return set[v->id];
    const pl_node *n = v->kind == PL_VARIABLE_NODE ? x->graph->nodes.at[v->id] : NULL;
    for (int k = 0; n && k < n->n_out; k++)
        if (set[n->out[k]->id]) return true;
    return false;
}

/* All or nothing of any value; what is large where there is such. */
static void list_sets(pl_problem *x, bool always, pl_arena *out)
{
    const int n = x->graph->values.n;
    const bool *all = pl_recompute_blocks(x->graph, x->fold, INT_MAX, out);
    x->again[x->n_again++] = all;
    if (always) return;
    const bool *large = pl_recompute_large(x->graph, out);
    bool *inside = PL_NEW_N(out, bool, n + 1), any = false;
    for (int i = 0; i < n; i++) any |= inside[i] = all[i] && large[i];
    if (any) x->again[x->n_again++] = inside;
    x->again[x->n_again++] = PL_NEW_N(out, bool, n + 1);
}

/* What it changes of a variable: a node takes its time once more, a saved value its memory only
 * where it is kept. */
static void join(pl_problem *x, int side, int var, pl_arena *out)
{
    pl_variable *v = &x->vars[side].at[var];
    const bool is_node = v->kind == PL_VARIABLE_NODE;
    double *time = PL_NEW_N(out, double, x->n_again * v->n),
           *memory = is_node ? NULL : PL_NEW_N(out, double, x->n_again * v->n);
    for (int what = 0; what < x->n_again; what++)
        for (int i = 0; i < v->n; i++) {
            const int at = what * v->n + i;
            const bool again = is_again(x, what, v);
            if (is_node && again && isfinite(v->time[i])) time[at] = v->time[i];
            if (!is_node && !again) memory[at] = v->memory[i];
        }
    if (!is_node) v->memory = PL_NEW_N(out, double, v->n);
    PL_PUSH(out, &x->edges[side ? PL_EDGE_BLOCK : PL_EDGE_OUTSIDE],
            ((pl_edge){ .sum = { x->says[side], var, time, memory }, .computing = true }));
}

/* Blocks make no less again than those after them. */
static void link_blocks(pl_problem *x, pl_arena *out)
{
    const int n = x->n_again;
    double *time = PL_NEW_N(out, double, n *n);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) time[a * n + b] = INFINITY;
    PL_PUSH(out, &x->edges[PL_EDGE_LINK],
            ((pl_edge){ .sum = { x->says[1], x->says[1], time, NULL } }));
}

static void *copy_of(const void *from, int n, size_t size, pl_arena *out)
{
    void *to = pl_arena_get(out, (size_t)n + 1, size);
    if (n) memcpy(to, from, (size_t)n * size);
    return to;
}

static void add_variable(pl_problem *x, int side, pl_arena *out)
{
    pl_variables *vars = &x->vars[side];
    const int n = vars->n;
    bool any = false;
    x->says[side] = -1;
    for (int i = 0; i < n; i++) any |= is_again(x, 0, &vars->at[i]);
    if (!any) return;
    x->says[side] = n;
    PL_PUSH(out, vars,
            ((pl_variable){ PL_VARIABLE_AGAIN, -1, x->n_again, PL_NEW_N(out, double, x->n_again),
                            PL_NEW_N(out, double, x->n_again) }));
    for (int i = 0; i < n; i++)
        if (is_again(x, 0, &vars->at[i])) join(x, side, i, out);
    if (side) link_blocks(x, out);
}

pl_problem *pl_problem_recompute(const pl_problem *problem, bool always, pl_arena *out)
{
    pl_problem *x = PL_NEW(out, pl_problem);
    *x = *problem;
    x->arena = out;
    for (int s = 0; s < 2; s++) {
        pl_variables *v = &x->vars[s];
        *v = (pl_variables){ v->n, v->n, copy_of(v->at, v->n, sizeof *v->at, out) };
    }
    for (int k = 0; k < PL_N_EDGES; k++) {
        pl_edges *e = &x->edges[k];
        *e = (pl_edges){ e->n, e->n, copy_of(e->at, e->n, sizeof *e->at, out) };
    }
    list_sets(x, always, out);
    for (int side = 0; side < 2; side++) add_variable(x, side, out);
    x->chain = pl_problem_chain(x, 1, out);
    return x;
}

int pl_problem_again(const pl_problem *problem, const int *value, int copy)
{
    const int says = problem->says[copy >= 0];
    if (says < 0) return problem->n_again - 1;
    return value[copy < 0 ? says : problem->vars[0].n + copy * problem->vars[1].n + says];
}

bool pl_problem_is_again(const pl_problem *problem, const int *value, int id)
{
    return problem->n_again &&
           problem->again[pl_problem_again(problem, value, problem->copy[id])][id];
}
