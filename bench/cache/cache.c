/* Policies of caches of rows, as CSV: ids by Zipf's law over 10^6 rows, 8,192 a batch, 15,000
 * places (1.5 %), over the second 200 of 400 batches. On a stream that drifts, row (k + 50 t) has
 * rank k at batch t: what was frequent becomes rare. `dataset` knows the ranks of the first batch,
 * lookahead N the next N batches. told: pl_hits_of. */
#include "base/rng.h"
#include "cache/cache.h"
#include "cache/hits.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 1000000, SLOTS = 15000, IDS = 8192, BATCHES = 400, MOST_AHEAD = 16, DRIFT = 50 };

static int32_t ids[BATCHES + MOST_AHEAD][IDS];

static void draw(double s, int drift)
{
    const pl_zipf z = pl_zipf_of(ROWS, s);
    for (int32_t t = 0; t < BATCHES + MOST_AHEAD; t++) {
        const pl_rng r = pl_rng_at(7, (uint64_t)t);
        for (uint64_t i = 0; i < IDS; i++)
            ids[t][i] = (int32_t)((pl_rng_zipf(r, i, &z) + (uint64_t)(t * drift)) % ROWS);
    }
}

static void run(double s, int drift, const char *policy, int32_t ahead)
{
    pl_arena *a = pl_arena_new("bench");
    const pl_cache_policy *p = pl_cache_policy_find(policy);
    pl_cache *c = pl_cache_new(ROWS, SLOTS, p, NULL, ahead + 1, IDS, a);
    pl_cache_warm(c, 0.7);
    for (int32_t t = 0; t < ahead; t++) pl_cache_see(c, IDS, ids[t]);
    for (int32_t t = 0; t < BATCHES; t++) {
        int64_t distinct;
        pl_cache_see(c, IDS, ids[t + ahead]);
        if (t == BATCHES / 2) c->stats = (pl_cache_stats){ 0 };
        if (!pl_cache_take(c, IDS, ids[t], true, &distinct)) fprintf(stderr, "no room\n");
    }
    const pl_draws d = pl_draws_zipf(ROWS, s, a);
    const pl_hits h = pl_hits_of(&d, SLOTS, IDS);
    const double n = BATCHES - BATCHES / 2.;
    printf("%g,%s,%s,%d,%.4f,%.0f,%.0f", s, drift ? "drifts" : "steady", policy, ahead,
           (double)c->stats.hits / (double)c->stats.lookups, (double)c->stats.rows_in / n,
           (double)c->stats.rows_back / n);
    if (drift)
        printf(",,\n");
    else
        printf(",%.4f,%.0f\n", h.found, h.rows);
    fflush(stdout);
    pl_arena_free(a);
}

int main(void)
{
    static const double exponents[] = { 1.05, 1.1, 1.2 };
    printf("exponent,stream,policy,ahead,found,rows_in,rows_written,told_found,told_rows\n");
    for (int drift = 0; drift <= DRIFT; drift += DRIFT)
        for (int k = 0; k < 3; k++) {
            draw(exponents[k], drift);
            for (int i = 0; pl_cache_policies[i]; i++) {
                const pl_cache_policy *p = pl_cache_policies[i];
                for (int32_t ahead = p->looks; ahead <= (p->looks ? MOST_AHEAD : 0); ahead *= 2) {
                    run(exponents[k], drift, p->name, ahead);
                    if (!ahead) break;
                }
            }
        }
    return 0;
}
