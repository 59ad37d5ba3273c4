#include "models/clicks.h"

#include "ops/list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- lists of numbers -------------------------------------------------------------------------- */

static bool read_number(const char **at, int64_t *out)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    errno = 0;
    *out = strtoll(*at, &end, 10);
    if (end == *at || errno || *out < 1) return false;
    *at = end;
    return true;
}

/* "512-256-128"; where `times` is not NULL an entry may also be "5x1000". False: it is no such
 * list. */
static bool read_list(const char *text, int64_t times[], pl_widths *x)
{
    for (; *text; x->n++) {
        int64_t *value = &x->at[x->n], first;
        if (x->n == PL_MOST_WIDTHS || !read_number(&text, value)) return false;
        if (times) times[x->n] = 0;
        if (times && *text == 'x') {
            text++;
            first = *value;
            if (!read_number(&text, value) || first > PL_MOST_STACKED) return false;
            times[x->n] = first;
        }
        if (*text && (*text++ != '-' || !*text)) return false;
    }
    return true;
}

static pl_widths find_list(pl_builder *b, const pl_model_args *args, const char *key,
                           int64_t times[])
{
    pl_widths x = { 0 };
    if (!read_list(pl_model_word(args, key), times, &x))
        pl_err_set(&b->err, PL_EUSAGE, "%s: %s=%s: give at most %d whole numbers from 1, as in %s",
                   args->spec, key, pl_model_word(args, key), PL_MOST_WIDTHS,
                   times ? "1460-583-5x1000 (of at most 65536 tables)" : "512-256-128");
    return x;
}

pl_widths pl_clicks_widths(pl_builder *b, const pl_model_args *args, const char *key)
{
    return find_list(b, args, key, NULL);
}

/* -- tables ------------------------------------------------------------------------------------ */

/* A number for each of n tables: a key says one for all, or a list. */
static pl_widths find_numbers(pl_builder *b, const pl_model_args *args, const char *key, int n)
{
    pl_widths x = pl_clicks_widths(b, args, key);
    if (x.n != 1 && x.n != n)
        pl_err_set(&b->err, PL_EUSAGE,
                   "%s: %s has %d numbers, the tables %d: give one, or one for each", args->spec,
                   key, x.n, n);
    for (; x.n < n; x.n++) x.at[x.n] = x.n ? x.at[0] : 1;
    return x;
}

static pl_widths find_sizes(pl_builder *b, const pl_model_args *args, int64_t times[])
{
    pl_widths rows = find_list(b, args, "sizes", times);
    const int64_t tables = pl_model_int(args, "tables");
    if (rows.n || b->err.code) return rows;
    if (tables > PL_MOST_WIDTHS)
        pl_err_set(&b->err, PL_EUSAGE,
                   "%s: tables=%lld are more than %d: write sizes=%lldx%lld, so that they stand in "
                   "one",
                   args->spec, (long long)tables, PL_MOST_WIDTHS, (long long)tables,
                   (long long)pl_model_int(args, "rows"));
    for (; rows.n < tables && rows.n < PL_MOST_WIDTHS; rows.n++) {
        rows.at[rows.n] = pl_model_int(args, "rows");
        times[rows.n] = 0;
    }
    return rows;
}

static void check_tables(pl_builder *b, const pl_model_args *args, const pl_clicks_tables *t)
{
    const bool offsets = pl_model_int(args, "offsets") != 0;
    bool single = !offsets, alone = true;
    for (int i = 0; i < t->n; i++) {
        single &= t->at[i].hots == 1;
        alone &= t->at[i].alone;
    }
    if (single && strcmp(pl_model_word(args, "bag"), "sum") != 0)
        pl_err_set(&b->err, PL_EUSAGE,
                   "%s: bag=%s needs hots of 2 or more, or offsets=1: a row has one id", args->spec,
                   pl_model_word(args, "bag"));
    if (offsets && !alone)
        pl_err_set(&b->err, PL_EUSAGE,
                   "%s: offsets=1 needs tables that stand alone: write sizes without 'x'",
                   args->spec);
}

pl_clicks_tables pl_clicks_find_tables(pl_builder *b, const pl_model_args *args, const char *width)
{
    int64_t times[PL_MOST_WIDTHS];
    const pl_widths rows = find_sizes(b, args, times),
                    widths = find_numbers(b, args, width, rows.n),
                    hots = find_numbers(b, args, "hots", rows.n);
    pl_clicks_tables t = { 0 };
    for (; t.n < rows.n && !b->err.code; t.n++) {
        const bool alone = !times[t.n];
        t.at[t.n] = (pl_clicks_table){ .first = t.count,
                                       .tables = alone ? 1 : times[t.n],
                                       .rows = rows.at[t.n],
                                       .width = widths.at[t.n],
                                       .hots = hots.at[t.n],
                                       .alone = alone };
        t.count += t.at[t.n].tables;
    }
    check_tables(b, args, &t);
    return t;
}

pl_value *pl_clicks_dense(pl_builder *b, const pl_model_args *args)
{
    const pl_shape shape = PL_SHAPE(pl_model_int(args, "batch"), pl_model_int(args, "dense"));
    return pl_add_input(b, "dense", PL_F32, shape);
}

static pl_bag find_bag(pl_builder *b, const pl_model_args *args)
{
    const char *word = pl_model_word(args, "bag");
    for (int i = 0; i < PL_BAGS; i++)
        if (!strcmp(word, pl_bag_names[i])) return (pl_bag)i;
    pl_err_set(&b->err, PL_EUSAGE, "%s: bag=%s: give sum, mean or max", args->spec, word);
    return PL_BAG_SUM;
}

pl_clicks_bags pl_clicks_ids(pl_builder *b, const pl_model_args *args, const pl_clicks_table *t)
{
    const int64_t batch = pl_model_int(args, "batch");
    const bool offsets = pl_model_int(args, "offsets") != 0;
    pl_shape shape = PL_SHAPE(offsets ? batch * t->hots : batch);
    if (!t->alone) shape.dim[shape.rank++] = t->tables;
    if (!offsets && t->hots > 1) shape.dim[shape.rank++] = t->hots;
    const char *name = pl_builder_fmt(b, "cat_%lld", (long long)t->first);
    const pl_type type = t->rows > INT32_MAX ? PL_I64 : PL_I32;
    pl_clicks_bags x = { pl_add_input(b, name, type, shape), .how = find_bag(b, args) };
    if (!offsets) return x;
    x.begin = pl_add_input(b, pl_builder_fmt(b, "%s.offsets", name), PL_I32, PL_SHAPE(batch));
    x.end = pl_add_input(b, pl_builder_fmt(b, "%s.ends", name), PL_I32, PL_SHAPE(batch));
    return x;
}

/* "emb_l.3", or of many "emb_l.3-7". */
static const char *name_table(pl_builder *b, const char *prefix, const pl_clicks_table *t)
{
    const long long first = t->first, last = t->first + t->tables - 1;
    return t->alone ? pl_builder_fmt(b, "%s.%lld", prefix, first)
                    : pl_builder_fmt(b, "%s.%lld-%lld", prefix, first, last);
}

static pl_value *add_table(const pl_layers *l, const char *prefix, const pl_clicks_table *t,
                           const char *init)
{
    pl_builder *b = l->b;
    const char *name = pl_builder_fmt(b, "%s.weight", name_table(b, prefix, t));
    if (!init) init = pl_layers_uniform(b, 1 / sqrt((double)t->rows));
    if (t->alone) return pl_layers_weight(l, name, PL_SHAPE(t->rows, t->width), init);
    pl_value *table = pl_layers_weight(l, name, PL_SHAPE(t->tables, t->rows, t->width), init);
    return pl_add_parts(b, table,
                        pl_builder_fmt(b, "%s.{%lld}.weight", prefix, (long long)t->first));
}

pl_value *pl_clicks_look_up(const pl_layers *l, const char *prefix, const pl_clicks_table *t,
                            const char *init, const pl_clicks_bags *bags)
{
    pl_builder *b = l->b;
    if (!bags->ids) return NULL;
    pl_value *table = add_table(l, prefix, t, init);
    const char *name = name_table(b, prefix, t), *many = t->alone ? "" : "t",
               *s = t->hots > 1 && !bags->begin ? "s" : "",
               *kept = bags->how == PL_BAG_MAX ? s : "";
    const char *spec = pl_builder_fmt(b, "%svh,b%s%s->b%s%sh", many, many, s, many, kept);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, name, spec, table, bags->ids);
    if (bags->begin) return pl_bag_reduce(b, bags->how, x, bags->begin, bags->end);
    if (*kept) return PL_ADD(b, &pl_op_reduce_max, *many ? "btsh->bth" : "bsh->bh", x);
    if (bags->how != PL_BAG_MEAN || t->hots == 1) return x;
    return PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / (double)t->hots), x);
}

pl_value *pl_clicks_flat(pl_builder *b, pl_value *x)
{
    return !x || x->shape.rank == 2 ? x : PL_ADD(b, &pl_op_reshape, "bth->b(th)", x);
}

pl_value *pl_clicks_mlp(const pl_layers *l, const char *name, const pl_widths *widths, bool relu,
                        pl_value *x)
{
    pl_builder *b = l->b;
    for (int i = 0; x && i < widths->n; i++) {
        const int64_t in = x->shape.dim[1], out = widths->at[i];
        const char *layer = pl_builder_fmt(b, "%s.%d", name, 2 * i);
        x = pl_layers_linear(l, layer, "ni,oi->no", PL_SHAPE(out, in),
                             pl_layers_normal(b, sqrt(2 / (double)(in + out))), x);
        x = pl_layers_bias(l, layer, "no,o->no", PL_SHAPE(out),
                           pl_layers_normal(b, sqrt(1 / (double)out)), x);
        if (relu || i < widths->n - 1) x = PL_ADD(b, &pl_op_relu, NULL, x);
    }
    return x;
}

static void tell_scores(pl_builder *b, pl_value *z)
{
    pl_value *label = b->err.code ? NULL : pl_graph_find(b->graph, "label");
    pl_add_output(b, "score", z);
    pl_add_output(b, "class", PL_ADD(b, &pl_op_cast, "; to=f32", label));
}

void pl_clicks_finish(pl_builder *b, pl_mode mode, pl_value *z)
{
    pl_model_finish(b, mode, PL_ADD_AS(b, &pl_op_slice_grad, "logits", "bu->bv; at=1 v=2", z),
                    "label");
    if (mode == PL_EVAL) tell_scores(b, z);
}
