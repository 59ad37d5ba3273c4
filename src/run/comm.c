/* What transports have in common: pl_comm_start() checks a message before a transport sees it
 * and keeps the books; agree() finds the worst error of all ranks with one all-reduce and one
 * broadcast. */
#include "run/comm.h"

#include "run/progress.h"
#include "run/request.h"

#include <stdio.h>
#include <string.h>

/* What a kind needs. `sends` and `receives` say how many times `count` elements the buffers hold: 0
 * none, 1 one block, 2 a block for every member. */
static const struct {
    int sends, receives;
    bool reduces, in_place, has_peer;
} kinds[PL_N_COLLECTIVES] = {
    [PL_ALL_REDUCE] = { 1, 1, true, true, false },
    [PL_ALL_GATHER] = { 1, 2, false, false, false },
    [PL_REDUCE_SCATTER] = { 2, 1, true, false, false },
    [PL_ALL_TO_ALL] = { 2, 2, false, false, false },
    [PL_BROADCAST] = { 1, 1, false, true, true },
    [PL_SEND] = { 1, 0, false, false, true },
    [PL_RECV] = { 0, 1, false, false, true },
    [PL_BARRIER] = { 0, 0, false, false, false },
};

int64_t pl_message_bytes(const pl_message *message, const pl_group *group)
{
    int64_t size = pl_type_bytes(message->type), block = message->count * size,
            others = group->n - 1;
    switch (message->kind) {
    case PL_ALL_REDUCE: return 2 * others * message->count / group->n * size;
    case PL_ALL_GATHER:
    case PL_REDUCE_SCATTER:
    case PL_ALL_TO_ALL: return others * block;
    case PL_BROADCAST: return message->peer != group->me ? block : 0;
    case PL_RECV: return block;
    default: break;
    }
    return 0;
}

bool pl_comm_group(pl_comm *comm, int n, const int ranks[], pl_group **out, pl_err *err)
{
    bool member = false;
    if (n < 1 || n > comm->size)
        return pl_err_set(err, PL_EINTERNAL, "group of %d of %d ranks", n, comm->size);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return pl_err_set(err, PL_EINTERNAL,
                              "group: rank %d at position %d; there are %d ranks", ranks[i], i,
                              comm->size);
        if (i && ranks[i] <= ranks[i - 1])
            return pl_err_set(err, PL_EINTERNAL,
                              "group: rank %d follows rank %d at position %d; ranks must ascend",
                              ranks[i], ranks[i - 1], i);
        member |= ranks[i] == comm->rank;
    }
    if (!member)
        return pl_err_set(err, PL_EINTERNAL, "group of %d ranks made by rank %d, not a member", n,
                          comm->rank);
    if (!comm->ops->group(comm, n, ranks, out, err))
        return pl_err_in(err, "group of %d of %d ranks (%s)", n, comm->size, comm->ops->name);
    return true;
}

/* Two buffers share memory. */
static bool overlaps(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_bytes > 0 && b_bytes > 0 && x < y + (uintptr_t)b_bytes && y < x + (uintptr_t)a_bytes;
}

static bool check_buffers(const pl_group *group, const pl_message *message, pl_err *err)
{
    enum { NONE = 0, EACH = 2 };
    int sends = kinds[message->kind].sends, receives = kinds[message->kind].receives;
    if (message->kind == PL_BROADCAST && message->peer != group->me) sends = NONE;
    int64_t block = message->count * pl_type_bytes(message->type);
    int64_t out = sends == EACH ? block * group->n : block * sends;
    int64_t in = receives == EACH ? block * group->n : block * receives;
    if ((out > 0 && !message->send) || (in > 0 && !message->recv))
        return pl_err_set(err, PL_EINTERNAL, "no %s buffer (%lld bytes)",
                          out > 0 && !message->send ? "send" : "receive",
                          (long long)(out > 0 && !message->send ? out : in));
    if (kinds[message->kind].in_place && message->send == message->recv) return true;
    if (overlaps(message->send, out, message->recv, in))
        return pl_err_set(err, PL_EINTERNAL,
                          "the send buffer (%lld bytes) and the receive buffer "
                          "(%lld bytes) overlap",
                          (long long)out, (long long)in);
    return true;
}

static bool check_message(const pl_group *group, const pl_message *message, pl_err *err)
{
    /* The bound keeps every byte count below, 2 n count bytes at most, inside an int64_t. */
    int64_t most = INT64_MAX / (2 * group->n * pl_type_bytes(message->type));
    if (message->count < 0 || message->count > most)
        return pl_err_set(err, PL_EINTERNAL, "%lld elements", (long long)message->count);
    if (kinds[message->kind].reduces && (unsigned)message->monoid >= PL_N_MONOIDS)
        return pl_err_set(err, PL_EINTERNAL, "monoid %d does not exist", (int)message->monoid);
    return check_buffers(group, message, err);
}

bool pl_comm_start(pl_comm *comm, pl_group *group, const pl_message *message, pl_request **out,
                   pl_err *err)
{
    if (!pl_collective_is_message(message->kind) || (unsigned)message->type >= PL_N_TYPES)
        return pl_err_set(err, PL_EINTERNAL, "message of kind %d and type %d", (int)message->kind,
                          (int)message->type);
    if (kinds[message->kind].has_peer && (message->peer < 0 || message->peer >= group->n))
        return pl_err_set(err, PL_EINTERNAL, "%s of '%s': peer %d of a group of %d",
                          pl_collective_name(message->kind), message->label ? message->label : "",
                          message->peer, group->n);
    if (!check_message(group, message, err) || !comm->ops->start(comm, group, message, out, err)) {
        char text[PL_REQUEST_TEXT];
        pl_request_text(message, group, text);
        return pl_err_in(err, "%s", text);
    }
    comm->count.calls[message->kind]++;
    comm->count.bytes[message->kind] += pl_message_bytes(message, group);
    return true;
}

/* The transport names the message itself: a failure may have begun in another rank's message. */
bool pl_comm_test(pl_comm *comm, pl_request *request, bool *done, pl_err *err)
{
    return comm->ops->test(comm, request, done, err);
}

bool pl_comm_run(pl_comm *comm, pl_group *group, const pl_message *message, pl_err *err)
{
    pl_request *r;
    pl_wait w = { .bell = comm->bell };
    bool done = false;
    PL_TRY(pl_comm_start(comm, group, message, &r, err));
    for (;; pl_back_off(&w)) {
        PL_TRY(pl_comm_test(comm, r, &done, err));
        if (done) return true;
    }
}

/* Worst code and the lowest rank that has it, in one all-reduce of max: code in the upper half, the
 * rank counted from the end in the lower; then that rank's words. Without an error nobody asks for
 * the rank, and the lower half is the wish. */
static bool agree(pl_comm *comm, const pl_err *mine, int *wish, pl_err *worst, pl_err *err)
{
    int64_t key = mine->code ? (int64_t)mine->code << 32 | (comm->size - 1 - comm->rank) : *wish;
    pl_message m = { .kind = PL_ALL_REDUCE,
                     .type = PL_I64,
                     .monoid = PL_MAX,
                     .count = 1,
                     .send = &key,
                     .recv = &key,
                     .label = "error code" };
    PL_TRY(pl_comm_run(comm, comm->world, &m, err));
    worst->code = (pl_code)(key >> 32);
    *wish = worst->code ? 0 : (int)key;
    if (worst->code == PL_OK) return true;

    int root = comm->size - 1 - (int)(key & INT32_MAX);
    if (comm->rank == root) {
        *worst = *mine;
        pl_err_in(worst, "rank %d", comm->rank);
    }
    m = (pl_message){ .kind = PL_BROADCAST,
                      .type = PL_U8,
                      .count = sizeof worst->msg,
                      .peer = root,
                      .send = worst->msg,
                      .recv = worst->msg,
                      .label = "error message" };
    return pl_comm_run(comm, comm->world, &m, err);
}

bool pl_comm_agree(pl_comm *comm, pl_err *err)
{
    int wish = 0;
    return pl_comm_agree_wish(comm, &wish, err);
}

bool pl_comm_agree_wish(pl_comm *comm, int *wish, pl_err *err)
{
    PL_ASSERT(*wish >= 0 && *wish < PL_COMM_WISHES);
    /* The books are those of the program; this is not part of it. */
    pl_comm_count books = comm->count;
    pl_err worst = { 0 }, lost = { 0 };
    bool ok = agree(comm, err, wish, &worst, &lost);
    comm->count = books;
    if (!ok) {
        if (!err->code) *err = lost;
        return false;
    }
    if (worst.code) *err = worst;
    return !worst.code;
}

void pl_comm_free(pl_comm *comm)
{
    if (comm) comm->ops->free(comm);
}
