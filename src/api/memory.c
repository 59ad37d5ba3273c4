/* The study of one device's memory: each order is lowered once (lower), and its buffers are laid
 * out in each way asked for (lay_out). */
#include "api/memory.h"

#include "arena/caching.h"
#include "arena/keys.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "plan/unroll.h"

#include <string.h>

/* A layout is that of a greedy key, or one of these. */
static const char exact[] = "pleat", caching[] = "pytorch";

/* What is shown when nothing is asked for. */
static const struct pair {
    const char *order, *layout;
} usual[] = {
    { "program", caching },   { "program", "llfb" },     { "program", "tflite" },
    { "program", "spatial" }, { "program", "duration" }, { "program", exact },
    { "lescea", "llfb" },     { "lescea", exact },       { "pleat", exact },
};
enum { N_USUAL = sizeof usual / sizeof *usual };

typedef struct study {
    const pl_memory_options *o;
    pl_arena *arena;
    pl_memory *m;
    int n_rows; /* that there will be */
} study;

pl_offsets_options pl_memory_search(int64_t nodes)
{
    return (pl_offsets_options){ .effort = nodes, .pairs = 16000 * nodes };
}

static bool lower(study *s, pl_step_order order, pl_err *err)
{
    pl_memory *m = s->m;
    if (m->program[order]) return true;
    const pl_lower_options o = {
        .order = order, .moves = s->o->moves, .lives = true, .apart = s->o->apart
    };
    pl_program *p;
    const double start = pl_clock_now();
    PL_TRY(pl_program_lower(m->plan, 0, m->store, &o, s->arena, &p, err));
    m->seconds[order] = pl_clock_now() - start;
    m->program[order] = p;
    return true;
}

static bool lay_out(const study *s, const pl_program *p, pl_memory_row *r, pl_err *err)
{
    pl_offsets_options o = pl_memory_search(s->o->nodes);
    pl_offsets l;
    if (!strcmp(r->layout, caching)) {
        r->block = pl_caching_replay(p->n_lives, p->life).reserved;
        return true;
    }
    if (strcmp(r->layout, exact)) {
        pl_key key;
        if (!pl_keys_find(r->layout, &key))
            return pl_err_set(err, PL_EUSAGE, "no layout '%s'; pleat memory --help names them",
                              r->layout);
        o = (pl_offsets_options){ .keys = 1u << key };
    }
    PL_TRY(
        pl_offsets_solve(p->n_lives, p->life, PL_WORK_ALIGN, INT64_MAX / 4, &o, s->arena, &l, err));
    r->block = l.height;
    r->optimal = l.optimal;
    return true;
}

static bool add_row(study *s, const char *order, const char *layout, pl_err *err)
{
    pl_memory_row *r = &s->m->at[s->m->n];
    pl_step_order k;
    *r = (pl_memory_row){ .order = order, .layout = layout };
    PL_ASSERT_CMP(s->m->n, <, PL_MEMORY_ROWS);
    PL_TRY(pl_step_order_find(order, &k, err));
    pl_watch_tell(s->o->watch, pl_arena_fmt(s->arena, "order %s, layout %s", order, layout),
                  s->m->n + 1, s->n_rows);
    PL_TRY(lower(s, k, err));
    const pl_program *p = s->m->program[k];
    r->live = p->work_bound;
    const double start = pl_clock_now();
    PL_TRY(lay_out(s, p, r, err));
    r->seconds = pl_clock_now() - start;
    s->m->n++;
    return true;
}

static bool add_rows(study *s, pl_err *err)
{
    const char *order = s->o->order, *layout = s->o->layout;
    s->n_rows = order ? 1 : layout ? PL_N_ORDERS - PL_ORDER_PROGRAM : N_USUAL;
    if (order) return add_row(s, order, layout ? layout : exact, err);
    for (int i = 0; i < N_USUAL && !layout; i++)
        if (!s->m->plan->stages || !strcmp(usual[i].order, "program")) /* passes keep theirs */
            PL_TRY(add_row(s, usual[i].order, usual[i].layout, err));
    for (int i = PL_ORDER_PROGRAM; i < PL_N_ORDERS && layout; i++)
        PL_TRY(add_row(s, pl_step_order_name((pl_step_order)i), layout, err));
    return true;
}

/* That of the last order that has one. */
static int64_t find_bound(const pl_memory *m)
{
    for (int i = PL_N_ORDERS - 1; i >= 0; i--)
        if (m->program[i] && m->program[i]->order_bound) return m->program[i]->order_bound;
    return 0;
}

bool pl_memory_study(const pl_plan *plan, const pl_memory_options *o, pl_arena *out,
                     pl_memory **study_made, pl_err *err)
{
    pl_memory *m = PL_NEW(out, pl_memory);
    pl_unrolled all = { .plan = plan };
    if (plan->stages) PL_TRY(pl_plan_unroll(plan, out, &all, err));
    plan = all.plan;
    *m = (pl_memory){ .plan = plan, .store = pl_store_new(plan, 0, out) };
    study s = { .o = o, .arena = out, .m = m };
    const bool ok = add_rows(&s, err);
    pl_watch_tell(o->watch, NULL, 0, 0);
    m->bound = find_bound(m);
    *study_made = m;
    return ok;
}

/* -- telling ----------------------------------------------------------------------------------- */

static const char *table_text(const pl_memory *m, pl_arena *a)
{
    const bool bounded = m->bound > 0;
    pl_table t =
        pl_table_new(a, pl_arena_fmt(a, "  order\tlayout\t>live, MiB\t>block, MiB\t>unused\t%s",
                                     bounded ? ">above\t" : ""));
    for (int i = 0; i < m->n; i++) {
        const pl_memory_row *r = &m->at[i];
        const double block = (double)r->block, live = (double)r->live,
                     unused = block > 0 ? (block - live) / block : 0;
        pl_table_add(&t, "  %s\t%s\t%.3f\t%.3f\t%.2f %%\t%s%s", r->order, r->layout, live / 0x1p20,
                     block / 0x1p20, 100 * unused,
                     bounded ? pl_arena_fmt(a, "%.2f %%\t", 100 * (block / (double)m->bound - 1))
                             : "",
                     r->optimal ? "no layout of this order is lower" : "");
    }
    return pl_table_text(&t);
}

void pl_memory_text(const pl_memory *m, pl_text *out)
{
    pl_arena *a = out->arena;
    pl_text_add(out, "%s, %s: %s of states (weights, moments) and a block of work:\n\n%s",
                m->plan->graph->name, m->plan->strategy, pl_text_size(a, (double)m->store->bytes),
                table_text(m, a));
    pl_text_add(out,
                "\nlive: bytes in use at the same time, at most; block: what the layout takes for "
                "them, of which\nunused stands empty even then%s\n",
                m->bound ? "; above: the block beyond the bound" : "");
    if (m->bound)
        pl_text_add(out,
                    "the bound: no order of these steps has less than %.3f MiB live, updates in "
                    "place as in the last\n",
                    (double)m->bound / 0x1p20);
    for (int k = 0, n = 0; k < PL_N_ORDERS; k++)
        if (m->program[k])
            pl_text_add(out, "%sorder %s in %.0f ms", n++ ? ", " : "",
                        pl_step_order_name((pl_step_order)k), 1e3 * m->seconds[k]);
    pl_text_add(out, "\n");
}

void pl_memory_json(const pl_memory *m, pl_text *to)
{
    pl_json_out out = { .text = to };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(&out, "schema", "pleat.memory/1", "model", m->plan->graph->name, "strategy",
                m->plan->strategy, "param_bytes", 4 * pl_graph_params(m->plan->graph),
                "state_bytes", m->store->bytes, "bound_bytes", m->bound);
    pl_json_open(&out, "rows", PL_JSON_LIST);
    for (int i = 0; i < m->n; i++) {
        const pl_memory_row *r = &m->at[i];
        PL_JSON_ROW(&out, NULL, "order", r->order, "layout", r->layout, "live_bytes", r->live,
                    "block_bytes", r->block, "optimal", r->optimal, "seconds", r->seconds);
    }
    pl_json_close(&out);
    pl_json_close(&out);
    pl_text_add(to, "\n");
}
