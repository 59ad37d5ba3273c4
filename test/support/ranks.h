/* test/support/ranks.h - run the programs of all ranks in one thread, with the reference kernels:
 * the slow twin of the executor.
 *
 * A rank does one thing at a time: a compute step, or it gives up what it sends in a message that
 * it has started, or gets what comes in when all members have given theirs. What comes first is the
 * schedule's choice, within what `after` and `wait` allow; correct programs give the same bits
 * under every schedule. */
#ifndef PL_TEST_SUPPORT_RANKS_H
#define PL_TEST_SUPPORT_RANKS_H
#include "../ops/eval.h"
#include "program/program.h"

typedef struct ranks {
    int n;
    pl_program *const *program;
    char **state, **work, **host_state, **host_work;
} ranks;

/* What comes first: the step that is listed first, any compute step, or what the lot says. */
typedef enum schedule { AS_LISTED, LATE, BY_LOT } schedule;

static inline ranks ranks_new(int n, pl_program *const program[])
{
    const size_t size = sizeof(char *) * (size_t)n;
    ranks r = { n,
                program,
                eval_alloc(size),
                eval_alloc(size),
                eval_alloc(size),
                eval_alloc(size) };
    for (int i = 0; i < n; i++) {
        r.state[i] = eval_alloc((size_t)program[i]->store->bytes);
        r.work[i] = eval_alloc((size_t)program[i]->work_bytes);
        r.host_state[i] = eval_alloc((size_t)program[i]->store->host_bytes);
        r.host_work[i] = eval_alloc((size_t)program[i]->host_bytes);
    }
    return r;
}

static inline void ranks_free(ranks *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->state[i]);
        free(r->work[i]);
        free(r->host_state[i]);
        free(r->host_work[i]);
    }
    free(r->state);
    free(r->work);
    free(r->host_state);
    free(r->host_work);
}

static inline char *ranks_at(const ranks *r, int rank, pl_slot s)
{
    char *const *host = s.state ? r->host_state : r->host_work;
    char *const *device = s.state ? r->state : r->work;
    return (s.host ? host : device)[rank] + s.at;
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

static inline double ranks_combine(pl_monoid m, double a, double b)
{
    return m == PL_SUM ? a + b : m == PL_MAX ? fmax(a, b) : fmin(a, b);
}

static inline void ranks_fold(const pl_step *s, const void *from, void *to)
{
    for (int64_t i = 0; i < s->count; i++) {
        double x = pl_type_get(s->type, to, i), y = pl_type_get(s->type, from, i);
        pl_type_put(s->type, to, i, ranks_combine(s->monoid, x, y));
    }
}

static inline void ranks_compute(const ranks *r, int rank, const pl_step *s)
{
    if (s->kind == PL_KERNEL)
        ranks_kernel(r, rank, s);
    else if (s->kind == PL_FILL)
        pl_type_fill(s->type, s->monoid, ranks_at(r, rank, s->out[0]), s->count);
    else if (s->kind == PL_FOLD)
        ranks_fold(s, ranks_at(r, rank, s->in[0]), ranks_at(r, rank, s->out[0]));
    else
        for (int i = 0; i < s->n_copies; i++)
            pl_region_apply(&s->copy[i], ranks_at(r, rank, s->in[0]), ranks_at(r, rank, s->out[0]));
}

/* -- messages ---------------------------------------------------------------------------------- */

/* A message among its members, in the order of the group (sender and receiver). */
typedef struct ranks_mail {
    int n, given;     /* members; how many have given what they send */
    int axes, leader, from, to, number;
    char *data[64];   /* by member: a copy of what it sent           */
} ranks_mail;

/* One rank on its way through its program. */
typedef struct ranks_way {
    int n_computes, n_messages;
    int *compute, *message;       /* steps of the lanes                        */
    int *mail, *place;            /* [messages] which one, and where in it     */
    bool *begun, *gave, *got;     /* [messages]                                */
    int computed, finished;
    int next[PL_N_LANES];         /* the first message that a lane has not begun, or after it */
} ranks_way;

typedef struct ranks_run {
    const ranks *r;
    ranks_way way[64];
    int n_mails;
    ranks_mail *mail;
} ranks_run;

static inline bool ranks_is_pair(const pl_step *s)
{
    return s->collective == PL_SEND || s->collective == PL_RECV;
}

/* Messages are matched by their place among those of the same group, or between the same two. */
static inline ranks_mail ranks_key(const ranks_run *x, int rank, int m, int *place)
{
    const ranks_way *w = &x->way[rank];
    const pl_program *p = x->r->program[rank];
    const pl_step *s = &p->step[w->message[m]];
    int group[64];
    ranks_mail k = { .n = pl_mesh_group(&p->plan->mesh, rank, s->axes, group, place) };
    k.axes = (int)s->axes, k.leader = group[0];
    if (ranks_is_pair(s)) {
        bool send = s->collective == PL_SEND;
        PL_ASSERT_CMP(s->peer, <, k.n);
        k = (ranks_mail){ .n = 2, .axes = k.axes, .leader = -1 };
        *place = send ? 0 : 1;
        k.from = send ? rank : group[s->peer], k.to = send ? group[s->peer] : rank;
    }
    for (int i = 0; i < m; i++) {
        const pl_step *t = &p->step[w->message[i]];
        bool same = ranks_is_pair(s) ? t->collective == s->collective && t->peer == s->peer &&
                                           t->axes == s->axes
                                     : !ranks_is_pair(t) && t->axes == s->axes;
        k.number += same;
    }
    return k;
}

static inline void ranks_post(ranks_run *x, int rank, int m)
{
    ranks_mail k = ranks_key(x, rank, m, &x->way[rank].place[m]);
    int i = 0;
    for (; i < x->n_mails; i++) {
        const ranks_mail *y = &x->mail[i];
        if (y->axes == k.axes && y->leader == k.leader && y->from == k.from && y->to == k.to &&
            y->number == k.number)
            break;
    }
    if (i == x->n_mails) x->mail[x->n_mails++] = k;
    x->way[rank].mail[m] = i;
}

static inline void ranks_ways(ranks_run *x)
{
    int all = 0;
    for (int r = 0; r < x->r->n; r++) {
        const pl_program *p = x->r->program[r];
        ranks_way *w = &x->way[r];
        size_t size = sizeof(int) * (size_t)(p->n_steps + 1);
        *w = (ranks_way){ 0 };
        w->compute = eval_alloc(size), w->message = eval_alloc(size);
        w->mail = eval_alloc(size), w->place = eval_alloc(size);
        w->gave = eval_alloc(size), w->got = eval_alloc(size), w->begun = eval_alloc(size);
        memset(w->begun, 0, size);
        memset(w->gave, 0, size);
        memset(w->got, 0, size);
        for (int i = 0; i < p->n_steps; i++)
            if (pl_step_is_compute(&p->step[i])) w->compute[w->n_computes++] = i;
            else w->message[w->n_messages++] = i;
        all += w->n_messages;
    }
    x->mail = eval_alloc(sizeof *x->mail * (size_t)(all + 1));
    for (int r = 0; r < x->r->n; r++)
        for (int m = 0; m < x->way[r].n_messages; m++) ranks_post(x, r, m);
}

static inline void ranks_ways_free(ranks_run *x)
{
    for (int r = 0; r < x->r->n; r++) {
        ranks_way *w = &x->way[r];
        free(w->compute), free(w->message), free(w->mail), free(w->place);
        free(w->gave), free(w->got), free(w->begun);
    }
    for (int i = 0; i < x->n_mails; i++)
        for (int k = 0; k < x->mail[i].n; k++) free(x->mail[i].data[k]);
    free(x->mail);
}

/* The `count` elements from `first` on of what all sent, combined in the order of the group. */
static inline void ranks_combine_all(const pl_step *s, const ranks_mail *x, int64_t first,
                                     void *out)
{
    for (int64_t e = 0; e < s->count; e++) {
        double y = pl_type_get(s->type, x->data[0], first + e);
        for (int i = 1; i < x->n; i++)
            y = ranks_combine(s->monoid, y, pl_type_get(s->type, x->data[i], first + e));
        pl_type_put(s->type, out, e, y);
    }
}

static inline void ranks_give(ranks_run *x, int rank, int m)
{
    ranks_way *w = &x->way[rank];
    const pl_step *s = &x->r->program[rank]->step[w->message[m]];
    ranks_mail *mail = &x->mail[w->mail[m]];
    bool blocks = s->collective == PL_REDUCE_SCATTER || s->collective == PL_ALL_TO_ALL;
    size_t bytes = (size_t)(s->count * pl_type_bytes(s->type) * (blocks ? mail->n : 1));
    w->gave[m] = true;
    mail->given++;
    if (!s->n_in || s->kind == PL_HOST_KERNEL) return;
    mail->data[w->place[m]] = eval_alloc(bytes);
    memcpy(mail->data[w->place[m]], ranks_at(x->r, rank, s->in[0]), bytes);
}

static inline void ranks_get(ranks_run *x, int rank, int m)
{
    ranks_way *w = &x->way[rank];
    const pl_step *s = &x->r->program[rank]->step[w->message[m]];
    const ranks_mail *mail = &x->mail[w->mail[m]];
    const int64_t bytes = s->count * pl_type_bytes(s->type);
    char *to = s->n_out ? ranks_at(x->r, rank, s->out[0]) : NULL;
    w->got[m] = true;
    while (w->finished < w->n_messages && w->got[w->finished]) w->finished++;
    if (s->kind == PL_HOST_KERNEL) {
        ranks_kernel(x->r, rank, s);
        return;
    }
    switch (s->collective) {
    case PL_ALL_REDUCE: ranks_combine_all(s, mail, 0, to); break;
    case PL_REDUCE_SCATTER: ranks_combine_all(s, mail, w->place[m] * s->count, to); break;
    case PL_ALL_GATHER:
        for (int i = 0; i < mail->n; i++) memcpy(to + i * bytes, mail->data[i], (size_t)bytes);
        break;
    case PL_ALL_TO_ALL:
        for (int i = 0; i < mail->n; i++)
            memcpy(to + i * bytes, mail->data[i] + w->place[m] * bytes, (size_t)bytes);
        break;
    case PL_BROADCAST: memcpy(to, mail->data[s->peer], (size_t)bytes); break;
    case PL_TO_HOST:
    case PL_FROM_HOST:
    case PL_RECV: memcpy(to, mail->data[0], (size_t)bytes); break;
    default: break; /* a send */
    }
}

/* -- schedules --------------------------------------------------------------------------------- */

typedef struct ranks_act {
    int rank, step, message; /* message -1: a compute step */
} ranks_act;

/* Messages of a lane start in order, by themselves. */
static inline void ranks_begin(const pl_step *step, ranks_way *w, int lane)
{
    int *m = &w->next[lane];
    for (; *m < w->n_messages; ++*m) {
        const pl_step *s = &step[w->message[*m]];
        if (pl_step_lane(s) != lane) continue;
        if (s->after > w->computed || s->wait > w->finished) return;
        w->begun[*m] = true;
    }
}

/* All that can be done next. */
static inline int ranks_acts(ranks_run *x, ranks_act out[], int most)
{
    int n = 0;
    for (int r = 0; r < x->r->n; r++) {
        ranks_way *w = &x->way[r];
        const pl_step *step = x->r->program[r]->step;
        for (int lane = 0; lane < PL_N_LANES; lane++) ranks_begin(step, w, lane);
        if (w->computed < w->n_computes && n < most) {
            int i = w->compute[w->computed];
            if (step[i].wait <= w->finished) out[n++] = (ranks_act){ r, i, -1 };
        }
        for (int m = w->finished; m < w->n_messages && n < most; m++) {
            const ranks_mail *mail = &x->mail[w->mail[m]];
            if (!w->begun[m] || w->got[m] || (w->gave[m] && mail->given < mail->n)) continue;
            out[n++] = (ranks_act){ r, w->message[m], m };
        }
    }
    return n;
}

static inline int ranks_choose(const ranks_act *act, int n, schedule how, pl_rng rng,
                               uint64_t *drawn)
{
    int best = 0;
    if (how == BY_LOT) return (int)pl_rng_below(rng, (*drawn)++, (uint64_t)n);
    for (int i = 1; i < n; i++) {
        bool computes = act[i].message < 0, best_computes = act[best].message < 0;
        if (how == AS_LISTED && act[i].step < act[best].step) best = i;
        if (how == LATE && computes && !best_computes) best = i;
        if (how == LATE && !computes && !best_computes && act[i].step > act[best].step) best = i;
    }
    return best;
}

/* One step from the inputs in e. False when the programs cannot go on to their ends. */
static inline bool ranks_step(ranks *r, const eval *e, schedule how, uint64_t seed)
{
    ranks_run x = { .r = r };
    ranks_act act[512];
    uint64_t drawn = 0;
    bool done = true;
    PL_ASSERT_CMP(r->n, <=, 64);
    ranks_ways(&x);
    for (int i = 0; i < r->n; i++) {
        memset(r->work[i], 0xFF, (size_t)r->program[i]->work_bytes);
        memset(r->host_work[i], 0xFF, (size_t)r->program[i]->host_bytes);
    }
    ranks_fill(r, e, false);
    for (int n; (n = ranks_acts(&x, act, 512)) > 0;) {
        ranks_act a = act[ranks_choose(act, n, how, pl_rng_at(seed, 7), &drawn)];
        ranks_way *w = &x.way[a.rank];
        if (a.message < 0) {
            ranks_compute(r, a.rank, &r->program[a.rank]->step[a.step]);
            w->computed++;
        } else if (!w->gave[a.message]) {
            ranks_give(&x, a.rank, a.message);
        } else {
            ranks_get(&x, a.rank, a.message);
        }
    }
    for (int i = 0; i < r->n; i++) {
        const ranks_way *w = &x.way[i];
        done &= w->computed == w->n_computes && w->finished == w->n_messages;
    }
    ranks_ways_free(&x);
    return done;
}

/* -- comparing --------------------------------------------------------------------------------- */

/* Largest difference of a port's part from the whole tensor, relative to the tensor's largest
 * element (at least 1). Integers are the same or infinitely far off. */
static inline double ranks_off(const pl_port *x, const void *part, const void *whole)
{
    double most = 0, top = 1;
    pl_type t = x->value->type;
    for (int64_t i = 0, n = pl_shape_count(&x->shape); i < n; i++) {
        double a = pl_type_get(t, part, i);
        double b = pl_type_get(t, whole, pl_region_global(x->region, &x->value->shape, i));
        if (isnan(a) || isnan(b) || (a != b && !pl_type_is_float(t))) return INFINITY;
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

/* Have all ranks the same bits in states and outputs? What a buffer has beyond its part (others
 * have more) may be anything. */
static inline bool ranks_same(const ranks *a, const ranks *b)
{
    for (int i = 0; i < a->n; i++) {
        const pl_program *p = a->program[i], *q = b->program[i];
        for (int k = 0; k < p->n_outputs + p->store->n; k++) {
            bool output = k < p->n_outputs;
            const pl_port *x = output ? &p->output[k] : &p->store->state[k - p->n_outputs];
            const pl_port *y = output ? &q->output[k] : &q->store->state[k - p->n_outputs];
            size_t bytes = eval_bytes(x->value->type, &x->shape);
            if (memcmp(ranks_at(a, i, x->slot), ranks_at(b, i, y->slot), bytes)) return false;
        }
    }
    return true;
}

#endif
