/* Wide & Deep, a recommender: a linear model of the ids and numbers, which remembers, beside an MLP
 * of the ids' vectors and the numbers, which generalises; the click's logit is their sum.
 *
 *   logit = b + w dense + sum_i w_i[id_i] + deep(dense, e_0[id_0], e_1[id_1] ...)
 *
 * Source: Cheng et al., "Wide & deep learning for recommender systems", 2016, whose crossed
 * features are columns of ids like others here. Weights begin as DLRM's, those of the wide part at
 * zero. */
#include "models/clicks.h"
#include "models/join.h"
#include "models/list.h"
#include "ops/list.h"

static pl_value *sum(pl_builder *b, pl_value *x, pl_value *y)
{
    return PL_ADD(b, &pl_op_add, NULL, x, y);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    pl_widths deep = pl_clicks_widths(b, args, "deep");
    const pl_clicks_tables tables = pl_clicks_find_tables(b, args, "embed");
    pl_value *x[PL_MOST_WIDTHS + 1] = { pl_clicks_dense(b, args) };
    const pl_shape numbers = PL_SHAPE(1, pl_model_int(args, "dense"));
    pl_value *wide = pl_layers_linear(&l, "wide", "ni,oi->no", numbers, "zeros", x[0]);
    wide = pl_layers_bias(&l, "wide", "no,o->no", PL_SHAPE(1), NULL, wide);
    deep.at[deep.n++] = 1;
    for (int i = 0; i < tables.n && !b->err.code; i++) {
        pl_clicks_table t = tables.at[i];
        const pl_clicks_bags ids = pl_clicks_ids(b, args, &t);
        x[1 + i] = pl_clicks_flat(b, pl_clicks_look_up(&l, "emb", &t, NULL, &ids));
        t.width = 1;
        pl_value *own = pl_clicks_look_up(&l, "wide", &t, "zeros", &ids);
        if (!t.alone) own = PL_ADD(b, &pl_op_reduce_sum, "bth->bh", own);
        wide = sum(b, wide, own);
    }
    if (b->err.code) return;
    pl_value *all = pl_join_columns(b, x, 1 + tables.n);
    pl_clicks_finish(b, mode, sum(b, wide, pl_clicks_mlp(&l, "deep", &deep, false, all)));
}

static const pl_model_key keys[] = {
    PL_CLICKS_KEYS,
    { "embed", "32", 1, "width of the vectors" },
    { "deep", "1024-512-256", 0, "widths of the MLP", "*" },
    { "batch", "128", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_wide_deep[] = {
    { "wide_deep", "recommender, Wide & Deep", NULL, "clicks", keys, build },
    { 0 },
};
