#include "backends/mpi/mpi.h"

#include "backends/mpi/roll.h"
#include "base/clock.h"
#include "graph/reduce.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FEW = 2, PIECE = 1 << 30, TAG = 0 };

typedef struct request {
    pl_request head;
    struct request *prev, *next; /* in open, oldest first; or in spare            */
    int n, at;                   /* calls of MPI; those before `at` are complete  */
    int cap;
    MPI_Request few[FEW], *part; /* [cap] few, or from the arena                  */
} request;

typedef struct group {
    pl_group head;
    MPI_Comm comm;
    struct group *next;
} group;

typedef struct transport {
    pl_comm head;
    pl_arena *arena;
    pl_roll *roll;
    bool owns_mpi; /* finalize is ours                              */
    int piece;     /* elements of one call of MPI, at most          */
    MPI_Op bf16[PL_N_MONOIDS];
    group *groups;
    request open; /* a ring; open.next is the oldest               */
    request *spare;
    pl_err failure;
} transport;

static bool set_mpi_error(pl_err *err, const char *call, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(rc, text, &n);
    return pl_err_set(err, PL_ERUN, "%s: %s", call, text);
}

/* The first failure stays: later calls repeat it. */
static bool fail(transport *c, pl_err *err)
{
    if (!c->failure.code) c->failure = *err;
    return false;
}

static MPI_Datatype type_of(pl_type t)
{
    switch (t) {
    case PL_F32: return MPI_FLOAT;
    case PL_BF16: return MPI_UINT16_T;
    case PL_F64: return MPI_DOUBLE;
    case PL_I32: return MPI_INT32_T;
    case PL_I64: return MPI_INT64_T;
    case PL_U8: return MPI_UINT8_T;
    case PL_N_TYPES: break;
    }
    pl_bug(__FILE__, __LINE__, "type %d", (int)t);
}

static MPI_Op op_of(const transport *c, pl_type t, pl_monoid m)
{
    PL_ASSERT_CMP(m, <, PL_N_MONOIDS);
    if (t == PL_BF16) return c->bf16[m];
    return m == PL_SUM ? MPI_SUM : m == PL_MAX ? MPI_MAX : MPI_MIN;
}

static void fold_bf16(pl_monoid op, const void *in, void *inout, int n)
{
    pl_reduce_acc acc;
    for (int64_t at = 0, k; at < n; at += k) {
        k = n - at < PL_REDUCE_BLOCK ? n - at : PL_REDUCE_BLOCK;
        pl_reduce_load(PL_BF16, &acc, (const uint16_t *)in + at, k);
        pl_reduce_fold(PL_BF16, op, &acc, (const uint16_t *)inout + at, k);
        pl_reduce_store(PL_BF16, (uint16_t *)inout + at, &acc, k);
    }
}

static void sum_bf16(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)t;
    fold_bf16(PL_SUM, in, inout, *n);
}

static void max_bf16(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)t;
    fold_bf16(PL_MAX, in, inout, *n);
}

static void min_bf16(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)t;
    fold_bf16(PL_MIN, in, inout, *n);
}

static MPI_Request *next_part(transport *c, request *r)
{
    if (r->n == r->cap) {
        MPI_Request *more = PL_NEW_N(c->arena, MPI_Request, 2 * r->cap);
        memcpy(more, r->part, (size_t)r->n * sizeof *more);
        r->part = more;
        r->cap *= 2;
    }
    r->part[r->n] = MPI_REQUEST_NULL;
    return &r->part[r->n++];
}

/* k elements out of each of n blocks of m->count: a type whose extent is a block's. */
static int make_slice(const pl_message *m, int k, MPI_Datatype *slice)
{
    MPI_Datatype run;
    MPI_Aint extent = (MPI_Aint)(m->count * pl_type_bytes(m->type));
    int rc = MPI_Type_contiguous(k, type_of(m->type), &run);
    if (rc != MPI_SUCCESS) return rc;
    rc = MPI_Type_create_resized(run, 0, extent, slice);
    MPI_Type_free(&run);
    return rc == MPI_SUCCESS ? MPI_Type_commit(slice) : rc;
}

static int start_gather(const group *g, const pl_message *m, const char *send, char *recv, int k,
                        MPI_Request *part)
{
    MPI_Datatype t = type_of(m->type), slice;
    bool gather = m->kind == PL_ALL_GATHER;
    if (k == m->count)
        return gather ? MPI_Iallgather(send, k, t, recv, k, t, g->comm, part)
                      : MPI_Ialltoall(send, k, t, recv, k, t, g->comm, part);
    int rc = make_slice(m, k, &slice);
    if (rc != MPI_SUCCESS) return rc;
    rc = gather ? MPI_Iallgather(send, k, t, recv, 1, slice, g->comm, part)
                : MPI_Ialltoall(send, 1, slice, recv, 1, slice, g->comm, part);
    int freed = MPI_Type_free(&slice); /* MPI keeps it until the call is complete */
    return rc == MPI_SUCCESS ? freed : rc;
}

/* Elements [at, at + k) of the message, all kinds but the reduce-scatter. */
static int start_piece(transport *c, request *r, int64_t at, int k)
{
    const pl_message *m = &r->head.m;
    const group *g = (const group *)r->head.group;
    int64_t skip = at * pl_type_bytes(m->type);
    const char *send = m->send && m->count ? (const char *)m->send + skip : m->send;
    char *recv = m->recv && m->count ? (char *)m->recv + skip : m->recv;
    MPI_Datatype t = type_of(m->type);
    MPI_Request *part = next_part(c, r);
    switch (m->kind) {
    case PL_ALL_REDUCE:
        return MPI_Iallreduce(send == recv ? MPI_IN_PLACE : send, recv, k, t,
                              op_of(c, m->type, m->monoid), g->comm, part);
    case PL_ALL_GATHER:
    case PL_ALL_TO_ALL: return start_gather(g, m, send, recv, k, part);
    case PL_BROADCAST:
        if (m->peer == g->head.me && k && send != recv)
            memcpy(recv, send, (size_t)k * (size_t)pl_type_bytes(m->type));
        return MPI_Ibcast(recv, k, t, m->peer, g->comm, part);
    case PL_SEND: return MPI_Isend(send, k, t, m->peer, TAG, g->comm, part);
    case PL_RECV: return MPI_Irecv(recv, k, t, m->peer, TAG, g->comm, part);
    case PL_BARRIER: return MPI_Ibarrier(g->comm, part);
    default: break;
    }
    pl_bug(__FILE__, __LINE__, "message kind %d", (int)m->kind);
}

/* Reductions of MPI take no slices, and libraries multiply the block by the ranks in an int: a long
 * reduce-scatter is one reduction for each block and piece, to the rank whose block it is. */
static int start_reduce_scatter(transport *c, request *r)
{
    const pl_message *m = &r->head.m;
    const group *g = (const group *)r->head.group;
    MPI_Datatype t = type_of(m->type);
    MPI_Op op = op_of(c, m->type, m->monoid);
    int64_t size = pl_type_bytes(m->type);
    if (m->count <= c->piece / g->head.n)
        return MPI_Ireduce_scatter_block(m->send, m->recv, (int)m->count, t, op, g->comm,
                                         next_part(c, r));
    for (int root = 0; root < g->head.n; root++)
        for (int64_t at = 0, k; at < m->count; at += k) {
            k = m->count - at < c->piece ? m->count - at : c->piece;
            const char *send = (const char *)m->send + (root * m->count + at) * size;
            int rc = MPI_Ireduce(send, (char *)m->recv + at * size, (int)k, t, op, root, g->comm,
                                 next_part(c, r));
            if (rc != MPI_SUCCESS) return rc;
        }
    return MPI_SUCCESS;
}

static int start_parts(transport *c, request *r)
{
    const pl_message *m = &r->head.m;
    if (m->kind == PL_REDUCE_SCATTER) return start_reduce_scatter(c, r);
    if (m->kind == PL_BARRIER || m->count <= c->piece) return start_piece(c, r, 0, (int)m->count);
    for (int64_t at = 0, k; at < m->count; at += k) {
        k = m->count - at < c->piece ? m->count - at : c->piece;
        int rc = start_piece(c, r, at, (int)k);
        if (rc != MPI_SUCCESS) return rc;
    }
    return MPI_SUCCESS;
}

static request *open_request(transport *c)
{
    enum { SOME = 64 };
    if (!c->spare) {
        request *r = PL_NEW_N(c->arena, request, SOME);
        for (int i = 0; i < SOME; i++) {
            r[i].next = i + 1 < SOME ? &r[i + 1] : NULL;
            r[i].part = r[i].few;
            r[i].cap = FEW;
        }
        c->spare = r;
    }
    request *r = c->spare;
    c->spare = r->next;
    r->prev = c->open.prev;
    r->next = &c->open;
    r->prev->next = r->next->prev = r;
    r->n = r->at = 0;
    return r;
}

static void close_request(transport *c, request *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->next = c->spare;
    c->spare = r;
}

static bool start_mpi(pl_comm *base, pl_group *g, const pl_message *m, pl_request **out,
                      pl_err *err)
{
    transport *c = (transport *)base;
    if (c->failure.code) return pl_err_set(err, c->failure.code, "%s", c->failure.msg);
    request *r = open_request(c);
    r->head = (pl_request){ .m = *m, .group = g, .start = pl_clock_now() };
    int rc = start_parts(c, r);
    if (rc != MPI_SUCCESS) {
        set_mpi_error(err, "start", rc);
        return fail(c, err);
    }
    *out = &r->head;
    return true;
}

/* A receive that ended short: the members disagree on the length. */
static bool check_length(const request *r, const MPI_Status *status, pl_err *err)
{
    const pl_message *m = &r->head.m;
    int got = 0;
    if (m->kind != PL_RECV || r->n > 1) return true;
    MPI_Get_count(status, type_of(m->type), &got);
    if (got == m->count) return true;
    return pl_err_set(err, PL_EINTERNAL, "the sender sent %d elements", got);
}

static bool test_parts(request *r, bool *done, pl_err *err)
{
    int ready = 1;
    while (r->at < r->n) {
        MPI_Status status;
        int rc = MPI_Test(&r->part[r->at], &ready, &status);
        if (rc != MPI_SUCCESS) return set_mpi_error(err, "test", rc);
        if (!ready) return true;
        PL_TRY(check_length(r, &status, err));
        r->at++;
    }
    *done = true;
    return true;
}

static bool hold_roll_call(transport *c, bool caller, pl_err *err)
{
    const pl_request *oldest = c->open.next == &c->open ? NULL : &c->open.next->head;
    c->head.given_up = pl_roll_was_away(c->roll);
    pl_roll_take(c->roll, oldest, caller, c->head.timeout_seconds, err);
    return fail(c, err);
}

static bool test_mpi(pl_comm *base, pl_request *q, bool *done, pl_err *err)
{
    transport *c = (transport *)base;
    request *r = (request *)q;
    *done = false;
    if (c->failure.code) return pl_err_set(err, c->failure.code, "%s", c->failure.msg);
    if (!test_parts(r, done, err)) {
        pl_request_in(q, err);
        return fail(c, err);
    }
    if (*done) {
        close_request(c, r);
        return true;
    }
    double now = pl_clock_now();
    bool heard = pl_roll_heard(c->roll, now), late = now - q->start > base->timeout_seconds;
    if (late || heard) return hold_roll_call(c, late, err);
    return true;
}

static bool poll_mpi(pl_comm *base, pl_err *err)
{
    transport *c = (transport *)base;
    if (c->failure.code) return pl_err_set(err, c->failure.code, "%s", c->failure.msg);
    if (pl_roll_heard(c->roll, pl_clock_now())) return hold_roll_call(c, false, err);
    return true;
}

static bool add_group(transport *c, MPI_Comm comm, int n, const int ranks[], pl_group **out)
{
    group *g = PL_NEW(c->arena, group);
    g->head = (pl_group){ .n = n, .rank = PL_NEW_N(c->arena, int, n) };
    for (int i = 0; i < n; i++) {
        g->head.rank[i] = ranks[i];
        if (ranks[i] == c->head.rank) g->head.me = i;
    }
    g->comm = comm;
    g->next = c->groups;
    c->groups = g;
    *out = &g->head;
    return true;
}

static bool group_mpi(pl_comm *base, int n, const int ranks[], pl_group **out, pl_err *err)
{
    transport *c = (transport *)base;
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm world = ((group *)base->world)->comm;
    int rc = MPI_Comm_group(world, &all);
    if (rc == MPI_SUCCESS) rc = MPI_Group_incl(all, n, ranks, &some);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_create_group(world, some, TAG, &comm);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (some != MPI_GROUP_NULL) MPI_Group_free(&some);
    if (all != MPI_GROUP_NULL) MPI_Group_free(&all);
    if (rc != MPI_SUCCESS) return set_mpi_error(err, "MPI_Comm_create_group", rc);
    return add_group(c, comm, n, ranks, out);
}

/* A launcher may end before it has passed on what the ranks said last; give it a moment. */
static void abort_mpi(pl_comm *base, int code)
{
    (void)base;
    fflush(NULL);
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* After a failure, or in the middle of a message, freeing what belongs to MPI would wait for ranks
 * that are gone. */
static void free_mpi(pl_comm *base)
{
    transport *c = (transport *)base;
    if (!c->failure.code && c->open.next == &c->open) {
        for (group *g = c->groups; g; g = g->next) MPI_Comm_free(&g->comm);
        pl_roll_free(c->roll);
        for (int k = 0; k < PL_N_MONOIDS; k++) MPI_Op_free(&c->bf16[k]);
        if (c->owns_mpi) MPI_Finalize();
        pl_arena_free(c->arena);
    }
}

static const pl_comm_ops ops = {
    .name = "mpi",
    .group = group_mpi,
    .start = start_mpi,
    .test = test_mpi,
    .poll = poll_mpi,
    .abort = abort_mpi,
    .free = free_mpi,
};

static bool init_mpi(bool *owns, pl_err *err)
{
    int there = 0, level = MPI_THREAD_SINGLE, over = 0;
    int rc = MPI_Initialized(&there);
    if (rc == MPI_SUCCESS) rc = MPI_Finalized(&over);
    if (rc == MPI_SUCCESS && over)
        return pl_err_set(err, PL_EINTERNAL, "MPI was finalized; it cannot begin again");
    if (rc == MPI_SUCCESS && there)
        rc = MPI_Query_thread(&level);
    else if (rc == MPI_SUCCESS)
        rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (rc != MPI_SUCCESS) return set_mpi_error(err, "MPI_Init_thread", rc);
    *owns = !there;
    if (level >= MPI_THREAD_SERIALIZED) return true;
    if (*owns) MPI_Finalize();
    return pl_err_set(err, PL_EUNSUPPORTED,
                      "MPI offers thread level %d; MPI_THREAD_SERIALIZED (%d) is needed", level,
                      MPI_THREAD_SERIALIZED);
}

static int fill_transport(transport *c, MPI_Comm *world)
{
    MPI_User_function *const bf16[PL_N_MONOIDS] = { sum_bf16, max_bf16, min_bf16 };
    int rc = MPI_Comm_dup(MPI_COMM_WORLD, world);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(*world, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_rank(*world, &c->head.rank);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_size(*world, &c->head.size);
    if (rc == MPI_SUCCESS) rc = pl_roll_new(c->arena, &c->roll);
    for (int k = 0; k < PL_N_MONOIDS && rc == MPI_SUCCESS; k++)
        rc = MPI_Op_create(bf16[k], 1, &c->bf16[k]);
    return rc;
}

bool pl_mpi_new(double timeout_seconds, pl_comm **out, pl_err *err)
{
    bool owns = false;
    if (!(timeout_seconds > 0))
        return pl_err_set(err, PL_EUSAGE, "time-out of %g s: must be positive", timeout_seconds);
    PL_TRY(init_mpi(&owns, err));
    pl_arena *a = pl_arena_new("MPI rank");
    transport *c = PL_NEW(a, transport);
    c->head = (pl_comm){ .ops = &ops, .timeout_seconds = timeout_seconds };
    c->arena = a;
    c->owns_mpi = owns;
    c->piece = PIECE;
    c->open.prev = c->open.next = &c->open;
    MPI_Comm world;
    int rc = fill_transport(c, &world);
    if (rc != MPI_SUCCESS) {
        pl_arena_free(a);
        return set_mpi_error(err, "MPI_Comm_dup", rc);
    }
    int *all = PL_NEW_N(a, int, c->head.size);
    for (int r = 0; r < c->head.size; r++) all[r] = r;
    *out = &c->head;
    return add_group(c, world, c->head.size, all, &c->head.world);
}

void pl_mpi_set_piece(pl_comm *c, int elements)
{
    ((transport *)c)->piece = elements;
}
