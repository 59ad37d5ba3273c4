/* models/clicks.h - what recommenders share: lists of widths, tables of embeddings, MLPs, and the
 * loss of a click. Their inputs are "dense", "cat_0", "cat_1" ... and "label" (model.h); with
 * offsets "cat_0.offsets" and "cat_0.ends" ... too. */
#ifndef PL_MODELS_CLICKS_H
#define PL_MODELS_CLICKS_H
#include "models/layers.h"
#include "ops/lib/segment.h"

/* Keys of their models. */
// clang-format off
#define PL_CLICKS_KEYS \
    { "dense", "13", 1, "numbers of a row" }, \
    { "tables", "26", 1, "of ids", .needs = "sizes=" }, \
    { "rows", "1000", 1, "of each table", .needs = "sizes=" }, \
    { "sizes", "", 0, "rows of the tables, in place of the two: 1460-583-305", "*" }, \
    { "hots", "1", 1, "ids of a row in each table; with offsets=1 in the mean, as room" }, \
    { "bag", "sum", 0, "sum, mean or max of a row's vectors", "*" }, \
    { "offsets", "0", 0, "1: rows have any number of ids, which offsets tell", .most = 1 }
// clang-format on

enum { PL_MOST_WIDTHS = 256 };

/* "512-256-128" */
typedef struct pl_widths {
    int n;
    int64_t at[PL_MOST_WIDTHS + 1]; /* one may follow */
} pl_widths;

/* A key's; an error of b where it is no such list. */
pl_widths pl_clicks_widths(pl_builder *b, const pl_model_args *args, const char *key);
/* Rows of the tables: the key sizes, or else tables times rows. */
pl_widths pl_clicks_tables(pl_builder *b, const pl_model_args *args);

/* The ids of a table: i32[batch] or i32[batch, hots]; or i32[batch * hots] of all rows, of which
 * row r has those from begin[r] to end[r], i32[batch]. */
typedef struct pl_clicks_bags {
    pl_value *ids, *begin, *end; /* NULL: each row has as many */
    pl_bag how;
} pl_clicks_bags;

/* The inputs: numbers f32[batch, dense], and a table's ids. */
pl_value *pl_clicks_dense(pl_builder *b, const pl_model_args *args);
pl_clicks_bags pl_clicks_ids(pl_builder *b, const pl_model_args *args, int table);

/* What a table NAME.weight [rows, width] has for ids, as their bags say: f32[batch, width]. init
 * NULL: uniform up to 1/sqrt(rows), as DLRM's. */
pl_value *pl_clicks_look_up(const pl_layers *l, const char *name, int64_t rows, int64_t width,
                            const char *init, const pl_clicks_bags *bags);

/* Linear layers NAME.0.weight, NAME.2.weight ...: every second module of a torch.nn.Sequential.
 * ReLUs between, and after the last one where `relu`. Weights and biases begin as DLRM's. */
pl_value *pl_clicks_mlp(const pl_layers *l, const char *name, const pl_widths *widths, bool relu,
                        pl_value *x);

/* The binary cross-entropy of logits z [batch, 1]: the classes' logits are 0 and z. For PL_EVAL
 * also what tells how well rows are told apart. */
void pl_clicks_finish(pl_builder *b, pl_mode mode, pl_value *z);

#endif
