/* A strategy beside the plan to take: what it costs more, and of what. As text and JSON. */
#include "api/job.h"
#include "base/table.h"
#include "layouts/strategy.h"
#include "report/compare.h"
#include "report/why.h"
#include "report/words.h"

#include <math.h>
#include <string.h>

typedef struct view {
    const pl_job *job;
    pl_compare c;
    const pl_mesh *mesh[2];
    bool priced;        /* can the search take the plan that was asked about?             */
    const char *why;    /* not                                                            */
    const char *taken;  /* name of the plan to take                                       */
    pl_reason table[2]; /* what the search says of both                                   */
    bool fits;          /* anything on the mesh of the one asked about; if `priced`       */
    double least;       /* seconds of the best plan there                                 */
    double limit;       /* bytes of a device                                              */
    int columns;        /* of a line of text */
    pl_text *out;
    pl_arena *arena;
} view;

/* -- making ------------------------------------------------------------------------------------ */

static pl_compare_side side_of(const view *v, const char *name, const pl_candidate *k)
{
    pl_summary *s = PL_NEW(v->arena, pl_summary);
    pl_summary_fold_make(k->program, &k->forecast, v->arena, s);
    return (pl_compare_side){ name, k->program, &k->forecast, s };
}

/* The plan in the tables of its mesh, and the best one there: what the search for the plan to take
 * has found, if it has looked there. */
static void price(view *v, const pl_plan *p, const pl_auto *search)
{
    const pl_speed speed = pl_speed_of(v->job->request.cluster);
    const pl_auto_options o = { .memory = v->limit, .tied = v->job->request.search.tied };
    pl_err why = { 0 };
    pl_answer best;
    v->priced = pl_reason_price(p, &search->fold, &speed, &o, v->arena, &v->table[0], &why);
    v->why = v->priced ? "" : pl_arena_text(v->arena, why.msg);
    if (!v->priced) return;
    const pl_auto_mesh *found = search->method ? NULL : pl_auto_on(search, &p->mesh);
    pl_problem t = *v->table[0].problem;
    if (found) best = found->answer;
    v->fits = found || pl_problem_min(&t, v->table[0].cap, o.tied, NULL, v->arena, &best, &why);
    if (v->fits) v->least = best.time;
}

static bool open(view *v, const pl_found *best, const char *text, pl_err *err)
{
    const pl_job *job = v->job;
    pl_found *given;
    const pl_candidate *about;
    pl_strategy s;
    pl_plan_request ask = job->request;
    PL_TRY(pl_strategy_parse(text, job->request.cluster->n_devices, v->arena, &s, err));
    if (s.automatic)
        return pl_err_set(err, PL_EUSAGE,
                          "'auto' is what others are compared with: give one of "
                          "them, e.g. dp or zero=3");
    if (!s.micro) s.micro = job->graph->micro;
    ask.strategy = s;
    PL_TRY(pl_job_plan(job, &ask, v->arena, &given, err));
    PL_TRY(pl_why_open(best, v->arena, &v->table[1], &about, err));
    const pl_plan *p = given->take->plan;
    v->limit = best->limit;
    v->taken = best->take->searched ? "the search's plan" : best->take->name;
    pl_compare_side asked = side_of(v, text, given->take), taken = side_of(v, v->taken, best->take);
    pl_compare_make(&asked, &taken, v->arena, &v->c);
    v->mesh[0] = &p->mesh, v->mesh[1] = &best->take->plan->mesh;
    if (p->stages)
        v->why = "its tables have no stages";
    else
        price(v, p, best->search);
    return true;
}

/* -- printing ---------------------------------------------------------------------------------- */

/* In lines as wide as the terminal. */
static void add_words(const view *v, const char *text)
{
    pl_text out = { .arena = v->arena };
    pl_words_wrap(text, 0, 0, v->columns, &out);
    pl_text_add(v->out, "%s", pl_text_get(&out));
}

static void add_times(pl_table *t, const char *name, const double x[2])
{
    pl_table_add(t, "%s\t%.3f ms\t%.3f ms\t%+.3f ms", name, 1e3 * x[0], 1e3 * x[1],
                 1e3 * (x[0] - x[1]));
}

static void add_bytes(pl_table *t, const char *name, const int64_t x[2])
{
    const double d = (double)(x[0] - x[1]);
    pl_table_add(t, "%s\t%s\t%s\t%s%s", name, pl_text_size(t->arena, (double)x[0]),
                 pl_text_size(t->arena, (double)x[1]), d < 0 ? "-" : "+",
                 pl_text_size(t->arena, fabs(d)));
}

static void add_sums(const view *v)
{
    const pl_compare *c = &v->c;
    pl_table t =
        pl_table_new(v->arena, pl_arena_fmt(v->arena, "\t>%s\t>taken\t>difference", c->name[0]));
    add_times(&t, "step", c->step);
    add_times(&t, "  computing", c->compute);
    add_times(&t, "  waiting for messages", c->exposed);
    add_times(&t, "messages, hidden or not", c->messages);
    add_bytes(&t, "memory", c->peak);
    for (int i = 0; i < PL_COMPARE_ITEMS; i++)
        add_bytes(&t, pl_arena_fmt(v->arena, "  %s", c->memory[i].name), c->memory[i].bytes);
    pl_text_add(v->out, "\n%s", pl_table_text(&t));
}

static const char *axes_text(const view *v, const pl_compare_row *r)
{
    if (!r->axes[0] || !r->axes[1] || !strcmp(r->axes[0], r->axes[1]))
        return r->axes[0] ? r->axes[0] : r->axes[1];
    return pl_arena_fmt(v->arena, "%s / %s", r->axes[0], r->axes[1]);
}

static void add_messages(const view *v, int most)
{
    const pl_compare *c = &v->c;
    const int n = c->n < most ? c->n : most;
    pl_table t = pl_table_new(
        v->arena,
        pl_arena_fmt(v->arena, "message\tover\t>%s\t>taken\t>difference\ttensor", c->name[0]));
    if (!n) return;
    for (int i = 0; i < n; i++) {
        const pl_compare_row *r = &c->row[i];
        pl_table_add(&t, "%s\t%s\t%.3f ms\t%.3f ms\t%+.3f ms\t%s",
                     pl_collective_name(r->collective), axes_text(v, r), 1e3 * r->seconds[0],
                     1e3 * r->seconds[1], 1e3 * (r->seconds[0] - r->seconds[1]), r->tensor);
    }
    pl_text_add(v->out, "\n%s", pl_table_text(&t));
    if (c->n > n) pl_text_add(v->out, "and %d that differ less\n", c->n - n);
}

static void add_search(const view *v)
{
    if (!v->priced) {
        pl_text_add(v->out, "\nthe search does not know this plan: %s\n", v->why);
        return;
    }
    pl_text_add(v->out, "\nin the search's tables: %.3f ms, the plan taken %.3f ms",
                1e3 * v->table[0].seconds, 1e3 * v->table[1].seconds);
    if (v->fits)
        pl_text_add(v->out, "; the best on the mesh %s takes %.3f ms",
                    pl_mesh_text(v->mesh[0], v->arena), 1e3 * v->least);
    else
        pl_text_add(v->out, "; on the mesh %s nothing fits", pl_mesh_text(v->mesh[0], v->arena));
    pl_text_add(v->out, "\n");
}

static void add_text(const view *v, int most)
{
    const pl_compare *c = &v->c;
    add_words(v, pl_compare_sentence(c, v->limit, v->arena));
    pl_text_add(v->out, "\n%s on %s, %s on %s\n", c->name[0], pl_mesh_text(v->mesh[0], v->arena),
                v->taken, pl_mesh_text(v->mesh[1], v->arena));
    add_sums(v);
    add_messages(v, most);
    add_search(v);
}

/* -- JSON -------------------------------------------------------------------------------------- */

#define PUT_TWO(out, key, x)                                                                       \
    (pl_json_open((out), (key), PL_JSON_LIST), PL_JSON_PUT((out), NULL, (x)[0], NULL, (x)[1]),     \
     pl_json_close(out))

static void put_rows(const char *key, int n, const pl_compare_row *row, pl_json_out *out)
{
    pl_json_open(out, key, PL_JSON_LIST);
    for (int i = 0; i < n; i++) {
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "kind", pl_collective_name(row[i].collective));
        PUT_TWO(out, "axes", row[i].axes);
        pl_json_put_text(out, "tensor", row[i].tensor);
        PUT_TWO(out, "count", row[i].count);
        PUT_TWO(out, "bytes", row[i].bytes);
        PUT_TWO(out, "seconds", row[i].seconds);
        pl_json_close(out);
    }
    pl_json_close(out);
}

static void put_memory(const pl_compare *c, pl_json_out *out)
{
    pl_json_open(out, "memory_bytes", PL_JSON_OBJECT);
    PUT_TWO(out, "peak", c->peak);
    for (int i = 0; i < PL_COMPARE_ITEMS; i++) PUT_TWO(out, c->memory[i].name, c->memory[i].bytes);
    pl_json_close(out);
}

static void add_json(const view *v)
{
    const pl_compare *c = &v->c;
    const char *const mesh[] = { pl_mesh_text(v->mesh[0], v->arena),
                                 pl_mesh_text(v->mesh[1], v->arena) };
    const double table[] = { v->table[0].seconds, v->table[1].seconds };
    pl_json_out out = pl_json_begin(v->arena);
    PL_JSON_PUT(&out, "schema", "pleat.why-not/1", "model", v->job->args.spec, "cluster",
                v->job->request.cluster->name);
    PUT_TWO(&out, "plans", c->name);
    PUT_TWO(&out, "mesh", mesh);
    PL_JSON_PUT(&out, "reason", pl_compare_sentence(c, v->limit, v->arena), "fits",
                (bool)((double)c->peak[0] <= v->limit));
    PUT_TWO(&out, "step_seconds", c->step);
    PUT_TWO(&out, "compute_seconds", c->compute);
    PUT_TWO(&out, "exposed_seconds", c->exposed);
    PUT_TWO(&out, "message_seconds", c->messages);
    put_memory(c, &out);
    put_rows("kinds", c->n_kinds, c->kind, &out);
    put_rows("messages", c->n, c->row, &out);
    if (v->priced) PUT_TWO(&out, "table_seconds", table);
    pl_text_add(v->out, "%s\n", pl_json_end(&out));
}

/* -- all --------------------------------------------------------------------------------------- */

bool pl_job_why_not(const pl_job *j, const pl_found *best, const char *strategy,
                    const pl_explain_options *o, pl_text *out, pl_err *err)
{
    view v = { .job = j, .arena = out->arena, .out = out, .columns = o->columns };
    if (!best->search)
        return pl_err_set(
            err, PL_EUSAGE,
            "the plan is that of strategy '%s': others are compared with that of auto",
            best->strategy.text);
    PL_TRY(open(&v, best, strategy, err));
    if (o->json)
        add_json(&v);
    else
        add_text(&v, o->most);
    return true;
}
