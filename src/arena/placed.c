/* The placed rectangles in one sorted list, which one pass meets from the bottom up:
 * pl_placed_find() and pl_placed_add(). With many short lives the segment tree does it instead
 * (arena/segtree.h). */
#include "arena/placed.h"

#include "arena/segtree.h"

#include <stdlib.h>
#include <string.h>

/* Boxes are kept sorted by `low`, so that one pass meets the gaps of any life span from the bottom
 * up. They lie in chunks of a fixed size: adding one moves little, and times are compared four at a
 * time (vector types of gcc and clang). All n take n^2 / 2 comparisons, one or two per cycle: the
 * best way for some thousands. */
enum { CHUNK = 256 };

typedef int32_t four __attribute__((vector_size(16)));

typedef struct chunk {
    int32_t from[CHUNK], to[CHUNK]; /* ranks of times; what is not used meets nothing */
    int64_t low[CHUNK], high[CHUNK];
    int n;
} chunk;

/* The gaps of one search, from the bottom up. */
typedef struct probe {
    int64_t align, floor, best, best_room; /* best: -1 as long as there is none */
} probe;

/* Offsets strictly between low and high are taken. */
typedef struct taken {
    int64_t low, high;
} taken;

struct pl_placed {
    const pl_boxes *boxes;
    pl_arena *arena;
    pl_segtree *tree; /* or NULL */
    struct {
        int n, cap;
        chunk **at;
    } chunks;
    struct {
        int n, cap;
        taken *at;
    } taken; /* of one search */
};

static chunk *make_chunk(pl_placed *s)
{
    chunk *c = PL_NEW(s->arena, chunk);
    for (int i = 0; i < CHUNK; i++) c->from[i] = INT32_MAX, c->to[i] = INT32_MIN;
    return c;
}

pl_placed *pl_placed_new(const pl_boxes *boxes, bool by_time, pl_arena *arena)
{
    pl_placed *placed = PL_NEW(arena, pl_placed);
    placed->boxes = boxes;
    placed->arena = arena;
    if (by_time) placed->tree = pl_segtree_new(boxes, arena);
    PL_PUSH(arena, &placed->chunks, make_chunk(placed));
    return placed;
}

/* Which boxes of a chunk are live together with a box: their positions. No branch for each: which
 * they are is noise. */
static int find_hits(const chunk *c, const pl_box *want, int hit[])
{
    const four until = { want->to, want->to, want->to, want->to };
    const four since = { want->from, want->from, want->from, want->from };
    int n = 0;
    for (int i = 0; i < c->n; i += 8) {
        four from[2], to[2], meets[2];
        int32_t flag[8];
        uint64_t any[4];
        memcpy(from, c->from + i, sizeof from);
        memcpy(to, c->to + i, sizeof to);
        meets[0] = (from[0] < until) & (to[0] > since);
        meets[1] = (from[1] < until) & (to[1] > since);
        memcpy(any, meets, sizeof any);
        if (!(any[0] | any[1] | any[2] | any[3])) continue;
        memcpy(flag, meets, sizeof flag);
        hit[n] = i, n -= flag[0];
        hit[n] = i + 1, n -= flag[1];
        hit[n] = i + 2, n -= flag[2];
        hit[n] = i + 3, n -= flag[3];
        hit[n] = i + 4, n -= flag[4];
        hit[n] = i + 5, n -= flag[5];
        hit[n] = i + 6, n -= flag[6];
        hit[n] = i + 7, n -= flag[7];
    }
    return n;
}

static int by_low(const void *left, const void *right)
{
    const taken *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* By rising low. */
static void find_taken(pl_placed *placed, const pl_boxed *item)
{
    int hit[CHUNK];
    placed->taken.n = 0;
    for (int k = 0; k < item->n_boxes; k++) {
        const pl_box *want = &placed->boxes->box[item->first + k];
        for (int i = 0; i < placed->chunks.n; i++) {
            const chunk *c = placed->chunks.at[i];
            int n = find_hits(c, want, hit);
            for (int j = 0; j < n; j++) {
                taken t = { c->low[hit[j]] - want->high, c->high[hit[j]] - want->low };
                PL_PUSH(placed->arena, &placed->taken, t);
            }
        }
    }
    if (item->n_boxes > 1 && placed->taken.n > 1)
        qsort(placed->taken.at, (size_t)placed->taken.n, sizeof *placed->taken.at, by_low);
}

/* Offsets strictly between low and high are taken; those between the floor and low are free. */
static inline void pass(probe *p, int64_t low, int64_t high)
{
    if (low - p->floor >= 0 && low - p->floor < p->best_room) {
        int64_t at = pl_boxes_round(p->floor, p->align);
        if (at <= low) {
            p->best = at;
            p->best_room = low - p->floor;
        }
    }
    p->floor = high > p->floor ? high : p->floor;
}

/* A buffer of one box, as most are: no need to keep and sort what it meets. */
static void pass_chunks(const pl_placed *placed, const pl_box *want, bool low, probe *p)
{
    int hit[CHUNK];
    int64_t floor = p->floor; /* here, not in memory, which `p` might share with the chunks */
    const int64_t above = want->high, below = want->low;
    for (int i = 0; i < placed->chunks.n; i++) {
        const chunk *c = placed->chunks.at[i];
        int n = find_hits(c, want, hit);
        for (int j = 0; j < n; j++) {
            int64_t bottom = c->low[hit[j]] - above, top = c->high[hit[j]] - below;
            if (bottom >= floor) {
                p->floor = floor;
                pass(p, bottom, top);
                if (low && p->best >= 0) return;
            }
            floor = top > floor ? top : floor;
        }
        p->floor = floor;
    }
}

int64_t pl_placed_find(pl_placed *placed, const pl_boxed *item, bool low)
{
    if (placed->tree) return pl_segtree_find(placed->tree, item, low);
    probe p = { item->align, 0, -1, INT64_MAX };
    if (item->n_boxes == 1) {
        pass_chunks(placed, &placed->boxes->box[item->first], low, &p);
    } else {
        find_taken(placed, item);
        for (int i = 0; i < placed->taken.n && !(low && p.best >= 0); i++)
            pass(&p, placed->taken.at[i].low, placed->taken.at[i].high);
    }
    return p.best >= 0 ? p.best : pl_boxes_round(p.floor, item->align);
}

bool pl_placed_fits(pl_placed *placed, const pl_boxed *item, int64_t at)
{
    if (placed->tree) return pl_segtree_fits(placed->tree, item, at);
    find_taken(placed, item);
    for (int i = 0; i < placed->taken.n; i++)
        if (placed->taken.at[i].low < at && at < placed->taken.at[i].high) return false;
    return true;
}

static void split(pl_placed *placed, int i)
{
    chunk *full = placed->chunks.at[i], *rest = make_chunk(placed);
    int keep = CHUNK / 2, move = CHUNK - keep;
    memcpy(rest->from, full->from + keep, (size_t)move * sizeof *rest->from);
    memcpy(rest->to, full->to + keep, (size_t)move * sizeof *rest->to);
    memcpy(rest->low, full->low + keep, (size_t)move * sizeof *rest->low);
    memcpy(rest->high, full->high + keep, (size_t)move * sizeof *rest->high);
    for (int k = keep; k < CHUNK; k++) full->from[k] = INT32_MAX, full->to[k] = INT32_MIN;
    full->n = keep;
    rest->n = move;
    PL_PUSH(placed->arena, &placed->chunks, rest);
    memmove(placed->chunks.at + i + 2, placed->chunks.at + i + 1,
            (size_t)(placed->chunks.n - i - 2) * sizeof *placed->chunks.at);
    placed->chunks.at[i + 1] = rest;
}

/* The last chunk that begins at or below low, or the first. */
static int find_chunk(const pl_placed *placed, int64_t low)
{
    int from = 0, to = placed->chunks.n - 1;
    while (from < to) {
        int mid = from + (to - from + 1) / 2;
        if (placed->chunks.at[mid]->low[0] <= low)
            from = mid;
        else
            to = mid - 1;
    }
    return from;
}

static void insert(pl_placed *placed, int32_t from, int32_t to, int64_t low, int64_t high)
{
    int i = find_chunk(placed, low);
    if (placed->chunks.at[i]->n == CHUNK) {
        split(placed, i);
        i = find_chunk(placed, low);
    }
    chunk *c = placed->chunks.at[i];
    int at = c->n;
    while (at && c->low[at - 1] > low) at--;
    size_t move = (size_t)(c->n - at);
    memmove(c->from + at + 1, c->from + at, move * sizeof *c->from);
    memmove(c->to + at + 1, c->to + at, move * sizeof *c->to);
    memmove(c->low + at + 1, c->low + at, move * sizeof *c->low);
    memmove(c->high + at + 1, c->high + at, move * sizeof *c->high);
    c->from[at] = from, c->to[at] = to;
    c->low[at] = low, c->high[at] = high;
    c->n++;
}

void pl_placed_add(pl_placed *placed, const pl_boxed *item, int64_t at)
{
    if (placed->tree) {
        pl_segtree_add(placed->tree, item, at);
        return;
    }
    for (int k = 0; k < item->n_boxes; k++) {
        const pl_box *p = &placed->boxes->box[item->first + k];
        insert(placed, p->from, p->to, at + p->low, at + p->high);
    }
}
