#include "program/account.h"

#include "plan/move.h"

/* -- states ------------------------------------------------------------------------------------ */

/* The node that changes a state, or NULL. */
static const pl_node *update_of(const pl_value *v)
{
    return v->role == PL_STATE && v->next ? v->next->maker : NULL;
}

/* Numbers of the values and nodes that a store's states talk of. Those are of one graph, but maybe
 * not of the program's. */
static void count_ids(const pl_store *s, int *n_values, int *n_nodes)
{
    *n_values = *n_nodes = 0;
    for (int i = 0; i < s->n; i++) {
        const pl_value *v = s->state[i].value;
        const pl_node *update = update_of(v);
        if (v->id >= *n_values) *n_values = v->id + 1;
        if (update && update->id >= *n_nodes) *n_nodes = update->id + 1;
    }
}

/* What is no weight and no moment. */
static void mark_sums(const pl_value *weight, bool *sums)
{
    const pl_node *update = update_of(weight);
    for (int k = 0; k < update->n_in; k++) {
        const pl_value *x = update->in[k];
        if (x->role == PL_STATE && pl_shape_same(&x->shape, &weight->shape)) sums[x->id] = true;
    }
}

pl_account pl_account_states(const pl_store *s)
{
    pl_arena *tmp = pl_arena_new("states");
    pl_account a = { 0 };
    int n_values, n_nodes;
    count_ids(s, &n_values, &n_nodes);
    bool *updates = PL_NEW_N(tmp, bool, n_nodes + 1); /* a weight */
    bool *sums = PL_NEW_N(tmp, bool, n_values + 1);
    for (int i = 0; i < s->n; i++) {
        const pl_value *v = s->state[i].value;
        if (!v->trainable || !update_of(v)) continue;
        updates[update_of(v)->id] = true;
        mark_sums(v, sums);
    }
    for (int i = 0; i < s->n; i++) {
        const pl_value *v = s->state[i].value;
        bool moment = update_of(v) && updates[update_of(v)->id], sum = sums[v->id];
        int64_t *kind = v->trainable ? &a.weights
                        : moment     ? &a.optimizer
                        : sum        ? &a.gradients
                                     : &a.weights;
        *kind += s->state[i].bytes;
    }
    pl_arena_free(tmp);
    return a;
}

/* -- values ------------------------------------------------------------------------------------ */

const bool *pl_account_late(const pl_graph *g, pl_arena *out)
{
    bool *late = PL_NEW_N(out, bool, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        late[i] = n->of != NULL;
        for (int k = 0; k < n->n_in; k++) late[i] |= n->in[k]->maker && late[n->in[k]->maker->id];
    }
    return late;
}

const pl_value *const *pl_account_gradients(const pl_graph *g, const bool *late, pl_arena *out)
{
    const pl_value **of = PL_NEW_N(out, const pl_value *, g->values.n + 1);
    bool *updates = PL_NEW_N(out, bool, g->nodes.n + 1); /* a weight */
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->trainable && update_of(v)) updates[update_of(v)->id] = true;
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        const pl_node *update = update_of(v);
        if (!update || (!v->trainable && updates[update->id])) continue;
        for (int k = 0; k < update->n_in; k++) {
            const pl_value *x = update->in[k];
            if (x->maker && (v->trainable || late[x->maker->id]) &&
                pl_shape_same(&x->shape, &v->shape))
                of[x->id] = v;
        }
    }
    return of;
}

/* -- messages ---------------------------------------------------------------------------------- */

/* Does the receive of the same shift come next? */
static bool is_answered(const pl_program *p, const pl_step *x)
{
    const pl_step *next = x + 1;
    return next < p->step + p->n_steps && next->kind == PL_MESSAGE &&
           next->collective == PL_COLLECTIVE_RECV && next->transfer == x->transfer;
}

/* Several tensors share a message in a reduction only. A broadcast is passed on along the group in
 * small pieces (van de Geijn and Watts, SUMMA, 1997): it takes its root as long as the others. */
double pl_account_message(const pl_program *p, const pl_step *x)
{
    const pl_mesh *mesh = &p->plan->mesh;
    int64_t block = x->count * pl_type_bytes(x->type);
    if (x->collective == PL_COLLECTIVE_SEND && is_answered(p, x)) return 0;
    if (x->collective == PL_COLLECTIVE_SEND || x->collective == PL_COLLECTIVE_BROADCAST)
        return pl_move_seconds(PL_PERMUTE, mesh, x->axes, block);
    pl_move_kind kind = x->transfer ? x->transfer->move.kind : PL_REDUCE;
    return pl_move_seconds(kind, mesh, x->axes, x->bytes);
}
