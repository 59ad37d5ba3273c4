/* Greedy layouts. Read make_sort_key() (the keys) and pl_keys_place_order() (best fit or first
 * fit, buffer by buffer). LLFB is another algorithm, on a skyline, at the end. */
#include "arena/keys.h"

#include "arena/placed.h"

#include <stdlib.h>
#include <string.h>

/* Looking at all that is placed is faster than by time up to FLAT buffers, and for any number of
 * them where they live for more than a SHORT-th of all times on average. */
enum { FLAT = 4000, SHORT = 16 };

static const char *const names[] = {
#define NAME(name, text, what) text,
    PL_KEYS(NAME)
#undef NAME
};
static const char *const whats[] = {
#define WHAT(name, text, what) what,
    PL_KEYS(WHAT)
#undef WHAT
};

const char *pl_keys_name(pl_key key)
{
    return names[key];
}

const char *pl_keys_what(pl_key key)
{
    return whats[key];
}

bool pl_keys_find(const char *name, pl_key *key)
{
    for (int i = 0; i < PL_KEYS_COUNT; i++)
        if (!strcmp(name, names[i])) {
            *key = (pl_key)i;
            return true;
        }
    return false;
}

/* Smaller comes first; the last word has the position with the caller. */
typedef struct sort_key {
    double area;
    int64_t first, second;
    int item;
} sort_key;

static int by_sort_key(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (a->area != b->area) return a->area < b->area ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Durations that do not fit 63 bits count as the longest. */
static int64_t find_duration(const pl_boxed *x)
{
    int64_t d;
    return __builtin_sub_overflow(x->death, x->birth, &d) ? INT64_MAX : d;
}

static sort_key make_sort_key(const pl_boxes *boxes, pl_key key, int i)
{
    const pl_boxed *x = &boxes->item[i];
    int64_t size = -x->bytes, time = -find_duration(x);
    bool throughout = x->from == 0 && x->to == boxes->n_times - 1;
    switch (key) {
    case PL_KEY_BEST: return (sort_key){ 0, size, x->birth, i };
    case PL_KEY_SIZE:
    case PL_KEY_SPATIAL: return (sort_key){ 0, size, time, i };
    case PL_KEY_LLFB:
    case PL_KEY_DURATION: return (sort_key){ 0, time, size, i };
    case PL_KEY_AREA: return (sort_key){ -(double)size * (double)time, 0, 0, i };
    case PL_KEY_START: return (sort_key){ 0, x->birth, size, i };
    case PL_KEY_END: return (sort_key){ 0, x->death, size, i };
    case PL_KEY_TFLITE:
    case PL_KEY_MICRO: return (sort_key){ throughout ? 0 : 1, size, x->birth, i };
    case PL_KEY_HINT: return (sort_key){ 0, x->hint < 0 ? INT64_MAX : x->hint, size, i };
    case PL_KEY_BIRTH:
    case PL_KEYS_COUNT: break;
    }
    return (sort_key){ 0, x->birth, 0, i };
}

static sort_key *sort(const pl_boxes *boxes, pl_key key, pl_arena *tmp)
{
    sort_key *t = PL_NEW_N(tmp, sort_key, boxes->n);
    for (int i = 0; i < boxes->n; i++) t[i] = make_sort_key(boxes, key, i);
    qsort(t, (size_t)boxes->n, sizeof *t, by_sort_key);
    return t;
}

static bool has_short_lives(const pl_boxes *p)
{
    int64_t all = 0;
    for (int i = 0; i < p->n_boxes; i++) all += p->box[i].to - p->box[i].from;
    return all < (int64_t)p->n_boxes * p->n_times / SHORT;
}

bool pl_keys_is_low(pl_key key)
{
    return key == PL_KEY_SIZE || key == PL_KEY_MICRO || key == PL_KEY_BIRTH || key == PL_KEY_HINT;
}

void pl_keys_sort(const pl_boxes *boxes, pl_key key, int order[])
{
    pl_arena *tmp = pl_arena_new("greedy order");
    const sort_key *t = sort(boxes, key, tmp);
    for (int i = 0; i < boxes->n; i++) order[i] = t[i].item;
    pl_arena_free(tmp);
}

int64_t pl_keys_place_order(const pl_boxes *boxes, const int order[], bool low, int64_t offset[])
{
    pl_arena *tmp = pl_arena_new("greedy layout");
    pl_placed *placed = pl_placed_new(boxes, boxes->n_boxes > FLAT && has_short_lives(boxes), tmp);
    int64_t height = 0;
    for (int fixed = 1; fixed >= 0; fixed--)
        for (int k = 0; k < boxes->n && height >= 0; k++) {
            const pl_boxed *x = &boxes->item[order[k]];
            if ((x->fixed >= 0) != fixed) continue;
            int64_t at = fixed ? x->fixed : pl_placed_find(placed, x, low);
            if (fixed && !pl_placed_fits(placed, x, at)) {
                height = -1;
                break;
            }
            pl_placed_add(placed, x, at);
            offset[order[k]] = at;
            if (at + x->bytes > height) height = at + x->bytes;
        }
    pl_arena_free(tmp);
    return height;
}

/* -- LLFB: lowest gap, longest life, best fit ---------------------------------------------------*/

typedef struct gap {
    int64_t floor;
    int32_t from, to;
} gap;

typedef struct skyline {
    int n;
    gap *at; /* by time, without holes */
} skyline;

static void join_equal(skyline *s)
{
    int kept = 0;
    for (int i = 0; i < s->n; i++) {
        gap g = s->at[i];
        if (g.from == g.to) continue;
        if (kept && s->at[kept - 1].floor == g.floor)
            s->at[kept - 1].to = g.to;
        else
            s->at[kept++] = g;
    }
    s->n = kept;
}

/* The item lies on gap i, and splits it into up to three. */
static void cover(skyline *s, int i, const pl_boxed *item, int64_t top)
{
    gap g = s->at[i];
    memmove(s->at + i + 3, s->at + i + 1, (size_t)(s->n - i - 1) * sizeof *s->at);
    s->at[i] = (gap){ g.floor, g.from, item->from };
    s->at[i + 1] = (gap){ top, item->from, item->to };
    s->at[i + 2] = (gap){ g.floor, item->to, g.to };
    s->n += 2;
    join_equal(s);
}

static void lift(skyline *s, int i)
{
    int64_t left = i ? s->at[i - 1].floor : INT64_MAX;
    int64_t right = i + 1 < s->n ? s->at[i + 1].floor : INT64_MAX;
    s->at[i].floor = left < right ? left : right;
    join_equal(s);
}

static int64_t place_on_skyline(const pl_boxes *boxes, pl_arena *tmp, int64_t offset[])
{
    sort_key *t = sort(boxes, PL_KEY_LLFB, tmp);
    gap *gaps = PL_NEW_N(tmp, gap, 2 * (size_t)boxes->n_times + 4);
    skyline s = { 1, gaps };
    s.at[0] = (gap){ 0, 0, boxes->n_times };
    int64_t height = 0;
    for (int left = boxes->n; left;) {
        int low = 0, k = 0;
        for (int i = 1; i < s.n; i++)
            if (s.at[i].floor < s.at[low].floor) low = i;
        const gap *g = &s.at[low];
        while (k < left &&
               (boxes->item[t[k].item].from < g->from || boxes->item[t[k].item].to > g->to))
            k++;
        if (k == left) {
            lift(&s, low);
            continue;
        }
        const pl_boxed *x = &boxes->item[t[k].item];
        int64_t at = offset[t[k].item] = x->bytes ? pl_boxes_round(g->floor, x->align) : 0;
        if (at + x->bytes > height) height = at + x->bytes;
        if (x->bytes) cover(&s, low, x, at + x->bytes);
        memmove(t + k, t + k + 1, (size_t)(--left - k) * sizeof *t);
    }
    return height;
}

static int64_t place_by_key(const pl_boxes *p, pl_key key, pl_arena *tmp, int64_t offset[])
{
    int *order = PL_NEW_N(tmp, int, p->n);
    pl_keys_sort(p, key, order);
    return pl_keys_place_order(p, order, pl_keys_is_low(key), offset);
}

int64_t pl_keys_place(const pl_boxes *boxes, pl_key key, int64_t offset[])
{
    pl_arena *tmp = pl_arena_new("greedy layout");
    int64_t height = -1;
    bool fixed = false;
    for (int i = 0; i < boxes->n; i++) fixed |= boxes->item[i].fixed >= 0;
    if (key != PL_KEY_LLFB)
        height = place_by_key(boxes, key, tmp, offset);
    else if (!fixed)
        height = place_on_skyline(boxes, tmp, offset);
    pl_arena_free(tmp);
    return height;
}
