#include "report/weights.h"

#include "program/names.h"
#include "program/summary.h"

#include <string.h>

static const char *placement_text(const pl_plan *p, const pl_placement *x, int rank, pl_arena *a)
{
    return x->n || x->pending ? pl_placement_text(a, x, &p->mesh, rank) : "whole";
}

static unsigned axes_of(const pl_plan *p, const pl_placement *stored, const pl_placement *used)
{
    unsigned axes = 0;
    for (int a = 0; a < p->mesh.n; a++)
        if (pl_placement_find(stored, a) >= 0 || pl_placement_find(used, a) >= 0) axes |= 1u << a;
    return axes;
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
        for (int k = 0; k < n->n_in && n->phase == PL_FORWARD; k++) {
            const pl_value *x = n->in[k];
            if (x->kind == PL_WEIGHT) use[x->id] = pl_plan_operand(p, n->id, k);
        }
    }
    return use;
}

/* What is told of rows[n], and what they are found by. */
typedef struct told {
    const char *fold;
    pl_names names;
} told;

static bool is_same(const pl_weights_row *a, const pl_weights_row *b)
{
    return !strcmp(a->shape, b->shape) && !strcmp(a->stored, b->stored) &&
           !strcmp(a->used, b->used);
}

pl_weight_rows pl_weights_of(const pl_plan *p, const pl_store *store, pl_arena *out)
{
    const pl_placement *use = find_uses(p, out);
    pl_weight_rows w = { .row = PL_NEW_N(out, pl_weights_row, store->n + 1) };
    told *of = PL_NEW_N(out, told, store->n + 1);
    pl_names **names = PL_NEW_N(out, pl_names *, store->n + 1);
    for (int i = 0; i < store->n; i++) {
        const pl_value *x = store->state[i].value;
        int k = 0, rank = x->shape.rank;
        if (x->kind != PL_WEIGHT) continue;
        const char *fold = pl_summary_fold(out, x->name);
        pl_weights_row row = { .shape = pl_shape_text(out, x->type, &x->shape),
                               .stored = placement_text(p, &store->state[i].where, rank, out),
                               .used = placement_text(p, &use[x->id], rank, out),
                               .axes = axes_of(p, &store->state[i].where, &use[x->id]),
                               .one = x };
        while (k < w.n && (strcmp(of[k].fold, fold) != 0 || !is_same(&w.row[k], &row))) k++;
        if (k == w.n) {
            of[k].fold = fold;
            names[k] = &of[k].names;
            w.row[w.n++] = row;
        }
        pl_names_add(names[k], x->name, -1, out);
        w.row[k].count++;
        w.row[k].bytes += store->state[i].bytes;
    }
    pl_names_tell(w.n, names, out);
    for (int i = 0; i < w.n; i++) w.row[i].name = names[i]->told;
    return w;
}
