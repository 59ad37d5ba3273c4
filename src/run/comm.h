/* run/comm.h - messages between ranks: one small interface, a transport behind it.
 *
 * A transport (backends/local: ranks are threads; backends/mpi) fills a pl_comm_ops. Everything is
 * non-blocking: start gives a request, test makes it progress and says whether it is done. Nothing
 * progresses outside test and poll, so whoever has a request open must keep calling (run/lane.c
 * does, on its own thread). All members of a group start the same collectives on it in the same
 * order.
 *
 * One thread at a time uses a pl_comm.
 * Reductions combine in rank order: the same ranks and inputs give the same bits.
 * Time-outs: test fails with PL_ERUN when a request has been open for longer than timeout_seconds,
 * naming the ranks that did not arrive, the collective and the tensor (pl_message.label). After a
 * failure the pl_comm can only be freed or aborted. */
#ifndef PL_RUN_COMM_H
#define PL_RUN_COMM_H
#include "base/bell.h"
#include "base/collective.h"
#include "base/err.h"
#include "graph/type.h"

/* send == recv is allowed (in place) for all-reduce and broadcast. Buffers belong to the caller and
 * are touched by the transport from start until test says done. */
typedef struct pl_message {
    pl_collective kind;
    pl_type type;
    pl_monoid monoid;   /* of the reductions; sums of bf16 are made in f32       */
    int64_t count;      /* elements, see pl_collective                         */
    const void *send;
    void *recv;
    int peer;           /* position in the group: root, destination or source    */
    const char *label;  /* the tensor, for messages; kept, not copied            */
} pl_message;

/* Books of one rank: what was asked for, and the bytes that a bandwidth-optimal algorithm makes a
 * rank receive: all-reduce 2(n-1)/n of the buffer, all-gather n-1 blocks ... (pl_message_bytes). */
typedef struct pl_comm_count {
    int64_t calls[PL_N_COLLECTIVES], bytes[PL_N_COLLECTIVES];
} pl_comm_count;

typedef struct pl_comm pl_comm;       /* one rank's end of a transport             */
typedef struct pl_group pl_group;     /* a subset of ranks, in order               */
typedef struct pl_request pl_request; /* a message under way; owned by the group   */

typedef struct pl_comm_ops {
    const char *name; /* "local" */
    /* Collective over all ranks of the comm that stand in ranks[0..n): ascending ranks. The group
     * lives as long as the comm. */
    bool (*group)(pl_comm *comm, int n, const int ranks[], pl_group **out, pl_err *err);
    bool (*start)(pl_comm *comm, pl_group *group, const pl_message *message, pl_request **out,
                  pl_err *err);
    /* Progress; *done true ends the request (do not test it again). */
    bool (*test)(pl_comm *comm, pl_request *request, bool *done, pl_err *err);
    /* Nothing open here, yet peers may need an answer (a roll-call after a time-out). Cheap. */
    bool (*poll)(pl_comm *comm, pl_err *err);
    /* Give up for everybody: peers that wait fail soon instead of at their time-out. Under a
     * launcher this ends the process with exit code `code`. */
    void (*abort)(pl_comm *comm, int code);
    void (*free)(pl_comm *comm);
} pl_comm_ops;

/* The head of every transport's own struct. */
struct pl_comm {
    const pl_comm_ops *ops;
    int rank, size;
    double timeout_seconds;
    pl_group *world;        /* all ranks */
    pl_comm_count count;
    bool given_up;          /* by the others: this rank was stopped and woken after a failure */
    pl_bell *bell;          /* rings when test or poll may find something; NULL: nobody says so  */
};

/* Head of every transport's group. */
struct pl_group {
    int n, me;              /* members; my position  */
    int *rank;              /* [n] ranks in the comm */
};

/* What callers use: they check arguments, keep the books, add "all-reduce of 'name'" to errors. */
PL_MUST_CHECK bool pl_comm_group(pl_comm *comm, int n, const int ranks[], pl_group **out,
                                 pl_err *err);
PL_MUST_CHECK bool pl_comm_start(pl_comm *comm, pl_group *group, const pl_message *message,
                                 pl_request **out, pl_err *err);
PL_MUST_CHECK bool pl_comm_test(pl_comm *comm, pl_request *request, bool *done, pl_err *err);
/* Start it and wait for its end. */
PL_MUST_CHECK bool pl_comm_run(pl_comm *comm, pl_group *group, const pl_message *message,
                               pl_err *err);

/* Ranks agree on the worst error code: when any rank has one, every rank returns false, holding the
 * message of the lowest rank with the worst code ("rank 1: ..."). Called at step borders. */
PL_MUST_CHECK bool pl_comm_agree(pl_comm *comm, pl_err *err);

/* The same, and in the same message they agree on a wish: *wish, 0 to PL_COMM_WISHES - 1, becomes
 * the largest of all ranks; 0 after an error. */
enum { PL_COMM_WISHES = 1 << 16 };
PL_MUST_CHECK bool pl_comm_agree_wish(pl_comm *comm, int *wish, pl_err *err);

void pl_comm_free(pl_comm *comm);

/* Bytes that this member of a group receives under a bandwidth-optimal algorithm. */
int64_t pl_message_bytes(const pl_message *message, const pl_group *group);

#endif
