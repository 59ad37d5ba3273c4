/* test/program/bugs.h - where in the programs of all ranks a mistake is put. */
#ifndef PL_TEST_BUGS_H
#define PL_TEST_BUGS_H
#include "support/trial.h"

typedef struct site {
    pl_arena *arena;
    pl_program *const *program; /* of all ranks */
    int n;
    pl_program *p; /* of the rank that has the bug */
    int at;        /* its step                     */
    lot *lot;
} site;

static inline pl_step *step_of(const site *s)
{
    return &s->p->step[s->at];
}

/* The next step from `at` on that the test likes, round the program; -1: none. */
static inline int find_step(const site *s, bool (*likes)(const site *, const pl_step *))
{
    for (int k = 0; k < s->p->n_steps; k++) {
        int i = (s->at + k) % s->p->n_steps;
        if (likes(s, &s->p->step[i])) return i;
    }
    return -1;
}

static inline bool is_message(const site *s, const pl_step *x)
{
    (void)s;
    return x->kind == PL_MESSAGE;
}

static inline bool is_copy(const site *s, const pl_step *x)
{
    (void)s;
    return x->kind == PL_COPY && x->transfer && x->n_copies && x->copy[0].bytes;
}

static inline bool is_kernel(const site *s, const pl_step *x)
{
    (void)s;
    return pl_step_is_kernel(x);
}

/* -- changing programs ------------------------------------------------------------------------- */

static inline void drop_step(site *s)
{
    pl_program *p = s->p;
    bool message = !pl_step_is_compute(step_of(s));
    int before = 0;
    for (int i = 0; i < s->at; i++) before += pl_step_is_compute(&p->step[i]) != message;
    if (message)
        p->message_bytes -= step_of(s)->bytes, p->n_messages--;
    else
        p->n_compute--;
    p->n_steps--;
    memmove(step_of(s), step_of(s) + 1, sizeof(pl_step) * (size_t)(p->n_steps - s->at));
    for (int i = 0; i < p->n_steps; i++) {
        pl_step *x = &p->step[i];
        int *waits = message ? &x->wait : &x->after;
        if ((message || !pl_step_is_compute(x)) && *waits > before) --*waits;
    }
}

#endif
