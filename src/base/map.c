/* Insertion, growth and copies of a hash map; lookup is inline in map.h. */
#include "base/map.h"

#include <string.h>

static void insert(pl_map *m, struct pl_map_slot x)
{
    const uint64_t mask = (uint64_t)m->n_slots - 1;
    uint64_t i = x.hash & mask;
    while (m->slot[i].entry) i = (i + 1) & mask;
    m->slot[i] = x;
    m->n++;
}

/* The same with room for n numbers. */
static pl_map resize(const pl_map *m, int n, pl_arena *arena)
{
    pl_map x = { .n_slots = 16 };
    while (x.n_slots < 2 * n) x.n_slots *= 2;
    x.slot = PL_NEW_N(arena, struct pl_map_slot, x.n_slots);
    for (int i = 0; i < m->n_slots; i++)
        if (m->slot[i].entry) insert(&x, m->slot[i]);
    return x;
}

void pl_map_put(pl_map *m, uint64_t hash, int value, pl_arena *arena)
{
    PL_ASSERT_CMP(value, >=, 0);
    if (2 * m->n >= m->n_slots) *m = resize(m, m->n + 1, arena);
    insert(m, (struct pl_map_slot){ hash, value + 1 });
}

void pl_map_clear(pl_map *m)
{
    if (m->n) memset(m->slot, 0, (size_t)m->n_slots * sizeof *m->slot);
    m->n = 0;
}

pl_map pl_map_copy(const pl_map *m, pl_arena *arena)
{
    return resize(m, m->n, arena);
}
