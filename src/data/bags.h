/* data/bags.h - inputs that say where bags of ids begin and end (ops/lib/segment.h), among the ids
 * of another input: as torch.nn.EmbeddingBag takes them, ids[N] and offsets[B].
 *
 * Of a file, tensors are named as the inputs: that of the ids has all ids of all rows, that of the
 * offsets says for each row where its ids begin; they ascend from 0, and the last bag ends with the
 * ids. A batch has N places: ids of its rows, one bag after another, then -1. */
#ifndef PL_DATA_BAGS_H
#define PL_DATA_BAGS_H
#include "graph/graph.h"
#include "data/data.h"

/* Bags of the ids of one input. */
typedef struct pl_bags {
    const pl_value *ids;        /* [N]; NULL: there are none                        */
    const pl_value *begin, *end; /* [B] inputs; end NULL: the graph has it of begin */
} pl_bags;

/* The bags that an input has a part in, as any of the three. */
pl_bags pl_bags_find(const pl_graph *graph, const pl_value *input);

/* Bounds at random: N / B ids a bag in the mean, from none to twice as many; they divide all N. */
void pl_bags_draw(const pl_bags *bags, const pl_port *port, uint64_t seed, int64_t step, void *to);
/* Of batch k of several made one: its bounds there. */
void pl_bags_shift(const pl_bags *bags, pl_type type, int64_t k, void *bounds);

/* -- of a file --------------------------------------------------------------------------------- */

/* Bags whose ids and offsets are tensors of a file. */
typedef struct pl_bags_stored {
    pl_bags bags;
    int64_t most; /* ids that a batch had, where those were more than it has places; or 0 */
} pl_bags_stored;

/* Do the offsets ascend from 0, and lie within the ids, and does an average batch fit? Fails with
 * PL_EINPUT. */
PL_MUST_CHECK bool pl_bags_check(const pl_bags *bags, const pl_tensors *tensors, pl_err *err);

/* Did every batch fit that was filled so far? Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_bags_fit(const pl_bags_stored *stored, pl_err *err);

/* The ids of rows [0, rows) of the file; and the row that has id `at` of all. */
int64_t pl_bags_ids(const pl_bags *bags, const pl_tensors *tensors, int64_t rows);
int64_t pl_bags_row(const pl_bags *bags, const pl_tensors *tensors, int64_t at);

/* As pl_data_fill, of any of the three inputs. Ids beyond the places are left out, which
 * pl_bags_fit tells. */
void pl_bags_fill(pl_bags_stored *stored, const pl_data *data, const pl_port *port, uint64_t seed,
                  int64_t step, int64_t n_valid, void *to);

#endif
