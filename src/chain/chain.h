/* chain/chain.h - a sum in which one block stands many times in a row.
 *
 * Layers of a model are such a chain: block i is linked to block i + 1, something stands before
 * the first and after the last, and some variables outside touch every copy. The time of a search
 * hardly grows with the number of copies: potentials are found for one copy that stands for all,
 * the inside of a copy is eliminated once, and the run of copies between the ends is a min-plus
 * power of the table that is left (log2 products). Copies may choose differently. */
#ifndef PL_CHAIN_CHAIN_H
#define PL_CHAIN_CHAIN_H
#include "search/search.h"

/* Edges of a chain: what a and b number differs from list to list. */
typedef struct pl_chain {
    pl_sum outside;             /* once                                                          */
    pl_sum block;               /* in every copy                                                 */
    int copies;                 /* at least 1                                                    */
    int n_links;
    const pl_sum_edge *link;    /* a in copy i, b in copy i + 1; a == b is allowed               */
    int n_first;
    const pl_sum_edge *first;   /* a outside, b in copy 0                                        */
    int n_last;
    const pl_sum_edge *last;    /* a outside, b in the last copy                                 */
    int n_every;
    const pl_sum_edge *every;   /* a outside, b in every copy                                    */
} pl_chain;

/* Fails with PL_EINPUT, naming the part, the table and the entry. */
PL_MUST_CHECK bool pl_chain_check(const pl_chain *chain, pl_err *err);

/* Values: those of outside, then those of copy 0, 1, ...: n of them in all. */
int64_t pl_chain_variables(const pl_chain *chain);
pl_cost pl_chain_cost(const pl_chain *chain, const int *value);
/* time * weights.time + memory * weights.memory; INFINITY where it is illegal. */
double pl_chain_weighted(const pl_chain *chain, pl_cost weights, const int *value);

/* Entries of the edges' tables outside; of one copy, its link and what joins it to the outside. */
double pl_chain_outside_entries(const pl_chain *chain);
double pl_chain_block_entries(const pl_chain *chain);

/* As pl_search_min. */
PL_MUST_CHECK bool pl_chain_min(const pl_chain *chain, double cap, const pl_search_options *options,
                                pl_arena *out, pl_answer *answer, pl_err *err);

/* The legal choice that takes the least memory: answer->time and ->memory are its own, ->bound that
 * of the memory. Fails as pl_chain_min without a cap. */
PL_MUST_CHECK bool pl_chain_least(const pl_chain *chain, const pl_search_options *options,
                                  pl_arena *out, pl_answer *answer, pl_err *err);

/* The choice whose time + price * memory is least: answer->time and ->memory are its own, ->bound
 * that of the sum. Fails as pl_chain_min without a cap. */
PL_MUST_CHECK bool pl_chain_priced(const pl_chain *chain, double price,
                                   const pl_search_options *options, pl_arena *out,
                                   pl_answer *answer, pl_err *err);

/* As pl_chain_min, but all copies choose alike (TAPAS): never better, and worse where a cap binds.
 * The bound is that of tied choices. */
PL_MUST_CHECK bool pl_chain_tied(const pl_chain *chain, double cap,
                                 const pl_search_options *options, pl_arena *out, pl_answer *answer,
                                 pl_err *err);

/* The chain as one sum, each copy written out; tables are shared with the chain. */
pl_sum pl_chain_unroll(const pl_chain *chain, pl_arena *arena);

/* The chain with all copies tied, as one sum: values of outside, then of the block. */
pl_sum pl_chain_tie(const pl_chain *chain, pl_arena *arena);

/* A choice of that sum as one of the chain. */
int *pl_chain_untie(const pl_chain *chain, const int *tied, pl_arena *arena);

#endif
