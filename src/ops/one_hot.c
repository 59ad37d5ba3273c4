/* one_hot: `on` at each id of a new letter v, `off` elsewhere: "...->...v; v=10". v stands wherever
 * the output has it and may be split; an id outside of it has no `on`. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double on = pl_node_real(n, "on", 0), off = pl_node_real(n, "off", 0);
    int v = pl_sig_find(n->sig, 'v');
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do {
        double id = pl_type_get(n->in[0]->type, in[0], w.at[0]);
        bool here = id == (double)(s->factor[v].lo + w.index[v]);
        pl_type_put(n->out[0]->type, out[0], w.at[1], here ? on : off);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_one_hot = {
    .name = "one_hot",
    .sig = "...->...v",
    .lookup = "v",
    .types = "i->a",
    .attrs = "off=0 on=1 to=f32",
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; v=5", .in = { { 2, { 4, 3 }, "i64", -1, 6 } } },
                    { "ab->avb; v=4 off=-1 on=2 to=i32", .in = { { 2, { 4, 3 }, "i32" } } }),
};
