/* The check of layouts, from the definition: it uses nothing of what makes them. Read
 * pl_offsets_check() at the end. */
#include "arena/offsets.h"

#include <stdlib.h>

/* Over which of its bytes, from the start of the block, a buffer lies from a step to the next
 * change; `live`: what it counts for then, in multiples of the alignment. */
typedef struct span {
    int64_t from, to, low, high, live;
    int buffer;
} span;

/* A span begins or ends. */
typedef struct event {
    int64_t step;
    int is_begin;
    int rank; /* of its span by low */
} event;

static bool fail_place(int i, int64_t low, const char *what, int64_t than, pl_err *err)
{
    return pl_err_set(err, PL_EMISMATCH, "layout: buffer %d is at byte %lld, %s %lld", i,
                      (long long)low, what, (long long)than);
}

static bool check_one(int i, const pl_buf *buf, int64_t align, const pl_offsets *layout,
                      pl_err *err)
{
    int64_t low = layout->offset[i], top;
    if (low < 0) return fail_place(i, low, "below", 0, err);
    if (low % align) return fail_place(i, low, "not a multiple of", align, err);
    if (buf->wish && buf->wish->align && low % buf->wish->align)
        return fail_place(i, low, "not a multiple of", buf->wish->align, err);
    if (buf->wish && buf->wish->is_fixed && low != buf->wish->fixed)
        return fail_place(i, low, "but must be at", buf->wish->fixed, err);
    if (__builtin_add_overflow(low, buf->bytes, &top) || top > layout->height)
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: buffer %d at byte %lld with %lld bytes ends above the height "
                          "%lld",
                          i, (long long)low, (long long)buf->bytes, (long long)layout->height);
    return true;
}

static int count_gaps(const pl_buf *b)
{
    return b->wish ? b->wish->n_gaps : 0;
}

static int64_t round_up(int64_t bytes, int64_t align)
{
    return (bytes / align + (bytes % align != 0)) * align;
}

/* Stretch k of a buffer's life: even ones lie between gaps, odd ones are gaps. */
static span find_span(int buffer, const pl_buf *buf, int64_t align, int64_t at, int k)
{
    int n = count_gaps(buf);
    const pl_gap *gap = buf->wish ? buf->wish->gap : NULL;
    if (k % 2) {
        const pl_gap *g = &gap[k / 2];
        int64_t live = g->high > g->low ? round_up(g->high, align) - g->low / align * align : 0;
        return (span){ g->from, g->to, at + g->low, at + g->high, live, buffer };
    }
    return (span){ k ? gap[k / 2 - 1].to : buf->birth,
                   k / 2 < n ? gap[k / 2].from : buf->death,
                   at,
                   at + buf->bytes,
                   round_up(buf->bytes, align),
                   buffer };
}

static bool fail_pair(const span *a, const span *b, pl_err *err)
{
    if (a->buffer > b->buffer) return fail_pair(b, a, err);
    return pl_err_set(err, PL_EMISMATCH,
                      "layout: buffers %d (bytes %lld..%lld, steps %lld..%lld) and %d "
                      "(bytes %lld..%lld, steps %lld..%lld) overlap",
                      a->buffer, (long long)a->low, (long long)a->high, (long long)a->from,
                      (long long)a->to, b->buffer, (long long)b->low, (long long)b->high,
                      (long long)b->from, (long long)b->to);
}

static int by_low(const void *left, const void *right)
{
    const span *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

/* A life ends before the step of its death. */
static int by_step(const void *left, const void *right)
{
    const event *a = left, *b = right;
    if (a->step != b->step) return a->step < b->step ? -1 : 1;
    if (a->is_begin != b->is_begin) return a->is_begin - b->is_begin;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* -- a set of ranks, and who is next to one ---------------------------------------------------- */

enum { LEVELS = 6 }; /* of 64 branches: more ranks than an int has */

typedef struct ranks {
    uint64_t *level[LEVELS]; /* bit i of level k + 1: word i of level k is not 0 */
} ranks;

static ranks make_ranks(int n, pl_arena *tmp)
{
    ranks r;
    size_t words = (size_t)n;
    for (int k = 0; k < LEVELS; k++) {
        words = words / 64 + 1;
        r.level[k] = PL_NEW_N(tmp, uint64_t, words);
    }
    return r;
}

static void add_rank(ranks *r, int at)
{
    for (int k = 0; k < LEVELS; k++, at /= 64) r->level[k][at / 64] |= (uint64_t)1 << at % 64;
}

static void remove_rank(ranks *r, int at)
{
    for (int k = 0; k < LEVELS; k++, at /= 64) {
        r->level[k][at / 64] &= ~((uint64_t)1 << at % 64);
        if (r->level[k][at / 64]) return;
    }
}

/* The member nearest to `at` below it, or above it; -1: none. */
static int find_near(const ranks *r, int at, bool below)
{
    for (int k = 0; k < LEVELS; k++, at /= 64) {
        int bit = at % 64;
        uint64_t side = below ? ((uint64_t)1 << bit) - 1 : ~(uint64_t)0 << bit << 1;
        uint64_t word = r->level[k][at / 64] & (below || bit < 63 ? side : 0);
        if (!word) continue;
        at = at / 64;
        for (;; k--) {
            at = at * 64 + (below ? 63 - __builtin_clzll(word) : __builtin_ctzll(word));
            if (!k) return at;
            word = r->level[k - 1][at];
        }
    }
    return -1;
}

/* -- all that live together -------------------------------------------------------------------- */

static int list_spans(int n, const pl_buf buf[], int64_t align, const pl_offsets *layout,
                      span all[])
{
    int n_spans = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= 2 * count_gaps(&buf[i]); k++) {
            span s = find_span(i, &buf[i], align, layout->offset[i], k);
            if (s.from < s.to && s.low < s.high) all[n_spans++] = s;
        }
    qsort(all, (size_t)n_spans, sizeof *all, by_low);
    return n_spans;
}

/* Step by step: as long as those that live now are apart, one that begins overlaps one of them only
 * if it overlaps the next below or above it. *most gets what is live together at most. */
static bool check_steps(int n, const span all[], pl_arena *tmp, int64_t *most, pl_err *err)
{
    event *at = PL_NEW_N(tmp, event, 2 * (size_t)n);
    ranks now = make_ranks(n, tmp);
    int64_t live = 0;
    for (int i = 0; i < n; i++) {
        at[2 * i] = (event){ all[i].from, 1, i };
        at[2 * i + 1] = (event){ all[i].to, 0, i };
    }
    qsort(at, 2 * (size_t)n, sizeof *at, by_step);
    for (int i = 0; i < 2 * n; i++) {
        const span *x = &all[at[i].rank];
        live += at[i].is_begin ? x->live : -x->live;
        if (live > *most) *most = live;
        if (!at[i].is_begin) {
            remove_rank(&now, at[i].rank);
            continue;
        }
        int below = find_near(&now, at[i].rank, true), above = find_near(&now, at[i].rank, false);
        if (below >= 0 && all[below].high > x->low) return fail_pair(&all[below], x, err);
        if (above >= 0 && all[above].low < x->high) return fail_pair(x, &all[above], err);
        add_rank(&now, at[i].rank);
    }
    return true;
}

/* Of all buffers, gaps apart. */
static bool check_all(int n, const pl_buf buf[], int64_t align, const pl_offsets *layout,
                      pl_arena *tmp, int64_t *most, pl_err *err)
{
    size_t room = (size_t)n;
    for (int i = 0; i < n; i++) room += 2 * (size_t)count_gaps(&buf[i]);
    span *all = PL_NEW_N(tmp, span, room);
    int n_spans = list_spans(n, buf, align, layout, all);
    *most = 0;
    return check_steps(n_spans, all, tmp, most, err);
}

bool pl_offsets_check(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                      const pl_offsets *layout, pl_err *err)
{
    int64_t live;
    if (layout->height > capacity)
        return pl_err_set(err, PL_EMISMATCH, "layout: the height %lld is above the capacity %lld",
                          (long long)layout->height, (long long)capacity);
    for (int i = 0; i < n; i++) PL_TRY(check_one(i, &buf[i], align, layout, err));
    pl_arena *tmp = pl_arena_new("layout check");
    bool ok = check_all(n, buf, align, layout, tmp, &live, err);
    pl_arena_free(tmp);
    if (ok && (layout->bound < live || layout->bound > layout->height))
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: the bound is said to be %lld, but %lld bytes are live at a "
                          "time, and the height is %lld",
                          (long long)layout->bound, (long long)live, (long long)layout->height);
    if (ok && layout->optimal != (layout->bound == layout->height))
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: the height %lld and the bound %lld are said to be %s",
                          (long long)layout->height, (long long)layout->bound,
                          layout->optimal ? "equal" : "different");
    return ok;
}
