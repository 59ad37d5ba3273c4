/* The tables with fewer values: pl_space_only() and pl_space_prefer() drop some, pl_space_min()
 * searches the rest. */
#include "planners/space.h"

#include <math.h>
#include <string.h>

/* Of what computing takes, where only messages count: too little to outweigh one of them. */
static const double TIE = 1e-6;

double pl_space_own(const pl_space *s, pl_space_aim aim, int var, int value)
{
    int n = s->chain.outside.n;
    const pl_sum *part = var < n ? &s->chain.outside : &s->chain.block;
    bool computes = s->var[var]->kind == PL_VARIABLE_NODE;
    if (aim == PL_SPACE_MESSAGES && computes) return TIE * s->var[var]->time[value];
    return part->time[var < n ? var : var - n][value];
}

static void add_variables(pl_space *s, const pl_variables *vars)
{
    for (int i = 0; i < vars->n; i++) {
        s->var[s->n] = &vars->at[i];
        s->keep[s->n++] = PL_NEW_N(s->arena, bool, vars->at[i].n);
    }
}

void pl_space_reset(pl_space *s)
{
    for (int v = 0; v < s->n; v++)
        for (int x = 0; x < s->var[v]->n; x++)
            s->keep[v][x] = isfinite(pl_space_own(s, PL_SPACE_TIME, v, x));
}

pl_space pl_space_new(const pl_problem *problem, double price, pl_arena *arena)
{
    pl_space s = { .problem = problem, .arena = arena };
    int n = problem->vars[0].n + problem->vars[1].n;
    s.chain = pl_problem_chain(problem, price, arena);
    s.var = PL_NEW_N(arena, const pl_variable *, n + 1);
    s.keep = PL_NEW_N(arena, bool *, n + 1);
    add_variables(&s, &problem->vars[0]);
    add_variables(&s, &problem->vars[1]);
    pl_space_reset(&s);
    return s;
}

void pl_space_flatten(pl_space *s)
{
    const pl_problem *problem = s->problem;
    pl_space old = *s;
    int n = (int)pl_chain_variables(&old.chain), outside = problem->vars[0].n;
    if (s->flat) return;
    s->flat = true;
    s->chain = (pl_chain){ .outside = pl_chain_unroll(&old.chain, s->arena), .copies = 1 };
    s->n = 0;
    s->var = PL_NEW_N(s->arena, const pl_variable *, n + 1);
    s->keep = PL_NEW_N(s->arena, bool *, n + 1);
    add_variables(s, &problem->vars[0]);
    for (int i = 0; i < problem->copies; i++) add_variables(s, &problem->vars[1]);
    for (int v = 0; v < n; v++) {
        int from = v < outside ? v : outside + (v - outside) % problem->vars[1].n;
        memcpy(s->keep[v], old.keep[from], (size_t)s->var[v]->n * sizeof(bool));
    }
}

/* -- what may not move ------------------------------------------------------------------------- */

/* Operands of a node that are a value, or what a step leaves in it. */
static bool is_about(const pl_node *n, int o, const pl_value *v)
{
    const pl_value *x = pl_node_value(n, o);
    return x == v || (o >= n->n_in && x == v->next);
}

static const pl_node *node_of(const pl_problem *problem, const pl_variable *a)
{
    return a->kind == PL_VARIABLE_NODE ? problem->graph->nodes.at[a->id] : NULL;
}

/* The placement where value i of a variable has a tensor, or -1 when it has it at several, or not.
 */
static int find_placement(const pl_problem *problem, const pl_variable *a, int i, const pl_value *v)
{
    const pl_node *n = node_of(problem, a);
    int placement = -1;
    if (!n) return a->id == v->id ? i : -1;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const int16_t *at = problem->at[n->id * PL_MAX_OPERANDS + o];
        if (!is_about(n, o, v) || !at) continue;
        if (placement >= 0 && placement != at[i]) return -1;
        placement = at[i];
    }
    return placement;
}

/* The value that an edge is about and that a rule concerns, or NULL. */
static const pl_value *find_moved(const pl_problem *problem, const pl_variable *a,
                                  const pl_variable *b, pl_space_rule *rule)
{
    const pl_node *from = node_of(problem, a), *to = node_of(problem, b);
    if (!from || !to) {
        const pl_value *v = problem->graph->values.at[from ? b->id : a->id];
        return rule(a, b, v) ? v : NULL;
    }
    for (int o = 0; o < from->n_out; o++)
        for (int k = 0; k < to->n_in; k++)
            if (from->out[o] == to->in[k] && rule(a, b, to->in[k])) return to->in[k];
    return NULL;
}

static const pl_sum_edge *still_edges(const pl_space *s, int n, const pl_sum_edge *edge,
                                      const pl_variables *left, const pl_variables *right,
                                      pl_space_rule *rule)
{
    pl_sum_edge *out = PL_NEW_N(s->arena, pl_sum_edge, n + 1);
    for (int p = 0; p < n; p++) {
        const pl_variable *a = &left->at[edge[p].a], *b = &right->at[edge[p].b];
        const pl_value *v = find_moved(s->problem, a, b, rule);
        out[p] = edge[p];
        if (!v) v = find_moved(s->problem, b, a, rule);
        if (!v || find_placement(s->problem, a, 0, v) < 0 ||
            find_placement(s->problem, b, 0, v) < 0)
            continue;
        double *time = PL_NEW_N(s->arena, double, a->n * b->n);
        for (int x = 0; x < a->n; x++)
            for (int y = 0; y < b->n; y++) {
                int i = find_placement(s->problem, a, x, v),
                    j = find_placement(s->problem, b, y, v);
                bool same = i >= 0 && i == j;
                time[x * b->n + y] = same ? edge[p].time[x * b->n + y] : INFINITY;
            }
        out[p].time = time;
    }
    return out;
}

void pl_space_still(pl_space *s, pl_space_rule *rule)
{
    pl_chain *c = &s->chain;
    const pl_variables *out = &s->problem->vars[0], *in = &s->problem->vars[1];
    PL_ASSERT(!s->flat);
    c->outside.edge = still_edges(s, c->outside.n_edges, c->outside.edge, out, out, rule);
    c->block.edge = still_edges(s, c->block.n_edges, c->block.edge, in, in, rule);
    c->link = still_edges(s, c->n_links, c->link, in, in, rule);
    c->first = still_edges(s, c->n_first, c->first, out, in, rule);
    c->last = still_edges(s, c->n_last, c->last, out, in, rule);
    c->every = still_edges(s, c->n_every, c->every, out, in, rule);
}

/* -- fewer values ------------------------------------------------------------------------------ */

bool pl_space_prefer(pl_space *s, int var, pl_space_test *test, const void *with)
{
    int n = s->var[var]->n, left = 0;
    bool *is = PL_NEW_N(s->arena, bool, n);
    for (int x = 0; x < n; x++) {
        is[x] = s->keep[var][x] && test(s, var, x, with);
        left += is[x];
    }
    if (left) memcpy(s->keep[var], is, (size_t)n * sizeof *is);
    return left > 0;
}

void pl_space_only(pl_space *s, pl_space_test *test, const void *with)
{
    for (int v = 0; v < s->n; v++) {
        bool left = pl_space_prefer(s, v, test, with);
        PL_ASSERT(left);
    }
}

/* -- the least --------------------------------------------------------------------------------- */

/* The chain with only the values that are kept. */
typedef struct packing {
    const pl_space *s;
    pl_arena *arena;
    int *n, **value; /* [variables] how many are kept, and their numbers */
} packing;

static packing list_kept(const pl_space *s, pl_arena *a)
{
    packing k = { s, a, PL_NEW_N(a, int, s->n + 1), PL_NEW_N(a, int *, s->n + 1) };
    for (int v = 0; v < s->n; v++) {
        k.value[v] = PL_NEW_N(a, int, s->var[v]->n);
        for (int x = 0; x < s->var[v]->n; x++)
            if (s->keep[v][x]) k.value[v][k.n[v]++] = x;
    }
    return k;
}

/* `a` and `b`: the variables that number 0 of either side is. */
static pl_sum_edge *pack_edges(const packing *k, int n, const pl_sum_edge *edge, int a, int b)
{
    pl_sum_edge *out = PL_NEW_N(k->arena, pl_sum_edge, n + 1);
    for (int p = 0; p < n; p++) {
        int va = a + edge[p].a, vb = b + edge[p].b, cols = k->s->var[vb]->n;
        double *time = PL_NEW_N(k->arena, double, k->n[va] * k->n[vb]);
        for (int x = 0; x < k->n[va]; x++)
            for (int y = 0; y < k->n[vb]; y++)
                time[x * k->n[vb] + y] = edge[p].time[k->value[va][x] * cols + k->value[vb][y]];
        out[p] = (pl_sum_edge){ edge[p].a, edge[p].b, time, NULL };
    }
    return out;
}

static pl_sum pack_sum(const packing *k, const pl_sum *from, int first, pl_space_aim aim)
{
    pl_sum s = { .n = from->n, .n_values = k->n + first, .n_edges = from->n_edges };
    const double **time = PL_NEW_N(k->arena, const double *, from->n + 1);
    for (int i = 0; i < from->n; i++) {
        int v = first + i;
        double *row = PL_NEW_N(k->arena, double, k->n[v]);
        for (int x = 0; x < k->n[v]; x++) row[x] = pl_space_own(k->s, aim, v, k->value[v][x]);
        time[i] = row;
    }
    s.time = time;
    s.edge = pack_edges(k, from->n_edges, from->edge, first, first);
    return s;
}

bool pl_space_min(const pl_space *s, pl_space_aim aim, bool tied, pl_arena *out, pl_answer *answer,
                  pl_err *err)
{
    pl_arena *tmp = pl_arena_new("space");
    const pl_chain *from = &s->chain;
    const packing k = list_kept(s, tmp);
    int o = from->outside.n, block = from->block.n;
    pl_chain c = *from;
    c.outside = pack_sum(&k, &from->outside, 0, aim);
    c.block = pack_sum(&k, &from->block, o, aim);
    c.link = pack_edges(&k, c.n_links, from->link, o, o);
    c.first = pack_edges(&k, c.n_first, from->first, 0, o);
    c.last = pack_edges(&k, c.n_last, from->last, 0, o);
    c.every = pack_edges(&k, c.n_every, from->every, 0, o);
    bool ok = tied ? pl_chain_tied(&c, INFINITY, NULL, out, answer, err)
                   : pl_chain_min(&c, INFINITY, NULL, out, answer, err);
    for (int i = 0; ok && i < pl_chain_variables(&c); i++) {
        int v = i < o ? i : o + (i - o) % block;
        answer->value[i] = k.value[v][answer->value[i]];
    }
    pl_arena_free(tmp);
    return ok;
}
