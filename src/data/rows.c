/* Tensors of a file as data. Read pl_data_rows_open(): every input is looked for and checked
 * (check_input), all problems are named at once; then pl_data_rows_fill(). */
#include "data/rows.h"

#include "data/bags.h"
#include "data/fill.h"
#include "data/ids.h"
#include "data/problems.h"
#include "run/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- opening ----------------------------------------------------------------------------------- */

enum { MOST_TOLD = 8 };

typedef struct opening {
    pl_data *d;
    const pl_value *first; /* input with rows, and its tensor */
    int first_at;
    int n_strange; /* inputs that are missing, and no name is near */
    pl_problems problems;
} opening;

/* The first number out of range is told, with its row, and how many there are. */
static bool check_ids(const opening *o, const pl_graph *graph, const pl_value *value, int at,
                      pl_err *err)
{
    const pl_tensor *tensor = &o->d->tensors.tensor[at];
    const pl_bags bags = pl_bags_find(graph, value);
    int64_t least, below = pl_ids_below(graph, value, &least), first = -1, wrong = 0;
    const int64_t n = pl_shape_count(&tensor->shape);
    for (int64_t i = 0; i < n && below; i++) {
        const double x = pl_tensor_get(tensor, i);
        if (x >= (double)least && x < (double)below) continue;
        if (!wrong++) first = i;
    }
    if (!wrong) return true;
    const pl_value *table = pl_ids_table(graph, value);
    const int64_t row = bags.ids == value ? pl_bags_row(&bags, &o->d->tensors, first)
                                          : first / (n / tensor->shape.dim[0]);
    char many[64] = "";
    if (wrong > 1)
        snprintf(many, sizeof many, " (%lld of its numbers are out of range)", (long long)wrong);
    return pl_err_set(err, PL_EINPUT, "row %lld of '%s' has %.17g: it has to be %s %lld%s%s%s%s",
                      (long long)row, tensor->name, pl_tensor_get(tensor, first),
                      least < 0 ? "below" : "at least 0 and below", (long long)below,
                      table ? ", the rows of '" : "", table ? table->name : "", table ? "'" : "",
                      many);
}

static bool check_rows(opening *o, const pl_value *value, int at, pl_err *err)
{
    const pl_tensor *t = &o->d->tensors.tensor[at];
    if (!o->first) {
        o->first = value;
        o->first_at = at;
        o->d->n = t->shape.dim[0];
        return true;
    }
    if (value->shape.dim[0] != o->first->shape.dim[0])
        return pl_err_set(
            err, PL_EINPUT,
            "input '%s' has %lld rows and '%s' %lld: data is taken by rows of a batch", value->name,
            (long long)value->shape.dim[0], o->first->name, (long long)o->first->shape.dim[0]);
    if (t->shape.dim[0] != o->d->n)
        return pl_err_set(err, PL_EINPUT, "'%s' has %lld rows in the file, '%s' has %lld", t->name,
                          (long long)t->shape.dim[0], o->first->name, (long long)o->d->n);
    return true;
}

/* "i32[rows,16]": an input as the file has to hold it, for any number of rows. */
static const char *rows_text(const pl_value *v, pl_arena *a)
{
    const char *text = pl_shape_text(a, v->type, &v->shape), *first = strchr(text, '[');
    return pl_arena_fmt(a, "%.*s[rows%s", (int)(first - text), text,
                        first + 1 + strcspn(first + 1, ",]"));
}

/* A tensor of nearly that name, for a message. */
static const char *near_name(opening *o, const char *name)
{
    const pl_tensors *t = &o->d->tensors;
    pl_near near = { .word = name, .within = (int)strlen(name) / 3 };
    for (int i = 0; i < t->n; i++) pl_near_offer(&near, t->tensor[i].name);
    if (near.name)
        return pl_arena_fmt(o->problems.text.arena, " (the file has '%s': rename it)", near.name);
    o->n_strange++;
    return "";
}

static void tell_names(opening *o)
{
    const pl_tensors *t = &o->d->tensors;
    pl_text_add(&o->problems.text, "; the file has%s", t->n ? "" : " no tensors");
    for (int i = 0; i < t->n && i < MOST_TOLD; i++)
        pl_text_add(&o->problems.text, "%s '%s'", i ? "," : "", t->tensor[i].name);
    if (t->n > MOST_TOLD) pl_text_add(&o->problems.text, " and %d more", t->n - MOST_TOLD);
}

/* Bags of which this input is one part; offsets are checked where the ids are. */
static bool check_bags(opening *o, const pl_bags *bags, const pl_value *value, int at, pl_err *err)
{
    const pl_tensors *t = &o->d->tensors;
    const int offsets = pl_tensors_find(t, bags->begin->name);
    pl_err told = { 0 }; /* of that input */
    if (value == bags->begin) return check_rows(o, value, at, err);
    if (offsets < 0 ||
        !pl_tensors_fit(t, offsets, bags->begin->type, &bags->begin->shape, true, &told))
        return true;
    PL_TRY(pl_bags_check(bags, &o->d->tensors, err));
    o->d->bags[o->d->n_bags++] = (pl_bags_stored){ .bags = *bags };
    return true;
}

static bool check_input(opening *o, const pl_graph *graph, const pl_value *value, pl_err *err)
{
    const pl_bags bags = pl_bags_find(graph, value);
    if (bags.ids && value == bags.end) return true; /* follows from where others begin */
    int at = pl_tensors_find(&o->d->tensors, value->name);
    if (!value->shape.rank)
        return pl_err_set(err, PL_EINPUT, "input '%s' is a scalar: it has no rows", value->name);
    if (at < 0)
        return pl_err_set(err, PL_EINPUT, "'%s' %s is missing%s", value->name,
                          rows_text(value, o->problems.text.arena), near_name(o, value->name));
    PL_TRY(pl_tensors_fit(&o->d->tensors, at, value->type, &value->shape, true, err));
    return (bags.ids ? check_bags(o, &bags, value, at, err) : check_rows(o, value, at, err)) &&
           check_ids(o, graph, value, at, err);
}

static bool check_inputs(opening *o, int n, const pl_graph *const graph[], pl_err *err)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < graph[i]->values.n; k++) {
            const pl_value *v = graph[i]->values.at[k];
            pl_err problem = { 0 };
            if (v->role != PL_INPUT || pl_data_is_scalar(v->name)) continue;
            bool seen = false; /* in a graph before */
            for (int j = 0; j < i && !seen; j++) seen = pl_graph_find(graph[j], v->name);
            if (!seen && !check_input(o, graph[i], v, &problem))
                pl_problems_add(&o->problems, "%s", problem.msg);
        }
    const char *problems = pl_problems_text(&o->problems);
    if (o->n_strange) {
        tell_names(o);
        problems = pl_text_get(&o->problems.text);
    }
    return !o->problems.n || pl_err_set(err, PL_EINPUT, "%s: %s", o->d->path, problems);
}

static bool divide(pl_data *data, double share, pl_err *err)
{
    data->n_train = (int64_t)((double)data->n * share);
    if (data->n_train > 0 && data->n_train < data->n) return true;
    return pl_err_set(err, PL_EINPUT,
                      "%s: %lld rows give %lld for training and %lld for validation: at least one "
                      "of each is needed (--train-share)",
                      data->path, (long long)data->n, (long long)data->n_train,
                      (long long)(data->n - data->n_train));
}

static int count_inputs(int n, const pl_graph *const graph[])
{
    int count = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < graph[i]->values.n; k++)
            count += graph[i]->values.at[k]->role == PL_INPUT;
    return count;
}

bool pl_data_rows_take(const pl_tensors *tensors, double share, bool in_order, int n,
                       const pl_graph *const graph[], pl_arena *arena, pl_data *out, pl_err *err)
{
    pl_data d = {
        .kind = PL_DATA_TENSORS, .path = tensors->path, .tensors = *tensors, .in_order = in_order
    };
    opening o = { .d = &d, .problems.text.arena = arena };
    d.bags = PL_NEW_N(arena, pl_bags_stored, count_inputs(n, graph) + 1);
    d.n_bytes = (int64_t)d.tensors.map_bytes;
    d.hash = pl_manifest_hash(arena, d.tensors.map, d.tensors.map_bytes);
    if (!check_inputs(&o, n, graph, err) || !divide(&d, share, err)) {
        pl_data_free(&d);
        return false;
    }
    *out = d;
    return true;
}

bool pl_data_rows_open(const char *path, double share, bool in_order, int n,
                       const pl_graph *const graph[], pl_arena *arena, pl_data *out, pl_err *err)
{
    pl_tensors t;
    return pl_tensors_open(path, arena, &t, err) &&
           pl_data_rows_take(&t, share, in_order, n, graph, arena, out, err);
}

/* -- batches ----------------------------------------------------------------------------------- */

typedef struct batch {
    const pl_data *d;
    const pl_tensor *tensor;
    const pl_value *input;
    uint64_t seed;
    int64_t step, n_valid, rows, row_size; /* of the batch; elements of a row */
} batch;

/* A run goes through rows of the batch, which lie apart in the file. */
static void put_rows(const void *of, const pl_fill_run *run, void *part)
{
    const batch *b = of;
    for (int64_t i = 0, n; i < run->n; i += n) {
        int64_t global = run->global + i * run->step;
        int64_t column = global % b->row_size;
        int64_t row =
            pl_data_row(b->d, b->seed, b->step, b->n_valid, global / b->row_size, b->rows);
        n = (b->row_size - column + run->step - 1) / run->step; /* of the run in this row */
        if (n > run->n - i) n = run->n - i;
        pl_fill_take(b->tensor, row * b->row_size + column, run->step, n, b->input->type, part,
                     run->at + i);
    }
}

void pl_data_rows_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                       int64_t n_valid, void *to)
{
    const pl_value *v = port->value;
    for (int i = 0; i < data->n_bags; i++) {
        const pl_bags *x = &data->bags[i].bags;
        if (strcmp(v->name, x->ids->name) != 0 && strcmp(v->name, x->begin->name) != 0 &&
            (!x->end || strcmp(v->name, x->end->name) != 0))
            continue;
        pl_bags_fill(&data->bags[i], data, port, seed, step, n_valid, to);
        return;
    }
    const batch b = { .d = data,
                      .tensor = &data->tensors.tensor[pl_tensors_find(&data->tensors, v->name)],
                      .input = v,
                      .seed = seed,
                      .step = step,
                      .n_valid = n_valid,
                      .rows = v->shape.dim[0],
                      .row_size = pl_shape_count(&v->shape) / v->shape.dim[0] };
    pl_fill_runs(port, put_rows, &b, to);
}
