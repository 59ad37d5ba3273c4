/* The cost problem of a graph on a mesh. Read pl_problem_new() at the end: classes that fold, a
 * variable per node (add_node), then per value the variables and edges on its cost to its readers
 * (add_computed, add_leaf). docs/planner.md does a small one by hand. */
#include "cost/problem.h"

#include "base/map.h"
#include "graph/op.h"
#include "cost/ends.h"
#include "cost/reshard_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct known_domain {
    const pl_node *node;
    const pl_domain *domain;
    const double *time;
} known_domain;

/* Where the nodes of one domain have an operand, as placements of a value. */
typedef struct known_places {
    const pl_domain *domain;
    int operand;
    const int16_t *at;
} known_places;

typedef struct places_list {
    int n, cap;
    known_places *at;
} places_list;

typedef struct builder {
    pl_problem *problem;
    const pl_speed *speed;
    pl_arena *arena, *tmp;
    pl_reshard_costs *costs;
    pl_reshard_cost **cost; /* [values] */
    struct {
        int n, cap;
        known_domain *at;
        pl_map map;
    } domains;
    places_list *places;         /* [values]                         */
    pl_readers active, *readers; /* [values] active nodes, each once */
    double *before, *after;      /* [nodes] seconds of computing, each node at its fastest */
} builder;

/* -- copies ------------------------------------------------------------------------------------ */

int pl_problem_copy(const pl_problem *problem, const pl_node *n)
{
    int class = problem->n_classes ? problem->fold->class_of[n->id] : -1;
    if (class < 0 || !problem->folded[class]) return -1;
    int copy = problem->fold->instance_of[n->id] - problem->first;
    return copy >= 0 && copy < problem->copies ? copy : -1;
}

bool pl_problem_is_backward(const pl_node *n)
{
    return n->phase == PL_BACKWARD || (n->phase == PL_UPDATE && !pl_op_changes_state(n->op));
}

const pl_node *pl_problem_counterpart(const pl_problem *problem, const pl_node *n)
{
    if (pl_problem_copy(problem, n) < 0) return n;
    int slot = problem->fold->slot_of[n->id];
    const pl_fold_class *c = &problem->fold->at[problem->fold->class_of[n->id]];
    return problem->graph->nodes.at[c->node[problem->first + problem->representative][slot]];
}

int pl_problem_block(const pl_problem *problem)
{
    int n = 0;
    for (int i = 0; problem->n_classes && i < problem->fold->n_classes; i++)
        n += problem->folded[i] ? problem->fold->at[i].n_nodes : 0;
    return n;
}

/* Does every value go from a copy to itself, to a neighbour or outside? */
static bool is_chain(const pl_problem *problem)
{
    for (int i = 0; i < problem->graph->nodes.n; i++) {
        const pl_node *n = problem->graph->nodes.at[i];
        int copy = pl_problem_copy(problem, n);
        for (int k = 0; k < n->n_in && copy >= 0; k++) {
            int from = n->in[k]->maker ? pl_problem_copy(problem, n->in[k]->maker) : -1;
            if (from >= 0 && abs(from - copy) > 1) return false;
        }
    }
    return true;
}

/* The class whose copies hold the most nodes, and others of as many copies. */
static void pick_classes(pl_problem *problem)
{
    const pl_fold *f = problem->fold;
    const int first = f ? pl_fold_largest(f, PL_LEAST_COPIES) : -1;
    if (first < 0) return;
    problem->folded = PL_NEW_N(problem->arena, bool, f->n_classes);
    problem->copies = f->at[first].n_instances;
    problem->representative = 1; /* it has one before and one after */
    for (int k = 0; k < f->n_classes; k++) {
        int i = k == 0 ? first : k <= first ? k - 1 : k;
        if (f->at[i].n_instances != problem->copies) continue;
        problem->folded[i] = true;
        problem->n_classes++;
        if (is_chain(problem)) continue;
        problem->folded[i] = false;
        problem->n_classes--;
    }
}

/* Leaves belong to the copy that reads them, if only one does. */
static void find_copies(builder *x)
{
    pl_problem *problem = x->problem;
    const pl_graph *g = problem->graph;
    enum { NOBODY = -2 };
    for (int v = 0; v < g->values.n; v++)
        problem->copy[v] = NOBODY, problem->counterpart[v] = g->values.at[v];
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i], *s = pl_problem_counterpart(problem, n);
        int copy = pl_problem_copy(problem, n);
        for (int k = 0; k < n->n_out; k++)
            problem->copy[n->out[k]->id] = copy, problem->counterpart[n->out[k]->id] = s->out[k];
        for (int k = 0; k < n->n_in; k++) {
            int v = n->in[k]->id;
            if (n->in[k]->maker) continue;
            bool first = problem->copy[v] == NOBODY;
            problem->copy[v] = first || problem->copy[v] == copy ? copy : -1;
            problem->counterpart[v] = problem->copy[v] >= 0 ? s->in[k] : g->values.at[v];
        }
    }
    for (int v = 0; v < g->values.n; v++)
        if (problem->copy[v] == NOBODY) problem->copy[v] = -1;
}

/* Nodes outside, those of the first and the last copy, and of the representative with its
 * neighbours. */
static void find_active(builder *x)
{
    pl_problem *problem = x->problem;
    for (int i = 0; i < problem->graph->nodes.n; i++) {
        const pl_node *n = problem->graph->nodes.at[i];
        int copy = pl_problem_copy(problem, n);
        bool near = copy >= problem->representative - 1 && copy <= problem->representative + 1;
        if (copy >= 0 && copy != 0 && copy != problem->copies - 1 && !near) continue;
        PL_PUSH(x->arena, &x->active, n);
        for (int k = 0; k < n->n_in; k++) {
            pl_readers *r = &x->readers[n->in[k]->id];
            if (!r->n || r->at[r->n - 1] != n) PL_PUSH(x->arena, r, n);
        }
    }
}

/* -- nodes ------------------------------------------------------------------------------------- */

static bool is_number(const pl_value *v)
{
    return v->shape.rank == 0;
}

static uint64_t hash_shape(uint64_t h, const pl_value *v)
{
    h = pl_hash_mix(h, (uint64_t)v->type << 8 | (uint64_t)v->shape.rank);
    for (int d = 0; d < v->shape.rank; d++) h = pl_hash_mix(h, (uint64_t)v->shape.dim[d]);
    return h;
}

/* Of all that a domain and its times depend on. */
static uint64_t hash_node(const pl_node *n)
{
    uint64_t h = pl_hash_mix((uint64_t)(uintptr_t)n->op, (uint64_t)n->sig->n_factors);
    for (int f = 0; f < n->sig->n_factors; f++)
        h = pl_hash_mix(h,
                        (uint64_t)n->sig->factor[f].size << 8 | (uint64_t)n->sig->factor[f].letter);
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        h = hash_shape(h, pl_node_value(n, o));
        for (int d = 0; d < n->sig->operand[o].rank; d++) {
            const pl_sig_dim *x = &n->sig->operand[o].dim[d];
            h = pl_hash_mix(h, (uint64_t)(x->window + 1) << 8 | (uint64_t)x->n);
            for (int k = 0; k < x->n; k++) h = pl_hash_mix(h, (uint64_t)x->factor[k]);
        }
    }
    for (int w = 0; w < n->sig->n_windows; w++) {
        const pl_window *x = &n->sig->window[w];
        h = pl_hash_mix(pl_hash_mix(h, (uint64_t)x->stride << 32 | (uint64_t)x->dilation),
                        (uint64_t)x->pad_lo);
    }
    return h;
}

static bool is_form_same(const pl_value *a, const pl_value *b)
{
    return a->type == b->type && pl_shape_same(&a->shape, &b->shape);
}

static bool is_work_same(const pl_node *a, const pl_node *b)
{
    bool same = a->op == b->op && a->n_in == b->n_in && a->n_out == b->n_out &&
                (a->sig == b->sig || !strcmp(a->spec, b->spec));
    for (int o = 0; same && o < a->n_in + a->n_out; o++)
        same = is_form_same(pl_node_value(a, o), pl_node_value(b, o));
    return same;
}

static known_domain *find_domain(builder *x, const pl_node *n)
{
    uint64_t hash = hash_node(n);
    PL_MAP_EACH (&x->domains.map, hash, k)
        if (is_work_same(x->domains.at[k.value].node, n)) return &x->domains.at[k.value];
    pl_domain *d = PL_NEW(x->arena, pl_domain);
    *d = pl_domain_of(n, x->problem->mesh, x->arena);
    double *time = PL_NEW_N(x->arena, double, d->n);
    for (int i = 0; i < d->n; i++) {
        pl_share s = pl_choice_share(&d->choice[i], n, x->problem->mesh, 0);
        time[i] = pl_speed_share(&s, x->speed);
    }
    const known_domain k = { n, d, time };
    pl_map_put(&x->domains.map, hash, x->domains.n, x->arena);
    PL_PUSH(x->arena, &x->domains, k);
    return &x->domains.at[x->domains.n - 1];
}

/* Outside, or in the representative copy? Those have variables. */
static bool stands(const builder *x, int copy)
{
    return copy < 0 || copy == x->problem->representative;
}

static int add_variable(builder *x, int copy, pl_variable_kind kind, int id, int n)
{
    pl_variables *vars = &x->problem->vars[copy >= 0];
    pl_variable v = { kind, id, n, PL_NEW_N(x->arena, double, n), PL_NEW_N(x->arena, double, n) };
    PL_PUSH(x->arena, vars, v);
    return vars->n - 1;
}

static pl_variable *variable_at(const builder *x, int copy, int id)
{
    return &x->problem->vars[copy >= 0].at[id];
}

static const int16_t *map_places(builder *x, pl_placement_set *placements, const pl_domain *d,
                                 int o)
{
    int16_t *map = PL_NEW_N(x->tmp, int16_t, d->placements[o].n);
    bool same = true;
    for (int i = 0; i < d->placements[o].n; i++) {
        map[i] = (int16_t)pl_placement_set_add(placements, &d->placements[o].at[i], x->arena);
        same &= map[i] == i;
    }
    if (same) return d->at[o];
    int16_t *at = PL_NEW_N(x->arena, int16_t, d->n);
    for (int i = 0; i < d->n; i++) at[i] = map[d->at[o][i]];
    return at;
}

/* Where nodes of a domain have an operand become placements of a value. */
static const int16_t *note_places(builder *x, const pl_value *v, const pl_domain *d, int o)
{
    pl_placement_set *placements = &x->problem->placements[v->id];
    places_list *l = &x->places[v->id];
    for (int i = 0; i < l->n; i++)
        if (l->at[i].domain == d && l->at[i].operand == o) return l->at[i].at;
    known_places k = { d, o, d->at[o] };
    if (placements->n)
        k.at = map_places(x, placements, d, o);
    else
        *placements = pl_placement_set_share(&d->placements[o]);
    PL_PUSH(x->tmp, l, k);
    return k.at;
}

static void note_spots(builder *x, const pl_node *n, const pl_domain *d)
{
    pl_problem *problem = x->problem;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        if (!is_number(v))
            problem->at[n->id * PL_MAX_OPERANDS + o] =
                note_places(x, problem->counterpart[v->id], d, o);
    }
}

/* In a step. */
static double runs(const builder *x, const pl_node *n)
{
    return (double)pl_graph_runs(x->problem->graph, n);
}

static void add_node(builder *x, const pl_node *n)
{
    pl_problem *problem = x->problem;
    bool numbers = true;
    int copy = pl_problem_copy(problem, n);
    for (int o = 0; o < n->n_in + n->n_out; o++) numbers &= is_number(pl_node_value(n, o));
    if (numbers) return;
    const known_domain *k = find_domain(x, n);
    note_spots(x, n, k->domain);
    if (!stands(x, copy)) return;
    problem->domain[n->id] = k->domain;
    problem->node[n->id] = add_variable(x, copy, PL_VARIABLE_NODE, n->id, k->domain->n);
    double *time = variable_at(x, copy, problem->node[n->id])->time;
    for (int i = 0; i < k->domain->n; i++) time[i] = runs(x, n) * k->time[i];
    problem->log10_plans += log10(k->domain->n) * (copy >= 0 ? problem->copies : 1);
}

static int *new_index(builder *x, int n)
{
    int *at = PL_NEW_N(x->arena, int, n + 1);
    memset(at, -1, sizeof(int) * (size_t)(n + 1));
    return at;
}

/* Seconds of one run. */
static double fastest(const builder *x, const pl_node *n)
{
    int copy = pl_problem_copy(x->problem, n),
        var = x->problem->node[pl_problem_counterpart(x->problem, n)->id];
    double least = INFINITY;
    if (var < 0) return 0;
    const pl_variable *v = variable_at(x, copy, var);
    for (int i = 0; i < v->n; i++) least = fmin(least, v->time[i]);
    return least / runs(x, n);
}

static void raise(double *to, double x)
{
    if (x > *to) *to = x;
}

/* An update runs as soon as what it needs is there. Of a block counts the copy with the most. */
static void find_windows(builder *x)
{
    const pl_graph *g = x->problem->graph;
    int n = g->nodes.n, *backward = new_index(x, n);
    double *rest = PL_NEW_N(x->arena, double, n + 1);
    x->before = PL_NEW_N(x->arena, double, n + 1);
    x->after = PL_NEW_N(x->arena, double, n + 1);
    for (int i = n - 1; i >= 0; i--) rest[i] = rest[i + 1] + fastest(x, g->nodes.at[i]);
    for (int i = 0; i < n; i++) {
        const pl_node *node = g->nodes.at[i];
        backward[i] = pl_op_changes_state(node->op) ? -1 : i;
        for (int k = 0; k < node->n_in && pl_op_changes_state(node->op); k++)
            if (node->in[k]->maker && backward[node->in[k]->maker->id] > backward[i])
                backward[i] = backward[node->in[k]->maker->id];
        int stand = pl_problem_counterpart(x->problem, node)->id;
        raise(&x->before[stand], rest[0] - rest[i]);
        raise(&x->after[stand], rest[backward[i] + 1]);
    }
}

/* -- edges ------------------------------------------------------------------------------------- */

/* A variable of a copy, and at which placement each of its values has a tensor; NULL: at that one.
 */
typedef struct end {
    int copy, var;
    const int16_t *at;
} end;

static end node_end(const builder *x, const pl_node *n, int o)
{
    const pl_node *s = pl_problem_counterpart(x->problem, n);
    return (end){ pl_problem_copy(x->problem, n), x->problem->node[s->id],
                  x->problem->at[n->id * PL_MAX_OPERANDS + o] };
}

/* The list of edges that one between these copies belongs to, or -1: another copy tells it.
 * `every`: what is outside is read by, or reads, all copies. */
static int find_list(const builder *x, int a, int b, bool every)
{
    int out = a < 0 || b < 0, copy = a < 0 ? b : a;
    if (a < 0 && b < 0) return PL_EDGE_OUTSIDE;
    if (out && every) return copy == x->problem->representative ? PL_EDGE_EVERY : -1;
    if (out) return copy == 0 ? PL_EDGE_FIRST : copy == x->problem->copies - 1 ? PL_EDGE_LAST : -1;
    return a == b ? PL_EDGE_BLOCK : PL_EDGE_LINK;
}

/* What of the time of messages can pass beside computing. */
typedef struct overlap {
    double hidden, window; /* see pl_edge */
} overlap;

/* Where an edge of two variables belongs, and whether b comes first there: in lists what is outside
 * or before does. */
typedef struct slot_of_edge {
    int list; /* -1: nowhere */
    bool turned;
} slot_of_edge;

static slot_of_edge find_slot(const builder *x, end a, end b, bool every)
{
    int list = find_list(x, a.copy, b.copy, every);
    bool inside = list == PL_EDGE_OUTSIDE || list == PL_EDGE_BLOCK;
    bool turned = !inside && (list == PL_EDGE_LINK ? a.copy > b.copy : b.copy < 0);
    return (slot_of_edge){ list, turned };
}

static void add_edge(builder *x, slot_of_edge at, end a, end b, overlap c, const double *time,
                     const double *memory)
{
    pl_edge p = { { a.var, b.var, time, memory }, c.hidden, c.window };
    if (at.turned) p.sum.a = b.var, p.sum.b = a.var;
    PL_PUSH(x->arena, &x->problem->edges[at.list], p);
}

static pl_reshard_cost *reshard_cost_of(builder *x, const pl_value *v)
{
    pl_reshard_cost **w = &x->cost[v->id];
    if (!*w) *w = pl_reshard_costs_find(x->costs, v, &x->problem->placements[v->id]);
    return *w;
}

/* The value (of the copy that stands for it) goes from a to b so many times in a step: once, or in
 * every micro-batch, each of which has a window of its own. */
static void link(builder *x, const pl_value *v, end a, end b, bool every, overlap cover,
                 double times)
{
    slot_of_edge at = find_slot(x, a, b, every);
    if (at.list < 0) return;
    pl_variable_places from = { variable_at(x, a.copy, a.var)->n, a.at },
                       to = { variable_at(x, b.copy, b.var)->n, b.at };
    cover.window *= times;
    add_edge(x, at, a, b, cover,
             pl_reshard_costs_time(x->costs, reshard_cost_of(x, v), from, to, at.turned, times > 1),
             NULL);
}

/* -- values ------------------------------------------------------------------------------------ */

/* A value on its cost to its readers: where they take it from, by phase. */
typedef struct stream {
    const pl_value *v; /* that stands for all copies */
    end from[2];
    bool two;      /* what is read in the backward pass is kept for it */
    overlap cover; /* of its messages                                  */
} stream;

/* How often the readers of a phase read it as operands. *often: how often one runs at most. */
static int count_readers(const builder *x, const stream *s, int phase, double *often)
{
    int n = 0;
    *often = 1;
    for (int i = 0; i < x->readers[s->v->id].n; i++) {
        const pl_node *r = x->readers[s->v->id].at[i];
        if ((s->two && pl_problem_is_backward(r)) != phase) continue;
        for (int o = 0; o < r->n_in; o++) n += r->in[o] == s->v;
        raise(often, runs(x, r));
    }
    return n;
}

/* A variable for where the value lies next. */
static end add_stop(builder *x, const stream *s, pl_variable_kind kind, int *id)
{
    int copy = x->problem->copy[s->v->id];
    *id = add_variable(x, copy, kind, s->v->id, x->problem->placements[s->v->id].n);
    return (end){ copy, *id, NULL };
}

static void stop(builder *x, stream *s, int phase, double times, int *id)
{
    end to = add_stop(x, s, PL_VARIABLE_READ, id);
    link(x, s->v, s->from[phase], to, false, s->cover, times);
    s->from[phase] = to;
}

/* Kept for the backward pass: as it lies, or the part of it that it was moved from. Of a state that
 * is stored so it takes no memory. */
static void add_saved(builder *x, stream *s, end made)
{
    end lies = s->from[0], to = add_stop(x, s, PL_VARIABLE_SAVED, &x->problem->saved[s->v->id]);
    pl_reshard_cost *w = reshard_cost_of(x, s->v);
    slot_of_edge here = find_slot(x, lies, to, false);
    overlap cover = s->cover;
    cover.window *= (double)x->problem->graph->micro;
    add_edge(x, here, lies, to, cover, pl_reshard_costs_keep(x->costs, w), NULL);
    pl_variable *var = variable_at(x, to.copy, to.var);
    if (s->v->maker)
        memcpy(var->memory, pl_reshard_costs_bytes(x->costs, w), (size_t)var->n * sizeof(double));
    else
        add_edge(x, here, made, to, cover, pl_reshard_costs_none(x->costs, w),
                 pl_reshard_costs_beside(x->costs, w));
    s->from[1] = to;
}

static stream open_stream(builder *x, const pl_value *v, end made, overlap cover)
{
    pl_problem *problem = x->problem;
    stream s = { v, { made, made }, !v->maker || !pl_problem_is_backward(v->maker), cover };
    double often[2];
    int early = count_readers(x, &s, 0, &often[0]), backward = count_readers(x, &s, 1, &often[1]);
    if (early > 1 || (early && backward))
        stop(x, &s, 0, fmax(often[0], often[1]), &problem->read[0][v->id]);
    if (!backward) return s;
    if (early)
        add_saved(x, &s, made);
    else
        s.from[1] = s.from[0];
    if (backward > 1) stop(x, &s, 1, often[1], &problem->read[1][v->id]);
    return s;
}

/* To the readers of value v, which may be that of another copy; then only those outside. */
static void link_readers(builder *x, const stream *s, const pl_value *v)
{
    const pl_problem *problem = x->problem;
    int copy = problem->copy[v->id];
    for (int i = 0; i < x->readers[v->id].n; i++) {
        const pl_node *n = x->readers[v->id].at[i];
        end from = s->from[s->two && pl_problem_is_backward(n)];
        if (copy >= 0 && copy != problem->representative && pl_problem_copy(problem, n) >= 0)
            continue;
        if (from.copy >= 0) from.copy = copy;
        for (int o = 0; o < n->n_in; o++) {
            if (n->in[o] != v) continue;
            link(x, s->v, from, node_end(x, n, o), pl_problem_ends_shared(problem, v, n, o),
                 s->cover, runs(x, n));
        }
    }
}

/* The same value of the first and the last copy, as it goes to readers outside. */
static void link_ends(builder *x, const stream *s)
{
    pl_problem *problem = x->problem;
    for (int v = 0; v < problem->graph->values.n; v++) {
        bool is_end = problem->copy[v] == 0 || problem->copy[v] == problem->copies - 1;
        if (problem->counterpart[v] == s->v && is_end &&
            problem->copy[v] != problem->representative)
            link_readers(x, s, problem->graph->values.at[v]);
    }
}

static void add_value(builder *x, const pl_value *v, end made, overlap cover)
{
    stream s = open_stream(x, v, made, cover);
    link_readers(x, &s, v);
    if (x->problem->copy[v->id] >= 0) link_ends(x, &s);
}

static void add_computed(builder *x, const pl_value *v)
{
    bool update = false;
    for (int i = 0; i < x->readers[v->id].n; i++)
        update |= pl_op_changes_state(x->readers[v->id].at[i]->op);
    end made = node_end(x, v->maker, v->maker->n_in + v->out);
    overlap none = { 0, 0 }, after = { x->speed->hidden, x->after[v->maker->id] };
    add_value(x, v, made, update ? after : none);
}

/* Who alone reads a leaf, and changes it if anybody does; or NULL. */
static const pl_node *find_owner(const builder *x, const pl_value *v)
{
    const pl_readers *r = &x->readers[v->id];
    const pl_node *changes = v->next ? v->next->maker : NULL;
    return r->n == 1 && (!changes || changes == r->at[0]) ? r->at[0] : NULL;
}

static void add_owned(builder *x, const pl_value *v, const pl_node *n)
{
    pl_variable *var = variable_at(x, pl_problem_copy(x->problem, n), x->problem->node[n->id]);
    const double *bytes = pl_reshard_costs_bytes(x->costs, reshard_cost_of(x, v));
    for (int o = 0; o < n->n_in; o++)
        for (int i = 0; i < var->n && n->in[o] == v; i++)
            var->memory[i] += bytes[x->problem->at[n->id * PL_MAX_OPERANDS + o][i]];
}

static bool can_be_stored(const pl_placement *p)
{
    bool ok = !p->pending;
    for (int k = 0; k < p->n; k++) ok &= p->split[k].stride == 0;
    return ok;
}

static void add_leaf(builder *x, const pl_value *v)
{
    const pl_node *owner = find_owner(x, v), *changes = v->next ? v->next->maker : NULL;
    if (owner) {
        add_owned(x, v, owner);
        return;
    }
    int copy = x->problem->copy[v->id], n = x->problem->placements[v->id].n;
    int id = x->problem->stored[v->id] = add_variable(x, copy, PL_VARIABLE_STORED, v->id, n);
    const double *bytes = pl_reshard_costs_bytes(x->costs, reshard_cost_of(x, v));
    for (int i = 0; i < n; i++) {
        bool ok = can_be_stored(&x->problem->placements[v->id].at[i]);
        variable_at(x, copy, id)->time[i] = ok ? 0 : INFINITY;
        variable_at(x, copy, id)->memory[i] = bytes[i];
    }
    double hidden = v->role == PL_STATE ? x->speed->hidden : 0;
    overlap before = { hidden, x->before[x->readers[v->id].at[0]->id] };
    end made = { copy, id, NULL };
    add_value(x, v, made, before);
    if (changes) {
        overlap after = { hidden, x->after[changes->id] };
        link(x, v, node_end(x, changes, changes->n_in + v->next->out), made, false, after,
             runs(x, changes));
    }
}

/* -- all --------------------------------------------------------------------------------------- */

/* A state's next value may lie wherever the state does, and the other cost round. */
static void share_spots(builder *x)
{
    const pl_graph *g = x->problem->graph;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (!v->next || is_number(v) || !stands(x, x->problem->copy[i])) continue;
        pl_node *maker = v->next->maker;
        if (!maker || !x->problem->domain[maker->id]) continue;
        int o = maker->n_in + v->next->out;
        int16_t *at = PL_NEW_N(x->arena, int16_t, x->problem->domain[maker->id]->n);
        const pl_placement_set *from = &x->problem->placements[v->next->id];
        for (int k = 0; k < x->problem->domain[maker->id]->n; k++)
            at[k] = (int16_t)pl_placement_set_add(
                &x->problem->placements[v->id],
                &from->at[x->problem->at[maker->id * PL_MAX_OPERANDS + o][k]], x->arena);
        x->problem->at[maker->id * PL_MAX_OPERANDS + o] = at;
    }
}

static void set_up(builder *x)
{
    pl_problem *problem = x->problem;
    int nodes = problem->graph->nodes.n, values = problem->graph->values.n;
    problem->vars[0].n = problem->vars[1].n = x->active.n = 0;
    problem->log10_plans = 0;
    problem->domain = PL_NEW_N(x->arena, const pl_domain *, nodes + 1);
    problem->at = PL_NEW_N(x->arena, const int16_t *, (nodes + 1) * PL_MAX_OPERANDS);
    problem->placements = PL_NEW_N(x->arena, pl_placement_set, values + 1);
    problem->copy = new_index(x, values);
    problem->counterpart = PL_NEW_N(x->arena, const pl_value *, values + 1);
    x->readers = PL_NEW_N(x->tmp, pl_readers, values + 1);
    x->places = PL_NEW_N(x->tmp, places_list, values + 1);
    x->cost = PL_NEW_N(x->tmp, pl_reshard_cost *, values + 1);
    problem->node = new_index(x, nodes);
    problem->stored = new_index(x, values), problem->saved = new_index(x, values);
    problem->read[0] = new_index(x, values), problem->read[1] = new_index(x, values);
}

pl_problem *pl_problem_new(const pl_graph *g, const pl_fold *fold, const pl_mesh *m,
                           const pl_speed *speed, pl_arena *arena)
{
    pl_problem *problem = PL_NEW(arena, pl_problem);
    pl_arena *tmp = pl_arena_new("cost problem");
    builder x = { .problem = problem, .speed = speed, .arena = arena, .tmp = tmp };
    *problem = (pl_problem){ .graph = g, .mesh = m, .arena = arena, .fold = fold, .copies = 1 };
    x.costs = pl_reshard_costs_new(m, g->micro, arena, tmp);
    pick_classes(problem);
    do {
        set_up(&x);
        find_copies(&x);
        find_active(&x);
        for (int i = 0; i < x.active.n; i++) add_node(&x, x.active.at[i]);
    } while (pl_problem_ends_trim(problem, x.readers));
    share_spots(&x);
    find_windows(&x);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (is_number(v) || !x.readers[i].n || !stands(&x, problem->copy[i])) continue;
        if (v->maker)
            add_computed(&x, v);
        else
            add_leaf(&x, v);
    }
    pl_arena_free(tmp);
    problem->chain = pl_problem_chain(problem, 1, arena);
    return problem;
}
