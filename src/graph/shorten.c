/* A graph without some of its equal blocks: pl_graph_shorten() marks what goes, then copies what
 * stays; map_value() says who takes the place of a value that went. */
#include "graph/shorten.h"

#include "graph/excerpt.h"

#include <string.h>

typedef struct cutting {
    const pl_graph *whole;
    const pl_fold *fold;
    pl_short *s;
    pl_graph *graph;  /* that is made                                        */
    pl_node **node;   /* [nodes of the whole] copies; NULL: left out         */
    pl_value **value; /* [values of the whole]                               */
    bool failed;
} cutting;

int pl_fold_copies(const pl_fold *fold)
{
    const int class = pl_fold_largest(fold, 1);
    return class < 0 ? 0 : fold->at[class].n_instances;
}

bool pl_fold_shortens(const pl_fold *fold, int class)
{
    return fold->at[class].n_instances == pl_fold_copies(fold);
}

static void set_cuts(pl_short *s, int n, const pl_cut cut[], pl_arena *out)
{
    pl_cut *to = PL_NEW_N(out, pl_cut, n);
    s->kept = s->copies;
    for (int c = 0; c < n; c++) {
        PL_ASSERT((c ? cut[c - 1].to : 0) < cut[c].from && cut[c].from < cut[c].to &&
                  cut[c].to < s->copies);
        to[c] = (pl_cut){ cut[c].from, cut[c].to, cut[c].from - (s->copies - s->kept) };
        s->kept -= cut[c].to - cut[c].from;
    }
    s->n_cuts = n, s->cut = to;
}

/* The instance of a node of the whole graph; -1: none of these. */
static int instance_of(const cutting *x, const pl_node *n)
{
    const int class = x->fold->class_of[n->id];
    const bool is = class >= 0 && x->fold->at[class].n_instances == x->s->copies;
    return is ? x->fold->instance_of[n->id] : -1;
}

/* The cut that takes a node; NULL: it stays. */
static const pl_cut *cut_of(const cutting *x, const pl_node *n)
{
    const int i = instance_of(x, n);
    for (int c = 0; c < x->s->n_cuts; c++)
        if (i >= x->s->cut[c].from && i < x->s->cut[c].to) return &x->s->cut[c];
    return NULL;
}

static bool is_gone(const cutting *x, const pl_node *n)
{
    return cut_of(x, n) != NULL;
}

static pl_node *same_in(const cutting *x, const pl_node *n, int instance)
{
    const pl_fold_class *c = &x->fold->at[x->fold->class_of[n->id]];
    return x->whole->nodes.at[c->node[instance][x->fold->slot_of[n->id]]];
}

/* Whom a node that stays has in place of its neighbour n; NULL: of such a one there is none. */
static pl_node *map_neighbour(cutting *x, const pl_node *reader, const pl_node *n)
{
    const pl_cut *cut = cut_of(x, n);
    if (!cut) return x->node[n->id];
    const int i = instance_of(x, n), at = instance_of(x, reader);
    if (at == cut->to && i == cut->to - 1) return x->node[same_in(x, n, cut->from - 1)->id];
    if (at == cut->from - 1 && i == cut->from) return x->node[same_in(x, n, cut->to)->id];
    x->failed = true;
    return NULL;
}

static pl_value *map_value(cutting *x, const pl_node *reader, const pl_value *v)
{
    if (!v) return NULL;
    if (x->value[v->id]) return x->value[v->id];
    const pl_node *maker = v->maker ? map_neighbour(x, reader, v->maker) : NULL;
    x->failed |= !maker; /* a leaf that went is read by what stays */
    return maker ? maker->out[v->out] : NULL;
}

/* -- what stays -------------------------------------------------------------------------------- */

/* Leaves that only blocks that go read, go with them. */
static bool *find_leaves(const cutting *x, pl_arena *tmp)
{
    const pl_graph *g = x->whole;
    bool *read = PL_NEW_N(tmp, bool, g->values.n + 1),
         *stays = PL_NEW_N(tmp, bool, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const int v = g->nodes.at[i]->in[k]->id;
            read[v] = true;
            stays[v] |= !is_gone(x, g->nodes.at[i]);
        }
    for (int v = 0; v < g->values.n; v++) {
        const pl_node *maker = g->values.at[v]->maker;
        stays[v] = maker ? !is_gone(x, maker) : !read[v] || stays[v];
    }
    return stays;
}

static void copy_values(cutting *x, int *id, pl_arena *tmp)
{
    const bool *stays = find_leaves(x, tmp);
    for (int v = 0; v < x->whole->values.n; v++) {
        const pl_value *was = x->whole->values.at[v];
        if (!stays[v]) continue;
        id[x->graph->values.n] = v;
        x->value[v] = pl_graph_copy_value(x->graph, was, was->name);
    }
}

static void copy_nodes(cutting *x, int *id)
{
    for (int i = 0; i < x->whole->nodes.n; i++) {
        const pl_node *n = x->whole->nodes.at[i];
        if (is_gone(x, n)) continue;
        pl_node *y = PL_NEW(x->graph->arena, pl_node);
        *y = *n;
        id[x->graph->nodes.n] = i;
        y->id = x->graph->nodes.n;
        PL_PUSH(x->graph->arena, &x->graph->nodes, y);
        for (int k = 0; k < n->n_out; k++) {
            y->out[k] = x->value[n->out[k]->id];
            y->out[k]->maker = y;
        }
        x->node[i] = y;
    }
}

/* All makers are there now, those of later nodes too. */
static void link_nodes(cutting *x)
{
    for (int i = 0; i < x->whole->nodes.n && !x->failed; i++) {
        const pl_node *n = x->whole->nodes.at[i];
        pl_node *y = x->node[i];
        if (!y) continue;
        for (int k = 0; k < n->n_in; k++) y->in[k] = map_value(x, n, n->in[k]);
        if (n->of) y->of = map_neighbour(x, n, n->of);
    }
    for (int v = 0; v < x->whole->values.n && !x->failed; v++) {
        pl_value *y = x->value[v];
        if (!y) continue;
        if (y->of) y->of = x->value[y->of->id];
        if (y->next) y->next = x->value[y->next->id];
        x->failed |=
            (x->whole->values.at[v]->of && !y->of) || (x->whole->values.at[v]->next && !y->next);
    }
    for (int i = 0; i < x->whole->outputs.n; i++) {
        pl_value *y = x->value[x->whole->outputs.at[i]->id];
        if (y) PL_PUSH(x->graph->arena, &x->graph->outputs, y);
    }
}

/* -- which are alike --------------------------------------------------------------------------- */

int pl_short_instance(const pl_short *s, int i)
{
    for (int c = 0; c < s->n_cuts && s->cut[c].from <= i; c++) i += s->cut[c].to - s->cut[c].from;
    return i;
}

/* Instances before this one that stay. */
static int count_before(const pl_short *s, int instance)
{
    int n = instance;
    for (int c = 0; c < s->n_cuts && s->cut[c].to <= instance; c++)
        n -= s->cut[c].to - s->cut[c].from;
    return n;
}

/* A node has what the same node has in the block before the first cut; of its leaves are its own
 * those of which every block has one. */
static void find_like(const cutting *x, int *like, int *block, pl_arena *tmp)
{
    const int n = x->graph->values.n;
    int *blocks = PL_NEW_N(tmp, int, n + 1);
    for (int v = 0; v < n; v++) like[v] = v, block[v] = -1;
    for (int i = 0; i < x->whole->nodes.n; i++) {
        const pl_node *y = x->node[i];
        const int at = instance_of(x, x->whole->nodes.at[i]);
        if (!y || at < 0) continue;
        const int b = count_before(x->s, at);
        const pl_node *s = x->node[same_in(x, x->whole->nodes.at[i], x->s->cut->from - 1)->id];
        for (int k = 0; k < y->n_out; k++)
            like[y->out[k]->id] = s->out[k]->id, block[y->out[k]->id] = b;
        for (int k = 0; k < y->n_in; k++)
            if (!y->in[k]->maker && !s->in[k]->maker)
                like[y->in[k]->id] = s->in[k]->id, block[y->in[k]->id] = b;
    }
    for (int v = 0; v < n; v++) blocks[like[v]]++;
    for (int v = 0; v < n; v++)
        if (blocks[like[v]] != x->s->kept) block[v] = -1;
}

bool pl_graph_shorten(const pl_graph *whole, const pl_fold *fold, int n_cuts, const pl_cut cut[],
                      pl_arena *out, pl_short *s)
{
    pl_arena *tmp = pl_arena_new("shorten");
    *s = (pl_short){ .whole = whole, .copies = pl_fold_copies(fold) };
    set_cuts(s, n_cuts, cut, out);
    cutting x = { .whole = whole, .fold = fold, .s = s, .graph = PL_NEW(out, pl_graph) };
    *x.graph =
        (pl_graph){ .arena = out, .ops = whole->ops, .name = whole->name, .micro = whole->micro };
    x.node = PL_NEW_N(tmp, pl_node *, whole->nodes.n + 1);
    x.value = PL_NEW_N(tmp, pl_value *, whole->values.n + 1);
    int *node = PL_NEW_N(out, int, whole->nodes.n + 1);
    int *value = PL_NEW_N(out, int, whole->values.n + 1);
    copy_values(&x, value, tmp);
    copy_nodes(&x, node);
    link_nodes(&x);
    int *like = PL_NEW_N(out, int, x.graph->values.n + 1);
    int *block = PL_NEW_N(out, int, x.graph->values.n + 1);
    if (!x.failed) find_like(&x, like, block, tmp);
    s->graph = x.graph, s->node = node, s->value = value, s->like = like, s->block = block;
    pl_arena_free(tmp);
    return !x.failed;
}
