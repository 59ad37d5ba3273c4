/* Greedy propagation: a node takes the choice that moves the fewest bytes, given where its inputs
 * lie. Read choose() (all options of one node, axis by axis), which is asked once for all nodes in
 * the same case (known.h), then pl_propagate_keep() (what is noted of it). */
#include "layouts/propagate_cost.h"

#include "graph/op.h"
#include "plan/stages.h"

#include <string.h>

enum { LINEAR_SETS = 4 }; /* no operator has more */

void pl_propagate_init(pl_propagation *f, pl_plan *p, pl_arena *arena)
{
    const pl_graph *g = p->graph;
    pl_mesh *mesh = PL_NEW(arena, pl_mesh);
    *mesh = pl_stages_mesh(p);
    *f = (pl_propagation){ .plan = p, .arena = arena, .reshard = pl_reshard_new(mesh, arena) };
    f->reshard.mask = true;
    f->have = PL_NEW_N(arena, pl_places, g->values.n + 1);
    f->want = PL_NEW_N(arena, pl_places, g->values.n + 1);
    f->open = PL_NEW_N(arena, bool, g->values.n + 1);
    f->done = PL_NEW_N(arena, bool, g->nodes.n + 1);
    f->state_of = PL_NEW_N(arena, const pl_value *, g->values.n + 1);
    f->cast = PL_NEW_N(arena, const pl_value *, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        f->open[i] = v->role == PL_STATE;
        if (v->next) f->state_of[v->next->id] = v;
        if (v->role == PL_INPUT)
            PL_PUSH(arena, &f->have[i], pl_placement_normal(&p->stored[i], &p->mesh, &v->shape));
    }
}

void pl_propagate_share(pl_propagation *f, pl_paths *paths)
{
    f->reshard = pl_paths_on(paths, f->reshard.mesh);
    f->reshard.mask = true;
}

static void note(pl_propagation *f, const pl_value *v)
{
    pl_trail old = { v->id, f->have[v->id].n, f->open[v->id] };
    PL_PUSH(f->arena, &f->trail, old);
}

static void lie_at(pl_propagation *f, const pl_value *v, pl_placement x)
{
    note(f, v);
    f->open[v->id] = false;
    f->have[v->id].n = 0;
    PL_PUSH(f->arena, &f->have[v->id], x);
}

/* The node that makes v of a state alone works where that one is stored. */
static void place_cast(pl_propagation *f, const pl_value *v, const pl_placement *stored)
{
    const pl_node *n = v->maker;
    f->plan->choice[n->id] = pl_propagate_letters(f->plan, n, 0, stored);
    lie_at(f, v, pl_plan_operand(f->plan, n->id, 1));
}

void pl_propagate_store(pl_propagation *f, const pl_value *v, const pl_placement *where)
{
    pl_placement x = pl_placement_normal(where, &f->plan->mesh, &v->shape);
    f->plan->stored[v->id] = x;
    lie_at(f, v, x);
    if (f->cast[v->id]) place_cast(f, f->cast[v->id], &x);
}

int pl_propagate_mark(const pl_propagation *f)
{
    return f->trail.n;
}

void pl_propagate_undo(pl_propagation *f, int mark)
{
    while (f->trail.n > mark) {
        int v = f->trail.at[--f->trail.n].value;
        f->have[v].n = f->trail.at[f->trail.n].n_have;
        f->open[v] = f->trail.at[f->trail.n].open;
    }
}

const pl_placement *pl_propagate_home(const pl_propagation *f, const pl_value *v)
{
    if (f->want[v->id].n) return &f->want[v->id].at[0];
    return f->have[v->id].n ? &f->have[v->id].at[0] : NULL;
}

/* Of rows of the batch it is as of what is computed of them: it says how to split its readers. */
static bool is_state(const pl_value *v)
{
    const pl_value *state = pl_graph_state(v);
    return state && state->kind != PL_ROWS;
}

/* -- which factors a placement splits ---------------------------------------------------------- */

/* The factor of dimension d whose digit starts where that of a split does. Normal form widens
 * digits, and joins those that are used up with the next one below. */
static int match_split(const pl_node *n, const pl_sig_dim *d, const pl_split *x, int64_t size,
                       const int64_t parts[])
{
    int64_t top = pl_split_top(x, size), unit = size;
    for (int k = 0; k < d->n; k++) {
        int f = d->factor[k];
        int64_t whole = n->sig->factor[f].size, above = unit;
        unit /= whole;
        if (whole == 1 || above > top) continue;
        if (above < top) break;
        if (parts[f] < whole) return f;
        top = unit;
    }
    return PL_COPIED;
}

pl_choice pl_propagate_letters(const pl_plan *p, const pl_node *n, int o, const pl_placement *x)
{
    pl_choice c;
    int64_t parts[PL_MAX_FACTORS];
    int last[PL_MAX_FACTORS]; /* the axis that split a factor before */
    const pl_value *v = pl_node_value(n, o);
    memset(&c, PL_COPIED, sizeof c);
    for (int f = 0; f < PL_MAX_FACTORS; f++) parts[f] = 1, last[f] = -1;
    for (int i = 0; i < x->n; i++) {
        const pl_split *s = &x->split[i];
        const pl_sig_dim *d = &n->sig->operand[o].dim[s->dim];
        if (s->stride && d->window < 0) continue;
        int f = d->window >= 0 ? n->sig->window[d->window].position
                               : match_split(n, d, s, v->shape.dim[s->dim], parts);
        c.factor[s->axis] = (int8_t)f;
        if (f < 0) continue;
        parts[f] *= p->mesh.axis[s->axis].size;
        if (last[f] >= 0) c.level[s->axis] = (int8_t)(c.level[last[f]] + (s->axis < last[f]));
        last[f] = s->axis;
    }
    return c;
}

/* -- candidates -------------------------------------------------------------------------------- */

/* One node's choice under way. */
typedef struct search {
    pl_propagation *f;
    const pl_node *n;
    const pl_choice *fixed;
    bool by_states;                     /* nothing else says how to split it     */
    pl_choice letters[PL_MAX_OPERANDS]; /* of each operand, where it comes from or goes */
    pl_choice best;
    double least;
} search;

static bool leads(const search *s, int i)
{
    const pl_value *v = s->n->in[i];
    return !s->f->open[v->id] && (!is_state(v) || s->by_states);
}

/* The linear set whose inputs are all sums that are pending on the axis. Single numbers that are
 * whole may join others: all devices but one take zero for them, which costs no message. */
static int find_linear(const search *s, int axis)
{
    static const pl_placement whole = { 0 };
    for (int k = 0; k < LINEAR_SETS; k++) {
        unsigned set = pl_plan_linear_set(s->n, k);
        bool any = false, all = true;
        for (int i = 0; i < s->n->n_in; i++) {
            const pl_places *have = &s->f->have[s->n->in[i]->id];
            const pl_placement *x = have->n ? &have->at[0] : &whole;
            if (!(set >> i & 1)) continue;
            bool other = x->pending && x->monoid != PL_SUM;
            bool pending = x->pending >> axis & 1 && !other;
            any |= pending;
            all &= pending || (!other && pl_shape_count(&s->n->in[i]->shape) == 1);
        }
        if (any && all) return PL_LINEAR - k;
    }
    return PL_COPIED;
}

/* Set one axis; what is not legal becomes copied. */
static void set_axis(const search *s, int axis, int factor, int level)
{
    pl_plan *p = s->f->plan;
    int8_t *x = &p->choice[s->n->id].factor[axis];
    pl_err why = { 0 };
    *x = (int8_t)factor;
    p->choice[s->n->id].level[axis] = (int8_t)level;
    if (!pl_plan_check_node(p, s->n, &why)) *x = PL_COPIED;
}

static void weigh(search *s)
{
    double cost = pl_propagate_cost(s->f, s->n, s->least);
    if (cost < s->least) {
        s->least = cost;
        s->best = s->f->plan->choice[s->n->id];
    }
}

/* Follow operand o as it lies in `x`; where that says nothing, pending sums and the inputs. */
static void try_operand(search *s, int o, const pl_placement *x)
{
    const pl_plan *p = s->f->plan;
    pl_choice letters = pl_propagate_letters(p, s->n, o, x);
    memset(&p->choice[s->n->id], PL_COPIED, sizeof p->choice[0]);
    for (int a = 0; a < p->mesh.n; a++) {
        bool free = s->fixed->factor[a] == PL_FREE;
        const pl_choice *from = free ? &letters : s->fixed;
        int factor = from->factor[a];
        if (factor == PL_COPIED && free) factor = find_linear(s, a);
        for (int k = 0; k < s->n->n_in && free && factor == PL_COPIED; k++) {
            from = &s->letters[k];
            factor = from->factor[a];
        }
        set_axis(s, a, factor, from->level[a]);
    }
    weigh(s);
}

static bool is_split(const search *s, int axis)
{
    for (int i = 0; i < s->n->n_in; i++) {
        const pl_places *have = &s->f->have[s->n->in[i]->id];
        for (int k = 0; k < have->n && leads(s, i); k++)
            if ((have->at[k].pending | pl_placement_axes(&have->at[k])) >> axis & 1) return true;
    }
    return false;
}

/* Among the axes of a factor, as the operand has it that splits it so. */
static int find_level(const search *s, int axis, int factor)
{
    for (int o = 0; o < s->n->n_in + s->n->n_out; o++)
        if (s->letters[o].factor[axis] == factor) return s->letters[o].level[axis];
    return -1;
}

/* The factors that share a dimension with one of the set: other digits of what they split. */
static uint32_t add_digits(const pl_node *n, uint32_t factors)
{
    uint32_t all = factors;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        for (int d = 0; d < n->sig->operand[o].rank; d++) {
            const pl_sig_dim *dim = &n->sig->operand[o].dim[d];
            uint32_t digits = 0;
            for (int k = 0; k < dim->n; k++) digits |= 1u << dim->factor[k];
            if (digits & factors) all |= digits;
        }
    return all;
}

/* All that one axis may do while the others stay. */
static void try_axis(search *s, int axis)
{
    pl_choice *c = &s->f->plan->choice[s->n->id], base = s->best;
    uint32_t factors = 0;
    if (s->f->roam >> axis & 1 && is_split(s, axis)) factors = (1u << s->n->sig->n_factors) - 1;
    for (int o = 0; o < s->n->n_in + s->n->n_out; o++)
        if (s->letters[o].factor[axis] >= 0) factors |= 1u << s->letters[o].factor[axis];
    if (s->f->digits >> axis & 1) factors = add_digits(s->n, factors);
    *c = base;
    set_axis(s, axis, find_linear(s, axis), -1);
    weigh(s);
    for (int k = 0; k < s->n->sig->n_factors; k++) {
        if (!(factors >> k & 1)) continue;
        *c = base;
        set_axis(s, axis, k, find_level(s, axis, k));
        weigh(s);
    }
    *c = base;
    set_axis(s, axis, PL_COPIED, -1);
    weigh(s);
}

static search new_search(pl_propagation *f, const pl_node *n, const pl_choice *fixed)
{
    search s = {
        .f = f, .n = n, .fixed = fixed, .by_states = true, .least = PL_NO_WAY * PL_NO_WAY
    };
    for (int i = 0; i < n->n_in; i++)
        if (!is_state(n->in[i]) && n->in[i]->shape.rank) s.by_states = false;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = { 0 };
        if (o >= n->n_in)
            pl_propagate_target(f, n->out[o - n->n_in], &x);
        else if (leads(&s, o) && pl_propagate_home(f, n->in[o]))
            x = *pl_propagate_home(f, n->in[o]);
        s.letters[o] = pl_propagate_letters(f->plan, n, o, &x);
    }
    return s;
}

/* Looks at all options. */
static pl_choice choose(pl_propagation *f, const pl_node *n, const pl_choice *fixed)
{
    search s = new_search(f, n, fixed);
    const pl_placement nothing = { 0 };
    pl_placement to;
    for (int i = 0; i < n->n_in; i++) {
        const pl_places *have = &f->have[n->in[i]->id];
        for (int k = 0; k < have->n && leads(&s, i); k++) try_operand(&s, i, &have->at[k]);
    }
    for (int k = 0; k < n->n_out; k++)
        if (pl_propagate_target(f, n->out[k], &to)) try_operand(&s, n->n_in + k, &to);
    if (s.least >= PL_NO_WAY) try_operand(&s, 0, &nothing);
    for (double before = s.least + 1; s.least < before;) {
        before = s.least;
        for (int a = 0; a < f->plan->mesh.n; a++)
            if (fixed->factor[a] == PL_FREE && f->plan->mesh.axis[a].size > 1) try_axis(&s, a);
    }
    return s.best;
}

/* All that its choice depends on; `target` has room for that of each output. */
static pl_known_case case_of(const pl_propagation *f, const pl_node *n, const pl_choice *fixed,
                             pl_placement target[])
{
    pl_known_case x = { n, { f->roam, f->digits, f->exchange }, f->wide_sums, *fixed, { { 0 } } };
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        pl_known_operand *y = &x.operand[o];
        *y = (pl_known_operand){ .type = v->type };
        while (pl_node_value(n, y->same) != v) y->same++;
        if (o < n->n_in) {
            y->open = f->open[v->id], y->state = is_state(v);
            y->n = f->have[v->id].n, y->at = f->have[v->id].at;
        } else {
            y->at = &target[o - n->n_in];
            y->n = pl_propagate_target(f, v, &target[o - n->n_in]);
        }
    }
    return x;
}

void pl_propagate_choose(pl_propagation *f, const pl_node *n, const pl_choice *fixed)
{
    pl_placement target[PL_MAX_OPERANDS];
    const pl_known_case x = case_of(f, n, fixed, target);
    const uint64_t hash = pl_known_hash(&x, &f->plan->mesh);
    const pl_choice *known = pl_known_find(&f->known, &x, &f->plan->mesh, hash);
    const pl_choice chosen = known ? *known : choose(f, n, fixed);
    if (!known) pl_known_add(&f->known, &x, hash, &chosen, f->arena);
    f->plan->choice[n->id] = chosen;
}

/* -- where things lie -------------------------------------------------------------------------- */

/* A state is stored as it is first read, over the axes where that is the rule. */
static void close_state(pl_propagation *f, const pl_value *v, const pl_placement *read)
{
    pl_placement x = { 0 };
    for (int i = 0; i < read->n; i++)
        if (f->local >> read->split[i].axis & 1 && !read->split[i].stride)
            pl_placement_add(&x, read->split[i]);
    pl_propagate_store(f, pl_graph_state(v), &x);
}

static void keep_input(pl_propagation *f, const pl_value *v, const pl_placement *at)
{
    pl_path path;
    double cost;
    if (f->open[v->id]) close_state(f, v, at);
    if (!pl_propagate_path(f, v, &f->have[v->id], at, &cost, &path)) return;
    note(f, v);
    PL_PUSH(f->arena, &f->have[v->id], *at);
    f->bytes += path.bytes;
    f->cost += cost;
}

static void keep_output(pl_propagation *f, const pl_value *v, const pl_placement *made)
{
    const pl_value *state = f->state_of[v->id];
    note(f, v);
    f->have[v->id].n = 0;
    PL_PUSH(f->arena, &f->have[v->id], *made);
    if (state && !f->open[state->id]) {
        const pl_placement *stored = &f->plan->stored[state->id];
        pl_placement to = pl_placement_normal(stored, &f->plan->mesh, &v->shape);
        keep_input(f, v, &to);
    }
    for (int i = 0; i < f->want[v->id].n; i++) keep_input(f, v, &f->want[v->id].at[i]);
}

void pl_propagate_keep(pl_propagation *f, const pl_node *n)
{
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        pl_placement at = pl_plan_operand(f->plan, n->id, o);
        f->cost += pl_propagate_bytes(f, v, &at);
        if (o < n->n_in)
            keep_input(f, v, &at);
        else
            keep_output(f, v, &at);
    }
}

/* -- nodes that change states ------------------------------------------------------------------ */

/* The choice under which operand i lies as its state is stored. */
static pl_choice choice_of_state(const pl_propagation *f, const pl_node *n, int i)
{
    const pl_value *v = n->in[i];
    pl_placement x = pl_placement_normal(&f->plan->stored[v->id], &f->plan->mesh, &v->shape);
    pl_choice c = pl_propagate_letters(f->plan, n, i, &x);
    for (int k = 0; k < LINEAR_SETS; k++)
        for (int a = 0; a < f->plan->mesh.n; a++)
            if (x.pending >> a & 1 && pl_plan_linear_set(n, k) >> i & 1)
                c.factor[a] = (int8_t)(PL_LINEAR - k);
    return c;
}

static int count_split(const pl_choice *c)
{
    int n = 0;
    for (int a = 0; a < PL_MAX_AXES; a++) n += c->factor[a] != PL_COPIED;
    return n;
}

/* Most states decide, of equally many those that are split more. False when none is stored yet. */
static bool choose_update(pl_propagation *f, const pl_node *n)
{
    pl_choice at[PL_MAX_OPERANDS], *best = NULL;
    int n_states = 0, most = 0;
    for (int k = 0; n->op->inplace && n->op->inplace[k]; k++) {
        int i = n->op->inplace[k] - '0';
        if (n->op->inplace[k] == '-' || n->in[i]->role != PL_STATE) continue;
        if (f->open[n->in[i]->id]) return false;
        at[n_states++] = choice_of_state(f, n, i);
    }
    for (int i = 0; i < n_states; i++) {
        int same = 0;
        for (int k = 0; k < n_states; k++) same += !memcmp(&at[i], &at[k], sizeof at[i]);
        bool more = best && same == most && count_split(&at[i]) > count_split(best);
        if (same > most || more) most = same, best = &at[i];
    }
    if (!best) return false;
    search s = { .f = f, .n = n };
    memset(&f->plan->choice[n->id], PL_COPIED, sizeof *best);
    for (int a = 0; a < f->plan->mesh.n; a++) set_axis(&s, a, best->factor[a], best->level[a]);
    return true;
}

/* What an update needs is a place to go to for what is computed, and for sums that are kept
 * pending. */
void pl_propagate_want(pl_propagation *f, const pl_value *v, const pl_placement *at)
{
    pl_places *have = &f->have[v->id];
    if (v->maker) {
        PL_PUSH(f->arena, &f->want[v->id], *at);
    } else if (have->n && have->at[0].pending && !pl_placement_same(&have->at[0], at)) {
        PL_PUSH(f->arena, &f->want[v->id], *at);
        PL_PUSH(f->arena, have, *at);
    }
}

void pl_propagate_updates(pl_propagation *f)
{
    const pl_graph *g = f->plan->graph;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (f->done[i] || !choose_update(f, n)) continue;
        f->done[i] = true;
        for (int k = 0; k < n->n_in; k++) {
            pl_placement x = pl_plan_operand(f->plan, i, k);
            pl_propagate_want(f, n->in[k], &x);
        }
    }
}

/* -- all nodes --------------------------------------------------------------------------------- */

/* What the node that this one is of does on an axis, in this one's factors. What that one passes on
 * pending is whole in its gradient, as far as this one needs it at all. */
static int factor_of(const pl_propagation *f, const pl_node *n, int axis)
{
    bool of_state = n->of && is_state(n->of->out[0]); /* its gradient goes to where it is needed */
    int k = n->of && !of_state ? f->plan->choice[n->of->id].factor[axis] : PL_LINEAR;
    if (k < 0) return k == PL_COPIED ? PL_COPIED : PL_FREE;
    k = pl_sig_find(n->sig, n->of->sig->factor[k].letter);
    return k < 0 ? PL_FREE : k;
}

static pl_choice letters_of(pl_propagation *f, const pl_node *n)
{
    pl_choice fixed, *c = &f->plan->choice[n->id];
    memset(&fixed, PL_FREE, sizeof fixed);
    memset(c, PL_COPIED, sizeof *c);
    if (n->of) memcpy(fixed.level, f->plan->choice[n->of->id].level, sizeof fixed.level);
    for (int a = 0; a < f->plan->mesh.n; a++) {
        int k = factor_of(f, n, a);
        pl_err why = { 0 };
        if (k == PL_FREE) continue;
        c->factor[a] = (int8_t)k;
        if (pl_plan_check_node(f->plan, n, &why))
            fixed.factor[a] = (int8_t)k;
        else
            c->factor[a] = PL_COPIED;
    }
    return fixed;
}

void pl_propagate_node(pl_propagation *f, const pl_node *n)
{
    const pl_value *state = n->n_out ? pl_graph_state(n->out[0]) : NULL;
    if (state && !f->done[n->id]) {
        f->cast[state->id] = n->out[0];
        note(f, n->out[0]);
        f->open[n->out[0]->id] = f->open[state->id]; /* until its first reader decides */
        if (!f->open[state->id]) place_cast(f, n->out[0], &f->plan->stored[state->id]);
        return;
    }
    if (!f->done[n->id]) {
        pl_choice fixed = letters_of(f, n);
        pl_propagate_choose(f, n, &fixed);
    }
    pl_propagate_keep(f, n);
}

/* The node of a graph by the name of what it makes, of the same operator and letters; or NULL. */
static const pl_node *find_same(const pl_graph *g, const pl_node *n)
{
    const pl_value *v = n->n_out ? pl_graph_find(g, n->out[0]->name) : NULL;
    const pl_node *x = v ? v->maker : NULL;
    if (!x || x->op != n->op || x->sig->n_factors != n->sig->n_factors) return NULL;
    for (int i = 0; i < n->sig->n_factors; i++)
        if (n->sig->factor[i].letter != x->sig->factor[i].letter) return NULL;
    return x;
}

/* Or what is cast of one; the cast itself follows its state. */
static bool reads_state(const pl_node *n)
{
    bool reads = false;
    for (int i = 0; i < n->n_in; i++) reads |= is_state(n->in[i]);
    return reads && !(n->n_out && pl_graph_state(n->out[0]));
}

/* Nodes that read states do what they do in another plan. By what follows them alone a whole table
 * might be gathered, so that few rows are looked up. */
static void choose_like(pl_propagation *f, const pl_plan *like)
{
    const pl_plan *p = f->plan;
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i],
                      *x = reads_state(n) ? find_same(like->graph, n) : NULL;
        pl_err why = { 0 };
        if (!x) continue;
        p->choice[i] = like->choice[x->id];
        f->done[i] = pl_plan_check_node(p, n, &why);
    }
}

void pl_plan_propagate(pl_plan *p, const pl_plan *like)
{
    pl_arena *tmp = pl_arena_new("propagation");
    pl_propagation f;
    pl_propagate_init(&f, p, tmp);
    for (int i = 0; i < p->graph->values.n; i++) {
        pl_placement x = p->stored[i];
        if (f.open[i]) pl_propagate_store(&f, p->graph->values.at[i], &x);
    }
    if (like) choose_like(&f, like);
    pl_propagate_updates(&f);
    for (int i = 0; i < p->graph->nodes.n; i++) pl_propagate_node(&f, p->graph->nodes.at[i]);
    pl_arena_free(tmp);
}
