/* Lower bounds of what is left of a path, by axes: they steer the search. Read
 * pl_reshard_bound_start(). */
#include "reshard/bound.h"

#include "base/hash.h"
#include "reshard/move.h"

typedef struct key {
    int64_t count, element;
    unsigned split, back, pending, combine;
    bool mask, even;
} key;

typedef struct pl_bound_table {
    key key;
    double least[]; /* [5^axes] */
} pl_bound_table;

/* -- how axes stand ---------------------------------------------------------------------------- */

pl_split pl_reshard_bound_digit(const pl_placement *p, int i, const pl_mesh *m, const pl_shape *s)
{
    pl_split x = p->split[i];
    int first = i;
    if (!x.size) x.size = s->dim[x.dim], x.unit = 1;
    while (first > 0 && pl_placement_end(p, first - 1) > i) first--;
    int64_t left = x.size;
    for (int k = first; k <= i; k++) {
        int64_t parts = m->axis[p->split[k].axis].size;
        if (left % parts) return x;
        left /= parts;
    }
    x.size = m->axis[x.axis].size;
    x.unit *= left;
    return x;
}

bool pl_reshard_bound_is_home(const pl_bound *b, const pl_split *digit)
{
    const pl_split *home = &b->home[digit->axis];
    return b->split >> digit->axis & 1 && home->dim == digit->dim &&
           (!b->even || (home->size == digit->size && home->unit == digit->unit));
}

/* Devices have that many of the values before it in their parts that all axes are too few to leave
 * one. */
bool pl_reshard_bound_is_back(const pl_bound *b, const pl_split *digit)
{
    int64_t before = b->before[digit->dim];
    if (b->even) before *= b->q->shape.dim[digit->dim] / (digit->size * digit->unit);
    return before > pl_move_members(b->q->mesh, b->axes);
}

pl_stand pl_reshard_bound_stand(const pl_bound *b, const pl_placement *p)
{
    pl_stand x = { .pending = p->pending };
    for (int i = 0; i < p->n; i++) {
        pl_split digit = pl_reshard_bound_digit(p, i, b->q->mesh, &b->q->shape);
        uint8_t bit = (uint8_t)(1u << digit.axis);
        x.split |= bit;
        if (pl_reshard_bound_is_home(b, &digit))
            x.home |= bit;
        else if (pl_reshard_bound_is_back(b, &digit))
            x.back |= bit;
    }
    return x;
}

pl_stand pl_reshard_bound_copied(pl_stand x, unsigned axes)
{
    x.pending &= (uint8_t)~axes, x.split &= (uint8_t)~axes;
    x.home &= (uint8_t)~axes, x.back &= (uint8_t)~axes;
    return x;
}

/* -- moves ------------------------------------------------------------------------------------- */

static double copy_blocks(const pl_bound *b, pl_stand part)
{
    return pl_move_copy_seconds(b->q->mesh, b->part[part.split] * b->element);
}

static bool any_back(const pl_bound *b, pl_stand x, unsigned axes)
{
    return axes & (x.back | (x.home & b->back));
}

/* Uneven parts have at least as many elements as even ones would. A PERMUTE needs another axis to
 * give its place, or parts that only some devices have.  */
static double exchange_seconds(const pl_bound *b, unsigned axes, pl_stand x, pl_stand y)
{
    const pl_mesh *m = b->q->mesh;
    int n = pl_move_members(m, axes);
    int64_t part = b->part[x.split], bytes = pl_move_volume(PL_ALL_TO_ALL, n, part / n, b->element);
    double cut = pl_move_seconds(PL_ALL_TO_ALL, m, axes, bytes);
    if (any_back(b, x, axes)) cut += copy_blocks(b, x);
    if (any_back(b, y, axes)) cut += copy_blocks(b, y);
    if (b->even && x.split == axes && !(axes & (axes - 1))) return cut;
    double whole = pl_move_seconds(PL_PERMUTE, m, axes, part * b->element);
    return cut < whole ? cut : whole;
}

double pl_reshard_bound_step(const pl_bound *b, pl_collective kind, unsigned axes, pl_stand x,
                             pl_stand y)
{
    const pl_mesh *m = b->q->mesh;
    int64_t part = b->part[x.split], slice = b->part[y.split];
    int n = pl_move_members(m, axes);
    switch (kind) {
    case PL_ALL_GATHER:
        return pl_move_seconds(kind, m, axes, pl_move_volume(kind, n, part, b->element)) +
               (any_back(b, x, axes) ? copy_blocks(b, y) : 0);
    case PL_REDUCE_SCATTER:
        return pl_move_seconds(kind, m, axes, pl_move_volume(kind, n, slice, b->element)) +
               (any_back(b, y, axes) ? copy_blocks(b, x) : 0);
    case PL_ALL_REDUCE:
        return pl_move_seconds(kind, m, axes, pl_move_volume(kind, n, part, b->element));
    case PL_ALL_TO_ALL: return exchange_seconds(b, axes, x, y);
    default: return copy_blocks(b, y);
    }
}

/* -- the table --------------------------------------------------------------------------------- */

typedef struct backward {
    const pl_bound *b;
    pl_bounds *known;
    double *least;
} backward;

/* The index of how axes stand: a digit for each, 0 copied, 1 pending, 2 split, 3 back, 4 home. */
static int index_of(const pl_bound *b, pl_stand x)
{
    return b->place[x.pending] + 2 * b->place[x.split] + b->place[x.back] + 2 * b->place[x.home];
}

double pl_reshard_bound_rest(const pl_bound *b, pl_stand x)
{
    return b->least[index_of(b, x)];
}

/* One move over `axes` from x to y, whence the rest takes `rest`. */
static void add_way(backward *w, pl_collective kind, unsigned axes, pl_stand x, pl_stand y,
                    double rest)
{
    double sum = rest + pl_reshard_bound_step(w->b, kind, axes, x, y);
    int i = index_of(w->b, x);
    if (sum >= w->least[i]) return;
    w->least[i] = sum;
    pl_queued now = { .seconds = sum, .id = i, .tag = { x.pending, x.split, x.home, x.back } };
    pl_reshard_queue_add(&w->known->queue, w->known->arena, now);
}

/* All that may have been copied from y's axis, alone. */
static void add_ways_of_axis(backward *w, unsigned bit, pl_stand y, double rest)
{
    const pl_bound *b = w->b;
    pl_stand copied = pl_reshard_bound_copied(y, bit), pending = copied, split = copied, back, home;
    pending.pending |= (uint8_t)bit, split.split |= (uint8_t)bit;
    back = home = split;
    back.back |= (uint8_t)bit, home.home |= (uint8_t)bit;
    if (y.pending & bit) {
        if (b->q->mask && !(b->combine & bit)) add_way(w, PL_MASK, bit, copied, y, rest);
    } else if (y.split & bit) {
        add_way(w, PL_SLICE, bit, copied, y, rest);
        if (b->combine & bit) add_way(w, PL_REDUCE_SCATTER, bit, pending, y, rest);
    } else {
        add_way(w, PL_ALL_GATHER, bit, split, y, rest);
        add_way(w, PL_ALL_GATHER, bit, back, y, rest);
        if (b->split & bit) add_way(w, PL_ALL_GATHER, bit, home, y, rest);
        if (b->combine & bit) add_way(w, PL_ALL_REDUCE, bit, pending, y, rest);
    }
}

/* All-to-alls after which the axes are home or no more back: nothing else is worth one, since
 * what one can do from there, one can do as cheaply from home. Those that come home may have
 * been back. */
static void add_exchanges(backward *w, pl_stand y, double rest)
{
    unsigned better = y.split & ~(unsigned)y.back;
    for (unsigned axes = better; axes; axes = (axes - 1) & better) {
        unsigned home = axes & y.home;
        for (unsigned front = home;; front = (front - 1) & home) {
            pl_stand x = y;
            x.home &= (uint8_t)~axes;
            x.back |= (uint8_t)(axes & ~front);
            add_way(w, PL_ALL_TO_ALL, axes, x, y, rest);
            if (!front) break;
        }
    }
}

static void add_ways(backward *w, pl_stand y, double rest)
{
    const pl_bound *b = w->b;
    unsigned combined = b->combine & ~(unsigned)(y.split | y.pending);
    for (unsigned left = b->axes; left; left &= left - 1)
        add_ways_of_axis(w, left & -left, y, rest);
    add_exchanges(w, y, rest);
    for (unsigned axes = combined; axes; axes = (axes - 1) & combined) {
        pl_stand x = y;
        x.pending |= (uint8_t)axes;
        if (axes & (axes - 1)) add_way(w, PL_ALL_REDUCE, axes, x, y, rest);
    }
}

static void fill_table(pl_bounds *known, const pl_bound *b, double *least, int n)
{
    backward w = { b, known, least };
    pl_stand y = pl_reshard_bound_stand(b, &b->q->end[b->q->n]);
    pl_queued x = { .id = index_of(b, y), .tag = { y.pending, y.split, y.home, y.back } };
    for (int i = 0; i < n; i++) least[i] = 1e300;
    least[x.id] = 0;
    pl_reshard_queue_start(&known->queue, 1);
    do {
        y = (pl_stand){ x.tag[0], x.tag[1], x.tag[2], x.tag[3] };
        if (x.seconds <= least[x.id]) add_ways(&w, y, x.seconds);
    } while (pl_reshard_queue_take(&known->queue, &x));
}

static bool same_key(const key *x, const key *y)
{
    return x->count == y->count && x->element == y->element && x->split == y->split &&
           x->back == y->back && x->pending == y->pending && x->combine == y->combine &&
           x->mask == y->mask && x->even == y->even;
}

static const double *find_table(pl_bounds *known, const pl_bound *b)
{
    const pl_question *q = b->q;
    key k = { pl_shape_count(&q->shape), b->element, b->split, b->back,
              q->end[q->n].pending,      b->combine, q->mask,  b->even };
    uint64_t h = pl_hash_mix((uint64_t)k.count, (uint64_t)k.element);
    h = pl_hash_mix(h, k.split << 24 | k.back << 16 | k.pending << 8 | k.combine);
    h = pl_hash_mix(h, (uint64_t)k.mask << 1 | k.even);
    pl_bound_table **slot = &known->slot[h % PL_BOUND_SLOTS];
    if (*slot && same_key(&(*slot)->key, &k)) return (*slot)->least;
    int n = 1;
    for (int a = 0; a < q->mesh->n; a++) n *= 5;
    if (!*slot)
        *slot = pl_arena_get(known->arena, 1, sizeof(pl_bound_table) + (size_t)n * sizeof(double));
    (*slot)->key = k;
    fill_table(known, b, (*slot)->least, n);
    return (*slot)->least;
}

static void find_sets(pl_bound *b)
{
    const pl_mesh *m = b->q->mesh;
    for (unsigned axes = 0; axes < 1u << m->n; axes++) {
        b->part[axes] = pl_shape_count(&b->q->shape) / pl_move_members(m, axes);
        for (int a = 0, digit = 1; a < m->n; a++, digit *= 5)
            if (axes >> a & 1) b->place[axes] += digit;
    }
}

void pl_reshard_bound_start(pl_bound *b, pl_bounds *known, const pl_question *q)
{
    const pl_placement *to = &q->end[q->n];
    const pl_mesh *m = q->mesh;
    *b = (pl_bound){ .q = q, .even = true, .element = pl_type_bytes(q->type) };
    for (int a = 0; a < m->n; a++)
        if (m->axis[a].size > 1) b->axes |= 1u << a;
    for (int i = 0; i <= q->n; i++) {
        b->even &= pl_placement_even(&q->end[i], m, &q->shape);
        b->combine |= q->end[i].pending & ~(unsigned)to->pending;
    }
    for (int d = 0; d < q->shape.rank; d++)
        b->before[d] = d ? b->before[d - 1] * q->shape.dim[d - 1] : 1;
    for (int i = 0; i < to->n; i++) {
        pl_split x = pl_reshard_bound_digit(to, i, m, &q->shape);
        b->split |= 1u << x.axis;
        if (pl_reshard_bound_is_back(b, &x)) b->back |= 1u << x.axis;
        b->home[x.axis] = x;
    }
    find_sets(b);
    b->least = find_table(known, b);
}
