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

static void check_input(const pl_buf *b, int64_t align)
{
    PL_ASSERT_CMP(b->bytes, >=, 0);
    PL_ASSERT_CMP(b->birth, <, b->death);
    if (!b->wish) return;
    PL_ASSERT_CMP(b->wish->align, >=, 0);
    if (b->wish->is_fixed) {
        PL_ASSERT_CMP(b->wish->fixed, >=, 0);
        PL_ASSERT_CMP(b->wish->fixed % align, ==, 0);
        PL_ASSERT(!b->wish->align || b->wish->fixed % b->wish->align == 0);
    }
    int64_t end = b->birth;
    for (int g = 0; g < b->wish->n_gaps; g++) {
        const pl_gap *gap = &b->wish->gap[g];
        PL_ASSERT(end <= gap->from && gap->from < gap->to && gap->to <= b->death);
        PL_ASSERT(0 <= gap->low && gap->low <= gap->high && gap->high <= b->bytes);
        end = gap->to;
    }
}

/* Adds to *total what the offset of this one can need at most: its bytes, and what alignment
 * skips. */
static bool make_item(const pl_buf *b, int64_t align, int64_t *total, pl_boxed *x)
{
    int64_t up, own = b->wish && b->wish->align ? b->wish->align : 1;
    if (__builtin_add_overflow(b->bytes, align - 1, &up)) return false;
    up &= ~(align - 1);
    *x = (pl_boxed){ .bytes = up, .birth = b->birth, .death = b->death, .fixed = -1, .hint = -1 };
    if (__builtin_mul_overflow(align / find_divisor(align, own), own, &x->align)) return false;
    if (b->wish && b->wish->is_fixed) {
        x->fixed = b->wish->fixed;
        if (__builtin_add_overflow(*total, x->fixed, total)) return false;
    }
    if (b->wish && b->wish->is_hinted && b->wish->hint >= 0) x->hint = b->wish->hint;
    if (x->align > align && __builtin_add_overflow(*total, x->align, total)) return false;
    return !__builtin_add_overflow(*total, up, total);
}

static int32_t find_rank(const pl_boxes *p, const int64_t time[], int64_t at)
{
    int from = 0, to = p->n_times;
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
static void add_box(pl_boxes *p, pl_boxed *x, pl_box new)
{
    if (new.from >= new.to || new.low >= new.high) return;
    pl_box *last = x->n_boxes ? &p->box[p->n_boxes - 1] : NULL;
    if (last && last->to == new.from && last->low == new.low && last->high == new.high) {
        last->to = new.to;
        return;
    }
    if (new.low > 0 || new.high < x->bytes) p->has_windows = true;
    p->box[p->n_boxes++] = new;
    x->n_boxes++;
}

static void cut(pl_boxes *p, const int64_t time[], const pl_buf *b, int64_t align, pl_boxed *x)
{
    int n = b->wish ? b->wish->n_gaps : 0;
    x->first = p->n_boxes;
    x->from = find_rank(p, time, b->birth);
    x->to = find_rank(p, time, b->death);
    int32_t at = x->from;
    for (int g = 0; g < n; g++) {
        const pl_gap *gap = &b->wish->gap[g];
        int32_t from = find_rank(p, time, gap->from), to = find_rank(p, time, gap->to);
        add_box(p, x, (pl_box){ at, from, 0, x->bytes });
        if (gap->low < gap->high)
            add_box(p, x,
                    (pl_box){ from, to, gap->low & ~(align - 1),
                              (gap->high + align - 1) & ~(align - 1) });
        at = to;
    }
    add_box(p, x, (pl_box){ at, x->to, 0, x->bytes });
}

static void find_bound(pl_boxes *p, const int64_t time[], pl_arena *tmp)
{
    change *c = PL_NEW_N(tmp, change, 2 * (size_t)p->n_boxes);
    for (int i = 0; i < p->n_boxes; i++) {
        const pl_box *x = &p->box[i];
        c[2 * i] = (change){ x->high - x->low, x->from };
        c[2 * i + 1] = (change){ x->low - x->high, x->to };
    }
    qsort(c, 2 * (size_t)p->n_boxes, sizeof *c, by_rank);
    int64_t live = 0;
    p->step = p->n_times ? time[0] : 0;
    for (int i = 0; i < 2 * p->n_boxes; i++) {
        live += c[i].bytes;
        if (live > p->live) p->live = live, p->step = time[c[i].rank];
    }
    p->bound = p->live;
    for (int i = 0; i < p->n; i++) {
        const pl_boxed *x = &p->item[i];
        int64_t top = x->bytes + (x->fixed > 0 ? x->fixed : 0);
        if (top > p->bound) p->bound = top;
    }
}

bool pl_boxes_make(int n, const pl_buf buf[], int64_t align, pl_arena *a, pl_boxes *p)
{
    *p = (pl_boxes){ .n = n, .item = PL_NEW_N(a, pl_boxed, n) };
    int64_t total = 0;
    size_t most = (size_t)n;
    for (int i = 0; i < n; i++) {
        check_input(&buf[i], align);
        if (!make_item(&buf[i], align, &total, &p->item[i])) return false;
        if (buf[i].wish) most += 2 * (size_t)buf[i].wish->n_gaps;
    }
    p->box = PL_NEW_N(a, pl_box, most);
    pl_arena *tmp = pl_arena_new("times of a layout");
    int64_t *time = rank_times(n, buf, tmp, &p->n_times);
    for (int i = 0; i < n; i++) {
        pl_boxed *x = &p->item[i];
        cut(p, time, &buf[i], align, x);
        p->unit = find_divisor(p->unit, x->bytes);
        if (x->bytes && x->align > align) p->unit = find_divisor(p->unit, x->align);
        if (x->bytes && x->fixed > 0) p->unit = find_divisor(p->unit, x->fixed);
    }
    if (!p->unit) p->unit = align;
    find_bound(p, time, tmp);
    pl_arena_free(tmp);
    return true;
}
