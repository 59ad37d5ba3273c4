/* Do the messages of all ranks match, and do the ranks come to their ends? Two questions to the
 * programs together; each of them is checked alone by pl_program_check. */
#include "program/check.h"

#include <stdlib.h>
#include <string.h>

enum { COLLECTIVE = -1 }; /* instead of a sender */

/* One rank's end of a message. All ends with the same key are of one message: the k-th collective
 * of a group, or the k-th that one rank sends to another. */
typedef struct end {
    int axes, leader; /* group: its mesh axes and first rank                   */
    int from, to;     /* SEND, RECV: ranks; collectives: COLLECTIVE            */
    int number;       /* how many there were before                            */
    int rank, message;
    const pl_step *step;
} end;

typedef struct rank_state {
    const pl_program *p;
    int n_computes, n_messages;
    int *compute, *message; /* steps of the two lanes                                      */
    int *match;             /* [messages] which one of all ranks' it is; -1: of this rank
                               alone, with its host                                        */
    bool *begun, *ended;    /* [messages]                                                  */
    int next[PL_N_LANES];   /* messages of a lane before it have begun                     */
    int computed, finished; /* steps so far; messages finished without a gap               */
} rank_state;

typedef struct meeting {
    int first, n, started; /* its ends; how many have started */
} meeting;

typedef struct all_ranks {
    int n, n_ends, n_meetings;
    rank_state *rank;
    end *ends; /* sorted by key */
    meeting *meetings;
    int *todo, n_todo; /* ranks that may go on */
    pl_arena *tmp;
    pl_err *err;
} all_ranks;

static const char *step_text(const all_ranks *a, int rank, const pl_step *s)
{
    return pl_arena_fmt(a->tmp, "rank %d step %d '%s'", rank, (int)(s - a->rank[rank].p->step),
                        s->label);
}

static const char *end_text(const all_ranks *a, const end *x)
{
    const pl_step *s = x->step;
    const pl_mesh *m = &a->rank[x->rank].p->plan->mesh;
    pl_text axes = { .arena = a->tmp };
    for (int i = 0; i < m->n; i++)
        if (s->axes >> i & 1) pl_text_add(&axes, " %s", m->axis[i].name);
    return pl_arena_fmt(a->tmp, "%s (%s of %lld %s over%s)", step_text(a, x->rank, s),
                        pl_collective_name(s->collective), (long long)s->count,
                        pl_type_name(s->type), pl_text_get(&axes));
}

/* -- who meets whom ---------------------------------------------------------------------------- */

static int leader_of(const pl_mesh *m, int rank, unsigned axes)
{
    int leader = 0;
    for (int a = 0; a < m->n; a++)
        leader = leader * m->axis[a].size + (axes >> a & 1 ? 0 : pl_mesh_coord(m, rank, a));
    return leader;
}

/* The rank at position `peer` of the group. */
static int member_of(const pl_mesh *m, int rank, unsigned axes, int peer)
{
    int member = 0, stride = 1;
    for (int a = m->n - 1; a >= 0; a--) {
        int size = m->axis[a].size, at = pl_mesh_coord(m, rank, a);
        if (axes >> a & 1) {
            at = peer % size;
            peer /= size;
        }
        member += at * stride;
        stride *= size;
    }
    return peer ? -1 : member;
}

static int group_size(const pl_mesh *m, unsigned axes)
{
    int n = 1;
    for (int a = 0; a < m->n; a++)
        if (axes >> a & 1) n *= m->axis[a].size;
    return n;
}

static bool add_rank(all_ranks *a, int r, const pl_program *p)
{
    rank_state *x = &a->rank[r];
    *x = (rank_state){ .p = p };
    if (p->rank != r || p->n_ranks != a->n || pl_mesh_ranks(&p->plan->mesh) != a->n)
        return pl_err_set(a->err, PL_EMISMATCH, "program %d of %d is for rank %d of %d", r, a->n,
                          p->rank, p->n_ranks);
    x->compute = PL_NEW_N(a->tmp, int, p->n_steps + 1);
    x->message = PL_NEW_N(a->tmp, int, p->n_steps + 1);
    x->match = PL_NEW_N(a->tmp, int, p->n_steps + 1);
    x->begun = PL_NEW_N(a->tmp, bool, p->n_steps + 1);
    x->ended = PL_NEW_N(a->tmp, bool, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++)
        if (pl_step_is_compute(&p->step[i])) {
            x->compute[x->n_computes++] = i;
        } else {
            x->message[x->n_messages++] = i;
            a->n_ends += pl_step_is_between(&p->step[i]);
        }
    return true;
}

/* Of this rank so far: `collectives` by group, `sent` and `received` by peer. */
static bool make_end(const all_ranks *a, int rank, int message, int *collectives, int *sent,
                     int *received, end *out)
{
    const pl_program *p = a->rank[rank].p;
    const pl_mesh *m = &p->plan->mesh;
    const pl_step *s = &p->step[a->rank[rank].message[message]];
    *out = (end){ .rank = rank, .message = message, .step = s, .from = COLLECTIVE };
    if (!s->axes || s->axes >> m->n)
        return pl_err_set(a->err, PL_EMISMATCH, "%s: a group without axes", step_text(a, rank, s));
    if (s->collective != PL_SEND && s->collective != PL_RECV) {
        out->axes = (int)s->axes;
        out->leader = leader_of(m, rank, s->axes);
        out->number = collectives[s->axes]++;
        return true;
    }
    int peer = s->peer < 0 ? -1 : member_of(m, rank, s->axes, s->peer);
    if (peer < 0)
        return pl_err_set(a->err, PL_EMISMATCH, "%s: peer %d of %d", step_text(a, rank, s), s->peer,
                          group_size(m, s->axes));
    bool send = s->collective == PL_SEND;
    out->from = send ? rank : peer;
    out->to = send ? peer : rank;
    out->number = send ? sent[peer]++ : received[peer]++;
    return true;
}

static int order(int a, int b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const end *x, const end *y)
{
    int c = order(x->from, y->from);
    if (!c) c = order(x->to, y->to);
    if (!c) c = order(x->axes, y->axes);
    if (!c) c = order(x->leader, y->leader);
    return c ? c : order(x->number, y->number);
}

static int compare_ends(const void *p, const void *q)
{
    const end *x = p, *y = q;
    int c = compare_keys(x, y);
    if (!c) c = order(x->rank, y->rank);
    return c ? c : order(x->message, y->message);
}

static bool find_ends(all_ranks *a)
{
    int *seen = PL_NEW_N(a->tmp, int, (1 << PL_MAX_AXES) + 2 * a->n), n = 0;
    a->ends = PL_NEW_N(a->tmp, end, a->n_ends + 1);
    for (int r = 0; r < a->n; r++) {
        int *sent = seen + (1 << PL_MAX_AXES), *received = sent + a->n;
        memset(seen, 0, sizeof(int) * (size_t)((1 << PL_MAX_AXES) + 2 * a->n));
        for (int k = 0; k < a->rank[r].n_messages; k++) {
            a->rank[r].match[k] = -1;
            if (pl_step_is_between(&a->rank[r].p->step[a->rank[r].message[k]]))
                PL_TRY(make_end(a, r, k, seen, sent, received, &a->ends[n++]));
        }
    }
    qsort(a->ends, (size_t)n, sizeof *a->ends, compare_ends);
    return true;
}

/* -- do the ends agree? ------------------------------------------------------------------------ */

static bool same_tensor(const pl_step *x, const pl_step *y)
{
    const pl_transfer *a = x->transfer, *b = y->transfer;
    if (!a != !b) return false;
    if (!a) return !strcmp(x->label, y->label); /* of several tensors */
    return !strcmp(a->value->name, b->value->name) && a->move.kind == b->move.kind &&
           a->shift == b->shift && pl_placement_same(&a->move.from, &b->move.from) &&
           pl_placement_same(&a->move.to, &b->move.to);
}

static bool check_pair(const all_ranks *a, const end *x, const end *y)
{
    const pl_step *s = x->step, *t = y->step;
    const char *what = NULL;
    if (s->axes != t->axes)
        what = "groups";
    else if (x->from == COLLECTIVE && s->collective != t->collective)
        what = "collectives";
    else if (s->type != t->type)
        what = "types";
    else if (s->count != t->count)
        what = "counts";
    else if (s->monoid != t->monoid)
        what = "monoids";
    else if (s->collective == PL_BROADCAST && s->peer != t->peer)
        what = "roots";
    else if (!same_tensor(s, t))
        what = "tensors";
    return !what || pl_err_set(a->err, PL_EMISMATCH, "%s meets %s: different %s", end_text(a, x),
                               end_text(a, y), what);
}

/* The first member of its group that has no end in x[0 .. n). */
static int absent_member(const all_ranks *a, const end *x, int n)
{
    const pl_mesh *m = &a->rank[x->rank].p->plan->mesh;
    for (int i = 0; i < group_size(m, x->step->axes); i++) {
        int rank = member_of(m, x->rank, x->step->axes, i), k = 0;
        while (k < n && x[k].rank != rank) k++;
        if (k == n) return rank;
    }
    return -1;
}

static bool check_meeting(const all_ranks *a, const meeting *m)
{
    const end *x = &a->ends[m->first];
    if (x->from == COLLECTIVE && m->n < group_size(&a->rank[x->rank].p->plan->mesh, x->step->axes))
        return pl_err_set(a->err, PL_EMISMATCH, "%s is number %d of its group; rank %d has no such",
                          end_text(a, x), x->number, absent_member(a, x, m->n));
    if (x->from != COLLECTIVE && m->n != 2)
        return pl_err_set(a->err, PL_EMISMATCH, "%s is number %d; rank %d has no such",
                          end_text(a, x), x->number, x->rank == x->from ? x->to : x->from);
    for (int k = 1; k < m->n; k++) PL_TRY(check_pair(a, x, x + k));
    return true;
}

static bool find_meetings(all_ranks *a)
{
    a->meetings = PL_NEW_N(a->tmp, meeting, a->n_ends + 1);
    for (int i = 0; i < a->n_ends;) {
        meeting *m = &a->meetings[a->n_meetings];
        *m = (meeting){ .first = i };
        for (; i < a->n_ends && !compare_keys(&a->ends[m->first], &a->ends[i]); i++, m->n++)
            a->rank[a->ends[i].rank].match[a->ends[i].message] = a->n_meetings;
        a->n_meetings++;
        PL_TRY(check_meeting(a, m));
    }
    return true;
}

/* -- do they come to their ends? --------------------------------------------------------------- */

/* Does it finish more of the first messages without a gap? */
static bool end_message(rank_state *r, int message)
{
    const int before = r->finished;
    r->ended[message] = true;
    while (r->finished < r->n_messages && r->ended[r->finished]) r->finished++;
    return r->finished > before;
}

/* A message is finished when all its members have started it. */
static void finish(all_ranks *a, const meeting *m)
{
    for (int k = 0; k < m->n; k++) {
        const end *x = &a->ends[m->first + k];
        if (end_message(&a->rank[x->rank], x->message)) a->todo[a->n_todo++] = x->rank;
    }
}

/* The next message of a lane; n_messages: none is left. What a device does with its host goes with
 * the messages between ranks, in one order: what comes to its end then does so the more where they
 * overtake. */
static int next_of(rank_state *r, int lane)
{
    for (int *k = &r->next[lane]; *k < r->n_messages; ++*k) {
        const pl_step *s = &r->p->step[r->message[*k]];
        if ((pl_step_is_between(s) ? pl_step_lane(s) : PL_LANE_COMM) == lane) break;
    }
    return r->next[lane];
}

static bool start_message(all_ranks *a, rank_state *r, int lane)
{
    const int k = next_of(r, lane);
    if (k == r->n_messages) return false;
    const pl_step *s = &r->p->step[r->message[k]];
    if (s->after > r->computed || s->wait > r->finished) return false;
    r->next[lane]++;
    r->begun[k] = true;
    if (r->match[k] < 0)
        (void)end_message(r, k);
    else if (++a->meetings[r->match[k]].started == a->meetings[r->match[k]].n)
        finish(a, &a->meetings[r->match[k]]);
    return true;
}

/* The rank does what it can: computes until a step has to wait, starts messages lane by lane, each
 * in order. */
static void advance(all_ranks *a, int rank)
{
    rank_state *r = &a->rank[rank];
    for (bool moved = true; moved;) {
        moved = false;
        while (r->computed < r->n_computes &&
               r->p->step[r->compute[r->computed]].wait <= r->finished)
            r->computed++, moved = true;
        for (int lane = 0; lane <= PL_LANE_RECV; lane++)
            while (start_message(a, r, lane)) moved = true;
    }
}

static void tell_wait(const all_ranks *a, int rank, const pl_step *s, pl_text *t)
{
    const rank_state *r = &a->rank[rank];
    pl_text_add(t, "; %s waits for %d messages", step_text(a, rank, s), s->wait);
    if (!pl_step_is_compute(s)) pl_text_add(t, " and %d compute steps", s->after);
    pl_text_add(t, " (%d and %d are finished)", r->finished, r->computed);
}

/* The steps at which a rank's lanes stand. */
static void tell_rank(const all_ranks *a, int rank, pl_text *t)
{
    const rank_state *r = &a->rank[rank];
    for (int lane = 0; lane <= PL_LANE_RECV; lane++)
        if (r->next[lane] < r->n_messages)
            tell_wait(a, rank, &r->p->step[r->message[r->next[lane]]], t);
    if (r->computed < r->n_computes) tell_wait(a, rank, &r->p->step[r->compute[r->computed]], t);
}

/* Who waits for whom, from a rank that cannot go on until the chain meets itself. */
static bool fail_stuck(const all_ranks *a, int rank)
{
    pl_text t = { .arena = a->tmp };
    bool *told = PL_NEW_N(a->tmp, bool, a->n);
    for (const end *other; !told[rank]; rank = other->rank) {
        const rank_state *r = &a->rank[rank];
        told[rank] = true;
        tell_rank(a, rank, &t);
        if (r->finished == r->n_messages || !r->begun[r->finished]) break; /* for itself */
        const meeting *m = &a->meetings[r->match[r->finished]];
        const end *x = other = &a->ends[m->first];
        for (int k = 0; k < m->n; k++)
            if (!a->rank[x[k].rank].begun[x[k].message]) other = &x[k];
        pl_text_add(&t, "; its '%s' waits for %s", r->p->step[r->message[r->finished]].label,
                    end_text(a, other));
    }
    return pl_err_set(a->err, PL_EMISMATCH, "the ranks wait for ever%s", pl_text_get(&t));
}

static bool run(all_ranks *a)
{
    a->todo = PL_NEW_N(a->tmp, int, a->n + a->n_ends + 1);
    for (int r = 0; r < a->n; r++) advance(a, r);
    while (a->n_todo) advance(a, a->todo[--a->n_todo]);
    for (int r = 0; r < a->n; r++) {
        const rank_state *x = &a->rank[r];
        if (x->computed < x->n_computes || x->finished < x->n_messages) return fail_stuck(a, r);
    }
    return true;
}

static bool check(all_ranks *a, const pl_program *const p[])
{
    a->rank = PL_NEW_N(a->tmp, rank_state, a->n + 1);
    for (int r = 0; r < a->n; r++) PL_TRY(add_rank(a, r, p[r]));
    PL_TRY(find_ends(a));
    PL_TRY(find_meetings(a));
    return run(a);
}

bool pl_program_check_ranks(int n, const pl_program *const p[], pl_err *err)
{
    all_ranks a = { .n = n, .tmp = pl_arena_new("ranks check"), .err = err };
    bool ok = check(&a, p);
    pl_arena_free(a.tmp);
    return ok;
}
