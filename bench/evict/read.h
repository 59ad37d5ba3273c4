/* Reads what the bench runs on, from files of others: problems of evict/evict.h. */
#ifndef PL_BENCH_EVICT_READ_H
#define PL_BENCH_EVICT_READ_H
#include "policies/find.h"

/* A log of the DTR simulator (uwsampl/dtr-prototype, simrd/logs.zip): a JSON object per line.
 * Tensors that share storage are views; what a MUTATE changes is a new value; constants are there
 * to stay; what is held at the end has to be there. Times are nanoseconds. Fails with PL_EINPUT. */
bool read_log(const char *path, pl_arena *arena, pl_evict_problem *problem, pl_err *err);

/* A graph of haoming-codes/moccasin (data/): nodes with a cost and bytes, in the order that the
 * file gives or, as networkx does it, generation by generation. One unit of cost is a second. Each
 * node runs at most twice. Fails with PL_EINPUT. */
bool read_graph(const char *path, pl_arena *arena, pl_evict_problem *problem, pl_err *err);

#endif
