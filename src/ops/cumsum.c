/* cumsum: sums along letter v up to each element: of all before it and itself, or without itself
 * (exclusive=1); with reverse=1 of all behind it. v is whole. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec =
        pl_builder_fmt(b, "{1}->{0}; exclusive=%d reverse=%d", pl_node_int(n, "exclusive", 0) != 0,
                       pl_node_int(n, "reverse", 0) == 0);
    dx[0] = PL_ADD(b, &pl_op_cumsum, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    bool exclusive = pl_node_int(n, "exclusive", 0), reverse = pl_node_int(n, "reverse", 0);
    int v = pl_sig_find(n->sig, 'v');
    int64_t count = s->factor[v].n, from = reverse ? count - 1 : 0, step = reverse ? -1 : 1;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1) & ~(1u << v));
    do {
        double sum = 0;
        for (int64_t k = 0, i = from; k < count; k++, i += step) {
            double x = pl_type_get(t, in[0], w.at[0] + i * w.stride[0][v]);
            pl_type_put(t, out[0], w.at[1] + i * w.stride[1][v], exclusive ? sum : sum + x);
            sum += x;
        }
    } while (pl_walk_next(&w));
}

const pl_op pl_op_cumsum = {
    .name = "cumsum",
    .sig = "...v->...v",
    .whole = "v",
    .types = "t",
    .linear = "0",
    .attrs = "exclusive=0 reverse=0",
    .grad = grad,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } } },
                            { "; exclusive=1 reverse=1", .in = { { 2, { 4, 7 } } } },
                            { "vn->vn; reverse=1", .in = { { 2, { 5, 4 } } } },
                            { "; exclusive=1", .in = { { 2, { 4, 3 }, "i64" } } }),
};
