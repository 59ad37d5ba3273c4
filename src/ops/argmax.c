/* argmax: the index of the largest element along letter v, of the least with least=1; of equal ones
 * the first, or with last=1 the last. A NaN counts only where all are. v is whole. No gradient. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double sign = pl_node_int(n, "least", 0) ? -1 : 1;
    bool last = pl_node_int(n, "last", 0);
    int v = pl_sig_find(n->sig, 'v');
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do {
        int64_t best = -1;
        double top = 0;
        for (int64_t i = 0; i < s->factor[v].n; i++) {
            double x = sign * pl_type_get(n->in[0]->type, in[0], w.at[0] + i * w.stride[0][v]);
            bool better = best < 0 ? x == x : x > top || (last && x == top);
            if (better) best = i, top = x;
        }
        pl_type_put(n->out[0]->type, out[0], w.at[1], best < 0 ? 0 : (double)best);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_argmax = {
    .name = "argmax",
    .sig = "...v->...",
    .whole = "v",
    .types = "t->a",
    .attrs = "last=0 least=0 to=i64",
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } } },
                            { "avb->ab; least=1 last=1", .in = { { 3, { 2, 7, 3 }, "i64" } } },
                            { "; last=1 to=i32", .in = { { 2, { 4, 7 }, "u8" } } }),
};
