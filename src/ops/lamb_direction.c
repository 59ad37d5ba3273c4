/* lamb_direction: where a step of LAMB goes, before it is known how far, and the moments, in place.
 *
 *   in   0 w f32, 1 g float, 2 m f32, 3 v f32, 4 step (an integer, from 1), 5 scale f32
 *   out  u = m / (1 - beta1^step) / (sqrt(v) / sqrt(1 - beta2^step) + eps) + decay w, m, v
 *
 * with the moments of adamw (ops/lib/adam.h). What follows are the norms of w and u, which are of
 * all of the tensor however it is split (square_sum), and lamb.
 * Source: You et al., Large batch optimization for deep learning, ICLR 2020, algorithm 2. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

enum { W, G, M, V, STEP, SCALE };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_adam a = pl_adam_new(n, 1, pl_type_get(n->in[STEP]->type, in[STEP], 0),
                                  pl_type_get(n->in[SCALE]->type, in[SCALE], 0), PL_ADAMW);
    const int u = n->n_in, m = n->n_in + 1;
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, W));
    do {
        const double w = pl_type_get(n->in[W]->type, in[W], i.at[W]),
                     g = a.scale * pl_type_get(n->in[G]->type, in[G], i.at[G]);
        const double d = pl_adam_move(&a, g, n->out[1]->type, out[1], out[2], i.at[m]);
        pl_type_put(n->out[0]->type, out[0], i.at[u], d + a.decay * w);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_lamb_direction = {
    .name = "lamb_direction",
    .sig = "...,...,...,...,,->...,...,...",
    .inplace = "-23",
    .types = "F,f,F,F,i,F->F,F,F",
    .attrs = PL_ADAM_ATTRS,
    .infer = pl_adam_infer,
    .flops = pl_adam_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 6 } },
                                            { 2, { 4, 6 } },
                                            { 2, { 4, 6 } },
                                            { 2, { 4, 6 }, .lo = 0.1, .hi = 1 },
                                            { 0, { 0 }, "i64", 1, 5 },
                                            { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
                            { "; beta1=0.8 beta2=0.95 eps=1e-3 decay=0.1",
                              .in = { { 1, { 6 } },
                                      { 1, { 6 }, "bf16" },
                                      { 1, { 6 } },
                                      { 1, { 6 }, .lo = 0.1, .hi = 1 },
                                      { 0, { 0 }, "i64", 1, 5 },
                                      { 0, { 0 }, .lo = 0.5, .hi = 1 } } }),
};
