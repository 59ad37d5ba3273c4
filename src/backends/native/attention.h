/* backends/native/attention.h - what attention and its gradient share: blocks of queries side by
 * side in vectors, blocks of keys one after the other, and their tiles of scores, [key][query]. */
#ifndef PL_BACKENDS_NATIVE_ATTENTION_H
#define PL_BACKENDS_NATIVE_ATTENTION_H
#include "backends/native/kernels.h"
#include "backends/native/tile.h"
#include "ops/lib/attention.h"

enum {
    PL_ATTENTION_LANES = 64, /* queries of a block: columns of a tile */
    PL_ATTENTION_KEYS = 64,  /* of a block: rows of a tile            */
    PL_ATTENTION_TILE = PL_ATTENTION_LANES * PL_ATTENTION_KEYS,
};

/* Of a share; in its numbers. */
typedef struct pl_attention_shape {
    pl_attention a;
    int64_t q, k, d, e; /* queries of all chunks                                       */
    int64_t q_step[PL_MAX_OPERANDS], k_step[PL_MAX_OPERANDS]; /* from one to the next */
    int64_t run, n_runs; /* so many queries stand one behind the other, so many times  */
    int64_t diagonal;    /* causal: query i sees key j where j <= i + diagonal,        */
    int64_t gap;         /* and so much more with every run before its own             */
    int64_t keys, first_key;      /* of the whole; the first of the share             */
    pl_globals rows;
    uint64_t keep;    /* keep a probability where its word is at least this           */
    float factor;     /* and multiply it by this                                      */
} pl_attention_shape;

pl_attention_shape pl_attention_shape_of(const pl_share *s);

/* The letters of a row of scores but those of its query: heads and rows of the batch. */
uint32_t pl_attention_rows(const pl_attention *a, const pl_node *n);

/* A thread's scratch, dealt out part after part; with at = NULL parts are only counted. */
typedef struct pl_attention_scratch {
    float *at;
    int64_t floats; /* that are dealt out */
} pl_attention_scratch;

float *pl_attention_deal(pl_attention_scratch *s, int64_t floats);

/* Queries [q, q + n) of one head, and keys [k, k + n_k) of its own. */
typedef struct pl_attention_block {
    int64_t q, n, k, n_k;
    int64_t diagonal; /* of its run */
    uint64_t row[PL_ATTENTION_LANES]; /* in the whole, for dropout */
} pl_attention_block;

int64_t pl_attention_blocks(const pl_attention_shape *x); /* of a head's queries */
pl_attention_block pl_attention_block_at(const pl_attention_shape *x, int64_t i);

/* Rows of x into [width][lane], times `by`; lanes beyond n are 0. */
void pl_attention_turn(const float *x, int64_t step, int64_t n, int64_t width, float by,
                       float *out);

/* Keys that any query of the block sees. */
pl_range pl_attention_keys(const pl_attention_shape *x, const pl_attention_block *b);
/* Overwrite what is not seen in a tile of the block. */
void pl_attention_mask(const pl_attention_shape *x, const pl_attention_block *b, float with,
                       float *tile);
/* cap tanh(s / cap) of n numbers. */
void pl_attention_cap(const pl_attention_shape *x, int64_t n, float *tile);
/* What dropout makes of a 1, for the tile of the block. */
void pl_attention_draw(const pl_attention_shape *x, const pl_attention_block *b, pl_rng rng,
                       float *kept);

#endif
