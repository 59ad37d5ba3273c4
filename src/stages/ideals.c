/* Ideals, one size after the other: each is one of the size before and a piece of which all that
 * comes before it is inside. Those pieces are kept with each ideal while its size is in work. */
#include "stages/ideals.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { NARROW = 12000 }; /* ideals kept where there are too many */

typedef struct ideal {
    const uint64_t *set, *next; /* inside; could be added */
    const pl_stages_across *across;
    double seconds, host, sent;
    int64_t bytes;
    int size, n_across;
} ideal;

typedef struct listing {
    const pl_stages_pieces *p;
    size_t words;
    int most, width; /* of all sizes, of one; width 0: any */
    pl_map known;    /* of the size in work, places in all */
    bool *fresh;     /* [values] of the piece in work      */
    pl_arena *out, *tmp;
    struct {
        int n, cap;
        ideal *at;
    } all;
} listing;

static bool has(const uint64_t *set, int piece)
{
    return set[piece / 64] >> (piece % 64) & 1;
}

static void put(uint64_t *set, int piece, bool in)
{
    const uint64_t bit = (uint64_t)1 << (piece % 64);
    set[piece / 64] = in ? set[piece / 64] | bit : set[piece / 64] & ~bit;
}

static bool is_ready(const pl_stages_pieces *p, const uint64_t *set, int piece)
{
    for (int k = p->before.at[piece]; k < p->before.at[piece + 1]; k++)
        if (!has(set, p->before.item[k])) return false;
    return true;
}

/* What goes across when a piece comes in: what did, but for values that are whole now, and values
 * of which it is the first pin inside. */
static void list_across(const listing *l, const ideal *from, int piece, ideal *x)
{
    const pl_stages_pieces *p = l->p;
    const int first = p->values.at[piece], last = p->values.at[piece + 1];
    pl_stages_across *own = PL_NEW_N(l->out, pl_stages_across, from->n_across + last - first);
    int n = 0;
    for (int k = first; k < last; k++) l->fresh[p->values.item[k]] = true;
    for (int i = 0; i < from->n_across; i++) {
        const int e = from->across[i].value, inside = from->across[i].inside + l->fresh[e];
        l->fresh[e] = false;
        if (inside < p->pins.at[e + 1] - p->pins.at[e]) own[n++] = (pl_stages_across){ e, inside };
    }
    for (int k = first; k < last; k++) {
        const int e = p->values.item[k];
        if (l->fresh[e]) own[n++] = (pl_stages_across){ e, 1 };
        l->fresh[e] = false;
    }
    for (int i = 0; i < n; i++) x->sent += p->send[own[i].value];
    x->across = own;
    x->n_across = n;
}

/* Sums in the order of the pieces, so that one piece more never makes them less. */
static void weigh(const pl_stages_pieces *p, ideal *x)
{
    for (int v = 0; v < p->n; v++) {
        if (!has(x->set, v)) continue;
        x->seconds += p->seconds[v];
        x->host += p->host[v];
        x->bytes += p->bytes[v];
    }
}

static bool is_known(const listing *l, uint64_t hash, const uint64_t *set)
{
    PL_MAP_EACH (&l->known, hash, at)
        if (!memcmp(l->all.at[at.value].set, set, l->words * sizeof *set)) return true;
    return false;
}

static void add_piece(listing *l, const ideal *from, int piece, uint64_t *set)
{
    const pl_stages_pieces *p = l->p;
    memcpy(set, from->set, l->words * sizeof *set);
    put(set, piece, true);
    const uint64_t hash = pl_hash_span(0, set, l->words * sizeof *set);
    if (is_known(l, hash, set)) return;
    uint64_t *own = PL_NEW_N(l->out, uint64_t, l->words);
    uint64_t *next = PL_NEW_N(l->tmp, uint64_t, l->words);
    memcpy(own, set, l->words * sizeof *set);
    memcpy(next, from->next, l->words * sizeof *set);
    put(next, piece, false);
    for (int k = p->after.at[piece]; k < p->after.at[piece + 1]; k++)
        if (is_ready(p, own, p->after.item[k])) put(next, p->after.item[k], true);
    ideal x = { .set = own, .next = next, .size = from->size + 1 };
    weigh(p, &x);
    list_across(l, from, piece, &x);
    pl_map_put(&l->known, hash, l->all.n, l->tmp);
    PL_PUSH(l->tmp, &l->all, x);
}

static int compare_sent(const void *x, const void *y)
{
    const ideal *a = x, *b = y;
    if (a->sent != b->sent) return a->sent < b->sent ? -1 : 1;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* Whether all were listed. */
static bool list_sizes(listing *l)
{
    const pl_stages_pieces *p = l->p;
    uint64_t *set = PL_NEW_N(l->tmp, uint64_t, l->words);
    ideal none = { .set = PL_NEW_N(l->out, uint64_t, l->words) };
    uint64_t *next = PL_NEW_N(l->tmp, uint64_t, l->words);
    for (int v = 0; v < p->n; v++) put(next, v, p->before.at[v] == p->before.at[v + 1]);
    none.next = next;
    l->all.n = 0;
    PL_PUSH(l->tmp, &l->all, none);
    for (int size = 0, from = 0; size < p->n; size++) {
        const int to = l->all.n;
        pl_map_clear(&l->known);
        for (int i = from; i < to; i++) {
            const ideal x = l->all.at[i];
            for (int v = 0; v < p->n; v++)
                if (has(x.next, v)) add_piece(l, &x, v, set);
            if (l->all.n > l->most) return false;
        }
        from = to;
        if (!l->width || l->all.n - to <= l->width) continue;
        qsort(l->all.at + to, (size_t)(l->all.n - to), sizeof *l->all.at, compare_sent);
        l->all.n = to + l->width;
    }
    return true;
}

static int compare_ideals(const void *x, const void *y)
{
    const ideal *a = x, *b = y;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return a->size - b->size;
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

void pl_stages_list_ideals(const pl_stages_pieces *pieces, int most, pl_arena *out,
                           pl_stages_ideals *ideals)
{
    pl_arena *tmp = pl_arena_new("stage ideals");
    listing l = { .p = pieces, .words = (size_t)pieces->n / 64 + 1, .most = most, .out = out };
    l.tmp = tmp;
    l.fresh = PL_NEW_N(tmp, bool, pieces->pins.n);
    ideals->all = list_sizes(&l);
    if (!ideals->all) {
        l.width = NARROW / (pieces->n + 1) + 8;
        l.most = INT32_MAX;
        list_sizes(&l);
    }
    give(&l, ideals);
    pl_arena_free(tmp);
}
