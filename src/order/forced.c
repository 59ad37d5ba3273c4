#include "order/forced.h"

int64_t pl_forced_working(const pl_index *x)
{
    int64_t most = x->n > 0 ? x->base : 0;
    for (int t = 0; t < x->n; t++) {
        int64_t sum = x->base;
        for (int k = x->use_at[t]; k < x->use_at[t + 1]; k++) sum += x->bytes[x->use[k]];
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
static void set_own(const pl_index *x, const bool kept[], int lo, int hi, bits at[])
{
    bits ends = { { 0 } };
    for (int t = lo; t < hi; t++)
        if (kept[t]) set_bit(&ends, t - lo);
    for (int t = 0; t < x->n; t++) at[t] = ends;
    for (int t = lo; t < hi; t++)
        for (int u = x->user_at[t]; u < x->user_at[t + 1]; u++) set_bit(&at[x->user[u]], t - lo);
}

static int64_t weigh(const int64_t bytes[], bits a, const bits *b)
{
    int64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        for (uint64_t w = a.w[i] & b->w[i]; w; w &= w - 1)
            sum += bytes[64 * i + __builtin_ctzll(w)];
    return sum;
}

static void add_block(const pl_index *x, const int order[], int lo, int hi, bits past[],
                      bits future[], int64_t forced[])
{
    set_own(x, x->start, lo, hi, past);
    set_own(x, x->end, lo, hi, future);
    for (int i = 0; i < x->n; i++) {
        int t = order[i];
        for (int e = x->pred_at[t]; e < x->pred_at[t + 1]; e++) join(&past[t], &past[x->pred[e]]);
    }
    for (int i = x->n - 1; i >= 0; i--) {
        int t = order[i];
        for (int e = x->succ_at[t]; e < x->succ_at[t + 1]; e++)
            join(&future[t], &future[x->succ[e]]);
        forced[t] += weigh(x->bytes + lo, past[t], &future[t]);
    }
}

int64_t pl_forced_live(const pl_index *x, const int order[], int64_t forced[])
{
    pl_arena *tmp = pl_arena_new("forced-live bound");
    bits *past = PL_NEW_N(tmp, bits, x->n), *future = PL_NEW_N(tmp, bits, x->n);
    for (int t = 0; t < x->n; t++) forced[t] = x->base;
    for (int lo = 0; lo < x->m; lo += BLOCK)
        add_block(x, order, lo, lo + BLOCK < x->m ? lo + BLOCK : x->m, past, future, forced);
    int64_t most = 0;
    for (int t = 0; t < x->n; t++) most = forced[t] > most ? forced[t] : most;
    pl_arena_free(tmp);
    return most;
}
