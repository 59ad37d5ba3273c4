/* What the page reads off a plan once: what nodes are for, where tensors are made and used. */
#include "graph/op.h"
#include "report/html_page.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ACTIVATIONS = 12 };

/* -- nodes ------------------------------------------------------------------------------------- */

pl_html_kind pl_html_view_kind(const pl_step *x)
{
    static const pl_html_kind phase[PL_N_PHASES] = { [PL_FORWARD] = PL_HTML_FORWARD,
                                                     [PL_BACKWARD] = PL_HTML_BACKWARD,
                                                     [PL_UPDATE] = PL_HTML_UPDATE };
    static const pl_html_kind of[] = {
        [PL_ALL_REDUCE] = PL_HTML_REDUCE,
        [PL_ALL_GATHER] = PL_HTML_GATHER,
        [PL_REDUCE_SCATTER] = PL_HTML_SCATTER,
        [PL_ALL_TO_ALL] = PL_HTML_EXCHANGE,
        [PL_BROADCAST] = PL_HTML_BROADCAST,
        [PL_SEND] = PL_HTML_SHIFT,
        [PL_RECV] = PL_HTML_SHIFT,
        [PL_TO_HOST] = PL_HTML_OUT,
        [PL_FROM_HOST] = PL_HTML_IN,
    };
    if (x->kind == PL_HOST_KERNEL) return PL_HTML_ON;
    if (x->kind == PL_MESSAGE) return of[x->collective];
    return x->kind == PL_KERNEL ? phase[x->share->node->phase] : PL_HTML_COPY;
}

const char *pl_html_kind_name(pl_html_kind k)
{
    static const char *const names[PL_HTML_KINDS] = {
        "forward",     "backward",       "update",      "copy",      "all-reduce",
        "all-gather",  "reduce-scatter", "all-to-all",  "broadcast", "send and receive",
        "to the host", "from the host",  "on the host",
    };
    return names[k];
}

/* -- tensors ----------------------------------------------------------------------------------- */

/* The update of a state that reads it is no use of it. */
static void find_uses(pl_html_view *v)
{
    const pl_plan *plan = v->in->plan;
    for (int i = 0; i < v->graph->values.n; i++) {
        const pl_value *x = v->graph->values.at[i];
        v->made[i] = x->maker ? pl_plan_operand(plan, x->maker->id, x->maker->n_in + x->out)
                              : pl_placement_normal(&plan->stored[i], v->mesh, &x->shape);
        v->used[i] = v->made[i];
    }
    for (int i = v->graph->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = v->graph->nodes.at[i];
        for (int k = 0; k < n->n_in && n->phase == PL_FORWARD; k++)
            v->used[n->in[k]->id] = pl_plan_operand(plan, i, k);
    }
}

/* -- groups ------------------------------------------------------------------------------------ */

static bool is_same(const pl_html_view *v, const pl_value *a, const pl_value *b)
{
    return a->type == b->type && pl_shape_same(&a->shape, &b->shape) &&
           pl_placement_same(&v->made[a->id], &v->made[b->id]) &&
           pl_placement_same(&v->used[a->id], &v->used[b->id]);
}

/* Returns which one it is of. */
static int add_value(const pl_html_view *v, pl_html_groups *g, const pl_value *x, pl_arena *arena)
{
    const char *name = pl_summary_fold(arena, x->name);
    int i = 0;
    while (i < g->n && (strcmp(g->at[i].name, name) || !is_same(v, g->at[i].value, x))) i++;
    if (i == g->n) {
        int64_t bytes =
            pl_placement_room(&v->made[x->id], v->mesh, &x->shape) * pl_type_bytes(x->type);
        PL_PUSH(arena, g, ((pl_html_group){ name, x, 0, bytes }));
    }
    g->at[i].count++;
    return i;
}

static void find_weights(pl_html_view *v, pl_arena *arena)
{
    for (int i = 0; i < v->graph->values.n; i++) {
        const pl_value *x = v->graph->values.at[i];
        v->weight[i] = x->kind == PL_WEIGHT ? add_value(v, &v->weights, x, arena) : -1;
    }
}

static int by_size(const void *a, const void *b)
{
    const pl_html_group *x = a, *y = b;
    int64_t p = pl_value_bytes(x->value), q = pl_value_bytes(y->value);
    return p != q ? (p > q ? -1 : 1) : x->value->id - y->value->id;
}

static int by_id(const void *a, const void *b)
{
    const pl_html_group *x = a, *y = b;
    return x->value->id - y->value->id;
}

static void find_activations(pl_html_view *v, pl_arena *arena)
{
    pl_html_groups g = { 0 };
    for (int i = 0; i < v->graph->nodes.n; i++) {
        const pl_node *n = v->graph->nodes.at[i];
        for (int k = 0; k < n->n_out && n->phase == PL_FORWARD && !n->op->view; k++)
            if (!pl_graph_leaf(n->out[k])) add_value(v, &g, n->out[k], arena);
    }
    if (g.n) qsort(g.at, (size_t)g.n, sizeof *g.at, by_size);
    if (g.n > MOST_ACTIVATIONS) g.n = MOST_ACTIVATIONS;
    while (g.n && 100 * pl_value_bytes(g.at[g.n - 1].value) < pl_value_bytes(g.at[0].value)) g.n--;
    if (g.n) qsort(g.at, (size_t)g.n, sizeof *g.at, by_id);
    v->activations = g;
}

void pl_html_view_make(pl_html_view *v, const pl_html_plan *in, pl_arena *arena)
{
    const int n = in->plan->graph->values.n;
    *v = (pl_html_view){ .in = in, .graph = in->plan->graph, .mesh = &in->plan->mesh };
    v->made = PL_NEW_N(arena, pl_placement, n + 1);
    v->used = PL_NEW_N(arena, pl_placement, n + 1);
    v->weight = PL_NEW_N(arena, int, n + 1);
    find_uses(v);
    find_weights(v, arena);
    find_activations(v, arena);
}
