/* Places of a pipeline that do the same work for other blocks: pl_stages_alike(). */
#include "plan/stages.h"

#include <string.h>

typedef struct matching {
    const pl_plan *plan;
    const pl_fold *fold;
    int n_places;
    int *first, *node; /* [places + 1], nodes that one place runs, place by place           */
    int *at;           /* [nodes] its number among those of its place; -1: all places run it */
    int *elsewhere;    /* [values] places that read it, beside the one that makes it        */
} matching;

static int place_of(const matching *x, int node)
{
    const int stage = x->plan->stages->of[node];
    return stage == PL_EVERYWHERE ? PL_EVERYWHERE : pl_stages_place(x->plan->stages, stage);
}

static void list_nodes(matching *x, pl_arena *tmp)
{
    const int n = x->plan->graph->nodes.n;
    x->first = PL_NEW_N(tmp, int, x->n_places + 2);
    x->node = PL_NEW_N(tmp, int, n + 1);
    x->at = PL_NEW_N(tmp, int, n + 1);
    for (int i = 0; i < n; i++) {
        const int place = place_of(x, i);
        x->at[i] = place == PL_EVERYWHERE ? -1 : x->first[place + 2]++;
    }
    for (int c = 0; c < x->n_places; c++) x->first[c + 2] += x->first[c + 1];
    for (int i = 0; i < n; i++)
        if (x->at[i] >= 0) x->node[x->first[place_of(x, i) + 1] + x->at[i]] = i;
    for (int c = 0; c < x->n_places; c++) x->first[c] = x->first[c + 1];
}

static void count_readers(matching *x, pl_arena *tmp)
{
    const pl_graph *g = x->plan->graph;
    int *last = PL_NEW_N(tmp, int, g->values.n + 1); /* 1 + the last place seen */
    x->elsewhere = PL_NEW_N(tmp, int, g->values.n + 1);
    for (int c = 0; c < x->n_places; c++)
        for (int i = x->first[c]; i < x->first[c + 1]; i++) {
            const pl_node *n = g->nodes.at[x->node[i]];
            for (int k = 0; k < n->n_in; k++) {
                const pl_value *v = pl_stages_read(n->in[k]);
                const bool here = v->maker && place_of(x, v->maker->id) == c;
                if (here || last[v->id] == c + 1) continue;
                last[v->id] = c + 1;
                x->elsewhere[v->id]++;
            }
        }
}

/* The same slot of two blocks. */
static bool is_slot_same(const matching *x, int a, int b)
{
    const pl_fold *f = x->fold;
    return f->class_of[a] >= 0 && f->class_of[a] == f->class_of[b] &&
           f->slot_of[a] == f->slot_of[b] && pl_fold_shortens(f, f->class_of[a]);
}

static bool is_value_same(const matching *x, const pl_value *a, const pl_value *b)
{
    const pl_plan *p = x->plan;
    if (a == b) return true;
    if (!pl_plan_kept_alike(p, a->id, p, b->id)) return false;
    if (!a->maker != !b->maker || !a->next != !b->next) return false;
    if (x->elsewhere[a->id] != x->elsewhere[b->id]) return false;
    return a->maker || pl_placement_same(&p->stored[a->id], &p->stored[b->id]);
}

/* Values that two nodes read: both are made here by nodes that match, or elsewhere by such; or they
 * are states of theirs. */
static bool is_input_same(const matching *x, const pl_value *a, const pl_value *b, int places[2])
{
    const pl_node *p = a->maker, *q = b->maker;
    if (!is_value_same(x, a, b)) return false;
    if (a == b || !p) return true;
    const bool here = place_of(x, p->id) == places[0];
    if (here != (place_of(x, q->id) == places[1])) return false;
    return here ? x->at[p->id] == x->at[q->id] : is_slot_same(x, p->id, q->id);
}

static bool is_node_same(const matching *x, int a, int b, int places[2])
{
    const pl_node *p = x->plan->graph->nodes.at[a], *q = x->plan->graph->nodes.at[b];
    if (!is_slot_same(x, a, b) || !pl_plan_runs_alike(x->plan, a, x->plan, b)) return false;
    for (int k = 0; k < p->n_in; k++)
        if (!is_input_same(x, pl_stages_read(p->in[k]), pl_stages_read(q->in[k]), places))
            return false;
    for (int k = 0; k < p->n_out; k++)
        if (!is_value_same(x, p->out[k], q->out[k])) return false;
    return true;
}

/* Their stages, in turn, run nodes that match. */
static bool is_place_same(const matching *x, int a, int b)
{
    const int n = x->first[a + 1] - x->first[a];
    const int *of = x->plan->stages->of;
    int places[2] = { a, b };
    if (n != x->first[b + 1] - x->first[b]) return false;
    for (int i = 0; i < n; i++) {
        const int p = x->node[x->first[a] + i], q = x->node[x->first[b] + i];
        if (!is_node_same(x, p, q, places)) return false;
        if (i && (of[p] == of[x->node[x->first[a] + i - 1]]) !=
                     (of[q] == of[x->node[x->first[b] + i - 1]]))
            return false;
    }
    return true;
}

void pl_stages_alike(const pl_plan *p, const pl_fold *fold, const pl_speed speed[], int like[])
{
    pl_arena *tmp = pl_arena_new("places");
    matching x = { .plan = p, .fold = fold, .n_places = p->stages->order->n_ranks };
    list_nodes(&x, tmp);
    count_readers(&x, tmp);
    for (int c = 0; c < x.n_places; c++) {
        like[c] = 0;
        while (like[c] < c && (like[like[c]] != like[c] ||
                               memcmp(&speed[like[c]], &speed[c], sizeof *speed) != 0 ||
                               !is_place_same(&x, like[c], c)))
            like[c]++;
    }
    pl_arena_free(tmp);
}
