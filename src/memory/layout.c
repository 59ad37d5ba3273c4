#include "memory/layout.h"

#include <stdlib.h>
#include <string.h>

/* A buffer that has its place. The placed ones are kept sorted by `low`, so that one pass over them
 * meets the gaps of any life span from the bottom up. */
typedef struct box {
    int64_t low, high; /* bytes [low, high) of the block */
    int32_t birth, death;
} box;

typedef struct item {
    int64_t bytes; /* rounded up to the alignment */
    int32_t birth, death;
    int index; /* in the caller's array */
} item;

typedef struct event {
    int64_t bytes; /* at a birth > 0, at a death < 0 */
    int32_t step;
} event;

/* The step where most is live, and how much. */
typedef struct peak {
    int32_t step;
    int64_t bytes;
} peak;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Large first; equals in order of birth, then of the caller, so that the result is reproducible. */
static int by_size(const void *left, const void *right)
{
    const item *a = left, *b = right;
    int order = compare(b->bytes, a->bytes);
    if (!order) order = compare(a->birth, b->birth);
    return order ? order : compare(a->index, b->index);
}

/* Within a step deaths come first: a life ends before the step of its death. */
static int by_step(const void *left, const void *right)
{
    const event *a = left, *b = right;
    int order = compare(a->step, b->step);
    return order ? order : compare(a->bytes, b->bytes);
}

static peak find_peak(int n, const item items[], pl_arena *tmp)
{
    event *e = PL_NEW_N(tmp, event, 2 * (size_t)n);
    for (int i = 0; i < n; i++) {
        e[2 * i] = (event){ items[i].bytes, items[i].birth };
        e[2 * i + 1] = (event){ -items[i].bytes, items[i].death };
    }
    qsort(e, 2 * (size_t)n, sizeof *e, by_step);
    peak top = { n ? e[0].step : 0, 0 };
    int64_t live = 0;
    for (size_t i = 0; i < 2 * (size_t)n; i++) {
        live += e[i].bytes;
        if (live > top.bytes) top = (peak){ e[i].step, live };
    }
    return top;
}

/* The boxes live together with `want`, bottom up. Without a branch: which they are is noise. */
static int find_neighbours(int n, const box placed[], const item *want, int found[])
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        found[count] = i;
        count += (placed[i].birth < want->death) & (placed[i].death > want->birth);
    }
    return count;
}

/* Bottom of the tightest gap that holds `want`, or the top of all its neighbours in time. */
static int64_t find_gap(int n, const box placed[], const int neighbour[], const item *want)
{
    int64_t floor = 0, best = -1, best_room = INT64_MAX;
    for (int i = 0; i < n; i++) {
        const box *b = &placed[neighbour[i]];
        int64_t room = b->low - floor;
        if (room >= want->bytes && room < best_room) {
            best = floor;
            best_room = room;
        }
        if (b->high > floor) floor = b->high;
    }
    return best >= 0 ? best : floor;
}

static int find_slot(int n, const box placed[], int64_t low)
{
    int from = 0, to = n; /* the first box above `low` is in [from, to] */
    while (from < to) {
        int mid = from + (to - from) / 2;
        if (placed[mid].low > low)
            to = mid;
        else
            from = mid + 1;
    }
    return from;
}

/* One pass over the boxes for each buffer: n^2 / 2 comparisons of adjacent memory, about half a
 * second at 20,000 buffers. A tree over time would still have to sort the neighbours it finds by
 * offset, which is slower when most are live together, as weights and their states are. */
static int64_t place_all(int n, const item items[], pl_arena *tmp, int64_t offset[])
{
    box *placed = PL_NEW_N(tmp, box, n);
    int *neighbour = PL_NEW_N(tmp, int, n);
    int64_t height = 0;
    for (int i = 0; i < n && items[i].bytes > 0; i++) { /* the empty ones, all last, stay at 0 */
        int live = find_neighbours(i, placed, &items[i], neighbour);
        int64_t low = find_gap(live, placed, neighbour, &items[i]), high = low + items[i].bytes;
        int at = find_slot(i, placed, low);
        memmove(placed + at + 1, placed + at, (size_t)(i - at) * sizeof *placed);
        placed[at] = (box){ low, high, items[i].birth, items[i].death };
        offset[items[i].index] = low;
        if (high > height) height = high;
    }
    return height;
}

/* Rounds the sizes up. False when their sum does not fit 63 bits: below it no height overflows. */
static bool round_sizes(int n, const pl_buf buf[], int64_t align, item items[])
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        PL_ASSERT_CMP(buf[i].bytes, >=, 0);
        PL_ASSERT_CMP(buf[i].birth, <, buf[i].death);
        int64_t up;
        if (__builtin_add_overflow(buf[i].bytes, align - 1, &up)) return false;
        up &= ~(align - 1);
        if (__builtin_add_overflow(total, up, &total)) return false;
        items[i] = (item){ up, buf[i].birth, buf[i].death, i };
    }
    return true;
}

static bool fail_infeasible(peak top, int64_t height, int64_t capacity, pl_err *err)
{
    long long live = top.bytes, high = height, room = capacity;
    if (top.bytes > capacity)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "no layout fits: %lld bytes are live at step %d, the capacity is %lld "
                          "(height found %lld); %lld bytes less there, or as many more of memory, "
                          "would be needed",
                          live, (int)top.step, room, high, live - room);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "no layout found that fits: height %lld, capacity %lld; at most %lld bytes "
                      "are live at a time (step %d), so a lower layout may exist; %lld bytes more "
                      "of memory would do",
                      high, room, live, (int)top.step, high - room);
}

static bool place(int n, const pl_buf buf[], int64_t align, int64_t capacity, pl_arena *tmp,
                  pl_arena *out, pl_layout *layout, pl_err *err)
{
    item *items = PL_NEW_N(tmp, item, n);
    if (!round_sizes(n, buf, align, items))
        return pl_err_set(err, PL_EINFEASIBLE,
                          "no layout fits: the sizes of the %d buffers, in multiples of %lld, add "
                          "up to more than 2^63 bytes; the capacity is %lld bytes",
                          n, (long long)align, (long long)capacity);
    peak top = find_peak(n, items, tmp);
    qsort(items, (size_t)n, sizeof *items, by_size);
    int64_t *offset = PL_NEW_N(out, int64_t, n);
    int64_t height = place_all(n, items, tmp, offset);
    if (height > capacity) return fail_infeasible(top, height, capacity, err);
    *layout = (pl_layout){ height, top.bytes, offset };
    return true;
}

bool pl_layout_place(int n, const pl_buf buf[], int64_t align, int64_t capacity, pl_arena *out,
                     pl_layout *layout, pl_err *err)
{
    PL_ASSERT_CMP(n, >=, 0);
    PL_ASSERT(align > 0 && (align & (align - 1)) == 0);
    pl_arena *tmp = pl_arena_new("layout scratch");
    bool ok = place(n, buf, align, capacity, tmp, out, layout, err);
    pl_arena_free(tmp);
    return ok;
}

/* The check, from the definition: it uses nothing of the above. */

static bool check_one(int i, const pl_buf *b, int64_t align, const pl_layout *l, pl_err *err)
{
    int64_t low = l->offset[i], top;
    if (low < 0)
        return pl_err_set(err, PL_EMISMATCH, "layout: buffer %d is at byte %lld, below 0", i,
                          (long long)low);
    if (low % align)
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: buffer %d is at byte %lld, not a multiple of %lld", i,
                          (long long)low, (long long)align);
    if (__builtin_add_overflow(low, b->bytes, &top) || top > l->height)
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: buffer %d at byte %lld with %lld bytes ends above the height "
                          "%lld",
                          i, (long long)low, (long long)b->bytes, (long long)l->height);
    return true;
}

static bool check_pair(int i, int j, const pl_buf buf[], const pl_layout *l, pl_err *err)
{
    const pl_buf *a = &buf[i], *b = &buf[j];
    bool in_time = a->birth < b->death && b->birth < a->death;
    bool in_space = l->offset[i] < l->offset[j] + b->bytes &&
                    l->offset[j] < l->offset[i] + a->bytes && a->bytes && b->bytes;
    if (!in_time || !in_space) return true;
    return pl_err_set(err, PL_EMISMATCH,
                      "layout: buffers %d (bytes %lld..%lld, steps %d..%d) and %d (bytes "
                      "%lld..%lld, steps %d..%d) overlap",
                      i, (long long)l->offset[i], (long long)(l->offset[i] + a->bytes),
                      (int)a->birth, (int)a->death, j, (long long)l->offset[j],
                      (long long)(l->offset[j] + b->bytes), (int)b->birth, (int)b->death);
}

typedef struct begins {
    int32_t birth;
    int index;
} begins;

static int by_birth(const void *left, const void *right)
{
    const begins *a = left, *b = right;
    if (a->birth != b->birth) return a->birth < b->birth ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* Each buffer with all that are born while it lives; *most gets what is live together, which is
 * most at some birth. */
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
        int64_t bytes = (x->bytes / align + (x->bytes % align != 0)) * align;
        for (int j = i + 1; j < n && at[j].birth < x->death; j++) {
            int a = at[i].index, b = at[j].index;
            PL_TRY(check_pair(a < b ? a : b, a < b ? b : a, buf, l, err));
            live[j] += bytes;
        }
        if (live[i] + bytes > *most) *most = live[i] + bytes;
    }
    return true;
}

bool pl_layout_check(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                     const pl_layout *layout, pl_err *err)
{
    int64_t bound;
    if (layout->height > capacity)
        return pl_err_set(err, PL_EMISMATCH, "layout: the height %lld is above the capacity %lld",
                          (long long)layout->height, (long long)capacity);
    for (int i = 0; i < n; i++) PL_TRY(check_one(i, &buf[i], align, layout, err));
    pl_arena *tmp = pl_arena_new("layout check");
    bool ok = check_pairs(n, buf, align, layout, tmp, &bound, err);
    pl_arena_free(tmp);
    if (ok && layout->bound != bound)
        return pl_err_set(err, PL_EMISMATCH,
                          "layout: the bound is said to be %lld, but at most %lld bytes are live "
                          "at a time",
                          (long long)layout->bound, (long long)bound);
    return ok;
}
