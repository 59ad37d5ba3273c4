/* cross_entropy: per row of logits x and its target class c,
 *   lse = log sum_v exp(x[v]),  loss = lse - x[c];
 * a target below 0, or not below the number of classes, is ignored: loss 0. The mean over rows is
 * the model's. Loss and lse (kept for the gradient) are f32 whatever the logits are. No gradient
 * flows through lse.
 * Source: definition; the row maximum is subtracted first so that exp cannot overflow. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    if (dy[1] && !b->err.code)
        pl_err_set(&b->err, PL_EUNSUPPORTED,
                   "node '%s': no gradient flows through the log-sum-exp of cross_entropy",
                   n->name);
    dx[0] = PL_ADD(b, &pl_op_cross_entropy_grad, pl_spec(b, n, "{0},{1},{3},{2}->{0}"), n->in[0],
                   n->in[1], n->out[1], dy[0]);
}

static double flops(const pl_share *s)
{
    return 4.0 * (double)pl_shape_count(&s->in[0]); /* max, sub, exp, sum */
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->in[0]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 2));
    int v = pl_sig_find(n->sig, 'v');
    int64_t classes = s->factor[v].n, step = w.stride[0][v];
    do {
        double top = -INFINITY, sum = 0;
        for (int64_t i = 0; i < classes; i++)
            top = fmax(top, pl_type_get(t, in[0], w.at[0] + i * step));
        for (int64_t i = 0; i < classes; i++)
            sum += exp(pl_type_get(t, in[0], w.at[0] + i * step) - top);
        double lse = top + log(sum), c = pl_type_get(n->in[1]->type, in[1], w.at[1]);
        bool live = c >= 0 && c < (double)classes;
        double loss = live ? lse - pl_type_get(t, in[0], w.at[0] + (int64_t)c * step) : 0;
        pl_type_put(PL_F32, out[0], w.at[2], loss);
        pl_type_put(PL_F32, out[1], w.at[3], lse);
    } while (pl_walk_next(&w));
}

/* The loss without lse. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    return PL_ADD(b, &pl_op_cross_entropy, spec, in[0], in[1]);
}

const pl_op pl_op_cross_entropy = {
    .name = "cross_entropy",
    .sig = "...v,...->...,...",
    .whole = "v",
    .types = "f,i->F,F",
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 3, { 4, 3, 5 } }, { 2, { 4, 3 }, "i32", 0, 5 } }, build },
            { "bsv,sb->sb,bs",
              .in = { { 3, { 2, 3, 4 }, .lo = -9, .hi = 9 }, { 2, { 3, 2 }, "i64", -2, 6 } },
              build },
            { 0 },
        },
};
