/* What goes between blocks is found by its readers (find_leaving); what is larger than what it is
 * made from, node by node, from the sources that are kept (find_sources). */
#include "plan/recompute.h"

#include "graph/op.h"
#include "plan/stages.h"

#include <limits.h>

/* Activations alone: where weights that were cast are kept is up to others. */
static bool is_activation(const pl_value *v)
{
    return pl_plan_can_recompute(v) && !pl_graph_state(v);
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* [values] a forward node outside its maker's block reads it, or the outside does. */
static const bool *find_leaving(const pl_graph *g, const pl_fold *f, pl_arena *tmp)
{
    bool *leaves = PL_NEW_N(tmp, bool, g->values.n + 1);
    for (int i = 0; i < g->outputs.n; i++) leaves[g->outputs.at[i]->id] = true;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_in && n->phase == PL_FORWARD; k++) {
            const pl_node *maker = n->in[k]->maker;
            leaves[n->in[k]->id] |= !maker || f->class_of[maker->id] != f->class_of[i] ||
                                    f->instance_of[maker->id] != f->instance_of[i];
        }
    }
    return leaves;
}

/* Of blocks that are chosen: [classes][instances]. */
static const bool *find_inside(const pl_graph *g, const pl_fold *fold, bool *const *chosen,
                               pl_arena *out)
{
    bool *set = PL_NEW_N(out, bool, g->values.n + 1);
    pl_arena *tmp = pl_arena_new("between blocks");
    const bool *leaves = find_leaving(g, fold, tmp);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        const int block = v->maker ? fold->instance_of[v->maker->id] : -1;
        set[i] = block >= 0 && chosen[fold->class_of[v->maker->id]][block] && !leaves[i] &&
                 is_activation(v);
    }
    pl_arena_free(tmp);
    return set;
}

static bool **choose_none(const pl_fold *fold, pl_arena *tmp)
{
    bool **chosen = PL_NEW_N(tmp, bool *, fold->n_classes + 1);
    for (int k = 0; k < fold->n_classes; k++)
        chosen[k] = PL_NEW_N(tmp, bool, fold->at[k].n_instances);
    return chosen;
}

const bool *pl_recompute_blocks(const pl_graph *g, const pl_fold *fold, int most, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("blocks");
    bool **chosen = choose_none(fold, tmp);
    for (int k = 0; k < fold->n_classes; k++)
        for (int i = 0; i < fold->at[k].n_instances && i < most; i++) chosen[k][i] = true;
    const bool *set = find_inside(g, fold, chosen, out);
    pl_arena_free(tmp);
    return set;
}

/* That of the first node which has one: casts of states have none. */
static int stage_of(const pl_plan *p, const pl_fold_class *c, int instance)
{
    for (int k = 0; k < c->n_nodes; k++)
        if (p->stages->of[c->node[instance][k]] >= 0) return p->stages->of[c->node[instance][k]];
    return 0;
}

/* Chooses most[place] blocks of a class: the first of every stage there, then the second, and so
 * on; no more than `all` of all places. */
static void choose_in_turn(const pl_plan *p, const pl_fold_class *c, int all, const int most[],
                           bool chosen[], pl_arena *tmp)
{
    const int n = c->n_instances;
    int *within = PL_NEW_N(tmp, int, n), *stage = PL_NEW_N(tmp, int, n),
        *before = PL_NEW_N(tmp, int, p->stages->order->n_stages),
        *at = PL_NEW_N(tmp, int, p->stages->order->n_ranks), seen = 0, taken = 0;
    for (int i = 0; i < n; i++) stage[i] = stage_of(p, c, i), within[i] = before[stage[i]]++;
    for (int round = 0; seen < n; round++)
        for (int i = 0; i < n; i++) {
            if (within[i] != round) continue;
            const int place = pl_stages_place(p->stages, stage[i]);
            seen++;
            chosen[i] = taken < all && at[place] < most[place];
            at[place] += chosen[i], taken += chosen[i];
        }
}

static const bool *find_in_stages(const pl_plan *p, const pl_fold *fold, int all, const int most[],
                                  pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("blocks of stages");
    bool **chosen = choose_none(fold, tmp);
    for (int k = 0; k < fold->n_classes; k++)
        choose_in_turn(p, &fold->at[k], all, most, chosen[k], tmp);
    const bool *set = find_inside(p->graph, fold, chosen, out);
    pl_arena_free(tmp);
    return set;
}

const bool *pl_recompute_in_stages(const pl_plan *p, const pl_fold *fold, int most, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("any number");
    int *any = PL_NEW_N(tmp, int, p->stages->order->n_ranks);
    for (int c = 0; c < p->stages->order->n_ranks; c++) any[c] = INT_MAX;
    const bool *set = find_in_stages(p, fold, most, any, out);
    pl_arena_free(tmp);
    return set;
}

const bool *pl_recompute_at_places(const pl_plan *p, const pl_fold *fold, const int most[],
                                   pl_arena *out)
{
    return find_in_stages(p, fold, INT_MAX, most, out);
}

/* -- what is larger than what it is made from -------------------------------------------------- */

enum { MOST_SOURCES = 8 };

/* What a value is made from that is kept. */
typedef struct sources {
    int n;
    const pl_value *at[MOST_SOURCES];
} sources;

/* False: there are too many. */
static bool add_source(sources *s, const pl_value *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i] == v) return true;
    if (s->n == MOST_SOURCES) return false;
    s->at[s->n++] = v;
    return true;
}

/* Those of all that node n makes. False: a weight is among them, or they are too many, or none. */
static bool find_sources(const pl_node *n, const bool *set, const sources known[], sources *out)
{
    bool ok = n->n_in > 0;
    *out = (sources){ 0 };
    for (int k = 0; k < n->n_in && ok; k++) {
        const pl_value *v = n->in[k];
        ok = v->role != PL_STATE && !pl_graph_state(v);
        if (!set[v->id]) ok = ok && add_source(out, v);
        for (int i = 0; set[v->id] && i < known[v->id].n && ok; i++)
            ok = add_source(out, known[v->id].at[i]);
    }
    return ok;
}

const bool *pl_recompute_large(const pl_graph *g, pl_arena *out)
{
    bool *set = PL_NEW_N(out, bool, g->values.n + 1);
    pl_arena *tmp = pl_arena_new("made from");
    sources *known = PL_NEW_N(tmp, sources, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        sources s;
        int64_t made_from = 0;
        if (n->phase != PL_FORWARD || !find_sources(n, set, known, &s)) continue;
        for (int k = 0; k < s.n; k++) made_from += pl_value_bytes(s.at[k]);
        for (int k = 0; k < n->n_out; k++) {
            const pl_value *v = n->out[k];
            set[v->id] = pl_value_bytes(v) > made_from && is_activation(v);
            known[v->id] = s;
        }
    }
    pl_arena_free(tmp);
    return set;
}

bool pl_plan_recompute(pl_plan *p, const bool *set)
{
    bool any = false;
    for (int i = 0; i < p->graph->values.n; i++) {
        if (!set[i]) continue;
        p->recompute[i] = any = true;
        p->kept[i] = NULL;
    }
    return any;
}
