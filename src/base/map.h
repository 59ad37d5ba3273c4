/* base/map.h - hash map from keys to numbers, such as places in a list.
 *
 * The map holds hashes and numbers, no keys: whoever has the keys compares them. Of the numbers
 * under a hash
 *
 *     const uint64_t hash = pl_hash_text(0, name);
 *     PL_MAP_EACH (&names, hash, x)
 *         if (!strcmp(list[x.value].name, name)) return &list[x.value];
 *     return NULL;
 *
 * sees each in no particular order; there is hardly ever more than one. Of numbers as keys nothing
 * need be compared: pl_hash_mix(0, key) is another one for each. Start from {0}. */
#ifndef PL_BASE_MAP_H
#define PL_BASE_MAP_H
#include "base/arena.h"
#include "base/hash.h"

/* Open addressing with linear probing (Knuth, TAOCP 3, 6.4, algorithm L), at most half full. */
typedef struct pl_map {
    int n, n_slots; /* n_slots: a power of two, or 0 */
    struct pl_map_slot {
        uint64_t hash;
        int entry; /* 1 + value; 0: free */
    } *slot;
} pl_map;

/* A number under a hash; -1: there is none, or no more. */
typedef struct pl_map_at {
    int value, slot;
} pl_map_at;

static inline pl_map_at pl_map_seek(const pl_map *m, uint64_t hash, uint64_t from)
{
    const uint64_t mask = (uint64_t)m->n_slots - 1;
    for (uint64_t i = from & mask; m->n_slots && m->slot[i].entry; i = (i + 1) & mask)
        if (m->slot[i].hash == hash) return (pl_map_at){ m->slot[i].entry - 1, (int)i };
    return (pl_map_at){ -1, 0 };
}

#define PL_MAP_EACH(m, hash, x)                                                                    \
    for (pl_map_at x = pl_map_seek((m), (hash), (hash)); x.value >= 0;                             \
         x = pl_map_seek((m), (hash), (uint64_t)x.slot + 1))

/* Put one more number, of at least 0, under a hash. `arena` owns the slots; old ones stay until
 * it goes. */
void pl_map_put(pl_map *m, uint64_t hash, int value, pl_arena *arena);

void pl_map_clear(pl_map *m);                          /* the slots stay             */
pl_map pl_map_copy(const pl_map *m, pl_arena *arena);  /* with no more slots than it needs */

#endif
