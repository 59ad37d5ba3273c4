#include "plan/terms.h"

#include "graph/op.h"

static int *count_readers(const pl_graph *g, pl_arena *tmp)
{
    int *n = PL_NEW_N(tmp, int, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) n[g->nodes.at[i]->in[k]->id]++;
    for (int i = 0; i < g->outputs.n; i++) n[g->outputs.at[i]->id]++;
    return n;
}

/* Is it the sum of its two inputs, element by element? */
static bool is_sum(const pl_node *n)
{
    return n->n_in == 2 && n->n_out == 1 && n->op->elementwise && pl_plan_linear_set(n, 0) == 3 &&
           pl_share_same_index(n, 0, 2) && pl_share_same_index(n, 1, 2);
}

/* Does it make of each element one of another type? */
static bool is_cast(const pl_node *n)
{
    return n->n_in == 1 && n->n_out == 1 && n->op->elementwise && n->in[0]->type != n->out[0]->type;
}

/* From the value that a sum adds back to the node that adds two stages' terms. */
static bool find_add(const pl_stages *s, const int *readers, const pl_value *v, pl_term *x)
{
    const int home = s->of[x->sum->id];
    for (; v->maker && readers[v->id] == 1 && v->maker->phase == PL_BACKWARD; v = v->maker->in[0]) {
        const pl_node *n = v->maker;
        if (is_sum(n)) {
            x->add = n;
            for (x->far = 0; x->far < 2; x->far++) {
                const pl_node *far = n->in[x->far]->maker, *near = n->in[!x->far]->maker;
                x->stage = far ? s->of[far->id] : home;
                if (near && s->of[near->id] == home && x->stage != home && x->stage >= 0)
                    return true;
            }
            return false;
        }
        if (!is_cast(n) || x->n == PL_TERM_BETWEEN) return false;
        x->between[x->n++] = n;
    }
    return false;
}

static void turn(pl_term *x)
{
    for (int i = 0, k = x->n - 1; i < k; i++, k--) {
        const pl_node *n = x->between[i];
        x->between[i] = x->between[k];
        x->between[k] = n;
    }
}

const pl_term **pl_terms_find(const pl_graph *g, const pl_stages *s, pl_arena *out)
{
    const pl_term **of = PL_NEW_N(out, const pl_term *, g->nodes.n + 1);
    const int *readers = count_readers(g, out);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *sum = g->values.at[i];
        const pl_node *n = sum->kind == PL_GRAD_SUM && sum->next ? sum->next->maker : NULL;
        if (!n || n->n_in != 2 || n->in[0] != sum) continue;
        pl_term *x = PL_NEW(out, pl_term);
        *x = (pl_term){ .sum = n };
        if (!find_add(s, readers, n->in[1], x)) continue;
        turn(x);
        of[n->id] = x;
    }
    return of;
}

const bool *pl_terms_once(const pl_graph *g, const pl_stages *s, pl_arena *out)
{
    bool *once = PL_NEW_N(out, bool, g->values.n + 1);
    const pl_term **term = pl_terms_find(g, s, out);
    for (int i = 0; i < g->values.n; i++) once[i] = !g->values.at[i]->maker;
    for (int i = 0; i < g->nodes.n; i++)
        if (term[i]) once[term[i]->add->in[term[i]->far]->id] = true;
    return once;
}
