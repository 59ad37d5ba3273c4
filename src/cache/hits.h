/* cache/hits.h - what a cache will find, where ids are drawn alike from batch to batch, and the
 * rows stay that are drawn most: in the long run none finds more that does not know the ids. */
#ifndef PL_CACHE_HITS_H
#define PL_CACHE_HITS_H
#include "base/arena.h"
#include <stdint.h>

/* Rows by how likely one id is one of them, the likeliest first: equal or near ones together. */
typedef struct pl_draws {
    int n, cap;
    struct pl_draws_bin { double p, rows; } *at; /* p of each of its rows */
} pl_draws;

/* By Zipf's law: those of row k in proportion to (k + 1)^-s. */
pl_draws pl_draws_zipf(int64_t rows, double s, pl_arena *arena);
/* As often as they were counted; rows that were not are never drawn. */
pl_draws pl_draws_counted(int64_t rows, const int64_t counts[], pl_arena *arena);

typedef struct pl_hits {
    double found; /* share of the ids whose row is there before the batch            */
    double rows;  /* that come in for a batch, and go after it, each once            */
} pl_hits;

/* Of batches of so many independent ids. */
pl_hits pl_hits_of(const pl_draws *d, int64_t slots, int64_t ids);

#endif
