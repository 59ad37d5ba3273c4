/* pleat memory: the work memory of a training step under several orders of its steps and layouts,
 * beside what no order and no layout can go below; or one layout problem out of a file. */
#include "base/clock.h"
#include "base/file.h"
#include "base/output.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/sizes.h"
#include "arena/caching.h"
#include "arena/csv.h"
#include "arena/keys.h"
#include "report/html.h"
#include "train/optim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30, MOST_ROWS = 64 };

typedef struct memory_args {
    const char *optimizer, *strategy, *order, *layout, *csv, *file, *page;
    pl_sizes sizes;
    pl_request_args request;
    int64_t devices, capacity, moves, nodes;
    double clip;
    bool unfused, json;
} memory_args;

#define AT(f) offsetof(memory_args, f)
// clang-format off
static const pl_opt opts[] = {
    PL_SIZES_OPTS_WITH(sizes, "!csv"),
    { "optimizer", TEXT(optimizer), "NAME", PL_OPTIM_NAME, "of the training step",
      .needs = "!csv" },
    { "clip",      REAL(clip),      "NORM", USUAL(PL_OPTIM_CLIP),
      "global gradient norm; 0: no clipping", .needs = "!csv" },
    { "unfused-update", FLAG(unfused), NULL, NULL,
      "updates in operators like torch's; results apart", .needs = "!csv" },
    { "devices",   INT(devices),    "N",    "1",  "the step of one of so many", 1,
      PL_CLUSTER_DEVICES, .needs = "!csv" },
    { "strategy",  TEXT(strategy),  "TEXT", "dp", "how it is split; words below", .needs = "!csv" },
    PL_SEARCH_OPTS(request, "!csv"), PL_LOWER_OPTS(request, "!csv"),
    { "order",     TEXT(order),     "NAME", NULL, "one order only; names below", .needs = "!csv" },
    { "layout",    TEXT(layout),    "NAME", NULL, "one layout only; names below", .needs = "!csv" },
    { "csv",       TEXT(csv),       "FILE", NULL, "a layout problem instead: id,lower,upper,size" },
    { "capacity",  BYTES(capacity), "SIZE", NULL, "stop at a layout that fits in it", 1,
      .needs = "csv" },
    { "moves",     INT(moves),      "N",    "10000000", "of the search for an order", 1,
      .needs = "!csv" },
    { "nodes",     INT(nodes),      "N",    "500000", "of the search for a layout; 0: greedy", 0,
      1000000000000 },
    { "o",         TEXT(file),      "FILE", NULL, "write the offsets", .needs = "csv" },
    { "html",      TEXT(page),      "FILE", NULL, "a page: memory over a step in each order",
      .needs = "!csv" },
    { "json",      FLAG(json),      NULL,   NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* Of the search for layouts: a placing of 2,000 buffers counts as some 250 nodes. */
static pl_offsets_options options_of(const memory_args *a)
{
    return (pl_offsets_options){ .effort = a->nodes, .pairs = 16000 * a->nodes };
}

/* -- a file ------------------------------------------------------------------------------------ */

static void print_layout(const memory_args *a, const pl_csv *csv, const pl_offsets *l,
                         double seconds, pl_arena *arena)
{
    if (a->json) {
        pl_json_out out = pl_json_begin(arena);
        PL_JSON_PUT(&out, "height", l->height, "lower_bound", l->bound, "optimal", l->optimal,
                    "seconds", seconds);
        puts(pl_json_end(&out));
        return;
    }
    printf("%d buffers in %" PRId64 " bytes; no layout is below %" PRId64 "%s, %.3f %% less; "
           "%.3f s, %" PRId64 " nodes\n",
           csv->n, l->height, l->bound, l->optimal ? ": the lowest" : "",
           l->height ? 100 * (1 - (double)l->bound / (double)l->height) : 0, seconds, l->nodes);
}

static bool solve_file(const memory_args *a, pl_arena *arena, pl_err *err)
{
    pl_csv *csv;
    pl_offsets l;
    const char *text;
    size_t n;
    pl_output file;
    if (a->file) PL_TRY(pl_output_open(a->file, arena, &file, err));
    PL_TRY(pl_file_read(a->csv, MOST_BYTES, arena, &text, &n, err));
    PL_TRY(pl_csv_parse(text, n, a->csv, arena, &csv, err));
    pl_offsets_options o = options_of(a);
    o.any = a->capacity > 0;
    const int64_t capacity = a->capacity ? a->capacity : INT64_MAX / 4;
    const double start = pl_clock_now();
    PL_TRY(pl_offsets_solve(csv->n, csv->buf, 1, capacity, &o, arena, &l, err));
    const double seconds = pl_clock_now() - start;
    PL_TRY(pl_offsets_check(csv->n, csv->buf, 1, capacity, &l, err));
    pl_text out = { .arena = arena };
    print_layout(a, csv, &l, seconds, arena);
    pl_csv_print(csv, l.offset, &out);
    return !a->file || pl_output_write(&file, pl_text_get(&out), out.n, err);
}

/* -- a model ----------------------------------------------------------------------------------- */

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

typedef struct row {
    const char *order, *layout;
    int64_t live, arena; /* bytes: live together at most, and of the block */
    bool optimal;        /* no layout of this order is lower               */
    double seconds;      /* of the layout                                  */
} row;

typedef struct study {
    const memory_args *a;
    pl_arena *arena;
    const pl_plan *plan;
    const pl_store *store;
    const pl_program *program[PL_N_ORDERS]; /* NULL: not lowered yet */
    double seconds[PL_N_ORDERS];            /* of lowering           */
    int n;
    row at[MOST_ROWS];
} study;

static bool lower(study *s, pl_step_order order, pl_err *err)
{
    if (s->program[order]) return true;
    const pl_lower_options o = {
        .order = order, .moves = s->a->moves, .lives = true, .apart = s->a->unfused
    };
    pl_program *p;
    const double start = pl_clock_now();
    PL_TRY(pl_program_lower(s->plan, 0, s->store, &o, s->arena, &p, err));
    s->seconds[order] = pl_clock_now() - start;
    s->program[order] = p;
    return true;
}

static bool lay_out(const study *s, const pl_program *p, row *r, pl_err *err)
{
    pl_offsets_options o = options_of(s->a);
    pl_offsets l;
    if (!strcmp(r->layout, caching)) {
        const pl_caching c = pl_caching_replay(p->n_lives, p->life);
        r->arena = c.reserved;
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
    r->arena = l.height;
    r->optimal = l.optimal;
    return true;
}

/* On a terminal: what large models are waited for. order NULL: it is over. */
static void show_progress(const char *order, const char *layout)
{
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K");
    if (order) fprintf(stderr, "order %s, layout %s ...", order, layout);
}

static bool add_row(study *s, const char *order, const char *layout, pl_err *err)
{
    row *r = &s->at[s->n];
    pl_step_order k;
    *r = (row){ .order = order, .layout = layout };
    PL_ASSERT_CMP(s->n, <, MOST_ROWS);
    PL_TRY(pl_step_order_find(order, &k, err));
    show_progress(order, layout);
    PL_TRY(lower(s, k, err));
    const pl_program *p = s->program[k];
    r->live = p->work_bound;
    const double start = pl_clock_now();
    PL_TRY(lay_out(s, p, r, err));
    r->seconds = pl_clock_now() - start;
    s->n++;
    return true;
}

static bool add_rows(study *s, pl_err *err)
{
    const memory_args *a = s->a;
    if (a->order && a->layout) return add_row(s, a->order, a->layout, err);
    if (a->order) return add_row(s, a->order, exact, err);
    for (int i = 0; i < N_USUAL && !a->layout; i++)
        PL_TRY(add_row(s, usual[i].order, usual[i].layout, err));
    for (int i = PL_ORDER_PROGRAM; i < PL_N_ORDERS && a->layout; i++)
        PL_TRY(add_row(s, pl_step_order_name((pl_step_order)i), a->layout, err));
    return true;
}

/* -- telling ----------------------------------------------------------------------------------- */

static int64_t find_bound(const study *s)
{
    for (int i = PL_N_ORDERS - 1; i >= 0; i--)
        if (s->program[i] && s->program[i]->order_bound) return s->program[i]->order_bound;
    return 0;
}

static void print_text(const study *s)
{
    const int64_t bound = find_bound(s);
    pl_arena *a = s->arena;
    pl_table t =
        pl_table_new(a, pl_arena_fmt(a, "  order\tlayout\t>live, MiB\t>block, MiB\t>unused\t%s",
                                     bound ? ">above\t" : ""));
    for (int i = 0; i < s->n; i++) {
        const row *r = &s->at[i];
        const double block = (double)r->arena, live = (double)r->live,
                     unused = block > 0 ? (block - live) / block : 0;
        pl_table_add(&t, "  %s\t%s\t%.3f\t%.3f\t%.2f %%\t%s%s", r->order, r->layout, live / 0x1p20,
                     block / 0x1p20, 100 * unused,
                     bound ? pl_arena_fmt(a, "%.2f %%\t", 100 * (block / (double)bound - 1)) : "",
                     r->optimal ? "no layout of this order is lower" : "");
    }
    printf("%s, %s: %s of states (weights, moments) and a block of work:\n\n%s",
           s->plan->graph->name, s->plan->strategy, pl_text_size(a, (double)s->store->bytes),
           pl_table_text(&t));
    printf("\nlive: bytes in use at the same time, at most; block: what the layout takes for them, "
           "of which\nunused stands empty even then%s\n",
           bound ? "; above: the block beyond the bound" : "");
    if (bound)
        printf(
            "the bound: no order of these steps has less than %.3f MiB live, updates in place as "
            "in the last\n",
            (double)bound / 0x1p20);
    for (int k = 0, n = 0; k < PL_N_ORDERS; k++)
        if (s->program[k])
            printf("%sorder %s in %.0f ms", n++ ? ", " : "", pl_step_order_name((pl_step_order)k),
                   1e3 * s->seconds[k]);
    printf("\n");
}

static void print_json(const study *s)
{
    pl_json_out out = pl_json_begin(s->arena);
    PL_JSON_PUT(&out, "schema", "pleat.memory/1", "model", s->plan->graph->name, "strategy",
                s->plan->strategy, "param_bytes", 4 * pl_graph_params(s->plan->graph),
                "state_bytes", s->store->bytes, "bound_bytes", find_bound(s));
    pl_json_open(&out, "rows", PL_JSON_LIST);
    for (int i = 0; i < s->n; i++) {
        const row *r = &s->at[i];
        PL_JSON_ROW(&out, NULL, "order", r->order, "layout", r->layout, "live_bytes", r->live,
                    "block_bytes", r->arena, "optimal", r->optimal, "seconds", r->seconds);
    }
    puts(pl_json_end(&out));
}

/* The orders studied, each with the lowest of its blocks. */
static bool write_page(const study *s, pl_output *file, pl_err *err)
{
    pl_html_order order[PL_N_ORDERS];
    pl_text page = { .arena = s->arena };
    int n = 0;
    for (int k = 0; k < PL_N_ORDERS; k++) {
        if (!s->program[k]) continue;
        pl_html_order *x = &order[n++];
        *x = (pl_html_order){ pl_step_order_name((pl_step_order)k), s->program[k], INT64_MAX };
        for (int i = 0; i < s->n; i++)
            if (!strcmp(s->at[i].order, x->name) && s->at[i].arena < x->block)
                x->block = s->at[i].arena;
    }
    pl_html_write_orders(s->plan->graph->name, n, order, find_bound(s), &page);
    PL_TRY(pl_output_write(file, page.at, page.n, err));
    fprintf(stderr, "%s: %d order%s, %s\n", s->a->page, n, n == 1 ? "" : "s",
            pl_text_size(s->arena, (double)page.n));
    return true;
}

static bool study_model(const memory_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    study s = { .a = a, .arena = arena };
    pl_model_args m;
    pl_graph *g;
    pl_plan_request request;
    pl_found *found;
    pl_output page;
    if (a->page) PL_TRY(pl_output_open(a->page, arena, &page, err));
    PL_TRY(pl_request_make(&a->request, arena, &request, err));
    PL_TRY(pl_strategy_parse(a->strategy, (int)a->devices, arena, &request.strategy, err));
    PL_TRY(pl_model_parse(pl_sizes_spec(&a->sizes, spec, arena), arena, &m, err));
    pl_sizes_tell(&m);
    pl_optim o = pl_optim_usual(a->optimizer);
    o.clip = a->clip;
    o.unfused = a->unfused;
    pl_builder b = pl_optim_step(&m, &o, arena);
    PL_TRY(pl_builder_done(&b, &g, err));
    PL_TRY(pl_plan_find(&request, g, arena, &found, err));
    s.plan = found->take->plan;
    s.store = pl_store_new(s.plan, 0, arena);
    const bool ok = add_rows(&s, err);
    show_progress(NULL, NULL);
    if (!ok) return false;
    if (a->json)
        print_json(&s);
    else
        print_text(&s);
    return !a->page || write_page(&s, &page, err);
}

/* -- the command ------------------------------------------------------------------------------- */

static int run(const pl_command *c, int argc, char **argv)
{
    memory_args a = { 0 };
    const char *spec = NULL;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 0, 1, &spec, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("memory");
    bool ok = !a.csv == (n == 1) ||
              pl_err_set(&err, PL_EUSAGE, "give a model, or --csv and a file of buffers");
    if (ok) ok = a.csv ? solve_file(&a, arena, &err) : study_model(&a, spec, arena, &err);
    pl_arena_free(arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}

#define KEY_HELP(name, text, what) "  " text ": " what "\n"

const pl_command pl_command_memory = {
    .name = "memory",
    .operands = "[MODEL]",
    .about = "the block of work memory under several orders and layouts, beside the least",
    .more = "orders:\n"
            "  program: as the model computes, updates as soon as they may\n"
            "  lescea: greedy, of what fits below the peak so far what leaves least\n"
            "  pleat: the least that is found\n"
            "layouts, greedy in the order of a key into its lowest or tightest gap, or exact:\n"
            "  pytorch: what its caching allocator would hold\n"
            "  pleat: exact, as far as --nodes go\n" PL_KEYS(
                KEY_HELP) "example: pleat memory "
                          "gpt2 --devices 8 --strategy zero=3",
    .opts = opts,
    .run = run,
};
