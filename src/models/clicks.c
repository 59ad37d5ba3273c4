#include "models/clicks.h"

#include "ops/list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

pl_widths pl_clicks_widths(pl_builder *b, const pl_model_args *args, const char *key)
{
    pl_widths x = { 0 };
    const char *text = pl_model_word(args, key);
    for (char *end; *text; text = end + (*end == '-')) {
        errno = 0;
        const long long value = strtoll(text, &end, 10);
        if (end == text || errno || value < 1 || (*end && (*end != '-' || !end[1])) ||
            x.n == PL_MOST_WIDTHS) {
            pl_err_set(&b->err, PL_EUSAGE,
                       "%s: %s=%s: give at most %d whole numbers from 1, as in 512-256-128",
                       args->spec, key, pl_model_word(args, key), PL_MOST_WIDTHS);
            break;
        }
        x.at[x.n++] = value;
    }
    return x;
}

pl_widths pl_clicks_tables(pl_builder *b, const pl_model_args *args)
{
    pl_widths rows = pl_clicks_widths(b, args, "sizes");
    const int64_t tables = pl_model_int(args, "tables");
    if (rows.n) return rows;
    if (tables > PL_MOST_WIDTHS)
        pl_err_set(&b->err, PL_EUSAGE, "%s: tables=%lld are more than %d", args->spec,
                   (long long)tables, PL_MOST_WIDTHS);
    while (rows.n < tables && rows.n < PL_MOST_WIDTHS)
        rows.at[rows.n++] = pl_model_int(args, "rows");
    return rows;
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

pl_clicks_bags pl_clicks_ids(pl_builder *b, const pl_model_args *args, int table)
{
    const int64_t batch = pl_model_int(args, "batch"), hots = pl_model_int(args, "hots");
    const bool offsets = pl_model_int(args, "offsets") != 0;
    const pl_shape shape = offsets    ? PL_SHAPE(batch * hots)
                           : hots > 1 ? PL_SHAPE(batch, hots)
                                      : PL_SHAPE(batch);
    if (!offsets && hots == 1 && strcmp(pl_model_word(args, "bag"), "sum") != 0)
        pl_err_set(&b->err, PL_EUSAGE,
                   "%s: bag=%s needs hots of 2 or more, or offsets=1: a row has one id", args->spec,
                   pl_model_word(args, "bag"));
    const char *name = pl_builder_fmt(b, "cat_%d", table);
    pl_clicks_bags x = { pl_add_input(b, name, PL_I32, shape), .how = find_bag(b, args) };
    if (!offsets) return x;
    x.begin = pl_add_input(b, pl_builder_fmt(b, "%s.offsets", name), PL_I32, PL_SHAPE(batch));
    x.end = pl_add_input(b, pl_builder_fmt(b, "%s.ends", name), PL_I32, PL_SHAPE(batch));
    return x;
}

pl_value *pl_clicks_look_up(const pl_layers *l, const char *name, int64_t rows, int64_t width,
                            const char *init, const pl_clicks_bags *bags)
{
    pl_builder *b = l->b;
    if (!bags->ids) return NULL;
    if (!init) init = pl_layers_uniform(b, 1 / sqrt((double)rows));
    pl_value *table =
        pl_layers_weight(l, pl_builder_fmt(b, "%s.weight", name), PL_SHAPE(rows, width), init);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, name, NULL, table, bags->ids);
    if (bags->begin) return pl_bag_reduce(b, bags->how, x, bags->begin, bags->end);
    if (bags->ids->shape.rank == 1) return x;
    if (bags->how == PL_BAG_MAX) return PL_ADD(b, &pl_op_reduce_max, "bhk->bk", x);
    x = PL_ADD(b, &pl_op_reduce_sum, "bhk->bk", x);
    if (bags->how == PL_BAG_SUM) return x;
    const double hots = (double)bags->ids->shape.dim[1];
    return PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / hots), x);
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
