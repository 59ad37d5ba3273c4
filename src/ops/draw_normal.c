/* draw_normal(seed): y = numbers of mean 0 and deviation `std`: noise. "->gte; g=2 t=8 e=4 std=.2".
 *
 * A number is a function of (seed, stream, global index of the element), so that a share draws what
 * the whole would have there. `seed` is fed anew for every step. */
#include "graph/op.h"
#include "ops/lib/seeded.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const double std = pl_node_real(n, "std", 0);
    (void)sig;
    if (!(std >= 0)) return pl_err_set(err, PL_EINPUT, "std=%g is negative", std);
    return pl_seeded_check(n, 0, err);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_rng r = pl_seeded_rng(n, in, 0);
    const double std = pl_node_real(n, "std", 0);
    pl_globals where;
    pl_share_globals(s, n->n_in, &where);
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++)
        pl_type_put(n->out[0]->type, out[0], i,
                    std * pl_rng_normal(r, (uint64_t)pl_globals_at(&where, i)));
}

const pl_op pl_op_draw_normal = {
    .name = "draw_normal",
    .form = "1>1 1",
    .types = "i->a",
    .attrs = "std=1 stream=0 to=f32",
    .ordinal_attr = "stream",
    .infer = infer,
    .work_per_out = 100,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "->n; n=6", .in = { { 0, { 0 }, "i64", .hi = 99 } } },
        { "->gk; g=3 k=4 std=0.5 stream=2", .in = { { 0, { 0 }, "i64", .lo = -99, .hi = -1 } } }),
};
