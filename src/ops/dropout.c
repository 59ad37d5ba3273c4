/* dropout(x, seed): y = x / (1 - p) where a random number of the element is >= p, else 0.
 *
 * The number is Philox's at (seed, stream, global index of the element), so that a share draws
 * the mask of the whole, and the gradient, which is the same operator on dy, draws the mask of
 * the forward pass: no mask is stored. `seed` is fed anew for every step; `stream` tells the
 * dropouts of a model apart. Source: Srivastava et al., "Dropout", JMLR 15, 2014. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/lib/seeded.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double p = pl_node_real(n, "p", 0);
    if (!(p >= 0 && p < 1)) return pl_err_set(err, PL_EINPUT, "p=%g is not in [0, 1)", p);
    (void)sig;
    return pl_seeded_check(n, 1, err);
}

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec =
        pl_builder_fmt(b, "{2},{1}->{2}; p=%.17g stream=%lld", pl_node_real(n, "p", 0),
                       (long long)pl_node_int(n, "stream", 0));
    dx[0] = PL_ADD(b, &pl_op_dropout, pl_elementwise_spec(b, n, spec), dy[0], n->in[1]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    double p = pl_node_real(n, "p", 0);
    pl_rng r = pl_seeded_rng(n, in, 1);
    pl_globals where;
    pl_share_globals(s, n->n_in, &where);
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++) {
        bool keep = pl_rng_uniform(r, (uint64_t)pl_globals_at(&where, i)) >= p;
        pl_type_put(t, out[0], i, keep ? pl_type_get(t, in[0], i) / (1 - p) : 0);
    }
}

const pl_op pl_op_dropout = {
    .name = "dropout",
    .sig = "...,->...",
    .types = "fi->f",
    .linear = "0",
    .attrs = "p=0.1 stream=0",
    .ordinal_attr = "stream",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .work_per_out = 75,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; p=0.4", .in = { { 2, { 4, 7 } }, { 0, { 0 }, "i64", .hi = 99 } } },
                    { "b(hd),->b(hd); h=2 p=0.5 stream=3",
                      .in = { { 2, { 3, 6 } }, { 0, { 0 }, "i64", .lo = -99, .hi = -1 } } }),
};
