/* Normalisation, convolution and pooling: known answers, worked out by hand, and the errors of
 * nodes that make no sense. What test_ops.c cannot see: that it is the right function. */
#include "eval.h"
#include "graph/autodiff.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct operand {
    int rank;
    int64_t dim[PL_MAX_RANK];
    double value[12];
} operand;

typedef struct answer {
    const pl_op *op;
    const char *spec;
    operand in[6];
    double out[3][12]; /* of the outputs that are compared, in the shapes that the node gives */
} answer;

/* clang-format off */
#define GRID { 1, 2, 3, 4, 5, 6, 7, 8, 9 }
#define IMAGE(h, w) 4, { 1, 1, h, w }
/* clang-format on */

static const answer answers[] = {
    { &pl_op_layer_norm_sum, NULL, { { 2, { 2, 2 }, { 1, 2, 3, 5 } } }, { { 3, 8 } } },
    { &pl_op_layer_norm_deviation,
      NULL,
      { { 2, { 2, 4 }, { 1, 2, 3, 4, 10001, 10002, 10003, 10004 } }, { 1, { 2 }, { 10, 40010 } } },
      { { 5, 5 } } },
    /* mean 2.5, var 1.25 */
    { &pl_op_layer_norm,
      "; eps=0",
      { { 2, { 1, 4 }, { 1, 2, 3, 4 } },
        { 1, { 1 }, { 10 } },
        { 1, { 1 }, { 5 } },
        { 1, { 4 }, { 1, 1, 1, 2 } },
        { 1, { 4 }, { 0, 0, 1, 0 } } },
      { { -1.3416408, -0.4472136, 1.4472136, 2.6832816 } } },
    { &pl_op_layer_norm,
      "; eps=0.75",
      { { 2, { 1, 4 }, { 1, 2, 3, 4 } },
        { 1, { 1 }, { 10 } },
        { 1, { 1 }, { 5 } },
        { 1, { 4 }, { 1, 1, 1, 1 } },
        { 1, { 4 }, { 0 } } },
      { { -1.0606602, -0.3535534, 0.3535534, 1.0606602 } } },
    /* mean square 12.5 */
    { &pl_op_rms_norm,
      "; eps=0",
      { { 2, { 1, 2 }, { 3, 4 } }, { 1, { 2 }, { 1, 10 } } },
      { { 0.8485281, 11.3137085 }, { 0.2828427 } } },
    { &pl_op_rms_norm,
      "; eps=3.5",
      { { 2, { 1, 2 }, { 3, 4 } }, { 1, { 2 }, { 1, 1 } } },
      { { 0.75, 1 }, { 0.25 } } },
    /* positions 0, 1, 2; the pairs (0, 2) and (1, 3) turn by s and s / 2 */
    { &pl_op_rope,
      "; base=4",
      { { 2, { 3, 4 }, { 1, 2, 3, 4, 1, 0, 0, 0, 0, 3, 0, 4 } } },
      { { 1, 2, 3, 4, 0.5403023, 0, 0.8414710, 0, 0, -1.7449770, 0, 4.6856222 } } },
    { &pl_op_rope,
      "; base=4 inverse=1",
      { { 2, { 2, 4 }, { 1, 2, 3, 4, 1, 0, 0, 0 } } },
      { { 1, 2, 3, 4, 0.5403023, 0, -0.8414710, 0 } } },
    /* 3 / 0.6f is 5 in f32, and less in double */
    { &pl_op_resize,
      "; v=4 scale=0.60000002384185791 coords=asymmetric round=floor",
      { { 2, { 1, 6 }, { 0, 1, 2, 3, 4, 5 } } },
      { { 0, 1, 3, 5 } } },
    /* a = -0.75: weights at 1.5, 0.5, 0.5, 1.5 are -0.09375, 0.59375 twice, -0.09375 */
    { &pl_op_resize,
      "; v=2 mode=cubic",
      { { 2, { 1, 4 }, { 1, 2, 4, 8 } } },
      { { 1.3125, 6.1875 } } },
    /* the same without what is outside: divided by 1.09375 */
    { &pl_op_resize,
      "; v=2 mode=cubic exclude=1",
      { { 2, { 1, 4 }, { 1, 2, 4, 8 } } },
      { { 1.2857143, 6.3428571 } } },
    /* weights 1/8, 3/8, 3/8, 1/8 of what is there */
    { &pl_op_resize,
      "; v=2 mode=linear antialias=1 exclude=1",
      { { 2, { 1, 4 }, { 1, 2, 4, 8 } } },
      { { 1.8571429, 5.4285714 } } },
    { &pl_op_batch_norm_stats,
      NULL,
      { { 2, { 2, 2 }, { 1, 2, 3, 4 } } },
      { { 4, 6 }, { 10, 20 } } },
    { &pl_op_batch_norm_stats,
      "nc...->c,c",
      { { 3, { 1, 2, 2 }, { 1, 2, 3, 4 } } },
      { { 3, 7 }, { 5, 25 } } },
    /* means 2 and 3, variances 1 */
    { &pl_op_batch_norm,
      "; eps=0",
      { { 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { 1, { 2 }, { 4, 6 } },
        { 1, { 2 }, { 10, 20 } },
        { 1, { 2 }, { 1, 5 } },
        { 1, { 2 }, { 0.5, 0 } } },
      { { -0.5, -5, 1.5, 5 } } },
    { &pl_op_relu6, NULL, { { 1, { 4 }, { -1, 2, 6, 7 } } }, { { 0, 2, 6, 6 } } },
    { &pl_op_relu6_grad,
      NULL,
      { { 1, { 4 }, { 0, 2, 6, 5 } }, { 1, { 4 }, { 1, 2, 3, 4 } } },
      { { 0, 2, 0, 4 } } },
    { &pl_op_batch_norm,
      "; eps=3 relu=1",
      { { 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { 1, { 2 }, { 4, 6 } },
        { 1, { 2 }, { 10, 20 } },
        { 1, { 2 }, { 1, 5 } },
        { 1, { 2 }, { 0.5, 0 } } },
      { { 0, 0, 1, 2.5 } } },
    /* mean 2; var 1 biased, 2 unbiased */
    { &pl_op_batch_norm_running,
      "; count=2",
      { { 1, { 1 }, { 1 } }, { 1, { 1 }, { 1 } }, { 1, { 1 }, { 4 } }, { 1, { 1 }, { 10 } } },
      { { 1.1 }, { 1.1 } } },
    { &pl_op_batch_norm_eval,
      "; eps=1",
      { { 2, { 1, 2 }, { 1, 4 } },
        { 1, { 2 }, { 2, 3 } },
        { 1, { 2 }, { 3, 8 } },
        { 1, { 2 }, { 1, 3 } },
        { 1, { 2 }, { 0, 1 } } },
      { { -0.5, 2 } } },
    { &pl_op_conv2d,
      NULL,
      { { IMAGE(3, 3), GRID }, { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 37, 47, 67, 77 } } },
    { &pl_op_conv2d,
      "; stride=2 pad=1",
      { { IMAGE(3, 3), GRID }, { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 4, 18, 36, 77 } } },
    { &pl_op_conv2d,
      "; dilation=2",
      { { IMAGE(3, 3), GRID }, { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 1 + 2 * 3 + 3 * 7 + 4 * 9 } } },
    /* two groups: 1 * 10 + 2 * 20 and 3 * 30 + 4 * 40 */
    { &pl_op_conv2d,
      "n(gc)[y+r],(go)cr->n(go)y; g=2",
      { { 3, { 1, 4, 1 }, { 1, 2, 3, 4 } }, { 3, { 2, 2, 1 }, { 10, 20, 30, 40 } } },
      { { 50, 250 } } },
    { &pl_op_conv2d_grad_data,
      "; extent=3,3",
      { { IMAGE(2, 2), { 1, 0, 0, 10 } }, { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 1, 2, 0, 3, 14, 20, 0, 30, 40 } } },
    /* stride 2 of a window of 1: the gaps are 0, also those behind the last window */
    { &pl_op_conv2d_grad_data,
      "; stride=2 extent=2,4",
      { { IMAGE(1, 2), { 1, 2 } }, { IMAGE(1, 1), { 3 } } },
      { { 3, 0, 6, 0, 0, 0, 0, 0 } } },
    { &pl_op_conv2d_grad_weight,
      "; r=2 s=2",
      { { IMAGE(3, 3), GRID }, { IMAGE(2, 2), { 1, 0, 0, 10 } } },
      { { 51, 62, 84, 95 } } },
    { &pl_op_max_pool, "; r=2 s=2", { { IMAGE(3, 3), GRID } }, { { 5, 6, 8, 9 } } },
    { &pl_op_max_pool, "; r=2 s=2 stride=2 pad=1", { { IMAGE(3, 3), GRID } }, { { 1, 3, 7, 9 } } },
    /* padding is not a zero */
    { &pl_op_max_pool,
      "; r=2 s=2 stride=2 pad=1",
      { { IMAGE(2, 2), { -1, -2, -3, -4 } } },
      { { -1, -2, -3, -4 } } },
    { &pl_op_max_pool, "; r=1 s=2", { { IMAGE(1, 4), { 1, NAN, 2, 3 } } }, { { NAN, NAN, 3 } } },
    /* ties: the first of each window */
    { &pl_op_max_pool_grad,
      "; r=2 s=2",
      { { IMAGE(3, 3), { 5, 5, 5, 5, 5, 5, 5, 5, 5 } },
        { IMAGE(2, 2), { 5, 5, 5, 5 } },
        { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 1, 2, 0, 3, 4, 0, 0, 0, 0 } } },
    /* with padding: the element after a padding of "the same value" */
    { &pl_op_max_pool_grad,
      "; r=2 s=2 stride=2 pad=1",
      { { IMAGE(2, 2), { 0, 0, 0, 0 } },
        { IMAGE(2, 2), { 0, 0, 0, 0 } },
        { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 1, 2, 3, 4 } } },
    /* overlapping windows add */
    { &pl_op_max_pool_grad,
      "; r=2 s=2",
      { { IMAGE(3, 3), { 0, 0, 0, 0, 9, 0, 0, 0, 0 } },
        { IMAGE(2, 2), { 9, 9, 9, 9 } },
        { IMAGE(2, 2), { 1, 2, 3, 4 } } },
      { { 0, 0, 0, 0, 10, 0, 0, 0, 0 } } },
    { &pl_op_avg_pool,
      "; r=2 s=2 stride=2 pad=1",
      { { IMAGE(3, 3), GRID } },
      { { 0.25, 1.25, 2.75, 7 } } },
    { &pl_op_avg_pool,
      "; r=2 s=2 stride=2 pad=1 count_pad=0",
      { { IMAGE(3, 3), GRID } },
      { { 1, 2.5, 5.5, 7 } } },
    { &pl_op_avg_pool_grad,
      "; r=2 s=2 stride=2 pad=1 extent=3,3",
      { { IMAGE(2, 2), { 4, 8, 12, 16 } } },
      { { 1, 2, 2, 3, 4, 4, 3, 4, 4 } } },
    { &pl_op_avg_pool_grad,
      "; r=2 s=2 stride=2 pad=1 extent=3,3 count_pad=0",
      { { IMAGE(2, 2), { 4, 8, 12, 16 } } },
      { { 4, 4, 4, 6, 4, 4, 6, 4, 4 } } },
};

static void check_answer(const answer *a)
{
    pl_arena *arena = pl_arena_new("test");
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *in[PL_MAX_OPERANDS];
    pl_graph *g = NULL;
    pl_err err = { 0 };
    int n_in = 0;
    for (; n_in < 6 && a->in[n_in].rank; n_in++) {
        pl_shape shape = { .rank = a->in[n_in].rank };
        memcpy(shape.dim, a->in[n_in].dim, sizeof shape.dim);
        in[n_in] = pl_add_input(&b, pl_builder_fmt(&b, "x%d", n_in), PL_F32, shape);
    }
    pl_node *n = pl_add_node(&b, a->op, "y", a->spec, n_in, in);
    for (int i = 0; n && i < n->n_out; i++) pl_add_output(&b, n->out[i]->name, n->out[i]);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    eval e = eval_new(g);
    for (int k = 0; k < n_in; k++)
        for (int64_t i = 0; i < pl_shape_count(&in[k]->shape); i++)
            pl_type_put(PL_F32, e.at[in[k]->id], i, a->in[k].value[i]);
    eval_run(&e, 1);
    for (int k = 0; k < n->n_out; k++)
        for (int64_t i = 0; i < pl_shape_count(&n->out[k]->shape); i++) {
            double found = pl_type_get(PL_F32, e.at[n->out[k]->id], i), want = a->out[k][i];
            if (!(fabs(found - want) <= 1e-6 * fmax(1, fabs(want))) &&
                !(isnan(found) && isnan(want)))
                fail_msg("%s \"%s\": element %lld of output %d is %.8g, should be %.8g",
                         a->op->name, a->spec ? a->spec : "", (long long)i, k, found, want);
        }
    eval_free(&e);
    pl_arena_free(arena);
}

static void gives_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) check_answer(&answers[i]);
}

static const struct {
    const pl_op *op;
    const char *spec;
    pl_shape in[6];
    const char *message;
} bad[] = {
    { &pl_op_conv2d,
      NULL,
      { { 4, { 1, 3, 8, 8 } }, { 4, { 4, 2, 3, 3 } } },
      "'c' is 2 in input 1 but 3 elsewhere" },
    { &pl_op_conv2d,
      NULL,
      { { 4, { 1, 3, 2, 8 } }, { 4, { 4, 3, 3, 3 } } },
      "window of 3 does not fit" },
    { &pl_op_conv2d, "nk,kn->nn", { { 2, { 2, 2 } }, { 2, { 2, 2 } } }, "twice" },
    { &pl_op_conv2d,
      "nk,km->nm",
      { { 2, { 2, 2 } }, { 2, { 2, 2 } } },
      "needs at least one window" },
    { &pl_op_conv2d,
      "n[y+r],[y+r]->nyr; r=2",
      { { 2, { 2, 4 } }, { 1, { 4 } } },
      "input 1 has 1 of the 1 windows, should have none" },
    { &pl_op_conv2d,
      "; stride=0",
      { { 4, { 1, 3, 8, 8 } }, { 4, { 4, 3, 3, 3 } } },
      "out of range" },
    { &pl_op_conv2d_grad_data,
      NULL,
      { { 4, { 1, 4, 6, 6 } }, { 4, { 4, 3, 3, 3 } } },
      "write '; extent=N'" },
    { &pl_op_conv2d_grad_data,
      "; extent=8,11",
      { { 4, { 1, 4, 6, 6 } }, { 4, { 4, 3, 3, 3 } } },
      "'x' is 6, the window over operand 2 makes 9" },
    { &pl_op_conv2d_grad_weight,
      NULL,
      { { 4, { 1, 3, 8, 8 } }, { 4, { 1, 4, 6, 6 } } },
      "size of 'r' is not known" },
    { &pl_op_max_pool, NULL, { { 4, { 1, 3, 8, 8 } } }, "size of 'r' is not known" },
    { &pl_op_max_pool_grad,
      "; r=2 s=2 stride=2",
      { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 2, 2 } }, { 4, { 1, 1, 2, 3 } } },
      "'x' is 3 in input 2 but 2 elsewhere" },
    { &pl_op_avg_pool_grad, "; r=2 s=2 stride=2", { { 4, { 1, 1, 2, 2 } } }, "write '; extent=N'" },
    { &pl_op_layer_norm,
      "bsd,bs,bsd,d,d->bsd",
      { { 3, { 2, 3, 4 } }, { 2, { 2, 3 } }, { 3, { 2, 3, 4 } }, { 1, { 4 } }, { 1, { 4 } } },
      "'d' stands in the operands 02345" },
    { &pl_op_rms_norm,
      "bh,h->bh,h",
      { { 2, { 2, 3 } }, { 1, { 3 } } },
      "'b' stands in the operands 02;" },
    { &pl_op_rope, NULL, { { 2, { 4, 3 } } }, "'d' is 3: pairs need an even number" },
    { &pl_op_rope, "s(hd)->s(hd); h=2", { { 2, { 4, 6 } } }, "'d' is 3: pairs need an even" },
    { &pl_op_rope, "ad->ad", { { 2, { 4, 6 } } }, "'s'" },
    { &pl_op_rope, "(sb)d->(sb)d; b=2", { { 2, { 4, 6 } } }, "last letter of its dimension" },
    { &pl_op_rope, "; base=0", { { 2, { 4, 6 } } }, "base=0 has to be above 0" },
    { &pl_op_batch_norm,
      "nc,c,c,c,nc->nc",
      { { 2, { 2, 3 } }, { 1, { 3 } }, { 1, { 3 } }, { 1, { 3 } }, { 2, { 2, 3 } } },
      "'n' stands in the operands 045" },
    { &pl_op_batch_norm_running,
      NULL,
      { { 1, { 3 } }, { 1, { 3 } }, { 1, { 3 } }, { 1, { 3 } } },
      "write count=N" },
};

static void refuses_what_makes_no_sense(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *in[PL_MAX_OPERANDS];
        int n_in = 0;
        for (; n_in < 6 && bad[i].in[n_in].rank; n_in++)
            in[n_in] = pl_add_input(&b, pl_builder_fmt(&b, "x%d", n_in), PL_F32, bad[i].in[n_in]);
        const pl_node *n = pl_add_node(&b, bad[i].op, "y", bad[i].spec, n_in, in);
        if (n || b.err.code != PL_EINPUT || !strstr(b.err.msg, bad[i].message))
            fail_msg("row %zu, %s: \"%s\", should hold \"%s\"", i, bad[i].op->name, b.err.msg,
                     bad[i].message);
        pl_arena_free(arena);
    }
}

/* The statistics that a norm hands to its own gradient are not for others to differentiate. */
static void refuses_gradient_of_statistics(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3)), *grad;
        pl_value *w = pl_add_input(&b, "w", PL_F32, PL_SHAPE(3));
        const pl_op *op = i ? &pl_op_layer_norm_sum : &pl_op_rms_norm;
        const pl_node *n = pl_add_node(&b, op, NULL, NULL, 2 - i, (pl_value *const[]){ x, w });
        assert_non_null(n);
        pl_value *loss = PL_ADD(&b, &pl_op_reduce_sum, NULL, n->out[i ? 0 : 1]);
        pl_autodiff(&b, loss, 1, &x, &grad);
        assert_int_equal(b.err.code, PL_EUNSUPPORTED);
        assert_non_null(strstr(b.err.msg, i ? "has no gradient" : "not differentiable"));
        pl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_known_answers),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(refuses_gradient_of_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
