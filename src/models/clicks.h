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
    { "sizes", "", 0, "rows of the tables: 1460-583-305; 5x1000: five that stand in one", "*" }, \
    { "hots", "1", 0, "ids of a row in each table, or a list like sizes; offsets=1: room", "*" }, \
    { "bag", "sum", 0, "sum, mean or max of a row's vectors", "*" }, \
    { "offsets", "0", 0, "1: rows have any number of ids, which offsets tell", .most = 1 }
// clang-format on

enum { PL_MOST_WIDTHS = 256, PL_MOST_STACKED = 65536 }; /* tables that stand in one */

/* "512-256-128" */
typedef struct pl_widths {
    int n;
    int64_t at[PL_MOST_WIDTHS + 1]; /* one may follow */
} pl_widths;

/* A key's; an error of b where it is no such list. */
pl_widths pl_clicks_widths(pl_builder *b, const pl_model_args *args, const char *key);

/* Tables of as many rows that stand in one state, [tables, rows, width], and are looked up at once;
 * or one alone, [rows, width]. */
typedef struct pl_clicks_table {
    int64_t first, tables, rows, width; /* first: its number among all tables                     */
    int64_t hots;                       /* ids of a row in each of them                           */
    bool alone;
} pl_clicks_table;

typedef struct pl_clicks_tables {
    int n;
    int64_t count; /* of tables in all */
    pl_clicks_table at[PL_MOST_WIDTHS];
} pl_clicks_tables;

/* As the keys sizes, or else tables and rows, hots, and `width`, say, of which the last two are a
 * number for all, or one for each of sizes. */
pl_clicks_tables pl_clicks_find_tables(pl_builder *b, const pl_model_args *args, const char *width);

/* The ids of a table: i32[batch] or i32[batch, hots]; of many, i32[batch, tables] or
 * i32[batch, tables, hots]; i64 where rows are more than 2^31. Or i32[batch * hots] of all rows, of
 * which row r has those from begin[r] to end[r], i32[batch]. */
typedef struct pl_clicks_bags {
    pl_value *ids, *begin, *end; /* NULL: each row has as many */
    pl_bag how;
} pl_clicks_bags;

/* The inputs: numbers f32[batch, dense], and a table's ids. */
pl_value *pl_clicks_dense(pl_builder *b, const pl_model_args *args);
pl_clicks_bags pl_clicks_ids(pl_builder *b, const pl_model_args *args, const pl_clicks_table *t);

/* What a table PREFIX.FIRST.weight has for ids, as their bags say: f32[batch, width]; of many,
 * PREFIX.FIRST-LAST.weight, [batch, tables, width], files have each as if it were alone. init NULL:
 * uniform up to 1/sqrt(rows), as DLRM's. */
pl_value *pl_clicks_look_up(const pl_layers *l, const char *prefix, const pl_clicks_table *t,
                            const char *init, const pl_clicks_bags *bags);

/* What was looked up in many tables side by side: [batch, tables * width]. */
pl_value *pl_clicks_flat(pl_builder *b, pl_value *x);

/* Linear layers NAME.0.weight, NAME.2.weight ...: every second module of a torch.nn.Sequential.
 * ReLUs between, and after the last one where `relu`. Weights and biases begin as DLRM's. */
pl_value *pl_clicks_mlp(const pl_layers *l, const char *name, const pl_widths *widths, bool relu,
                        pl_value *x);

/* The binary cross-entropy of logits z [batch, 1]: the classes' logits are 0 and z. For PL_EVAL
 * also what tells how well rows are told apart. */
void pl_clicks_finish(pl_builder *b, pl_mode mode, pl_value *z);

#endif
