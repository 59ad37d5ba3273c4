/* test/program/ranks.h - run the programs of all ranks in one thread, with the reference kernels:
 * the slow twin of the executor.
 *
 * The ranks go in lock-step and a message is done at one moment for all of them. Which moment is
 * the schedule's choice, within what `after` and `wait` allow; a correct program gives the same
 * bits under every schedule. */
#ifndef PL_TEST_RANKS_H
#define PL_TEST_RANKS_H
#include "../ops/eval.h"
#include "program/program.h"

typedef struct ranks {
    int n;
    pl_program *const *program;
    char **state, **work;
} ranks;

/* When messages are done: where they stand, as late as possible, or by lot. */
typedef enum schedule { AS_LISTED, LATE, BY_LOT } schedule;

static inline ranks ranks_new(int n, pl_program *const program[])
{
    ranks r = { n, program, eval_alloc(sizeof(char *) * (size_t)n),
                eval_alloc(sizeof(char *) * (size_t)n) };
    for (int i = 0; i < n; i++) {
        r.state[i] = eval_alloc((size_t)program[i]->store->bytes);
        r.work[i] = eval_alloc((size_t)program[i]->work_bytes);
    }
    return r;
}

static inline void ranks_free(ranks *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->state[i]);
        free(r->work[i]);
    }
    free(r->state);
    free(r->work);
}

static inline char *ranks_at(const ranks *r, int rank, pl_slot s)
{
    return (s.state ? r->state : r->work)[rank] + s.at;
}

/* Give every rank its part of the states, or of the inputs, in e. */
static inline void ranks_fill(ranks *r, const eval *e, bool states)
{
    for (int i = 0; i < r->n; i++) {
        const pl_program *p = r->program[i];
        for (int k = 0; k < (states ? p->store->n : p->n_inputs); k++) {
            const pl_port *x = states ? &p->store->state[k] : &p->input[k];
            pl_port_take(x, e->at[x->value->id], ranks_at(r, i, x->slot));
        }
    }
}

static inline void ranks_kernel(const ranks *r, int rank, const pl_step *s)
{
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
    for (int k = 0; k < s->n_in; k++) in[k] = ranks_at(r, rank, s->in[k]);
    for (int k = 0; k < s->n_out; k++) out[k] = ranks_at(r, rank, s->out[k]);
    s->share->node->op->ref(s->share, in, out);
}

static inline void ranks_copy(const ranks *r, int rank, const pl_step *s)
{
    const char *from = ranks_at(r, rank, s->in[0]);
    char *to = ranks_at(r, rank, s->out[0]);
    for (int64_t i = 0; i < s->n[0]; i++)
        for (int64_t j = 0; j < s->n[1]; j++)
            memcpy(to + i * s->to[0] + j * s->to[1], from + i * s->from[0] + j * s->from[1],
                   (size_t)s->bytes);
}

static inline double ranks_combine(pl_monoid m, double a, double b)
{
    return m == PL_SUM ? a + b : m == PL_MAX ? fmax(a, b) : fmin(a, b);
}

/* The collective at step `at` among the ranks of a group. */
static inline void ranks_collect(const ranks *r, int at, int n, const int group[])
{
    const pl_step *s = &r->program[group[0]]->step[at];
    int64_t count = s->count, bytes = count * pl_type_bytes(s->type);
    bool gather = s->collective == PL_COLLECTIVE_GATHER;
    char *all = eval_alloc((size_t)(bytes * n));
    for (int i = 0; i < n; i++) {
        const char *from = ranks_at(r, group[i], r->program[group[i]]->step[at].in[0]);
        memcpy(all + i * bytes, from, (size_t)bytes);
    }
    for (int64_t e = 0; e < count && !gather; e++) {
        double x = pl_type_get(s->type, all, e);
        for (int i = 1; i < n; i++)
            x = ranks_combine(s->monoid, x, pl_type_get(s->type, all + i * bytes, e));
        pl_type_put(s->type, all, e, x);
    }
    for (int i = 0; i < n; i++) {
        char *to = ranks_at(r, group[i], r->program[group[i]]->step[at].out[0]);
        memcpy(to, all, (size_t)(gather ? bytes * n : bytes));
    }
    free(all);
}

static inline void ranks_message(const ranks *r, int at)
{
    int *group = eval_alloc(sizeof(int) * (size_t)r->n), me;
    for (int i = 0; i < r->n; i++) {
        const pl_program *p = r->program[i];
        int n = pl_mesh_group(&p->plan->mesh, i, p->step[at].axes, group, &me);
        if (me == 0) ranks_collect(r, at, n, group);
    }
    free(group);
}

static inline void ranks_compute(const ranks *r, int at)
{
    for (int i = 0; i < r->n; i++) {
        const pl_step *s = &r->program[i]->step[at];
        if (s->kind == PL_COPY) ranks_copy(r, i, s);
        else ranks_kernel(r, i, s);
    }
}

/* The step that a schedule takes next, -1 when all are done; `done` has a flag per step. Messages
 * start in order, but the ones under way may be done in any. */
static inline int ranks_next(const pl_program *p, const bool *done, schedule how, pl_rng rng,
                             uint64_t *drawn)
{
    int open[64], n = 0, computed = 0, finished = 0, compute = -1;
    bool gap = false, blocked = false;
    for (int i = 0; i < p->n_steps; i++) {
        computed += done[i] && p->step[i].kind != PL_MESSAGE;
        gap |= !done[i] && p->step[i].kind == PL_MESSAGE;
        finished += p->step[i].kind == PL_MESSAGE && !gap;
    }
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        if (s->kind == PL_MESSAGE) {
            blocked |= s->after > computed || s->wait > finished;
            if (!done[i] && !blocked && n < 64) open[n++] = i;
        } else if (!done[i] && compute < 0) compute = i;
    }
    if (compute >= 0 && p->step[compute].wait > finished) compute = -1;
    if (compute < 0 && !n) return -1;
    if (how == AS_LISTED) return n && (compute < 0 || open[0] < compute) ? open[0] : compute;
    if (how == LATE) return compute >= 0 ? compute : open[n - 1];
    uint64_t x = pl_rng_below(rng, (*drawn)++, (uint64_t)(n + (compute >= 0)));
    return x < (uint64_t)n ? open[x] : compute;
}

/* One step from the inputs in e. False when the program cannot go on to its end. */
static inline bool ranks_step(ranks *r, const eval *e, schedule how, uint64_t seed)
{
    const pl_program *p = r->program[0];
    bool *done = eval_alloc((size_t)p->n_steps + 1);
    uint64_t drawn = 0;
    int left = p->n_steps;
    memset(done, 0, (size_t)p->n_steps + 1);
    for (int i = 0; i < r->n; i++) memset(r->work[i], 0xFF, (size_t)r->program[i]->work_bytes);
    ranks_fill(r, e, false);
    for (int i; (i = ranks_next(p, done, how, pl_rng_at(seed, 7), &drawn)) >= 0; left--) {
        if (p->step[i].kind == PL_MESSAGE) ranks_message(r, i);
        else ranks_compute(r, i);
        done[i] = true;
    }
    free(done);
    return left == 0;
}

/* -- comparing --------------------------------------------------------------------------------- */

/* Largest difference of a port's part from the whole tensor, relative to the tensor's largest
 * element (at least 1). */
static inline double ranks_off(const pl_port *x, const void *part, const void *whole)
{
    double most = 0, top = 1;
    pl_type t = x->value->type;
    for (int64_t i = 0, n = pl_shape_count(&x->shape); i < n; i++) {
        double a = pl_type_get(t, part, i), b = pl_type_get(t, whole, pl_port_global(x, i));
        if (isnan(a) || isnan(b)) return INFINITY;
        most = fmax(most, fabs(a - b));
        top = fmax(top, fabs(b));
    }
    return most / top;
}

/* Largest difference of outputs and new states from what eval_run left in e; *worst names the
 * tensor. */
static inline double ranks_difference(const ranks *r, const eval *e, const char **worst)
{
    double most = 0;
    for (int i = 0; i < r->n; i++) {
        const pl_program *p = r->program[i];
        for (int k = 0; k < p->n_outputs + p->store->n; k++) {
            bool output = k < p->n_outputs;
            const pl_port *x = output ? &p->output[k] : &p->store->state[k - p->n_outputs];
            const pl_value *v = !output && x->value->next ? x->value->next : x->value;
            double off = ranks_off(x, ranks_at(r, i, x->slot), e->at[v->id]);
            if (off > most || !*worst) *worst = x->value->name;
            most = fmax(most, off);
        }
    }
    return most;
}

/* Have all ranks the same bits in states and outputs? */
static inline bool ranks_same(const ranks *a, const ranks *b)
{
    for (int i = 0; i < a->n; i++) {
        const pl_program *p = a->program[i], *q = b->program[i];
        if (memcmp(a->state[i], b->state[i], (size_t)p->store->bytes)) return false;
        for (int k = 0; k < p->n_outputs; k++)
            if (memcmp(ranks_at(a, i, p->output[k].slot), ranks_at(b, i, q->output[k].slot),
                       (size_t)p->output[k].bytes))
                return false;
    }
    return true;
}

#endif
