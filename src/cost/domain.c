/* All that a node may do on a mesh, and where its operands lie then: pl_domain_of(). */
#include "cost/domain.h"

#include "graph/op.h"

#include <assert.h>
#include <string.h>

int pl_placement_set_add(pl_placement_set *s, const pl_placement *x, pl_arena *arena)
{
    const uint64_t hash = pl_placement_hash(x);
    PL_MAP_EACH (&s->map, hash, k)
        if (pl_placement_same(&s->at[k.value], x)) return k.value;
    if (s->lent) s->map = pl_map_copy(&s->map, arena), s->cap = s->n, s->lent = false;
    pl_map_put(&s->map, hash, s->n, arena);
    PL_PUSH(arena, s, *x);
    s->hash = pl_hash_mix(s->hash, hash);
    return s->n - 1;
}

pl_placement_set pl_placement_set_share(const pl_placement_set *s)
{
    pl_placement_set x = *s;
    x.lent = true;
    return x;
}

/* -- choices ----------------------------------------------------------------------------------- */

typedef struct choices {
    const pl_node *n;
    const pl_mesh *m;
    pl_arena *arena;
    int cap, count;
    pl_choice *at;
} choices;

/* Is a factor of this size shared out well over so many devices? */
static bool is_even_enough(int64_t size, int64_t parts)
{
    int64_t largest = (size + parts - 1) / parts;
    return size >= parts && (largest * parts - size) * 16 <= size;
}

static bool fits(const choices *x, const pl_choice *c, int factor)
{
    int64_t parts = 1;
    for (int a = 0; a < x->m->n; a++)
        if (c->factor[a] == factor) parts *= x->m->axis[a].size;
    return is_even_enough(x->n->sig->factor[factor].size, parts);
}

static void push(choices *x, const pl_choice *c)
{
    if (x->count == x->cap) {
        pl_choice *old = x->at;
        x->cap = x->cap ? 2 * x->cap : 64;
        x->at = PL_NEW_N(x->arena, pl_choice, x->cap);
        if (x->count) memcpy(x->at, old, (size_t)x->count * sizeof *old);
    }
    x->at[x->count++] = *c;
}

/* Axes on one factor in every order: each new one takes every level among those before it. */
static void add_orders(choices *x, pl_choice *c, int axis)
{
    if (axis >= x->m->n) {
        push(x, c);
        return;
    }
    int same = 0;
    for (int a = 0; a < axis; a++) same += c->factor[axis] >= 0 && c->factor[a] == c->factor[axis];
    pl_choice before = *c;
    for (int level = same; level >= 0; level--) { /* the mesh's own order first */
        for (int a = 0; a < axis; a++)
            if (same && c->factor[a] == c->factor[axis] && c->level[a] >= level) c->level[a]++;
        c->level[axis] = (int8_t)level;
        add_orders(x, c, axis + 1);
        *c = before;
    }
}

static void add_factors(choices *x, pl_choice *c, int axis)
{
    if (axis == x->m->n) {
        pl_choice full = *c;
        memset(full.level, 0, sizeof full.level);
        add_orders(x, &full, 0);
        return;
    }
    const bool alone =
        x->m->axis[axis].size == 1; /* the stages' axis: a stage sees one place of it */
    for (int f = PL_COPIED; f < (alone ? 0 : x->n->sig->n_factors); f++) {
        c->factor[axis] = (int8_t)f;
        if (f >= 0 && (!pl_share_can_cut(x->n, f) || !fits(x, c, f))) continue;
        add_factors(x, c, axis + 1);
    }
    for (int k = 0; !alone && pl_plan_linear_set(x->n, k); k++) {
        c->factor[axis] = (int8_t)(PL_LINEAR - k);
        add_factors(x, c, axis + 1);
    }
    c->factor[axis] = PL_COPIED;
}

/* -- places ------------------------------------------------------------------------------------ */

/* Has an operand a dimension that factor f splits? (plan.c: find_split) */
static bool is_split(const pl_node *n, int o, int f)
{
    bool found = false;
    for (int d = 0; d < n->sig->operand[o].rank; d++) {
        const pl_sig_dim *x = &n->sig->operand[o].dim[d];
        for (int k = 0; k < x->n && x->window < 0; k++) found |= x->factor[k] == f;
        if (x->window >= 0) found |= n->sig->window[x->window].position == f;
    }
    return found;
}

/* How an operand sees an axis: what it does is nothing to the operand, leaves a sum pending or a
 * combination by the operator's monoid, or splits it; `level` then tells the axes of one factor. */
enum { SEEN_NOTHING, SEEN_SUM, SEEN_PENDING, SEEN_SPLIT, LEVEL_BITS = 3, SEEN_BITS = 8 };
static_assert(SEEN_SPLIT + PL_MAX_FACTORS < 1 << (SEEN_BITS - LEVEL_BITS), "factors");
static_assert(PL_MAX_AXES <= 1 << LEVEL_BITS && PL_MAX_AXES * SEEN_BITS <= 64, "axes");

typedef struct view {
    unsigned split;   /* bits: factors that split the operand         */
    unsigned pending; /* bits: those that leave it pending            */
    unsigned linear;  /* bits: linear sets that leave it as a sum     */
} view;

static view view_of(const pl_node *n, int o)
{
    view v = { 0 };
    bool output = o >= n->n_in;
    for (int f = 0; f < n->sig->n_factors; f++)
        *(is_split(n, o, f) ? &v.split : &v.pending) |= 1u << f;
    for (unsigned k = 0, set; (set = pl_plan_linear_set(n, (int)k)); k++)
        if (output || set >> o & 1) v.linear |= 1u << k;
    if (!output) v.pending = 0;
    return v;
}

/* Choices for which this is the same place the operand alike. */
static uint64_t see(const view *v, const pl_choice *c, int axes)
{
    uint64_t seen = 0;
    for (int a = 0; a < axes; a++) {
        int f = c->factor[a];
        unsigned here = SEEN_NOTHING, level = 0;
        if (f <= PL_LINEAR && v->linear >> (PL_LINEAR - f) & 1)
            here = SEEN_SUM;
        else if (f >= 0 && v->split >> f & 1)
            here = SEEN_SPLIT + (unsigned)f, level = (unsigned)c->level[a];
        else if (f >= 0 && v->pending >> f & 1)
            here = SEEN_PENDING;
        seen = seen << SEEN_BITS | here << LEVEL_BITS | level;
    }
    return seen;
}

/* Memory that operands use in turn. */
typedef struct room {
    pl_arena *arena;
    pl_map seen; /* of what `see` gives, the placements */
    pl_placement_set placements;
} room;

static void place_operand(const choices *x, int o, room *r, pl_domain *d)
{
    int16_t *at = PL_NEW_N(x->arena, int16_t, x->count);
    pl_placement_set *placements = &r->placements;
    const view v = view_of(x->n, o);
    pl_map_clear(&r->seen);
    pl_map_clear(&placements->map);
    placements->n = 0, placements->hash = 0;
    for (int i = 0; i < x->count; i++) {
        const uint64_t seen = pl_hash_mix(0, see(&v, &x->at[i], x->m->n));
        int placement = pl_map_seek(&r->seen, seen, seen).value;
        if (placement < 0) {
            const pl_placement p = pl_choice_operand(&x->at[i], x->n, x->m, o);
            placement = pl_placement_set_add(placements, &p, r->arena);
            pl_map_put(&r->seen, seen, placement, r->arena);
        }
        at[i] = (int16_t)placement;
    }
    d->at[o] = at;
    d->placements[o] = *placements;
    d->placements[o].at = PL_NEW_N(x->arena, pl_placement, placements->n);
    memcpy(d->placements[o].at, placements->at, (size_t)placements->n * sizeof *placements->at);
    d->placements[o].cap = placements->n;
    d->placements[o].map = pl_map_copy(&placements->map, x->arena);
}

/* Has operand b the shape of a, the same factors in the same dimensions, and is it seen alike? */
static bool are_alike(const pl_node *n, int a, int b)
{
    const pl_operand *x = &n->sig->operand[a], *y = &n->sig->operand[b];
    const view v = view_of(n, a), w = view_of(n, b);
    bool same = pl_shape_same(&pl_node_value(n, a)->shape, &pl_node_value(n, b)->shape);
    same &= v.split == w.split && v.pending == w.pending && v.linear == w.linear;
    for (int d = 0; same && d < x->rank; d++) {
        const pl_sig_dim *p = &x->dim[d], *q = &y->dim[d];
        same = p->n == q->n && p->window == q->window;
        for (int k = 0; same && k < p->n; k++) same = p->factor[k] == q->factor[k];
    }
    return same;
}

pl_domain pl_domain_of(const pl_node *n, const pl_mesh *m, pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("domain");
    choices x = { .n = n, .m = m, .arena = arena };
    pl_choice c;
    memset(&c, PL_COPIED, sizeof c);
    add_factors(&x, &c, 0);
    pl_domain d = { .n = x.count, .choice = x.at };
    room r = { .arena = tmp };
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        int like = 0;
        while (like < o && !are_alike(n, like, o)) like++;
        if (like < o)
            d.at[o] = d.at[like], d.placements[o] = pl_placement_set_share(&d.placements[like]);
        else
            place_operand(&x, o, &r, &d);
    }
    pl_arena_free(tmp);
    return d;
}
