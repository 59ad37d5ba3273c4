/* train/cached.h - tables of embeddings that lie in slow memory, with a cache of their rows on the
 * device. In the graph a cached table is as large as its cache, and what is looked up in it are
 * places there: pl_value.rows. Who keeps the rows is tables.h. */
#ifndef PL_TRAIN_CACHED_H
#define PL_TRAIN_CACHED_H
#include "graph/graph.h"

/* How large caches are; {0}: there are none. */
typedef struct pl_cached {
    double share; /* of the rows of a table, but at least as many as a step may read       */
    int64_t rows; /* or so many of each table: a step that reads more of them cannot run   */
} pl_cached;

/* "1.5%" or "20000"; fails with PL_EUSAGE. */
PL_MUST_CHECK bool pl_cached_parse(const char *text, pl_cached *out, pl_err *err);

static inline bool pl_cached_are(const pl_cached *c)
{
    return c->share > 0 || c->rows > 0;
}

/* Makes caches of the f32 tables [v, h] that lookups read by one input of ids each, which nothing
 * else reads, where they are smaller than the tables; of a forward pass. `batches` of it are one
 * step. Tables that share their ids share places. Returns how many. */
int pl_cached_add(pl_builder *b, const pl_cached *want, int64_t batches);

/* The input by whose ids a table is looked up, of which a state of the graph, or of one like it, is
 * a cache, or of the table's moments. */
const pl_value *pl_cached_ids(const pl_graph *g, const pl_value *state);

#endif
