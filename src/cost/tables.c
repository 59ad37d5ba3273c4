/* The cost problem of a graph on a mesh. Read pl_tables_new() at the end: classes that fold, a
 * variable per node (add_node), then per value the variables and pairs on its way to its readers
 * (add_computed, add_leaf). docs/planner.md does a small one by hand. */
#include "cost/tables.h"

#include "base/map.h"
#include "graph/op.h"
#include "cost/ends.h"
#include "cost/ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct known_domain {
    const pl_node *node;
    const pl_domain *domain;
    const double *time;
} known_domain;

/* Where the nodes of one domain have an operand, as spots of a value. */
typedef struct known_seats {
    const pl_domain *domain;
    int operand;
    const int16_t *at;
} known_seats;

typedef struct seats_list {
    int n, cap;
    known_seats *at;
} seats_list;

typedef struct making {
    pl_tables *t;
    const pl_speed *speed;
    pl_arena *arena, *tmp;
    pl_ways *ways;
    pl_way **way; /* [values] */
    struct {
        int n, cap;
        known_domain *at;
        pl_map map;
    } domains;
    seats_list *seats;           /* [values]                         */
    pl_readers active, *readers; /* [values] active nodes, each once */
    double *before, *after;      /* [nodes] seconds of computing, each node at its fastest */
} making;

/* -- copies ------------------------------------------------------------------------------------ */

int pl_tables_copy(const pl_tables *t, const pl_node *n)
{
    int class = t->n_classes ? t->fold->class_of[n->id] : -1;
    if (class < 0 || !t->folded[class]) return -1;
    int copy = t->fold->instance_of[n->id] - t->first;
    return copy >= 0 && copy < t->copies ? copy : -1;
}

bool pl_tables_late(const pl_node *n)
{
    return n->phase != PL_FORWARD && !pl_op_changes_state(n->op);
}

const pl_node *pl_tables_stand(const pl_tables *t, const pl_node *n)
{
    if (pl_tables_copy(t, n) < 0) return n;
    int slot = t->fold->slot_of[n->id];
    const pl_fold_class *c = &t->fold->at[t->fold->class_of[n->id]];
    return t->graph->nodes.at[c->node[t->first + t->stands][slot]];
}

int pl_tables_block(const pl_tables *t)
{
    int n = 0;
    for (int i = 0; t->n_classes && i < t->fold->n_classes; i++)
        n += t->folded[i] ? t->fold->at[i].n_nodes : 0;
    return n;
}

/* Does every value go from a copy to itself, to a neighbour or outside? */
static bool is_chain(const pl_tables *t)
{
    for (int i = 0; i < t->graph->nodes.n; i++) {
        const pl_node *n = t->graph->nodes.at[i];
        int copy = pl_tables_copy(t, n);
        for (int k = 0; k < n->n_in && copy >= 0; k++) {
            int from = n->in[k]->maker ? pl_tables_copy(t, n->in[k]->maker) : -1;
            if (from >= 0 && abs(from - copy) > 1) return false;
        }
    }
    return true;
}

/* The class whose copies hold the most nodes, and others of as many copies. */
static void pick_classes(pl_tables *t)
{
    const pl_fold *f = t->fold;
    int64_t most = 0;
    int first = -1;
    for (int i = 0; f && i < f->n_classes; i++) {
        const pl_fold_class *c = &f->at[i];
        int64_t nodes = (int64_t)c->n_nodes * c->n_instances;
        if (c->n_instances < PL_LEAST_COPIES || nodes <= most) continue;
        most = nodes;
        first = i;
    }
    if (first < 0) return;
    t->folded = PL_NEW_N(t->arena, bool, f->n_classes);
    t->copies = f->at[first].n_instances;
    t->stands = 1; /* it has one before and one after */
    for (int k = 0; k < f->n_classes; k++) {
        int i = k == 0 ? first : k <= first ? k - 1 : k;
        if (f->at[i].n_instances != t->copies) continue;
        t->folded[i] = true;
        t->n_classes++;
        if (is_chain(t)) continue;
        t->folded[i] = false;
        t->n_classes--;
    }
}

/* Leaves belong to the copy that reads them, if only one does. */
static void find_copies(making *x)
{
    pl_tables *t = x->t;
    const pl_graph *g = t->graph;
    enum { NOBODY = -2 };
    for (int v = 0; v < g->values.n; v++) t->copy[v] = NOBODY, t->like[v] = g->values.at[v];
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i], *s = pl_tables_stand(t, n);
        int copy = pl_tables_copy(t, n);
        for (int k = 0; k < n->n_out; k++)
            t->copy[n->out[k]->id] = copy, t->like[n->out[k]->id] = s->out[k];
        for (int k = 0; k < n->n_in; k++) {
            int v = n->in[k]->id;
            if (n->in[k]->maker) continue;
            bool first = t->copy[v] == NOBODY;
            t->copy[v] = first || t->copy[v] == copy ? copy : -1;
            t->like[v] = t->copy[v] >= 0 ? s->in[k] : g->values.at[v];
        }
    }
    for (int v = 0; v < g->values.n; v++)
        if (t->copy[v] == NOBODY) t->copy[v] = -1;
}

/* Nodes outside, those of the first and the last copy, and of the one that stands for all with its
 * neighbours. */
static void find_active(making *x)
{
    pl_tables *t = x->t;
    for (int i = 0; i < t->graph->nodes.n; i++) {
        const pl_node *n = t->graph->nodes.at[i];
        int copy = pl_tables_copy(t, n);
        bool near = copy >= t->stands - 1 && copy <= t->stands + 1;
        if (copy >= 0 && copy != 0 && copy != t->copies - 1 && !near) continue;
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

static known_domain *find_domain(making *x, const pl_node *n)
{
    uint64_t hash = hash_node(n);
    PL_MAP_EACH (&x->domains.map, hash, k)
        if (is_work_same(x->domains.at[k.value].node, n)) return &x->domains.at[k.value];
    pl_domain *d = PL_NEW(x->arena, pl_domain);
    *d = pl_domain_of(n, x->t->mesh, x->arena);
    double *time = PL_NEW_N(x->arena, double, d->n);
    for (int i = 0; i < d->n; i++) {
        pl_share s = pl_choice_share(&d->choice[i], n, x->t->mesh, 0);
        time[i] = pl_speed_share(&s, x->speed);
    }
    const known_domain k = { n, d, time };
    pl_map_put(&x->domains.map, hash, x->domains.n, x->arena);
    PL_PUSH(x->arena, &x->domains, k);
    return &x->domains.at[x->domains.n - 1];
}

/* Outside, or in the copy that stands for all? Those have variables. */
static bool stands(const making *x, int copy)
{
    return copy < 0 || copy == x->t->stands;
}

static int add_var(making *x, int copy, pl_var_kind kind, int id, int n)
{
    pl_vars *vars = &x->t->vars[copy >= 0];
    pl_var v = { kind, id, n, PL_NEW_N(x->arena, double, n), PL_NEW_N(x->arena, double, n) };
    PL_PUSH(x->arena, vars, v);
    return vars->n - 1;
}

static pl_var *var_at(const making *x, int copy, int id)
{
    return &x->t->vars[copy >= 0].at[id];
}

static const int16_t *map_seats(making *x, pl_spots *spots, const pl_domain *d, int o)
{
    int16_t *map = PL_NEW_N(x->tmp, int16_t, d->spot[o].n);
    bool same = true;
    for (int i = 0; i < d->spot[o].n; i++) {
        map[i] = (int16_t)pl_spots_add(spots, &d->spot[o].at[i], x->arena);
        same &= map[i] == i;
    }
    if (same) return d->at[o];
    int16_t *at = PL_NEW_N(x->arena, int16_t, d->n);
    for (int i = 0; i < d->n; i++) at[i] = map[d->at[o][i]];
    return at;
}

/* Where nodes of a domain have an operand become spots of a value. */
static const int16_t *note_seats(making *x, const pl_value *v, const pl_domain *d, int o)
{
    pl_spots *spots = &x->t->spot[v->id];
    seats_list *l = &x->seats[v->id];
    for (int i = 0; i < l->n; i++)
        if (l->at[i].domain == d && l->at[i].operand == o) return l->at[i].at;
    known_seats k = { d, o, d->at[o] };
    if (spots->n)
        k.at = map_seats(x, spots, d, o);
    else
        *spots = pl_spots_lend(&d->spot[o]);
    PL_PUSH(x->tmp, l, k);
    return k.at;
}

static void note_spots(making *x, const pl_node *n, const pl_domain *d)
{
    pl_tables *t = x->t;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        if (!is_number(v)) t->at[n->id * PL_MAX_OPERANDS + o] = note_seats(x, t->like[v->id], d, o);
    }
}

static void add_node(making *x, const pl_node *n)
{
    pl_tables *t = x->t;
    bool numbers = true;
    int copy = pl_tables_copy(t, n);
    for (int o = 0; o < n->n_in + n->n_out; o++) numbers &= is_number(pl_node_value(n, o));
    if (numbers) return;
    const known_domain *k = find_domain(x, n);
    note_spots(x, n, k->domain);
    if (!stands(x, copy)) return;
    t->domain[n->id] = k->domain;
    t->node[n->id] = add_var(x, copy, PL_VAR_NODE, n->id, k->domain->n);
    memcpy(var_at(x, copy, t->node[n->id])->time, k->time, (size_t)k->domain->n * sizeof(double));
    t->raw += log10(k->domain->n) * (copy >= 0 ? t->copies : 1);
}

static int *new_index(making *x, int n)
{
    int *at = PL_NEW_N(x->arena, int, n + 1);
    memset(at, -1, sizeof(int) * (size_t)(n + 1));
    return at;
}

static double fastest(const making *x, const pl_node *n)
{
    int copy = pl_tables_copy(x->t, n), var = x->t->node[pl_tables_stand(x->t, n)->id];
    double least = INFINITY;
    if (var < 0) return 0;
    const pl_var *v = var_at(x, copy, var);
    for (int i = 0; i < v->n; i++) least = fmin(least, v->time[i]);
    return least;
}

static void raise(double *to, double x)
{
    if (x > *to) *to = x;
}

/* An update runs as soon as what it needs is there. Of a block counts the copy with the most. */
static void find_windows(making *x)
{
    const pl_graph *g = x->t->graph;
    int n = g->nodes.n, *late = new_index(x, n);
    double *rest = PL_NEW_N(x->arena, double, n + 1);
    x->before = PL_NEW_N(x->arena, double, n + 1);
    x->after = PL_NEW_N(x->arena, double, n + 1);
    for (int i = n - 1; i >= 0; i--) rest[i] = rest[i + 1] + fastest(x, g->nodes.at[i]);
    for (int i = 0; i < n; i++) {
        const pl_node *node = g->nodes.at[i];
        late[i] = pl_op_changes_state(node->op) ? -1 : i;
        for (int k = 0; k < node->n_in && pl_op_changes_state(node->op); k++)
            if (node->in[k]->maker && late[node->in[k]->maker->id] > late[i])
                late[i] = late[node->in[k]->maker->id];
        int stand = pl_tables_stand(x->t, node)->id;
        raise(&x->before[stand], rest[0] - rest[i]);
        raise(&x->after[stand], rest[late[i] + 1]);
    }
}

/* -- pairs ------------------------------------------------------------------------------------- */

/* A variable of a copy, and at which spot each of its values has a tensor; NULL: at that one. */
typedef struct end {
    int copy, var;
    const int16_t *at;
} end;

static end node_end(const making *x, const pl_node *n, int o)
{
    const pl_node *s = pl_tables_stand(x->t, n);
    return (end){ pl_tables_copy(x->t, n), x->t->node[s->id],
                  x->t->at[n->id * PL_MAX_OPERANDS + o] };
}

/* The list of pairs that one between these copies belongs to, or -1: another copy tells it.
 * `every`: what is outside is read by, or reads, all copies. */
static int find_list(const making *x, int a, int b, bool every)
{
    int out = a < 0 || b < 0, copy = a < 0 ? b : a;
    if (a < 0 && b < 0) return PL_PAIR_OUTSIDE;
    if (out && every) return copy == x->t->stands ? PL_PAIR_EVERY : -1;
    if (out) return copy == 0 ? PL_PAIR_FIRST : copy == x->t->copies - 1 ? PL_PAIR_LAST : -1;
    return a == b ? PL_PAIR_BLOCK : PL_PAIR_LINK;
}

/* What of the time of messages can pass beside computing. */
typedef struct shade {
    double hidden, window; /* see pl_pair */
} shade;

/* Where a pair of two variables belongs, and whether b comes first there: in lists what is outside
 * or before does. */
typedef struct joint {
    int list; /* -1: nowhere */
    bool turned;
} joint;

static joint find_joint(const making *x, end a, end b, bool every)
{
    int list = find_list(x, a.copy, b.copy, every);
    bool inside = list == PL_PAIR_OUTSIDE || list == PL_PAIR_BLOCK;
    bool turned = !inside && (list == PL_PAIR_LINK ? a.copy > b.copy : b.copy < 0);
    return (joint){ list, turned };
}

static void add_pair(making *x, joint at, end a, end b, shade c, const double *time,
                     const double *memory)
{
    pl_pair p = { { a.var, b.var, time, memory }, c.hidden, c.window };
    if (at.turned) p.sum.a = b.var, p.sum.b = a.var;
    PL_PUSH(x->arena, &x->t->pairs[at.list], p);
}

static pl_way *way_of(making *x, const pl_value *v)
{
    pl_way **w = &x->way[v->id];
    if (!*w) *w = pl_tables_ways_find(x->ways, v, &x->t->spot[v->id]);
    return *w;
}

/* The value (of the copy that stands for it) goes from a to b. */
static void link(making *x, const pl_value *v, end a, end b, bool every, shade cover)
{
    joint at = find_joint(x, a, b, every);
    if (at.list < 0) return;
    pl_seats from = { var_at(x, a.copy, a.var)->n, a.at },
             to = { var_at(x, b.copy, b.var)->n, b.at };
    add_pair(x, at, a, b, cover, pl_tables_ways_time(x->ways, way_of(x, v), from, to, at.turned),
             NULL);
}

/* -- values ------------------------------------------------------------------------------------ */

/* A value on its way to its readers: where they take it from, by phase. */
typedef struct stream {
    const pl_value *v; /* that stands for all copies */
    end from[2];
    bool two;    /* what is read in the backward pass is kept for it */
    shade cover; /* of its messages                                  */
} stream;

static int count_readers(const making *x, const stream *s, int phase)
{
    int n = 0;
    for (int i = 0; i < x->readers[s->v->id].n; i++) {
        const pl_node *r = x->readers[s->v->id].at[i];
        for (int o = 0; o < r->n_in; o++)
            n += r->in[o] == s->v && (s->two && pl_tables_late(r)) == phase;
    }
    return n;
}

/* A variable for where the value lies next. */
static end add_stop(making *x, const stream *s, pl_var_kind kind, int *id)
{
    int copy = x->t->copy[s->v->id];
    *id = add_var(x, copy, kind, s->v->id, x->t->spot[s->v->id].n);
    return (end){ copy, *id, NULL };
}

static void stop(making *x, stream *s, int phase, pl_var_kind kind, int *id)
{
    end to = add_stop(x, s, kind, id);
    link(x, s->v, s->from[phase], to, false, s->cover);
    s->from[phase] = to;
}

/* Kept for the backward pass: as it lies, or the part of it that it was moved from. Of a state that
 * is stored so it takes no memory. */
static void save(making *x, stream *s, end made)
{
    end lies = s->from[0], to = add_stop(x, s, PL_VAR_SAVE, &x->t->save[s->v->id]);
    pl_way *w = way_of(x, s->v);
    joint here = find_joint(x, lies, to, false);
    add_pair(x, here, lies, to, s->cover, pl_tables_ways_keep(x->ways, w), NULL);
    pl_var *var = var_at(x, to.copy, to.var);
    if (s->v->maker)
        memcpy(var->memory, pl_tables_ways_bytes(x->ways, w), (size_t)var->n * sizeof(double));
    else
        add_pair(x, here, made, to, s->cover, pl_tables_ways_none(x->ways, w),
                 pl_tables_ways_beside(x->ways, w));
    s->from[1] = to;
}

static stream open_stream(making *x, const pl_value *v, end made, shade cover)
{
    pl_tables *t = x->t;
    stream s = { v, { made, made }, !v->maker || !pl_tables_late(v->maker), cover };
    int early = count_readers(x, &s, 0), late = count_readers(x, &s, 1);
    if (early > 1 || (early && late)) stop(x, &s, 0, PL_VAR_LIE, &t->lie[0][v->id]);
    if (!late) return s;
    if (early)
        save(x, &s, made);
    else
        s.from[1] = s.from[0];
    if (late > 1) stop(x, &s, 1, PL_VAR_LIE, &t->lie[1][v->id]);
    return s;
}

/* To the readers of value v, which may be that of another copy; then only those outside. */
static void link_readers(making *x, const stream *s, const pl_value *v)
{
    const pl_tables *t = x->t;
    int copy = t->copy[v->id];
    for (int i = 0; i < x->readers[v->id].n; i++) {
        const pl_node *n = x->readers[v->id].at[i];
        end from = s->from[s->two && pl_tables_late(n)];
        if (copy >= 0 && copy != t->stands && pl_tables_copy(t, n) >= 0) continue;
        if (from.copy >= 0) from.copy = copy;
        for (int o = 0; o < n->n_in; o++) {
            if (n->in[o] != v) continue;
            link(x, s->v, from, node_end(x, n, o), pl_tables_ends_shared(t, v, n, o), s->cover);
        }
    }
}

/* The same value of the first and the last copy, as it goes to readers outside. */
static void link_ends(making *x, const stream *s)
{
    pl_tables *t = x->t;
    for (int v = 0; v < t->graph->values.n; v++) {
        bool is_end = t->copy[v] == 0 || t->copy[v] == t->copies - 1;
        if (t->like[v] == s->v && is_end && t->copy[v] != t->stands)
            link_readers(x, s, t->graph->values.at[v]);
    }
}

static void add_value(making *x, const pl_value *v, end made, shade cover)
{
    stream s = open_stream(x, v, made, cover);
    link_readers(x, &s, v);
    if (x->t->copy[v->id] >= 0) link_ends(x, &s);
}

static void add_computed(making *x, const pl_value *v)
{
    bool update = false;
    for (int i = 0; i < x->readers[v->id].n; i++)
        update |= pl_op_changes_state(x->readers[v->id].at[i]->op);
    end made = node_end(x, v->maker, v->maker->n_in + v->out);
    shade none = { 0, 0 }, after = { x->speed->hidden, x->after[v->maker->id] };
    add_value(x, v, made, update ? after : none);
}

/* Who alone reads a leaf, and changes it if anybody does; or NULL. */
static const pl_node *find_owner(const making *x, const pl_value *v)
{
    const pl_readers *r = &x->readers[v->id];
    const pl_node *changes = v->next ? v->next->maker : NULL;
    return r->n == 1 && (!changes || changes == r->at[0]) ? r->at[0] : NULL;
}

static void add_owned(making *x, const pl_value *v, const pl_node *n)
{
    pl_var *var = var_at(x, pl_tables_copy(x->t, n), x->t->node[n->id]);
    const double *bytes = pl_tables_ways_bytes(x->ways, way_of(x, v));
    for (int o = 0; o < n->n_in; o++)
        for (int i = 0; i < var->n && n->in[o] == v; i++)
            var->memory[i] += bytes[x->t->at[n->id * PL_MAX_OPERANDS + o][i]];
}

static bool can_be_stored(const pl_placement *p)
{
    bool ok = !p->pending;
    for (int k = 0; k < p->n; k++) ok &= p->split[k].stride == 0;
    return ok;
}

static void add_leaf(making *x, const pl_value *v)
{
    const pl_node *owner = find_owner(x, v), *changes = v->next ? v->next->maker : NULL;
    if (owner) {
        add_owned(x, v, owner);
        return;
    }
    int copy = x->t->copy[v->id], n = x->t->spot[v->id].n;
    int id = x->t->store[v->id] = add_var(x, copy, PL_VAR_STORE, v->id, n);
    const double *bytes = pl_tables_ways_bytes(x->ways, way_of(x, v));
    for (int i = 0; i < n; i++) {
        bool ok = can_be_stored(&x->t->spot[v->id].at[i]);
        var_at(x, copy, id)->time[i] = ok ? 0 : INFINITY;
        var_at(x, copy, id)->memory[i] = bytes[i];
    }
    double hidden = v->role == PL_STATE ? x->speed->hidden : 0;
    shade before = { hidden, x->before[x->readers[v->id].at[0]->id] };
    end made = { copy, id, NULL };
    add_value(x, v, made, before);
    if (changes) {
        shade after = { hidden, x->after[changes->id] };
        link(x, v, node_end(x, changes, changes->n_in + v->next->out), made, false, after);
    }
}

/* -- all --------------------------------------------------------------------------------------- */

/* A state's next value may lie wherever the state does, and the other way round. */
static void share_spots(making *x)
{
    const pl_graph *g = x->t->graph;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (!v->next || is_number(v) || !stands(x, x->t->copy[i])) continue;
        pl_node *maker = v->next->maker;
        if (!maker || !x->t->domain[maker->id]) continue;
        int o = maker->n_in + v->next->out;
        int16_t *at = PL_NEW_N(x->arena, int16_t, x->t->domain[maker->id]->n);
        const pl_spots *from = &x->t->spot[v->next->id];
        for (int k = 0; k < x->t->domain[maker->id]->n; k++)
            at[k] = (int16_t)pl_spots_add(&x->t->spot[v->id],
                                          &from->at[x->t->at[maker->id * PL_MAX_OPERANDS + o][k]],
                                          x->arena);
        x->t->at[maker->id * PL_MAX_OPERANDS + o] = at;
    }
}

static void set_up(making *x)
{
    pl_tables *t = x->t;
    int nodes = t->graph->nodes.n, values = t->graph->values.n;
    t->vars[0].n = t->vars[1].n = x->active.n = 0;
    t->raw = 0;
    t->domain = PL_NEW_N(x->arena, const pl_domain *, nodes + 1);
    t->at = PL_NEW_N(x->arena, const int16_t *, (nodes + 1) * PL_MAX_OPERANDS);
    t->spot = PL_NEW_N(x->arena, pl_spots, values + 1);
    t->copy = new_index(x, values);
    t->like = PL_NEW_N(x->arena, const pl_value *, values + 1);
    x->readers = PL_NEW_N(x->tmp, pl_readers, values + 1);
    x->seats = PL_NEW_N(x->tmp, seats_list, values + 1);
    x->way = PL_NEW_N(x->tmp, pl_way *, values + 1);
    t->node = new_index(x, nodes);
    t->store = new_index(x, values), t->save = new_index(x, values);
    t->lie[0] = new_index(x, values), t->lie[1] = new_index(x, values);
}

pl_tables *pl_tables_new(const pl_graph *g, const pl_fold *fold, const pl_mesh *m,
                         const pl_speed *speed, pl_arena *arena)
{
    pl_tables *t = PL_NEW(arena, pl_tables);
    pl_arena *tmp = pl_arena_new("tables");
    making x = { .t = t, .speed = speed, .arena = arena, .tmp = tmp };
    *t = (pl_tables){ .graph = g, .mesh = m, .arena = arena, .fold = fold, .copies = 1 };
    x.ways = pl_tables_ways_new(m, arena, tmp);
    pick_classes(t);
    do {
        set_up(&x);
        find_copies(&x);
        find_active(&x);
        for (int i = 0; i < x.active.n; i++) add_node(&x, x.active.at[i]);
    } while (pl_tables_ends_trim(t, x.readers));
    share_spots(&x);
    find_windows(&x);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (is_number(v) || !x.readers[i].n || !stands(&x, t->copy[i])) continue;
        if (v->maker)
            add_computed(&x, v);
        else
            add_leaf(&x, v);
    }
    pl_arena_free(tmp);
    t->chain = pl_tables_chain(t, 1, arena);
    return t;
}
