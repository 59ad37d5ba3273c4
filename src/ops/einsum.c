/* einsum: multiply the inputs and sum over every letter that the output lacks. Matmul is
 * "mk,kn->mn"; batched, transposed and composite forms are other letters.
 * Source: Einstein summation as in numpy.einsum; gradient: the same sum with output and input
 * exchanged. One to three inputs; every letter of an input stands in the output or in another input
 * (else reduce_sum it first), none repeats within an operand. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    static const char *const spec[3][3] = {
        { "{1}->{0}" },
        { "{2},{1}->{0}", "{2},{0}->{1}" },
        { "{3},{1},{2}->{0}", "{3},{0},{2}->{1}", "{3},{0},{1}->{2}" },
    };
    for (int i = 0; i < n->n_in; i++) {
        pl_value *in[3] = { dy[0] };
        int n_in = 1;
        for (int k = 0; k < n->n_in; k++)
            if (k != i) in[n_in++] = n->in[k];
        dx[i] = pl_add_value(b, &pl_op_einsum, NULL, pl_spec(b, n, spec[n->n_in - 1][i]), n_in, in);
    }
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    if (n->n_in < 1 || n->n_in > 3 || sig->n_out != 1)
        return pl_err_set(err, PL_EUNSUPPORTED, "takes 1 to 3 inputs and gives 1 output");
    if (sig->n_windows) return pl_err_set(err, PL_EUNSUPPORTED, "has no windows: see conv2d");
    return true;
}

/* Adds to sum, in order, the n products along factor f from where the walk is. */
static double add_row(const pl_walk *w, int f, int64_t n, const void *const in[], double sum)
{
    const pl_node *node = w->share->node;
    const pl_type t = node->out[0]->type;
    for (int64_t j = 0; j < n; j++) {
        double p = 1;
        for (int k = 0; k < node->n_in; k++)
            p *= pl_type_get(t, in[k], w->at[k] + j * w->stride[k][f]);
        sum += p;
    }
    return sum;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const uint32_t outer = pl_walk_mask(n, n->n_in),
                   inner = ~outer & ((1u << n->sig->n_factors) - 1);
    int last = 0; /* the innermost loop; without any there is one product */
    for (int f = 0; f < n->sig->n_factors; f++)
        if (inner >> f & 1) last = f;
    const int64_t length = inner ? s->factor[last].n : 1;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner & ~(1u << last));
    do {
        double sum = 0;
        pl_walk_to(&i, &o);
        do sum = add_row(&i, last, length, in, sum);
        while (pl_walk_next(&i));
        pl_type_put(n->out[0]->type, out[0], o.at[n->n_in], sum);
    } while (pl_walk_next(&o));
}

const pl_op pl_op_einsum = {
    .name = "einsum",
    .types = "t",
    .linear = "0|1|2",
    .infer = infer,
    .grad = grad,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "mk,kn->mn", .in = { { 2, { 4, 6 } }, { 2, { 6, 8 } } } },
        { "mk,nk->mn", .in = { { 2, { 4, 6 } }, { 2, { 8, 6 } } } },
        { "bshd,bthd->bhst", .in = { { 4, { 2, 4, 2, 3 } }, { 4, { 2, 6, 2, 3 } } } },
        { "bsm,m(vhd)->bs(vhd); v=3 h=2", .in = { { 3, { 2, 3, 4 } }, { 2, { 4, 12 } } } },
        { "mk,kn->mn", .in = { { 2, { 4, 6 }, "i64" }, { 2, { 6, 8 }, "i64" } } },
        { "...v,...v->...", .in = { { 3, { 2, 3, 4 } }, { 3, { 2, 3, 4 } } } }),
};
