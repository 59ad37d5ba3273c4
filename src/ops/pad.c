/* pad: lo places before and hi behind letter u, which becomes v: "...u->...v; lo=1 hi=2". The new
 * places are `value` (mode=constant), the nearest old one (edge), the old ones mirrored at the
 * first and last (reflect, at most u - 1), or those of the other end (wrap, at most u). u and v are
 * whole. A node pads one dimension. slice_grad pads with zeros and is linear; pad is not. */
#include "ops/lib/move.h"
#include "ops/lib/pad.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    long long lo = (long long)pl_node_int(n, "lo", 0), hi = (long long)pl_node_int(n, "hi", 0);
    pl_pad_mode mode = pl_pad_mode_of(n);
    bool cuts = mode == PL_PAD_CONSTANT;
    const char *spec =
        cuts ? pl_builder_fmt(b, "{1}->{0}; at=%lld", lo)
             : pl_builder_fmt(b, "{1}->{0}; lo=%lld hi=%lld mode=%s", lo, hi, pl_pad_modes[mode]);
    dx[0] = PL_ADD(b, cuts ? &pl_op_slice : &pl_op_pad_grad, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_line_gather(s, in, out, pl_pad_find, pl_node_real(s->node, "value", 0));
}

const pl_op pl_op_pad = {
    .name = "pad",
    .sig = "...u->...v",
    .whole = "uv",
    .types = "t",
    .attrs = "lo=0 hi=0 value=0 mode=constant",
    .infer = pl_pad_infer,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; lo=1 hi=2 value=3", .in = { { 2, { 4, 5 } } } },
                            { "ncuy->ncvy; lo=2 mode=reflect", .in = { { 4, { 2, 4, 3, 2 } } } },
                            { "; lo=2 hi=1 mode=edge", .in = { { 2, { 4, 3 } } } },
                            { "un->vn; lo=1 hi=3 mode=wrap", .in = { { 2, { 3, 4 } } } },
                            { "; hi=2 value=7", .in = { { 2, { 4, 3 }, "i64" } } }),
};
