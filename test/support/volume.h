/* test/support/volume.h - what a plan moves, counted from its placements alone: each node's inputs
 * come from where they are made or from where an earlier reader has them; the next value of a
 * state goes where the state is stored, an output becomes whole. */
#ifndef PL_TEST_SUPPORT_VOLUME_H
#define PL_TEST_SUPPORT_VOLUME_H
#include "plan/plan.h"
#include "reshard/reshard.h"

#include <string.h>

enum { MOST_TRANSFERS = 4000 };

typedef struct transfer {
    const pl_value *value;
    bool backward;
    pl_path path;
} transfer;

typedef struct volume {
    double elements; /* that one device receives */
    int n;
    transfer *at;
} volume;

typedef struct places {
    int n;
    pl_placement at[16];
} places;

/* Exact where whole elements do not divide: the all-reduce of a part over a group. */
static inline double move_elements(const pl_move *x, const pl_mesh *m, pl_type type)
{
    int n = 1;
    for (int a = 0; a < m->n; a++)
        if (x->axes >> a & 1) n *= m->axis[a].size;
    if (x->kind == PL_ALL_REDUCE) return 2.0 * (n - 1) / n * (double)x->block;
    return (double)x->bytes / (double)pl_type_bytes(type);
}

static inline void bring(volume *v, pl_reshard *r, const pl_value *x, places *have,
                         pl_placement to, bool backward)
{
    transfer *t = &v->at[v->n];
    pl_err err = { 0 };
    int which;
    to = pl_placement_normal(&to, r->mesh, &x->shape);
    for (int i = 0; i < have->n; i++)
        if (pl_placement_same(&have->at[i], &to)) return;
    if (!pl_reshard_find(r, x->type, &x->shape, have->n, have->at, &to, &which, &t->path, &err))
        pl_bug(__FILE__, __LINE__, "'%s': %s", x->name, err.msg);
    PL_ASSERT_CMP(v->n, <, MOST_TRANSFERS - 1);
    for (int i = 0; i < t->path.n; i++) { /* the parts on the way may be of use again */
        PL_ASSERT_CMP(have->n, <, 16);
        have->at[have->n++] = t->path.move[i].to;
        v->elements += move_elements(&t->path.move[i], r->mesh, x->type);
    }
    t->value = x;
    t->backward = backward;
    v->n++;
}

/* Does a node before the backward pass make or read it? */
static inline bool is_forward(const pl_graph *g, const pl_value *v)
{
    bool is = v->maker && v->maker->phase == PL_FORWARD;
    for (int i = 0; g->nodes.at[i]->phase == PL_FORWARD && !is; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) is |= g->nodes.at[i]->in[k] == v;
    return is;
}

/* What the forward pass has of values that the backward pass reads, but where the plan keeps them,
 * is there no more; what was stored is. */
static inline void keep_parts(volume *v, pl_reshard *r, const pl_plan *p, places *have)
{
    const pl_graph *g = p->graph;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in && g->nodes.at[i]->phase == PL_BACKWARD; k++) {
            const pl_value *x = g->nodes.at[i]->in[k];
            places *at = &have[x->id];
            if (!p->kept[x->id] || !at->n) continue;
            const pl_placement kept = pl_placement_normal(p->kept[x->id], r->mesh, &x->shape);
            const bool early = is_forward(g, x);
            if (early) bring(v, r, x, at, kept, false);
            at->n = !x->maker;
            if (early && (x->maker || !pl_placement_same(&kept, at->at))) at->at[at->n++] = kept;
        }
}

static inline volume find_volume(const pl_plan *p, pl_arena *a)
{
    const pl_graph *g = p->graph;
    pl_reshard r = pl_reshard_new(&p->mesh, a);
    r.mask = true;
    volume v = { .at = PL_NEW_N(a, transfer, MOST_TRANSFERS) };
    places *have = PL_NEW_N(a, places, g->values.n + 1);
    bool backward = false;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *x = g->values.at[i];
        if (x->maker) continue;
        have[i].n = 1;
        have[i].at[0] = pl_placement_normal(&p->stored[i], &p->mesh, &x->shape);
    }
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->of && !backward) keep_parts(&v, &r, p, have);
        backward |= n->of != NULL;
        for (int k = 0; k < n->n_in; k++)
            bring(&v, &r, n->in[k], &have[n->in[k]->id], pl_plan_operand(p, i, k), backward);
        for (int k = 0; k < n->n_out; k++)
            have[n->out[k]->id] = (places){ 1, { pl_plan_operand(p, i, n->n_in + k) } };
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *x = g->values.at[i];
        if (x->next) bring(&v, &r, x->next, &have[x->next->id], p->stored[i], true);
    }
    for (int i = 0; i < g->outputs.n; i++)
        bring(&v, &r, g->outputs.at[i], &have[g->outputs.at[i]->id], (pl_placement){ 0 }, true);
    return v;
}

/* Moves of one kind over any of the axes, of tensors of at least `rank` dimensions. */
static inline int count_moves(const volume *v, pl_collective kind, unsigned axes, int rank,
                              bool backward)
{
    int n = 0;
    for (int i = 0; i < v->n; i++)
        for (int k = 0; k < v->at[i].path.n; k++) {
            const pl_move *x = &v->at[i].path.move[k];
            n += x->kind == kind && x->axes & axes && v->at[i].value->shape.rank >= rank &&
                 v->at[i].backward == backward;
        }
    return n;
}

#endif
