/* test/program/step_bugs.h - mistakes in gathers and nodes that run in steps. */
#ifndef PL_TEST_STEP_BUGS_H
#define PL_TEST_STEP_BUGS_H
#include "bugs.h"

static inline bool is_broadcast(const site *s, const pl_step *x)
{
    return is_message(s, x) && x->collective == PL_BROADCAST;
}

/* The books are those of the other root. */
static inline void change_root(pl_program *p, pl_step *x)
{
    int me, n = pl_move_group(&p->plan->mesh, p->rank, x->axes, &me);
    p->message_bytes -= x->bytes;
    x->peer = (x->peer + 1) % n;
    x->bytes = x->peer == me ? 0 : x->count * pl_type_bytes(x->type);
    p->message_bytes += x->bytes;
}

static inline bool wrong_root(site *s)
{
    s->at = find_step(s, is_broadcast);
    if (s->at < 0) return false;
    change_root(s->p, step_of(s));
    return true;
}

/* The same block twice, another one never. */
static inline bool wrong_root_everywhere(site *s)
{
    int number = 0;
    s->at = find_step(s, is_broadcast);
    if (s->at < 0) return false;
    for (int i = 0; i < s->at; i++) number += !pl_step_is_compute(&s->p->step[i]);
    for (int r = 0; r < s->n; r++)
        for (int i = 0, k = 0; i < s->program[r]->n_steps; i++) {
            pl_step *x = &s->program[r]->step[i];
            if (!pl_step_is_compute(x) && k++ == number) change_root(s->program[r], x);
        }
    return true;
}

static inline bool is_piece(const site *s, const pl_step *x)
{
    (void)s;
    return x->piece != NULL;
}

static inline bool drop_piece(site *s)
{
    s->at = find_step(s, is_piece);
    if (s->at < 0) return false;
    drop_step(s);
    return true;
}

static inline bool is_fold(const site *s, const pl_step *x)
{
    (void)s;
    return x->kind == PL_FOLD;
}

static inline bool double_fold(site *s)
{
    pl_program *p = s->p;
    int computes = 0;
    s->at = find_step(s, is_fold);
    if (s->at < 0) return false;
    pl_step *step = PL_NEW_N(s->arena, pl_step, p->n_steps + 1);
    memcpy(step, p->step, sizeof *step * (size_t)(s->at + 1));
    memcpy(step + s->at + 1, p->step + s->at, sizeof *step * (size_t)(p->n_steps - s->at));
    p->step = step;
    p->n_steps++;
    p->n_compute++;
    for (int i = 0; i < p->n_steps; i++) {
        computes += pl_step_is_compute(&step[i]);
        if (i > s->at && !pl_step_is_compute(&step[i])) step[i].after++;
    }
    return computes == p->n_compute;
}

static inline bool wrong_fold(site *s)
{
    s->at = find_step(s, is_fold);
    if (s->at < 0) return false;
    step_of(s)->monoid = step_of(s)->monoid == PL_SUM ? PL_MAX : PL_SUM;
    return true;
}

/* The next block of the factor, with the share that belongs to it. */
static inline bool wrong_step(site *s)
{
    s->at = find_step(s, is_piece);
    if (s->at < 0) return false;
    pl_step *x = step_of(s);
    pl_piece *p = PL_NEW(s->arena, pl_piece);
    *p = *x->piece;
    int to = (p->i + 1) % p->n;
    if (x->kind == PL_KERNEL) {
        pl_share *share = PL_NEW(s->arena, pl_share);
        *share = *x->share;
        share->factor[p->factor].lo += (to - p->i) * share->factor[p->factor].n;
        x->share = share;
    }
    p->i = to;
    x->piece = p;
    return true;
}

static inline bool reads_block(const site *s, const pl_step *x)
{
    return is_piece(s, x) && x->kind == PL_KERNEL && x->piece->i > 0;
}

/* A kernel reads an input where the one of the step before does. */
static inline bool stale_block(site *s)
{
    s->at = find_step(s, reads_block);
    if (s->at < 0) return false;
    pl_step *x = step_of(s), *y = s->p->step;
    while (!is_piece(s, y) || y->kind != PL_KERNEL || y->piece->node != x->piece->node ||
           y->piece->i != x->piece->i - 1)
        y++;
    for (int k = 0; k < x->n_in; k++) {
        bool same = x->in[k].at == y->in[k].at && x->in[k].state == y->in[k].state;
        if (same || !pl_share_touches(x->piece->node, k, x->piece->factor)) continue;
        x->in[k] = y->in[k];
        return true;
    }
    return false;
}

#endif
