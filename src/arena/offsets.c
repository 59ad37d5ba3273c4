/* The way from greedy to exact. Read search(): the first key, squeaky wheel, the other keys,
 * then exact search from the bound up (raise_bound) and between bound and best (lower_height). */
#include "arena/offsets.h"

#include "arena/squeaky.h"
#include "arena/exact.h"
#include "arena/keys.h"

#include <string.h>

enum {
    MANY = 20000, /* beyond it one greedy key is tried unless they are named: each takes n^2      */
    QUICK = 16,  /* rounds of pl_offsets_place: what is solved at all mostly needs fewer than ten */
    SMALL = 400, /* up to it the exact search gets its whole effort                              */
    ROUNDS = 2000 /* of placing again, at most: who has not learned by then does not             */
};

/* What pl_offsets_place leaves of the way to the bound: 8 MB of 80 GB, which all its rounds often
 * go after in vain. */
static const double NEAR = 1e-4;

/* One problem and the best that is known of it. */
typedef struct state {
    const pl_boxes *boxes;
    int64_t capacity;
    int64_t *best, *now; /* [n] offsets */
    int64_t height;      /* of best; -1: none yet */
    int64_t bound;
} state;

static void keep_lower(state *s, int64_t height)
{
    if (height < 0 || (s->height >= 0 && height >= s->height)) return;
    int64_t *old = s->best;
    s->best = s->now;
    s->now = old;
    s->height = height;
}

/* The height that is low enough. */
static int64_t find_enough(const state *s, const pl_offsets_options *o)
{
    const int64_t low = s->bound + (int64_t)(o->slack * (double)s->bound);
    const bool lower = s->bound < s->capacity && s->capacity < low;
    return lower || (o->any && s->capacity > low) ? s->capacity : low;
}

static bool is_enough(const state *s, const pl_offsets_options *o)
{
    return s->height >= 0 && s->height <= find_enough(s, o);
}

static unsigned find_keys(const state *s, const pl_offsets_options *options)
{
    if (options->keys) return options->keys;
    unsigned keys = s->boxes->n > MANY ? 1u << PL_KEY_BEST : PL_KEYS_DEFAULT;
    for (int i = 0; i < s->boxes->n; i++)
        if (s->boxes->item[i].hint >= 0) keys |= 1u << PL_KEY_HINT;
    return keys;
}

static void try_keys(state *s, const pl_offsets_options *o, unsigned keys)
{
    for (int k = 0; k < PL_KEYS_COUNT && !is_enough(s, o); k++)
        if (keys >> k & 1) keep_lower(s, pl_keys_place(s->boxes, (pl_key)k, s->now));
}

/* No layout is lower than what is live. */
static void try_squeaky(state *s, const pl_offsets_options *options)
{
    const int64_t pairs = (int64_t)s->boxes->n * s->boxes->n;
    if (options->off & PL_OFFSETS_SQUEAKY || !pairs || (options->any && s->capacity < s->bound))
        return;
    int64_t rounds = options->pairs / pairs < ROUNDS ? options->pairs / pairs : ROUNDS;
    keep_lower(s, pl_squeaky_place(s->boxes, find_enough(s, options), rounds, s->now));
}

static int64_t find_effort(const state *s, const pl_offsets_options *o)
{
    const double n = s->boxes->n, share = n > SMALL ? SMALL / n * (SMALL / n) : 1;
    return (int64_t)((double)o->effort * share);
}

static pl_outcome try_exact(state *s, pl_exact *x, int64_t capacity, int64_t *nodes)
{
    for (int i = 0; i < s->boxes->n; i++)
        s->now[i] = s->boxes->item[i].fixed > 0 ? s->boxes->item[i].fixed : 0;
    pl_outcome o = pl_exact_try(x, capacity, nodes, s->now);
    if (o != PL_EXACT_FOUND) return o;
    int64_t height = 0;
    for (int i = 0; i < s->boxes->n; i++)
        if (s->now[i] + s->boxes->item[i].bytes > height)
            height = s->now[i] + s->boxes->item[i].bytes;
    PL_ASSERT_CMP(height, <=, capacity);
    keep_lower(s, height);
    return o;
}

static int64_t use(int64_t *nodes, int64_t share)
{
    if (share > *nodes) share = *nodes;
    *nodes -= share;
    return share;
}

/* From the bound up, as long as it is proven that nothing fits; a quarter of the effort at most. */
static void raise_bound(state *s, pl_exact *x, const pl_offsets_options *options, int64_t *nodes)
{
    int64_t some = use(nodes, *nodes / 4);
    s->bound = pl_boxes_round(s->bound, s->boxes->unit);
    while (!is_enough(s, options) && some > 0) {
        if (try_exact(s, x, s->bound, &some) != PL_EXACT_NONE) break;
        s->bound += s->boxes->unit;
    }
    *nodes += some;
}

/* First the capacity asked for, if it is below what is known; then in halves between what may be
 * and what is. What ran out of nodes counts as impossible, but proves nothing: the bound moves
 * only with what was proven. */
static void lower_height(state *s, pl_exact *x, const pl_offsets_options *options, int64_t *nodes)
{
    int64_t unit = s->boxes->unit, low = s->bound;
    if (s->height > s->capacity && s->capacity >= s->bound) {
        int64_t some = use(nodes, *nodes / 2);
        pl_outcome found = try_exact(s, x, s->capacity, &some);
        *nodes += some;
        if (found == PL_EXACT_NONE) low = s->bound = pl_boxes_round(s->capacity + 1, unit);
    }
    while (!is_enough(s, options) && low<s->height && * nodes> 0) {
        int64_t mid = low + (s->height - low) / unit / 2 * unit;
        int64_t some = use(nodes, *nodes / 4 + 1);
        pl_outcome found = try_exact(s, x, mid, &some);
        *nodes += some;
        if (found == PL_EXACT_FOUND) continue;
        if (found == PL_EXACT_NONE) s->bound = mid + unit;
        low = mid + unit;
    }
}

static void search(state *s, const pl_offsets_options *options, int64_t *nodes)
{
    const unsigned keys = find_keys(s, options), first = keys & -keys;
    try_keys(s, options, first);
    if (!is_enough(s, options)) try_squeaky(s, options);
    try_keys(s, options, keys & ~first);
    const int64_t effort = find_effort(s, options);
    if (is_enough(s, options) || effort <= 0 || s->height < 0) return;
    pl_arena *tmp = pl_arena_new("layout search");
    pl_exact *x = pl_exact_new(s->boxes, options->off, effort, tmp);
    int64_t left = effort;
    if (x && options->any && s->capacity >= s->bound) {
        if (try_exact(s, x, s->capacity, &left) == PL_EXACT_NONE)
            s->bound = pl_boxes_round(s->capacity + 1, s->boxes->unit);
    } else if (x) {
        raise_bound(s, x, options, &left);
        if (!is_enough(s, options)) lower_height(s, x, options, &left);
    }
    *nodes = effort - left;
    pl_arena_free(tmp);
}

static bool fail_infeasible(const state *s, pl_err *err)
{
    long long live = s->boxes->live, high = s->height, room = s->capacity, step = s->boxes->step;
    if (s->height < 0)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "no layout found: no key placed all buffers; buffers with fixed offsets "
                          "overlap, or the keys chosen cannot take fixed offsets");
    if (live > room)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "no layout fits: %lld bytes are live at step %lld, the capacity is %lld "
                          "(height found %lld); %lld bytes less there, or as many more of memory, "
                          "would be needed",
                          live, step, room, high, live - room);
    if (s->bound > room)
        return pl_err_set(
            err, PL_EINFEASIBLE,
            "no layout fits: %lld bytes are live at step %lld, but no layout is lower "
            "than %lld, the capacity is %lld (height found %lld); %lld bytes more of "
            "memory would do",
            live, step, (long long)s->bound, room, high, high - room);
    return pl_err_set(
        err, PL_EINFEASIBLE,
        "no layout found that fits: height %lld, capacity %lld; at most %lld bytes "
        "are live at a time (step %lld), so a lower layout may exist; %lld bytes more "
        "of memory would do",
        high, room, live, step, high - room);
}

static bool fail_size(int n, int64_t align, int64_t capacity, pl_err *err)
{
    return pl_err_set(err, PL_EINFEASIBLE,
                      "no layout fits: the sizes of the %d buffers, in multiples of %lld, add "
                      "up to more than 2^63 bytes; the capacity is %lld bytes",
                      n, (long long)align, (long long)capacity);
}

bool pl_offsets_solve(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                      const pl_offsets_options *options, pl_arena *out, pl_offsets *layout,
                      pl_err *err)
{
    PL_ASSERT_CMP(n, >=, 0);
    PL_ASSERT(align > 0 && (align & (align - 1)) == 0);
    pl_arena *tmp = pl_arena_new("layout scratch");
    pl_boxes boxes;
    int64_t nodes = 0;
    bool ok = pl_boxes_make(n, buf, align, tmp, &boxes) || fail_size(n, align, capacity, err);
    if (ok) {
        state s = { &boxes, capacity,   PL_NEW_N(tmp, int64_t, n), PL_NEW_N(tmp, int64_t, n),
                    -1,     boxes.bound };
        search(&s, options, &nodes);
        ok = s.height >= 0 && s.height <= capacity;
        if (ok) {
            *layout = (pl_offsets){ s.height, s.bound, PL_NEW_N(out, int64_t, n),
                                    s.height == s.bound, nodes };
            if (n) memcpy(layout->offset, s.best, (size_t)n * sizeof *s.best);
        } else {
            fail_infeasible(&s, err);
        }
    }
    pl_arena_free(tmp);
    return ok;
}

bool pl_offsets_place(int n, const pl_buf buf[], int64_t align, int64_t capacity, double slack,
                      pl_arena *out, pl_offsets *layout, pl_err *err)
{
    const int64_t pairs = n > MANY ? 0 : QUICK * (int64_t)n * n;
    const pl_offsets_options quick = { .pairs = pairs,
                                       .keys = 1u << PL_KEY_BEST,
                                       .slack = slack > NEAR ? slack : NEAR };
    const pl_offsets_options wide = { .any = true };
    if (pl_offsets_solve(n, buf, align, capacity, &quick, out, layout, err)) return true;
    *err = (pl_err){ 0 };
    return pl_offsets_solve(n, buf, align, capacity, &wide, out, layout, err);
}
