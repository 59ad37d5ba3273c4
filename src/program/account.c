#include "program/account.h"

#include "reshard/move.h"

pl_account pl_account_states(const pl_store *s)
{
    int64_t bytes[PL_N_STATE_KINDS] = { 0 };
    for (int i = 0; i < s->n; i++)
        if (!s->state[i].slot.host) bytes[s->state[i].value->kind] += s->state[i].bytes;
    return (pl_account){ .weights = bytes[PL_WEIGHT] + bytes[PL_BUFFER] + bytes[PL_ROWS],
                         .optimizer = bytes[PL_MOMENT] + bytes[PL_MASTER],
                         .gradients = bytes[PL_GRAD_SUM] };
}

/* -- messages ---------------------------------------------------------------------------------- */

/* Does the receive of the same shift come next? */
static bool is_answered(const pl_program *p, const pl_step *x)
{
    const pl_step *next = x + 1;
    return next < p->step + p->n_steps && next->kind == PL_MESSAGE && next->collective == PL_RECV &&
           next->transfer == x->transfer;
}

/* Several tensors share a message in a reduction only. A broadcast is passed on along the group in
 * small pieces (van de Geijn and Watts, SUMMA, 1997): it takes its root as long as the others. */
double pl_account_message(const pl_program *p, const pl_step *x)
{
    const pl_mesh *mesh = &p->plan->mesh;
    int64_t block = x->count * pl_type_bytes(x->type);
    const bool staged = pl_step_lane(x) == PL_LANE_SEND || pl_step_lane(x) == PL_LANE_RECV;
    if (x->collective == PL_SEND && !staged && is_answered(p, x)) return 0;
    if (x->collective == PL_SEND || staged || x->collective == PL_BROADCAST)
        return pl_move_seconds(PL_PERMUTE, mesh, x->axes, block);
    pl_collective kind = x->transfer ? x->transfer->move.kind : PL_ALL_REDUCE;
    return pl_move_seconds(kind, mesh, x->axes, x->bytes);
}
