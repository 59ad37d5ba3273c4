#include "report/weights.h"

#include "program/summary.h"

#include <string.h>

static const char *placement_text(const pl_plan *p, const pl_placement *x, int rank, pl_arena *a)
{
    return x->n || x->pending ? pl_placement_text(a, x, &p->mesh, rank) : "whole";
}

/* [values] where the first forward node that reads it wants it; its own update does not count. */
static pl_placement *find_uses(const pl_plan *p, pl_arena *arena)
{
    const pl_graph *g = p->graph;
    pl_placement *use = PL_NEW_N(arena, pl_placement, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *x = g->values.at[i];
        if (x->role == PL_STATE) use[i] = pl_placement_normal(&p->stored[i], &p->mesh, &x->shape);
    }
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_in && !n->of; k++) {
            const pl_value *x = n->in[k];
            if (x->trainable && !(x->next && x->next->maker == n))
                use[x->id] = pl_plan_operand(p, n->id, k);
        }
    }
    return use;
}

static bool is_same(const pl_weights_row *a, const pl_weights_row *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->shape, b->shape) &&
           !strcmp(a->stored, b->stored) && !strcmp(a->used, b->used);
}

pl_weights pl_weights_of(const pl_plan *p, const pl_store *store, pl_arena *out)
{
    const pl_placement *use = find_uses(p, out);
    pl_weights w = { .row = PL_NEW_N(out, pl_weights_row, store->n + 1) };
    for (int i = 0; i < store->n; i++) {
        const pl_value *x = store->state[i].value;
        int k = 0, rank = x->shape.rank;
        if (!x->trainable) continue;
        pl_weights_row row = { .name = pl_summary_fold(out, x->name),
                               .shape = pl_shape_text(out, x->type, &x->shape),
                               .stored = placement_text(p, &store->state[i].where, rank, out),
                               .used = placement_text(p, &use[x->id], rank, out),
                               .one = x };
        while (k < w.n && !is_same(&w.row[k], &row)) k++;
        if (k == w.n) w.row[w.n++] = row;
        w.row[k].count++;
        w.row[k].bytes += store->state[i].bytes;
    }
    return w;
}
