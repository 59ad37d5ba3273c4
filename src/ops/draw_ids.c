/* draw_ids(seed): y = numbers 0 .. classes - 1 by Zipf's law, p(k) ~ (k + 1)^-power. Of power 1
 * they are the negative samples of a softmax over words numbered by their frequency (the log-
 * uniform candidate sampler of Jean et al., "On using very large target vocabulary", 2015, and of
 * TensorFlow), of power 0 all are as likely. "->gk; g=2 k=8".
 *
 * A number is a function of (seed, stream, global index of the element), so that a share draws what
 * the whole would have there. `seed` is fed anew for every step. */
#include "graph/op.h"
#include "ops/lib/seeded.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const long long classes = (long long)pl_node_int(n, "classes", 0);
    (void)sig;
    if (classes < 1 || classes > INT32_MAX)
        return pl_err_set(err, PL_EINPUT, "classes=%lld is not in 1 .. %d", classes, INT32_MAX);
    if (!(pl_node_real(n, "power", 0) >= 0))
        return pl_err_set(err, PL_EINPUT, "power=%g is negative", pl_node_real(n, "power", 0));
    return pl_seeded_check(n, 0, err);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_rng r = pl_seeded_rng(n, in, 0);
    const pl_zipf law =
        pl_zipf_of((uint64_t)pl_node_int(n, "classes", 0), pl_node_real(n, "power", 0));
    pl_globals where;
    pl_share_globals(s, n->n_in, &where);
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++)
        pl_type_put(n->out[0]->type, out[0], i,
                    (double)pl_rng_zipf(r, (uint64_t)pl_globals_at(&where, i), &law));
}

const pl_op pl_op_draw_ids = {
    .name = "draw_ids",
    .form = "1>1 1",
    .types = "i->a",
    .attrs = "classes=0 power=1 stream=0 to=i32",
    .ordinal_attr = "stream",
    .infer = infer,
    .work_per_out = 100,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "->n; n=6 classes=40", .in = { { 0, { 0 }, "i64", .hi = 99 } } },
        { "->gk; g=3 k=4 classes=5 stream=2", .in = { { 0, { 0 }, "i64", .lo = -99, .hi = -1 } } }),
};
