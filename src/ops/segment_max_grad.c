/* segment_max_grad: x, y = segment_max and dy give dx: each bag hands its dy to the first of its
 * rows that is the largest; where bags overlap these add. n is whole, as the first is of the bag;
 * a share of the bags leaves a partial sum. */
#include "ops/lib/move.h"
#include "ops/lib/segment.h"
#include "ops/list.h"

enum { X, Y, DY, BEGIN, END };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type type = n->out[0]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, DY));
    const int64_t step = pl_segment_step(&w, X);
    int64_t whole;
    pl_move_zero(type, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        const pl_range rows = pl_segment_rows(&w, in, BEGIN, &whole);
        const double y = pl_type_get(type, in[Y], w.at[Y]);
        int64_t i = 0, at = w.at[X] + rows.lo * step;
        while (i < rows.n && pl_type_get(type, in[X], at) != y) i++, at += step;
        if (i < rows.n)
            pl_type_put(type, out[0], at,
                        pl_type_get(type, out[0], at) + pl_type_get(type, in[DY], w.at[DY]));
    } while (pl_walk_next(&w));
}

/* Four different numbers: most y are some row of their bag, and most bags have ties. */
#define TIES "bf16", .lo = 1, .hi = 1.03

const pl_op pl_op_segment_max_grad = {
    .name = "segment_max_grad",
    .sig = "nh,bh,bh,b,b->nh",
    .whole = "n",
    .linear = "2",
    .types = "f,f,f,i,i->f",
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 6, 4 }, TIES },
                                            { 2, { 4, 4 }, TIES },
                                            { 2, { 4, 4 }, "bf16" },
                                            { 1, { 4 }, "i32", 0, 4 },
                                            { 1, { 4 }, "i32", 2, 7 } } }),
};
