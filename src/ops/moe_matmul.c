/* moe_matmul: each token times the matrix of each expert that it chose:
 * y[g, t, k, m] = sum over h of x[g, t, h] w[e, h, m], where e = ids[g, t, k]. "gth,gtk,ehm->gtkm".
 * x may have k too, and y may lack it: then a token's choices are summed. No expert has slots, so
 * that nothing is dropped and nothing is padded: the rows of an expert are as many as chose it.
 * Source: Gale et al., "MegaBlocks", MLSys 2023.
 *
 * All letters split freely. e is a lookup letter: a share gives its experts' rows, and zeros for
 * the others, and shares are summed. */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/lib/route.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] =
        PL_ADD(b, &pl_op_moe_matmul, pl_spec(b, n, "{3},{1},{2}->{0}"), dy[0], n->in[1], n->in[2]);
    dx[2] = PL_ADD(b, &pl_op_moe_matmul_grad, pl_spec(b, n, "{0},{1},{3}->{2}"), n->in[0], n->in[1],
                   dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type t = n->out[0]->type;
    const uint32_t rest = ((1u << n->sig->n_factors) - 1) & ~pl_walk_mask(n, 3);
    pl_walk o = pl_walk_new(s, pl_walk_mask(n, 3)),
            i = pl_walk_new(s, rest & ~pl_walk_letters(n, "e"));
    do {
        double sum = 0;
        pl_walk_to(&i, &o);
        do {
            int64_t row = pl_lookup_row(&i, in, 1, 2);
            if (row >= 0)
                sum += pl_type_get(t, in[0], i.at[0]) * pl_type_get(t, in[2], i.at[2] + row);
        } while (pl_walk_next(&i));
        pl_type_put(t, out[0], o.at[3], sum);
    } while (pl_walk_next(&o));
}

const pl_op pl_op_moe_matmul = {
    .name = "moe_matmul",
    .sig = "gth,gtk,ehm->gtkm",
    .form = "e:2 013 13 01 02 23",
    .lookup = "e",
    .linear = "0|2",
    .types = "f,i,f->f",
    .grad = grad,
    .flops = pl_route_flops,
    .multiplies = true,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 3, { 2, 3, 4 } }, { 3, { 2, 3, 2 }, "i32", 0, 4 }, { 3, { 4, 4, 2 } } } },
        { "gtkm,gtk,ehm->gtkh",
          .in = { { 4, { 2, 3, 2, 4 } }, { 3, { 2, 3, 2 }, "i64", -1, 4 }, { 3, { 3, 2, 4 } } } },
        { "gtkm,gtk,ehm->gth",
          .in = { { 4, { 2, 2, 2, 4 } }, { 3, { 2, 2, 2 }, "i32", 0, 3 }, { 3, { 3, 2, 4 } } } }),
};
