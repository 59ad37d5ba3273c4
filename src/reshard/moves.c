/* The moves that lead out of a placement: pl_reshard_moves_make(). */
#include "reshard/moves.h"
#include "reshard/move.h"

/* -- digits ------------------------------------------------------------------------------------ */

enum { MOST_PRODUCTS = 1 << PL_MAX_AXES };

typedef struct finder {
    const pl_bound *b;
    pl_move_cuts *cuts;
    pl_arena *arena;
    bool few;
    unsigned dims; /* in which digits that are back are of use */
    int n_products;
    int64_t product[MOST_PRODUCTS]; /* of the sizes of some axes */
} finder;

static void add_cut(finder *f, int axis, pl_split x)
{
    x.axis = (int8_t)axis;
    for (int i = f->cuts->n - 1; i >= 0; i--) {
        const pl_split *y = &f->cuts->at[i].split;
        if (y->axis == axis && y->dim == x.dim && y->size == x.size && y->unit == x.unit) return;
    }
    pl_cut c = { x, pl_reshard_bound_is_home(f->b, &x), pl_reshard_bound_is_back(f->b, &x) };
    if (!c.home && c.back && !(f->dims >> x.dim & 1)) return;
    PL_PUSH(f->arena, f->cuts, c);
}

/* Where an axis may cut a digit: below products of other axes. Few, or uneven: all of it, below
 * those that cut it by then. */
static void add_cuts(finder *f, int axis, pl_split field)
{
    int64_t parts = f->b->q->mesh->axis[axis].size;
    for (int i = 0; i < f->n_products && !f->few; i++) {
        pl_split x = field;
        if (field.size % (parts * f->product[i])) continue;
        x.unit = field.unit * (field.size / (parts * f->product[i]));
        x.size = parts;
        add_cut(f, axis, x);
    }
    if (f->few || !f->b->even) add_cut(f, axis, field);
}

/* What lies above and below a strided digit of a dimension. */
static void add_gaps(finder *f, int axis, pl_split x, int64_t whole)
{
    int64_t top = x.size * x.unit, unit = x.unit;
    x.size = whole / top, x.unit = top;
    if (x.size > 1) add_cuts(f, axis, x);
    x.size = unit, x.unit = 1;
    if (unit > 1) add_cuts(f, axis, x);
}

static void find_products(finder *f)
{
    const pl_mesh *m = f->b->q->mesh;
    f->product[f->n_products++] = 1;
    for (int a = 0; a < m->n; a++)
        for (int i = 0, n = f->n_products; i < n && m->axis[a].size > 1; i++) {
            int64_t x = f->product[i] * m->axis[a].size;
            bool known = false;
            for (int k = 0; k < f->n_products; k++) known |= f->product[k] == x;
            if (!known) f->product[f->n_products++] = x;
        }
}

/* A dimension that no end splits, where an axis is in nobody's way, and out of order wherever it
 * cuts it: one digit for each axis is as good as any, and others of this kind are no better. -1:
 * none. */
static int find_spare(const pl_bound *b, unsigned used)
{
    for (int d = b->q->shape.rank - 1; d >= 0 && b->even; d--) {
        int64_t size = b->q->shape.dim[d];
        pl_split x = { .dim = (int8_t)d, .size = size, .unit = 1 };
        if (!(used >> d & 1) && size % pl_move_members(b->q->mesh, b->axes) == 0 &&
            pl_reshard_bound_is_back(b, &x))
            return d;
    }
    return -1;
}

/* Each axis cuts what those before it leave. */
static void add_spares(finder *f, int dim)
{
    const pl_question *q = f->b->q;
    int64_t unit = q->shape.dim[dim];
    for (int a = 0; a < q->mesh->n; a++) {
        if (!(f->b->axes >> a & 1)) continue;
        int64_t parts = q->mesh->axis[a].size;
        unit /= parts;
        add_cut(f, a, (pl_split){ .dim = (int8_t)dim, .size = parts, .unit = unit });
    }
}

static void add_all_cuts(finder *f, int axis)
{
    const pl_question *q = f->b->q;
    if (f->b->split >> axis & 1) add_cut(f, axis, f->b->home[axis]);
    for (int d = 0; d < q->shape.rank; d++)
        add_cuts(f, axis, (pl_split){ .dim = (int8_t)d, .size = q->shape.dim[d], .unit = 1 });
    for (int i = 0; i <= q->n; i++)
        for (int k = 0; k < q->end[i].n; k++) {
            pl_split x = q->end[i].split[k];
            if (!x.size) continue;
            add_cuts(f, axis, x);
            add_gaps(f, axis, x, q->shape.dim[x.dim]);
        }
}

void pl_reshard_moves_cuts(pl_move_cuts *cuts, pl_arena *arena, const pl_bound *b, bool few)
{
    finder f = { .b = b, .cuts = cuts, .arena = arena, .few = few, .dims = ~0u };
    const pl_question *q = b->q;
    unsigned used = 0;
    cuts->n = 0;
    find_products(&f);
    for (int i = 0; i <= q->n; i++)
        for (int k = 0; k < q->end[i].n; k++) used |= 1u << q->end[i].split[k].dim;
    int spare = few ? -1 : find_spare(b, used);
    if (spare >= 0) add_spares(&f, spare), f.dims = used;
    for (int a = 0; a < q->mesh->n; a++)
        if (b->axes >> a & 1) add_all_cuts(&f, a);
}

/* -- what is allowed --------------------------------------------------------------------------- */

/* Without strided parts on the way, one that is there only becomes whole, or stays as it is; and
 * one that is wanted is only cut from what is whole. */
static bool keeps_plain(const pl_placement *target, const pl_move *x)
{
    for (int i = 0; i < x->to.n; i++) {
        const pl_split *y = &x->to.split[i];
        if (!y->size) continue;
        const pl_placement *as = x->kind == PL_SLICE && x->axes >> y->axis & 1 ? target : &x->from;
        int k = pl_placement_find(as, y->axis);
        if (k < 0 || as->split[k].dim != y->dim || as->split[k].size != y->size ||
            as->split[k].unit != y->unit)
            return false;
    }
    for (int i = 0; i < x->from.n; i++)
        if (x->from.split[i].size && x->axes >> x->from.split[i].axis & 1)
            return x->kind == PL_ALL_GATHER;
    return true;
}

static void see(const pl_moves *m, const pl_placement *from, pl_change c, const pl_placement *to)
{
    const pl_question *q = m->b->q;
    pl_move x = { .kind = c.kind, .axes = c.axes, .from = *from, .to = *to };
    if (pl_placement_same(from, to)) return;
    if (q->no_strided && !keeps_plain(&q->end[q->n], &x)) return;
    m->see(m->search, &x);
}

/* -- moves ------------------------------------------------------------------------------------- */

/* The first of a set. */
static int first_of(unsigned axes)
{
    return __builtin_ctz(axes);
}

/* Minor ones first: of uneven digits others have no parts that can be put together. */
static bool gather_axes(const pl_moves *m, pl_placement *p, unsigned axes)
{
    for (int i = p->n - 1; i >= 0; i--) {
        int axis = p->split[i].axis;
        if (!(axes >> axis & 1)) continue;
        if (!pl_placement_gather(p, m->b->q->mesh, &m->b->q->shape, axis)) return false;
    }
    return true;
}

/* The axes of `left` go to each digit that is not where the target has them; a single one that
 * comes home, to those that are. The order matters where digits are uneven. */
static void place_rest(const pl_moves *m, const pl_placement *from, pl_change c,
                       const pl_placement *base, unsigned left)
{
    const pl_question *q = m->b->q;
    unsigned next = m->b->even ? left & -left : left;
    bool home = c.home == c.axes;
    if (!left) see(m, from, c, base);
    for (int i = 0; i < m->cuts->n && left; i++) {
        const pl_cut *x = &m->cuts->at[i];
        unsigned axis = 1u << x->split.axis;
        pl_placement p = *base;
        if (!(next & axis) || x->home != home || (!home && x->back != !!(c.back & axis))) continue;
        if (pl_placement_slice(&p, q->mesh, &q->shape, x->split))
            place_rest(m, from, c, &p, left & ~axis);
    }
}

/* `base` holds what the group of the axes has together; each way to split it over them. */
static void place_axes(const pl_moves *m, const pl_placement *from, pl_change c, pl_placement base)
{
    const pl_question *q = m->b->q;
    const pl_placement *to = &q->end[q->n];
    bool one = !(c.axes & (c.axes - 1));
    for (int i = 0; i < to->n && !one; i++) /* in this order: uneven digits are shared out in it */
        if (c.home >> to->split[i].axis & 1 &&
            !pl_placement_slice(&base, q->mesh, &q->shape, m->b->home[to->split[i].axis]))
            return;
    place_rest(m, from, c, &base, one ? c.axes : c.axes & ~c.home);
}

/* Do all devices of a group have the same together? Of uneven parts pl_move_price sees that. */
static bool has_same(const pl_moves *m, const pl_placement *from, const pl_placement *to,
                     unsigned axes)
{
    const pl_question *q = m->b->q;
    pl_placement x = *from, y = *to;
    if (!m->b->even &&
        !(pl_placement_even(from, q->mesh, &q->shape) && pl_placement_even(to, q->mesh, &q->shape)))
        return true;
    return gather_axes(m, &x, axes) && gather_axes(m, &y, axes) && pl_placement_same(&x, &y);
}

/* The axis of split i goes to split j, that of j to k, that of k to i; k = i: two change places. */
static void turn_splits(const pl_moves *m, const pl_placement *from, pl_change c, int i, int j,
                        int k)
{
    const pl_split *x = from->split;
    pl_placement to = *from;
    to.split[j].axis = x[i].axis, to.split[k].axis = x[j].axis;
    if (k != i) to.split[i].axis = x[k].axis;
    to = pl_placement_normal(&to, m->b->q->mesh, &m->b->q->shape);
    if (has_same(m, from, &to, c.axes)) see(m, from, c, &to);
}

static void turn_axes(const pl_moves *m, const pl_placement *from, pl_change c)
{
    unsigned left = c.axes & (c.axes - 1), last = left & (left - 1);
    int i = pl_placement_find(from, first_of(c.axes)), j = pl_placement_find(from, first_of(left));
    int k = last ? pl_placement_find(from, first_of(last)) : i;
    turn_splits(m, from, c, i, j, k);
    if (last) turn_splits(m, from, c, i, k, j);
}

static pl_placement without_pending(const pl_placement *p, unsigned axes)
{
    pl_placement x = *p;
    x.pending &= (uint8_t)~axes;
    if (!x.pending) x.monoid = PL_SUM;
    return x;
}

static void mask_axis(const pl_moves *m, const pl_placement *from, pl_change c)
{
    const pl_question *q = m->b->q;
    pl_placement to = *from;
    bool sum = q->end[q->n].monoid == PL_SUM && (!from->pending || from->monoid == PL_SUM);
    to.pending |= (uint8_t)c.axes;
    if (sum) see(m, from, c, &to);
}

void pl_reshard_moves_make(const pl_moves *m, const pl_placement *from, pl_change c)
{
    pl_placement base = *from;
    if (c.turn) {
        turn_axes(m, from, c);
        return;
    }
    switch (c.kind) {
    case PL_MASK: mask_axis(m, from, c); return;
    case PL_SLICE: break;
    case PL_ALL_REDUCE:
    case PL_REDUCE_SCATTER: base = without_pending(from, c.axes); break;
    default:
        if (!gather_axes(m, &base, c.axes)) return;
    }
    if (c.kind == PL_ALL_REDUCE || c.kind == PL_ALL_GATHER)
        see(m, from, c, &base);
    else
        place_axes(m, from, c, base);
}
