/* Which blocks a plan plans alike, and the plan of fewer: pl_plan_shorten(). */
#include "plan/plan.h"

#include <string.h>

static bool is_value_same(const pl_plan *p, const pl_value *a, const pl_value *b)
{
    if (!pl_plan_kept_alike(p, a->id, p, b->id)) return false;
    return a->maker || b->maker || a == b ||
           pl_placement_same(&p->stored[a->id], &p->stored[b->id]);
}

static bool is_node_same(const pl_plan *p, const pl_node *a, const pl_node *b)
{
    if (!pl_plan_runs_alike(p, a->id, p, b->id)) return false;
    for (int k = 0; k < a->n_in + a->n_out; k++)
        if (!is_value_same(p, pl_node_value(a, k), pl_node_value(b, k))) return false;
    return true;
}

/* Is block i planned as the one before it? */
static bool is_block_same(const pl_plan *p, const pl_fold *fold, int i)
{
    pl_node *const *node = p->graph->nodes.at;
    for (int k = 0; k < fold->n_classes; k++) {
        const pl_fold_class *c = &fold->at[k];
        const int slots = pl_fold_shortens(fold, k) ? c->n_nodes : 0;
        for (int s = 0; s < slots; s++)
            if (!is_node_same(p, node[c->node[i - 1][s]], node[c->node[i][s]])) return false;
    }
    return true;
}

int pl_plan_stretches(const pl_plan *p, const pl_fold *fold, int most, pl_cut out[])
{
    const int blocks = pl_fold_copies(fold);
    int n = 0;
    for (int from = 0, to; from < blocks; from = to, n++) {
        for (to = from + 1; to < blocks && is_block_same(p, fold, to);) to++;
        if (n < most) out[n] = (pl_cut){ .from = from, .to = to };
    }
    return n;
}

static bool is_uniform(const pl_plan *p, const pl_fold *fold, const pl_cut *cut)
{
    for (int i = cut->from; i <= cut->to; i++)
        if (!is_block_same(p, fold, i)) return false;
    return true;
}

pl_plan *pl_plan_shorten(const pl_plan *p, const pl_fold *fold, const pl_short *s, pl_arena *out)
{
    const int nodes = s->graph->nodes.n, values = s->graph->values.n;
    for (int c = 0; c < s->n_cuts; c++)
        if (!is_uniform(p, fold, &s->cut[c])) return NULL;
    pl_plan *x = PL_NEW(out, pl_plan);
    *x = (pl_plan){ .graph = s->graph, .mesh = p->mesh, .strategy = p->strategy };
    x->choice = PL_NEW_N(out, pl_choice, nodes + 1);
    x->stored = PL_NEW_N(out, pl_placement, values + 1);
    x->kept = PL_NEW_N(out, const pl_placement *, values + 1);
    x->recompute = PL_NEW_N(out, bool, values + 1);
    x->on_host = PL_NEW_N(out, bool, nodes + 1);
    for (int i = 0; i < nodes; i++) {
        x->choice[i] = p->choice[s->node[i]];
        x->on_host[i] = p->on_host[s->node[i]];
    }
    for (int v = 0; v < values; v++) {
        x->stored[v] = p->stored[s->value[v]];
        x->kept[v] = p->kept[s->value[v]];
        x->recompute[v] = p->recompute[s->value[v]];
    }
    return x;
}
