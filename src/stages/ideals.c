/* Ideals, one size after the other: each is one of the size before and a piece of which all that
 * comes before it is inside. Those pieces are kept with each ideal. */
#include "stages/ideals.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum {
    NARROW = 12000,
    NARROWEST = 16
}; /* ideals kept where there are too many: in all, of a size */

enum { MOST_STEPS = 256 }; /* from one ideal where not all are wanted */

typedef struct ideal {
    const uint64_t *set, *next; /* inside; could be added */
    const pl_stages_across *across;
    uint64_t hash; /* of the set */
    double seconds, host, sent;
    int64_t bytes;
    int size, n_across;
} ideal;

/* An ideal of the size before, and a piece more. */
typedef struct step {
    const ideal *from;
    int piece;
    uint64_t hash;
    double sent, seconds; /* seconds: near enough to choose by */
} step;

typedef struct listing {
    const pl_stages_pieces *p;
    size_t words;
    pl_map known;             /* of steps, by what is inside then     */
    bool *fresh;              /* [values] of the piece in work        */
    pl_stages_across *across; /* [values] of the step in work */
    pl_arena *out, *tmp;
    struct {
        int n, cap;
        ideal *at;
    } all;
    struct {
        int n, cap;
        step *at;
    } steps;
} listing;

static bool has(const uint64_t *set, int piece)
{
    return set[piece / 64] >> (piece % 64) & 1;
}

static void put(uint64_t *set, int piece)
{
    set[piece / 64] |= (uint64_t)1 << (piece % 64);
}

/* -- steps ------------------------------------------------------------------------------------- */

/* What goes across after a step: what did, but for values that are whole now, and values of which
 * the piece is the first pin inside. How many, in l->across. */
static int list_across(const listing *l, const ideal *from, int piece)
{
    const pl_stages_pieces *p = l->p;
    const int first = p->values.at[piece], last = p->values.at[piece + 1];
    int n = 0;
    for (int k = first; k < last; k++) l->fresh[p->values.item[k]] = true;
    for (int i = 0; i < from->n_across; i++) {
        const int e = from->across[i].value, inside = from->across[i].inside + l->fresh[e];
        l->fresh[e] = false;
        if (inside < p->pins.at[e + 1] - p->pins.at[e])
            l->across[n++] = (pl_stages_across){ e, inside };
    }
    for (int k = first; k < last; k++) {
        const int e = p->values.item[k];
        if (l->fresh[e]) l->across[n++] = (pl_stages_across){ e, 1 };
        l->fresh[e] = false;
    }
    return n;
}

static double sum_across(const listing *l, int n)
{
    double sent = 0;
    for (int i = 0; i < n; i++) sent += l->p->send[l->across[i].value];
    return sent;
}

static uint64_t word_after(const step *x, size_t w)
{
    const uint64_t bit = (uint64_t)1 << (x->piece % 64);
    return x->from->set[w] | (w == (size_t)x->piece / 64 ? bit : 0);
}

/* A set is the sum of its pieces (Zobrist 1970). */
static uint64_t hash_piece(int piece)
{
    return pl_hash_mix(pl_hash_mix(0x5bd1e995, (uint64_t)piece + 1), 0x2545f491);
}

static bool is_same(const step *a, const step *b, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (word_after(a, w) != word_after(b, w)) return false;
    return true;
}

static void add_step(listing *l, const ideal *from, int piece)
{
    step x = { .from = from, .piece = piece, .hash = from->hash + hash_piece(piece) };
    PL_MAP_EACH (&l->known, x.hash, at)
        if (is_same(&l->steps.at[at.value], &x, l->words)) return;
    x.sent = sum_across(l, list_across(l, from, piece));
    x.seconds = from->seconds + l->p->seconds[piece];
    pl_map_put(&l->known, x.hash, l->steps.n, l->tmp);
    PL_PUSH(l->tmp, &l->steps, x);
}

static int compare_steps(const void *x, const void *y)
{
    const step *a = x, *b = y;
    if (a->sent != b->sent) return a->sent < b->sent ? -1 : 1;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->piece - b->piece;
}

/* -- ideals ------------------------------------------------------------------------------------ */

static bool is_ready(const pl_stages_pieces *p, const uint64_t *set, int piece)
{
    for (int k = p->before.at[piece]; k < p->before.at[piece + 1]; k++)
        if (!has(set, p->before.item[k])) return false;
    return true;
}

static void take_step(listing *l, const step *x)
{
    const pl_stages_pieces *p = l->p;
    const int v = x->piece;
    uint64_t *set = PL_NEW_N(l->out, uint64_t, l->words);
    uint64_t *next = PL_NEW_N(l->tmp, uint64_t, l->words);
    for (size_t w = 0; w < l->words; w++) {
        set[w] = word_after(x, w);
        next[w] = x->from->next[w] & ~set[w];
    }
    for (int k = p->after.at[v]; k < p->after.at[v + 1]; k++)
        if (is_ready(p, set, p->after.item[k])) put(next, p->after.item[k]);
    const int n = list_across(l, x->from, v);
    pl_stages_across *across = PL_NEW_N(l->out, pl_stages_across, n);
    if (n) memcpy(across, l->across, sizeof *across * (size_t)n);
    const ideal own = { .set = set,
                        .next = next,
                        .across = across,
                        .n_across = n,
                        .hash = x->hash,
                        .sent = x->sent,
                        .seconds = x->seconds,
                        .size = x->from->size + 1 };
    PL_PUSH(l->tmp, &l->all, own);
}

static void begin(listing *l)
{
    const pl_stages_pieces *p = l->p;
    uint64_t *next = PL_NEW_N(l->tmp, uint64_t, l->words);
    for (int v = 0; v < p->n; v++)
        if (p->before.at[v] == p->before.at[v + 1]) put(next, v);
    const ideal none = { .set = PL_NEW_N(l->out, uint64_t, l->words), .next = next };
    l->all.n = 0;
    PL_PUSH(l->tmp, &l->all, none);
}

/* From an ideal by each piece that could be added, or by so many of them. */
static void add_steps(listing *l, const ideal *from, int most)
{
    for (size_t w = 0; w < l->words; w++)
        for (uint64_t left = from->next[w]; left && most; left &= left - 1, most--)
            add_step(l, from, (int)(w * 64) + __builtin_ctzll(left));
}

/* All sizes, of each at most `width`, those that send least: false where there are more than `most`
 * in all. */
static bool list_sizes(listing *l, int most, int width, bool *all)
{
    const bool wants_all = width == INT32_MAX;
    begin(l);
    *all = true;
    for (int size = 0, from = 0; size < l->p->n; size++) {
        const int to = l->all.n;
        const ideal *last = l->all.at; /* stays where it is while others are added */
        l->steps.n = 0;
        pl_map_clear(&l->known);
        for (int i = from; i < to; i++) {
            add_steps(l, &last[i], wants_all ? INT32_MAX : MOST_STEPS);
            if (l->all.n + l->steps.n > most) return false;
        }
        if (l->steps.n > width) {
            qsort(l->steps.at, (size_t)l->steps.n, sizeof *l->steps.at, compare_steps);
            l->steps.n = width;
            *all = false;
        }
        for (int i = 0; i < l->steps.n; i++) take_step(l, &l->steps.at[i]);
        from = to;
    }
    return true;
}

/* -- the list ---------------------------------------------------------------------------------- */

/* Sums in the order of the pieces, so that one piece more never makes them less. */
static void weigh(const pl_stages_pieces *p, ideal *x)
{
    x->seconds = 0;
    for (int v = 0; v < p->n; v++) {
        if (!has(x->set, v)) continue;
        x->seconds += p->seconds[v];
        x->host += p->host[v];
        x->bytes += p->bytes[v];
    }
}

static int compare_ideals(const void *x, const void *y)
{
    const ideal *a = x, *b = y;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    if (a->size != b->size) return a->size - b->size;
    return (a->sent > b->sent) - (a->sent < b->sent);
}

static void give(listing *l, pl_stages_ideals *ideals)
{
    const int n = l->all.n;
    const uint64_t **set = PL_NEW_N(l->out, const uint64_t *, n);
    double *seconds = PL_NEW_N(l->out, double, n), *host = PL_NEW_N(l->out, double, n);
    double *sent = PL_NEW_N(l->out, double, n);
    int64_t *bytes = PL_NEW_N(l->out, int64_t, n);
    int *n_across = PL_NEW_N(l->out, int, n);
    const pl_stages_across **across = PL_NEW_N(l->out, const pl_stages_across *, n);
    for (int i = 0; i < n; i++) weigh(l->p, &l->all.at[i]);
    qsort(l->all.at, (size_t)n, sizeof *l->all.at, compare_ideals);
    for (int i = 0; i < n; i++) {
        const ideal *x = &l->all.at[i];
        set[i] = x->set, seconds[i] = x->seconds, host[i] = x->host;
        sent[i] = x->sent, bytes[i] = x->bytes;
        across[i] = x->across, n_across[i] = x->n_across;
    }
    ideals->n = n;
    ideals->words = l->words;
    ideals->set = set, ideals->seconds = seconds, ideals->host = host;
    ideals->sent = sent, ideals->bytes = bytes;
    ideals->across = across, ideals->n_across = n_across;
}

static listing new_listing(const pl_stages_pieces *p, pl_arena *out, pl_arena *tmp)
{
    return (listing){ .p = p,
                      .words = (size_t)p->n / 64 + 1,
                      .fresh = PL_NEW_N(tmp, bool, p->pins.n),
                      .across = PL_NEW_N(tmp, pl_stages_across, p->pins.n),
                      .out = out,
                      .tmp = tmp };
}

bool pl_stages_list_ideals(const pl_stages_pieces *pieces, int most, int width, pl_arena *out,
                           pl_stages_ideals *ideals)
{
    pl_arena *tmp = pl_arena_new("stage ideals");
    listing l = new_listing(pieces, out, tmp);
    bool all;
    const bool done = list_sizes(&l, most, width, &all);
    if (done) {
        give(&l, ideals);
        ideals->all = all;
    }
    pl_arena_free(tmp);
    return done;
}

/* -- ideals near others ------------------------------------------------------------------------ */

/* What goes across, from the pins themselves. */
static int count_across(const listing *l, const uint64_t *set)
{
    const pl_stages_pieces *p = l->p;
    int n = 0;
    for (int e = 0; e < p->pins.n; e++) {
        int inside = 0;
        for (int i = p->pins.at[e]; i < p->pins.at[e + 1]; i++) inside += has(set, p->pins.item[i]);
        if (inside && inside < p->pins.at[e + 1] - p->pins.at[e])
            l->across[n++] = (pl_stages_across){ e, inside };
    }
    return n;
}

/* Add an ideal, unless it is known. */
static void add_ideal(listing *l, const uint64_t *set)
{
    const size_t bytes = l->words * sizeof *set;
    const uint64_t hash = pl_hash_span(0, set, bytes);
    PL_MAP_EACH (&l->known, hash, at)
        if (!memcmp(l->all.at[at.value].set, set, bytes)) return;
    const int n = count_across(l, set);
    uint64_t *own = PL_NEW_N(l->out, uint64_t, l->words);
    pl_stages_across *across = PL_NEW_N(l->out, pl_stages_across, n);
    ideal x = { .set = own, .across = across, .n_across = n, .sent = sum_across(l, n) };
    memcpy(own, set, bytes);
    if (n) memcpy(across, l->across, sizeof *across * (size_t)n);
    for (size_t w = 0; w < l->words; w++) x.size += __builtin_popcountll(set[w]);
    pl_map_put(&l->known, hash, l->all.n, l->tmp);
    PL_PUSH(l->tmp, &l->all, x);
}

static bool is_last(const pl_stages_pieces *p, const uint64_t *set, int piece)
{
    for (int k = p->after.at[piece]; k < p->after.at[piece + 1]; k++)
        if (has(set, p->after.item[k])) return false;
    return true;
}

/* Those with one piece more or less, until there are `most` in all. */
static void add_next(listing *l, const uint64_t *from, int most, uint64_t *set)
{
    for (int v = 0; v < l->p->n && l->all.n < most; v++) {
        const bool inside = has(from, v);
        if (!(inside ? is_last(l->p, from, v) : is_ready(l->p, from, v))) continue;
        memcpy(set, from, l->words * sizeof *set);
        set[v / 64] ^= (uint64_t)1 << (v % 64);
        add_ideal(l, set);
    }
}

static int compare_sent(const void *x, const void *y)
{
    const ideal *a = x, *b = y;
    if (a->sent != b->sent) return a->sent < b->sent ? -1 : 1;
    return a->size - b->size;
}

/* One difference more in each round, of the `width` that send least of those new in the last. */
static void list_around(listing *l, const uint64_t *center, int most, int width, uint64_t *set)
{
    int from = l->all.n;
    add_ideal(l, center);
    add_next(l, center, most, set);
    while (from < l->all.n && l->all.n < most) {
        const int n = l->all.n - from;
        ideal *ring = PL_NEW_N(l->tmp, ideal, n);
        memcpy(ring, l->all.at + from, sizeof *ring * (size_t)n);
        qsort(ring, (size_t)n, sizeof *ring, compare_sent);
        from = l->all.n;
        for (int i = 0; i < n && i < width; i++) add_next(l, ring[i].set, most, set);
    }
}

void pl_stages_list_near(const pl_stages_pieces *pieces, int n, const uint64_t *const set[],
                         int most, pl_arena *out, pl_stages_ideals *ideals)
{
    pl_arena *tmp = pl_arena_new("stage ideals");
    listing l = new_listing(pieces, out, tmp);
    uint64_t *scratch = PL_NEW_N(tmp, uint64_t, l.words);
    const int each = most / n + 1;
    add_ideal(&l, set[0]);
    add_ideal(&l, set[n]);
    for (int k = 1; k < n; k++) list_around(&l, set[k], k * each + 2, each / 64 + 4, scratch);
    give(&l, ideals);
    ideals->all = false;
    pl_arena_free(tmp);
}
