#include "backends/local/local.h"

#include "backends/local/world.h"
#include "base/clock.h"
#include "graph/reduce.h"

#include <string.h>

/* Bytes that one call of test moves for a message, so that a lane gets around to its others. */
enum { STEP_BYTES = 256 * 1024 };

/* What a message waits for or does. An all-reduce is a reduce-scatter (REDUCE) and an all-gather
 * (MOVE) between its members' own buffers; the other kinds have one of the two. */
typedef enum state {
    ROOM,   /* the slot's last message is not finished by all: not published yet */
    MEET,   /* until all members have arrived                                    */
    REDUCE, /* combining my part                                                 */
    PARTS,  /* until all members have reduced their parts                        */
    MOVE,   /* copying from the others                                           */
    LEAVE,  /* until all members have finished: nobody reads my buffers          */
    DONE,
} state;

typedef struct request {
    pl_request head;
    struct request *prev, *next; /* in open, oldest first; or in spare */
    pl_world_ring *ring;
    int me;         /* my position in the ring: for a pair 0 sends, 1 receives */
    int64_t number; /* of the message in the ring                              */
    state state;
    int seen; /* members [0, seen) have come as far as I wait for        */
    int part; /* where the work stands: part (member) and bytes in it    */
    int64_t at;
} request;

typedef struct group {
    pl_group head;
    pl_world_group *shared;
    int64_t number;      /* of the next collective                           */
    int64_t *sent, *got; /* [n] messages so far to and from each member      */
} group;

typedef struct local {
    pl_comm head;
    pl_local_world *world;
    pl_arena *arena;
    request open; /* a ring of requests; open.next is the oldest              */
    request *spare;
    int idle;    /* tests since the others were looked at                    */
    bool worked; /* something was copied since then                          */
} local;

static pl_world_cell *cell_of(const request *r, int member)
{
    int64_t slot = r->number % r->ring->depth;
    return &r->ring->cell[slot * r->ring->n + member];
}

/* The stage that all members must have for r to go on. */
static int64_t awaited_stage(const request *r)
{
    int64_t first = PL_WORLD_STAGES * r->number;
    switch (r->state) {
    case ROOM: return first - (int64_t)PL_WORLD_STAGES * r->ring->depth + PL_WORLD_FINISHED;
    case MEET: return first + PL_WORLD_ARRIVED;
    case PARTS: return first + PL_WORLD_REDUCED;
    case LEAVE: return first + PL_WORLD_FINISHED;
    case REDUCE:
    case MOVE:
    case DONE: break;
    }
    return 0;
}

static bool has_come(const request *r, int member)
{
    int64_t stage = atomic_load_explicit(&cell_of(r, member)->stage, memory_order_acquire);
    return stage >= awaited_stage(r);
}

static bool all_have_come(request *r)
{
    while (r->seen < r->ring->n && has_come(r, r->seen)) r->seen++;
    return r->seen == r->ring->n;
}

/* The rank of a member of r's ring. */
static int rank_of(const request *r, int member)
{
    const pl_group *g = r->head.group;
    bool pair = r->head.m.kind == PL_SEND || r->head.m.kind == PL_RECV;
    return pair && member != r->me ? g->rank[r->head.m.peer] : g->rank[pair ? g->me : member];
}

/* Everybody waits for all members: so the last of them rings, and nobody before. In the one order
 * of these accesses at least one of two that announce at once sees the other. */
static void announce(local *c, request *r, int stage)
{
    const int64_t now = PL_WORLD_STAGES * r->number + stage;
    atomic_store(&cell_of(r, r->me)->stage, now);
    for (int i = 0; i < r->ring->n; i++)
        if (atomic_load(&cell_of(r, i)->stage) < now) return;
    for (int i = 0; i < r->ring->n; i++)
        if (i != r->me) pl_bell_ring(&c->world->rank[rank_of(r, i)].bell);
}

static void enter_state(request *r, state s)
{
    r->state = s;
    r->seen = r->part = 0;
    r->at = 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Part i of an all-reduce: elements [first_of(i), first_of(i + 1)). */
static int64_t first_of(const request *r, int i)
{
    int64_t count = r->head.m.count, n = r->ring->n;
    return count / n * i + count % n * i / n;
}

/* Combines my part of every member's send, in rank order, at most STEP_BYTES of it. In place is
 * safe: only I read my part of anybody's send, and a block is stored after it was read. True at the
 * end. */
static bool reduce_part(request *r)
{
    const pl_message *m = &r->head.m;
    bool whole = m->kind == PL_ALL_REDUCE;
    int64_t size = pl_type_bytes(m->type), from = whole ? first_of(r, r->me) : r->me * m->count;
    int64_t count = whole ? first_of(r, r->me + 1) - from : m->count;
    if (!count) return true;
    char *to = (char *)m->recv + (whole ? from * size : 0);
    int64_t end = least(count, r->at + STEP_BYTES / size);
    pl_reduce_acc acc;
    while (r->at < end) {
        int64_t n = least(PL_REDUCE_BLOCK, end - r->at), skip = (from + r->at) * size;
        pl_reduce_load(m->type, &acc, (const char *)cell_of(r, 0)->m.send + skip, n);
        for (int i = 1; i < r->ring->n; i++)
            pl_reduce_fold(m->type, m->monoid, &acc, (const char *)cell_of(r, i)->m.send + skip, n);
        pl_reduce_store(m->type, to + r->at * size, &acc, n);
        r->at += n;
    }
    return r->at == count;
}

typedef struct span {
    const char *from;
    char *to;
    int64_t bytes;
} span;

static span make_span(const void *from, int64_t skip, void *to, int64_t at, int64_t bytes)
{
    if (!bytes) return (span){ 0 };
    return (span){ (const char *)from + skip, (char *)to + at, bytes };
}

/* What I take from member i. */
static span find_span(const request *r, int i)
{
    const pl_message *m = &r->head.m, *his = &cell_of(r, i)->m;
    int64_t size = pl_type_bytes(m->type), block = m->count * size;
    switch (m->kind) {
    case PL_ALL_REDUCE: {
        int64_t first = first_of(r, i) * size, end = first_of(r, i + 1) * size;
        if (i == r->me) return (span){ 0 };
        return make_span(his->recv, first, m->recv, first, end - first);
    }
    case PL_ALL_GATHER: return make_span(his->send, 0, m->recv, i * block, block);
    case PL_ALL_TO_ALL: return make_span(his->send, r->me * block, m->recv, i * block, block);
    case PL_BROADCAST:
        if (i != m->peer || his->send == m->recv) return (span){ 0 };
        return make_span(his->send, 0, m->recv, 0, block);
    case PL_RECV: return i == 0 ? make_span(his->send, 0, m->recv, 0, block) : (span){ 0 };
    default: break;
    }
    return (span){ 0 };
}

/* Copies at most STEP_BYTES, beginning with my own position so that members read different ones. */
static bool move_parts(request *r)
{
    int64_t budget = STEP_BYTES;
    for (; r->part < r->ring->n; r->part++, r->at = 0) {
        span s = find_span(r, (r->me + r->part) % r->ring->n);
        int64_t bytes = least(s.bytes - r->at, budget);
        if (bytes > 0) memcpy(s.to + r->at, s.from + r->at, (size_t)bytes);
        r->at += bytes;
        budget -= bytes;
        if (r->at < s.bytes) return false;
    }
    return true;
}

static bool same_message(const pl_message *a, const pl_message *b)
{
    if (a->kind == PL_SEND) return a->type == b->type && a->count == b->count;
    if (a->kind != b->kind) return false;
    if (a->kind == PL_BARRIER) return true;
    bool reduces = a->kind == PL_ALL_REDUCE || a->kind == PL_REDUCE_SCATTER;
    return a->type == b->type && a->count == b->count && (!reduces || a->monoid == b->monoid) &&
           (a->kind != PL_BROADCAST || a->peer == b->peer);
}

/* All members have arrived: with the same message? Each finds the same first difference. */
static bool check_alike(const request *r, pl_err *err)
{
    const pl_message *a = &cell_of(r, 0)->m;
    for (int i = 1; i < r->ring->n; i++) {
        const pl_message *b = &cell_of(r, i)->m;
        if (same_message(a, b)) continue;
        char here[PL_REQUEST_TEXT], there[PL_REQUEST_TEXT];
        pl_request_brief(b, here);
        pl_request_brief(a, there);
        return pl_err_set(err, PL_EINTERNAL, "rank %d started %s where rank %d started %s",
                          rank_of(r, i), here, rank_of(r, 0), there);
    }
    return true;
}

/* One step of a working state, where the buffers of others are touched. */
static bool work(local *c, request *r, bool *over, pl_err *err)
{
    if (!pl_world_enter(c->world, c->head.rank))
        return pl_world_report(c->world, c->head.rank, &r->head, err);
    *over = r->state == REDUCE ? reduce_part(r) : move_parts(r);
    pl_world_exit(c->world, c->head.rank);
    return true;
}

/* All have arrived: what comes first? */
static bool begin_work(local *c, request *r, pl_err *err)
{
    pl_err why = { 0 };
    if (!pl_world_enter(c->world, c->head.rank))
        return pl_world_report(c->world, c->head.rank, &r->head, err);
    bool alike = check_alike(r, &why);
    pl_world_exit(c->world, c->head.rank);
    if (!alike) {
        pl_world_fail(c->world, &why, true);
        return pl_world_report(c->world, c->head.rank, &r->head, err);
    }
    pl_collective k = r->head.m.kind;
    enter_state(r, k == PL_ALL_REDUCE || k == PL_REDUCE_SCATTER ? REDUCE : MOVE);
    return true;
}

static void finish_work(local *c, request *r)
{
    bool parts = r->state == REDUCE && r->head.m.kind == PL_ALL_REDUCE;
    announce(c, r, parts ? PL_WORLD_REDUCED : PL_WORLD_FINISHED);
    enter_state(r, parts ? PARTS : LEAVE);
}

static void publish(local *c, request *r)
{
    cell_of(r, r->me)->m = r->head.m;
    announce(c, r, PL_WORLD_ARRIVED);
    enter_state(r, MEET);
}

/* Goes as far as r can without waiting, or one step of work. */
static bool progress(local *c, request *r, pl_err *err)
{
    bool over = false;
    while (r->state != DONE) {
        bool works = r->state == REDUCE || r->state == MOVE;
        if (!works && !all_have_come(r)) return true;
        switch (r->state) {
        case ROOM: publish(c, r); break;
        case MEET: PL_TRY(begin_work(c, r, err)); break;
        case REDUCE:
        case MOVE:
            c->worked = true;
            PL_TRY(work(c, r, &over, err));
            if (!over) return true;
            finish_work(c, r);
            break;
        case PARTS: enter_state(r, MOVE); break;
        case LEAVE: enter_state(r, DONE); break;
        case DONE: break;
        }
    }
    return true;
}

/* A caller may wait for its messages in another order than its peers. */
static bool progress_all(local *c, pl_err *err)
{
    for (request *r = c->open.next; r != &c->open; r = r->next) PL_TRY(progress(c, r, err));
    return true;
}

/* r has been open for too long: who has not come? Nobody missing (the last one came just now, or it
 * is my own work that takes long) is no failure. */
static bool check_time(local *c, const request *r, pl_err *err)
{
    if (r->state == REDUCE || r->state == MOVE || r->state == DONE) return true;
    bool member[PL_LOCAL_RANKS] = { 0 }, there[PL_LOCAL_RANKS] = { 0 };
    for (int i = 0; i < r->ring->n; i++) {
        int rank = rank_of(r, i); /* twice the same when a rank sends to itself */
        there[rank] = has_come(r, i) && (!member[rank] || there[rank]);
        member[rank] = true;
    }
    char missing[PL_REQUEST_RANKS], arrived[PL_REQUEST_RANKS];
    pl_request_ranks(c->head.size, there, true, arrived);
    for (int i = 0; i < c->head.size; i++) there[i] |= !member[i];
    if (!pl_request_ranks(c->head.size, there, false, missing)) return true;

    pl_err why = { 0 };
    pl_err_set(&why, PL_ERUN, "no answer from %s within %g s (%s %s)", missing,
               c->head.timeout_seconds, arrived, r->state == MEET ? "arrived" : "answered");
    pl_request_in(&r->head, &why);
    pl_world_fail(c->world, &why, true);
    return pl_world_report(c->world, c->head.rank, &r->head, err);
}

static void close_request(local *c, request *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->next = c->spare;
    c->spare = r;
}

static bool test_local(pl_comm *base, pl_request *q, bool *done, pl_err *err)
{
    enum { PATIENCE = 8 }; /* tests without work after which the other messages are looked at */
    local *c = (local *)base;
    request *r = (request *)q;
    *done = false;
    if (atomic_load_explicit(&c->world->failed, memory_order_acquire))
        return pl_world_report(c->world, base->rank, q, err);
    PL_TRY(progress(c, r, err));
    if (r->state == DONE) {
        close_request(c, r);
        *done = true;
        return true;
    }
    if (c->worked || ++c->idle >= PATIENCE) {
        c->worked = false;
        c->idle = 0;
        PL_TRY(progress_all(c, err));
    }
    if (pl_clock_now() - q->start > base->timeout_seconds) return check_time(c, r, err);
    return true;
}

static bool poll_local(pl_comm *base, pl_err *err)
{
    local *c = (local *)base;
    if (atomic_load_explicit(&c->world->failed, memory_order_acquire))
        return pl_world_report(c->world, base->rank, NULL, err);
    return progress_all(c, err);
}

static request *open_request(local *c)
{
    enum { SOME = 64 };
    if (!c->spare) {
        request *r = PL_NEW_N(c->arena, request, SOME);
        for (int i = 0; i < SOME; i++) r[i].next = i + 1 < SOME ? &r[i + 1] : NULL;
        c->spare = r;
    }
    request *r = c->spare;
    c->spare = r->next;
    *r = (request){ .prev = c->open.prev, .next = &c->open };
    r->prev->next = r->next->prev = r;
    return r;
}

static bool start_local(pl_comm *base, pl_group *pg, const pl_message *m, pl_request **out,
                        pl_err *err)
{
    local *c = (local *)base;
    group *g = (group *)pg;
    request *r = open_request(c);
    (void)err; /* cannot fail */
    r->head = (pl_request){ .m = *m, .group = pg, .start = pl_clock_now() };
    if (m->kind == PL_SEND) {
        r->ring = &g->shared->pair[pg->me * pg->n + m->peer];
        r->number = g->sent[m->peer]++;
    } else if (m->kind == PL_RECV) {
        r->ring = &g->shared->pair[m->peer * pg->n + pg->me];
        r->number = g->got[m->peer]++;
        r->me = 1;
    } else {
        r->ring = &g->shared->all;
        r->number = g->number++;
        r->me = pg->me;
    }
    *out = &r->head;
    if (all_have_come(r)) publish(c, r); /* the slot is free; the work is left to test */
    return true;
}

static bool group_local(pl_comm *base, int n, const int ranks[], pl_group **out, pl_err *err)
{
    local *c = (local *)base;
    (void)err; /* cannot fail */
    group *g = PL_NEW(c->arena, group);
    g->sent = PL_NEW_N(c->arena, int64_t, n);
    g->got = PL_NEW_N(c->arena, int64_t, n);
    g->head = (pl_group){ .n = n, .rank = PL_NEW_N(c->arena, int, n) };
    memcpy(g->head.rank, ranks, (size_t)n * sizeof *ranks);
    while (ranks[g->head.me] != base->rank) g->head.me++;
    g->shared = pl_world_join(c->world, n, ranks, g->head.me);
    *out = &g->head;
    return true;
}

/* Fails the world and waits until nobody reads my buffers. */
static void give_up(local *c, const pl_err *why)
{
    pl_world_fail(c->world, why, false);
    pl_world_report(c->world, c->head.rank, NULL, &(pl_err){ 0 });
}

static void abort_local(pl_comm *base, int code)
{
    pl_err why = { 0 };
    pl_err_set(&why, PL_ERUN, "rank %d gave up (exit code %d)", base->rank, code);
    give_up((local *)base, &why);
}

/* A rank that leaves with messages open takes its buffers with it: the others must not go on. */
static void free_local(pl_comm *base)
{
    local *c = (local *)base;
    if (c->open.next != &c->open) {
        char text[PL_REQUEST_TEXT];
        const pl_request *first = &c->open.next->head;
        pl_request_text(&first->m, first->group, text);
        pl_err why = { 0 };
        pl_err_set(&why, PL_ERUN, "rank %d left in the middle of %s", base->rank, text);
        give_up(c, &why);
    }
    pl_world_leave(c->world);
    pl_arena_free(c->arena);
}

static const pl_comm_ops ops = {
    .name = "local",
    .group = group_local,
    .start = start_local,
    .test = test_local,
    .poll = poll_local,
    .abort = abort_local,
    .free = free_local,
};

bool pl_local_new(int n, double timeout_seconds, pl_comm *out[], pl_err *err)
{
    if (n < 1 || n > PL_LOCAL_RANKS)
        return pl_err_set(err, PL_EUSAGE, "%d local ranks: there can be 1 to %d", n,
                          PL_LOCAL_RANKS);
    if (!(timeout_seconds > 0))
        return pl_err_set(err, PL_EUSAGE, "time-out of %g s: must be positive", timeout_seconds);
    pl_local_world *w = pl_world_new(n);
    int all[PL_LOCAL_RANKS];
    for (int r = 0; r < n; r++) all[r] = r;
    for (int r = 0; r < n; r++) {
        pl_arena *a = pl_arena_new("local rank");
        local *c = PL_NEW(a, local);
        c->head = (pl_comm){ &ops, .rank = r, .size = n, .timeout_seconds = timeout_seconds };
        c->head.bell = &w->rank[r].bell;
        c->world = w;
        c->arena = a;
        c->open.prev = c->open.next = &c->open;
        out[r] = &c->head;
        PL_TRY(group_local(out[r], n, all, &c->head.world, err));
    }
    return true;
}
