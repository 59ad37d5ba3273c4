#include "plan/domain.h"

#include "graph/op.h"

#include <string.h>

int pl_spots_add(pl_spots *s, const pl_placement *x, pl_arena *arena)
{
    for (int i = 0; i < s->n; i++)
        if (pl_placement_same(&s->at[i], x)) return i;
    PL_PUSH(arena, s, *x);
    return s->n - 1;
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
    if (axis == x->m->n) {
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
    for (int f = PL_COPIED; f < x->n->sig->n_factors; f++) {
        c->factor[axis] = (int8_t)f;
        if (f >= 0 && (!pl_share_can_cut(x->n, f) || !fits(x, c, f))) continue;
        add_factors(x, c, axis + 1);
    }
    for (int k = 0; pl_plan_linear_set(x->n, k); k++) {
        c->factor[axis] = (int8_t)(PL_LINEAR - k);
        add_factors(x, c, axis + 1);
    }
    c->factor[axis] = PL_COPIED;
}

/* -- places ------------------------------------------------------------------------------------ */

pl_domain pl_domain_of(const pl_node *n, const pl_mesh *m, pl_arena *arena)
{
    choices x = { .n = n, .m = m, .arena = arena };
    pl_choice c;
    memset(&c, PL_COPIED, sizeof c);
    add_factors(&x, &c, 0);
    pl_domain d = { .n = x.count, .choice = x.at };
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        int16_t *at = PL_NEW_N(arena, int16_t, x.count);
        for (int i = 0; i < x.count; i++) {
            pl_placement p = pl_choice_operand(&x.at[i], n, m, o);
            at[i] = (int16_t)pl_spots_add(&d.spot[o], &p, arena);
        }
        d.at[o] = at;
    }
    return d;
}
