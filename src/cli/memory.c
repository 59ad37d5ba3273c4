/* pleat memory: the work memory of a training step under several orders of its steps and layouts,
 * beside what no order and no layout can go below; or what policies make of less of it; or one
 * layout problem out of a file. */
#include "api/evictions.h"
#include "api/memory.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/output.h"
#include "cli/list.h"
#include "options/request.h"
#include "options/sizes.h"
#include "arena/csv.h"
#include "arena/keys.h"
#include "report/html.h"
#include "planners/find.h"
#include "train/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 };

typedef struct memory_args {
    const char *optimizer, *strategy, *order, *layout, *csv, *file, *page, *cluster, *budgets;
    pl_sizes sizes;
    pl_request_args request;
    int64_t devices, capacity, moves, nodes;
    double clip;
    bool unfused, json;
} memory_args;

#define ORDERS "!csv !budgets"
#define AT(f) offsetof(memory_args, f)
// clang-format off
static const pl_opt opts[] = {
    PL_SIZES_OPTS_WITH(sizes, "!csv"),
    { "optimizer", TEXT(optimizer), "NAME", PL_OPTIM_NAME, "of the training step",
      .needs = "!csv method!=admm" },
    { "clip",      REAL(clip),      "NORM", USUAL(PL_OPTIM_CLIP),
      "global gradient norm; 0: no clipping", .needs = "!csv method!=admm" },
    { "unfused-update", FLAG(unfused), NULL, NULL,
      "updates in operators like torch's; results apart",
      .needs = "!csv method!=admm" },
    { "devices",   INT(devices),    "N",    "1",  "the step of one of so many", 1,
      PL_CLUSTER_DEVICES, .needs = "!csv" },
    { "cluster",   TEXT(cluster),   "NAME", NULL, "these instead; names below, or a file",
      .needs = "!csv" },
    { "strategy",  TEXT(strategy),  "TEXT", "dp", "how it is split; words below", .needs = "!csv" },
    PL_SEARCH_OPTS(request, "!csv"), PL_LOWER_OPTS(request, "!csv"),
    { "budgets",   TEXT(budgets),   "SHARES", NULL,
      "what each policy makes of such shares of the memory: 0.9,0.5", .needs = "!csv" },
    { "order",     TEXT(order),     "NAME", NULL, "one order only; names below", .needs = ORDERS },
    { "layout",    TEXT(layout),    "NAME", NULL, "one layout only; names below",
      .needs = ORDERS },
    { "csv",       PATH(csv),       "FILE", NULL, "a layout problem instead: id,lower,upper,size" },
    { "capacity",  BYTES(capacity), "SIZE", NULL, "stop at a layout that fits in it", 1,
      .needs = "csv" },
    { "moves",     INT(moves),      "N",    USUAL(PL_MEMORY_MOVES), "of the search for an order", 1,
      .needs = ORDERS },
    { "nodes",     INT(nodes),      "N",    USUAL(PL_MEMORY_NODES),
      "of the search for a layout; 0: greedy", 0, 1000000000000, .needs = "!budgets" },
    { "o",         PATH(file),      "FILE", NULL, "write the offsets", .needs = "csv" },
    { "html",      PATH(page),      "FILE", NULL, "a page: memory over a step in each order",
      .needs = ORDERS },
    { "json",      FLAG(json),      NULL,   NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

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
    pl_offsets_options o = pl_memory_search(a->nodes);
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

/* On a terminal: what large models are waited for. */
static void show_progress(void *self, const char *what, int i, int n)
{
    (void)self, (void)i, (void)n;
    fprintf(stderr, "\r\033[K");
    if (what) fprintf(stderr, "%s ...", what);
}

/* The orders studied, each with the lowest of its blocks. */
static bool write_page(const memory_args *a, const pl_memory *m, pl_output *file, pl_arena *arena,
                       pl_err *err)
{
    pl_html_order order[PL_N_ORDERS];
    pl_text page = { .arena = arena };
    int n = 0;
    for (int k = 0; k < PL_N_ORDERS; k++) {
        if (!m->program[k]) continue;
        pl_html_order *x = &order[n++];
        *x = (pl_html_order){ pl_step_order_name((pl_step_order)k), m->program[k], INT64_MAX };
        for (int i = 0; i < m->n; i++)
            if (!strcmp(m->at[i].order, x->name) && m->at[i].block < x->block)
                x->block = m->at[i].block;
    }
    pl_html_write_orders(m->plan->graph->name, n, order, m->bound, &page);
    PL_TRY(pl_output_write(file, page.at, page.n, err));
    fprintf(stderr, "%s: %d order%s, %s\n", a->page, n, n == 1 ? "" : "s",
            pl_text_size(arena, (double)page.n));
    return true;
}

static bool study_orders(const memory_args *a, const pl_plan *plan, pl_arena *arena, pl_err *err)
{
    static const pl_watch progress = { .see = show_progress };
    const pl_memory_options how = { .order = a->order,
                                    .layout = a->layout,
                                    .moves = a->moves,
                                    .nodes = a->nodes,
                                    .apart = a->unfused,
                                    .watch = isatty(STDERR_FILENO) ? &progress : NULL };
    pl_memory *study;
    pl_output page;
    pl_text text = { .arena = arena };
    if (a->page) PL_TRY(pl_output_open(a->page, arena, &page, err));
    PL_TRY(pl_memory_study(plan, &how, arena, &study, err));
    if (a->json)
        pl_memory_json(study, &text);
    else
        pl_memory_text(study, &text);
    fputs(pl_text_get(&text), stdout);
    return !a->page || write_page(a, study, &page, arena, err);
}

static bool study_budgets(const memory_args *a, pl_evictions *e, const pl_plan_request *r,
                          const pl_found *found, pl_arena *arena, pl_err *err)
{
    pl_text text = { .arena = arena };
    PL_TRY(pl_evictions_study(found, r->search.watch, arena, e, err));
    if (a->json)
        pl_evictions_json(e, &text);
    else
        pl_evictions_text(e, &text);
    fputs(pl_text_get(&text), stdout);
    return true;
}

static bool find_devices(const memory_args *a, pl_plan_request *r, pl_arena *arena, pl_err *err)
{
    pl_cluster *c;
    if (a->cluster) {
        PL_TRY(pl_cluster_find(a->cluster, arena, &c, err));
        r->cluster = c;
    }
    const int n = r->cluster ? r->cluster->n_devices : (int)a->devices;
    return pl_strategy_parse(a->strategy, n, arena, &r->strategy, err);
}

static bool study_model(const memory_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    pl_model_args m;
    pl_plan_request request;
    pl_found *found;
    pl_evictions e;
    PL_TRY(pl_request_make(&a->request, arena, &request, err));
    PL_TRY(find_devices(a, &request, arena, err));
    if (a->budgets) PL_TRY(pl_evictions_shares(a->budgets, &e, err));
    PL_TRY(pl_model_parse(pl_sizes_spec(&a->sizes, spec, arena), arena, &m, err));
    pl_sizes_tell(&m);
    pl_optim o = pl_optim_usual(a->optimizer);
    o.clip = a->clip;
    o.unfused = a->unfused;
    request.whole = a->budgets;
    PL_TRY(pl_step_find(&request, &(pl_trained){ &m, &o }, arena, &found, err));
    return a->budgets ? study_budgets(a, &e, &request, found, arena, err)
                      : study_orders(a, found->take->plan, arena, err);
}

/* -- the command ------------------------------------------------------------------------------- */

static bool study(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const memory_args *a = args;
    if (!a->csv != (n == 1))
        return pl_err_set(err, PL_EUSAGE, "give a model, or --csv and a file of buffers");
    return a->csv ? solve_file(a, arena, err) : study_model(a, operand[0], arena, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(memory_args){ 0 }, 0, 1, study);
}

#define KEY_HELP(name, text, what) "  " text ": " what "\n"

const pl_command pl_command_memory = {
    .name = "memory",
    .operands = "[MODEL]",
    .about =
        "the block of work memory under several orders and layouts, beside the least; or what\n"
        "policies make of less of it",
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
