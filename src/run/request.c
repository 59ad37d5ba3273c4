/* The words for a message in failures: what, how much, whose. */
#include "run/request.h"

#include <stdio.h>

static const char *const monoid_names[PL_N_MONOIDS] = { "sum", "max", "min" };

/* "all-reduce of 'h0.w'"; a long label is cut so that the numbers behind it stay. */
static void print_subject(const pl_message *message, char *text, size_t size)
{
    const char *kind = pl_collective_name(message->kind);
    if (message->label)
        snprintf(text, size, "%s of '%.64s'", kind, message->label);
    else
        snprintf(text, size, "%s", kind);
}

void pl_request_text(const pl_message *message, const pl_group *group, char text[PL_REQUEST_TEXT])
{
    char subject[96];
    print_subject(message, subject, sizeof subject);
    long long count = (long long)message->count;
    const char *ranks = group->n == 1 ? "rank" : "ranks";
    if (message->kind == PL_BARRIER)
        snprintf(text, PL_REQUEST_TEXT, "%s (%d %s)", subject, group->n, ranks);
    else if (message->kind == PL_SEND || message->kind == PL_RECV)
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s, %s rank %d)", subject, count,
                 pl_type_name(message->type), message->kind == PL_SEND ? "to" : "from",
                 group->rank[message->peer]);
    else
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s, %d %s)", subject, count,
                 pl_type_name(message->type), group->n, ranks);
}

void pl_request_brief(const pl_message *message, char text[PL_REQUEST_TEXT])
{
    char subject[96], extra[32] = "";
    print_subject(message, subject, sizeof subject);
    bool reduces = message->kind == PL_ALL_REDUCE || message->kind == PL_REDUCE_SCATTER;
    if (reduces && message->monoid != PL_SUM)
        snprintf(extra, sizeof extra, ", %s", monoid_names[message->monoid]);
    if (message->kind == PL_BROADCAST) snprintf(extra, sizeof extra, ", root %d", message->peer);
    if (message->kind == PL_BARRIER)
        snprintf(text, PL_REQUEST_TEXT, "%s", subject);
    else
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s%s)", subject, (long long)message->count,
                 pl_type_name(message->type), extra);
}

bool pl_request_in(const pl_request *request, pl_err *err)
{
    char text[PL_REQUEST_TEXT];
    pl_request_text(&request->m, request->group, text);
    return pl_err_in(err, "%s", text);
}

int pl_request_ranks(int n, const bool in[], bool want, char text[PL_REQUEST_RANKS])
{
    enum { LISTED = 16 };
    int found = 0, at = 0, only = -1;
    for (int r = 0; r < n; r++) {
        if (in[r] != want) continue;
        only = r;
        if (found < LISTED)
            at += snprintf(text + at, (size_t)(PL_REQUEST_RANKS - at), found ? ", %d" : "ranks %d",
                           r);
        found++;
    }
    if (found > LISTED)
        snprintf(text + at, (size_t)(PL_REQUEST_RANKS - at), " and %d more", found - LISTED);
    if (found == 1) snprintf(text, PL_REQUEST_RANKS, "rank %d", only);
    if (found == 0) snprintf(text, PL_REQUEST_RANKS, "no rank");
    return found;
}
