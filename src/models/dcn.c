/* DCN-v2, a recommender: numbers of a row go through an MLP, ids through a table each; all of these
 * side by side cross each other a few times, and go through another MLP to one logit, of a click.
 *
 *   x_0 = (bottom(dense), e_0, e_1 ...),  x_i+1 = x_0 (W_i V_i x_i + b_i) + x_i,  logit = top(x_n)
 *
 * Source: Wang et al., "DCN V2", 2021, whose crosses are of low rank here, V [rank, d]. Weights of
 * the crosses are named and begin as TorchRec's LowRankCrossNet, the others as DLRM's.
 * dlrm-dcnv2: MLPerf's since 2023, of Criteo's terabyte made multi-hot; dcn-hugectr-...: the four
 * sets of tables of HugeCTR's benchmark of embedding collections. */
#include "models/clicks.h"
#include "models/join.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>

static pl_value *cross(const pl_layers *l, int i, int64_t rank, pl_value *first, pl_value *x)
{
    pl_builder *b = l->b;
    const int64_t d = first->shape.dim[1];
    const char *init = pl_layers_normal(b, sqrt(2 / (double)(d + rank)));
    pl_value *y = pl_layers_linear(l, pl_builder_fmt(b, "crossnet.V_kernels.%d", i), "nd,rd->nr",
                                   PL_SHAPE(rank, d), init, x);
    y = pl_layers_linear(l, pl_builder_fmt(b, "crossnet.W_kernels.%d", i), "nr,dr->nd",
                         PL_SHAPE(d, rank), init, y);
    y = pl_layers_bias(l, pl_builder_fmt(b, "crossnet.bias.%d", i), "nd,d->nd", PL_SHAPE(d), NULL,
                       y);
    y = PL_ADD(b, &pl_op_mul, NULL, first, y);
    return PL_ADD(b, &pl_op_add, NULL, y, x);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    pl_widths bottom = pl_clicks_widths(b, args, "bottom"), top = pl_clicks_widths(b, args, "top");
    const pl_clicks_tables tables = pl_clicks_find_tables(b, args, "embed");
    pl_value *x[PL_MOST_WIDTHS + 1] = { pl_clicks_dense(b, args) };
    top.at[top.n++] = 1;
    x[0] = pl_clicks_mlp(&l, "bot_l", &bottom, true, x[0]);
    for (int i = 0; i < tables.n && !b->err.code; i++) {
        const pl_clicks_bags ids = pl_clicks_ids(b, args, &tables.at[i]);
        x[1 + i] = pl_clicks_flat(b, pl_clicks_look_up(&l, "emb_l", &tables.at[i], NULL, &ids));
    }
    if (b->err.code) return;
    pl_value *first = pl_join_columns(b, x, 1 + tables.n), *z = first;
    for (int i = 0; z && i < pl_model_int(args, "crosses"); i++)
        z = cross(&l, i, pl_model_int(args, "rank"), first, z);
    pl_clicks_finish(b, mode, pl_clicks_mlp(&l, "top_l", &top, false, z));
}

static const pl_model_key keys[] = {
    PL_CLICKS_KEYS,
    { "embed", "16", 0, "width of the vectors, or a list like sizes", "*" },
    { "bottom", "128-64-16", 0, "widths of the MLP of the numbers", "*" },
    { "crosses", "3", 1, "layers that multiply by what comes in" },
    { "rank", "32", 1, "of their weights" },
    { "top", "128-64", 0, "widths after them", "*" },
    { "batch", "128", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define WIDTHS "bottom=512-256-128,rank=512,top=1024-1024-512-256,batch=65536"
#define MLPERF                                                                                     \
    "sizes=40000000-39060-17295-7424-20265-3-7122-1543-63-40000000-3067956-405282-10-2209-11938-"  \
    "155-4-976-14-40000000-40000000-40000000-590152-12973-108-36,"                                 \
    "hots=3-2-1-2-6-1-1-1-1-7-3-8-1-6-9-5-1-1-1-12-100-27-10-3-1-1,embed=128," WIDTHS
#define TABLES_7                                                                                   \
    "sizes=10000000-400000000-1000000000-5000000000-1000000000-10000000-10000000,"                 \
    "hots=80-20-20-40-1-1-1,embed=256-64-128-32-128-64-128," WIDTHS
#define TABLES_180                                                                                 \
    "sizes=5x10000-5x4000000-5x4000000-5x50000000-20x1000-30x10000-10x5000000-20x4000000-10x10-"   \
    "10x1000-10x10000-5x100000-40x4000000-50000000-500000000,"                                     \
    "hots=100-50-30-50-50-30-20-20-100-10-100-100-200-100-100,embed=128," WIDTHS
#define TABLES_200                                                                                 \
    "sizes=10x100-10x1000-10x1000-10x10000-20x10000-10x10000-10x100000-10x1000000-10x2000000-"     \
    "10x2000000-10x4000000-20x4000000-20x2000000-10x4000000-10x4000000-10x4000000-10x50000000,"    \
    "hots=1-1-5-20-100-1-1-1-1-1-1-1-10-20-30-50-100,"                                             \
    "embed=128-128-128-128-128-128-128-128-128-128-128-128-64-128-128-128-128," WIDTHS
#define TABLES_510                                                                                 \
    "sizes=100x1000-150x100000-20x1000000-50x2000000-150x4000000-20x4000000-20x4000000,"           \
    "hots=1-1-1-1-1-10-100,embed=128," WIDTHS

const pl_family pl_models_dcn[] = {
    { "dcn", "recommender, DCN-v2, small", NULL, "clicks", keys, build },
    { "dlrm-dcnv2", "MLPerf's since 2023, 26.6B", MLPERF, "clicks", keys, build },
    { "dcn-hugectr-7", "7 tables of HugeCTR's benchmark", TABLES_7, "clicks", keys, build },
    { "dcn-hugectr-180", "its set \"180 tables\", 177", TABLES_180, "clicks", keys, build },
    { "dcn-hugectr-200", "200 tables", TABLES_200, "clicks", keys, build },
    { "dcn-hugectr-510", "510 tables", TABLES_510, "clicks", keys, build },
    { 0 },
};
