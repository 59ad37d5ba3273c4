#include "data/ids.h"

#include "data/bags.h"
#include "graph/op.h"
#include "ops/list.h"

/* Of one node, whose input `slot` the numbers are; 0: it looks up nothing by them. */
static int64_t table_size(const pl_node *n, int slot, bool places, int64_t *least)
{
    if (slot != 1 || (n->op != &pl_op_embedding && n->op != &pl_op_cross_entropy_sums)) return 0;
    *least = n->op == &pl_op_embedding ? 0 : INT64_MIN;
    if (n->in[0]->rows && !places) return n->in[0]->rows;
    return n->sig->factor[pl_sig_find(n->sig, 'v')].size;
}

static int64_t find_below(const pl_graph *graph, const pl_value *input, bool places, int64_t *least)
{
    int64_t below = 0, low = 0;
    *least = INT64_MIN;
    for (int i = 0; i < graph->nodes.n; i++)
        for (int k = 0; k < graph->nodes.at[i]->n_in; k++) {
            if (pl_graph_leaf(graph->nodes.at[i]->in[k]) != input) continue;
            const int64_t size = table_size(graph->nodes.at[i], k, places, &low);
            if (!size) continue;
            if (!below || size < below) below = size;
            if (low > *least) *least = low;
        }
    return below;
}

int64_t pl_ids_below(const pl_graph *graph, const pl_value *input, int64_t *least)
{
    return find_below(graph, input, false, least);
}

const pl_value *pl_ids_table(const pl_graph *graph, const pl_value *input)
{
    for (int i = 0; i < graph->nodes.n; i++) {
        const pl_node *n = graph->nodes.at[i];
        if (n->op == &pl_op_embedding && pl_graph_leaf(n->in[1]) == input)
            return pl_graph_leaf(n->in[0]);
    }
    return NULL;
}

pl_limits pl_ids_limits(const pl_graph *graph, int64_t otherwise, bool places, pl_arena *arena)
{
    pl_limits l = { graph, otherwise, PL_NEW_N(arena, int64_t, graph->values.n + 1),
                    PL_NEW_N(arena, pl_bags, graph->values.n + 1) };
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        int64_t least;
        if (v->role != PL_INPUT || pl_type_is_float(v->type)) continue;
        l.below[i] = find_below(graph, v, places, &least);
        const pl_bags bags = pl_bags_find(graph, v);
        if (bags.ids != v) l.bags[i] = bags;
    }
    return l;
}

int64_t pl_ids_limit(const pl_limits *limits, const char *input)
{
    const pl_value *v = limits->graph ? pl_graph_find(limits->graph, input) : NULL;
    return v && limits->below[v->id] ? limits->below[v->id] : limits->otherwise;
}

const pl_bags *pl_ids_bags(const pl_limits *limits, const char *input)
{
    const pl_value *v = limits->graph ? pl_graph_find(limits->graph, input) : NULL;
    return v && limits->bags[v->id].ids ? &limits->bags[v->id] : NULL;
}
