#include "program/best.h"

#include "base/clock.h"
#include "plan/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 6, MOST_LAYOUTS = 8 };

typedef struct choosing {
    pl_best *b;
    const pl_graph *g;
    const pl_cluster *c;
    const pl_lower_options *lower;
    pl_speed speed;
    pl_arena *out;
} choosing;

static bool add(choosing *x, const char *name, const pl_plan *plan, double bound, pl_err *err)
{
    pl_contender *k = &x->b->at[x->b->n];
    pl_program *program;
    *k = (pl_contender){ .name = name, .plan = plan, .bound = bound };
    k->store = pl_store_new(plan, 0, x->out);
    PL_TRY(pl_program_lower(plan, 0, k->store, x->lower, x->out, &program, err));
    k->program = program;
    pl_forecast_make(program, &x->speed, x->out, &k->forecast);
    k->fits = (double)k->forecast.memory.peak <= x->b->limit;
    x->b->n++;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const pl_contender *x = a, *y = b;
    double p = x->forecast.step_seconds, q = y->forecast.step_seconds;
    if (x->fits != y->fits) return x->fits ? -1 : 1;
    if (p != q) return p < q ? -1 : 1;
    return strcmp(x->name, y->name);
}

bool pl_best_given(const pl_plan *plan, const pl_cluster *c, double limit,
                   const pl_lower_options *lower, pl_arena *out, pl_best **best, pl_err *err)
{
    pl_best *b = *best = PL_NEW(out, pl_best);
    choosing x = { b, plan->graph, c, lower, pl_cost_speed(c), out };
    *b = (pl_best){ .limit = limit > 0 ? limit : INFINITY, .at = PL_NEW(out, pl_contender) };
    b->take = b->at;
    return add(&x, plan->strategy, plan, 0, err);
}

/* -- layouts ----------------------------------------------------------------------------------- */

static void add_layout(choosing *x, const char *text)
{
    pl_strategy s;
    pl_plan *p;
    pl_err why = { 0 };
    if (!pl_strategy_parse(text, x->c->n_devices, x->out, &s, &why)) return;
    s.cluster = x->c;
    if (!pl_strategy_plan(&s, x->g, NULL, x->out, &p, &why)) return;
    (void)!add(x, text, p, 0, &why);
}

/* Tensor parallelism goes over the fast links. */
static void add_layouts(choosing *x)
{
    int inner = x->c->level[0].size, n = x->c->n_devices;
    int ways = inner > 1 && inner < n ? inner : n / 2 > 1 ? n / 2 : n;
    const char *const text[MOST_LAYOUTS] = {
        "dp",
        "zero=1",
        "zero=3",
        pl_arena_fmt(x->out, "hsdp=%d", ways),
        pl_arena_fmt(x->out, "tp=%d", ways),
        pl_arena_fmt(x->out, "tp=%d,sp,zero=1", ways),
        pl_arena_fmt(x->out, "tp=%d,sp,zero=3", ways),
        pl_arena_fmt(x->out, "tp=%d,sp", n),
    };
    for (int i = 0; i < MOST_LAYOUTS && n > 1; i++) add_layout(x, text[i]);
}

/* -- search ------------------------------------------------------------------------------------ */

/* The best plan of every mesh. How much less memory it would take for one to fit; 0: one does. */
static bool add_found(choosing *x, double *over, pl_err *err)
{
    const pl_auto *f = x->b->found;
    double least = INFINITY;
    for (int i = 0; i < f->n; i++) {
        const pl_auto_mesh *m = &f->mesh[i];
        if (!m->fits) continue;
        pl_plan *p = pl_tables_plan(m->tables, m->answer.value, "auto", x->out);
        PL_TRY(pl_plan_check(p, err));
        PL_TRY(add(x, pl_mesh_text(&m->mesh, x->out), p, m->bound, err));
        const pl_contender *k = &x->b->at[x->b->n - 1];
        least = fmin(least, fmax(0, (double)k->forecast.memory.peak - x->b->limit));
    }
    *over = least;
    return true;
}

static bool nothing_fits(const choosing *x, pl_err *err)
{
    const pl_contender *least = &x->b->at[0];
    for (int i = 1; i < x->b->n; i++)
        if (x->b->at[i].forecast.memory.peak < least->forecast.memory.peak) least = &x->b->at[i];
    const pl_forecast_memory *m = &least->forecast.memory;
    pl_arena *tmp = pl_arena_new("message");
    pl_err_set(
        err, PL_EINFEASIBLE,
        "nothing fits in %s of a device: the least that was found, %s, takes %s (weights %s, "
        "optimizer %s, activations %s)",
        pl_text_size(tmp, x->b->limit), least->name, pl_text_size(tmp, (double)m->peak),
        pl_text_size(tmp, (double)m->weights), pl_text_size(tmp, (double)m->optimizer),
        pl_text_size(tmp, (double)m->activations));
    pl_arena_free(tmp);
    return false;
}

bool pl_best_plan(const pl_graph *g, const pl_cluster *c, const pl_auto_options *options,
                  const pl_lower_options *lower, pl_arena *out, pl_best **best, pl_err *err)
{
    const double start = pl_clock_now();
    pl_best *b = *best = PL_NEW(out, pl_best);
    choosing x = { b, g, c, lower, pl_cost_speed(c), out };
    double over, cap = options->memory > 0 ? options->memory : INFINITY;
    pl_err why = { 0 };
    b->limit = cap;
    PL_TRY(pl_auto_plan(g, c, options, out, &b->found, err));
    b->at = PL_NEW_N(out, pl_contender, MOST_TRIES * b->found->n + MOST_LAYOUTS);
    PL_TRY(add_found(&x, &over, err));
    for (int i = 1; over > 0 && i < MOST_TRIES; i++) {
        cap = fmin(cap, b->found->memory) - over;
        if (cap <= 0 || !pl_auto_again(b->found, cap, out, &why)) break;
        PL_TRY(add_found(&x, &over, err));
    }
    if (!options->method) add_layouts(&x);
    qsort(b->at, (size_t)b->n, sizeof *b->at, by_time);
    b->take = b->at;
    b->seconds = pl_clock_now() - start;
    return b->take->fits || nothing_fits(&x, err);
}
