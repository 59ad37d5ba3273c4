/* Which nodes are linear layers, from their sums alone: pl_linear_find(). */
#include "layouts/linear.h"

#include "graph/share.h"

static bool is_weight(const pl_value *v)
{
    const pl_value *state = pl_graph_state(v);
    return state && state->kind == PL_WEIGHT && v->shape.rank >= 2;
}

/* A table's rows are not a factor of what is looked up in it. */
static bool is_summed(const pl_node *n, int w, int x, int f)
{
    bool in_x = pl_share_touches(n, x, f), lookup = n->sig->factor[f].lookup;
    return pl_share_touches(n, w, f) && !pl_share_touches(n, n->n_in, f) && (in_x || lookup);
}

/* The positions of a window cannot be split yet. */
static bool can_split(const pl_node *n, int f)
{
    for (int w = 0; w < n->sig->n_windows; w++)
        if (n->sig->window[w].position == f) return false;
    return pl_share_can_cut(n, f);
}

static void add_factor(const pl_node *n, int f, pl_linear *out)
{
    bool x = pl_share_touches(n, out->x, f), w = pl_share_touches(n, out->w, f);
    bool y = pl_share_touches(n, n->n_in, f);
    uint32_t bit = 1u << f;
    if (!can_split(n, f)) return;
    if (x && w && y)
        out->batch |= bit;
    else if (x && y)
        out->m |= bit;
    else if (w && y)
        out->n |= bit;
    else if (is_summed(n, out->w, out->x, f))
        out->k |= bit;
}

bool pl_linear_find(const pl_node *n, pl_linear *out)
{
    *out = (pl_linear){ .w = -1, .x = -1 };
    for (int i = 0; i < n->n_in && n->n_out; i++)
        if (out->w < 0 && is_weight(n->in[i])) out->w = i;
    for (int i = 0; i < n->n_in && out->w >= 0; i++) {
        if (i == out->w || is_weight(n->in[i]) || !n->in[i]->shape.rank || out->x >= 0) continue;
        for (int f = 0; f < n->sig->n_factors && out->x < 0; f++)
            if (is_summed(n, out->w, i, f)) {
                out->x = i;
                out->lookup = !pl_share_touches(n, i, f);
            }
    }
    if (out->x < 0) return false;
    for (int f = 0; f < n->sig->n_factors; f++) add_factor(n, f, out);
    return true;
}

int64_t pl_linear_widest(const pl_node *n, uint32_t set)
{
    int64_t most = 0;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (set >> f & 1 && n->sig->factor[f].size > most) most = n->sig->factor[f].size;
    return most;
}
