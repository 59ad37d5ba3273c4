#include "arena/bays.h"

#include "arena/taken.h"

#include <string.h>

/* What lies in a bay for a part of its time only. */
typedef struct partial {
    int32_t from, to;
    int64_t low, high;
} partial;

typedef struct bay {
    pl_taken whole; /* by those that live throughout the bay */
    struct {
        int n, cap;
        partial *at; /* by rising low */
    } some;
} bay;

/* One set of spans that a search walks, for an item whose box is [below, above) of it: offsets
 * strictly between low - above and high - below are taken. */
typedef struct cursor {
    pl_taken_walk walk;
    int64_t below, above;
} cursor;

struct pl_bays {
    const pl_boxes *p;
    pl_arena *arena;
    int n, width;  /* bays, a power of two; ranks of times in each           */
    bay *bay;      /* [n]                                                    */
    pl_taken *any; /* [2n] by any that meet bays: a heap, its leaves last    */
    struct {
        int n, cap;
        cursor *at;
    } cursors; /* of one search                                          */
    struct {
        int n, cap;
        pl_taken *at;
    } met; /* of one search: the partial ones that the item meets    */
};

enum { BAYS = 128 };

pl_bays *pl_bays_new(const pl_boxes *p, pl_arena *a)
{
    pl_bays *b = PL_NEW(a, pl_bays);
    b->p = p;
    b->arena = a;
    b->n = BAYS;
    b->width = p->n_times / BAYS + 1;
    b->bay = PL_NEW_N(a, bay, b->n);
    b->any = PL_NEW_N(a, pl_taken, 2 * b->n);
    return b;
}

/* -- search ------------------------------------------------------------------------------------ */

static void add_cursor(pl_bays *b, const pl_taken *t, const pl_box *want)
{
    cursor c = { { t, 0, 0 }, want->low, want->high };
    if (!t->n) return;
    PL_PUSH(b->arena, &b->cursors, c);
    for (int i = b->cursors.n - 1; i && b->cursors.at[i - 1].walk.taken->n > t->n; i--) {
        b->cursors.at[i] = b->cursors.at[i - 1];
        b->cursors.at[i - 1] = c;
    }
}

/* Of what lies in a bay in part, that which meets the box. */
static void add_met(pl_bays *b, const bay *x, const pl_box *want, pl_taken *met)
{
    pl_taken_clear(met);
    for (int i = 0; i < x->some.n; i++) {
        const partial *q = &x->some.at[i];
        if (q->from < want->to && q->to > want->from)
            pl_taken_append(met, q->low, q->high, b->arena);
    }
    add_cursor(b, met, want);
}

/* Bays [from, to) as few nodes of the tree. */
static void add_any(pl_bays *b, const pl_box *want, int from, int to)
{
    for (from += b->n, to += b->n; from < to; from /= 2, to /= 2) {
        if (from % 2) add_cursor(b, &b->any[from++], want);
        if (to % 2) add_cursor(b, &b->any[--to], want);
    }
}

/* The bays that it meets throughout as nodes of the tree, the two at its ends one by one. */
static void add_cursors(pl_bays *b, const pl_boxed *x)
{
    b->cursors.n = 0;
    while (b->met.n < 2 * x->n_boxes) PL_PUSH(b->arena, &b->met, (pl_taken){ 0 });
    for (int k = 0; k < x->n_boxes; k++) {
        const pl_box *want = &b->p->box[x->first + k];
        int first = want->from / b->width, last = (want->to - 1) / b->width;
        bool cuts_first = want->from > first * b->width;
        bool cuts_last = want->to < (last + 1) * b->width && (last > first || !cuts_first);
        add_any(b, want, first + cuts_first, last + 1 - cuts_last);
        if (cuts_first) {
            add_cursor(b, &b->bay[first].whole, want);
            add_met(b, &b->bay[first], want, &b->met.at[2 * k]);
        }
        if (cuts_last) {
            add_cursor(b, &b->bay[last].whole, want);
            add_met(b, &b->bay[last], want, &b->met.at[2 * k + 1]);
        }
    }
}

/* The lowest offset from `floor` on that no cursor has taken; *top: the next that one has, or
 * INT64_MAX. */
static int64_t find_free(pl_bays *b, int64_t floor, int64_t *top)
{
    const int n = b->cursors.n;
    *top = INT64_MAX;
    for (int i = 0; i < n; i++) {
        cursor *c = &b->cursors.at[i];
        int64_t up, at = pl_taken_rise(&c->walk, floor + c->below, c->above - c->below, &up);
        if (at - c->below > floor) { /* the others must agree to that */
            floor = at - c->below;
            *top = INT64_MAX;
            i = -1;
        } else if (up < INT64_MAX && up - c->above < *top) {
            *top = up - c->above;
        }
    }
    return floor;
}

int64_t pl_bays_find(pl_bays *b, const pl_boxed *x, bool low)
{
    int64_t floor = 0, best = -1, best_room = INT64_MAX, top;
    add_cursors(b, x);
    for (;;) {
        floor = find_free(b, floor, &top);
        if (top == INT64_MAX) break;
        int64_t at = pl_boxes_round(floor, x->align);
        if (at <= top && top - floor < best_room) {
            best = at;
            best_room = top - floor;
            if (low || !best_room) break;
        }
        floor = top + 1;
    }
    return best >= 0 ? best : pl_boxes_round(floor, x->align);
}

bool pl_bays_fits(pl_bays *b, const pl_boxed *x, int64_t at)
{
    int64_t top;
    add_cursors(b, x);
    return find_free(b, at, &top) == at;
}

/* -- adding ------------------------------------------------------------------------------------ */

static void add_partial(pl_bays *b, bay *x, partial new)
{
    PL_PUSH(b->arena, &x->some, new);
    int from = 0, to = x->some.n - 1;
    while (from < to) {
        int mid = from + (to - from) / 2;
        if (x->some.at[mid].low <= new.low)
            from = mid + 1;
        else
            to = mid;
    }
    memmove(x->some.at + from + 1, x->some.at + from,
            (size_t)(x->some.n - 1 - from) * sizeof *x->some.at);
    x->some.at[from] = new;
}

static void add_box(pl_bays *b, const pl_box *x, int64_t low, int64_t high)
{
    int first = x->from / b->width, last = (x->to - 1) / b->width;
    for (int i = first; i <= last; i++) {
        if (x->from <= i * b->width && x->to >= (i + 1) * b->width)
            pl_taken_add(&b->bay[i].whole, low, high, b->arena);
        else
            add_partial(b, &b->bay[i], (partial){ x->from, x->to, low, high });
    }
    for (int from = b->n + first, to = b->n + last; from; from /= 2, to /= 2)
        for (int i = from; i <= to; i++) pl_taken_add(&b->any[i], low, high, b->arena);
}

void pl_bays_add(pl_bays *b, const pl_boxed *x, int64_t at)
{
    for (int k = 0; k < x->n_boxes; k++) {
        const pl_box *q = &b->p->box[x->first + k];
        add_box(b, q, at + q->low, at + q->high);
    }
}
