/* where(c, a, b): y = a where c is not 0, else b, one element each, bit for bit. Each of the three
 * may be repeated: "bsk,...". The gradient goes to the one that was taken. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/elementwise.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *to = pl_builder_fmt(b, "->; to=%s", pl_type_name(n->out[0]->type));
    bool own = *pl_elementwise_spec(b, n, "{3}->{3}");
    const char *a = own ? pl_spec(b, n, "{0},{3},->{3}") : "...,...,->...";
    const char *other = own ? pl_spec(b, n, "{0},,{3}->{3}") : "...,,...->...";
    pl_value *zero = pl_add_value(b, &pl_op_fill, NULL, to, 0, NULL);
    dx[1] = pl_elementwise_fold(b, n, 1, PL_ADD(b, &pl_op_where, a, n->in[0], dy[0], zero));
    dx[2] = pl_elementwise_fold(b, n, 2, PL_ADD(b, &pl_op_where, other, n->in[0], zero, dy[0]));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 3));
    do {
        int taken = ((const uint8_t *)in[0])[w.at[0]] ? 1 : 2;
        pl_move_element(n->out[0]->type, out[0], w.at[3], in[taken], w.at[taken]);
    } while (pl_walk_next(&w));
}

#define TRUTH "u8", 0, 2

const pl_op pl_op_where = {
    .name = "where",
    .sig = "...,...,...->...",
    .form = "0123 013 023 123 03 13 23",
    .types = "b,t,t->t",
    .linear = "12",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, TRUTH }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "sk,bsk,->bsk", .in = { { 2, { 4, 3 }, TRUTH }, { 3, { 2, 4, 3 } }, { 0 } } },
        { "bk,sk,bs->bsk", .in = { { 2, { 2, 3 }, TRUTH }, { 2, { 4, 3 } }, { 2, { 2, 4 } } } },
        { "n,,n->n", .in = { { 1, { 6 }, TRUTH }, { 0, .type = "i64" }, { 1, { 6 }, "i64" } } }),
};
