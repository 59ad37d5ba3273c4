/* Cost problems as text: pl_problem_print(), and pl_problem_parse(), which has the chain read and
 * then the lines behind it. */
#include "cost/text.h"

#include "chain/text.h"
#include "chain/words.h"

#include <math.h>
#include <string.h>

static const char *const sums[] = { "outside", "block" };
static const char *const lists[PL_N_EDGES] = {
    [PL_EDGE_OUTSIDE] = "outside", [PL_EDGE_BLOCK] = "block", [PL_EDGE_LINK] = "links",
    [PL_EDGE_FIRST] = "first",     [PL_EDGE_LAST] = "last",   [PL_EDGE_EVERY] = "every",
};

void pl_problem_print(const pl_problem *problem, pl_text *out)
{
    pl_arena *tmp = pl_arena_new("problem text");
    const pl_chain chain = pl_problem_raw(problem, tmp);
    pl_chain_print(&chain, out);
    for (int s = 0; s < 2; s++) {
        pl_text_add(out, "nodes %s", sums[s]);
        for (int v = 0; v < problem->vars[s].n; v++)
            if (problem->vars[s].at[v].kind == PL_VARIABLE_NODE) pl_text_add(out, " %d", v);
        pl_text_add(out, "\n");
    }
    for (int k = 0; k < PL_N_EDGES; k++)
        for (int i = 0; i < problem->edges[k].n; i++) {
            const pl_edge *e = &problem->edges[k].at[i];
            if (e->hidden > 0)
                pl_text_add(out, "hides %s %d %.17g %.17g\n", lists[k], i, e->hidden, e->window);
        }
    pl_arena_free(tmp);
}

/* -- parsing ----------------------------------------------------------------------------------- */

static bool read_at_most(pl_words *r, const char *wanted, double most, double *x)
{
    const pl_words before = *r;
    PL_TRY(pl_words_real(r, wanted, x));
    return (*x >= 0 && *x <= most) || pl_words_bad(&before, wanted);
}

static bool read_nodes(pl_words *r, const char *name, pl_variables *vars)
{
    int v;
    if (!pl_words_take(r, "nodes") || !pl_words_take(r, name))
        return pl_words_bad(r, "'nodes' and 'outside' or 'block'");
    while (*r->at && *r->at != '\n') {
        PL_TRY(pl_words_int(r, "a variable", 0, vars->n - 1, &v));
        vars->at[v].kind = PL_VARIABLE_NODE;
    }
    return pl_words_end_line(r);
}

static bool read_hides(pl_words *r, pl_problem *problem)
{
    int k = 0, i;
    if (!pl_words_take(r, "hides")) return pl_words_bad(r, "'hides'");
    while (k < PL_N_EDGES && !pl_words_take(r, lists[k])) k++;
    if (k == PL_N_EDGES) return pl_words_bad(r, "a list of edges");
    PL_TRY(pl_words_int(r, "an edge", 0, problem->edges[k].n - 1, &i));
    pl_edge *e = &problem->edges[k].at[i];
    PL_TRY(read_at_most(r, "a share from 0 to 1", 1, &e->hidden));
    return read_at_most(r, "seconds", INFINITY, &e->window) && pl_words_end_line(r);
}

/* -- a problem of a chain ---------------------------------------------------------------------- */

static double *copy_numbers(const double *x, int n, pl_arena *arena)
{
    double *y = PL_NEW_N(arena, double, n + 1);
    if (x) memcpy(y, x, (size_t)n * sizeof *x);
    return y;
}

static pl_variables take_variables(const pl_sum *s, pl_arena *arena)
{
    pl_variables vars = { s->n, s->n, PL_NEW_N(arena, pl_variable, s->n + 1) };
    for (int v = 0; v < s->n; v++) {
        const int n = s->n_values[v];
        vars.at[v] = (pl_variable){ .kind = PL_VARIABLE_READ, .id = -1, .n = n };
        vars.at[v].time = copy_numbers(s->time[v], n, arena);
        vars.at[v].memory = copy_numbers(s->memory[v], n, arena);
    }
    return vars;
}

static pl_edges take_edges(int n, const pl_sum_edge edge[], pl_arena *arena)
{
    pl_edges edges = { n, n, PL_NEW_N(arena, pl_edge, n + 1) };
    for (int i = 0; i < n; i++) edges.at[i].sum = edge[i];
    return edges;
}

static pl_problem *make_problem(const pl_chain *c, pl_arena *arena)
{
    pl_problem *p = PL_NEW(arena, pl_problem);
    *p = (pl_problem){ .arena = arena, .copies = c->copies };
    p->vars[0] = take_variables(&c->outside, arena);
    p->vars[1] = take_variables(&c->block, arena);
    p->edges[PL_EDGE_OUTSIDE] = take_edges(c->outside.n_edges, c->outside.edge, arena);
    p->edges[PL_EDGE_BLOCK] = take_edges(c->block.n_edges, c->block.edge, arena);
    p->edges[PL_EDGE_LINK] = take_edges(c->n_links, c->link, arena);
    p->edges[PL_EDGE_FIRST] = take_edges(c->n_first, c->first, arena);
    p->edges[PL_EDGE_LAST] = take_edges(c->n_last, c->last, arena);
    p->edges[PL_EDGE_EVERY] = take_edges(c->n_every, c->every, arena);
    return p;
}

bool pl_problem_parse(const char *text, pl_arena *arena, pl_problem **out, pl_err *err)
{
    const char *rest = strstr(text, "\nnodes ");
    const size_t n = rest ? (size_t)(rest + 1 - text) : strlen(text);
    pl_words r = { .at = text + n, .line = 1, .err = err };
    pl_chain chain;
    for (size_t i = 0; i < n; i++) r.line += text[i] == '\n';
    PL_TRY(pl_chain_parse(pl_arena_span(arena, text, n), arena, &chain, err));
    pl_problem *p = *out = make_problem(&chain, arena);
    for (int s = 0; s < 2; s++) PL_TRY(read_nodes(&r, sums[s], &p->vars[s]));
    while (*r.at) PL_TRY(read_hides(&r, p));
    p->chain = pl_problem_chain(p, 1, arena);
    return true;
}
