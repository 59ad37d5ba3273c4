/* Where a tensor lies on its way to its readers. */
#include "explain/reason.h"

static const char *const stops[PL_N_STOPS] = {
    [PL_STOP_STORED] = "stored",
    [PL_STOP_MADE] = "made",
    [PL_STOP_EARLY] = "for its readers",
    [PL_STOP_SAVED] = "kept for the backward pass",
    [PL_STOP_AGAIN] = "made again for the backward pass",
    [PL_STOP_LATE] = "for the backward pass",
    [PL_STOP_READER] = "for one reader",
    [PL_STOP_NEXT] = "after the step",
};

const char *pl_reason_stop(pl_stop_kind k)
{
    return stops[k];
}

/* Who reads what: the readers of value v are at[first[v]] up to at[first[v + 1]], each operand. */
typedef struct readers {
    int *first;
    struct reader {
        const pl_node *node;
        int operand;
    } * at;
} readers;

static readers find_readers(const pl_graph *g, pl_arena *a)
{
    int *first = PL_NEW_N(a, int, g->values.n + 2);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) first[g->nodes.at[i]->in[k]->id + 2]++;
    for (int v = 0; v < g->values.n; v++) first[v + 2] += first[v + 1];
    readers r = { first, PL_NEW_N(a, struct reader, first[g->values.n + 1] + 1) };
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++)
            r.at[first[g->nodes.at[i]->in[k]->id + 1]++] = (struct reader){ g->nodes.at[i], k };
    return r;
}

/* -- stops ------------------------------------------------------------------------------------- */

typedef struct trip {
    const pl_reason *r;
    const readers *readers;
    pl_reshard *reshard;
    const pl_value *v;
    struct {
        int n, cap;
        pl_stop *at;
    } stops;
    double seconds;
    pl_arena *arena;
    pl_err *err;
    bool ok;
} trip;

static int place_of(const pl_problem *t, int var, int copy)
{
    return copy >= 0 ? t->vars[0].n + copy * t->vars[1].n + var : var;
}

/* The placement that a variable of the value has. */
static int placement_of(const trip *x, int var)
{
    return x->r->answer->value[place_of(x->r->problem, var, x->r->problem->copy[x->v->id])];
}

static pl_placement lies_at(const trip *x, int var)
{
    const pl_problem *t = x->r->problem;
    return t->placements[t->counterpart[x->v->id]->id].at[placement_of(x, var)];
}

static const pl_stop *find_stop(const trip *x, pl_stop_kind kind)
{
    int i = x->stops.n - 1;
    while (i >= 0 && x->stops.at[i].kind != kind) i--;
    return i < 0 ? NULL : &x->stops.at[i];
}

static void find_path(trip *x, const pl_placement *from, const pl_placement *to, pl_path *path)
{
    int which;
    if (!x->ok || pl_placement_same(from, to)) return;
    x->ok =
        pl_reshard_find(x->reshard, x->v->type, &x->v->shape, 1, from, to, &which, path, x->err);
    x->seconds += path->seconds;
}

static void add_stop(trip *x, pl_stop_kind kind, pl_stop_kind from, const pl_node *node,
                     pl_placement at, bool free)
{
    int64_t room = pl_placement_room(&at, x->r->problem->mesh, &x->v->shape);
    pl_stop s = { .kind = kind, .from = from, .node = node, .at = at };
    const pl_stop *before = find_stop(x, from);
    s.bytes = room * pl_type_bytes(x->v->type);
    if (before && kind == PL_STOP_NEXT) find_path(x, &at, &before->at, &s.path);
    if (before && kind != PL_STOP_NEXT && !free) find_path(x, &before->at, &at, &s.path);
    PL_PUSH(x->arena, &x->stops, s);
}

static bool is_early(const trip *x, const pl_node *reader)
{
    bool two = !x->v->maker || !pl_problem_is_backward(x->v->maker);
    return !two || !pl_problem_is_backward(reader);
}

/* Is what is saved a part that was there on the way? Then the tables say that it costs nothing. */
static bool is_part(const trip *x, int lie, int save)
{
    const pl_problem *t = x->r->problem;
    bool inside = t->copy[x->v->id] >= 0;
    const pl_edges *s = &t->edges[inside ? PL_EDGE_BLOCK : PL_EDGE_OUTSIDE];
    int n = t->vars[inside].at[save].n;
    for (int i = 0; i < s->n && lie >= 0; i++) {
        const pl_sum_edge *p = &s->at[i].sum;
        if (p->a == lie && p->b == save)
            return p->time[placement_of(x, lie) * n + placement_of(x, save)] <= 0;
    }
    return false;
}

static void add_stops(trip *x)
{
    const pl_problem *t = x->r->problem;
    const pl_value *v = x->v;
    int id = t->counterpart[v->id]->id, lie = t->read[0][id], save = t->saved[id],
        late = t->read[1][id];
    pl_stop_kind from[2] = { v->maker ? PL_STOP_MADE : PL_STOP_STORED };
    const bool again = pl_problem_is_again(t, x->r->answer->value, v->id);
    const pl_stop_kind kept = again ? PL_STOP_AGAIN : PL_STOP_SAVED;
    pl_placement home = v->maker
                            ? pl_plan_operand(x->r->plan, v->maker->id, v->maker->n_in + v->out)
                            : pl_placement_normal(&x->r->plan->stored[v->id], t->mesh, &v->shape);
    add_stop(x, from[0], from[0], v->maker, home, true);
    if (lie >= 0) add_stop(x, PL_STOP_EARLY, from[0], NULL, lies_at(x, lie), false);
    if (lie >= 0) from[0] = PL_STOP_EARLY;
    from[1] = from[0];
    if (save >= 0) add_stop(x, kept, from[0], NULL, lies_at(x, save), is_part(x, lie, save));
    if (save >= 0) from[1] = kept;
    if (late >= 0) add_stop(x, PL_STOP_LATE, from[1], NULL, lies_at(x, late), false);
    if (late >= 0) from[1] = PL_STOP_LATE;
    for (int i = x->readers->first[v->id]; i < x->readers->first[v->id + 1]; i++) {
        const struct reader *r = &x->readers->at[i];
        add_stop(x, PL_STOP_READER, from[!is_early(x, r->node)], r->node,
                 pl_plan_operand(x->r->plan, r->node->id, r->operand), false);
    }
    if (v->maker || !v->next || !v->next->maker) return;
    const pl_node *n = v->next->maker;
    add_stop(x, PL_STOP_NEXT, PL_STOP_STORED, n,
             pl_plan_operand(x->r->plan, n->id, n->n_in + v->next->out), false);
}

/* The one node that a leaf without a place of its own lies with. */
static const pl_node *find_owner(const trip *x)
{
    int first = x->readers->first[x->v->id];
    bool own = x->r->problem->stored[x->r->problem->counterpart[x->v->id]->id] >= 0;
    return x->v->maker || own || first == x->readers->first[x->v->id + 1]
               ? NULL
               : x->readers->at[first].node;
}

static bool ask_tensor(const pl_reason *r, int most, pl_arena *out, pl_reason_tensor *t,
                       pl_err *err)
{
    int id = r->problem->counterpart[t->value->id]->id;
    t->about = PL_VARIABLE_NODE;
    if (r->problem->read[0][id] >= 0) t->about = PL_VARIABLE_READ;
    if (r->problem->saved[id] >= 0 && t->value->maker) t->about = PL_VARIABLE_SAVED;
    if (r->problem->stored[id] >= 0) t->about = PL_VARIABLE_STORED;
    if (t->about == PL_VARIABLE_NODE) return true;
    return pl_reason_ask(r, t->value, t->about, most, out, &t->other, err);
}

bool pl_reason_value(const pl_reason *r, const pl_value *v, int most, pl_arena *out,
                     pl_reason_tensor *t, pl_err *err)
{
    if (!v->shape.rank)
        return pl_err_set(err, PL_EINPUT, "'%s' is a single number: every device has it", v->name);
    pl_arena *tmp = pl_arena_new("way of a tensor");
    readers all = find_readers(r->problem->graph, tmp);
    pl_reshard reshard = pl_reshard_new(r->problem->mesh, tmp);
    reshard.mask = true;
    trip x = { .r = r, .readers = &all, .reshard = &reshard, .v = v, .arena = out, .err = err };
    x.ok = true;
    add_stops(&x);
    *t = (pl_reason_tensor){ .value = v,
                             .owner = find_owner(&x),
                             .n_stops = x.stops.n,
                             .stop = x.stops.at,
                             .seconds = x.seconds };
    pl_arena_free(tmp);
    return x.ok && ask_tensor(r, most, out, t, err);
}
