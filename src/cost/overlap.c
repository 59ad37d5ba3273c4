/* The tables of a cost problem at a price: computing with what cannot be hidden beside it at 1, all
 * messages at 0; and the larger of the two at its least (chain/pair.h). */
#include "chain/pair.h"
#include "cost/problem.h"

#include <math.h>

static const double *scale(const double *from, int n, double by, pl_arena *arena)
{
    if (by == 1) return from;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) to[i] = isinf(from[i]) ? from[i] : by * from[i];
    return to;
}

static pl_sum priced_vars(const pl_variables *vars, double price, pl_arena *arena)
{
    int *sizes = PL_NEW_N(arena, int, vars->n + 1);
    const double **time = PL_NEW_N(arena, const double *, vars->n + 1);
    const double **memory = PL_NEW_N(arena, const double *, vars->n + 1);
    for (int i = 0; i < vars->n; i++) {
        const pl_variable *v = &vars->at[i];
        sizes[i] = v->n;
        time[i] = scale(v->time, v->n, v->kind == PL_VARIABLE_NODE ? price : 1, arena);
        memory[i] = v->memory;
    }
    return (pl_sum){ .n = vars->n, .n_values = sizes, .time = time, .memory = memory };
}

static const double *uncover(const pl_edge *p, int n, double computing, double price,
                             pl_arena *arena)
{
    if (p->computing) return scale(p->sum.time, n, computing, arena);
    if (p->hidden <= 0 || price <= 0) return p->sum.time;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) {
        double t = p->sum.time[i];
        to[i] = isinf(t) ? t : t - price * fmin(p->hidden * t, p->window);
    }
    return to;
}

static const pl_sum_edge *priced_edges(const pl_problem *t, pl_edge_kind kind, double computing,
                                       double messages, pl_arena *arena)
{
    const pl_edges *from = &t->edges[kind];
    const pl_variables *a = &t->vars[kind == PL_EDGE_BLOCK || kind == PL_EDGE_LINK];
    const pl_variables *b = &t->vars[kind != PL_EDGE_OUTSIDE];
    pl_sum_edge *to = PL_NEW_N(arena, pl_sum_edge, from->n + 1);
    for (int i = 0; i < from->n; i++) {
        const pl_edge *p = &from->at[i];
        to[i] = p->sum;
        to[i].time = uncover(p, a->at[p->sum.a].n * b->at[p->sum.b].n, computing, messages, arena);
    }
    return to;
}

/* Computing at one price, messages at another. */
static pl_chain make_chain(const pl_problem *t, double computing, double messages, pl_arena *arena)
{
    pl_chain c = { .outside = priced_vars(&t->vars[0], computing, arena),
                   .block = priced_vars(&t->vars[1], computing, arena),
                   .copies = t->copies };
    const pl_sum_edge *edge[PL_N_EDGES];
    for (int k = 0; k < PL_N_EDGES; k++)
        edge[k] = priced_edges(t, (pl_edge_kind)k, computing, messages, arena);
    c.outside.edge = edge[PL_EDGE_OUTSIDE], c.outside.n_edges = t->edges[PL_EDGE_OUTSIDE].n;
    c.block.edge = edge[PL_EDGE_BLOCK], c.block.n_edges = t->edges[PL_EDGE_BLOCK].n;
    c.link = edge[PL_EDGE_LINK], c.n_links = t->edges[PL_EDGE_LINK].n;
    c.first = edge[PL_EDGE_FIRST], c.n_first = t->edges[PL_EDGE_FIRST].n;
    c.last = edge[PL_EDGE_LAST], c.n_last = t->edges[PL_EDGE_LAST].n;
    c.every = edge[PL_EDGE_EVERY], c.n_every = t->edges[PL_EDGE_EVERY].n;
    return c;
}

pl_chain pl_problem_chain(const pl_problem *t, double price, pl_arena *arena)
{
    return make_chain(t, price, price, arena);
}

pl_chain pl_problem_raw(const pl_problem *t, pl_arena *arena)
{
    return make_chain(t, 1, 0, arena);
}

pl_cost pl_problem_cost(const pl_problem *t, const int *value)
{
    pl_arena *tmp = pl_arena_new("tables cost");
    pl_chain computing = pl_problem_chain(t, 1, tmp), sending = pl_problem_chain(t, 0, tmp);
    pl_cost a = pl_chain_cost(&computing, value), b = pl_chain_cost(&sending, value);
    pl_arena_free(tmp);
    return (pl_cost){ fmax(a.time, b.time), a.memory };
}

bool pl_problem_below(pl_problem *t, double cap, bool tied, const pl_search_options *options,
                      pl_chain_opened **opened, pl_arena *out, pl_answer *answer, pl_err *err)
{
    double price = 1;
    t->chain = pl_problem_chain(t, 1, out);
    const pl_chain sending = pl_problem_chain(t, 0, out);
    const pl_chain_pair pair = { { &t->chain, &sending } };
    PL_TRY(pl_chain_pair_min(pair, cap, tied, options, opened, out, answer, &price, err));
    if (price != 1) t->chain = pl_problem_chain(t, price, out);
    return true;
}

bool pl_problem_min(pl_problem *t, double cap, bool tied, const pl_search_options *options,
                    pl_arena *out, pl_answer *answer, pl_err *err)
{
    return pl_problem_below(t, cap, tied, options, NULL, out, answer, err);
}

/* Times the least memory is as good. */
static const double NEAR_LEAST = 1.05;
enum { LEAST_EFFORT = 1 << 24 };

/* Of which of the three a variable's bytes are. */
static double *floor_of(const pl_problem *t, const pl_variable *v, pl_floor *f)
{
    if (v->kind != PL_VARIABLE_SAVED) return &f->states;
    return pl_graph_state(t->graph->values.at[v->id]) ? &f->casts : &f->saved;
}

static void add_floors(const pl_problem *t, const pl_variables *vars, double times, pl_floor *f)
{
    for (int i = 0; i < vars->n; i++) {
        const pl_variable *v = &vars->at[i];
        double least = INFINITY;
        for (int k = 0; k < v->n; k++)
            if (v->time[k] < INFINITY) least = fmin(least, v->memory[k]);
        *floor_of(t, v, f) += times * least;
    }
}

pl_floor pl_problem_floor(const pl_problem *t)
{
    pl_floor f = { 0 };
    add_floors(t, &t->vars[0], 1, &f);
    if (t->copies) add_floors(t, &t->vars[1], t->copies, &f);
    return f;
}

bool pl_problem_least(const pl_problem *t, pl_arena *out, pl_answer *answer, pl_err *err)
{
    const pl_search_options o = { .gap = 1e-3, .effort = LEAST_EFFORT };
    pl_arena *tmp = pl_arena_new("least memory");
    pl_chain c = pl_problem_chain(t, 1, tmp);
    bool ok = pl_chain_least(&c, &o, out, answer, err);
    pl_answer fast;
    pl_err why = { 0 };
    if (ok && pl_chain_min(&c, answer->memory * NEAR_LEAST, &o, out, &fast, &why)) *answer = fast;
    pl_arena_free(tmp);
    return ok;
}
