/* What else a node could do, and what the whole step would take then: pl_reason_node(),
 * ask_all(). */
#include "explain/reason.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- what is asked about ----------------------------------------------------------------------- */

static double cap_of(const pl_auto_options *o)
{
    return o && o->memory > 0 ? o->memory : INFINITY;
}

static pl_reason open_answer(const pl_problem *problem, const pl_answer *answer,
                             const char *strategy, const pl_auto_options *o, pl_arena *out)
{
    pl_cost cost = pl_problem_cost(problem, answer->value);
    return (pl_reason){ .problem = problem,
                        .answer = answer,
                        .plan = pl_problem_plan(problem, answer->value, NULL, strategy, NULL, out),
                        .cap = cap_of(o),
                        .tied = o && o->tied,
                        .seconds = cost.time,
                        .memory = cost.memory };
}

pl_reason pl_reason_open(const pl_auto_mesh *found, const pl_auto_options *options, pl_arena *out)
{
    return open_answer(found->problem, &found->answer, "auto", options, out);
}

pl_reason pl_reason_answer(const pl_problem *problem, const int *value,
                           const pl_auto_options *options, pl_arena *out)
{
    const pl_cost cost = pl_problem_cost(problem, value);
    const size_t n = (size_t)pl_chain_variables(&problem->chain);
    pl_answer *a = PL_NEW(out, pl_answer);
    *a = (pl_answer){ .value = pl_arena_get(out, n, sizeof *value),
                      .time = cost.time,
                      .memory = cost.memory,
                      .bound = cost.time };
    memcpy(a->value, value, n * sizeof *value);
    return open_answer(problem, a, "auto", options, out);
}

bool pl_reason_price(const pl_plan *p, const pl_fold *fold, const pl_speed *speed,
                     const pl_auto_options *options, pl_arena *out, pl_reason *r, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("price of a plan");
    const pl_problem *problem = pl_problem_new(p->graph, fold, &p->mesh, speed, out);
    pl_answer *answer = PL_NEW(out, pl_answer);
    pl_problem given;
    pl_err why = { 0 };
    bool ok = pl_problem_given(problem, p, tmp, &given, err);
    if (ok && !pl_problem_min(&given, cap_of(options), false, NULL, out, answer, &why))
        ok = pl_problem_min(&given, INFINITY, false, NULL, out, answer, err);
    pl_arena_free(tmp);
    if (ok) *r = open_answer(problem, answer, p->strategy, options, out);
    return ok;
}

/* -- one variable ------------------------------------------------------------------------------ */

/* A search for an alternative stops at a gap of COARSE of the step; where that took little, another
 * one closes the gap. (Closing it may take a hundred times as long.) Work is counted, not time, so
 * that equal questions have equal answers. */
static const double COARSE = 1e-3;
enum { FINE_WORK = 40 * 1000 * 1000, MOST_WORK = 400 * 1000 * 1000 };

typedef struct asking {
    const pl_reason *r;
    int side, var; /* of tables->vars                                            */
    const pl_variable *v;
    int *group, n_groups; /* [values] those with all operands in the same places; -1: illegal */
    int *taken;           /* [groups] by so many copies                                 */
    bool *left;           /* [groups] not asked yet                                     */
    pl_chain ends[2];     /* the two sums of a step: at price 0 and 1                   */
    pl_arena *tmp, *out;
    pl_alternatives *to;
    int room;
    struct { /* [room] of to->at */
        int group;
        int64_t work;
    } * by;
    int64_t work; /* entries read in all */
} asking;

/* Where a variable of a side stands among the values of an answer. */
static int place_of(const pl_problem *problem, int side, int var, int copy)
{
    return side ? problem->vars[0].n + copy * problem->vars[1].n + var : var;
}

static bool same_places(const pl_problem *problem, const pl_variable *v, int a, int b)
{
    if (v->kind != PL_VARIABLE_NODE) return a == b;
    for (int o = 0; o < PL_MAX_OPERANDS; o++) {
        const int16_t *at = problem->at[v->id * PL_MAX_OPERANDS + o];
        if (at && at[a] != at[b]) return false;
    }
    return true;
}

static void find_groups(asking *x)
{
    const pl_problem *problem = x->r->problem;
    const pl_chain *c = &x->ends[1];
    x->group = PL_NEW_N(x->tmp, int, x->v->n);
    int *first = PL_NEW_N(x->tmp, int, x->v->n);
    for (int i = 0; i < x->v->n; i++) {
        int g = 0;
        if (isinf((x->side ? c->block : c->outside).time[x->var][i])) {
            x->group[i] = -1;
            x->to->n_illegal++;
            continue;
        }
        while (g < x->n_groups && !same_places(problem, x->v, first[g], i)) g++;
        if (g == x->n_groups) first[x->n_groups++] = i;
        x->group[i] = g;
    }
    x->taken = PL_NEW_N(x->tmp, int, x->n_groups + 1);
    x->left = PL_NEW_N(x->tmp, bool, x->n_groups + 1);
    for (int g = 0; g < x->n_groups; g++) x->left[g] = true;
}

/* -- parts ------------------------------------------------------------------------------------- */

/* Of the time of a plan: the variable's own, of the edges that it is in, and all. */
typedef struct parts {
    double own, edges, all;
} parts;

/* Does an edge hold what a node takes once more? That is computing of its own. */
static bool is_computing(const pl_problem *problem, const pl_sum_edge *p, int copy_a, int copy_b)
{
    return problem->n_again && copy_a == copy_b && p->a == problem->says[copy_a >= 0];
}

/* Of a list of edges between two copies (-1: outside) those that the variable is in. */
static void add_edges(const asking *x, const pl_chain *c, const int *value, int n,
                      const pl_sum_edge *edge, int copy_a, int copy_b, parts *to)
{
    const pl_problem *problem = x->r->problem;
    const int *sizes = copy_b < 0 ? c->outside.n_values : c->block.n_values;
    double own = 0, messages = 0;
    for (int i = 0; i < n; i++) {
        const pl_sum_edge *p = &edge[i];
        bool is_a = p->a == x->var && (copy_a >= 0) == x->side;
        bool is_b = p->b == x->var && (copy_b >= 0) == x->side;
        if (!is_a && !is_b) continue;
        int a = value[place_of(problem, copy_a >= 0, p->a, copy_a)];
        int b = value[place_of(problem, copy_b >= 0, p->b, copy_b)];
        const bool computing = is_computing(problem, p, copy_a, copy_b);
        *(computing ? &own : &messages) += p->time[a * sizes[p->b] + b];
    }
    to->own += own, to->edges += messages;
}

/* The terms of the sum that says how long the step takes: the larger one. */
static parts split(const asking *x, const int *value)
{
    double all[2];
    for (int k = 0; k < 2; k++) all[k] = pl_chain_cost(&x->ends[k], value).time;
    const pl_chain *c = &x->ends[all[1] >= all[0]];
    const double *row = (x->side ? c->block : c->outside).time[x->var];
    parts p = { 0, 0, fmax(all[0], all[1]) };
    for (int i = 0; i < (x->side ? c->copies : 1); i++)
        p.own += row[value[place_of(x->r->problem, x->side, x->var, i)]];
    add_edges(x, c, value, c->outside.n_edges, c->outside.edge, -1, -1, &p);
    add_edges(x, c, value, c->n_first, c->first, -1, 0, &p);
    add_edges(x, c, value, c->n_last, c->last, -1, c->copies - 1, &p);
    for (int i = 0; i < c->copies; i++) {
        add_edges(x, c, value, c->block.n_edges, c->block.edge, i, i, &p);
        add_edges(x, c, value, c->n_every, c->every, -1, i, &p);
        if (i + 1 < c->copies) add_edges(x, c, value, c->n_links, c->link, i, i + 1, &p);
    }
    return p;
}

/* -- answers ----------------------------------------------------------------------------------- */

static const char *text_of(const asking *x, int value)
{
    const pl_problem *problem = x->r->problem;
    if (x->v->kind == PL_VARIABLE_NODE)
        return pl_reason_choice(&problem->domain[x->v->id]->choice[value],
                                problem->graph->nodes.at[x->v->id], problem->mesh, x->out);
    const pl_placement *p = &problem->placements[x->v->id].at[value];
    if (!p->n && !p->pending) return "whole";
    return pl_placement_text(x->out, p, problem->mesh,
                             problem->graph->values.at[x->v->id]->shape.rank);
}

static bool does_other(const asking *x, const int *value, int side, int var)
{
    const pl_problem *problem = x->r->problem;
    for (int i = 0; i < (side ? problem->copies : 1); i++) {
        int at = place_of(problem, side, var, i), was = x->r->answer->value[at];
        if (!same_places(problem, &problem->vars[side].at[var], was, value[at])) return true;
    }
    return false;
}

static void find_others(const asking *x, const int *value, pl_alternative *a)
{
    const pl_problem *problem = x->r->problem;
    const pl_node **other =
        PL_NEW_N(x->out, const pl_node *, problem->vars[0].n + problem->vars[1].n + 1);
    for (int side = 0; side < 2; side++)
        for (int v = 0; v < problem->vars[side].n; v++) {
            const pl_variable *var = &problem->vars[side].at[v];
            bool self = side == x->side && v == x->var;
            if (var->kind == PL_VARIABLE_NODE && !self && does_other(x, value, side, v))
                other[a->n_others++] = problem->graph->nodes.at[var->id];
        }
    a->other = other;
}

/* The best plan that was found in which all copies do what a group does. */
static void note(asking *x, int i, int group, const pl_answer *answer, double bound)
{
    int value = answer->value[place_of(x->r->problem, x->side, x->var, 0)];
    parts was = split(x, x->r->answer->value), is = split(x, answer->value);
    pl_alternative *a = &x->to->at[i];
    *a = (pl_alternative){ .text = text_of(x, value),
                           .value = value,
                           .taken = x->taken[group],
                           .seconds = is.all,
                           .bound = bound,
                           .more = is.all - was.all,
                           .compute = is.own - was.own,
                           .messages = is.edges - was.edges,
                           .memory = answer->memory - x->r->answer->memory };
    a->rest = a->more - a->compute - a->messages;
    find_others(x, answer->value, a);
}

static void add(asking *x, int group, const pl_answer *answer)
{
    int i = x->to->n++;
    PL_ASSERT_CMP(i, <, x->room);
    note(x, i, group, answer, answer->bound);
    x->by[i].group = group;
    x->by[i].work = answer->work;
    x->left[group] = false;
}

/* Of variable x all groups but those of `may` are illegal; tables are shared but for its row. */
static bool search(asking *x, const bool *may, double gap, pl_arena *tmp, pl_answer *answer,
                   pl_err *err)
{
    const pl_search_options o = { .gap = gap };
    pl_problem problem = *x->r->problem;
    pl_variable *vars = PL_NEW_N(tmp, pl_variable, problem.vars[x->side].n);
    double *row = PL_NEW_N(tmp, double, x->v->n);
    memcpy(vars, problem.vars[x->side].at, (size_t)problem.vars[x->side].n * sizeof *vars);
    for (int i = 0; i < x->v->n; i++)
        row[i] = x->group[i] >= 0 && may[x->group[i]] ? x->v->time[i] : INFINITY;
    vars[x->var].time = row;
    problem.vars[x->side].at = vars;
    bool ok = pl_problem_min(&problem, x->r->cap, x->r->tied, &o, tmp, answer, err);
    if (ok) x->work += answer->work;
    return ok;
}

/* All copies do what this group does. */
static bool ask_group(asking *x, int group, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("alternative");
    bool *may = PL_NEW_N(tmp, bool, x->n_groups);
    pl_answer answer;
    may[group] = true;
    bool ok = search(x, may, COARSE, tmp, &answer, err);
    if (ok) add(x, group, &answer);
    if (!ok && err->code == PL_EINFEASIBLE) {
        *err = (pl_err){ 0 };
        for (int i = 0; i < x->v->n; i++) x->to->n_illegal += x->group[i] == group;
        x->left[group] = false;
        ok = true;
    }
    pl_arena_free(tmp);
    return ok;
}

/* The groups of an answer's copies, each once. */
static int groups_of(const asking *x, const int *value, int *group)
{
    int n = 0;
    for (int i = 0; i < x->to->copies; i++) {
        int g = x->group[value[place_of(x->r->problem, x->side, x->var, i)]], k = 0;
        while (k < n && group[k] != g) k++;
        if (k == n) group[n++] = g;
    }
    return n;
}

/* What the found plan does. */
static bool ask_taken(asking *x, pl_err *err)
{
    int *group = PL_NEW_N(x->tmp, int, x->to->copies), n = groups_of(x, x->r->answer->value, group);
    if (n == 1) {
        add(x, group[0], x->r->answer);
        return true;
    }
    for (int i = 0; i < n; i++) PL_TRY(ask_group(x, group[i], err));
    return true;
}

/* The fastest plan without what was asked before is the next best, and bounds all that are left.
 * Where its copies do different things, each of these is asked alone. *any is false when none is
 * left. */
static bool ask_next(asking *x, bool *any, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("next best");
    pl_answer answer;
    int n_left = 0, *group = PL_NEW_N(tmp, int, x->to->copies);
    for (int g = 0; g < x->n_groups; g++) n_left += x->left[g];
    bool ok = n_left > 0 && search(x, x->left, COARSE, tmp, &answer, err);
    *any = ok;
    if (ok) {
        int n = groups_of(x, answer.value, group);
        x->to->at_least = answer.bound - x->r->seconds;
        if (n == 1) add(x, group[0], &answer);
        for (int i = 0; i < n && n > 1 && ok && x->to->n < x->room; i++)
            ok = ask_group(x, group[i], err);
    } else if (!n_left || err->code == PL_EINFEASIBLE) {
        *err = (pl_err){ 0 };
        for (int i = 0; i < x->v->n; i++)
            x->to->n_illegal += x->group[i] >= 0 && x->left[x->group[i]];
        for (int g = 0; g < x->n_groups; g++) x->left[g] = false;
        ok = true;
    }
    pl_arena_free(tmp);
    return ok;
}

static bool is_open(const pl_alternative *a)
{
    return a->seconds - a->bound > 1e-9 * a->seconds;
}

static void close_gap(asking *x, int i)
{
    pl_arena *tmp = pl_arena_new("gap of an alternative");
    bool *may = PL_NEW_N(tmp, bool, x->n_groups);
    pl_answer answer;
    pl_err none = { 0 };
    may[x->by[i].group] = true;
    if (search(x, may, 0, tmp, &answer, &none)) {
        double bound = fmax(answer.bound, x->to->at[i].bound);
        if (answer.time <= x->to->at[i].seconds)
            note(x, i, x->by[i].group, &answer, bound);
        else
            x->to->at[i].bound = bound;
    }
    pl_arena_free(tmp);
}

/* What the found plan does is as it is: its gap is that of the search. */
static void close_gaps(asking *x)
{
    for (int i = 0; i < x->to->n; i++) {
        bool found = x->to->at[i].taken == x->to->copies;
        if (!found && is_open(&x->to->at[i]) && x->by[i].work < FINE_WORK) close_gap(x, i);
    }
}

/* Differences below 1e-9 of the step are rounding: there the one that was taken comes first. */
static int by_seconds(const void *a, const void *b)
{
    const pl_alternative *x = a, *y = b;
    double mine = fabs(x->more) <= 1e-9 * x->seconds ? 0 : x->more;
    double other = fabs(y->more) <= 1e-9 * y->seconds ? 0 : y->more;
    if (mine != other) return mine < other ? -1 : 1;
    if (x->taken != y->taken) return x->taken > y->taken ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static bool ask_all(asking *x, int most, pl_err *err)
{
    PL_TRY(ask_taken(x, err));
    x->room = x->to->n + most;
    for (bool any = true; any && x->to->n < x->room && x->work < MOST_WORK;)
        PL_TRY(ask_next(x, &any, err));
    for (int g = 0; g < x->n_groups; g++) x->to->n_more += x->left[g];
    close_gaps(x);
    qsort(x->to->at, (size_t)x->to->n, sizeof *x->to->at, by_seconds);
    return true;
}

static bool ask(const pl_reason *r, int side, int var, int most, pl_arena *out, pl_alternatives *a,
                pl_err *err)
{
    const pl_problem *problem = r->problem;
    pl_arena *tmp = pl_arena_new("alternatives");
    asking x = { .r = r, .side = side, .var = var, .v = &problem->vars[side].at[var] };
    x.tmp = tmp, x.out = out, x.to = a;
    *a = (pl_alternatives){ .var = x.v, .copies = side ? problem->copies : 1 };
    for (int k = 0; k < 2; k++) x.ends[k] = pl_problem_chain(problem, k, tmp);
    find_groups(&x);
    for (int i = 0; i < a->copies; i++)
        x.taken[x.group[r->answer->value[place_of(problem, side, var, i)]]]++;
    x.room = a->copies + most;
    a->at = PL_NEW_N(out, pl_alternative, x.room + 1);
    x.by = pl_arena_get(tmp, (size_t)x.room + 1, sizeof *x.by);
    bool ok = ask_all(&x, most, err);
    pl_arena_free(tmp);
    return ok;
}

bool pl_reason_node(const pl_reason *r, const pl_node *n, int most, pl_arena *out,
                    pl_alternatives *a, pl_err *err)
{
    const pl_node *s = pl_problem_counterpart(r->problem, n);
    int var = r->problem->node[s->id];
    if (var < 0)
        return pl_err_set(err, PL_EINPUT,
                          "node '%s' has nothing to choose: all that it reads and makes are single "
                          "numbers, so every device does all of it",
                          n->name);
    return ask(r, pl_problem_copy(r->problem, n) >= 0, var, most, out, a, err);
}

bool pl_reason_ask(const pl_reason *r, const pl_value *v, pl_variable_kind kind, int most,
                   pl_arena *out, pl_alternatives *a, pl_err *err)
{
    const pl_problem *problem = r->problem;
    int id = problem->counterpart[v->id]->id;
    const int *vars = kind == PL_VARIABLE_STORED  ? problem->stored
                      : kind == PL_VARIABLE_SAVED ? problem->saved
                                                  : problem->read[0];
    PL_ASSERT(kind != PL_VARIABLE_NODE && vars[id] >= 0);
    return ask(r, problem->copy[v->id] >= 0, vars[id], most, out, a, err);
}
