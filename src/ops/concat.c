/* concat: 1 to 9 inputs one after the other along a letter of the output: "...a,...b->...v" where
 * v = a + b, or "bshd,bshd,bshd->bs(vhd)" where every input is one of v = 3.
 *
 * The letter that counts through the inputs is the one that no input has; an input has its own
 * letter in its place, that the output lacks, or none. These letters are whole, whatever they are
 * called: ops/lib/pieces.h. The gradient is a split. */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/lib/pieces.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{%d}->", n->n_in);
    for (int i = 0; i < n->n_in; i++) spec = pl_builder_fmt(b, "%s%s{%d}", spec, i ? "," : "", i);
    const pl_node *split = pl_add_node(b, &pl_op_split, NULL, pl_spec(b, n, spec), 1, dy);
    for (int i = 0; split && i < n->n_in; i++) dx[i] = split->out[i];
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    if (n->n_in < 1) return pl_err_set(err, PL_EINPUT, "takes 1 to %d inputs", PL_MAX_PIECES);
    return pl_pieces_infer(sig, n->n_in, err);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_pieces_ref(s, s->node->n_in, in, out);
}

const pl_op pl_op_concat = {
    .name = "concat",
    .types = "t",
    .linear = "012345678", /* jointly in all that there are */
    .infer = infer,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "...a,...b->...v", .in = { { 2, { 4, 3 } }, { 2, { 4, 5 } } } },
        { "bshd,bshd,bshd->bs(vhd)",
          .in = { { 4, { 2, 3, 2, 2 } }, { 4, { 2, 3, 2, 2 } }, { 4, { 2, 3, 2, 2 } } } },
        { "an,n,bn->vn", .in = { { 2, { 2, 4 } }, { 1, { 4 } }, { 2, { 3, 4 } } } },
        { "an,bn->vn", .in = { { 2, { 2, 4 }, "i64" }, { 2, { 3, 4 }, "i64" } } }),
};
