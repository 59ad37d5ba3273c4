#include "run/request.h"

#include <stdio.h>

static const char *const monoid_names[PL_N_MONOIDS] = { "sum", "max", "min" };

/* "all-reduce of 'h0.w'"; a long label is cut so that the numbers behind it stay. */
static void print_subject(const pl_message *m, char *text, size_t size)
{
    const char *kind = pl_collective_name(m->kind);
    if (m->label)
        snprintf(text, size, "%s of '%.64s'", kind, m->label);
    else
        snprintf(text, size, "%s", kind);
}

void pl_request_text(const pl_message *m, const pl_group *g, char text[PL_REQUEST_TEXT])
{
    char subject[96];
    print_subject(m, subject, sizeof subject);
    long long count = (long long)m->count;
    const char *ranks = g->n == 1 ? "rank" : "ranks";
    if (m->kind == PL_BARRIER)
        snprintf(text, PL_REQUEST_TEXT, "%s (%d %s)", subject, g->n, ranks);
    else if (m->kind == PL_SEND || m->kind == PL_RECV)
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s, %s rank %d)", subject, count,
                 pl_type_name(m->type), m->kind == PL_SEND ? "to" : "from", g->rank[m->peer]);
    else
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s, %d %s)", subject, count,
                 pl_type_name(m->type), g->n, ranks);
}

void pl_request_brief(const pl_message *m, char text[PL_REQUEST_TEXT])
{
    char subject[96], extra[32] = "";
    print_subject(m, subject, sizeof subject);
    bool reduces = m->kind == PL_ALL_REDUCE || m->kind == PL_REDUCE_SCATTER;
    if (reduces && m->monoid != PL_SUM)
        snprintf(extra, sizeof extra, ", %s", monoid_names[m->monoid]);
    if (m->kind == PL_BROADCAST) snprintf(extra, sizeof extra, ", root %d", m->peer);
    if (m->kind == PL_BARRIER)
        snprintf(text, PL_REQUEST_TEXT, "%s", subject);
    else
        snprintf(text, PL_REQUEST_TEXT, "%s (%lld %s%s)", subject, (long long)m->count,
                 pl_type_name(m->type), extra);
}

bool pl_request_in(const pl_request *r, pl_err *err)
{
    char text[PL_REQUEST_TEXT];
    pl_request_text(&r->m, r->group, text);
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
