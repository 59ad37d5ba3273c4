/* ops/lib/attention.h - what attention and its gradient share: which letter is which, which keys a
 * query sees, the score of a pair and its dropout. */
#ifndef PL_OPS_LIB_ATTENTION_H
#define PL_OPS_LIB_ATTENTION_H
#include "base/rng.h"
#include "graph/walk.h"

#define PL_ATTENTION_ATTRS "scale=1 causal=0 window=0 cap=0 p=0 stream=0"

typedef struct pl_attention {
    int q, k, d, e;    /* factors: queries, keys, the width of both, the width of values */
    int chunk;         /* of causal queries: query q of chunk c stands at c Q + q. -1: there
                          are none                                                       */
    int lse;           /* the operand; its elements are the rows of scores, in order     */
    bool causal;
    int64_t window;    /* of a causal row the last so many keys; 0: all of them          */
    double scale, cap; /* cap 0: none                                                    */
    double p;          /* of a probability to be dropped                                 */
    uint64_t stream;
} pl_attention;

pl_attention pl_attention_of(const pl_node *n);

/* Infer hook. Every operand is of one kind, a character of `in` (the seed comes behind them) and of
 * `out`: Q queries, K keys, V values, Y results, L logarithms of a row's sum. */
PL_MUST_CHECK bool pl_attention_infer(const pl_node *n, pl_sig *sig, const char *in,
                                      const char *out, pl_err *err);

/* How many chunks to put so many queries in, of a node with these attributes: 1 where each sees as
 * many keys anyway, or they are few, or do not divide. Split by the place within a chunk, devices
 * see about as many keys each. */
int64_t pl_attention_chunks(const char *attrs, int64_t queries);

/* The attributes of n, for its gradient; b owns them. */
const char *pl_attention_attrs(pl_builder *b, const pl_node *n);

/* Where query i of a chunk stands in the whole; both are counted in the share. */
int64_t pl_attention_position(const pl_attention *a, const pl_share *s, int64_t chunk, int64_t i);

/* Of this share's keys, counted from 0 in the share, those that the query at which `row` stands
 * sees. */
pl_range pl_attention_seen(const pl_attention *a, const pl_walk *row);

/* Pairs of a query and a key that it sees, of all heads. */
double pl_attention_pairs(const pl_attention *a, const pl_share *s);

/* The same of any share of so many queries and keys at most: causal, the last queries see most
 * keys, and the first keys are seen by most queries. */
double pl_attention_most_pairs(const pl_attention *a, const pl_share *s);

/* cap tanh(scale (q k) / cap) for the query at which `row` stands and a key of the share. */
double pl_attention_score(const pl_attention *a, const pl_walk *row, const void *const in[],
                          int64_t key);

/* What dropout makes of a probability of 1: the number that the operator dropout would draw for a
 * tensor with the letters of the rows and then k. */
typedef struct pl_attention_drop {
    pl_draw draw;
    pl_globals rows;
    int64_t keys, first; /* of the whole; the share's first */
} pl_attention_drop;
/* seed NULL: nothing is dropped. */
pl_attention_drop pl_attention_drops(const pl_attention *a, const pl_share *s, const void *seed);
double pl_attention_kept(const pl_attention *a, pl_attention_drop *drop, const pl_walk *row,
                         int64_t key);

#endif
