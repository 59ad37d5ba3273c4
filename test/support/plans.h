/* test/support/plans.h - plans by lot: any legal placement of what is stored, any legal factor. */
#ifndef PL_TEST_SUPPORT_PLANS_H
#define PL_TEST_SUPPORT_PLANS_H
#include "base/rng.h"
#include "graph/op.h"
#include "layouts/propagate.h"

#include <stdio.h>
#include <string.h>

/* A mesh from sizes that end with 0; the axes are a, b, c ... */
static inline pl_mesh mesh_of(const int *size)
{
    pl_mesh m = { 0 };
    for (; size[m.n]; m.n++) {
        m.axis[m.n].size = size[m.n];
        snprintf(m.axis[m.n].name, sizeof m.axis[m.n].name, "%c", 'a' + m.n);
    }
    return m;
}

typedef struct lot {
    pl_rng rng;
    uint64_t drawn;
} lot;

static inline int lot_below(lot *l, int n)
{
    return (int)pl_rng_below(l->rng, l->drawn++, (uint64_t)n);
}

/* A divisor of n, each with the same chance. */
static inline int64_t lot_divisor(lot *l, int64_t n)
{
    int64_t divisor[64];
    int k = 0;
    for (int64_t d = 1; d <= n && k < 64; d++)
        if (n % d == 0) divisor[k++] = d;
    return divisor[lot_below(l, k)];
}

/* Axes split whole dimensions, evenly or not, or digits of them. */
static inline pl_placement lot_placement(lot *l, const pl_mesh *m, const pl_shape *s)
{
    pl_placement x = { 0 };
    for (int a = 0; a < m->n && s->rank; a++) {
        pl_placement next = x;
        pl_err err = { 0 };
        pl_split y = { .dim = (int8_t)lot_below(l, s->rank), .axis = (int8_t)a };
        if (lot_below(l, 3) == 0) {
            int64_t size = s->dim[y.dim];
            y.unit = lot_divisor(l, size);
            y.size = lot_divisor(l, size / y.unit);
            if (y.size < 2) continue;
        }
        pl_placement_add(&next, y);
        if (lot_below(l, 2) && pl_placement_check(&next, m, s, &err)) x = next;
    }
    return x;
}

/* What a plan by lot leaves alone, so that a failing one can be made smaller. */
typedef struct lot_limits {
    uint64_t whole;    /* bit per value (modulo 64): stored whole            */
    uint64_t copied;   /* bit per node (modulo 64): every device does all    */
} lot_limits;

/* No messages turn a pending maximum into a pending sum. */
static inline bool has_other_pending(const pl_plan *p, const pl_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        const pl_value *v = n->in[i];
        if (!v->maker) continue;
        pl_placement x = pl_plan_operand(p, v->maker->id, v->maker->n_in + v->out);
        if (x.pending && x.monoid != PL_SUM) return true;
    }
    return false;
}

/* One choice of a node on one axis; what is not legal stays as it was. */
static inline void lot_choose(lot *l, pl_plan *p, const pl_node *n, int axis)
{
    int8_t *f = &p->choice[n->id].factor[axis], was = *f;
    pl_err why = { 0 };
    /* Inputs become pending where they are not: PL_MASK. */
    bool linear = lot_below(l, 8) == 0 && !has_other_pending(p, n);
    *f = (int8_t)(linear ? PL_LINEAR - lot_below(l, 2) : lot_below(l, n->sig->n_factors + 1) - 1);
    if (!pl_plan_check_node(p, n, &why)) *f = was;
}

/* Where some values are kept: as they are made or stored, less some axes, or anywhere; others are
 * made again. */
static inline void lot_keep(pl_plan *p, const pl_value *v, uint64_t seed, pl_arena *a)
{
    lot l = { .rng = pl_rng_at(seed, pl_rng_mix(5, pl_rng_name(v->name))) };
    p->recompute[v->id] = pl_plan_can_recompute(v) && !lot_below(&l, 4);
    if (p->recompute[v->id] || lot_below(&l, 4)) return;
    if (lot_below(&l, 2)) {
        pl_plan_keep(p, v, (unsigned)lot_below(&l, 1 << PL_MAX_AXES), a);
        return;
    }
    pl_placement *x = PL_NEW(a, pl_placement);
    *x = lot_placement(&l, &p->mesh, &v->shape);
    p->kept[v->id] = x;
}

/* In some plans, some states and some of what is kept lie in the host's memory. */
static inline void lot_host(pl_plan *p, const pl_value *v, uint64_t seed, pl_arena *a)
{
    lot l = { .rng = pl_rng_at(seed, pl_rng_mix(6, pl_rng_name(v->name))) };
    if (seed % 3) return;
    if (v->role == PL_STATE && !lot_below(&l, 3)) p->stored[v->id].host = true;
    if (!p->kept[v->id] || lot_below(&l, 2)) return;
    pl_placement *x = PL_NEW(a, pl_placement);
    *x = *p->kept[v->id];
    x->host = true;
    p->kept[v->id] = x;
}

/* In those, some nodes run there. */
static inline void lot_run(pl_plan *p, const pl_node *n, uint64_t seed)
{
    lot l = { .rng = pl_rng_at(seed, pl_rng_mix(7, pl_rng_name(n->name))) };
    if (seed % 3 == 0 && pl_plan_can_run_on_host(p, n)) p->on_host[n->id] = lot_below(&l, 2);
}

/* The greedy plan of placements by lot, then one choice in `keep` by lot as well. */
static inline pl_plan *plan_within(const pl_graph *g, const pl_mesh *m, uint64_t seed, int keep,
                                   const lot_limits *limits, pl_arena *a)
{
    pl_plan *p = pl_plan_single(g, a);
    p->strategy = "lot";
    p->mesh = *m;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        lot l = { .rng = pl_rng_at(seed, pl_rng_mix(3, pl_rng_name(v->name))) };
        if (!v->maker && !(limits->whole >> i % 64 & 1))
            p->stored[i] = lot_placement(&l, m, &v->shape);
    }
    pl_plan_propagate(p, NULL);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        lot l = { .rng = pl_rng_at(seed, pl_rng_mix(4, pl_rng_name(n->name))) };
        for (int axis = 0; axis < m->n; axis++) {
            if (limits->copied >> i % 64 & 1) p->choice[i].factor[axis] = PL_COPIED;
            else if (!lot_below(&l, keep)) lot_choose(&l, p, n, axis);
        }
        lot_run(p, n, seed);
    }
    for (int i = 0; i < g->values.n; i++) {
        lot_keep(p, g->values.at[i], seed, a);
        lot_host(p, g->values.at[i], seed, a);
    }
    return p;
}

static inline pl_plan *plan_by_lot(const pl_graph *g, const pl_mesh *m, uint64_t seed, int keep,
                                   pl_arena *a)
{
    return plan_within(g, m, seed, keep, &(lot_limits){ 0 }, a);
}

#endif
