/* Local improvement by exact search: mend_around() tries windows around a step at the peak,
 * mend() searches one window. */
#include "order/repair.h"

#include <string.h>

#include "order/downset.h"

/* Steps of a window, tried in this order, and the sets of tasks that a search in one may keep. */
static const int widths[] = { 10, 20, 40, 80 };
enum { STATES = 3000 };

typedef struct repair {
    const pl_index *x;
    int *order;
    int64_t floor, peak;
    bool dominance;
    int64_t *effort;
    int64_t *live, *gap; /* [n] during each step, before it */
    bool *ran;           /* [n] scratch                     */
} repair;

/* Search the window [lo, hi) for an order with a peak below the present one. */
static bool mend(repair *r, int lo, int hi, pl_arena *tmp)
{
    const pl_index *x = r->x;
    for (int i = 0; i < x->n; i++) r->ran[r->order[i]] = i < lo;
    pl_index *part = pl_index_part(x, hi - lo, r->order + lo, r->ran, r->gap[lo], tmp);
    pl_downset_limits limits = { r->floor, r->peak, STATES, r->dominance };
    int *local = PL_NEW_N(tmp, int, hi - lo), *list = PL_NEW_N(tmp, int, hi - lo);
    for (int k = 0; k < hi - lo; k++) local[k] = k;
    *r->effort -= x->n / 8;
    int64_t bound;
    if (!pl_downset_find(part, &limits, local, &bound, r->effort)) return false;
    memcpy(list, r->order + lo, (size_t)(hi - lo) * sizeof *list);
    for (int k = 0; k < hi - lo; k++) r->order[lo + k] = list[local[k]];
    return true;
}

/* Windows that hold step i: in the middle, at the end, at the start. */
static bool mend_around(repair *r, int i)
{
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int k = 0; k < 3 && *r->effort > 0; k++) {
            int width = widths[w] < r->x->n ? widths[w] : r->x->n;
            int lo = k == 0 ? i - width / 2 : k == 1 ? i - width + 1 : i;
            lo = lo < 0 ? 0 : lo;
            lo = lo + width > r->x->n ? r->x->n - width : lo;
            pl_arena *tmp = pl_arena_new("window");
            bool better = mend(r, lo, lo + width, tmp);
            pl_arena_free(tmp);
            if (better) return true;
        }
    return false;
}

int64_t pl_repair_order(const pl_index *index, int order[], int64_t floor, bool dominance,
                        int64_t *effort)
{
    pl_arena *tmp = pl_arena_new("repair");
    repair r = {
        .x = index, .order = order, .floor = floor, .dominance = dominance, .effort = effort
    };
    r.live = PL_NEW_N(tmp, int64_t, index->n);
    r.gap = PL_NEW_N(tmp, int64_t, index->n);
    r.ran = PL_NEW_N(tmp, bool, index->n);
    for (;;) {
        r.peak = pl_index_live(index, order, r.live, r.gap);
        int i = 0;
        while (i < index->n && r.live[i] < r.peak) i++;
        if (i == index->n || r.peak <= floor || *effort <= 0 || !mend_around(&r, i)) break;
    }
    pl_arena_free(tmp);
    return r.peak;
}
