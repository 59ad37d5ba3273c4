/* A segment tree over time. Read pl_segtree_find(): the nodes that cover an item's life each
 * give a cursor over what they have taken (add_cursors), and find_free() raises an offset until
 * all agree. */
#include "arena/segtree.h"

#include "arena/taken.h"

#include <string.h>

/* What lies in a leaf for a part of its interval only. */
typedef struct partial {
    int32_t from, to;
    int64_t low, high;
} partial;

typedef struct leaf {
    pl_taken whole; /* by those that live throughout the interval */
    struct {
        int n, cap;
        partial *at; /* by rising low */
    } some;
} leaf;

/* One set of spans that a search walks, for an item whose box is [below, above) of it: offsets
 * strictly between low - above and high - below are taken. */
typedef struct cursor {
    pl_taken_walk walk;
    int64_t below, above;
} cursor;

struct pl_segtree {
    const pl_boxes *boxes;
    pl_arena *arena;
    int n, width;  /* leaves, a power of two; ranks of times in each           */
    leaf *leaf;    /* [n]                                                    */
    pl_taken *any; /* [2n] by any that meet a node: a heap, leaves last   */
    struct {
        int n, cap;
        cursor *at;
    } cursors; /* of one search                                          */
    struct {
        int n, cap;
        pl_taken *at;
    } met; /* of one search: the partial ones that the item meets    */
};

enum { LEAVES = 128 };

pl_segtree *pl_segtree_new(const pl_boxes *boxes, pl_arena *arena)
{
    pl_segtree *tree = PL_NEW(arena, pl_segtree);
    tree->boxes = boxes;
    tree->arena = arena;
    tree->n = LEAVES;
    tree->width = boxes->n_times / LEAVES + 1;
    tree->leaf = PL_NEW_N(arena, leaf, tree->n);
    tree->any = PL_NEW_N(arena, pl_taken, 2 * tree->n);
    return tree;
}

/* -- search ------------------------------------------------------------------------------------ */

static void add_cursor(pl_segtree *tree, const pl_taken *t, const pl_box *want)
{
    cursor c = { { t, 0, 0 }, want->low, want->high };
    if (!t->n) return;
    PL_PUSH(tree->arena, &tree->cursors, c);
    for (int i = tree->cursors.n - 1; i && tree->cursors.at[i - 1].walk.taken->n > t->n; i--) {
        tree->cursors.at[i] = tree->cursors.at[i - 1];
        tree->cursors.at[i - 1] = c;
    }
}

/* Of what lies in a leaf in part, that which meets the box. */
static void add_met(pl_segtree *tree, const leaf *x, const pl_box *want, pl_taken *met)
{
    pl_taken_clear(met);
    for (int i = 0; i < x->some.n; i++) {
        const partial *q = &x->some.at[i];
        if (q->from < want->to && q->to > want->from)
            pl_taken_append(met, q->low, q->high, tree->arena);
    }
    add_cursor(tree, met, want);
}

/* Bays [from, to) as few nodes of the tree. */
static void add_any(pl_segtree *tree, const pl_box *want, int from, int to)
{
    for (from += tree->n, to += tree->n; from < to; from /= 2, to /= 2) {
        if (from % 2) add_cursor(tree, &tree->any[from++], want);
        if (to % 2) add_cursor(tree, &tree->any[--to], want);
    }
}

/* The intervals that it meets throughout as few nodes, the two at its ends one by one. */
static void add_cursors(pl_segtree *tree, const pl_boxed *item)
{
    tree->cursors.n = 0;
    while (tree->met.n < 2 * item->n_boxes) PL_PUSH(tree->arena, &tree->met, (pl_taken){ 0 });
    for (int k = 0; k < item->n_boxes; k++) {
        const pl_box *want = &tree->boxes->box[item->first + k];
        int first = want->from / tree->width, last = (want->to - 1) / tree->width;
        bool cuts_first = want->from > first * tree->width;
        bool cuts_last = want->to < (last + 1) * tree->width && (last > first || !cuts_first);
        add_any(tree, want, first + cuts_first, last + 1 - cuts_last);
        if (cuts_first) {
            add_cursor(tree, &tree->leaf[first].whole, want);
            add_met(tree, &tree->leaf[first], want, &tree->met.at[2 * k]);
        }
        if (cuts_last) {
            add_cursor(tree, &tree->leaf[last].whole, want);
            add_met(tree, &tree->leaf[last], want, &tree->met.at[2 * k + 1]);
        }
    }
}

/* The lowest offset from `floor` on that no cursor has taken; *top: the next that one has, or
 * INT64_MAX. */
static int64_t find_free(pl_segtree *tree, int64_t floor, int64_t *top)
{
    const int n = tree->cursors.n;
    *top = INT64_MAX;
    for (int i = 0; i < n; i++) {
        cursor *c = &tree->cursors.at[i];
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

int64_t pl_segtree_find(pl_segtree *tree, const pl_boxed *item, bool low)
{
    int64_t floor = 0, best = -1, best_room = INT64_MAX, top;
    add_cursors(tree, item);
    for (;;) {
        floor = find_free(tree, floor, &top);
        if (top == INT64_MAX) break;
        int64_t at = pl_boxes_round(floor, item->align);
        if (at <= top && top - floor < best_room) {
            best = at;
            best_room = top - floor;
            if (low || !best_room) break;
        }
        floor = top + 1;
    }
    return best >= 0 ? best : pl_boxes_round(floor, item->align);
}

bool pl_segtree_fits(pl_segtree *tree, const pl_boxed *item, int64_t at)
{
    int64_t top;
    add_cursors(tree, item);
    return find_free(tree, at, &top) == at;
}

/* -- adding ------------------------------------------------------------------------------------ */

static void add_partial(pl_segtree *tree, leaf *x, partial new)
{
    PL_PUSH(tree->arena, &x->some, new);
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

static void add_box(pl_segtree *tree, const pl_box *x, int64_t low, int64_t high)
{
    int first = x->from / tree->width, last = (x->to - 1) / tree->width;
    for (int i = first; i <= last; i++) {
        if (x->from <= i * tree->width && x->to >= (i + 1) * tree->width)
            pl_taken_add(&tree->leaf[i].whole, low, high, tree->arena);
        else
            add_partial(tree, &tree->leaf[i], (partial){ x->from, x->to, low, high });
    }
    for (int from = tree->n + first, to = tree->n + last; from; from /= 2, to /= 2)
        for (int i = from; i <= to; i++) pl_taken_add(&tree->any[i], low, high, tree->arena);
}

void pl_segtree_add(pl_segtree *tree, const pl_boxed *item, int64_t at)
{
    for (int k = 0; k < item->n_boxes; k++) {
        const pl_box *q = &tree->boxes->box[item->first + k];
        add_box(tree, q, at + q->low, at + q->high);
    }
}
