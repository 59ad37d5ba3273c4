#include "arena/shelf.h"

#include "arena/bays.h"

#include <stdlib.h>
#include <string.h>

/* Boxes are kept sorted by `low`, so that one pass meets the gaps of any life span from the bottom
 * up. They lie in crates of a fixed size: adding one moves little, and times are compared four at a
 * time (vector types of gcc and clang). All n take n^2 / 2 comparisons, one or two per cycle: the
 * best way for some thousands. */
enum { CRATE = 256 };

typedef int32_t four __attribute__((vector_size(16)));

typedef struct crate {
    int32_t from[CRATE], to[CRATE]; /* ranks of times; what is not used meets nothing */
    int64_t low[CRATE], high[CRATE];
    int n;
} crate;

/* The gaps of one search, from the bottom up. */
typedef struct probe {
    int64_t align, floor, best, best_room; /* best: -1 as long as there is none */
} probe;

/* Offsets strictly between low and high are taken. */
typedef struct taken {
    int64_t low, high;
} taken;

struct pl_shelf {
    const pl_boxes *p;
    pl_arena *arena;
    pl_bays *bays; /* or NULL */
    struct {
        int n, cap;
        crate **at;
    } crates;
    struct {
        int n, cap;
        taken *at;
    } taken; /* of one search */
};

static crate *make_crate(pl_shelf *s)
{
    crate *c = PL_NEW(s->arena, crate);
    for (int i = 0; i < CRATE; i++) c->from[i] = INT32_MAX, c->to[i] = INT32_MIN;
    return c;
}

pl_shelf *pl_shelf_new(const pl_boxes *p, bool by_time, pl_arena *a)
{
    pl_shelf *s = PL_NEW(a, pl_shelf);
    s->p = p;
    s->arena = a;
    if (by_time) s->bays = pl_bays_new(p, a);
    PL_PUSH(a, &s->crates, make_crate(s));
    return s;
}

/* Which boxes of a crate are live together with a box: their positions. No branch for each: which
 * they are is noise. */
static int find_hits(const crate *c, const pl_box *want, int hit[])
{
    const four until = { want->to, want->to, want->to, want->to };
    const four since = { want->from, want->from, want->from, want->from };
    int n = 0;
    for (int i = 0; i < c->n; i += 8) {
        four from[2], to[2], meets[2];
        int32_t flag[8];
        uint64_t any[4];
        memcpy(from, c->from + i, sizeof from);
        memcpy(to, c->to + i, sizeof to);
        meets[0] = (from[0] < until) & (to[0] > since);
        meets[1] = (from[1] < until) & (to[1] > since);
        memcpy(any, meets, sizeof any);
        if (!(any[0] | any[1] | any[2] | any[3])) continue;
        memcpy(flag, meets, sizeof flag);
        hit[n] = i, n -= flag[0];
        hit[n] = i + 1, n -= flag[1];
        hit[n] = i + 2, n -= flag[2];
        hit[n] = i + 3, n -= flag[3];
        hit[n] = i + 4, n -= flag[4];
        hit[n] = i + 5, n -= flag[5];
        hit[n] = i + 6, n -= flag[6];
        hit[n] = i + 7, n -= flag[7];
    }
    return n;
}

static int by_low(const void *left, const void *right)
{
    const taken *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* By rising low. */
static void find_taken(pl_shelf *s, const pl_boxed *x)
{
    int hit[CRATE];
    s->taken.n = 0;
    for (int k = 0; k < x->n_boxes; k++) {
        const pl_box *want = &s->p->box[x->first + k];
        for (int i = 0; i < s->crates.n; i++) {
            const crate *c = s->crates.at[i];
            int n = find_hits(c, want, hit);
            for (int j = 0; j < n; j++) {
                taken t = { c->low[hit[j]] - want->high, c->high[hit[j]] - want->low };
                PL_PUSH(s->arena, &s->taken, t);
            }
        }
    }
    if (x->n_boxes > 1 && s->taken.n > 1)
        qsort(s->taken.at, (size_t)s->taken.n, sizeof *s->taken.at, by_low);
}

/* Offsets strictly between low and high are taken; those between the floor and low are free. */
static inline void pass(probe *p, int64_t low, int64_t high)
{
    if (low - p->floor >= 0 && low - p->floor < p->best_room) {
        int64_t at = pl_boxes_round(p->floor, p->align);
        if (at <= low) {
            p->best = at;
            p->best_room = low - p->floor;
        }
    }
    p->floor = high > p->floor ? high : p->floor;
}

/* A buffer of one box, as most are: no need to keep and sort what it meets. */
static void pass_crates(const pl_shelf *s, const pl_box *want, bool low, probe *p)
{
    int hit[CRATE];
    int64_t floor = p->floor; /* here, not in memory, which `p` might share with the crates */
    const int64_t above = want->high, below = want->low;
    for (int i = 0; i < s->crates.n; i++) {
        const crate *c = s->crates.at[i];
        int n = find_hits(c, want, hit);
        for (int j = 0; j < n; j++) {
            int64_t bottom = c->low[hit[j]] - above, top = c->high[hit[j]] - below;
            if (bottom >= floor) {
                p->floor = floor;
                pass(p, bottom, top);
                if (low && p->best >= 0) return;
            }
            floor = top > floor ? top : floor;
        }
        p->floor = floor;
    }
}

int64_t pl_shelf_find(pl_shelf *s, const pl_boxed *x, bool low)
{
    if (s->bays) return pl_bays_find(s->bays, x, low);
    probe p = { x->align, 0, -1, INT64_MAX };
    if (x->n_boxes == 1) {
        pass_crates(s, &s->p->box[x->first], low, &p);
    } else {
        find_taken(s, x);
        for (int i = 0; i < s->taken.n && !(low && p.best >= 0); i++)
            pass(&p, s->taken.at[i].low, s->taken.at[i].high);
    }
    return p.best >= 0 ? p.best : pl_boxes_round(p.floor, x->align);
}

bool pl_shelf_fits(pl_shelf *s, const pl_boxed *x, int64_t at)
{
    if (s->bays) return pl_bays_fits(s->bays, x, at);
    find_taken(s, x);
    for (int i = 0; i < s->taken.n; i++)
        if (s->taken.at[i].low < at && at < s->taken.at[i].high) return false;
    return true;
}

static void split(pl_shelf *s, int i)
{
    crate *full = s->crates.at[i], *rest = make_crate(s);
    int keep = CRATE / 2, move = CRATE - keep;
    memcpy(rest->from, full->from + keep, (size_t)move * sizeof *rest->from);
    memcpy(rest->to, full->to + keep, (size_t)move * sizeof *rest->to);
    memcpy(rest->low, full->low + keep, (size_t)move * sizeof *rest->low);
    memcpy(rest->high, full->high + keep, (size_t)move * sizeof *rest->high);
    for (int k = keep; k < CRATE; k++) full->from[k] = INT32_MAX, full->to[k] = INT32_MIN;
    full->n = keep;
    rest->n = move;
    PL_PUSH(s->arena, &s->crates, rest);
    memmove(s->crates.at + i + 2, s->crates.at + i + 1,
            (size_t)(s->crates.n - i - 2) * sizeof *s->crates.at);
    s->crates.at[i + 1] = rest;
}

/* The last crate that begins at or below low, or the first. */
static int find_crate(const pl_shelf *s, int64_t low)
{
    int from = 0, to = s->crates.n - 1;
    while (from < to) {
        int mid = from + (to - from + 1) / 2;
        if (s->crates.at[mid]->low[0] <= low)
            from = mid;
        else
            to = mid - 1;
    }
    return from;
}

static void insert(pl_shelf *s, int32_t from, int32_t to, int64_t low, int64_t high)
{
    int i = find_crate(s, low);
    if (s->crates.at[i]->n == CRATE) {
        split(s, i);
        i = find_crate(s, low);
    }
    crate *c = s->crates.at[i];
    int at = c->n;
    while (at && c->low[at - 1] > low) at--;
    size_t move = (size_t)(c->n - at);
    memmove(c->from + at + 1, c->from + at, move * sizeof *c->from);
    memmove(c->to + at + 1, c->to + at, move * sizeof *c->to);
    memmove(c->low + at + 1, c->low + at, move * sizeof *c->low);
    memmove(c->high + at + 1, c->high + at, move * sizeof *c->high);
    c->from[at] = from, c->to[at] = to;
    c->low[at] = low, c->high[at] = high;
    c->n++;
}

void pl_shelf_add(pl_shelf *s, const pl_boxed *x, int64_t at)
{
    if (s->bays) {
        pl_bays_add(s->bays, x, at);
        return;
    }
    for (int k = 0; k < x->n_boxes; k++) {
        const pl_box *p = &s->p->box[x->first + k];
        insert(s, p->from, p->to, at + p->low, at + p->high);
    }
}
