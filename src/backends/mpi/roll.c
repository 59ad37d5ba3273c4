#include "backends/mpi/roll.h"

#include "base/clock.h"
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Between two questions to MPI; for answers; after waking, until a roll-call that went on meanwhile
 * must have been heard. */
static const double ask_seconds = 1e-3, window_seconds = 1.0, waking_seconds = 3.0;

typedef struct note {
    int32_t caller; /* it was out of time itself      */
    char what[PL_REQUEST_TEXT];
} note;

struct pl_roll {
    MPI_Comm comm;
    int rank, size;
    double asked;      /* when MPI was last asked                                 */
    double away, woke; /* the last time this rank stood still: how long, until when */
    note *from;        /* [size]                                                  */
    bool *answered;    /* [size]                                                  */
    MPI_Request *sent; /* [size] never waited for: who is stopped may not take it */
};

int pl_roll_new(pl_arena *a, pl_roll **out)
{
    pl_roll *r = PL_NEW(a, pl_roll);
    int rc = MPI_Comm_dup(MPI_COMM_WORLD, &r->comm);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(r->comm, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_rank(r->comm, &r->rank);
    if (rc == MPI_SUCCESS) rc = MPI_Comm_size(r->comm, &r->size);
    if (rc != MPI_SUCCESS) return rc;
    r->from = PL_NEW_N(a, note, r->size);
    r->answered = PL_NEW_N(a, bool, r->size);
    r->sent = PL_NEW_N(a, MPI_Request, r->size);
    r->asked = pl_clock_now();
    *out = r;
    return MPI_SUCCESS;
}

void pl_roll_free(pl_roll *r)
{
    MPI_Comm_free(&r->comm);
}

static bool ask(const pl_roll *r, MPI_Status *status)
{
    int there = 0;
    int rc = MPI_Iprobe(MPI_ANY_SOURCE, 0, r->comm, &there, status);
    return rc == MPI_SUCCESS && there;
}

bool pl_roll_heard(pl_roll *r, double now)
{
    MPI_Status status;
    if (now - r->asked < ask_seconds) return false;
    if (now - r->asked > window_seconds) {
        r->away = now - r->asked;
        r->woke = now;
    }
    r->asked = now;
    return ask(r, &status);
}

bool pl_roll_was_away(const pl_roll *r)
{
    return r->away > 0 && r->asked - r->woke < waking_seconds;
}

static void send_notes(pl_roll *r)
{
    for (int to = 0; to < r->size; to++)
        if (to != r->rank)
            MPI_Isend(&r->from[r->rank], (int)sizeof(note), MPI_BYTE, to, 0, r->comm, &r->sent[to]);
}

/* Until everybody has answered or the window is over. */
static void collect_notes(pl_roll *r)
{
    double end = pl_clock_now() + window_seconds;
    MPI_Status status;
    int missing = r->size - 1;
    while (missing && pl_clock_now() < end) {
        if (!ask(r, &status)) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
            continue;
        }
        int from = status.MPI_SOURCE;
        MPI_Recv(&r->from[from], (int)sizeof(note), MPI_BYTE, from, 0, r->comm, MPI_STATUS_IGNORE);
        r->from[from].what[PL_REQUEST_TEXT - 1] = '\0';
        missing -= !r->answered[from];
        r->answered[from] = true;
    }
}

/* Everybody is there, so the program is wrong or slow: where is each? */
static void print_places(const pl_roll *r, pl_err *err)
{
    size_t at = strlen(err->msg);
    for (int i = 0; i < r->size && at < sizeof err->msg; i++)
        at += (size_t)snprintf(err->msg + at, sizeof err->msg - at, "%s rank %d in %s",
                               i ? ";" : ":", i, r->from[i].what);
}

bool pl_roll_take(pl_roll *r, const pl_request *oldest, bool caller, double timeout_seconds,
                  pl_err *err)
{
    note *mine = &r->from[r->rank];
    mine->caller = caller;
    snprintf(mine->what, sizeof mine->what, "no message");
    if (oldest) pl_request_text(&oldest->m, oldest->group, mine->what);
    r->answered[r->rank] = true;
    send_notes(r);
    collect_notes(r);

    /* The lowest rank that was out of time: its message is the one named everywhere. */
    int first = 0;
    while (first < r->size && !(r->answered[first] && r->from[first].caller)) first++;
    if (first == r->size) first = r->rank;
    char missing[PL_REQUEST_RANKS], there[PL_REQUEST_RANKS];
    if (pl_roll_was_away(r))
        return pl_err_set(err, PL_ERUN, "%s: rank %d was away for %.1f s and was given up",
                          r->from[first].what, r->rank, r->away);
    int lost = pl_request_ranks(r->size, r->answered, false, missing);
    pl_request_ranks(r->size, r->answered, true, there);
    if (lost)
        return pl_err_set(err, PL_ERUN, "%s: no answer from %s within %g s (%s answered)",
                          r->from[first].what, missing, timeout_seconds, there);
    pl_err_set(err, PL_ERUN, "%s: not finished within %g s although %s answered",
               r->from[first].what, timeout_seconds, there);
    print_places(r, err);
    return false;
}
