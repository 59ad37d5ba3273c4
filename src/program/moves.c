/* Lowering, first stage: the tasks of one move between two placements.
 *
 * A message carries blocks, one for each member of the group (pl_move in reshard/reshard.h). Where
 * they do not lie that way in the part already, a copy packs them before, and another puts them in
 * their places after. What is decided here depends on the move alone, never on the rank: the
 * programs of all ranks have the same messages in the same order, but for the shifts of a halo,
 * where a member at the border has nobody to send to or nothing to get. */
#include "reshard/halo.h"
#include "program/lower.h"

#include <stdlib.h>
#include <string.h>

typedef struct transfer {
    lowering *l;
    const pl_move *move;
    const pl_transfer *shared;
    const pl_value *value;
    int n, me;          /* members of the group, my position */
    int64_t size;       /* of an element                     */
    bool even;          /* both parts, on all ranks          */
    pl_region from, to; /* mine */
} transfer;

static pl_region region_of(const transfer *t, const pl_placement *where, int member)
{
    const pl_mesh *m = &t->l->plan->mesh;
    int rank = pl_move_member(m, t->l->rank, t->move->axes, member);
    return pl_region_of(where, m, &t->value->shape, rank);
}

static transfer make_transfer(lowering *l, const pl_value *v, const pl_move *m)
{
    const pl_mesh *mesh = &l->plan->mesh;
    pl_transfer *shared = PL_NEW(l->out, pl_transfer);
    *shared = (pl_transfer){ .value = v, .move = *m };
    transfer t = { .l = l, .move = &shared->move, .shared = shared, .value = v };
    t.size = pl_type_bytes(v->type);
    t.even =
        pl_placement_even(&m->from, mesh, &v->shape) && pl_placement_even(&m->to, mesh, &v->shape);
    t.n = pl_move_group(mesh, l->rank, m->axes, &t.me);
    t.from = pl_region_of(&m->from, mesh, &v->shape, l->rank);
    t.to = pl_region_of(&m->to, mesh, &v->shape, l->rank);
    return t;
}

/* The copy between my part (of `from`, or of `to`) and block i, which is dense at its place. */
static pl_copy block_copy(const transfer *t, int i, bool pack)
{
    pl_region other = region_of(t, pack ? &t->move->to : &t->move->from, i), block;
    pl_copy c;
    bool ok = pl_region_meet(pack ? &t->from : &t->to, &other, &block) &&
              (pack ? pl_region_copy(&t->from, &block, t->size, &c)
                    : pl_region_copy(&block, &t->to, t->size, &c));
    PL_ASSERT(ok); /* pl_move_block has looked at all of them */
    *(pack ? &c.to_at : &c.from_at) += i * t->move->block * t->size;
    return c;
}

/* Blocks that follow each other, each of the same form and as far from the one before it. */
typedef struct line {
    int n;
    pl_copy two[2]; /* the first and, of more than one, the second */
} line;

typedef struct lines {
    int n, cap;
    line *at;
} lines;

static bool same_loops(const pl_copy *a, const pl_copy *b)
{
    bool same = a->n == b->n && a->bytes == b->bytes;
    for (int k = 0; same && k < a->n; k++)
        same = a->count[k] == b->count[k] && a->from[k] == b->from[k] && a->to[k] == b->to[k];
    return same;
}

/* Is a block, the i-th from `two` on, as far from the first as i times the second is? */
static bool is_in_line(const pl_copy two[2], int i, const pl_copy *x)
{
    return same_loops(&two[0], x) &&
           x->from_at - two[0].from_at == i * (two[1].from_at - two[0].from_at) &&
           x->to_at - two[0].to_at == i * (two[1].to_at - two[0].to_at);
}

/* Are the blocks of even parts equally far apart? Where a block begins is a sum over the digits of
 * its number, in a radix whose weights are products of divisors of the axes' sizes: so it is enough
 * to look at these numbers, however many devices there are. */
static bool find_line(const transfer *t, bool pack, line *c)
{
    const pl_mesh *m = &t->l->plan->mesh;
    if (!t->even || t->n < 2) return false;
    c->n = t->n;
    for (int i = 0; i < 2; i++) c->two[i] = block_copy(t, i, pack);
    if (!same_loops(&c->two[0], &c->two[1]) || c->two[0].n == PL_COPY_LOOPS) return false;
    for (int a = m->n - 1, weight = 1; a >= 0; a--) {
        if (!(t->move->axes >> a & 1)) continue;
        for (int d = 1; d < m->axis[a].size; d++) {
            if (m->axis[a].size % d) continue;
            const pl_copy x = block_copy(t, d * weight, pack);
            if (!is_in_line(c->two, d * weight, &x)) return false;
        }
        weight *= m->axis[a].size;
    }
    return true;
}

enum { APART = -1, EMPTY = -2 };

/* The one digit in which a part begins where the one before it ends, all else the same. APART: they
 * are not beside each other in this way; EMPTY: both have nothing. */
static int find_beside(const pl_region *before, const pl_region *x)
{
    int digit = APART;
    if (!pl_region_count(x)) return pl_region_count(before) ? APART : EMPTY;
    for (int k = 0; k < x->n; k++) {
        const pl_digit *a = &before->digit[k], *b = &x->digit[k];
        if (a->n != b->n) return APART;
        if (a->lo == b->lo) continue;
        if (digit >= 0 || b->lo != a->lo + a->n) return APART;
        digit = k;
    }
    return digit;
}

static void add_block(lines *all, const pl_copy *x, pl_arena *tmp)
{
    line *last = all->n ? &all->at[all->n - 1] : NULL;
    if (last && last->two[0].n < PL_COPY_LOOPS &&
        is_in_line((pl_copy[]){ last->two[0], last->n > 1 ? last->two[1] : *x }, last->n, x)) {
        if (last->n++ == 1) last->two[1] = *x;
        return;
    }
    PL_PUSH(tmp, all, ((line){ 1, { *x } }));
}

/* Block by block. A gather or scatter has whole parts of the others in my own one. So once two that
 * are beside each other in a digit are in line, those that follow in it are too: together they are
 * one range of that digit, all of which my part has. */
static lines find_lines(const transfer *t, bool pack)
{
    const bool whole = t->move->kind == PL_ALL_GATHER || t->move->kind == PL_REDUCE_SCATTER;
    pl_region at[2]; /* the parts of this member and of the one before it */
    int digit = APART;
    lines all = { 0 };
    for (int i = 0; i < t->n; i++) {
        if (whole) at[i % 2] = region_of(t, pack ? &t->move->to : &t->move->from, i);
        const int beside = whole && i ? find_beside(&at[(i + 1) % 2], &at[i % 2]) : APART;
        if (beside == EMPTY || (beside >= 0 && beside == digit && all.at[all.n - 1].n > 1)) {
            all.at[all.n - 1].n++;
            continue;
        }
        const pl_copy x = block_copy(t, i, pack);
        add_block(&all, &x, t->l->tmp);
        digit = beside;
    }
    return all;
}

static lines make_lines(const transfer *t, bool pack)
{
    line one;
    lines all = { 0 };
    if (!find_line(t, pack, &one)) return find_lines(t, pack);
    PL_PUSH(t->l->tmp, &all, one);
    return all;
}

/* Its blocks as one more loop. */
static pl_copy join_line(const line *c)
{
    pl_copy x = c->two[0];
    if (c->n < 2) return x;
    memmove(x.count + 1, x.count, sizeof x.count - sizeof *x.count);
    memmove(x.from + 1, x.from, sizeof x.from - sizeof *x.from);
    memmove(x.to + 1, x.to, sizeof x.to - sizeof *x.to);
    x.count[0] = c->n;
    x.from[0] = c->two[1].from_at - c->two[0].from_at;
    x.to[0] = c->two[1].to_at - c->two[0].to_at;
    x.n++;
    return x;
}

typedef struct copies {
    int n;
    pl_copy *at;
} copies;

/* Blocks in few copies: full ones are a line, then comes what is left, and then nothing. */
static copies join_lines(lines all, pl_arena *out)
{
    copies y = { 0, PL_NEW_N(out, pl_copy, all.n) };
    for (int i = 0; i < all.n; i++)
        if (all.at[i].two[0].bytes) y.at[y.n++] = join_line(&all.at[i]);
    if (!y.n) y.at[y.n++] = all.at[0].two[0]; /* a step all the same, which copies nothing */
    return y;
}

/* Do the blocks lie in the part one after another, each dense? Then there is nothing to copy. */
static bool in_place(const transfer *t, lines all)
{
    for (int i = 0; i < all.n && t->even; i++)
        for (int k = 0; k < 2 && k < all.at[i].n; k++) {
            const pl_copy *x = &all.at[i].two[k];
            if (x->n || x->from_at != x->to_at || x->bytes != t->move->block * t->size)
                return false;
        }
    return t->even;
}

/* -- moves that were there before -------------------------------------------------------------- */

/* What equal moves of equal tensors share: the blocks of many layers are those of one. */
typedef struct known_move {
    pl_move move;
    pl_shape shape;
    int64_t size;
    struct blocks {
        bool known, dense; /* dense: there is nothing to copy                */
        copies joined;     /* else                                           */
    } side[2];             /* packed before the message, unpacked after it   */
    const int *receiver;   /* [members] of a permute: whom each gives to     */
} known_move;

static bool is_move_same(const known_move *k, const transfer *t)
{
    return k->move.kind == t->move->kind && k->move.axes == t->move->axes && k->size == t->size &&
           pl_shape_same(&k->shape, &t->value->shape) &&
           pl_placement_same(&k->move.from, &t->move->from) &&
           pl_placement_same(&k->move.to, &t->move->to);
}

static known_move *find_known(const transfer *t)
{
    lowering *l = t->l;
    uint64_t hash = pl_hash_mix((uint64_t)t->move->kind << 32 | t->move->axes, (uint64_t)t->size);
    for (int d = 0; d < t->value->shape.rank; d++)
        hash = pl_hash_mix(hash, (uint64_t)t->value->shape.dim[d]);
    hash = pl_hash_mix(hash, pl_placement_hash(&t->move->from));
    hash = pl_hash_mix(hash, pl_placement_hash(&t->move->to));
    PL_MAP_EACH (&l->moves.map, hash, x)
        if (is_move_same(l->moves.at[x.value], t)) return l->moves.at[x.value];
    known_move *k = PL_NEW(l->tmp, known_move);
    *k = (known_move){ .move = *t->move, .shape = t->value->shape, .size = t->size };
    pl_map_put(&l->moves.map, hash, l->moves.n, l->tmp);
    PL_PUSH(l->tmp, &l->moves, k);
    return k;
}

static const struct blocks *find_blocks(const transfer *t, bool pack)
{
    struct blocks *b = &find_known(t)->side[pack];
    if (b->known) return b;
    const lines all = make_lines(t, pack);
    b->known = true;
    b->dense = in_place(t, all);
    if (!b->dense) b->joined = join_lines(all, t->l->out);
    return b;
}

static task *add(const transfer *t, task_kind kind, int from, int into, pl_form in, pl_form out)
{
    int id = pl_lower_task(t->l, kind, t->value->name, from, into);
    task *x = &t->l->tasks.at[id];
    x->step.transfer = t->shared;
    x->step.from = in, x->step.to = out;
    x->step.type = t->value->type;
    x->step.axes = t->move->axes;
    x->step.bytes = t->move->bytes;
    return x;
}

static void add_copy(const transfer *t, int from, int into, bool pack, const copies *c)
{
    task *x = add(t, TASK_COPY, from, into, pack ? PL_PART_FROM : PL_INCOMING,
                  pack ? PL_OUTGOING : PL_PART_TO);
    x->step.n_copies = c->n;
    x->step.copy = c->at;
    x->clear = pack && !t->even;
    x->step.count = t->l->parts.at[into].bytes / t->size;
}

/* -- kinds ------------------------------------------------------------------------------------- */

/* The part after a move. */
static int add_end(const transfer *t)
{
    return pl_lower_part(t->l, t->value, &t->move->to, 0);
}

static int add_blocks(const transfer *t, const pl_placement *where)
{
    return pl_lower_part(t->l, t->value, where, t->n * t->move->block * t->size);
}

static int add_reduce(const transfer *t, int from)
{
    int into = add_end(t);
    task *x = add(t, TASK_REDUCE, from, into, PL_PART_FROM, PL_PART_TO);
    x->step.collective = PL_ALL_REDUCE;
    x->step.monoid = t->move->from.monoid;
    x->step.count = t->l->parts.at[from].bytes / t->size;
    return into;
}

static int add_slice(const transfer *t, int from)
{
    pl_copy *c = PL_NEW(t->l->out, pl_copy);
    bool ok = pl_region_copy(&t->from, &t->to, t->size, c);
    PL_ASSERT(ok);
    int into = add_end(t);
    task *x = add(t, TASK_COPY, from, into, PL_PART_FROM, PL_PART_TO);
    x->step.n_copies = 1;
    x->step.copy = c;
    return into;
}

/* The first device keeps the values, the others have nothing of the sum. */
static int add_mask(const transfer *t, int from)
{
    if (t->me == 0) return add_slice(t, from);
    int into = add_end(t);
    task *x = add(t, TASK_FILL, from, into, PL_PART_FROM, PL_PART_TO);
    x->step.monoid = t->move->to.monoid;
    x->step.count = t->l->parts.at[into].bytes / t->size;
    return into;
}

static int add_message(const transfer *t, int from)
{
    pl_collective kind = t->move->kind;
    const struct blocks *pack = kind == PL_ALL_GATHER ? NULL : find_blocks(t, true);
    const struct blocks *unpack = kind == PL_REDUCE_SCATTER ? NULL : find_blocks(t, false);
    const bool direct = !unpack || unpack->dense;
    int out = from, in, end;
    if (pack && !pack->dense) {
        out = add_blocks(t, &t->move->from);
        add_copy(t, from, out, true, &pack->joined);
    }
    in = end = add_end(t);
    if (!direct) in = add_blocks(t, &t->move->to);
    task *x = add(t, TASK_MESSAGE, out, in, out == from ? PL_PART_FROM : PL_OUTGOING,
                  direct ? PL_PART_TO : PL_INCOMING);
    x->step.collective = kind;
    x->step.monoid = t->move->from.monoid;
    x->step.count = t->move->block;
    if (!direct) add_copy(t, in, end, false, &unpack->joined);
    return end;
}

static bool gives_to(const transfer *t, int i, int j)
{
    pl_region gives = region_of(t, &t->move->from, i), gets = region_of(t, &t->move->to, j), both;
    int64_t n = pl_region_count(&gives);
    return n && pl_region_meet(&gives, &gets, &both) && pl_region_count(&both) == n;
}

/* A member that gets something, by the first of its elements in the whole tensor. */
typedef struct getter {
    int64_t first;
    int member;
} getter;

static int by_first(const void *a, const void *b)
{
    const getter *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static getter *sort_getters(const transfer *t, int *n)
{
    getter *at = PL_NEW_N(t->l->tmp, getter, t->n + 1);
    *n = 0;
    for (int j = 0; j < t->n; j++) {
        const pl_region gets = region_of(t, &t->move->to, j);
        if (pl_region_count(&gets))
            at[(*n)++] = (getter){ pl_region_global(&gets, &t->value->shape, 0), j };
    }
    qsort(at, (size_t)*n, sizeof *at, by_first);
    return at;
}

/* The first of those that begin where member i does, is not taken yet, and gets what it gives. */
static int find_getter(const transfer *t, int i, int n, const getter *at, const bool *taken)
{
    const pl_region gives = region_of(t, &t->move->from, i);
    if (!pl_region_count(&gives)) return -1;
    const int64_t first = pl_region_global(&gives, &t->value->shape, 0);
    int low = 0, high = n;
    while (low < high) {
        const int mid = (low + high) / 2;
        *(at[mid].first < first ? &low : &high) = mid + (at[mid].first < first);
    }
    for (; low < n && at[low].first == first; low++)
        if (!taken[at[low].member] && gives_to(t, i, at[low].member)) return at[low].member;
    return -1;
}

/* Whom each member gives its part to. Those that have nothing are paired in order with those that
 * get nothing: every member sends one message. */
static int *find_receivers(const transfer *t)
{
    int *to = PL_NEW_N(t->l->tmp, int, t->n), free = 0, n;
    bool *taken = PL_NEW_N(t->l->tmp, bool, t->n);
    const getter *at = sort_getters(t, &n);
    for (int i = 0; i < t->n; i++) {
        to[i] = find_getter(t, i, n, at, taken);
        if (to[i] >= 0) taken[to[i]] = true;
    }
    for (int i = 0; i < t->n; i++) {
        while (free < t->n && taken[free]) free++;
        if (to[i] < 0) taken[to[i] = free] = true;
    }
    return to;
}

static int add_permute(const transfer *t, int from)
{
    known_move *known = find_known(t);
    if (!known->receiver) known->receiver = find_receivers(t);
    const int *to = known->receiver;
    int into = add_end(t), giver = 0;
    task *x = add(t, TASK_SHIFT, from, into, PL_PART_FROM, PL_PART_TO);
    while (to[giver] != t->me) giver++;
    x->step.count = t->move->block;
    x->gets = t->move->block;
    x->to = to[t->me];
    x->step.peer = giver;
    return into;
}

/* What member `giver` gives me, or I to `taker`; empty when there is nothing. */
static pl_region find_block(const transfer *t, int giver, int taker)
{
    const pl_mesh *m = &t->l->plan->mesh;
    pl_region x;
    if (pl_halo_block(t->move, m, &t->value->shape, t->l->rank, giver, taker, &x)) return x;
    return (pl_region){ .n = 1, .digit = { { .size = 1, .unit = 1 } } };
}

/* A copy of one block between it and a part. */
static pl_copy *copy_block(const transfer *t, const pl_region *from, const pl_region *to)
{
    pl_copy *c = PL_NEW(t->l->out, pl_copy);
    bool ok = pl_region_copy(from, to, t->size, c);
    PL_ASSERT(ok); /* ranges of the same digits */
    return c;
}

/* A block to the member that stands `by` places on, and one from that as many before; returns the
 * part that comes in. All ranks have these tasks, whether or not they have such neighbours. */
static int add_border(transfer *t, int from, pl_shift by)
{
    lowering *l = t->l;
    pl_region out = find_block(t, t->me, t->me + by.by), in = find_block(t, t->me - by.by, t->me);
    pl_transfer *shared = PL_NEW(l->out, pl_transfer);
    *shared = (pl_transfer){ .value = t->value, .move = *t->move, .shift = by.by };
    t->shared = shared;
    int outgoing = pl_lower_part(l, t->value, &t->move->from, by.most * t->size);
    int incoming = pl_lower_part(l, t->value, &t->move->to, by.most * t->size);
    task *x = add(t, TASK_COPY, from, outgoing, PL_PART_FROM, PL_OUTGOING);
    x->step.copy = copy_block(t, &t->from, &out);
    x->step.n_copies = pl_region_count(&out) > 0;
    x = add(t, TASK_SHIFT, outgoing, incoming, PL_OUTGOING, PL_INCOMING);
    x->step.count = pl_region_count(&out);
    x->gets = pl_region_count(&in);
    x->step.bytes = x->gets * t->size;
    x->to = x->step.count ? t->me + by.by : -1;
    x->step.peer = x->gets ? t->me - by.by : -1;
    return incoming;
}

/* The part is put together from what I have and what the others gave. */
static int add_halo(transfer *t, int from)
{
    pl_shift by[PL_MAX_SHIFTS];
    int incoming[PL_MAX_SHIFTS], n, end;
    const pl_transfer *own = t->shared, *piece[PL_MAX_SHIFTS];
    pl_copy *c = PL_NEW_N(t->l->out, pl_copy, PL_MAX_SHIFTS + 1);
    n = pl_halo_shifts(t->move, &t->l->plan->mesh, &t->value->shape, by);
    PL_ASSERT_CMP(n, >=, 0); /* else it has no price */
    for (int k = 0; k < n; k++) {
        incoming[k] = add_border(t, from, by[k]);
        piece[k] = t->shared;
        pl_region block = find_block(t, t->me - by[k].by, t->me);
        c[k + 1] = *copy_block(t, &block, &t->to);
    }
    c[0] = *copy_block(t, &t->from, &t->to);
    t->shared = own;
    end = add_end(t);
    task *x = add(t, TASK_COPY, from, end, PL_PART_FROM, PL_PART_TO);
    int id = (int)(x - t->l->tasks.at);
    x->step.n_copies = 1;
    x->step.copy = c;
    x->piece[0] = own;
    for (int k = 0; k < n; k++) {
        t->l->tasks.at[id].piece[k + 1] = piece[k];
        pl_lower_read(t->l, id, incoming[k]);
    }
    return end;
}

/* All of a part, between the memories of a device and its host. */
static int add_host(const transfer *t, int from)
{
    int into = add_end(t);
    task *x = add(t, TASK_MESSAGE, from, into, PL_PART_FROM, PL_PART_TO);
    x->step.collective = t->move->kind;
    x->step.count = t->move->block;
    return into;
}

int pl_lower_move(lowering *l, int from, const pl_move *m)
{
    transfer t = make_transfer(l, l->parts.at[from].value, m);
    switch (m->kind) {
    case PL_SLICE: return add_slice(&t, from);
    case PL_MASK: return add_mask(&t, from);
    case PL_ALL_REDUCE: return add_reduce(&t, from);
    case PL_PERMUTE: return add_permute(&t, from);
    case PL_HALO: return add_halo(&t, from);
    case PL_TO_HOST:
    case PL_FROM_HOST: return add_host(&t, from);
    default: break;
    }
    return add_message(&t, from);
}
