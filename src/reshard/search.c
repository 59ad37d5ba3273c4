/* A* over placements: pl_reshard_search_run(). */
#include "reshard/search.h"

#include <string.h>

enum { SLOTS = 2 * PL_MOST_STATES };

/* A placement on the way, and the last move of the cheapest way to it that is known. */
typedef struct pl_state {
    pl_placement where;
    uint64_t hash;
    pl_stand stand;
    int64_t count;         /* elements of a device's part */
    int source, before, n; /* which source it comes from, the state before it, moves so far */
    double seconds;        /* so far    */
    pl_collective kind;    /* of the move from `before` to here */
    unsigned axes;
    int64_t block, bytes;
    double move_seconds;
} state;

/* How far a search looks. */
typedef enum reach {
    ALL,   /* all axes, at all digits   */
    FEW,   /* all axes, each below those that split a dimension already   */
    DIRECT /* axes that differ, from where they are to where they go or to be
            copied */
} reach;

typedef struct search {
    const pl_question *q;
    pl_scratch *scratch;
    state *at; /* the first is the target */
    pl_bound bound;
    pl_moves moves;
    reach reach;
    unsigned axes; /* that move                            */
    int64_t most;  /* elements of a part on the way        */
    int from;      /* the state whose moves are being made */
    int tries;     /* moves made, uneven ones count more   */
} search;

/* -- states ------------------------------------------------------------------------------------ */

static int add_state(search *s, state x)
{
    pl_scratch *all = s->scratch;
    x.seconds = 1e300;
    x.stand = pl_reshard_bound_stand(&s->bound, &x.where);
    x.count = s->bound.part[x.stand.split];
    if (!s->bound.even) {
        pl_shape local = pl_placement_local(&x.where, s->q->mesh, &s->q->shape, 0);
        x.count = pl_shape_count(&local);
    }
    PL_PUSH(all->arena, &all->states, x);
    s->at = all->states.at;
    return all->states.n - 1;
}

/* -1: its parts are not even as those of the ends are, or there are too many
 * states. */
static int find_state(search *s, const pl_placement *where)
{
    pl_scratch *all = s->scratch;
    uint64_t hash = pl_placement_hash(where);
    int i = (int)(hash % SLOTS);
    for (; all->slot[i]; i = (i + 1) % SLOTS) {
        const state *x = &s->at[all->slot[i] - 1];
        if (x->hash == hash && pl_placement_same(&x->where, where)) return all->slot[i] - 1;
    }
    if (s->bound.even && !pl_placement_even(where, s->q->mesh, &s->q->shape)) return -1;
    if (all->states.n == PL_MOST_STATES) return -1;
    int id = add_state(s, (state){ .where = *where, .hash = hash });
    all->slot[i] = (int16_t)(id + 1);
    return id;
}

/* -- what waits -------------------------------------------------------------------------------- */

/* A change of a state, or with kind PL_N_COLLECTIVES the state itself. */
static void queue_change(search *s, int id, double rest, pl_change c)
{
    double seconds = s->at[id].seconds;
    uint8_t how = (uint8_t)(c.back << 1 | c.turn);
    pl_queued x = { .seconds = seconds,
                    .rest = rest,
                    .id = id,
                    .tag = { (uint8_t)c.kind, (uint8_t)c.axes, (uint8_t)c.home, how } };
    if (!id || seconds + rest < s->at[0].seconds)
        pl_reshard_queue_add(&s->scratch->queue, s->scratch->arena, x);
}

static void queue_state(search *s, int id)
{
    queue_change(s, id, pl_reshard_bound_rest(&s->bound, s->at[id].stand),
                 (pl_change){ .kind = PL_N_COLLECTIVES });
}

/* -- moves ------------------------------------------------------------------------------------- */

/* One more way: by a move from state s->from. */
static void see_move(void *context, pl_move *x)
{
    search *s = context;
    s->tries += s->bound.even ? 1 : 5;
    int id = find_state(s, &x->to);
    if (id < 0 || s->at[id].count > s->most) return;
    const state *before = &s->at[s->from];
    state *after = &s->at[id];
    double least = before->seconds +
                   pl_reshard_bound_step(&s->bound, x->kind, x->axes, before->stand, after->stand);
    double rest = pl_reshard_bound_rest(&s->bound, after->stand);
    if (least >= after->seconds || least + rest >= s->at[0].seconds) return;
    if (!s->bound.even) { /* then a price is dear to find */
        least = before->seconds + pl_move_least(x, s->q->type, s->q->mesh, &s->q->shape);
        if (least >= after->seconds || least + rest >= s->at[0].seconds) return;
    }
    if (!pl_move_price_again(x, s->q->type, s->q->mesh, &s->q->shape, s->scratch->blocks)) return;
    if (before->seconds + x->seconds >= after->seconds) return;
    after->seconds = before->seconds + x->seconds;
    after->before = s->from, after->source = before->source, after->n = before->n + 1;
    after->kind = x->kind, after->axes = x->axes;
    after->block = x->block, after->bytes = x->bytes, after->move_seconds = x->seconds;
    queue_state(s, id);
}

/* A change waits until it may be on the cheapest way; only then its moves are made (partial
 * expansion: Yoshizumi, Miura and Ishida, AAAI 2000). */
static void add_change(search *s, int id, pl_change c)
{
    const pl_stand x = s->at[id].stand;
    pl_stand y = pl_reshard_bound_copied(x, c.axes);
    if (c.kind == PL_MASK) y.pending |= (uint8_t)c.axes;
    if (c.kind == PL_SLICE || c.kind == PL_REDUCE_SCATTER || c.kind == PL_ALL_TO_ALL) {
        y.split |= (uint8_t)c.axes;
        y.home |= (uint8_t)c.home;
        y.back |= (uint8_t)c.back;
    }
    queue_change(s, id,
                 pl_reshard_bound_step(&s->bound, c.kind, c.axes, x, y) +
                     pl_reshard_bound_rest(&s->bound, y),
                 c);
}

/* The axes come to split something else than now: what the target splits over them, but for one
 * that goes anywhere else, or two of uneven parts (of even ones that is hardly ever of use). */
static void add_splits(search *s, int id, pl_collective kind, unsigned axes)
{
    unsigned home = s->bound.split & (s->bound.even ? ~(unsigned)s->at[id].stand.home : ~0u);
    int most = s->reach == DIRECT ? 0 : s->bound.even ? 1 : 2;
    for (unsigned left = axes;; left = (left - 1) & axes) {
        pl_change c = { .kind = kind, .axes = axes, .home = axes & ~left };
        if (!(c.home & ~home) && __builtin_popcount(left) <= most)
            for (c.back = left;; c.back = (c.back - 1) & left) {
                add_change(s, id, c);
                if (!c.back) break;
            }
        if (!left) break;
    }
}

static void add_axis_changes(search *s, int id, unsigned axis)
{
    const pl_stand x = s->at[id].stand;
    unsigned pending = s->q->end[s->q->n].pending;
    if (x.pending & axis) {
        if (pending & axis) return;
        add_change(s, id, (pl_change){ .kind = PL_ALL_REDUCE, .axes = axis });
        add_splits(s, id, PL_REDUCE_SCATTER, axis);
    } else if (x.split & axis) {
        add_change(s, id, (pl_change){ .kind = PL_ALL_GATHER, .axes = axis });
    } else {
        if (s->q->mask && pending & axis)
            add_change(s, id, (pl_change){ .kind = PL_MASK, .axes = axis });
        add_splits(s, id, PL_SLICE, axis);
    }
}

static void add_changes(search *s, int id)
{
    const pl_stand x = s->at[id].stand;
    unsigned pending = x.pending & s->bound.combine, split = x.split & s->axes;
    if (s->at[id].n == PL_MAX_MOVES) return;
    for (unsigned left = s->axes; left; left &= left - 1) add_axis_changes(s, id, left & -left);
    for (unsigned axes = split; axes; axes = (axes - 1) & split) {
        int n = __builtin_popcount(axes);
        add_splits(s, id, PL_ALL_TO_ALL, axes);
        pl_change turn = { PL_ALL_TO_ALL, axes, axes & s->bound.split, 0, true };
        if (n == 2 || n == 3) add_change(s, id, turn);
    }
    for (unsigned axes = pending; axes; axes = (axes - 1) & pending)
        if (axes & (axes - 1))
            add_change(s, id, (pl_change){ .kind = PL_ALL_REDUCE, .axes = axes });
}

/* -- the search -------------------------------------------------------------------------------- */

/* Ways that take `known` seconds or more are of no use. */
static void start(search *s, double known)
{
    pl_scratch *all = s->scratch;
    const pl_placement *end = s->q->end, *to = &end[s->q->n];
    memset(all->slot, 0, sizeof all->slot);
    all->states.n = s->tries = 0;
    pl_reshard_queue_start(&all->queue, 1);
    s->most = s->q->most_bytes ? s->q->most_bytes / s->bound.element : INT64_MAX;
    s->axes = s->reach == DIRECT ? 0 : s->bound.axes;
    for (int i = s->q->n; i >= 0; i--) { /* the target first */
        int id = find_state(s, &end[i]);
        if (s->at[id].count > s->most) s->most = s->at[id].count;
        s->axes |= pl_placement_differ(&end[i], to) & s->bound.axes;
    }
    s->at[0].seconds = known;
    for (int i = 0; i < s->q->n; i++) {
        int id = find_state(s, &end[i]);
        if (s->at[id].seconds == 0) continue; /* a source that is there twice */
        s->at[id].seconds = 0, s->at[id].source = i, s->at[id].before = -1;
        queue_state(s, id);
    }
}

/* How much of what a search may do it has done: 1, all of it. */
static double effort(const search *s)
{
    double tries = (double)s->tries / PL_MOST_TRIES;
    double states = (double)s->scratch->states.n / PL_MOST_STATES;
    double waiting = (double)s->scratch->queue.n / PL_MOST_WAITING;
    double most = tries > states ? tries : states;
    return most > waiting ? most : waiting;
}

/* A search that is not for all ways first goes for what is near the target when it takes long. */
static bool lose_patience(search *s)
{
    double done = effort(s);
    if (s->reach != ALL && done > 0.75 && s->scratch->queue.weight == 1)
        pl_reshard_queue_weigh(&s->scratch->queue, 1.5);
    return done >= 1;
}

/* A*. True: there is no cheaper way than what has been found. */
static bool reach_target(search *s)
{
    pl_queued x;
    while (pl_reshard_queue_take(&s->scratch->queue, &x)) {
        pl_change c = { x.tag[0], x.tag[1], x.tag[2], x.tag[3] >> 1, x.tag[3] & 1 };
        if (!x.id || lose_patience(s)) return !x.id && s->scratch->queue.weight == 1;
        if (x.seconds > s->at[x.id].seconds || x.seconds + x.rest >= s->at[0].seconds)
            continue; /* there is a cheaper way to it, or without it */
        if (c.kind == PL_N_COLLECTIVES) {
            add_changes(s, x.id);
            continue;
        }
        pl_placement from = s->at[x.id].where;
        s->from = x.id;
        pl_reshard_moves_make(&s->moves, &from, c);
    }
    return true;
}

static void trace_path(const search *s, pl_path *path, int *which)
{
    *path = (pl_path){ .n = s->at[0].n };
    *which = s->at[0].source;
    for (int i = 0, k = path->n; k > 0; i = s->at[i].before) {
        const state *x = &s->at[i];
        path->move[--k] = (pl_move){ x->kind,  x->axes,  s->at[x->before].where, x->where,
                                     x->block, x->bytes, x->move_seconds };
        path->bytes += x->bytes;
        path->seconds += x->move_seconds;
    }
}

/* Takes what is cheaper than the path so far. True: nothing is. */
static bool try_reach(search *s, reach far, pl_path *path, int *which)
{
    double known = path->n ? path->seconds : 1e300;
    s->reach = far;
    pl_reshard_moves_cuts(&s->scratch->cuts, s->scratch->arena, &s->bound, far != ALL);
    start(s, known);
    bool sure = reach_target(s);
    if (s->at[0].seconds < known) trace_path(s, path, which);
    return sure;
}

bool pl_reshard_search_run(pl_scratch *scratch, const pl_question *q, int *which, pl_path *path)
{
    search s = { .q = q, .scratch = scratch, .at = scratch->states.at };
    if (!scratch->blocks) scratch->blocks = pl_blocks_memo_new(scratch->arena, NULL);
    *path = (pl_path){ 0 };
    pl_reshard_bound_start(&s.bound, &scratch->bounds, q);
    s.moves = (pl_moves){ &s.bound, &scratch->cuts, see_move, &s };
    if (!try_reach(&s, ALL, path, which)) {
        try_reach(&s, FEW, path, which);
        try_reach(&s, DIRECT, path, which);
    }
    return path->n;
}
