/* The rules of a problem (evict.h), each with its numbers in the message. */
#include "evict/evict.h"

#include <math.h>

static bool check_ops(const pl_evict_problem *p, pl_err *err)
{
    if (p->n_op < 1 || p->n_value < 1)
        return pl_err_set(err, PL_EINPUT, "%d ops and %d values: there has to be one of each",
                          p->n_op, p->n_value);
    for (int t = 0; t < p->n_op; t++)
        if (!(p->seconds[t] >= 0) || !isfinite(p->seconds[t]))
            return pl_err_set(err, PL_EINPUT, "op %d takes %g seconds", t, p->seconds[t]);
    if (!(p->out_bytes_per_s >= 0) || !(p->in_bytes_per_s >= 0) ||
        (p->out_bytes_per_s > 0) != (p->in_bytes_per_s > 0) || !isfinite(p->out_bytes_per_s) ||
        !isfinite(p->in_bytes_per_s))
        return pl_err_set(err, PL_EINPUT,
                          "a link of %g bytes/s out and %g in: give both above 0, or both 0",
                          p->out_bytes_per_s, p->in_bytes_per_s);
    if (p->most_runs < 0)
        return pl_err_set(err, PL_EINPUT, "an op may run at most %d times", p->most_runs);
    return true;
}

static bool check_view(const pl_evict_problem *p, int v, pl_err *err)
{
    int of = p->view_of[v];
    if (of < -1 || of >= p->n_value || of == v)
        return pl_err_set(err, PL_EINPUT, "value %d is a view of value %d, of %d", v, of,
                          p->n_value);
    if (of < 0) return true;
    if (p->maker[v] < 0 || p->maker[of] >= p->maker[v])
        return pl_err_set(err, PL_EINPUT, "value %d (op %d) is a view of value %d (op %d)", v,
                          p->maker[v], of, p->maker[of]);
    bool reads = false;
    for (int k = p->read_at[p->maker[v]]; k < p->read_at[p->maker[v] + 1]; k++)
        reads = reads || p->read[k] == of;
    if (!reads)
        return pl_err_set(err, PL_EINPUT, "op %d makes value %d, a view of value %d, unread",
                          p->maker[v], v, of);
    if (p->bytes[v] != 0)
        return pl_err_set(err, PL_EINPUT, "value %d is a view and has %lld bytes of its own", v,
                          (long long)p->bytes[v]);
    return true;
}

static bool check_values(const pl_evict_problem *p, pl_err *err)
{
    int64_t sum = 0;
    for (int v = 0; v < p->n_value; v++) {
        if (p->bytes[v] < 0 || p->bytes[v] > INT64_MAX / 4 - sum)
            return pl_err_set(err, PL_EINPUT, "value %d of %lld bytes: all are at most %lld", v,
                              (long long)p->bytes[v], (long long)(INT64_MAX / 4));
        sum += p->bytes[v];
        if (p->maker[v] < -1 || p->maker[v] >= p->n_op)
            return pl_err_set(err, PL_EINPUT, "value %d is made by op %d of %d", v, p->maker[v],
                              p->n_op);
        if (p->keep && p->keep[v] > (PL_EVICT_AT_END | PL_EVICT_PINNED))
            return pl_err_set(err, PL_EINPUT, "value %d: keep is %d", v, p->keep[v]);
        if (p->held && (p->held[v] < 0 || p->held[v] > p->n_op))
            return pl_err_set(err, PL_EINPUT, "value %d is held until op %d of %d", v, p->held[v],
                              p->n_op);
    }
    return true;
}

static bool check_reads(const pl_evict_problem *p, pl_arena *tmp, pl_err *err)
{
    int *seen = PL_NEW_N(tmp, int, p->n_value);
    if (p->read_at[0] != 0)
        return pl_err_set(err, PL_EINPUT, "the reads start at %d, not 0", p->read_at[0]);
    for (int t = 0; t < p->n_op; t++) {
        if (p->read_at[t + 1] < p->read_at[t])
            return pl_err_set(err, PL_EINPUT, "the reads of op %d end at %d, before %d", t,
                              p->read_at[t + 1], p->read_at[t]);
        for (int k = p->read_at[t]; k < p->read_at[t + 1]; k++) {
            int v = p->read[k];
            if (v < 0 || v >= p->n_value)
                return pl_err_set(err, PL_EINPUT, "op %d reads value %d of %d", t, v, p->n_value);
            if (p->maker[v] >= t)
                return pl_err_set(err, PL_EINPUT, "op %d reads value %d, which op %d makes", t, v,
                                  p->maker[v]);
            if (seen[v] == t + 1)
                return pl_err_set(err, PL_EINPUT, "op %d reads value %d twice", t, v);
            seen[v] = t + 1;
        }
    }
    return true;
}

/* An op that makes views makes nothing else, and all of one storage. */
static bool check_view_ops(const pl_evict_problem *p, pl_arena *tmp, pl_err *err)
{
    int *of = PL_NEW_N(tmp, int, p->n_op), *first = PL_NEW_N(tmp, int, p->n_op);
    for (int t = 0; t < p->n_op; t++) of[t] = -2;
    for (int v = 0; v < p->n_value; v++) {
        int t = p->maker[v];
        if (t < 0) continue;
        if (of[t] == -2) {
            of[t] = p->view_of[v];
            first[t] = v;
        } else if (of[t] != p->view_of[v]) {
            return pl_err_set(err, PL_EINPUT,
                              "op %d makes values %d and %d, of which one is a view of value %d", t,
                              first[t], v, of[t] < 0 ? p->view_of[v] : of[t]);
        }
    }
    return true;
}

static bool validate(const pl_evict_problem *p, pl_arena *tmp, pl_err *err)
{
    PL_TRY(check_ops(p, err));
    PL_TRY(check_values(p, err));
    PL_TRY(check_reads(p, tmp, err));
    if (!p->view_of) return true;
    for (int v = 0; v < p->n_value; v++) PL_TRY(check_view(p, v, err));
    return check_view_ops(p, tmp, err);
}

bool pl_evict_validate(const pl_evict_problem *problem, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict validate");
    bool ok = validate(problem, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
