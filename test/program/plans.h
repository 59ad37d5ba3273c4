/* test/program/plans.h - plans by lot: any legal placement of what is stored, any legal factor. */
#ifndef PL_TEST_PLANS_H
#define PL_TEST_PLANS_H
#include "base/rng.h"
#include "graph/op.h"
#include "plan/plan.h"

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

static inline pl_placement lot_placement(lot *l, const pl_mesh *m, const pl_shape *s)
{
    pl_placement x = { 0 };
    for (int a = 0; a < m->n && s->rank; a++) {
        pl_placement next = x;
        pl_err err = { 0 };
        pl_placement_split(&next, lot_below(l, s->rank), a);
        if (lot_below(l, 2) && pl_placement_check(&next, m, s, &err)) x = next;
    }
    return x;
}

/* A linear choice needs its inputs pending, which the makers chose by lot again. */
static inline void mend_linear(pl_plan *p, const pl_placement *made, const pl_node *n)
{
    for (int a = 0; a < p->mesh.n; a++) {
        int8_t *f = &p->choice[n->id].factor[a];
        for (int i = 0; i < n->n_in && *f <= PL_LINEAR; i++) {
            const pl_placement *x = &made[n->in[i]->id];
            bool pending = (x->pending >> a & 1) && x->monoid == PL_SUM;
            if (pl_plan_linear_set(n, PL_LINEAR - *f) >> i & 1 && !pending) *f = PL_COPIED;
        }
    }
}

/* The greedy plan of placements by lot, then one choice in `keep` by lot as well. */
static inline pl_plan *plan_by_lot(const pl_graph *g, const pl_mesh *m, uint64_t seed, int keep,
                                   pl_arena *a)
{
    lot l = { .rng = pl_rng_at(seed, 3) };
    pl_plan *p = pl_plan_single(g, a);
    pl_placement *made = PL_NEW_N(a, pl_placement, g->values.n + 1);
    p->strategy = "lot";
    p->mesh = *m;
    for (int i = 0; i < g->values.n; i++) {
        if (g->values.at[i]->maker) continue;
        p->stored[i] = lot_placement(&l, m, &g->values.at[i]->shape);
        made[i] = pl_placement_trim(&p->stored[i], m);
    }
    pl_plan_follow(p);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        for (int axis = 0; axis < m->n; axis++) {
            int8_t *f = &p->choice[i].factor[axis], was = *f;
            pl_err why = { 0 };
            if (!n->sig->n_factors || lot_below(&l, keep)) continue;
            *f = (int8_t)(lot_below(&l, n->sig->n_factors + 1) - 1);
            if (!pl_plan_check_node(p, n, &why)) *f = was;
        }
        mend_linear(p, made, n);
        for (int k = 0; k < n->n_out; k++)
            made[n->out[k]->id] = pl_plan_operand(p, i, n->n_in + k);
    }
    return p;
}

#endif
