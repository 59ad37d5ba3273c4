/* Buffers to boxes. Read pl_boxes_make(): times become ranks, gaps are cut out (cut), and
 * find_bound() adds up what is live where most is. */
#include "arena/boxes.h"

#include <stdlib.h>

typedef struct change {
    int64_t bytes; /* > 0 where a box begins, < 0 where it ends */
    int32_t rank;
} change;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *left, const void *right)
{
    return compare(*(const int64_t *)left, *(const int64_t *)right);
}

/* Within a step ends come first: a life ends before the step of its death. */
static int by_rank(const void *left, const void *right)
{
    const change *a = left, *b = right;
    int order = compare(a->rank, b->rank);
    return order ? order : compare(a->bytes, b->bytes);
}

static int64_t find_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

static void check_input(const pl_buf *buf, int64_t align)
{
    PL_ASSERT_CMP(buf->bytes, >=, 0);
    PL_ASSERT_CMP(buf->birth, <, buf->death);
    if (!buf->wish) return;
    PL_ASSERT_CMP(buf->wish->align, >=, 0);
    if (buf->wish->is_fixed) {
        PL_ASSERT_CMP(buf->wish->fixed, >=, 0);
        PL_ASSERT_CMP(buf->wish->fixed % align, ==, 0);
        PL_ASSERT(!buf->wish->align || buf->wish->fixed % buf->wish->align == 0);
    }
    int64_t end = buf->birth;
    for (int g = 0; g < buf->wish->n_gaps; g++) {
        const pl_gap *gap = &buf->wish->gap[g];
        PL_ASSERT(end <= gap->from && gap->from < gap->to && gap->to <= buf->death);
        PL_ASSERT(0 <= gap->low && gap->low <= gap->high && gap->high <= buf->bytes);
        end = gap->to;
    }
}

/* Adds to *total what the offset of this one can need at most: its bytes, and what alignment
 * skips. */
static bool make_item(const pl_buf *buf, int64_t align, int64_t *total, pl_boxed *item)
{
    int64_t up, own = buf->wish && buf->wish->align ? buf->wish->align : 1;
    if (__builtin_add_overflow(buf->bytes, align - 1, &up)) return false;
    up &= ~(align - 1);
    *item = (pl_boxed){
        .bytes = up, .birth = buf->birth, .death = buf->death, .fixed = -1, .hint = -1
    };
    if (__builtin_mul_overflow(align / find_divisor(align, own), own, &item->align)) return false;
    if (buf->wish && buf->wish->is_fixed) {
        item->fixed = buf->wish->fixed;
        if (__builtin_add_overflow(*total, item->fixed, total)) return false;
    }
    if (buf->wish && buf->wish->is_hinted && buf->wish->hint >= 0) item->hint = buf->wish->hint;
    if (item->align > align && __builtin_add_overflow(*total, item->align, total)) return false;
    return !__builtin_add_overflow(*total, up, total);
}

static int32_t find_rank(const pl_boxes *boxes, const int64_t time[], int64_t at)
{
    int from = 0, to = boxes->n_times;
    while (from < to) {
        int mid = from + (to - from) / 2;
        if (time[mid] < at)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static int64_t *rank_times(int n, const pl_buf buf[], pl_arena *tmp, int *count)
{
    size_t most = 2 * (size_t)n, k = 0;
    for (int i = 0; i < n; i++)
        if (buf[i].wish) most += 2 * (size_t)buf[i].wish->n_gaps;
    int64_t *time = PL_NEW_N(tmp, int64_t, most);
    for (int i = 0; i < n; i++) {
        time[k++] = buf[i].birth;
        time[k++] = buf[i].death;
        for (int g = 0; buf[i].wish && g < buf[i].wish->n_gaps; g++) {
            time[k++] = buf[i].wish->gap[g].from;
            time[k++] = buf[i].wish->gap[g].to;
        }
    }
    qsort(time, k, sizeof *time, by_time);
    int kept = 0;
    for (size_t i = 0; i < k; i++)
        if (!kept || time[kept - 1] != time[i]) time[kept++] = time[i];
    *count = kept;
    return time;
}

/* Two that touch and take the same bytes are one. */
static void add_box(pl_boxes *boxes, pl_boxed *item, pl_box new)
{
    if (new.from >= new.to || new.low >= new.high) return;
    pl_box *last = item->n_boxes ? &boxes->box[boxes->n_boxes - 1] : NULL;
    if (last && last->to == new.from && last->low == new.low && last->high == new.high) {
        last->to = new.to;
        return;
    }
    if (new.low > 0 || new.high < item->bytes) boxes->has_windows = true;
    boxes->box[boxes->n_boxes++] = new;
    item->n_boxes++;
}

static void cut(pl_boxes *boxes, const int64_t time[], const pl_buf *buf, int64_t align,
                pl_boxed *item)
{
    int n = buf->wish ? buf->wish->n_gaps : 0;
    item->first = boxes->n_boxes;
    item->from = find_rank(boxes, time, buf->birth);
    item->to = find_rank(boxes, time, buf->death);
    int32_t at = item->from;
    for (int g = 0; g < n; g++) {
        const pl_gap *gap = &buf->wish->gap[g];
        int32_t from = find_rank(boxes, time, gap->from), to = find_rank(boxes, time, gap->to);
        add_box(boxes, item, (pl_box){ at, from, 0, item->bytes });
        if (gap->low < gap->high)
            add_box(boxes, item,
                    (pl_box){ from, to, gap->low & ~(align - 1),
                              (gap->high + align - 1) & ~(align - 1) });
        at = to;
    }
    add_box(boxes, item, (pl_box){ at, item->to, 0, item->bytes });
}

static void find_bound(pl_boxes *boxes, const int64_t time[], pl_arena *tmp)
{
    change *c = PL_NEW_N(tmp, change, 2 * (size_t)boxes->n_boxes);
    for (int i = 0; i < boxes->n_boxes; i++) {
        const pl_box *x = &boxes->box[i];
        c[2 * i] = (change){ x->high - x->low, x->from };
        c[2 * i + 1] = (change){ x->low - x->high, x->to };
    }
    qsort(c, 2 * (size_t)boxes->n_boxes, sizeof *c, by_rank);
    int64_t live = 0;
    boxes->step = boxes->n_times ? time[0] : 0;
    for (int i = 0; i < 2 * boxes->n_boxes; i++) {
        live += c[i].bytes;
        if (live > boxes->live) boxes->live = live, boxes->step = time[c[i].rank];
    }
    boxes->bound = boxes->live;
    for (int i = 0; i < boxes->n; i++) {
        const pl_boxed *x = &boxes->item[i];
        int64_t top = x->bytes + (x->fixed > 0 ? x->fixed : 0);
        if (top > boxes->bound) boxes->bound = top;
    }
}

bool pl_boxes_make(int n, const pl_buf buf[], int64_t align, pl_arena *arena, pl_boxes *boxes)
{
    *boxes = (pl_boxes){ .n = n, .item = PL_NEW_N(arena, pl_boxed, n) };
    int64_t total = 0;
    size_t most = (size_t)n;
    for (int i = 0; i < n; i++) {
        check_input(&buf[i], align);
        if (!make_item(&buf[i], align, &total, &boxes->item[i])) return false;
        if (buf[i].wish) most += 2 * (size_t)buf[i].wish->n_gaps;
    }
    boxes->box = PL_NEW_N(arena, pl_box, most);
    pl_arena *tmp = pl_arena_new("times of a layout");
    int64_t *time = rank_times(n, buf, tmp, &boxes->n_times);
    for (int i = 0; i < n; i++) {
        pl_boxed *x = &boxes->item[i];
        cut(boxes, time, &buf[i], align, x);
        boxes->unit = find_divisor(boxes->unit, x->bytes);
        if (x->bytes && x->align > align) boxes->unit = find_divisor(boxes->unit, x->align);
        if (x->bytes && x->fixed > 0) boxes->unit = find_divisor(boxes->unit, x->fixed);
    }
    if (!boxes->unit) boxes->unit = align;
    find_bound(boxes, time, tmp);
    pl_arena_free(tmp);
    return true;
}
