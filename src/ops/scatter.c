/* scatter: x, but where the ids say along letter e the updates u instead, or both combined:
 *   "enm,k,knm->enm": y[ids[k], n, m] = u[k, n, m]                       (how=none)
 *   "...e,...k,...k->...e" with ids of their own for each row
 * or their sum (add), product (mul), the larger or the smaller (max, min). Of updates to one place
 * the last one counts, or all. k is whole; e is a lookup letter: a share of e takes the updates of
 * its own places. An id outside of e changes nothing. Source: ONNX, ScatterElements-18. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/line.h"
#include "ops/lib/move.h"
#include "ops/list.h"

enum { NONE, ADD, MUL, MAX, MIN };
static const char *const hows[] = { "none", "add", "mul", "max", "min", NULL };

static int how_of(const pl_node *n)
{
    return pl_line_word(n, "how", hows, &(pl_err){ 0 });
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)sig;
    return pl_line_word(n, "how", hows, err) >= 0;
}

/* -- gradient ---------------------------------------------------------------------------------- */

static pl_value *filled(pl_builder *b, const pl_node *n, const char *like, double x)
{
    const char *spec =
        pl_builder_fmt(b, "->%s; value=%g to=%s", like, x, pl_type_name(n->out[0]->type));
    return pl_add_value(b, &pl_op_fill, NULL, pl_spec(b, n, spec), 0, NULL);
}

static pl_value *gathered(pl_builder *b, const pl_node *n, pl_value *x)
{
    return PL_ADD(b, &pl_op_gather_elements, pl_spec(b, n, "{3},{1}->{2}"), x, n->in[1]);
}

/* x + u, x - u, ...: of operands like the output, or like the updates. */
static pl_value *each(pl_builder *b, const pl_node *n, const pl_op *op, bool updates, pl_value *x,
                      pl_value *y)
{
    return PL_ADD(b, op, pl_spec(b, n, updates ? "{2},{2}->{2}" : "{3},{3}->{3}"), x, y);
}

static pl_value *equal(pl_builder *b, const pl_node *n, bool updates, pl_value *x, pl_value *y)
{
    const char *spec = pl_builder_fmt(b, "%s; to=%s", updates ? "{2}->{2}" : "{3}->{3}",
                                      pl_type_name(n->out[0]->type));
    return PL_ADD(b, &pl_op_cast, pl_spec(b, n, spec), each(b, n, &pl_op_equal, updates, x, y));
}

/* The sum at each place of what the updates bring there. */
static pl_value *summed(pl_builder *b, const pl_node *n, pl_value *u)
{
    return PL_ADD(b, &pl_op_topk_grad, pl_spec(b, n, "{1},{2}->{3}"), n->in[1], u);
}

/* What was replaced gets nothing. */
static void grad_none(pl_builder *b, const pl_node *n, pl_value *dy, pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_scatter, pl_spec(b, n, "{0},{1},{2}->{3}; how=none"), dy, n->in[1],
                   filled(b, n, "{2}", 0));
    dx[2] = gathered(b, n, dy);
}

/* All that are equal to the extreme share dy evenly. */
static void grad_extreme(pl_builder *b, const pl_node *n, pl_value *dy, pl_value *dx[])
{
    pl_value *x = equal(b, n, false, n->in[0], n->out[0]);
    pl_value *u = equal(b, n, true, n->in[2], gathered(b, n, n->out[0]));
    pl_value *count = each(b, n, &pl_op_add, false, x, summed(b, n, u));
    pl_value *share = each(b, n, &pl_op_div, false, dy, count);
    dx[0] = each(b, n, &pl_op_mul, false, x, share);
    dx[2] = each(b, n, &pl_op_mul, true, u, gathered(b, n, share));
}

/* To x the product of its updates. To an update dy y / u; where it is 0 and the only one of its
 * place, the product of the others. */
static void grad_product(pl_builder *b, const pl_node *n, pl_value *dy, pl_value *dx[])
{
    const char *same = pl_spec(b, n, "{0},{1},{2}->{3}; how=mul");
    const char *choose = pl_spec(b, n, "{2},{2},{2}->{2}");
    pl_value *zero = filled(b, n, "{2}", 0), *one = filled(b, n, "{2}", 1), *u = n->in[2];
    dx[0] = each(b, n, &pl_op_mul, false, dy,
                 PL_ADD(b, &pl_op_scatter, same, filled(b, n, "{3}", 1), n->in[1], u));
    pl_value *zeros = gathered(b, n, summed(b, n, equal(b, n, true, u, zero)));
    pl_value *is_zero = each(b, n, &pl_op_equal, true, u, zero);
    pl_value *safe = PL_ADD(b, &pl_op_where, choose, is_zero, one, u);
    pl_value *rest = PL_ADD(b, &pl_op_scatter, same, n->in[0], n->in[1], safe);
    rest = gathered(b, n, each(b, n, &pl_op_mul, false, dy, rest));
    rest = each(b, n, &pl_op_div, true, rest, safe);
    pl_value *others = each(b, n, &pl_op_sub, true, zeros, equal(b, n, true, u, zero));
    pl_value *flows = each(b, n, &pl_op_equal, true, others, zero);
    dx[2] = PL_ADD(b, &pl_op_where, choose, flows, rest, zero);
}

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    switch (how_of(n)) {
    case NONE: grad_none(b, n, dy[0], dx); break;
    case ADD: dx[0] = dy[0], dx[2] = gathered(b, n, dy[0]); break;
    case MUL: grad_product(b, n, dy[0], dx); break;
    default: grad_extreme(b, n, dy[0], dx); break;
    }
}

/* -- kernel ------------------------------------------------------------------------------------ */

static double combine(int how, double x, double u)
{
    switch (how) {
    case ADD: return x + u;
    case MUL: return x * u;
    case MAX: return x > u || x != x ? x : u;
    default: return x < u || x != x ? x : u;
    }
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type t = n->out[0]->type;
    const int e = pl_sig_find(n->sig, 'e'), how = how_of(n);
    const pl_range row = s->factor[e];
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++)
        pl_move_element(t, out[0], i, in[0], i);
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 2));
    do {
        double at = pl_type_get(n->in[1]->type, in[1], w.at[1]) - (double)row.lo;
        if (!(at >= 0 && at < (double)row.n)) continue;
        int64_t to = w.at[3] + (int64_t)at * w.stride[3][e];
        if (how == NONE)
            pl_move_element(t, out[0], to, in[2], w.at[2]);
        else
            pl_type_put(t, out[0], to,
                        combine(how, pl_type_get(t, out[0], to), pl_type_get(t, in[2], w.at[2])));
    } while (pl_walk_next(&w));
}

static double flops(const pl_share *s)
{
    return (double)pl_shape_count(&s->shape[2]);
}

#define IDS "i64", 0, 4

const pl_op pl_op_scatter = {
    .name = "scatter",
    .sig = "...e,...k,...k->...e",
    .form = "e:03 k:12 023 0123",
    .whole = "k",
    .lookup = "e",
    .types = "t,i,t->t",
    .attrs = "how=none",
    .infer = infer,
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 6, 4 } }, { 2, { 6, 1 }, IDS }, { 2, { 6, 1 } } } },
        { "enm,k,knm->enm", .in = { { 3, { 4, 3, 2 } }, { 1, { 1 }, IDS }, { 3, { 1, 3, 2 } } } },
        { "; how=add", .in = { { 2, { 6, 4 } }, { 2, { 6, 5 }, IDS }, { 2, { 6, 5 } } } },
        { "enm,k,knm->enm; how=mul",
          .in = { { 3, { 4, 3, 2 } }, { 1, { 5 }, "i32", -1, 4 }, { 3, { 5, 3, 2 } } } },
        { "; how=max", .in = { { 2, { 6, 4 }, .lo = -50, .hi = 50 },
                               { 2, { 6, 5 }, IDS },
                               { 2, { 6, 5 }, .lo = -50, .hi = 50 } } },
        { "en,kn,kn->en; how=min", .in = { { 2, { 4, 6 }, .lo = -50, .hi = 50 },
                                           { 2, { 3, 6 }, IDS },
                                           { 2, { 3, 6 }, .lo = -50, .hi = 50 } } },
        { NULL, .in = { { 2, { 4, 6 }, "i64" }, { 2, { 4, 3 }, IDS }, { 2, { 4, 3 }, "i64" } } }),
};
