/* A set of spans in chunks: pl_taken_add() and the merging of neighbours (absorb), and the walk
 * upwards from gap to gap (pl_taken_rise). */
#include "arena/taken.h"

#include <string.h>

/* The last chunk from `from` on that begins at or below low, or `from`. */
static int find_chunk(const pl_taken *t, int from, int64_t low)
{
    int to = t->n, step = 1;
    while (from + step < to && t->at[from + step].low <= low) from += step, step *= 2;
    if (from + step < to) to = from + step;
    while (from + 1 < to) {
        int mid = from + (to - from) / 2;
        if (t->at[mid].low <= low)
            from = mid;
        else
            to = mid;
    }
    return from;
}

/* The first span from `from` on that ends at or above low. */
static int find_span(const pl_chunk *c, int from, int64_t low)
{
    int n = c->n - from;
    while (n > 0) { /* no branch on what is noise */
        int half = n / 2;
        bool below = c->at[from + half].high < low;
        from = below ? from + half + 1 : from;
        n = below ? n - half - 1 : half;
    }
    return from;
}

/* Writes the label of a chunk that has changed. */
static void label(pl_taken *t, int i)
{
    const pl_chunk *c = t->at[i].chunk;
    int64_t room = 0;
    for (int k = 1; k < c->n; k++) {
        int64_t gap = c->at[k].low - c->at[k - 1].high;
        room = gap > room ? gap : room;
    }
    t->at[i].low = c->at[0].low;
    t->at[i].room = room;
}

static pl_chunk *insert_chunk(pl_taken *t, int i, pl_arena *arena)
{
    PL_ASSERT_CMP(t->n_spare, ==, 0);
    pl_chunk_label new = { .chunk = PL_NEW(arena, pl_chunk) };
    PL_PUSH(arena, t, new);
    memmove(t->at + i + 1, t->at + i, (size_t)(t->n - 1 - i) * sizeof *t->at);
    t->at[i] = new;
    return new.chunk;
}

/* The new one comes before span `at` of chunk i. */
static void insert_span(pl_taken *t, int i, int at, pl_span new, pl_arena *arena)
{
    pl_chunk *c = t->at[i].chunk;
    if (c->n == PL_TAKEN_CHUNK) {
        const int keep = PL_TAKEN_CHUNK / 2;
        pl_chunk *rest = insert_chunk(t, i + 1, arena);
        rest->n = c->n - keep;
        memcpy(rest->at, c->at + keep, (size_t)rest->n * sizeof *rest->at);
        c->n = keep;
        label(t, i);
        label(t, i + 1);
        if (at > keep) c = rest, at -= keep, i++;
    }
    memmove(c->at + at + 1, c->at + at, (size_t)(c->n - at) * sizeof *c->at);
    c->at[at] = new;
    c->n++;
    label(t, i);
}

/* Takes away all after span `at` of chunk i that begin at or below *high, which rises to where they
 * end. */
static void absorb(pl_taken *t, int i, int at, int64_t *high)
{
    for (;;) {
        pl_chunk *c = t->at[i].chunk;
        int end = at + 1;
        while (end < c->n && c->at[end].low <= *high) {
            if (c->at[end].high > *high) *high = c->at[end].high;
            end++;
        }
        memmove(c->at + at + 1, c->at + end, (size_t)(c->n - end) * sizeof *c->at);
        c->n -= end - at - 1;
        if (at + 1 < c->n || i + 1 == t->n || t->at[i + 1].low > *high) return;
        pl_chunk *next = t->at[i + 1].chunk; /* its first goes, and itself with its last */
        if (next->at[0].high > *high) *high = next->at[0].high;
        memmove(next->at, next->at + 1, (size_t)--next->n * sizeof *next->at);
        if (next->n) {
            label(t, i + 1);
            continue;
        }
        memmove(t->at + i + 1, t->at + i + 2, (size_t)(t->n - i - 2) * sizeof *t->at);
        t->n--;
    }
}

void pl_taken_add(pl_taken *t, int64_t low, int64_t high, pl_arena *arena)
{
    if (!t->n) insert_chunk(t, 0, arena);
    int i = find_chunk(t, 0, low), at = find_span(t->at[i].chunk, 0, low);
    if (at == t->at[i].chunk->n && i + 1 < t->n) i++, at = 0; /* at the border it joins either */
    pl_chunk *c = t->at[i].chunk;
    if (at == c->n || c->at[at].low > high) {
        insert_span(t, i, at, (pl_span){ low, high }, arena);
        return;
    }
    if (low < c->at[at].low) c->at[at].low = low;
    if (high > c->at[at].high) {
        absorb(t, i, at, &high);
        c->at[at].high = high;
    }
    label(t, i);
}

void pl_taken_clear(pl_taken *t)
{
    t->n_spare += t->n;
    t->n = 0;
}

void pl_taken_append(pl_taken *t, int64_t low, int64_t high, pl_arena *arena)
{
    pl_chunk_label *last = t->n ? &t->at[t->n - 1] : NULL;
    pl_chunk *c = last ? last->chunk : NULL;
    if (c && low <= c->at[c->n - 1].high) {
        if (high > c->at[c->n - 1].high) c->at[c->n - 1].high = high;
        return;
    }
    if (!c || c->n == PL_TAKEN_CHUNK) {
        if (t->n_spare) {
            t->n_spare--;
            t->n++;
        } else {
            pl_chunk_label new = { .chunk = PL_NEW(arena, pl_chunk) };
            PL_PUSH(arena, t, new);
        }
        last = &t->at[t->n - 1];
        c = last->chunk;
        c->n = 0;
        last->low = low;
        last->room = 0;
    }
    if (c->n && low - c->at[c->n - 1].high > last->room) last->room = low - c->at[c->n - 1].high;
    c->at[c->n++] = (pl_span){ low, high };
}

/* The first span that ends above `floor`; NULL: none. */
static const pl_span *seek(pl_taken_walk *walk, int64_t floor)
{
    const pl_taken *t = walk->taken;
    if (walk->chunk >= t->n) return NULL;
    const pl_chunk *c = t->at[walk->chunk].chunk;
    for (int k = 0; k < 4 && walk->at < c->n; k++, walk->at++) /* most steps are short */
        if (c->at[walk->at].high > floor) return &c->at[walk->at];
    int i = find_chunk(t, walk->chunk, floor);
    if (i > walk->chunk) walk->chunk = i, walk->at = 0;
    c = t->at[i].chunk;
    walk->at = find_span(c, walk->at, floor + 1);
    if (walk->at < c->n) return &c->at[walk->at];
    walk->chunk++;
    walk->at = 0;
    return walk->chunk < t->n ? &t->at[walk->chunk].chunk->at[0] : NULL;
}

/* From this span on: the last that is not followed by a gap of so many bytes. */
static const pl_span *skip(pl_taken_walk *walk, int64_t bytes)
{
    const pl_taken *t = walk->taken;
    for (;;) {
        const pl_chunk *c = t->at[walk->chunk].chunk;
        if (t->at[walk->chunk].room < bytes) walk->at = c->n - 1;
        for (; walk->at + 1 < c->n; walk->at++)
            if (c->at[walk->at + 1].low - c->at[walk->at].high >= bytes) return &c->at[walk->at];
        const pl_span *last = &c->at[walk->at];
        if (walk->chunk + 1 == t->n || t->at[walk->chunk + 1].low - last->high >= bytes)
            return last;
        walk->chunk++;
        walk->at = 0;
    }
}

int64_t pl_taken_rise(pl_taken_walk *walk, int64_t floor, int64_t bytes, int64_t *top)
{
    const pl_span *s = seek(walk, floor);
    if (s && s->low - floor < bytes) {
        floor = skip(walk, bytes)->high;
        s = seek(walk, floor);
    }
    *top = s ? s->low : INT64_MAX;
    return floor;
}
