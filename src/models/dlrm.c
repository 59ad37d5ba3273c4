/* DLRM, a recommender: numbers of a row go through an MLP, ids through a table each; the dot
 * products of each two of these vectors, and what the MLP gave, go through another MLP to one
 * logit, of a click. A row has a bag of ids of each table, whose vectors are added up, or as `bag`
 * says.
 *
 *   z = bottom(dense),  t = (z, e_0, e_1 ...),  logit = top(z, t_i t_j of all j < i)
 *
 * Source: Naumov et al., "Deep learning recommendation model", 2019, and its public code, after
 * which weights are named, shaped and begin; dlrm-kaggle: the tables of Criteo's Kaggle set, with
 * the widths of its script; dlrm-terabyte: MLPerf's, of Criteo's terabyte of clicks with at most
 * 40,000,000 rows. */
#include "models/clicks.h"
#include "models/join.h"
#include "models/list.h"
#include "ops/list.h"

/* x_0, and the products of each two of the n vectors, row by row of the triangle below the
 * diagonal. */
static pl_value *interact(pl_builder *b, pl_value *const x[], int n_x, int64_t n)
{
    pl_value *t = pl_join_stacks(b, x, n_x), **row = PL_NEW_N(b->graph->arena, pl_value *, n + 1);
    pl_value *z = PL_ADD_AS(b, &pl_op_einsum, "interaction", "bfk,bgk->bfg", t, t);
    if (!z) return NULL;
    pl_join_split(b, z, n, row);
    for (int64_t i = 1; i < n; i++)
        row[i] = PL_ADD(b, &pl_op_slice, pl_builder_fmt(b, "bv->bu; u=%lld", (long long)i), row[i]);
    row[0] = x[0];
    return b->err.code ? NULL : pl_join_columns(b, row, n);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    pl_widths bottom = pl_clicks_widths(b, args, "bottom"), top = pl_clicks_widths(b, args, "top");
    const pl_clicks_tables tables = pl_clicks_find_tables(b, args, "embed");
    pl_value *x[PL_MOST_WIDTHS + 1] = { pl_clicks_dense(b, args) };
    bottom.at[bottom.n++] = pl_model_int(args, "embed");
    top.at[top.n++] = 1;
    x[0] = pl_clicks_mlp(&l, "bot_l", &bottom, true, x[0]);
    for (int i = 0; i < tables.n && !b->err.code; i++) {
        const pl_clicks_bags ids = pl_clicks_ids(b, args, &tables.at[i]);
        x[1 + i] = pl_clicks_look_up(&l, "emb_l", &tables.at[i], NULL, &ids);
    }
    if (b->err.code) return;
    pl_value *z = interact(b, x, 1 + tables.n, 1 + tables.count);
    pl_clicks_finish(b, mode, pl_clicks_mlp(&l, "top_l", &top, false, z));
}

static const pl_model_key keys[] = {
    PL_CLICKS_KEYS,
    { "embed", "16", 1, "width of the vectors" },
    { "bottom", "128-64", 0, "widths before that", "*" },
    { "top", "128-64", 0, "widths after the products", "*" },
    { "batch", "128", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define KAGGLE                                                                                     \
    "sizes=1460-583-10131227-2202608-305-24-12517-633-3-93145-5683-8351593-3194-27-14992-5461306-" \
    "10-5652-2173-4-7046547-18-15-286181-105-142572,bottom=512-256-64,top=512-256"
#define TERABYTE                                                                                   \
    "sizes=39884406-39043-17289-7420-20263-3-7120-1543-63-38532951-2953546-403346-10-2208-11938-"  \
    "155-4-976-14-39979771-25641295-39664984-585935-12972-108-36,embed=128,bottom=512-256,"        \
    "top=1024-1024-512-256,batch=65536"

const pl_family pl_models_dlrm[] = {
    { "dlrm", "recommender, small", NULL, "clicks", keys, build },
    { "dlrm-kaggle", "of Criteo's Kaggle set, 541M", KAGGLE, "clicks", keys, build },
    { "dlrm-terabyte", "MLPerf's, 24.0B", TERABYTE, "clicks", keys, build },
    { 0 },
};
