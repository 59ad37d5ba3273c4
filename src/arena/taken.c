#include "arena/taken.h"

#include <string.h>

/* The last crate from `from` on that begins at or below low, or `from`. */
static int find_crate(const pl_taken *t, int from, int64_t low)
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
static int find_span(const pl_crate *c, int from, int64_t low)
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

/* Writes the label of a crate that has changed. */
static void label(pl_taken *t, int i)
{
    const pl_crate *c = t->at[i].crate;
    int64_t room = 0;
    for (int k = 1; k < c->n; k++) {
        int64_t gap = c->at[k].low - c->at[k - 1].high;
        room = gap > room ? gap : room;
    }
    t->at[i].low = c->at[0].low;
    t->at[i].room = room;
}

static pl_crate *insert_crate(pl_taken *t, int i, pl_arena *a)
{
    PL_ASSERT_CMP(t->n_spare, ==, 0);
    pl_crate_label new = { .crate = PL_NEW(a, pl_crate) };
    PL_PUSH(a, t, new);
    memmove(t->at + i + 1, t->at + i, (size_t)(t->n - 1 - i) * sizeof *t->at);
    t->at[i] = new;
    return new.crate;
}

/* The new one comes before span `at` of crate i. */
static void insert_span(pl_taken *t, int i, int at, pl_span new, pl_arena *a)
{
    pl_crate *c = t->at[i].crate;
    if (c->n == PL_TAKEN_CRATE) {
        const int keep = PL_TAKEN_CRATE / 2;
        pl_crate *rest = insert_crate(t, i + 1, a);
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

/* Takes away all after span `at` of crate i that begin at or below *high, which rises to where they
 * end. */
static void absorb(pl_taken *t, int i, int at, int64_t *high)
{
    for (;;) {
        pl_crate *c = t->at[i].crate;
        int end = at + 1;
        while (end < c->n && c->at[end].low <= *high) {
            if (c->at[end].high > *high) *high = c->at[end].high;
            end++;
        }
        memmove(c->at + at + 1, c->at + end, (size_t)(c->n - end) * sizeof *c->at);
        c->n -= end - at - 1;
        if (at + 1 < c->n || i + 1 == t->n || t->at[i + 1].low > *high) return;
        pl_crate *next = t->at[i + 1].crate; /* its first goes, and itself with its last */
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

void pl_taken_add(pl_taken *t, int64_t low, int64_t high, pl_arena *a)
{
    if (!t->n) insert_crate(t, 0, a);
    int i = find_crate(t, 0, low), at = find_span(t->at[i].crate, 0, low);
    if (at == t->at[i].crate->n && i + 1 < t->n) i++, at = 0; /* at the border it joins either */
    pl_crate *c = t->at[i].crate;
    if (at == c->n || c->at[at].low > high) {
        insert_span(t, i, at, (pl_span){ low, high }, a);
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

void pl_taken_append(pl_taken *t, int64_t low, int64_t high, pl_arena *a)
{
    pl_crate_label *last = t->n ? &t->at[t->n - 1] : NULL;
    pl_crate *c = last ? last->crate : NULL;
    if (c && low <= c->at[c->n - 1].high) {
        if (high > c->at[c->n - 1].high) c->at[c->n - 1].high = high;
        return;
    }
    if (!c || c->n == PL_TAKEN_CRATE) {
        if (t->n_spare) {
            t->n_spare--;
            t->n++;
        } else {
            pl_crate_label new = { .crate = PL_NEW(a, pl_crate) };
            PL_PUSH(a, t, new);
        }
        last = &t->at[t->n - 1];
        c = last->crate;
        c->n = 0;
        last->low = low;
        last->room = 0;
    }
    if (c->n && low - c->at[c->n - 1].high > last->room) last->room = low - c->at[c->n - 1].high;
    c->at[c->n++] = (pl_span){ low, high };
}

/* The first span that ends above `floor`; NULL: none. */
static const pl_span *seek(pl_taken_walk *w, int64_t floor)
{
    const pl_taken *t = w->taken;
    if (w->crate >= t->n) return NULL;
    const pl_crate *c = t->at[w->crate].crate;
    for (int k = 0; k < 4 && w->at < c->n; k++, w->at++) /* most steps are short */
        if (c->at[w->at].high > floor) return &c->at[w->at];
    int i = find_crate(t, w->crate, floor);
    if (i > w->crate) w->crate = i, w->at = 0;
    c = t->at[i].crate;
    w->at = find_span(c, w->at, floor + 1);
    if (w->at < c->n) return &c->at[w->at];
    w->crate++;
    w->at = 0;
    return w->crate < t->n ? &t->at[w->crate].crate->at[0] : NULL;
}

/* From this span on: the last that is not followed by a gap of so many bytes. */
static const pl_span *skip(pl_taken_walk *w, int64_t bytes)
{
    const pl_taken *t = w->taken;
    for (;;) {
        const pl_crate *c = t->at[w->crate].crate;
        if (t->at[w->crate].room < bytes) w->at = c->n - 1;
        for (; w->at + 1 < c->n; w->at++)
            if (c->at[w->at + 1].low - c->at[w->at].high >= bytes) return &c->at[w->at];
        const pl_span *last = &c->at[w->at];
        if (w->crate + 1 == t->n || t->at[w->crate + 1].low - last->high >= bytes) return last;
        w->crate++;
        w->at = 0;
    }
}

int64_t pl_taken_rise(pl_taken_walk *w, int64_t floor, int64_t bytes, int64_t *top)
{
    const pl_span *s = seek(w, floor);
    if (s && s->low - floor < bytes) {
        floor = skip(w, bytes)->high;
        s = seek(w, floor);
    }
    *top = s ? s->low : INT64_MAX;
    return floor;
}
