/* The check of layouts, from the definition: it uses nothing of what makes them. */
#include "memory/layout.h"

#include <stdlib.h>

/* Over which of its bytes, from the start of the block, a buffer lies from a step to the next
 * change. */
typedef struct span {
    int64_t from, to, low, high;
} span;

static bool fail_place(int i, int64_t low, const char *what, int64_t than, pl_err *err)
{
    return pl_err_set(err, PL_EMISMATCH, "layout: buffer %d is at byte %lld, %s %lld", i,
                      (long long)low, what, (long long)than);
}

static bool check_one(int i, const pl_buf *b, int64_t align, const pl_layout *l, pl_err *err)
{
    int64_t low = l->offset[i], top;
    if (low < 0) return fail_place(i, low, "below", 0, err);
    if (low % align) return fail_place(i, low, "not a multiple of", align, err);
    if (b->wish && b->wish->align && low % b->wish->align)
        return fail_place(i, low, "not a multiple of", b->wish->align, err);
    if (b->wish && b->wish->is_fixed && low != b->wish->fixed)
        return fail_place(i, low, "but must be at", b->wish->fixed, err);
    if (__builtin_add_overflow(low, b->bytes, &top) || top > l->height)
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: buffer %d at byte %lld with %lld bytes ends above the height "
                          "%lld",
                          i, (long long)low, (long long)b->bytes, (long long)l->height);
    return true;
}

static int count_gaps(const pl_buf *b)
{
    return b->wish ? b->wish->n_gaps : 0;
}

/* Stretch k of a buffer's life: even ones lie between gaps, odd ones are gaps. */
static span find_span(const pl_buf *b, int64_t at, int k)
{
    int n = count_gaps(b);
    const pl_gap *gap = b->wish ? b->wish->gap : NULL;
    if (k % 2)
        return (span){ gap[k / 2].from, gap[k / 2].to, at + gap[k / 2].low, at + gap[k / 2].high };
    return (span){ k ? gap[k / 2 - 1].to : b->birth, k / 2 < n ? gap[k / 2].from : b->death, at,
                   at + b->bytes };
}

static bool meets(span a, span b)
{
    return a.from < a.to && b.from < b.to && a.from < b.to && b.from < a.to && a.low < a.high &&
           b.low < b.high && a.low < b.high && b.low < a.high;
}

static bool check_pair(int i, int j, const pl_buf buf[], const pl_layout *l, pl_err *err)
{
    for (int x = 0; x <= 2 * count_gaps(&buf[i]); x++)
        for (int y = 0; y <= 2 * count_gaps(&buf[j]); y++) {
            span a = find_span(&buf[i], l->offset[i], x), b = find_span(&buf[j], l->offset[j], y);
            if (!meets(a, b)) continue;
            return pl_err_set(err, PL_EMISMATCH,
                              "layout: buffers %d (bytes %lld..%lld, steps %lld..%lld) and %d "
                              "(bytes %lld..%lld, steps %lld..%lld) overlap",
                              i, (long long)a.low, (long long)a.high, (long long)a.from,
                              (long long)a.to, j, (long long)b.low, (long long)b.high,
                              (long long)b.from, (long long)b.to);
        }
    return true;
}

typedef struct begins {
    int64_t birth;
    int index;
} begins;

static int by_birth(const void *left, const void *right)
{
    const begins *a = left, *b = right;
    if (a->birth != b->birth) return a->birth < b->birth ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int64_t round_up(int64_t bytes, int64_t align)
{
    return (bytes / align + (bytes % align != 0)) * align;
}

/* Bytes of a buffer at a step, in multiples of the alignment. */
static int64_t find_live(const pl_buf *b, int64_t align, int64_t step)
{
    if (step < b->birth || step >= b->death) return 0;
    for (int g = 0; g < count_gaps(b); g++) {
        const pl_gap *gap = &b->wish->gap[g];
        if (gap->from > step || step >= gap->to) continue;
        return gap->high > gap->low ? round_up(gap->high, align) - gap->low / align * align : 0;
    }
    return round_up(b->bytes, align);
}

/* Each buffer with all that are born while it lives; *most gets what is live together at some
 * birth. Where no buffer has a gap, nothing is more. */
static bool check_pairs(int n, const pl_buf buf[], int64_t align, const pl_layout *l, pl_arena *tmp,
                        int64_t *most, pl_err *err)
{
    begins *at = PL_NEW_N(tmp, begins, n);
    int64_t *live = PL_NEW_N(tmp, int64_t, n);
    for (int i = 0; i < n; i++) at[i] = (begins){ buf[i].birth, i };
    qsort(at, (size_t)n, sizeof *at, by_birth);
    *most = 0;
    for (int i = 0; i < n; i++) {
        const pl_buf *x = &buf[at[i].index];
        for (int j = i + 1; j < n && at[j].birth < x->death; j++) {
            int a = at[i].index, b = at[j].index;
            PL_TRY(check_pair(a < b ? a : b, a < b ? b : a, buf, l, err));
            live[j] += find_live(x, align, at[j].birth);
        }
        int64_t all = live[i] + find_live(x, align, at[i].birth);
        if (all > *most) *most = all;
    }
    return true;
}

/* What a gap ends may be most, too. */
static int64_t check_gap_ends(int n, const pl_buf buf[], int64_t align, int64_t most)
{
    for (int i = 0; i < n; i++)
        for (int g = 0; g < 2 * count_gaps(&buf[i]); g++) {
            const pl_gap *gap = &buf[i].wish->gap[g / 2];
            int64_t step = g % 2 ? gap->to : gap->from, live = 0;
            for (int k = 0; k < n; k++) live += find_live(&buf[k], align, step);
            if (live > most) most = live;
        }
    return most;
}

bool pl_layout_check(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                     const pl_layout *layout, pl_err *err)
{
    int64_t live;
    if (layout->height > capacity)
        return pl_err_set(err, PL_EMISMATCH, "layout: the height %lld is above the capacity %lld",
                          (long long)layout->height, (long long)capacity);
    for (int i = 0; i < n; i++) PL_TRY(check_one(i, &buf[i], align, layout, err));
    pl_arena *tmp = pl_arena_new("layout check");
    bool ok = check_pairs(n, buf, align, layout, tmp, &live, err);
    if (ok) live = check_gap_ends(n, buf, align, live);
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
