/* cache/cache.h - which rows of a table are in fast memory, where only so many have room.
 *
 * Fast memory has places, each free or with one row. Before a batch pl_cache_take() says which of
 * its rows have to come in, where to, and which others go from there: those that are worth least
 * to a policy. A row that was written since it came in is dirty: slow memory is told when it goes.
 *
 * Source: the frequency-aware cache of CachedEmbedding (Colossal-AI). It knows no dirty rows, and
 * writes back all. */
#ifndef PL_CACHE_CACHE_H
#define PL_CACHE_CACHE_H
#include "base/arena.h"
#include <stdint.h>

typedef struct pl_cache pl_cache;

/* Who goes where room is needed. */
typedef struct pl_cache_policy {
    const char *name, *about;
    bool looks;  /* uses what pl_cache_see was told */
    double (*worth)(const pl_cache *c, int32_t slot); /* that the row there stays: the least go */
} pl_cache_policy;

/* What a user who says nothing gets. */
#define PL_CACHE_USUAL "lookahead"
#define PL_CACHE_AHEAD 16

enum { PL_CACHE_COOLS = 32 }; /* batches; bench/cache.csv */

extern const pl_cache_policy *const pl_cache_policies[]; /* ends with NULL */
const pl_cache_policy *pl_cache_policy_find(const char *name); /* or NULL */

/* A row that comes in or goes; going: it is dirty. */
typedef struct pl_cache_move {
    int32_t row, slot;
    bool dirty;
} pl_cache_move;

typedef struct pl_cache_moves {
    int32_t n_out, n_in;
    pl_cache_move *out, *in; /* in rising order of slots; what goes and what comes are other rows */
} pl_cache_moves;

/* Of all batches so far. */
typedef struct pl_cache_stats {
    int64_t lookups, hits;       /* ids, and those of them whose row was there      */
    int64_t rows_in;             /* rows that came                                  */
    int64_t rows_out, rows_back; /* rows that went, and those of them written back  */
} pl_cache_stats;

struct pl_cache {
    int32_t rows, slots, used;  /* slots from `used` on are free                            */
    const pl_cache_policy *policy;
    const int64_t *counts;      /* [rows] how often each is in the data                     */
    int32_t *slot_of;           /* [rows] 1 + the slot; 0: it is not here                   */
    struct pl_cache_place {
        int32_t row;
        int32_t batch;          /* the last one that read it                                */
        int32_t next;           /* the first one told to read it again; INT32_MAX: none     */
        bool dirty;
        int64_t uses;           /* ids since it came in                                     */
        float heat;             /* batches that read it, the older the less: pl_cache_heat  */
    } *at;                      /* [slots]                                                  */
    int32_t batch;              /* number of the last one, from 1                           */
    int32_t n_ahead, most_ahead; /* batches that will come, as told: the next one first     */
    struct pl_cache_told {
        int32_t n;
        const int32_t *row;
        int32_t *again;         /* [n] the next batch told that has the row; INT32_MAX: none */
    } *ahead;
    int32_t told;               /* number of the last batch told, from 1                    */
    int32_t taken;              /* of the last one of them that was taken                   */
    struct pl_cache_last { int32_t told, at; } *last; /* [rows] batch told, and id there, that
                                   has the row                                              */
    pl_cache_moves moves;       /* of the last call                                         */
    struct pl_cache_worth { double worth; int32_t slot; } *worth; /* [slots]                */
    pl_cache_stats stats;
};

/* A cache of 1 <= slots <= rows places, all free. `counts` (kept) may be NULL: then rows are taken
 * to be in order, the most frequent first. Of `ahead` batches at a time, the next one among them,
 * the policy may be told, each of at most `ids`. */
pl_cache *pl_cache_new(int32_t rows, int32_t slots, const pl_cache_policy *policy,
                       const int64_t counts[], int32_t ahead, int32_t ids, pl_arena *arena);

/* The most frequent rows come in, as many as `share` of the slots are. Of an empty cache. */
const pl_cache_moves *pl_cache_warm(pl_cache *c, double share);

/* The n ids of a batch, but for those below 0, which are none, have to be here; `writes`: their
 * rows become dirty. *distinct: how many rows they are. NULL, and no row has moved, where that is
 * more than there are slots; then it is the number at which counting stopped. What is returned is
 * valid until the next call. */
const pl_cache_moves *pl_cache_take(pl_cache *c, int64_t n, const int32_t ids[], bool writes,
                                    int64_t *distinct);

/* A batch that will be taken, and written, after those that were told before it; those that are
 * only read are not told. `ids` are kept until then. */
void pl_cache_see(pl_cache *c, int32_t n, const int32_t ids[]);

/* Dirty rows, as if they went; they stay, and are dirty no more. */
const pl_cache_moves *pl_cache_flush(pl_cache *c);

/* Of a row that is here, now: what it was PL_CACHE_COOLS batches ago counts half (LRFU, Lee et al.,
 * IEEE Trans. Computers 50(12), 2001). */
float pl_cache_heat(const pl_cache *c, const struct pl_cache_place *p);

static inline int32_t pl_cache_slot(const pl_cache *c, int32_t row) /* -1: it is not here */
{
    return row < 0 ? -1 : c->slot_of[row] - 1;
}

/* Do the maps agree: each place's row is there alone? Fails with PL_EMISMATCH naming one. */
PL_MUST_CHECK bool pl_cache_check(const pl_cache *c, pl_err *err);

#endif
