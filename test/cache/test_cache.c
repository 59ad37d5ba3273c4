/* The cache of rows: its invariants under every policy, beside a slow twin; who goes; what is
 * written back; and the share of ids found under Zipf's law, beside figures of another program. */
#include "cache/cache.h"
#include "cache/hits.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 200, SLOTS = 24, BATCH = 30, BATCHES = 300, AHEAD = 3 };

/* Ids of one batch, skewed; at most SLOTS of them differ, and some are none. */
static void draw(uint64_t seed, int32_t t, int32_t ids[])
{
    const pl_rng r = pl_rng_at(seed, (uint64_t)t);
    for (int32_t i = 0; i < BATCH; i++) {
        const double u = pl_rng_uniform(r, (uint64_t)i);
        ids[i] = (int32_t)(u * u * u * ROWS);
        if (i >= SLOTS) ids[i] = ids[i - SLOTS];
        if ((i + t) % 11 == 0) ids[i] = -1;
    }
}

/* What fast and slow memory hold, moved as the cache says: `version` of a row counts its writes. */
typedef struct twin {
    int32_t row[SLOTS], version[SLOTS], slow[ROWS], wanted[ROWS];
} twin;

static void move(twin *x, const pl_cache_moves *m)
{
    for (int32_t i = 0; i < m->n_out; i++) {
        const pl_cache_move *o = &m->out[i];
        assert_int_equal(x->row[o->slot], o->row);
        if (o->dirty) x->slow[o->row] = x->version[o->slot];
        x->row[o->slot] = -1;
    }
    for (int32_t i = 0; i < m->n_in; i++) {
        const pl_cache_move *in = &m->in[i];
        assert_int_equal(x->row[in->slot], -1);
        x->row[in->slot] = in->row;
        x->version[in->slot] = x->slow[in->row];
    }
}

/* Every third batch only reads, as evaluations do, and nobody is told of it. */
static void run(const pl_cache_policy *policy, uint64_t seed, pl_arena *a)
{
    int32_t ids[BATCHES + AHEAD][BATCH], other[BATCH];
    pl_err err = { 0 };
    twin x;
    memset(&x, 0, sizeof x);
    for (int32_t i = 0; i < SLOTS; i++) x.row[i] = -1;
    pl_cache *c = pl_cache_new(ROWS, SLOTS, policy, NULL, AHEAD, BATCH, a);
    for (int32_t t = 0; t < BATCHES + AHEAD; t++) draw(seed, t, ids[t]);
    if (seed % 2) move(&x, pl_cache_warm(c, 0.7));
    for (int32_t t = 0; t < AHEAD; t++) pl_cache_see(c, BATCH, ids[t]);
    for (int32_t t = 0, told = 0; t < BATCHES; t++) {
        const bool writes = t % 3 != 0;
        const int32_t *now = writes ? ids[told] : other;
        int64_t distinct;
        if (!writes) draw(seed + 1000, t, other);
        const pl_cache_moves *m = pl_cache_take(c, BATCH, now, writes, &distinct);
        assert_non_null(m);
        assert_true(pl_cache_check(c, &err));
        move(&x, m);
        if (writes) pl_cache_see(c, BATCH, ids[told++ + AHEAD]);
        for (int32_t i = 0; i < BATCH; i++) {
            const int32_t slot = pl_cache_slot(c, now[i]);
            if (now[i] < 0) continue;
            assert_int_equal(x.row[slot], now[i]);
            assert_int_equal(x.version[slot], x.wanted[now[i]]);
        }
        for (int32_t i = 0; i < BATCH && writes; i++)
            if (now[i] >= 0) x.version[pl_cache_slot(c, now[i])]++, x.wanted[now[i]]++;
    }
    const pl_cache_moves *m = pl_cache_flush(c);
    for (int32_t i = 0; i < m->n_out; i++) x.slow[m->out[i].row] = x.version[m->out[i].slot];
    assert_memory_equal(x.slow, x.wanted, sizeof x.slow);
    assert_int_equal(pl_cache_flush(c)->n_out, 0);
    assert_true(c->stats.rows_back < c->stats.rows_out);
}

static void test_twin(void **state)
{
    (void)state;
    for (int i = 0; pl_cache_policies[i]; i++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            pl_arena *a = pl_arena_new("test");
            run(pl_cache_policies[i], seed, a);
            pl_arena_free(a);
        }
}

static int32_t gone(const char *policy, const int64_t *counts, const int32_t coming[2])
{
    static const int32_t fill[] = { 3, 4, 4, 5, 5, 5 }, again[] = { 3, 5 }, more[] = { 7 };
    pl_arena *a = pl_arena_new("test");
    int64_t d;
    pl_cache *c = pl_cache_new(9, 3, pl_cache_policy_find(policy), counts, 2, 2, a);
    assert_non_null(pl_cache_take(c, 6, fill, true, &d));
    assert_non_null(pl_cache_take(c, 2, again, true, &d));
    pl_cache_see(c, 1, more);
    pl_cache_see(c, 2, coming);
    const pl_cache_moves *m = pl_cache_take(c, 1, more, true, &d);
    assert_int_equal(m->n_out, 1);
    const int32_t row = m->out[0].row;
    pl_arena_free(a);
    return row;
}

static void test_policies(void **state)
{
    static const int64_t counts[] = { 0, 0, 0, 9, 7, 5, 3, 1, 1 };
    static const int32_t coming[] = { 4, 5 };
    (void)state;
    assert_int_equal(gone("dataset", NULL, coming), 5);
    assert_int_equal(gone("dataset", counts, coming), 5);
    assert_int_equal(gone("lfu", NULL, coming), 3);
    assert_int_equal(gone("lru", NULL, coming), 4);
    assert_int_equal(gone("lookahead", NULL, coming), 3);
    assert_int_equal(gone("lookahead", NULL, (int32_t[]){ 8, 8 }), 4);
}

static void test_too_many(void **state)
{
    static const int32_t some[] = { 1, 2 }, many[] = { 2, 3, 2, 4, 5 };
    pl_arena *a = pl_arena_new("test");
    pl_err err = { 0 };
    int64_t distinct;
    (void)state;
    pl_cache *c = pl_cache_new(6, 3, pl_cache_policies[0], NULL, 0, 0, a);
    assert_non_null(pl_cache_take(c, 2, some, true, &distinct));
    assert_null(pl_cache_take(c, 5, many, true, &distinct));
    assert_int_equal(distinct, 4);
    assert_true(pl_cache_check(c, &err));
    assert_int_equal(c->used, 2);
    assert_non_null(pl_cache_take(c, 4, many, true, &distinct));
    assert_int_equal(distinct, 3);
    assert_true(pl_cache_check(c, &err));
    pl_arena_free(a);
}

/* Of 10^6 rows 15,000 have room, batches have 8,192 ids: the share found in the second half of 400
 * batches, and the rows that came in, as another program had them (a reference simulation of the
 * three policies), and as pl_hits_of tells beforehand. */
static const struct zipf_case {
    double s, found[3], rows[3];
} zipf_cases[] = {
    { 1.05, { 0.772, 0.758, 0.705 }, { 1861, 1967, 2377 } },
    { 1.10, { 0.834, 0.822, 0.780 }, { 1355, 1453, 1771 } },
    { 1.20, { 0.920, 0.908, 0.891 }, { 651, 752, 886 } },
};

enum { ZIPF_ROWS = 1000000, ZIPF_SLOTS = 15000, ZIPF_IDS = 8192, ZIPF_BATCHES = 400 };

static void check_zipf(const struct zipf_case *x, const pl_cache *c, int policy)
{
    const double found = (double)c->stats.hits / (double)c->stats.lookups,
                 rows = (double)c->stats.rows_in / (ZIPF_BATCHES / 2);
    if (fabs(found - x->found[policy]) > 0.005 || fabs(rows / x->rows[policy] - 1) > 0.02)
        fail_msg("s = %g, %s: %.4f found, %.0f rows", x->s, c->policy->name, found, rows);
    if (policy) return;
    pl_arena *a = pl_arena_new("test");
    const pl_draws d = pl_draws_zipf(ZIPF_ROWS, x->s, a);
    const pl_hits h = pl_hits_of(&d, ZIPF_SLOTS, ZIPF_IDS);
    if (found > h.found + 0.001 || found < h.found - 0.006 || fabs(rows / h.rows - 1) > 0.03)
        fail_msg("s = %g: %.4f and %.0f told, %.4f and %.0f came", x->s, h.found, h.rows, found,
                 rows);
    pl_arena_free(a);
}

static void run_zipf(const struct zipf_case *x, pl_arena *a)
{
    static int32_t ids[ZIPF_IDS];
    const pl_zipf z = pl_zipf_of(ZIPF_ROWS, x->s);
    pl_cache *c[3];
    for (int i = 0; i < 3; i++) {
        c[i] = pl_cache_new(ZIPF_ROWS, ZIPF_SLOTS, pl_cache_policies[i], NULL, 0, 0, a);
        pl_cache_warm(c[i], 0.7);
    }
    for (int32_t t = 0; t < ZIPF_BATCHES; t++) {
        const pl_rng r = pl_rng_at(7, (uint64_t)t);
        for (uint64_t i = 0; i < ZIPF_IDS; i++) ids[i] = (int32_t)pl_rng_zipf(r, i, &z);
        for (int i = 0; i < 3; i++) {
            int64_t distinct;
            if (t == ZIPF_BATCHES / 2) c[i]->stats = (pl_cache_stats){ 0 };
            assert_non_null(pl_cache_take(c[i], ZIPF_IDS, ids, true, &distinct));
        }
    }
    for (int i = 0; i < 3; i++) check_zipf(x, c[i], i);
}

static void test_zipf(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof zipf_cases / sizeof *zipf_cases; i++) {
        pl_arena *a = pl_arena_new("test");
        run_zipf(&zipf_cases[i], a);
        pl_arena_free(a);
    }
}

/* Counts of few and of many, and of none. */
static void test_counted(void **state)
{
    static const int64_t counts[] = { 5000, 0, 30, 2, 30, 0, 9000, 2 };
    pl_arena *a = pl_arena_new("test");
    (void)state;
    const pl_draws d = pl_draws_counted(8, counts, a);
    assert_int_equal(d.n, 4);
    double rows = 0, p = 0;
    for (int i = 0; i < d.n; i++) rows += d.at[i].rows, p += d.at[i].rows * d.at[i].p;
    assert_true(rows == 6 && fabs(p - 1) < 1e-12);
    const pl_hits h = pl_hits_of(&d, 3, 1);
    assert_true(fabs(h.found - 14030.0 / 14064) < 1e-12 && fabs(h.rows - 34.0 / 14064) < 1e-12);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),     cmocka_unit_test(test_policies),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_zipf),
        cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
