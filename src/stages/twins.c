/* Twins are found by a hash of what they have in common, and compared with the first of those
 * before them. Swapping two twins changes no load; so the twins of each kind, one kind after the
 * other, can be sorted by their stages. */
#include "stages/twins.h"

#include <string.h>

#include "base/map.h"

static bool same_list(const pl_stages_lists *l, int a, int b)
{
    const int n = l->at[a + 1] - l->at[a];
    return n == l->at[b + 1] - l->at[b] &&
           !memcmp(l->item + l->at[a], l->item + l->at[b], sizeof(int) * (size_t)n);
}

/* Would value e be value d, were pin a of it b? */
static bool same_pins(const pl_stages_lists *pins, int e, int a, int d, int b)
{
    int i = pins->at[e], j = pins->at[d];
    if (pins->at[e + 1] - i != pins->at[d + 1] - j) return false;
    while (i < pins->at[e + 1] || j < pins->at[d + 1]) {
        if (i < pins->at[e + 1] && pins->item[i] == a)
            i++;
        else if (j < pins->at[d + 1] && pins->item[j] == b)
            j++;
        else if (i == pins->at[e + 1] || j == pins->at[d + 1] || pins->item[i++] != pins->item[j++])
            return false;
    }
    return true;
}

static bool is_pin(const pl_stages_lists *pins, int e, int piece)
{
    for (int i = pins->at[e]; i < pins->at[e + 1]; i++)
        if (pins->item[i] == piece) return true;
    return false;
}

/* Does each value of a that is none of b have its like among those of b? */
static bool same_values(const pl_stages_pieces *p, int a, int b)
{
    for (int k = p->values.at[a]; k < p->values.at[a + 1]; k++) {
        const int e = p->values.item[k];
        bool found = is_pin(&p->pins, e, b);
        for (int i = p->values.at[b]; i < p->values.at[b + 1] && !found; i++) {
            const int d = p->values.item[i];
            found = p->send[d] == p->send[e] && same_pins(&p->pins, e, a, d, b);
        }
        if (!found) return false;
    }
    return p->values.at[a + 1] - p->values.at[a] == p->values.at[b + 1] - p->values.at[b];
}

static bool are_twins(const pl_stages_pieces *p, int a, int b)
{
    return p->seconds[a] == p->seconds[b] && p->host[a] == p->host[b] &&
           p->bytes[a] == p->bytes[b] && same_list(&p->before, a, b) &&
           same_list(&p->after, a, b) && same_values(p, a, b) && same_values(p, b, a);
}

static uint64_t hash_list(uint64_t hash, const pl_stages_lists *l, int i)
{
    return pl_hash_span(hash, l->item + l->at[i], sizeof(int) * (size_t)(l->at[i + 1] - l->at[i]));
}

static uint64_t hash_piece(const pl_stages_pieces *p, int v)
{
    const double weight[2] = { p->seconds[v], p->host[v] };
    return hash_list(hash_list(pl_hash_span(0, weight, sizeof weight), &p->before, v), &p->after,
                     v);
}

/* Lists with one item more for each piece with one beside it; -1: none. */
static pl_stages_lists add_items(const pl_stages_lists *l, const int *beside, bool last,
                                 pl_arena *out)
{
    int *at = PL_NEW_N(out, int, l->n + 1), *item = PL_NEW_N(out, int, l->at[l->n] + l->n);
    for (int i = 0, n = 0; i < l->n; i++, at[i] = n) {
        if (beside[i] >= 0 && !last) item[n++] = beside[i];
        for (int k = l->at[i]; k < l->at[i + 1]; k++) item[n++] = l->item[k];
        if (beside[i] >= 0 && last) item[n++] = beside[i];
    }
    return (pl_stages_lists){ l->n, at, item };
}

void pl_stages_order_twins(pl_stages_pieces *pieces, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("stage twins");
    pl_map first = { 0 };
    int *last = PL_NEW_N(tmp, int, pieces->n); /* of the twins of each first one */
    int *before = PL_NEW_N(tmp, int, pieces->n), *after = PL_NEW_N(tmp, int, pieces->n);
    for (int v = 0; v < pieces->n; v++) before[v] = after[v] = -1;
    for (int v = 0; v < pieces->n; v++) {
        const uint64_t hash = hash_piece(pieces, v);
        PL_MAP_EACH (&first, hash, at) {
            if (before[v] >= 0 || !are_twins(pieces, at.value, v)) continue;
            before[v] = last[at.value];
            after[before[v]] = v;
            last[at.value] = v;
        }
        if (before[v] >= 0) continue;
        last[v] = v;
        pl_map_put(&first, hash, v, tmp);
    }
    pieces->before = add_items(&pieces->before, before, true, out);
    pieces->after = add_items(&pieces->after, after, false, out);
    pl_arena_free(tmp);
}
