/* split: the reverse of concat, one input into 1 to 9 outputs along a letter of it:
 * "...v->...a,...b; a=3" (b is what is left; without sizes all are equal),
 * "bs(vhd)->bshd,bshd,bshd; v=3 h=2" for a fused query, key and value.
 *
 * The letter that counts through the outputs and their own letters are whole, whatever they are
 * called: ops/lib/pieces.h. The gradient is a concat; an output that nothing flows to counts as
 * zeros. */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/lib/pieces.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = "", *to = pl_type_name(n->in[0]->type);
    pl_value *piece[PL_MAX_PIECES];
    for (int i = 0; i < n->n_out; i++) {
        const char *zeros = pl_builder_fmt(b, "->{%d}; value=0 to=%s", i + 1, to);
        piece[i] = dy[i];
        if (!dy[i]) piece[i] = pl_add_value(b, &pl_op_fill, NULL, pl_spec(b, n, zeros), 0, NULL);
        spec = pl_builder_fmt(b, "%s%s{%d}", spec, i ? "," : "", i + 1);
    }
    spec = pl_spec(b, n, pl_builder_fmt(b, "%s->{0}", spec));
    dx[0] = pl_add_value(b, &pl_op_concat, NULL, spec, n->n_out, piece);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)n;
    return pl_pieces_infer(sig, 0, err);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_pieces_ref(s, 0, in, out);
}

const pl_op pl_op_split = {
    .name = "split",
    .types = "t",
    .linear = "0",
    .infer = infer,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "...v->...a,...b; a=3", .in = { { 2, { 4, 8 } } } },
                            { "bs(vhd)->bshd,bshd,bshd; v=3 h=2", .in = { { 3, { 2, 3, 12 } } } },
                            { "(vh)n->hn,hn", .in = { { 2, { 6, 2 } } } },
                            { "vn->an,bn,n; a=2", .in = { { 2, { 6, 4 } } } },
                            { "...v->...a,...a", .in = { { 2, { 2, 6 }, "i64" } } }),
};
