/* Rows in fast memory. Read pl_cache_take(): what is there is marked and what is missing is listed
 * (find_missing), those worth least make room (choose), and the missing get places (place). */
#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

pl_cache *pl_cache_new(int32_t rows, int32_t slots, const pl_cache_policy *policy,
                       const int64_t counts[], int32_t ahead, int32_t ids, pl_arena *arena)
{
    PL_ASSERT_CMP(slots, >=, 1);
    PL_ASSERT_CMP(slots, <=, rows);
    pl_cache *c = PL_NEW(arena, pl_cache);
    *c = (pl_cache){ .rows = rows,
                     .slots = slots,
                     .policy = policy,
                     .counts = counts,
                     .most_ahead = policy->looks ? ahead : 0 };
    c->slot_of = PL_NEW_N(arena, int32_t, rows);
    c->at = PL_NEW_N(arena, struct pl_cache_place, slots);
    c->worth = PL_NEW_N(arena, struct pl_cache_worth, slots);
    c->moves.out = PL_NEW_N(arena, pl_cache_move, slots);
    c->moves.in = PL_NEW_N(arena, pl_cache_move, slots);
    c->ahead = PL_NEW_N(arena, struct pl_cache_told, c->most_ahead + 1);
    for (int32_t i = 0; i < c->most_ahead; i++) c->ahead[i].again = PL_NEW_N(arena, int32_t, ids);
    c->last = PL_NEW_N(arena, struct pl_cache_last, policy->looks ? rows : 1);
    return c;
}

float pl_cache_heat(const pl_cache *c, const struct pl_cache_place *p)
{
    return p->heat * exp2f((float)(p->batch - c->batch) / PL_CACHE_COOLS);
}

static void put(pl_cache *c, int32_t slot, int32_t row, bool writes)
{
    c->at[slot] = (struct pl_cache_place){
        .row = row, .batch = c->batch, .next = INT32_MAX, .dirty = writes, .heat = 1
    };
    c->slot_of[row] = slot + 1;
}

/* -- who goes ---------------------------------------------------------------------------------- */

/* Of equal ones the first place, so that all ranks choose alike. */
static bool is_less(const struct pl_cache_worth *a, const struct pl_cache_worth *b)
{
    return a->worth < b->worth || (a->worth == b->worth && a->slot < b->slot);
}

/* The k least of n stand first then (Hoare's quickselect; the pivot is the middle one). */
static void select_least(struct pl_cache_worth *x, int32_t n, int32_t k)
{
    for (int32_t lo = 0, hi = n - 1; lo < hi;) {
        const struct pl_cache_worth pivot = x[lo + (hi - lo) / 2];
        int32_t i = lo, j = hi;
        while (i <= j) {
            while (is_less(&x[i], &pivot)) i++;
            while (is_less(&pivot, &x[j])) j--;
            if (i > j) break;
            const struct pl_cache_worth t = x[i];
            x[i++] = x[j], x[j--] = t;
        }
        if (k <= j)
            hi = j;
        else if (k >= i)
            lo = i;
        else
            return;
    }
}

static int by_slot(const void *a, const void *b)
{
    const pl_cache_move *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* So many that this batch does not read go. */
static void choose(pl_cache *c, int32_t n)
{
    int32_t candidates = 0;
    for (int32_t i = 0; i < c->used; i++)
        if (c->at[i].batch != c->batch)
            c->worth[candidates++] = (struct pl_cache_worth){ c->policy->worth(c, i), i };
    PL_ASSERT_CMP(n, <=, candidates);
    select_least(c->worth, candidates, n);
    for (int32_t i = 0; i < n; i++) {
        struct pl_cache_place *p = &c->at[c->worth[i].slot];
        c->moves.out[i] = (pl_cache_move){ p->row, c->worth[i].slot, p->dirty };
        c->slot_of[p->row] = 0;
        c->stats.rows_back += p->dirty;
    }
    c->moves.n_out = n;
    c->stats.rows_out += n;
    qsort(c->moves.out, (size_t)n, sizeof *c->moves.out, by_slot);
}

/* -- a batch ----------------------------------------------------------------------------------- */

static void forget_missing(pl_cache *c)
{
    for (int32_t i = 0; i < c->moves.n_in; i++) c->slot_of[c->moves.in[i].row] = 0;
    c->moves.n_in = 0;
}

/* Marks the rows that are here, and lists those that are not; false: they have no room. A row that
 * is listed has minus its number in the list for a place, until it gets one. */
static bool find_missing(pl_cache *c, int64_t n, const int32_t ids[], int64_t *distinct)
{
    int64_t hits = 0, none = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0) {
            none++;
            continue;
        }
        const int32_t slot = c->slot_of[ids[i]];
        struct pl_cache_place *p = slot > 0 ? &c->at[slot - 1] : NULL;
        const bool is_new = p ? p->batch != c->batch : !slot;
        if (is_new && ++*distinct > c->slots) return false;
        if (p && is_new) p->heat = 1 + pl_cache_heat(c, p);
        if (p)
            p->batch = c->batch, hits++;
        else if (is_new) {
            c->moves.in[c->moves.n_in++].row = ids[i];
            c->slot_of[ids[i]] = -c->moves.n_in;
        }
    }
    c->stats.lookups += n - none, c->stats.hits += hits;
    return true;
}

/* Places that are free first, then of those that go. */
static void place(pl_cache *c, bool writes)
{
    const int32_t n = c->moves.n_in, n_free = c->slots - c->used;
    choose(c, n > n_free ? n - n_free : 0);
    for (int32_t i = 0, gone = 0; i < n; i++) {
        pl_cache_move *m = &c->moves.in[i];
        m->slot = c->used < c->slots ? c->used++ : c->moves.out[gone++].slot;
        put(c, m->slot, m->row, writes);
    }
    c->stats.rows_in += n;
}

/* The first batch told is the one that has been taken: who reads its rows next is known. */
static void leave_told(pl_cache *c)
{
    if (!c->n_ahead) return;
    const struct pl_cache_told first = c->ahead[0];
    c->taken++;
    for (int32_t i = 0; i < first.n; i++) {
        const int32_t slot = pl_cache_slot(c, first.row[i]);
        if (slot >= 0) c->at[slot].next = first.again[i];
    }
    memmove(c->ahead, c->ahead + 1, (size_t)--c->n_ahead * sizeof *c->ahead);
    c->ahead[c->n_ahead] = first; /* its room is used again */
}

const pl_cache_moves *pl_cache_take(pl_cache *c, int64_t n, const int32_t ids[], bool writes,
                                    int64_t *distinct)
{
    *distinct = 0;
    c->batch++;
    c->moves.n_in = c->moves.n_out = 0;
    if (!find_missing(c, n, ids, distinct)) {
        forget_missing(c);
        return NULL;
    }
    place(c, writes);
    if (writes) leave_told(c);
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0) continue;
        struct pl_cache_place *p = &c->at[c->slot_of[ids[i]] - 1];
        p->uses++;
        p->dirty |= writes;
    }
    return &c->moves;
}

/* Each id is chained to the next batch with its row; a row that is here, and that no batch before
 * reads, waits for this one. */
void pl_cache_see(pl_cache *c, int32_t n, const int32_t ids[])
{
    if (!c->most_ahead) return;
    PL_ASSERT_CMP(c->n_ahead, <, c->most_ahead);
    struct pl_cache_told *t = &c->ahead[c->n_ahead++];
    t->n = n, t->row = ids;
    c->told++;
    for (int32_t i = 0; i < n; i++) {
        t->again[i] = INT32_MAX;
        if (ids[i] < 0) continue;
        struct pl_cache_last *last = &c->last[ids[i]];
        const int32_t slot = pl_cache_slot(c, ids[i]);
        if (last->told > c->taken && last->told < c->told)
            c->ahead[last->told - c->taken - 1].again[last->at] = c->told;
        else if (slot >= 0 && c->at[slot].next == INT32_MAX)
            c->at[slot].next = c->told;
        *last = (struct pl_cache_last){ c->told, i };
    }
}

/* -- all of it --------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
    const struct pl_cache_worth *x = a, *y = b;
    return is_less(x, y) ? -1 : 1;
}

/* The n most frequent rows, of those that are in the data. */
static int32_t find_frequent(const pl_cache *c, int32_t n, int32_t row[])
{
    if (!c->counts) {
        for (int32_t i = 0; i < n; i++) row[i] = i;
        return n;
    }
    pl_arena *tmp = pl_arena_new("frequent rows");
    struct pl_cache_worth *x = pl_arena_get(tmp, (size_t)c->rows, sizeof *x);
    int32_t all = 0;
    for (int32_t i = 0; i < c->rows; i++)
        if (c->counts[i]) x[all++] = (struct pl_cache_worth){ -(double)c->counts[i], i };
    if (n > all) n = all;
    select_least(x, all, n);
    qsort(x, (size_t)n, sizeof *x, by_count);
    for (int32_t i = 0; i < n; i++) row[i] = x[i].slot;
    pl_arena_free(tmp);
    return n;
}

const pl_cache_moves *pl_cache_warm(pl_cache *c, double share)
{
    PL_ASSERT_CMP(c->used, ==, 0);
    pl_arena *tmp = pl_arena_new("warm rows");
    int32_t *row = PL_NEW_N(tmp, int32_t, c->slots + 1);
    const int32_t n = find_frequent(c, (int32_t)(share * c->slots), row);
    for (int32_t i = 0; i < n; i++) {
        put(c, i, row[i], false);
        c->moves.in[i] = (pl_cache_move){ row[i], i, false };
    }
    pl_arena_free(tmp);
    c->used = n;
    c->moves.n_in = n, c->moves.n_out = 0;
    return &c->moves;
}

const pl_cache_moves *pl_cache_flush(pl_cache *c)
{
    c->moves.n_in = c->moves.n_out = 0;
    for (int32_t i = 0; i < c->used; i++) {
        if (!c->at[i].dirty) continue;
        c->moves.out[c->moves.n_out++] = (pl_cache_move){ c->at[i].row, i, true };
        c->at[i].dirty = false;
    }
    return &c->moves;
}

bool pl_cache_check(const pl_cache *c, pl_err *err)
{
    int64_t here = 0;
    for (int32_t i = 0; i < c->rows; i++) {
        const int32_t slot = pl_cache_slot(c, i);
        if (slot == -1) continue;
        here++;
        if (slot < 0 || slot >= c->used || c->at[slot].row != i)
            return pl_err_set(err, PL_EMISMATCH, "row %d is in place %d, which has another", i,
                              slot);
    }
    return here == c->used || pl_err_set(err, PL_EMISMATCH,
                                         "%d places have rows, and %lld rows are "
                                         "in places",
                                         c->used, (long long)here);
}
