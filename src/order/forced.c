/* Bounds that need no search: the busiest task alone, and what must be live during each task by
 * precedence (pl_forced_live), by bit sets that go once forward and once backward through the
 * graph. */
#include "order/forced.h"

int64_t pl_forced_working(const pl_index *index)
{
    int64_t most = index->n > 0 ? index->base : 0;
    for (int t = 0; t < index->n; t++) {
        int64_t sum = index->base;
        for (int k = index->use_at[t]; k < index->use_at[t + 1]; k++)
            sum += index->bytes[index->use[k]];
        most = sum > most ? sum : most;
    }
    return most;
}

/* Tensors go through the graph in blocks of one bit each: `past` has a bit where a user precedes
 * the task or is it, `future` where one follows or is it. */
enum { WORDS = 4, BLOCK = 64 * WORDS };
typedef struct bits {
    uint64_t w[WORDS];
} bits;

static void set_bit(bits *b, int i)
{
    b->w[i / 64] |= (uint64_t)1 << (i % 64);
}

static void join(bits *to, const bits *from)
{
    for (int i = 0; i < WORDS; i++) to->w[i] |= from->w[i];
}

/* Every task's own tensors of the block [lo, hi), and those kept at this end of time. */
static void set_own(const pl_index *index, const bool kept[], int lo, int hi, bits at[])
{
    bits ends = { { 0 } };
    for (int t = lo; t < hi; t++)
        if (kept[t]) set_bit(&ends, t - lo);
    for (int t = 0; t < index->n; t++) at[t] = ends;
    for (int t = lo; t < hi; t++)
        for (int u = index->user_at[t]; u < index->user_at[t + 1]; u++)
            set_bit(&at[index->user[u]], t - lo);
}

static int64_t weigh(const int64_t bytes[], bits a, const bits *b)
{
    int64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        for (uint64_t w = a.w[i] & b->w[i]; w; w &= w - 1)
            sum += bytes[64 * i + __builtin_ctzll(w)];
    return sum;
}

static void add_block(const pl_index *index, const int order[], int lo, int hi, bits past[],
                      bits future[], int64_t forced[])
{
    set_own(index, index->start, lo, hi, past);
    set_own(index, index->end, lo, hi, future);
    for (int i = 0; i < index->n; i++) {
        int t = order[i];
        for (int e = index->pred_at[t]; e < index->pred_at[t + 1]; e++)
            join(&past[t], &past[index->pred[e]]);
    }
    for (int i = index->n - 1; i >= 0; i--) {
        int t = order[i];
        for (int e = index->succ_at[t]; e < index->succ_at[t + 1]; e++)
            join(&future[t], &future[index->succ[e]]);
        forced[t] += weigh(index->bytes + lo, past[t], &future[t]);
    }
}

int64_t pl_forced_live(const pl_index *index, const int order[], int64_t forced[])
{
    pl_arena *tmp = pl_arena_new("forced-live bound");
    bits *past = PL_NEW_N(tmp, bits, index->n), *future = PL_NEW_N(tmp, bits, index->n);
    for (int t = 0; t < index->n; t++) forced[t] = index->base;
    for (int lo = 0; lo < index->m; lo += BLOCK)
        add_block(index, order, lo, lo + BLOCK < index->m ? lo + BLOCK : index->m, past, future,
                  forced);
    int64_t most = 0;
    for (int t = 0; t < index->n; t++) most = forced[t] > most ? forced[t] : most;
    pl_arena_free(tmp);
    return most;
}
