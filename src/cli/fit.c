/* pleat fit: a cluster's figures from measured runs. */
#include "api/fit.h"
#include "base/file.h"
#include "base/output.h"
#include "base/table.h"
#include "cli/list.h"
#include "options/request.h"

#include <stdio.h>

typedef struct fit_args {
    const char *cluster, *out;
    int64_t rows;
    bool json;
} fit_args;

#define AT(f) offsetof(fit_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "cluster", TEXT(cluster), "NAME", NULL, "whose figures are fitted, by runs on its kind" },
    { "o",       PATH(out),     "FILE", NULL, "write the cluster, for --cluster" },
    { "rows",    INT(rows),     "N",    "24", "so many runs are fitted, and held out", 5, 4096 },
    { "json",    FLAG(json),    NULL,   NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static void print_figures(const pl_fit *f, pl_arena *a)
{
    pl_table t = pl_table_new(a, "of\tfigure\t>was\t>is\t");
    for (int k = 0; k < f->n_figures; k++) {
        const pl_fit_figure *x = &f->figure[k];
        pl_table_add(&t, "%s\t%s\t%.4g\t%.4g\t%s", x->of, x->name, x->before, x->after, x->unit);
    }
    printf("%s\n", pl_table_text(&t));
}

static void print_errors(const pl_fit *f, pl_arena *a)
{
    pl_table t = pl_table_new(a, "runs\t>\t>off by, before\t>and now\t>forecast / measured, before"
                                 "\t>and now");
    for (int held = 0; held < 2; held++) {
        const pl_fit_error *e = held ? f->held : f->fitted;
        pl_table_add(&t, "%s\t%d\t%.1f %%\t%.1f %%\t%.2f\t%.2f", held ? "held out" : "fitted",
                     e[1].n, 100 * e[0].mean, 100 * e[1].mean, e[0].median, e[1].median);
    }
    printf("%s", pl_table_text(&t));
}

static void print_text(const pl_fit *f, pl_arena *a)
{
    printf("%d runs are on such devices, %d on others; %d of them were looked at\n\n", f->n_rows,
           f->n_other, f->n);
    print_figures(f, a);
    print_errors(f, a);
}

static void put_error(const char *key, const pl_fit_error e[2], pl_json_out *out)
{
    pl_json_open(out, key, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "runs", e[1].n, "mean_error_before", e[0].mean, "mean_error", e[1].mean,
                "median_ratio_before", e[0].median, "median_ratio", e[1].median);
    pl_json_close(out);
}

static void print_json(const pl_fit *f, pl_arena *a)
{
    pl_json_out out = pl_json_begin(a);
    PL_JSON_PUT(&out, "schema", "pleat.fit/1", "runs", f->n_rows, "others", f->n_other, "refused",
                f->n_refused);
    pl_json_open(&out, "figures", PL_JSON_LIST);
    for (int k = 0; k < f->n_figures; k++) {
        const pl_fit_figure *x = &f->figure[k];
        PL_JSON_ROW(&out, NULL, "of", x->of, "figure", x->name, "before", x->before, "after",
                    x->after);
    }
    pl_json_close(&out);
    put_error("fitted", f->fitted, &out);
    put_error("held_out", f->held, &out);
    printf("%s\n", pl_json_end(&out));
}

static bool work(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const fit_args *a = args;
    const char *text;
    size_t bytes;
    pl_output file;
    pl_fit *f;
    (void)n;
    if (!a->cluster)
        return pl_err_set(err, PL_EUSAGE, "give --cluster NAME: whose figures are to be fitted");
    if (a->out) PL_TRY(pl_output_open(a->out, arena, &file, err));
    PL_TRY(pl_file_read(operand[0], PL_FIT_BYTES, arena, &text, &bytes, err));
    const pl_fit_options o = { a->cluster, (int)a->rows, pl_request_watch(arena) };
    PL_TRY(pl_fit_make(text, bytes, operand[0], &o, arena, &f, err));
    (a->json ? print_json : print_text)(f, arena);
    if (f->n_refused)
        fprintf(stderr, "%d run%s that cannot be planned %s left out: %s\n", f->n_refused,
                f->n_refused == 1 ? "" : "s", f->n_refused == 1 ? "was" : "were", f->refused);
    if (!a->out) return true;
    pl_text yaml = { .arena = arena };
    pl_cluster_print(f->cluster, &yaml);
    PL_TRY(pl_output_write(&file, yaml.at, yaml.n, err));
    fprintf(stderr, "wrote %s\n", a->out);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(fit_args){ 0 }, 1, 1, work);
}

const pl_command pl_command_fit = {
    .name = "fit",
    .operands = "ROWS.csv",
    .about = "a cluster's figures from measured runs, with the error of runs held out",
    .more = "ROWS.csv: columns model, cluster, strategy, measured_s (seconds of a step)\n"
            "example: pleat fit runs.csv --cluster 8x8xh100 -o mine.yaml",
    .opts = opts,
    .run = run,
};
