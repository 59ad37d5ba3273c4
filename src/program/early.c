/* Lowering: what can be on its way before its turn. What only looks up, joins and casts inputs and
 * states needs nothing that a step computes, so where a message brings it (vectors of a table that
 * others have a part of), it can be looked up while the layers before its reader run: the second
 * table of a model with two, a decoder's. Source: horizontal scheduling in EmbRace (Yang et al.,
 * 2021). order.c moves it as far ahead as states that are gathered. */
#include "graph/op.h"
#include "program/lower.h"

bool pl_lower_is_light(const task *t)
{
    if (t->kind != TASK_NODE || t->step.piece || t->on_host) return false;
    const pl_share whole = pl_share_whole(t->step.share->node); /* the same for all ranks */
    int64_t made = 0;
    for (int k = 0; k < whole.node->n_out; k++) made += pl_shape_count(pl_share_out(&whole, k));
    return pl_op_flops(&whole) <= (double)made;
}

/* How a task stands to what is computed. */
enum { WAITS, MOVES, LOOKS_UP };

/* Of one that needs nothing computed first: does a node stand at or before it? */
static int find_kind(const lowering *l, const task *t, const int *kind)
{
    const bool node = t->kind == TASK_NODE;
    const bool cast = node && pl_graph_state(t->step.share->node->out[0]);
    int most = node && !cast ? LOOKS_UP : MOVES;
    if (t->kind == TASK_STAGE || t->kind == TASK_FOLD || t->eager || t->n_in < 1) return WAITS;
    if (pl_lower_is_fetch(t) || pl_lower_is_store(t)) return WAITS;
    if (node && !pl_lower_is_light(t)) return WAITS;
    for (int k = 0; k < t->n_in; k++) {
        const int maker = l->parts.at[t->in[k]].maker;
        if (maker >= 0 && kind[maker] == WAITS) return WAITS;
        if (maker >= 0 && kind[maker] > most) most = kind[maker];
    }
    return most;
}

static bool is_backward(const task *t)
{
    return t->kind == TASK_NODE && t->step.share->node->phase != PL_FORWARD;
}

/* What comes before all that is computed has nothing to hide behind; the rest goes behind that.
 * What is made again for the backward pass stays there. */
int pl_lower_early(lowering *l)
{
    int *kind = PL_NEW_N(l->tmp, int, l->tasks.n + 1), first = l->tasks.n;
    bool backward = false;
    for (int id = 0; id < l->tasks.n; id++) {
        const task *t = &l->tasks.at[id];
        backward |= is_backward(t);
        kind[id] = backward ? WAITS : find_kind(l, t, kind);
        if (t->kind == TASK_NODE && !pl_lower_is_light(t) && first == l->tasks.n) first = id;
    }
    for (int id = l->tasks.n - 1; id >= 0; id--) {
        task *t = &l->tasks.at[id];
        bool leads = t->kind == TASK_MESSAGE && kind[id] == LOOKS_UP && id > first;
        for (int k = 0; k < t->n_out; k++) {
            const ints *readers = &l->parts.at[t->out[k]].readers;
            for (int i = 0; i < readers->n; i++) leads |= l->tasks.at[readers->at[i]].early;
        }
        t->early = kind[id] != WAITS && leads;
    }
    return first;
}
