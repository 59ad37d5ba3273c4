#include "api/evictions.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "policies/policy.h"

#include <stdio.h>
#include <string.h>

typedef struct study {
    pl_evictions *e;
    const pl_watch *watch;
    int n_rows;
    pl_arena *arena;
} study;

/* -- rows -------------------------------------------------------------------------------------- */

bool pl_evictions_shares(const char *text, pl_evictions *out, pl_err *err)
{
    *out = (pl_evictions){ 0 };
    for (const char *at = text; at; at = pl_text_after(at, ',')) {
        char part[32];
        double share;
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, ","), at);
        if (!pl_text_real(part, &share) || !(share > 0) || share > 1)
            return pl_err_set(err, PL_EUSAGE, "a budget of '%s' is no share of the memory, 0 to 1",
                              part);
        if (out->n_budgets == PL_EVICTIONS_BUDGETS)
            return pl_err_set(err, PL_EUSAGE, "more than %d budgets", PL_EVICTIONS_BUDGETS);
        out->share[out->n_budgets++] = share;
    }
    return true;
}

static bool check_row(const study *s, const pl_evictions_row *r, pl_err *err)
{
    const pl_evictions *e = s->e;
    for (int i = 0; i < e->n_budgets; i++)
        if (r->schedule[i].n &&
            !pl_evict_check(&e->problem.problem, e->budget[i], &r->schedule[i], err))
            return pl_err_in(err, "%s, %lld bytes", r->policy, (long long)e->budget[i]);
    return true;
}

static bool add_row(study *s, const char *label, const pl_evict_options *o, pl_err *err)
{
    pl_evictions *e = s->e;
    pl_evictions_row *r = &e->at[e->n++];
    pl_err why = { 0 };
    PL_ASSERT_CMP(e->n, <=, PL_EVICTIONS_ROWS);
    *r = (pl_evictions_row){ .policy = label };
    pl_watch_tell(s->watch, pl_arena_fmt(s->arena, "evicting as %s", label), e->n, s->n_rows);
    const double start = pl_clock_now();
    const bool ok = pl_evict_sweep(&e->problem.problem, o, e->n_budgets, e->budget, s->arena,
                                   r->schedule, &why);
    r->took = pl_clock_now() - start;
    if (!ok && why.code != PL_EUNSUPPORTED) return pl_err_set(err, why.code, "%s", why.msg);
    if (!ok) r->why = pl_arena_text(s->arena, why.msg);
    return check_row(s, r, err);
}

static bool has_link(const pl_evictions *e)
{
    return e->problem.problem.out_bytes_per_s > 0;
}

static bool add_ours(study *s, pl_err *err)
{
    pl_evict_options o = { .effort = PL_EVICTION_EFFORT, .stretches = PL_EVICTION_STRETCHES };
    PL_TRY(add_row(s, "pleat", &o, err));
    if (!has_link(s->e)) return true;
    o.no_copies = true;
    PL_TRY(add_row(s, "pleat, no copies", &o, err));
    o.no_copies = false, o.no_recompute = true;
    return add_row(s, "pleat, copies alone", &o, err);
}

/* Neither ours nor the one that does nothing. */
static bool is_other(const pl_evict_policy *p)
{
    return p->find != pl_evict_policy_pleat && p->find != pl_evict_policy_given;
}

bool pl_evictions_study(const pl_found *found, const pl_watch *watch, pl_arena *out,
                        pl_evictions *e, pl_err *err)
{
    const pl_candidate *k = found->take;
    const pl_speed speed = pl_speed_of(found->strategy.cluster);
    e->plan = k->plan;
    e->problem = pl_eviction_make(k->program, &speed, found->host_limit, out);
    study s = { .e = e, .watch = watch, .n_rows = has_link(e) ? 3 : 1, .arena = out };
    for (int i = 0; i < e->n_budgets; i++)
        e->budget[i] = (int64_t)(e->share[i] * (double)e->problem.facts.peak);
    for (const pl_evict_policy *p = pl_evict_policy_table; p->name; p++) s.n_rows += is_other(p);
    bool ok = add_ours(&s, err);
    for (const pl_evict_policy *p = pl_evict_policy_table; ok && p->name; p++)
        if (is_other(p)) ok = add_row(&s, p->name, &(pl_evict_options){ .policy = p->name }, err);
    pl_watch_tell(watch, NULL, 0, 0);
    return ok;
}

/* -- telling ----------------------------------------------------------------------------------- */

static double overhead(const pl_evictions *e, double seconds)
{
    return seconds / e->problem.facts.seconds;
}

static void add_budgets(const pl_evictions *e, const char *label, const pl_evictions_row *r,
                        bool bound, pl_table *t)
{
    pl_text line = { .arena = t->arena };
    pl_text_add(&line, "  %s", label);
    for (int i = 0; i < e->n_budgets; i++) {
        const pl_evict_schedule *s = &r->schedule[i];
        if (s->n)
            pl_text_add(&line, "\t%.3f", overhead(e, bound ? s->bound : s->seconds));
        else
            pl_text_add(&line, "\t-");
    }
    if (!bound) pl_text_add(&line, "\t%.0f ms", 1e3 * r->took);
    pl_table_add(t, "%s", pl_text_get(&line));
}

static const char *head_text(const pl_evictions *e, pl_arena *a)
{
    pl_text head = { .arena = a };
    pl_text_add(&head, "  policy");
    for (int i = 0; i < e->n_budgets; i++) pl_text_add(&head, "\t>%g", e->share[i]);
    pl_text_add(&head, "\t>found in");
    return pl_text_get(&head);
}

void pl_evictions_text(const pl_evictions *e, pl_text *out)
{
    pl_arena *a = out->arena;
    const pl_evict_facts *f = &e->problem.facts;
    pl_table t = pl_table_new(a, head_text(e, a));
    for (int i = 0; i < e->n; i++)
        if (!e->at[i].why) add_budgets(e, e->at[i].policy, &e->at[i], false, &t);
    add_budgets(e, "bound", &e->at[0], true, &t);
    if (has_link(e)) add_budgets(e, "bound, no copies", &e->at[1], true, &t);
    pl_text_add(out,
                "%s, %s\n%d kernels of a device take %.3f ms. What they make is up to %s at once; "
                "one of them alone\nneeds %s, %s. Within a share of that\nthey take so many times "
                "as long, as tensors are made again%s:\n\n%s",
                e->plan->graph->name, e->plan->strategy, e->problem.problem.n_op, 1e3 * f->seconds,
                pl_text_size(a, (double)f->peak), pl_text_size(a, (double)f->need),
                e->problem.node[f->need_op]->name, has_link(e) ? " or copied to the host" : "",
                pl_table_text(&t));
    pl_text_add(out, "\n-: it found nothing that fits; bound: nothing is faster\n");
    for (int i = 0; i < e->n; i++)
        if (e->at[i].why) pl_text_add(out, "%s: %s\n", e->at[i].policy, e->at[i].why);
}

static void put_row(const pl_evictions *e, const pl_evictions_row *r, pl_json_out *out)
{
    for (int i = 0; i < e->n_budgets; i++) {
        const pl_evict_schedule *s = &r->schedule[i];
        if (!s->n) continue;
        PL_JSON_ROW(out, NULL, "policy", r->policy, "share", e->share[i], "budget_bytes",
                    e->budget[i], "overhead", overhead(e, s->seconds), "bound",
                    overhead(e, s->bound), "peak_bytes", s->peak, "copied_bytes", s->copied,
                    "waiting_seconds", s->exposed);
    }
}

void pl_evictions_json(const pl_evictions *e, pl_text *to)
{
    const pl_evict_facts *f = &e->problem.facts;
    pl_json_out out = { .text = to };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(&out, "schema", "pleat.evictions/1", "model", e->plan->graph->name, "strategy",
                e->plan->strategy, "kernels", (int64_t)e->problem.problem.n_op, "kernel_seconds",
                f->seconds, "peak_bytes", f->peak, "need_bytes", f->need);
    pl_json_open(&out, "rows", PL_JSON_LIST);
    for (int i = 0; i < e->n; i++) put_row(e, &e->at[i], &out);
    pl_json_close(&out);
    pl_json_close(&out);
    pl_text_add(to, "\n");
}
