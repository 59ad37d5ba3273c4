/* pleat data count: how often each row of a model's tables is in a file of data. */
#include "base/table.h"
#include "cache/hits.h"
#include "cli/list.h"
#include "data/clicks.h"
#include "data/counts.h"
#include "data/rows.h"
#include "train/step.h"

#include <stdio.h>
#include <string.h>

typedef struct data_args {
    const char *data, *file;
    double train_share;
} data_args;

#define AT(f) offsetof(data_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "data",        TEXT(data),        "FILE", NULL,  ".safetensors, or a log of clicks" },
    { "o",           TEXT(file),        "FILE", NULL,  "write the counts, for plan --ids" },
    { "train-share", REAL(train_share), "X",    "0.9", "of the rows: those that train count" },
    { 0 },
};
// clang-format on

static bool open_data(const data_args *a, const pl_model_args *model, const pl_graph *g,
                      pl_arena *arena, pl_data *out, pl_err *err)
{
    if (!a->data) return pl_err_set(err, PL_EUSAGE, "--data is missing: what is to be counted");
    const pl_data_kind kind = pl_data_kind_of(a->data);
    if (kind == PL_DATA_TENSORS)
        return pl_data_rows_open(a->data, a->train_share, false, 1, &g, arena, out, err);
    if (kind != PL_DATA_SYNTHETIC && !strcmp(model->model->data, "clicks"))
        return pl_data_clicks_open(a->data, a->train_share, false, 1, &g, arena, out, err);
    return pl_err_set(err, PL_EUSAGE,
                      "--data %s: of model '%s' rows of FILE.safetensors or of a log of clicks can "
                      "be counted",
                      a->data, model->model->name);
}

static void print_counts(const pl_counts *c, const pl_data *d, pl_arena *arena)
{
    static const double share[] = { 0.001, 0.01, 0.1 };
    pl_table table = pl_table_new(arena, "input\t>rows\t>in the data\t>ids of the first 0.1 %\t"
                                         ">1 %\t>10 %");
    for (int i = 0; i < c->n; i++) {
        const struct pl_counts_of *x = &c->of[i];
        const pl_draws draws = pl_draws_counted(x->rows, x->at, arena);
        double found[3], distinct = 0;
        for (int k = 0; k < draws.n; k++) distinct += draws.at[k].rows;
        for (int k = 0; k < 3; k++)
            found[k] = pl_hits_of(&draws, (int64_t)(share[k] * (double)x->rows) + 1, 1).found;
        pl_table_add(&table, "%s\t%lld\t%.0f\t%.1f %%\t%.1f %%\t%.1f %%", x->input,
                     (long long)x->rows, distinct, 100 * found[0], 100 * found[1], 100 * found[2]);
    }
    printf("%s: %lld rows, of which %lld train\n\n%s", d->path, (long long)d->n,
           (long long)d->n_train, pl_table_text(&table));
}

static bool count(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const data_args *a = args;
    const pl_optim optim = pl_optim_usual("adagrad");
    pl_model_args model;
    pl_graph *g;
    pl_data d;
    (void)n;
    if (strcmp(operand[0], "count") != 0)
        return pl_err_set(err, PL_EUSAGE, "pleat data %s: there is: count MODEL", operand[0]);
    PL_TRY(pl_model_parse(operand[1], arena, &model, err));
    PL_TRY(pl_step_graph(&(pl_trained){ &model, &optim, NULL }, 1, arena, &g, err));
    PL_TRY(open_data(a, &model, g, arena, &d, err));
    const pl_counts c = pl_counts_take(&d, g, arena);
    if (c.n) print_counts(&c, &d, arena);
    const bool ok =
        c.n ? !a->file || pl_counts_write(&c, a->file, err)
            : pl_err_set(err, PL_EUSAGE, "no input of %s is ids of a table", model.spec);
    pl_data_free(&d);
    return ok;
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(data_args){ 0 }, 2, 2, count);
}

const pl_command pl_command_data = {
    .name = "data",
    .operands = "count MODEL",
    .about = "how often each row of a model's tables is in a file of data",
    .more = "example: pleat data count dlrm --data clicks.tsv -o counts.safetensors\n"
            "         pleat plan dlrm --cluster local:2 --optimizer adagrad --cache auto --ids "
            "counts.safetensors",
    .opts = opts,
    .run = run,
};
