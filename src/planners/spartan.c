/* Spartan (Huang et al., USENIX ATC 2015) tiles the arrays of a program greedily; Tofu's section 7
 * has it so: the largest tensor first, over the dimension that moves least, then the next one.
 *
 * Other than published: Spartan's own smart tiling looks at groups of arrays and knows tiles of two
 * dimensions; operators are placed here in the same order as tensors, by the largest of theirs,
 * and what is not decided yet counts with the least that it could cost. */
#include "planners/list.h"
#include "planners/rules.h"

#include <math.h>
#include <stdlib.h>

typedef struct turn { /* of a variable */
    int var;
    int64_t bytes;
} turn;

static int by_bytes(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->var > y->var) - (x->var < y->var);
}

static int64_t largest_of(const pl_space *s, int var)
{
    const pl_graph *g = s->problem->graph;
    int64_t most = 0;
    if (s->var[var]->kind != PL_VARIABLE_NODE) return pl_value_bytes(g->values.at[s->var[var]->id]);
    const pl_node *n = g->nodes.at[s->var[var]->id];
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        int64_t bytes = pl_value_bytes(pl_node_value(n, o));
        if (bytes > most) most = bytes;
    }
    return most;
}

typedef struct greedy {
    const pl_space *s;
    int **edges, *n_edges; /* [variables] those that it is in                */
    int *value;            /* [variables] chosen, or -1                      */
} greedy;

static void index_edges(greedy *x, pl_arena *a)
{
    const pl_sum *sum = &x->s->chain.outside;
    int *room = PL_NEW_N(a, int, sum->n + 1);
    x->edges = PL_NEW_N(a, int *, sum->n + 1);
    x->n_edges = PL_NEW_N(a, int, sum->n + 1);
    for (int p = 0; p < sum->n_edges; p++) room[sum->edge[p].a]++, room[sum->edge[p].b]++;
    for (int v = 0; v < sum->n; v++) x->edges[v] = PL_NEW_N(a, int, room[v] + 1);
    for (int p = 0; p < sum->n_edges; p++) {
        int ends[2] = { sum->edge[p].a, sum->edge[p].b };
        for (int e = 0; e < 2; e++) x->edges[ends[e]][x->n_edges[ends[e]]++] = p;
    }
}

/* With the other end as chosen; if it is not, the least over what it may be. */
static double edge_cost(const greedy *x, const pl_sum_edge *p, int var, int value)
{
    int other = p->a == var ? p->b : p->a, cols = x->s->var[p->b]->n;
    double least = INFINITY;
    for (int y = 0; y < x->s->var[other]->n; y++) {
        bool may = x->value[other] < 0 ? x->s->keep[other][y] : x->value[other] == y;
        if (may) least = fmin(least, p->time[p->a == var ? value * cols + y : y * cols + value]);
    }
    return least;
}

static bool choose(greedy *x, int var, pl_err *err)
{
    const pl_sum *sum = &x->s->chain.outside;
    double least = INFINITY;
    for (int i = 0; i < x->s->var[var]->n; i++) {
        if (!x->s->keep[var][i]) continue;
        double cost = pl_space_own(x->s, PL_SPACE_MESSAGES, var, i);
        for (int p = 0; p < x->n_edges[var]; p++)
            cost += edge_cost(x, &sum->edge[x->edges[var][p]], var, i);
        if (cost < least) least = cost, x->value[var] = i;
    }
    if (isfinite(least)) return true;
    return pl_err_set(err, PL_EINFEASIBLE,
                      "variable %d of %d: what was chosen before it leaves no way to split it", var,
                      x->s->n);
}

static bool choose_all(const pl_problem *problem, pl_arena *tmp, pl_arena *out, pl_answer *answer,
                       pl_err *err)
{
    pl_space s = pl_rules_one_dimension(problem, tmp);
    pl_space_flatten(&s);
    greedy x = { .s = &s, .value = PL_NEW_N(out, int, s.n + 1) };
    turn *order = PL_NEW_N(tmp, turn, s.n + 1);
    index_edges(&x, tmp);
    for (int v = 0; v < s.n; v++) order[v] = (turn){ v, largest_of(&s, v) }, x.value[v] = -1;
    qsort(order, (size_t)s.n, sizeof *order, by_bytes);
    for (int i = 0; i < s.n; i++) PL_TRY(choose(&x, order[i].var, err));
    *answer = (pl_answer){ .value = x.value };
    return true;
}

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    pl_arena *tmp = pl_arena_new("greedy");
    (void)cap;
    bool ok = choose_all(problem, tmp, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

const pl_planner pl_planner_spartan = {
    .name = "spartan",
    .about = "largest tensors first, each over its best dimension",
    .source = "Huang et al., USENIX ATC 2015",
    .run = run,
};
