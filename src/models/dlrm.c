/* DLRM, a recommender: numbers of a row go through an MLP, ids through a table each; the dot
 * products of each two of these vectors, and what the MLP gave, go through another MLP to one
 * logit, of a click. A row has `hots` ids of each table, whose vectors are added up.
 *
 *   z = bottom(dense),  t = (z, e_0, e_1 ...),  logit = top(z, t_i t_j of all j < i)
 *
 * The loss is the binary cross-entropy: the classes' logits are 0 and this one.
 * Source: Naumov et al., "Deep learning recommendation model", 2019, and its public code, after
 * which weights are named, shaped and begin; dlrm-kaggle: the tables of Criteo's Kaggle set, with
 * the widths of its script; dlrm-terabyte: MLPerf's, of Criteo's terabyte of clicks with at most
 * 40,000,000 rows. */
#include "models/join.h"
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_NUMBERS = 256 };

/* "512-256-128" */
typedef struct numbers {
    int n;
    int64_t at[MOST_NUMBERS];
} numbers;

static numbers read_numbers(pl_builder *b, const pl_model_args *args, const char *key)
{
    numbers x = { 0 };
    const char *text = pl_model_word(args, key);
    for (char *end; *text; text = end + (*end == '-')) {
        errno = 0;
        const long long value = strtoll(text, &end, 10);
        if (end == text || errno || value < 1 || (*end && (*end != '-' || !end[1])) ||
            x.n == MOST_NUMBERS) {
            pl_err_set(&b->err, PL_EUSAGE,
                       "%s: %s=%s: give at most %d whole numbers from 1, as in 512-256-128",
                       args->spec, key, pl_model_word(args, key), MOST_NUMBERS);
            break;
        }
        x.at[x.n++] = value;
    }
    return x;
}

/* NAME.0.weight, NAME.2.weight ...: every second module of a torch.nn.Sequential. ReLUs between,
 * and after the last one where `relu`. */
static pl_value *add_mlp(const pl_layers *l, const char *name, const numbers *width, bool relu,
                         pl_value *x)
{
    pl_builder *b = l->b;
    for (int i = 0; x && i < width->n; i++) {
        const int64_t in = x->shape.dim[1], out = width->at[i];
        const char *layer = pl_builder_fmt(b, "%s.%d", name, 2 * i);
        x = pl_layers_linear(l, layer, "ni,oi->no", PL_SHAPE(out, in),
                             pl_layers_normal(b, sqrt(2 / (double)(in + out))), x);
        x = pl_layers_bias(l, layer, "no,o->no", PL_SHAPE(out),
                           pl_layers_normal(b, sqrt(1 / (double)out)), x);
        if (relu || i < width->n - 1) x = PL_ADD(b, &pl_op_relu, NULL, x);
    }
    return x;
}

/* The vector of table i, [batch, embed]. */
static pl_value *look_up(const pl_layers *l, const pl_model_args *args, int i, int64_t rows)
{
    pl_builder *b = l->b;
    const int64_t batch = pl_model_int(args, "batch"), hots = pl_model_int(args, "hots");
    const pl_shape each = hots > 1 ? PL_SHAPE(batch, hots) : PL_SHAPE(batch);
    pl_value *ids = pl_add_input(b, pl_builder_fmt(b, "cat_%d", i), PL_I32, each);
    pl_value *table = pl_layers_weight(l, pl_builder_fmt(b, "emb_l.%d.weight", i),
                                       PL_SHAPE(rows, pl_model_int(args, "embed")),
                                       pl_layers_uniform(b, 1 / sqrt((double)rows)));
    pl_value *x =
        PL_ADD_AS(b, &pl_op_embedding, pl_builder_fmt(b, "emb_l.%d", i), NULL, table, ids);
    return hots > 1 ? PL_ADD(b, &pl_op_reduce_sum, "bhk->bk", x) : x;
}

/* x_0, and the products of each two of the n vectors, row by row of the triangle below the
 * diagonal. */
static pl_value *interact(pl_builder *b, pl_value *const x[], int64_t n)
{
    pl_value *t = pl_join_rows(b, x, n), *row[MOST_NUMBERS + 1] = { 0 };
    pl_value *z = PL_ADD_AS(b, &pl_op_einsum, "interaction", "bfk,bgk->bfg", t, t);
    if (!z) return NULL;
    pl_join_split(b, z, n, row);
    for (int64_t i = 1; i < n; i++)
        row[i] = PL_ADD(b, &pl_op_slice, pl_builder_fmt(b, "bv->bu; u=%lld", (long long)i), row[i]);
    row[0] = x[0];
    return b->err.code ? NULL : pl_join_columns(b, row, n);
}

/* What is needed to say how well rows are told apart. */
static void tell_scores(pl_builder *b, pl_value *z)
{
    pl_value *label = b->err.code ? NULL : pl_graph_find(b->graph, "label");
    pl_add_output(b, "score", z);
    pl_add_output(b, "class", PL_ADD(b, &pl_op_cast, "; to=f32", label));
}

static numbers list_tables(pl_builder *b, const pl_model_args *args)
{
    numbers rows = read_numbers(b, args, "sizes");
    const int64_t tables = pl_model_int(args, "tables");
    if (rows.n) return rows;
    if (tables > MOST_NUMBERS)
        pl_err_set(&b->err, PL_EUSAGE, "%s: tables=%lld are more than %d", args->spec,
                   (long long)tables, MOST_NUMBERS);
    while (rows.n < tables && rows.n < MOST_NUMBERS) rows.at[rows.n++] = pl_model_int(args, "rows");
    return rows;
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    const pl_shape shape = PL_SHAPE(pl_model_int(args, "batch"), pl_model_int(args, "dense"));
    numbers bottom = read_numbers(b, args, "bottom"), top = read_numbers(b, args, "top"),
            rows = list_tables(b, args);
    pl_value *x[MOST_NUMBERS + 1] = { pl_add_input(b, "dense", PL_F32, shape) };
    if (b->err.code) return;
    bottom.at[bottom.n++] = pl_model_int(args, "embed");
    top.at[top.n++] = 1;
    x[0] = add_mlp(&l, "bot_l", &bottom, true, x[0]);
    for (int i = 0; i < rows.n && !b->err.code; i++) x[1 + i] = look_up(&l, args, i, rows.at[i]);
    if (b->err.code) return;
    pl_value *z = add_mlp(&l, "top_l", &top, false, interact(b, x, 1 + rows.n));
    pl_model_finish(b, mode, PL_ADD_AS(b, &pl_op_slice_grad, "logits", "bu->bv; at=1 v=2", z),
                    "label");
    if (mode == PL_EVAL) tell_scores(b, z);
}

static const pl_model_key keys[] = {
    { "dense", "13", 1, "numbers of a row" },
    { "tables", "26", 1, "of ids" },
    { "rows", "1000", 1, "of each table" },
    { "sizes", "", 0, "rows of the tables, in place of the two: 1460-583-305", "*" },
    { "hots", "1", 1, "ids of a row in each table" },
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
