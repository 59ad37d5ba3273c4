#include "backends/local/world.h"

#include <sched.h>
#include <string.h>

/* Slots of a ring: messages beyond these wait for the slot's last use, nothing fails. */
enum { DEPTH_ALL = 64, DEPTH_PAIR = 4 };

/* Zeroed memory on a cache line of its own; an arena aligns to 16 bytes only. */
static void *take_lines(pl_arena *a, int64_t count, size_t size)
{
    char *p = pl_arena_get(a, (size_t)count * size + 64, 1);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

pl_local_world *pl_world_new(int n)
{
    pl_arena *a = pl_arena_new("local ranks");
    pl_local_world *w = PL_NEW(a, pl_local_world);
    w->arena = a;
    w->n = w->alive = n;
    w->rank = take_lines(a, n, sizeof *w->rank);
    for (int r = 0; r < n; r++) {
        atomic_init(&w->rank[r].busy, false);
        pl_bell_open(&w->rank[r].bell);
    }
    atomic_init(&w->failed, false);
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void pl_world_leave(pl_local_world *w)
{
    pthread_mutex_lock(&w->lock);
    bool last = --w->alive == 0;
    pthread_mutex_unlock(&w->lock);
    if (!last) return;
    for (int r = 0; r < w->n; r++) pl_bell_close(&w->rank[r].bell);
    pthread_mutex_destroy(&w->lock);
    pl_arena_free(w->arena);
}

static pl_world_ring make_ring(pl_arena *a, int n, int depth)
{
    pl_world_ring ring = { .n = n, .depth = depth };
    ring.cell = take_lines(a, (int64_t)n * depth, sizeof *ring.cell);
    for (int i = 0; i < n * depth; i++) atomic_init(&ring.cell[i].stage, 0);
    return ring;
}

static pl_world_group *make_group(pl_local_world *w, int n, const int ranks[])
{
    pl_world_group *g = PL_NEW(w->arena, pl_world_group);
    g->n = n;
    g->rank = PL_NEW_N(w->arena, int, n);
    g->joined = PL_NEW_N(w->arena, bool, n);
    g->pair = PL_NEW_N(w->arena, pl_world_ring, n * n);
    memcpy(g->rank, ranks, (size_t)n * sizeof *ranks);
    g->all = make_ring(w->arena, n, DEPTH_ALL);
    for (int i = 0; i < n * n; i++) g->pair[i] = make_ring(w->arena, 2, DEPTH_PAIR);
    return g;
}

pl_world_group *pl_world_join(pl_local_world *w, int n, const int ranks[], int me)
{
    pthread_mutex_lock(&w->lock);
    pl_world_group **at = &w->groups;
    for (; *at; at = &(*at)->next) {
        pl_world_group *g = *at;
        if (g->n == n && !memcmp(g->rank, ranks, (size_t)n * sizeof *ranks) && !g->joined[me])
            break;
    }
    if (!*at) *at = make_group(w, n, ranks);
    pl_world_group *g = *at;
    g->joined[me] = true;
    pthread_mutex_unlock(&w->lock);
    return g;
}

/* enter and report form Dekker's handshake: one writes busy and reads failed, the other writes
 * failed and reads busy. In the one order of sequentially consistent accesses at least one of the
 * two sees the other, so no rank reads a buffer whose owner has already returned with the
 * failure. */
bool pl_world_enter(pl_local_world *w, int rank)
{
    atomic_store(&w->rank[rank].busy, true);
    if (!atomic_load(&w->failed)) return true;
    pl_world_exit(w, rank);
    return false;
}

void pl_world_exit(pl_local_world *w, int rank)
{
    atomic_store_explicit(&w->rank[rank].busy, false, memory_order_release);
}

void pl_world_fail(pl_local_world *w, const pl_err *why, bool whole)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed)) {
        w->failure = *why;
        w->whole = whole;
        atomic_store(&w->failed, true);
    }
    pthread_mutex_unlock(&w->lock);
    for (int r = 0; r < w->n; r++) pl_bell_ring(&w->rank[r].bell);
}

bool pl_world_report(pl_local_world *w, int rank, const pl_request *r, pl_err *err)
{
    PL_ASSERT(atomic_load(&w->failed));
    for (int i = 0; i < w->n; i++)
        while (i != rank && atomic_load(&w->rank[i].busy)) sched_yield();
    pl_err_set(err, w->failure.code, "%s", w->failure.msg);
    if (!w->whole && r) pl_request_in(r, err);
    return false;
}
