/* cross_entropy_grad: dx[v] = (exp(x[v] - lse) - [v = c]) dloss per row of logits x with target
 * class c; 0 where the target is ignored. v passes: a share compares the target with global
 * positions. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

#include <math.h>

static double flops(const pl_share *s)
{
    return 4.0 * (double)pl_shape_count(&s->out[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int v = pl_sig_find(n->sig, 'v');
    int64_t lo = s->factor[v].lo, classes = n->sig->factor[v].size;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 4));
    do {
        double c = pl_type_get(n->in[1]->type, in[1], w.at[1]), dx = 0;
        double lse = pl_type_get(PL_F32, in[2], w.at[2]),
               dloss = pl_type_get(PL_F32, in[3], w.at[3]);
        if (c >= 0 && c < (double)classes)
            dx = dloss * (exp(pl_type_get(t, in[0], w.at[0]) - lse) -
                          (c == (double)(lo + w.index[v]) ? 1 : 0));
        pl_type_put(t, out[0], w.at[4], dx);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .sig = "...v,...,...,...->...v",
    .form = "v:04 01234",
    .linear = "3",
    .types = "f,i,F,F->f",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 3, { 2, 3, 5 } },
                            { 2, { 2, 3 }, "i32", -1, 6 },
                            { 2, { 2, 3 } },
                            { 2, { 2, 3 } } } },
            { NULL,
              .in = { { 2, { 4, 6 }, "bf16" }, { 1, { 4 }, "i64" }, { 1, { 4 } }, { 1, { 4 } } } },
            { 0 },
        },
};
