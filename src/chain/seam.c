/* The seam in the middle and the ends are searched once (fit), then the seam is put where the
 * larger sum is least (best_place): from one place to the next all sums change by the same. */
#include "chain/seam.h"
#include "chain/refit.h"

#include <math.h>
#include <string.h>

/* Copies of a chain of this kind. */
typedef struct kinds {
    const pl_chain *chain;
    const int *first, *from, *seam, *to, *last; /* [block] */
} kinds;

static int *copy_at(const pl_chain *chain, int *value, int i)
{
    return value + chain->outside.n + (int64_t)i * chain->block.n;
}

static const int *middle_of(const pl_chain *chain, const int *value)
{
    return value + chain->outside.n + (int64_t)(chain->copies / 2) * chain->block.n;
}

/* With the seam at copy `at`. */
static void write_copies(const kinds *k, int at, int *value)
{
    const int copies = k->chain->copies;
    for (int i = 0; i < copies; i++) {
        const int *is = i == 0            ? k->first
                        : i == copies - 1 ? k->last
                        : i < at          ? k->from
                        : i == at         ? k->seam
                                          : k->to;
        memcpy(copy_at(k->chain, value, i), is, (size_t)k->chain->block.n * sizeof *value);
    }
}

typedef struct sums {
    double time[2], memory;
} sums;

static sums sums_of(pl_chain_pair pair, const int *value)
{
    const pl_cost a = pl_chain_cost(pair.sum[0], value), b = pl_chain_cost(pair.sum[1], value);
    return (sums){ { a.time, b.time }, a.memory };
}

static double between(double a, double b, double part)
{
    return a + part * (b - a);
}

/* The place of the seam with the least larger sum that fits, of those beside which no end is; 0:
 * none does. */
static int best_place(const pl_seam *s, const kinds *k, int *value)
{
    const int first = 2, last = k->chain->copies - 3;
    double least = INFINITY;
    int best = 0;
    write_copies(k, first, value);
    const sums low = sums_of(s->pair, value);
    write_copies(k, last, value);
    const sums high = sums_of(s->pair, value);
    for (int at = first; at <= last; at++) {
        const double part = last > first ? (double)(at - first) / (last - first) : 0;
        const double time = fmax(between(low.time[0], high.time[0], part),
                                 between(low.time[1], high.time[1], part));
        if (between(low.memory, high.memory, part) <= s->cap && time < least)
            least = time, best = at;
    }
    return best;
}

/* Both kinds meet in the middle. */
static int64_t fit(const pl_seam *s, const pl_search_options *options, const kinds *k, int *value)
{
    const pl_cost weights = { 1, s->memory_price };
    const int copies = k->chain->copies, middle = copies / 2;
    const pl_parts seam = { 1, { middle } }, ends = { 3, { PL_PART_OUTSIDE, 0, copies - 1 } };
    memcpy(value, s->from, (size_t)k->chain->outside.n * sizeof *value);
    write_copies(k, middle, value);
    const int64_t work = pl_chain_refit(s->at_price, weights, seam, options, value);
    return work + pl_chain_refit(s->at_price, weights, ends, options, value);
}

bool pl_chain_seam(const pl_seam *s, const pl_search_options *options, int *value, pl_cost *cost,
                   int64_t *work)
{
    const pl_chain *chain = s->at_price;
    pl_arena *tmp = pl_arena_new("seam");
    const size_t block = (size_t)chain->block.n;
    const int ours[3] = { 0, chain->copies / 2, chain->copies - 1 };
    int *own[3]; /* first, seam, last */
    kinds k = { .chain = chain,
                .first = s->from + chain->outside.n,
                .from = middle_of(chain, s->from),
                .seam = middle_of(chain, s->to),
                .to = middle_of(chain, s->to),
                .last = s->to + chain->outside.n + (int64_t)(chain->copies - 1) * chain->block.n };
    *work = fit(s, options, &k, value);
    for (int i = 0; i < 3; i++) {
        own[i] = PL_NEW_N(tmp, int, chain->block.n + 1);
        memcpy(own[i], copy_at(chain, value, ours[i]), block * sizeof **own);
    }
    k.first = own[0], k.seam = own[1], k.last = own[2];
    const int at = best_place(s, &k, value);
    if (at) write_copies(&k, at, value);
    pl_arena_free(tmp);
    *cost = pl_chain_pair_cost(s->pair, value);
    return at && isfinite(cost->time) && cost->memory <= s->cap;
}
