#include "data/counts.h"

#include "base/file.h"
#include "data/bags.h"
#include "data/ids.h"
#include "data/text.h"
#include "run/safetensors.h"

#include <inttypes.h>
#include <string.h>

/* Rows of the table that an input's ids are of; 0: it is no such input. */
static int64_t rows_of(const pl_graph *graph, const pl_value *v)
{
    int64_t least;
    if (v->role != PL_INPUT || pl_type_is_float(v->type) || pl_data_is_scalar(v->name)) return 0;
    const int64_t below = pl_ids_below(graph, v, &least);
    const pl_value *table = pl_ids_table(graph, v);
    if (table && table->shape.rank > 2) return 0; /* of many tables, which are not cached */
    return least == 0 ? below : 0;
}

static struct pl_counts_of *add(pl_counts *c, const pl_value *v, int64_t rows)
{
    struct pl_counts_of *x = &c->of[c->n++];
    *x = (struct pl_counts_of){ v->name, rows, NULL };
    return x;
}

static pl_counts none(const pl_graph *graph, pl_arena *arena)
{
    return (pl_counts){ 0, pl_arena_get(arena, (size_t)graph->values.n + 1,
                                        sizeof(struct pl_counts_of)) };
}

/* Of the part of a text that trains, where rows begin at each place alike. */
static bool count_text(const pl_data *data, const pl_value *v, int64_t *count)
{
    if (strcmp(v->name, "tokens") != 0) return false;
    for (int64_t k = 0; k < data->n_train; k++) count[pl_data_text_token(data, k)]++;
    return true;
}

static bool count_rows(const pl_data *data, const pl_value *v, int64_t *count)
{
    const int at = pl_tensors_find(&data->tensors, v->name);
    if (at < 0) return false;
    const pl_tensor *t = &data->tensors.tensor[at];
    int64_t n = pl_shape_count(&t->shape) / t->shape.dim[0] * data->n_train;
    for (int i = 0; i < data->n_bags; i++)
        if (!strcmp(data->bags[i].bags.ids->name, v->name))
            n = pl_bags_ids(&data->bags[i].bags, &data->tensors, data->n_train);
    for (int64_t k = 0; k < n; k++) count[(int64_t)pl_tensor_get(t, k)]++;
    return true;
}

pl_counts pl_counts_take(const pl_data *data, const pl_graph *graph, pl_arena *arena)
{
    pl_counts c = none(graph, arena);
    const bool text = data->kind == PL_DATA_TEXT;
    for (int i = 0; i < graph->values.n && (text || data->kind == PL_DATA_TENSORS); i++) {
        const pl_value *v = graph->values.at[i];
        const int64_t rows = rows_of(graph, v);
        int64_t *count = rows ? PL_NEW_N(arena, int64_t, rows) : NULL;
        if (rows && (text ? count_text : count_rows)(data, v, count)) add(&c, v, rows)->at = count;
    }
    return c;
}

static bool read_one(const pl_tensors *t, const pl_value *v, int64_t rows, pl_arena *arena,
                     pl_counts *out, pl_err *err)
{
    const int at = pl_tensors_find(t, v->name);
    if (at < 0) return pl_err_set(err, PL_EINPUT, "'%s' is missing", v->name);
    PL_TRY(pl_tensors_fit(t, at, PL_I64, &PL_SHAPE(rows), false, err));
    int64_t *count = PL_NEW_N(arena, int64_t, rows);
    pl_tensor_convert(&t->tensor[at], t->tensor[at].data, rows, count);
    for (int64_t i = 0; i < rows; i++)
        if (count[i] < 0)
            return pl_err_set(err, PL_EINPUT,
                              "row %" PRId64 " of '%s' was counted %" PRId64 " times", i, v->name,
                              count[i]);
    add(out, v, rows)->at = count;
    return true;
}

bool pl_counts_read(const char *path, const pl_graph *graph, pl_arena *arena, pl_counts *out,
                    pl_err *err)
{
    enum { MOST_TOLD = 4 };
    pl_tensors t;
    pl_text problems = { .arena = arena };
    int n_problems = 0;
    *out = none(graph, arena);
    PL_TRY(pl_tensors_open(path, arena, &t, err));
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        const int64_t rows = rows_of(graph, v);
        pl_err problem = { 0 };
        if (rows && !read_one(&t, v, rows, arena, out, &problem) && n_problems++ < MOST_TOLD)
            pl_text_add(&problems, "%s%s", problems.n ? "; " : "", problem.msg);
    }
    pl_tensors_free(&t);
    if (n_problems > MOST_TOLD) pl_text_add(&problems, "; and %d more", n_problems - MOST_TOLD);
    return !n_problems || pl_err_set(err, PL_EINPUT,
                                     "%s: %s: count the data of this model: "
                                     "pleat data count",
                                     path, pl_text_get(&problems));
}

bool pl_counts_write(const pl_counts *counts, pl_output *file, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("counts");
    pl_saved *saved = PL_NEW_N(tmp, pl_saved, counts->n + 1);
    pl_text all = { .arena = tmp };
    const char *head = NULL;
    size_t n, total;
    for (int i = 0; i < counts->n; i++)
        saved[i] = (pl_saved){ counts->of[i].input, PL_I64, PL_SHAPE(counts->of[i].rows),
                               counts->of[i].at };
    bool ok = pl_safetensors_print(counts->n, saved, tmp, &head, &n, &total, err);
    if (ok) pl_text_span(&all, head, n);
    for (int i = 0; ok && i < counts->n; i++)
        pl_text_span(&all, saved[i].data, pl_safetensors_bytes(&saved[i]));
    ok = ok && pl_output_write(file, all.at, all.n, err);
    pl_arena_free(tmp);
    return ok;
}

const int64_t *pl_counts_find(const pl_counts *counts, const char *input)
{
    for (int i = 0; counts && i < counts->n; i++)
        if (!strcmp(counts->of[i].input, input)) return counts->of[i].at;
    return NULL;
}
