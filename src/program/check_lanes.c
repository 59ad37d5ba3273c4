/* The check of the two lanes of a program: steps whose order nothing fixes may not touch the same
 * bytes, unless both only read them. */
#include "program/check.h"

/* Two steps whose order nothing fixes: neither may write what the other touches. */
static bool check_pair(checker *c, int i, int k)
{
    for (int a = c->first[i]; a < c->first[i + 1]; a++)
        for (int b = c->first[k]; b < c->first[k + 1]; b++) {
            const access *x = &c->log.at[a], *y = &c->log.at[b];
            if (!(x->write || y->write) || !pl_check_overlap(x->at, x->bytes, y->at, y->bytes))
                continue;
            return pl_err_set(
                c->err, PL_EMISMATCH, "%s and %s may run at once: one %s %s, the other %s %s",
                pl_check_step_text(c, i), pl_check_step_text(c, k), x->write ? "writes" : "reads",
                pl_check_slot_text(c, x->at, x->bytes), y->write ? "writes" : "reads",
                pl_check_slot_text(c, y->at, y->bytes));
        }
    return true;
}

typedef struct lanes {
    int n_computes, n_messages;
    int *compute, *message; /* step of each                                                    */
    int *waited;            /* [computes] messages finished before it, by its lane's order too */
    int *after, *finished;  /* [messages] computes and messages finished before it             */
    unsigned lanes;         /* bits: that have messages                                        */
} lanes;

static int more(int a, int b)
{
    return a > b ? a : b;
}

/* Number the steps of each lane and gather what is known to be finished before each of them: a lane
 * keeps its order, so what one step waited for all later ones have behind them. Of messages there
 * are several lanes, with one numbering. */
static bool find_lanes(checker *c, lanes *l)
{
    const pl_program *p = c->p;
    l->compute = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->message = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->waited = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->after = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->finished = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    int after[PL_N_LANES] = { 0 }, finished[PL_N_LANES] = { 0 };
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        int k = l->n_computes, m = l->n_messages;
        const bool compute = pl_step_is_compute(s);
        if (s->wait < 0 || s->wait > m || (!compute && (s->after < 0 || s->after > k)))
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s waits for %d messages and %d compute steps; %d and "
                              "%d come before it",
                              pl_check_step_text(c, i), s->wait, compute ? k : s->after, m, k);
        if (compute) {
            l->compute[k] = i;
            l->waited[k] = more(s->wait, k ? l->waited[k - 1] : 0);
            l->n_computes++;
            continue;
        }
        const int lane = pl_step_lane(s);
        l->message[m] = i;
        l->after[m] = after[lane] = more(s->after, after[lane]);
        finished[lane] = more(s->wait, finished[lane]);
        if (l->after[m]) finished[lane] = more(finished[lane], l->waited[l->after[m] - 1]);
        l->finished[m] = finished[lane];
        l->lanes |= 1u << lane;
        l->n_messages++;
    }
    if (l->n_computes != p->n_compute || l->n_messages != p->n_messages)
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%d compute steps and %d messages, counted as %d and %d", l->n_computes,
                          l->n_messages, p->n_compute, p->n_messages);
    return true;
}

bool pl_check_lanes(checker *c)
{
    lanes l = { 0 };
    PL_TRY(find_lanes(c, &l));
    const bool one = !(l.lanes & (l.lanes - 1)); /* then later ones have all the more behind them */
    for (int m = 0; m < l.n_messages; m++) {
        for (int k = l.after[m]; k < l.n_computes && l.waited[k] <= m; k++)
            PL_TRY(check_pair(c, l.message[m], l.compute[k]));
        for (int k = m + 1; k < l.n_messages && (!one || l.finished[k] <= m); k++)
            if (l.finished[k] <= m) PL_TRY(check_pair(c, l.message[m], l.message[k]));
    }
    return true;
}
