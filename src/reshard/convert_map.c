/* Placements that moves of one axis at a time lead to, made when they are asked for. */
#include "reshard/convert_map.h"

#include "reshard/move.h"

#include <math.h>

pl_convert_map *pl_convert_map_new(const pl_mesh *m, pl_type type, const pl_shape *shape,
                                   int n_digits, const pl_split digit[], pl_arena *arena)
{
    pl_convert_map *x = PL_NEW(arena, pl_convert_map);
    *x = (pl_convert_map){
        .mesh = m, .type = type, .shape = *shape, .arena = arena, .n_digits = n_digits
    };
    for (int i = 0; i < n_digits; i++) x->digit[i] = digit[i];
    return x;
}

/* -- places ------------------------------------------------------------------------------------ */

int pl_convert_map_add(pl_convert_map *x, const pl_placement *where)
{
    const uint64_t hash = pl_placement_hash(where);
    PL_MAP_EACH (&x->map, hash, k)
        if (pl_placement_same(&x->at[k.value]->where, where)) return k.value;
    pl_place *p = PL_NEW(x->arena, pl_place);
    p->where = *where;
    pl_map_put(&x->map, hash, x->n, x->arena);
    PL_PUSH(x->arena, x, p);
    PL_PUSH(x->arena, &x->mark, 0);
    return x->n - 1;
}

static void see(const pl_convert_map *x, pl_place *p)
{
    if (p->seen) return;
    p->seen = true;
    p->even = pl_placement_even(&p->where, x->mesh, &x->shape);
    p->local = pl_placement_local(&p->where, x->mesh, &x->shape, 0);
    p->count = pl_shape_count(&p->local);
    p->plain = true;
    for (int k = 0; k < p->where.n; k++) p->plain &= p->where.split[k].stride == 0;
}

/* -- moves ------------------------------------------------------------------------------------- */

static int count_groups(const pl_convert_map *x)
{
    return x->mesh->n * (1 + x->n_digits);
}

/* Room for the moves of a place. */
static void make_room(const pl_convert_map *x, pl_place *p)
{
    int groups = count_groups(x), pairs = p->where.n * (p->where.n - 1) / 2;
    bool several = p->where.pending & (p->where.pending - 1);
    if (p->to) return;
    p->n_moves = groups + pairs + several;
    p->to = PL_NEW_N(x->arena, int, p->n_moves);
    p->seconds = PL_NEW_N(x->arena, double, p->n_moves);
    p->axes = PL_NEW_N(x->arena, uint8_t, pairs + several + 1);
    for (int i = 0; i < p->n_moves; i++) p->to[i] = -1, p->seconds[i] = NAN;
}

static pl_placement without_pending(const pl_placement *p, unsigned axes)
{
    pl_placement x = *p;
    x.pending &= (uint8_t)~axes;
    if (!x.pending) x.monoid = PL_SUM;
    return x;
}

/* From where an axis does nothing. */
static void find_uses(pl_convert_map *x, const pl_placement *where, int axis, int *to)
{
    pl_placement masked = *where;
    for (int i = 0; i < x->n_digits; i++) {
        pl_placement split = *where;
        pl_split d = x->digit[i];
        d.axis = (int8_t)axis;
        if (pl_placement_slice(&split, x->mesh, &x->shape, d))
            to[1 + i] = pl_convert_map_add(x, &split);
    }
    masked.pending |= (uint8_t)(1u << axis);
    if (!where->pending || where->monoid == PL_SUM) to[0] = pl_convert_map_add(x, &masked);
}

/* What an axis that does something may split instead is what it may split when it does nothing. */
static void find_axis_moves(pl_convert_map *x, int place, int axis)
{
    pl_place *p = x->at[place];
    pl_placement where = p->where;
    unsigned bit = 1u << axis;
    int group = axis * (1 + x->n_digits);
    if (p->found & bit) return;
    p->found |= bit;
    make_room(x, p);
    int *to = p->to + group;
    if (where.pending & bit)
        where = without_pending(&where, bit);
    else if (pl_placement_find(&where, axis) < 0) {
        find_uses(x, &where, axis, to);
        return;
    } else if (!pl_placement_gather(&where, x->mesh, &x->shape, axis))
        return;
    int idle = to[0] = pl_convert_map_add(x, &where);
    find_axis_moves(x, idle, axis);
    for (int i = 1; i <= x->n_digits; i++) {
        int end = x->at[idle]->to[group + i];
        to[i] = end == place ? -1 : end;
    }
}

int pl_convert_map_gather(pl_convert_map *x, int place, int axis)
{
    find_axis_moves(x, place, axis);
    return x->at[place]->to[axis * (1 + x->n_digits)];
}

/* Two axes change places. */
static void find_swaps(pl_convert_map *x, const pl_place *p)
{
    const pl_placement *where = &p->where;
    int *to = p->to + count_groups(x), n = 0;
    for (int i = 0; i < where->n; i++)
        for (int j = i + 1; j < where->n; j++, n++) {
            pl_placement y = *where;
            int a = where->split[i].axis, b = where->split[j].axis;
            y.split[i].axis = (int8_t)b, y.split[j].axis = (int8_t)a;
            y = pl_placement_normal(&y, x->mesh, &x->shape);
            p->axes[n] = (uint8_t)(1u << a | 1u << b);
            if (!pl_placement_same(&y, where)) to[n] = pl_convert_map_add(x, &y);
        }
    if (where->pending & (where->pending - 1)) {
        pl_placement y = without_pending(where, where->pending);
        p->axes[n] = where->pending;
        to[n] = pl_convert_map_add(x, &y);
    }
}

void pl_convert_map_open(pl_convert_map *x, int place)
{
    pl_place *p = x->at[place];
    if (p->open) return;
    p->open = true;
    see(x, p);
    make_room(x, p);
    for (int a = 0; a < x->mesh->n; a++)
        if (x->mesh->axis[a].size > 1) find_axis_moves(x, place, a);
    find_swaps(x, p);
}

/* -- prices ------------------------------------------------------------------------------------ */

typedef struct move {
    pl_collective kind;
    unsigned axes;
    const pl_place *from, *to;
} move;

/* Do the blocks of an axis lie in a part one after another, each dense? `split` has the axis as the
 * minor-most of its digit and the part lacks it: then what is major to that digit must be one
 * position. */
static bool lies_in_order(const pl_convert_map *x, const pl_place *from, const pl_placement *split,
                          int axis)
{
    const pl_split *s = &split->split[pl_placement_find(split, axis)];
    const pl_placement *part = &from->where;
    int64_t top = pl_split_top(s, x->shape.dim[s->dim]);
    int64_t above = x->shape.dim[s->dim] / top;
    for (int d = 0; d < s->dim; d++)
        if (from->local.dim[d] > 1) return false;
    for (int i = 0; i < part->n; i++) {
        const pl_split *y = &part->split[i];
        if (y->dim == s->dim && y->size && y->unit >= top) above /= x->mesh->axis[y->axis].size;
    }
    return above <= 1;
}

/* Elements of the largest block of a move of one axis; -1: that has to be looked for. */
static int64_t plain_block(const move *m, int axis)
{
    const pl_place *from = m->from, *to = m->to;
    if (!from->plain || !to->plain) return -1;
    if (m->kind == PL_ALL_GATHER || m->kind == PL_ALL_REDUCE) return from->count;
    if (m->kind != PL_ALL_TO_ALL) return to->count;
    int left = pl_placement_dim(&from->where, axis), taken = pl_placement_dim(&to->where, axis);
    if (left == taken) return -1;
    return from->count / from->local.dim[taken] * to->local.dim[taken];
}

/* Two axes of equal size that change places: each device gives all it has to one other. */
static bool price_swap(const pl_convert_map *x, const move *m, double *seconds)
{
    int a = __builtin_ctz(m->axes), b = 31 - __builtin_clz(m->axes);
    bool two = m->kind == PL_ALL_TO_ALL && m->axes == (1u << a | 1u << b);
    if (!two || x->mesh->axis[a].size != x->mesh->axis[b].size || !m->from->even || !m->to->even ||
        !m->from->plain || !m->to->plain)
        return false;
    int64_t bytes = pl_move_volume(PL_PERMUTE, 2, m->from->count, pl_type_bytes(x->type));
    *seconds = pl_move_seconds(PL_PERMUTE, x->mesh, m->axes, bytes);
    return true;
}

/* pl_move_price without looking at the blocks, where they are plain. False: it has to look. */
static bool price_plainly(const pl_convert_map *x, const move *m, double *seconds)
{
    int axis = __builtin_ctz(m->axes), n = pl_move_members(x->mesh, m->axes);
    int64_t element = pl_type_bytes(x->type), block;
    bool in = m->kind == PL_ALL_GATHER || m->kind == PL_ALL_TO_ALL;
    bool out = m->kind == PL_REDUCE_SCATTER || m->kind == PL_ALL_TO_ALL;
    bool even = m->from->even && m->to->even;
    if (m->kind == PL_ALL_TO_ALL && m->axes & (m->axes - 1)) return price_swap(x, m, seconds);
    if ((block = plain_block(m, axis)) < 0) return false;
    if (m->kind == PL_ALL_TO_ALL && block == m->from->count && block == m->to->count) return false;
    *seconds =
        pl_move_seconds(m->kind, x->mesh, m->axes, pl_move_volume(m->kind, n, block, element));
    if (m->kind == PL_SLICE || m->kind == PL_MASK)
        *seconds += pl_move_copy_seconds(x->mesh, block * element);
    if (out && !(even && lies_in_order(x, m->from, &m->to->where, axis)))
        *seconds += pl_move_copy_seconds(x->mesh, n * block * element);
    if (in && !(even && lies_in_order(x, m->to, &m->from->where, axis)))
        *seconds += pl_move_copy_seconds(x->mesh, n * block * element);
    return true;
}

/* Does a move change the order of axes in one dimension, or of two axes? */
static bool is_narrow(const move *m)
{
    int axis = __builtin_ctz(m->axes);
    return m->axes & (m->axes - 1) ||
           pl_placement_dim(&m->from->where, axis) == pl_placement_dim(&m->to->where, axis);
}

static move move_of(const pl_convert_map *x, const pl_place *from, int i)
{
    int groups = count_groups(x), axis = i / (1 + x->n_digits);
    bool first = i % (1 + x->n_digits) == 0;
    const pl_placement *where = &from->where;
    move m = { .from = from, .to = x->at[from->to[i]] };
    m.axes = i < groups ? 1u << axis : from->axes[i - groups];
    if (where->pending & m.axes)
        m.kind = i >= groups || first ? PL_ALL_REDUCE : PL_REDUCE_SCATTER;
    else if (i >= groups || pl_placement_find(where, axis) >= 0)
        m.kind = i < groups && first ? PL_ALL_GATHER : PL_ALL_TO_ALL;
    else
        m.kind = first ? PL_MASK : PL_SLICE;
    return m;
}

static double price(const pl_convert_map *x, const move *m)
{
    double seconds;
    bool odd = m->kind == PL_ALL_TO_ALL && !(m->from->even && m->to->even);
    if (odd && is_narrow(m)) return INFINITY;
    if (price_plainly(x, m, &seconds)) return seconds;
    pl_move y = { .kind = m->kind, .axes = m->axes, .from = m->from->where, .to = m->to->where };
    return pl_move_price(&y, x->type, x->mesh, &x->shape) ? y.seconds : INFINITY;
}

double pl_convert_map_price(pl_convert_map *x, int place, int i)
{
    const pl_place *p = x->at[place];
    if (!isnan(p->seconds[i])) return p->seconds[i];
    see(x, x->at[p->to[i]]);
    move m = move_of(x, p, i);
    return p->seconds[i] = price(x, &m);
}
