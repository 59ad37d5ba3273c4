/* The judge of schedules: plays the actions one by one from the definition in evict.h, with a naive
 * sum over all values. Uses nothing of the policies. */
#include "evict/evict.h"

#include <math.h>

/* Of each value; bytes and host only of one with storage of its own. */
typedef struct state {
    bool *here, *kept;   /* usable now; remembered on the host          */
    bool *copied;        /* its storage is on the host, or on the way   */
    double *ready, *out; /* when what comes in, or goes out, is through */
    int *runs;           /* of each op                                  */
    double now, out_free, in_free, compute;
    int64_t peak, copied_bytes;
    int next; /* op that runs next for the first time */
} state;

static int root_of(const pl_evict_problem *p, int v)
{
    while (p->view_of && p->view_of[v] >= 0) v = p->view_of[v];
    return v;
}

static bool is_pinned(const pl_evict_problem *p, int root)
{
    for (int v = 0; v < p->n_value; v++)
        if (p->keep && (p->keep[v] & PL_EVICT_PINNED) && root_of(p, v) == root) return true;
    return false;
}

static bool take(const pl_evict_problem *p, int64_t budget, state *s, int64_t more, int at,
                 pl_err *err)
{
    int64_t sum = more;
    for (int v = 0; v < p->n_value; v++)
        if (s->here[v]) sum += p->bytes[v]; /* a view has none */
    if (sum > budget)
        return pl_err_set(err, PL_EMISMATCH, "action %d: %lld bytes are present, of %lld", at,
                          (long long)sum, (long long)budget);
    if (sum > s->peak) s->peak = sum;
    return true;
}

static bool run(const pl_evict_problem *p, int64_t budget, state *s, int t, int at, pl_err *err)
{
    if (t < 0 || t >= p->n_op)
        return pl_err_set(err, PL_EMISMATCH, "action %d: there is no op %d", at, t);
    if (t > s->next)
        return pl_err_set(err, PL_EMISMATCH, "action %d: op %d runs before op %d did", at, t,
                          s->next);
    if (s->runs[t] && p->once && p->once[t])
        return pl_err_set(err, PL_EMISMATCH, "action %d: op %d can not run again", at, t);
    if (p->most_runs && s->runs[t] >= p->most_runs)
        return pl_err_set(err, PL_EMISMATCH, "action %d: op %d runs more than %d times", at, t,
                          p->most_runs);
    for (int k = p->read_at[t]; k < p->read_at[t + 1]; k++) {
        int v = p->read[k];
        if (!s->here[v])
            return pl_err_set(err, PL_EMISMATCH, "action %d: op %d reads value %d, not there", at,
                              t, v);
        s->now = fmax(s->now, s->ready[root_of(p, v)]);
    }
    int64_t made = 0;
    for (int v = 0; v < p->n_value; v++)
        if (p->maker[v] == t) made += p->bytes[v];
    PL_TRY(take(p, budget, s, made, at, err));
    for (int v = 0; v < p->n_value; v++)
        if (p->maker[v] == t) s->here[v] = true;
    s->now += p->seconds[t];
    s->compute += p->seconds[t];
    s->next += s->runs[t]++ == 0;
    return true;
}

static bool move(const pl_evict_problem *p, int64_t budget, state *s, pl_evict_action a, int at,
                 pl_err *err)
{
    int v = a.what;
    if (v < 0 || v >= p->n_value || root_of(p, v) != v)
        return pl_err_set(err, PL_EMISMATCH, "action %d: value %d has no storage", at, v);
    if (a.act != PL_EVICT_IN && !s->here[v])
        return pl_err_set(err, PL_EMISMATCH, "action %d: value %d is not there", at, v);
    if (a.act == PL_EVICT_DROP) {
        if (is_pinned(p, v))
            return pl_err_set(err, PL_EMISMATCH, "action %d: value %d is pinned", at, v);
        s->now = fmax(s->now, fmax(s->out[v], s->ready[v]));
        for (int x = 0; x < p->n_value; x++)
            if (root_of(p, x) == v) s->here[x] = false;
        return true;
    }
    if (p->out_bytes_per_s <= 0)
        return pl_err_set(err, PL_EMISMATCH, "action %d: a copy, and there is no link", at);
    s->copied_bytes += p->bytes[v];
    if (a.act == PL_EVICT_OUT) {
        double from = fmax(fmax(s->now, s->ready[v]), s->out_free);
        s->out_free = s->out[v] = from + (double)p->bytes[v] / p->out_bytes_per_s;
        s->copied[v] = true;
        for (int x = 0; x < p->n_value; x++)
            if (root_of(p, x) == v) s->kept[x] = s->here[x];
        return true;
    }
    if (!s->copied[v] || s->here[v])
        return pl_err_set(err, PL_EMISMATCH, "action %d: value %d comes in and %s", at, v,
                          s->here[v] ? "is there" : "was never copied out");
    PL_TRY(take(p, budget, s, p->bytes[v], at, err));
    double from = fmax(fmax(s->now, s->out[v]), s->in_free);
    s->in_free = s->ready[v] = from + (double)p->bytes[v] / p->in_bytes_per_s;
    for (int x = 0; x < p->n_value; x++)
        if (root_of(p, x) == v) s->here[x] = s->kept[x];
    return true;
}

static bool check_end(const pl_evict_problem *p, state *s, const pl_evict_schedule *said,
                      pl_err *err)
{
    if (s->next < p->n_op) return pl_err_set(err, PL_EMISMATCH, "op %d never runs", s->next);
    for (int v = 0; v < p->n_value; v++) {
        if (!p->keep || !(p->keep[v] & PL_EVICT_AT_END)) continue;
        if (!s->here[v])
            return pl_err_set(err, PL_EMISMATCH, "value %d is not there at the end", v);
        s->now = fmax(s->now, s->ready[root_of(p, v)]);
    }
    if (s->peak != said->peak || s->copied_bytes != said->copied)
        return pl_err_set(err, PL_EMISMATCH,
                          "the peak is %lld bytes and %lld are copied, not %lld and %lld",
                          (long long)s->peak, (long long)s->copied_bytes, (long long)said->peak,
                          (long long)said->copied);
    if (fabs(s->now - said->seconds) > 1e-9 * s->now ||
        fabs(s->compute - said->compute) > 1e-9 * s->compute)
        return pl_err_set(err, PL_EMISMATCH,
                          "it takes %.12g seconds, %.12g of compute, not %.12g "
                          "and %.12g",
                          s->now, s->compute, said->seconds, said->compute);
    return true;
}

static bool check(const pl_evict_problem *p, int64_t budget, const pl_evict_schedule *schedule,
                  pl_arena *tmp, pl_err *err)
{
    state s = { .here = PL_NEW_N(tmp, bool, p->n_value),
                .kept = PL_NEW_N(tmp, bool, p->n_value),
                .copied = PL_NEW_N(tmp, bool, p->n_value),
                .ready = PL_NEW_N(tmp, double, p->n_value),
                .out = PL_NEW_N(tmp, double, p->n_value),
                .runs = PL_NEW_N(tmp, int, p->n_op) };
    for (int v = 0; v < p->n_value; v++) s.here[v] = p->maker[v] < 0;
    PL_TRY(take(p, budget, &s, 0, -1, err));
    for (int i = 0; i < schedule->n; i++) {
        pl_evict_action a = schedule->action[i];
        if (a.act > PL_EVICT_IN)
            return pl_err_set(err, PL_EMISMATCH, "action %d is of kind %d", i, a.act);
        PL_TRY(a.act == PL_EVICT_RUN ? run(p, budget, &s, a.what, i, err)
                                     : move(p, budget, &s, a, i, err));
    }
    return check_end(p, &s, schedule, err);
}

bool pl_evict_check(const pl_evict_problem *problem, int64_t budget,
                    const pl_evict_schedule *schedule, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict check");
    bool ok = check(problem, budget, schedule, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
