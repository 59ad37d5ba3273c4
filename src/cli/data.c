/* pleat data: how often each row of a model's tables is in a file of data (count), or each word in
 * a text (words). */
#include "base/file.h"
#include "base/output.h"
#include "base/table.h"
#include "cache/hits.h"
#include "cli/list.h"
#include "data/counts.h"
#include "data/text.h"
#include "train/source.h"
#include "train/step.h"

#include <stdio.h>
#include <string.h>

typedef struct data_args {
    const char *data, *words, *file;
    int64_t most;
    double train_share;
} data_args;

#define AT(f) offsetof(data_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "data",        PATH(data),        "FILE", NULL,
      "count: .safetensors, a log of clicks, or a text" },
    { "words",       PATH(words),       "FILE", NULL,  "count: a text's tokens are its words",
      .needs = "data" },
    { "train-share", REAL(train_share), "X",    "0.9", "count: the part of FILE that trains" },
    { "most",        INT(most),         "N",    "0",   "words: the most frequent alone; 0: all" },
    { "o",           PATH(file),        "FILE", NULL,
      "write the counts, for plan --ids; or the words, for train --words" },
    { 0 },
};
// clang-format on

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
    printf("%s: %lld %s, of which %lld train\n\n%s", d->path, (long long)d->n,
           d->kind == PL_DATA_TEXT ? pl_data_text_unit(d) : "rows", (long long)d->n_train,
           pl_table_text(&table));
}

static bool count(const data_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    const pl_optim optim = pl_optim_usual("adagrad");
    pl_model_args model;
    pl_graph *g;
    pl_data d;
    pl_output file;
    if (!a->data) return pl_err_set(err, PL_EUSAGE, "--data is missing: what is to be counted");
    PL_TRY(pl_model_parse(spec, arena, &model, err));
    PL_TRY(pl_step_graph(&(pl_trained){ &model, &optim, NULL }, 1, arena, &g, err));
    if (a->file) PL_TRY(pl_output_open(a->file, arena, &file, err));
    const pl_data_source source = { .data = a->data,
                                    .words = a->words,
                                    .train_share = a->train_share,
                                    .n = 1,
                                    .graph = (const pl_graph *const[]){ g } };
    PL_TRY(pl_data_source_open(&source, &model, arena, &d, err));
    const pl_counts c = pl_counts_take(&d, g, arena);
    if (c.n) print_counts(&c, &d, arena);
    const bool ok =
        c.n ? !a->file || pl_counts_write(&c, &file, err)
            : pl_err_set(err, PL_EUSAGE,
                         "--data %s: nothing in it is an id of a row of a table of %s that "
                         "stands alone",
                         a->data, model.spec);
    pl_data_free(&d);
    return ok;
}

static void print_words(const char *path, const pl_vocab *w)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < w->n; i++) seen += w->count[i];
    printf("%s: %lld words, %lld that differ", path, (long long)seen, (long long)w->n - 1);
    if (w->count[0]) printf("; %lld are not among them", (long long)w->count[0]);
    for (int64_t i = 1; i < w->n && i <= 5; i++)
        printf("%s'%s' %lld", i == 1 ? "; the most frequent: " : ", ", w->word[i],
               (long long)w->count[i]);
    printf("\n");
}

static bool words(const data_args *a, const char *path, pl_arena *arena, pl_err *err)
{
    void *text;
    size_t n;
    pl_output file;
    if (a->file) PL_TRY(pl_output_open(a->file, arena, &file, err));
    PL_TRY(pl_file_map(path, &text, &n, err));
    const pl_vocab w = pl_vocab_count(text, n, a->most, arena);
    pl_text out = { .arena = arena };
    pl_vocab_print(&w, &out);
    pl_file_unmap(text, n);
    if (w.n < 2) return pl_err_set(err, PL_EINPUT, "%s: there are no words in it", path);
    if (a->file) PL_TRY(pl_output_write(&file, out.at, out.n, err));
    print_words(path, &w);
    return true;
}

static bool count_either(void *args, int n, const char *const operand[], pl_arena *arena,
                         pl_err *err)
{
    (void)n;
    if (!strcmp(operand[0], "count")) return count(args, operand[1], arena, err);
    if (!strcmp(operand[0], "words")) return words(args, operand[1], arena, err);
    return pl_err_set(err, PL_EUSAGE, "pleat data %s: there are: count MODEL, words TEXT",
                      operand[0]);
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(data_args){ 0 }, 2, 2, count_either);
}

const pl_command pl_command_data = {
    .name = "data",
    .operands = "count MODEL | words TEXT",
    .about = "how often each row of a model's tables is in data, or each word in a text",
    .more = "example: pleat data count dlrm --data clicks.tsv -o counts.safetensors\n"
            "         pleat plan dlrm --cluster local:2 --optimizer adagrad --cache auto --ids "
            "counts.safetensors\n"
            "         pleat data words book.txt --most 20000 -o words.tsv\n"
            "         pleat train word_lm:vocab=20000 --data book.txt --words words.tsv",
    .opts = opts,
    .run = run,
};
