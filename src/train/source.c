#include "train/source.h"

#include "data/clicks.h"
#include "data/images.h"
#include "data/rows.h"
#include "data/text.h"

#include <string.h>

/* A file of any name is a log where the model reads one, or pictures; a model out of a file, whose
 * inputs may be of any kind, gets pictures where the file has some. */
static pl_data_kind kind_of(const pl_data_source *source, const pl_model_args *args)
{
    const pl_data_kind kind = pl_data_kind_of(source->data);
    const char *reads = args->model->data;
    if (kind != PL_DATA_TEXT) return kind;
    if (!strcmp(reads, "clicks")) return PL_DATA_CLICKS;
    if (!strcmp(reads, "images")) return PL_DATA_IMAGES;
    return !strcmp(reads, "tensors") && pl_images_are(source->data) ? PL_DATA_IMAGES : kind;
}

/* Does the model read data of this kind, which is `what`? */
static bool reads(const pl_model_args *args, const char *kind, const char *what, pl_err *err)
{
    return !strcmp(args->model->data, kind) ||
           pl_err_set(err, PL_EUNSUPPORTED,
                      "model '%s' reads %s, and this is a %s: give FILE" PL_TENSORS_ENDING
                      " with its inputs, or use --data synthetic",
                      args->model->name, args->model->data, what);
}

/* A text file fills rows of tokens, and nothing else. */
static bool check_text_inputs(const pl_graph *graph, pl_err *err)
{
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (v->role != PL_INPUT || pl_data_is_scalar(v->name)) continue;
        if (v->shape.rank != 2 || pl_type_is_float(v->type))
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "the model reads '%s' too, %s: a text file gives rows of tokens "
                              "alone; give FILE" PL_TENSORS_ENDING
                              " with its inputs, or use --data synthetic",
                              v->name, pl_shape_text(graph->arena, v->type, &v->shape));
    }
    return true;
}

/* Tokens and labels are below what the model has of them. */
static bool check_vocabulary(const pl_model_args *a, const pl_vocab *words, pl_err *err)
{
    const int64_t n = words ? words->n : 256;
    const char *are = words ? "words" : "bytes";
    const bool classes = pl_model_has(a, "classes");
    if (pl_model_int(a, "vocab") < n)
        return pl_err_set(err, PL_EINPUT,
                          "vocab=%lld is too small: the tokens of a file are its %s, "
                          "write vocab=%lld%s",
                          (long long)pl_model_int(a, "vocab"), are, (long long)n,
                          words ? ", or count fewer: pleat data words TEXT --most N" : "");
    return pl_model_labels(a) >= n ||
           pl_err_set(err, PL_EINPUT,
                      "classes=%lld are too few: the labels of a text file are its %s, %s%lld%s",
                      (long long)pl_model_labels(a), are,
                      classes ? "write classes=" : "which makes ", (long long)n,
                      classes ? "" : " classes");
}

static bool open_text(const pl_data_source *s, const pl_model_args *args, pl_arena *arena,
                      pl_data *out, pl_err *err)
{
    pl_vocab *words = NULL;
    PL_TRY(reads(args, "text", "text file", err));
    PL_TRY(check_text_inputs(s->graph[0], err));
    if (s->words) {
        words = PL_NEW(arena, pl_vocab);
        PL_TRY(pl_vocab_read(s->words, arena, words, err));
    }
    PL_TRY(check_vocabulary(args, words, err));
    PL_TRY(pl_data_text_open(s->data, words, s->train_share, pl_model_int(args, "seq"), arena, out,
                             err));
    out->in_order = s->in_order;
    return true;
}

static bool check_options(const pl_data_source *s, pl_data_kind kind, pl_err *err)
{
    if (s->words && kind != PL_DATA_TEXT)
        return pl_err_set(err, PL_EUSAGE, "--words %s: --data %s is no text that has words",
                          s->words, s->data);
    if (s->augment && kind != PL_DATA_IMAGES)
        return pl_err_set(err, PL_EUSAGE, "--augment changes pictures: --data %s has none",
                          s->data);
    if (s->in_order && (kind == PL_DATA_TEXT || kind == PL_DATA_SYNTHETIC))
        return pl_err_set(err, PL_EUSAGE,
                          "--data-order file is for rows: --data FILE.safetensors, a log FILE.tsv, "
                          "or pictures");
    return true;
}

static bool open_kind(const pl_data_source *s, pl_data_kind kind, const pl_model_args *args,
                      pl_arena *arena, pl_data *out, pl_err *err)
{
    static const pl_augment none;
    switch (kind) {
    case PL_DATA_TEXT: return open_text(s, args, arena, out, err);
    case PL_DATA_TENSORS:
        return pl_data_rows_open(s->data, s->train_share, s->in_order, s->n, s->graph, arena, out,
                                 err);
    case PL_DATA_CLICKS:
        return reads(args, "clicks", "log of clicks", err) &&
               pl_data_clicks_open(s->data, s->train_share, s->in_order, s->n, s->graph, arena, out,
                                   err);
    case PL_DATA_IMAGES:
        return pl_images_open(s->data, s->train_share, s->in_order, s->n, s->graph,
                              s->augment ? s->augment : &none, arena, out, err);
    default: return pl_data_synthetic_open(s->data, out, err);
    }
}

/* A method that sweeps over all rows keeps what it knows of each: they stay where they are. */
static bool check_all(const pl_data_source *s, const pl_model_args *args, const pl_data *d,
                      pl_err *err)
{
    const long long batch = (long long)pl_model_int(args, "batch"), n = (long long)d->n_train;
    if (s->augment)
        return pl_err_set(err, PL_EUSAGE, "--augment: method=%s takes pictures as they are",
                          pl_model_word(args, "method"));
    if (d->kind == PL_DATA_TEXT) {
        const long long rows = n - (long long)pl_model_int(args, "seq");
        return batch <= rows ||
               pl_err_set(err, PL_EUSAGE,
                          "method=%s takes the same rows in each step: the text has %lld to learn "
                          "from, and batch=%lld",
                          pl_model_word(args, "method"), rows, batch);
    }
    return d->kind == PL_DATA_SYNTHETIC || batch == n ||
           pl_err_set(err, PL_EUSAGE,
                      "method=%s takes all rows in each step: there are %lld to learn from, and "
                      "batch=%lld: give --batch %lld, or another --train-share",
                      pl_model_word(args, "method"), n, batch, n);
}

bool pl_data_source_open(const pl_data_source *source, const pl_model_args *args, pl_arena *arena,
                         pl_data *out, pl_err *err)
{
    pl_data_source s = *source;
    const pl_data_kind kind = kind_of(&s, args);
    const bool all = pl_model_takes_all(args);
    if (all && kind != PL_DATA_SYNTHETIC) s.in_order = true;
    PL_TRY(check_options(source, kind, err));
    PL_TRY(open_kind(&s, kind, args, arena, out, err));
    return !all || check_all(&s, args, out, err);
}
