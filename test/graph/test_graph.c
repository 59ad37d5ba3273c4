/* Building graphs: sticky errors, names, attributes, types, pruning, autodiff; the text form and
 * its errors; what the independent check finds. */
#include "../ops/eval.h"
#include "graph/autodiff.h"
#include "graph/graph.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static pl_builder start(void)
{
    return pl_builder_new(arena, &pl_ops_all, "test");
}

#define ASSERT_HAS(text, part)                                                                     \
    do {                                                                                           \
        if (!strstr((text), (part))) fail_msg("'%s' lacks '%s'", (text), (part));                  \
    } while (0)

/* -- building ---------------------------------------------------------------------------------- */

static void the_first_error_sticks(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_graph *g = NULL;
    pl_err err = { 0 };
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3)),
             *w = pl_add_input(&b, "w", PL_F32, PL_SHAPE(4, 5));
    b.scope = "h3.";
    assert_null(PL_ADD_AS(&b, &pl_op_einsum, "fc", "mk,kn->mn", x, w));
    assert_null(PL_ADD(&b, &pl_op_add, NULL, x, x));
    assert_null(PL_ADD(&b, &pl_op_add, NULL, NULL, NULL));
    assert_null(pl_add_input(&b, "y", PL_F32, PL_SHAPE(2)));
    assert_null(pl_add_state(&b, "s", PL_F32, PL_SHAPE(2), "zeros", PL_WEIGHT));
    pl_add_output(&b, "y", NULL);
    pl_value *grad[1] = { x };
    pl_autodiff(&b, NULL, 1, &x, grad);
    assert_null(grad[0]);
    assert_false(pl_builder_done(&b, &g, &err));
    assert_null(g);
    assert_int_equal(err.code, PL_EINPUT);
    assert_string_equal(err.msg, "node 'h3.fc': einsum: 'k' is 4 in input 1 but 3 elsewhere "
                                 "(mk,kn->mn)");
}

static void shapes_of_leaves_are_checked(void **state)
{
    (void)state;
    static const struct {
        pl_shape shape;
        const char *want;
    } rows[] = {
        { { 2, { 4, 0 } }, "'m.x': dimension 1 is 0" },
        { { 1, { -1 } }, "'m.x': dimension 0 is -1" },
        { { 2, { 1ll << 40, 1ll << 40 } }, "'m.x': dimension 1 is 1099511627776" },
        { { 1, { INT64_MAX } }, "'m.x': dimension 0 is 9223372036854775807" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_state = 0; is_state < 2; is_state++) {
            pl_builder b = start();
            b.scope = "m.";
            assert_null(is_state ? pl_add_state(&b, "x", PL_F32, rows[i].shape, "zeros", PL_BUFFER)
                                 : pl_add_input(&b, "x", PL_F32, rows[i].shape));
            ASSERT_HAS(b.err.msg, rows[i].want);
        }
}

static void names_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = { "x", "", "a b", "a\"b", "a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pl_builder b = start();
        pl_graph *g;
        pl_err err = { 0 };
        pl_add_input(&b, "x", PL_F32, PL_SCALAR);
        pl_add_input(&b, names[i], PL_F32, PL_SCALAR);
        assert_false(pl_builder_done(&b, &g, &err));
        ASSERT_HAS(err.msg, i ? "is not a name" : "two values are named 'x'");
    }
}

static void names_carry_their_scope(void **state)
{
    (void)state;
    pl_builder b = start();
    b.scope = "h0.";
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4));
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(4), "ones", PL_WEIGHT);
    assert_string_equal(x->name, "h0.x");
    assert_string_equal(w->name, "h0.w");
    assert_string_equal(PL_ADD_AS(&b, &pl_op_mul, "y", NULL, x, w)->name, "h0.y");
    assert_string_equal(PL_ADD(&b, &pl_op_mul, NULL, x, w)->name, "h0.mul.1");
}

/* Unneeded nodes go, ids close up; inputs and states stay, and what a state becomes is needed. */
static void unneeded_nodes_are_pruned(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_graph *g;
    pl_err err = { 0 };
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4));
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(4), "ones", PL_WEIGHT);
    pl_add_state(&b, "frozen", PL_F32, PL_SHAPE(2, 5), "zeros", PL_BUFFER);
    pl_value *dead = PL_ADD_AS(&b, &pl_op_exp, "dead", NULL, x);
    PL_ADD_AS(&b, &pl_op_exp, "dead too", NULL, dead); /* its name is never looked at */
    pl_value *y = PL_ADD_AS(&b, &pl_op_mul, "y", NULL, x, w);
    PL_ADD_AS(&b, &pl_op_exp, "dead3", NULL, y);
    w->next = PL_ADD_AS(&b, &pl_op_add, "w.next", NULL, w, x);
    pl_add_output(&b, "loss", y);
    assert_true(pl_builder_done(&b, &g, &err));
    assert_int_equal(g->nodes.n, 2);
    assert_int_equal(g->values.n, 5);
    for (int i = 0; i < g->values.n; i++) assert_int_equal(g->values.at[i]->id, i);
    for (int i = 0; i < g->nodes.n; i++) assert_int_equal(g->nodes.at[i]->id, i);
    assert_ptr_equal(pl_graph_find(g, "loss"), y);
    assert_null(pl_graph_find(g, "dead"));
    assert_int_equal(pl_graph_params(g), 4);
}

/* -- attributes, types, operands --------------------------------------------------------------- */

static void ref_nothing(const pl_share *s, const void *const in[], void *const out[])
{
    (void)s, (void)in, (void)out;
}

static const pl_op window_op = { .name = "window",
                                 .attrs = "stride=1 dilation=1 pad=0 mode=max list=1,2,3",
                                 .ref = ref_nothing };
static const pl_op int_op = {
    .name = "int", .sig = "...->...", .types = "i->F", .ref = ref_nothing
};
static const pl_op f32_op = { .name = "f32", .sig = "...->...", .types = "F", .ref = ref_nothing };

/* One node on inputs x0, x1: f32[6], and of type `type` for x1 (x0 as well if `both`). */
static const struct {
    const pl_op *op;
    const char *spec;
    int n_in;
    pl_type type[2];
    const char *want; /* NULL: it is accepted */
} nodes[] = {
    { &pl_op_scale, "; value=2", 1, { PL_F32 }, NULL },
    { &pl_op_scale, "a->a;value=-2e3 ", 1, { PL_F32 }, NULL },
    { &pl_op_scale, "; value=two", 1, { PL_F32 }, "'value=two' is not a number" },
    { &pl_op_scale, "; value=", 1, { PL_F32 }, "'value=' is not a number" },
    { &pl_op_scale, "; value=nan", 1, { PL_F32 }, "'value=nan' is not a number" },
    { &pl_op_scale, "; value=1,", 1, { PL_F32 }, "'value=1,' is not a number" },
    { &pl_op_scale, "; value", 1, { PL_F32 }, "'value' is not attribute=value" },
    { &pl_op_scale, "; value=1 value=2", 1, { PL_F32 }, "attribute 'value' stands twice" },
    { &pl_op_scale, "; val=1", 1, { PL_F32 }, "unknown attribute 'val' (known: value=1)" },
    { &pl_op_exp, "; p=1", 1, { PL_F32 }, "unknown attribute 'p' (known: none, and the letters" },
    { &pl_op_scale, "; =1", 1, { PL_F32 }, "unknown attribute ''" },
    { &pl_op_broadcast, "n->bn; b=3", 1, { PL_F32 }, NULL },
    { &pl_op_broadcast, "n->bn; b=0", 1, { PL_F32 }, "'b=0' is not a positive size" },
    { &pl_op_broadcast, "n->bn; b=x", 1, { PL_F32 }, "'b=x' is not a positive size" },
    { &pl_op_broadcast, "n->bn; b=99999999999999", 1, { PL_F32 }, "is not a positive size" },
    { &pl_op_broadcast, "n->bn", 1, { PL_F32 }, "the size of 'b' is not known" },
    { &pl_op_broadcast, NULL, 1, { PL_F32 }, "broadcast: needs a signature" },
    { &window_op, "[x+k]->x; k=2 stride=2 mode=min", 1, { PL_F32 }, NULL },
    { &window_op, "[x+k]->x; k=2 stride=0", 1, { PL_F32 }, "stride 0, dilation 1, pad 0: out of" },
    { &window_op, "[x+k]->x; k=2 dilation=-1", 1, { PL_F32 }, "dilation -1" },
    { &window_op, "[x+k]->x; k=2 pad=1e300", 1, { PL_F32 }, "pad 9223372036854775807: out of" },
    { &pl_op_add, NULL, 2, { PL_F32, PL_F32 }, NULL },
    { &pl_op_add, NULL, 2, { PL_I64, PL_I64 }, NULL },
    { &pl_op_add,
      NULL,
      2,
      { PL_F32, PL_BF16 },
      "input 1 is bf16, an earlier input f32: add a cast" },
    { &pl_op_add, "a->a", 1, { PL_F32 }, "1 inputs and 1 outputs, but the operator has 2 and 1" },
    { &pl_op_add, NULL, 1, { PL_F32 }, "'...,...->...' takes 2 inputs, 1 given" },
    { &pl_op_add, "a,a->", 2, { PL_F32, PL_F32 }, "'a' stands in the operands 01;" },
    { &pl_op_add, "a,a->ab; b=2", 2, { PL_F32, PL_F32 }, "'b' stands in the operands 2;" },
    { &pl_op_exp, NULL, 1, { PL_I32 }, "input 0 is i32, wanted a float type" },
    { &int_op, NULL, 1, { PL_U8 }, NULL },
    { &int_op, NULL, 1, { PL_F32 }, "input 0 is f32, wanted an integer type" },
    { &f32_op, NULL, 1, { PL_BF16 }, "input 0 is bf16, wanted f32" },
    { &pl_op_cast, "; to=bf16", 1, { PL_I32 }, NULL },
    { &pl_op_cast, "; to=f33", 1, { PL_I32 }, "unknown type 'f33'" },
    { &pl_op_cast, NULL, 1, { PL_I32 }, "unknown type ''" },
    { &pl_op_dropout, "a,b->a", 2, { PL_F32, PL_I64 }, "'b' stands in the operands 1;" },
    { &pl_op_dropout, "; p=1", 1, { PL_F32 }, "takes 2 inputs" },
};

static void operands_and_attributes_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        pl_builder b = start();
        pl_value *in[2];
        for (int k = 0; k < 2; k++)
            in[k] = pl_add_input(&b, k ? "x1" : "x0", nodes[i].type[k], PL_SHAPE(6));
        pl_node *n = pl_add_node(&b, nodes[i].op, "y", nodes[i].spec, nodes[i].n_in, in);
        if (!nodes[i].want) {
            if (!n) fail_msg("row %zu: %s", i, b.err.msg);
            continue;
        }
        if (n) fail_msg("row %zu: accepted, wanted '%s'", i, nodes[i].want);
        assert_int_equal(b.err.code, PL_EINPUT);
        ASSERT_HAS(b.err.msg, nodes[i].want);
        ASSERT_HAS(b.err.msg, "node 'y': ");
    }
}

static void a_missing_input_is_our_bug(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(6));
    assert_null(PL_ADD(&b, &pl_op_add, NULL, x, NULL));
    assert_int_equal(b.err.code, PL_EINTERNAL);
    ASSERT_HAS(b.err.msg, "input 1 is missing");
    b = start();
    pl_value *many[PL_MAX_OPERANDS + 1] = { 0 };
    assert_null(pl_add_node(&b, &pl_op_add, NULL, NULL, PL_MAX_OPERANDS + 1, many));
    ASSERT_HAS(b.err.msg, "13 inputs, at most 12");
}

static void attributes_have_defaults_and_lists(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(6, 6));
    pl_node *n =
        pl_add_node(&b, &window_op, NULL, "[x+k][y+j]->xy; k=2 j=3 stride=2,1 mode=min", 1, &x);
    assert_non_null(n);
    assert_int_equal(pl_node_int(n, "stride", 0), 2);
    assert_int_equal(pl_node_int(n, "stride", 1), 1);
    assert_int_equal(pl_node_int(n, "stride", 7), 1); /* the last repeats */
    assert_int_equal(pl_node_int(n, "pad", 0), 0);
    for (int k = 0; k < 3; k++) assert_int_equal(pl_node_int(n, "list", k), k + 1);
    assert_int_equal(pl_node_int(n, "list", 9), 3);
    assert_string_equal(pl_node_text(n, "mode"), "min");
    assert_true(pl_shape_same(&n->out[0]->shape, &PL_SHAPE(3, 4)));
    pl_node *y = pl_add_node(&b, &pl_op_scale, NULL, "; value=0.1", 1, &x);
    assert_true(pl_node_real(y, "value", 0) == 0.1);
}

/* -- flops ------------------------------------------------------------------------------------- */

static void flops_follow_the_share(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *in[] = { pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6)),
                       pl_add_input(&b, "w", PL_F32, PL_SHAPE(6, 8)) };
    pl_node *n = pl_add_node(&b, &pl_op_einsum, NULL, "mk,kn->mn", 2, in);
    pl_share s = pl_share_whole(n);
    assert_true(pl_op_flops(&s) == 2 * 4 * 6 * 8);
    pl_share_cut(&s, pl_sig_find(n->sig, 'k'), 2, 3);
    assert_true(pl_op_flops(&s) == 2 * 4 * 3 * 8);
    assert_true(pl_op_work(&s) == 2 * 4 * 3 * 8);
    assert_true(pl_op_multiplies(n));
    n = pl_add_node(&b, &pl_op_exp, NULL, NULL, 1, in);
    s = pl_share_whole(n);
    assert_true(pl_op_flops(&s) == 4 * 6);
    assert_true(pl_op_work(&s) == 16 * 4 * 6); /* an exponential takes longer than an addition */
    assert_false(pl_op_multiplies(n));
}

/* -- autodiff ---------------------------------------------------------------------------------- */

static void what_cannot_be_differentiated_is_named(void **state)
{
    (void)state;
    pl_value *grad[1];
    pl_builder b = start();
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4)),
             *k = pl_add_input(&b, "k", PL_I64, PL_SCALAR);
    pl_value *top = PL_ADD_AS(&b, &pl_op_square_sum, "top", NULL, x);
    pl_autodiff(&b, top, 1, &x, grad);
    assert_int_equal(b.err.code, PL_EUNSUPPORTED);
    assert_string_equal(b.err.msg, "node 'top': operator 'square_sum' has no gradient");
    assert_null(grad[0]);
    b.err = (pl_err){ 0 };
    pl_autodiff(&b, x, 1, &x, grad);
    assert_string_equal(b.err.msg, "the loss 'x' is not a float scalar");
    b.err = (pl_err){ 0 };
    pl_autodiff(&b, k, 1, &x, grad);
    assert_string_equal(b.err.msg, "the loss 'k' is not a float scalar");
}

/* An operator without gradient is no obstacle where nothing flows through it. */
static void only_the_way_to_the_weights_counts(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *wrt[] = { pl_add_input(&b, "x", PL_F32, PL_SCALAR),
                        pl_add_input(&b, "idle", PL_F32, PL_SCALAR) };
    pl_value *data = pl_add_input(&b, "data", PL_F32, PL_SHAPE(4)), *grad[2];
    pl_value *top = PL_ADD(&b, &pl_op_reduce_max, NULL, data);
    pl_autodiff(&b, PL_ADD(&b, &pl_op_mul, NULL, wrt[0], top), 2, wrt, grad);
    assert_int_equal(b.err.code, PL_OK);
    assert_non_null(grad[0]);
    assert_null(grad[1]);
}

/* Every value of a small graph at one feed: x = 3 elements. */
static double run_and_get(pl_builder *b, pl_value *x, const pl_value *v, int64_t i)
{
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_builder_done(b, &g, &err)) fail_msg("%s", err.msg);
    eval e = eval_new(g);
    for (int k = 0; k < 3; k++) pl_type_put(PL_F32, e.at[x->id], k, k + 1);
    eval_run(&e, g->nodes.n);
    double found = pl_type_get(v->type, e.at[v->id], i);
    eval_free(&e);
    return found;
}

/* loss = sum x^3 + x: used three times, the shares add up to 3 x^2 + 1. */
static void shares_of_a_gradient_add_up(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(3)), *grad;
    pl_value *cube = PL_ADD(&b, &pl_op_mul, NULL, PL_ADD(&b, &pl_op_mul, NULL, x, x), x);
    pl_value *y = PL_ADD(&b, &pl_op_add, NULL, cube, x);
    pl_autodiff(&b, PL_ADD(&b, &pl_op_reduce_sum, NULL, y), 1, &x, &grad);
    pl_add_output(&b, "dx", grad);
    assert_true(run_and_get(&b, x, grad, 2) == 28);
}

/* The gradient of a value on the way, of a loss by itself, and of two losses in one graph. */
static void gradients_of_inner_values(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(3));
    pl_value *inner = PL_ADD(&b, &pl_op_scale, "; value=5", x), *grad[3];
    pl_value *loss =
        PL_ADD(&b, &pl_op_reduce_sum, NULL, PL_ADD(&b, &pl_op_mul, NULL, inner, inner));
    pl_value *twice = PL_ADD(&b, &pl_op_scale, "; value=2", loss);
    pl_autodiff(&b, loss, 1, &inner, &grad[0]);
    pl_autodiff(&b, twice, 1, &inner, &grad[1]);
    pl_autodiff(&b, loss, 1, &loss, &grad[2]);
    for (int i = 0; i < 3; i++) assert_non_null(grad[i]);
    pl_value *sum = PL_ADD(&b, &pl_op_add, NULL, grad[0], grad[1]);
    pl_value *all = PL_ADD(&b, &pl_op_add, "...,->...", sum, grad[2]);
    pl_add_output(&b, "all", all);
    assert_true(run_and_get(&b, x, all, 1) == 2 * 10 + 2 * 20 + 1);
}

/* -- text form --------------------------------------------------------------------------------- */

static const char golden[] = "graph gpt2:layers=1,hidden=4\n"
                             "input x f32[2,4]\n"
                             "state w f32[4,4] weight \"normal std=0.02\" \"row.{}.of.w\"\n"
                             "state mean f32[4] buffer \"zeros\"\n"
                             "input step i64[]\n"
                             "forward y f32[2,4] = einsum \"mk,kn->mn\" x w\n"
                             "forward left f32[2,2] right f32[2,2] = split \"...v->...a,...a\" y\n"
                             "forward drop f32[2,2] = dropout \"; p=0.5\" right step\n"
                             "forward mean.next f32[4] = reduce_sum \"mn->n\" y\n"
                             "output left\n"
                             "output drop\n"
                             "next mean mean.next\n";

static void text_comes_back(void **state)
{
    (void)state;
    pl_graph *g;
    pl_err err = { 0 };
    pl_text out = { .arena = arena };
    if (!pl_graph_parse(golden, &pl_ops_all, arena, &g, &err)) fail_msg("%s", err.msg);
    pl_graph_print(g, &out);
    assert_string_equal(pl_text_get(&out), golden);
    assert_int_equal(g->nodes.n, 4);
    assert_int_equal(g->outputs.n, 2);
    assert_ptr_equal(pl_graph_find(g, "mean")->next, pl_graph_find(g, "mean.next"));
    assert_true(pl_graph_find(g, "w")->kind == PL_WEIGHT);
    assert_string_equal(pl_graph_part(arena, pl_graph_find(g, "w"), 3), "row.3.of.w");
    assert_int_equal(pl_graph_find(g, "right")->out, 1);
}

/* Blank lines, blanks and a missing last newline do not matter. */
static void text_may_be_untidy(void **state)
{
    (void)state;
    pl_graph *g;
    pl_err err = { 0 };
    pl_text out = { .arena = arena };
    const char *text =
        "graph t\n\n  input  x   f32[2] \n\nforward y f32[2]  =  exp \"\" x\n output y";
    if (!pl_graph_parse(text, &pl_ops_all, arena, &g, &err)) fail_msg("%s", err.msg);
    pl_graph_print(g, &out);
    assert_string_equal(pl_text_get(&out),
                        "graph t\ninput x f32[2]\nforward y f32[2] = exp \"\" x\n"
                        "output y\n");
}

/* What follows "graph t" and three good lines, so that the mistake stands in line 5. */
static const struct {
    const char *line, *want;
} mistakes[] = {
    { "frob x", "expected micro, input, state, forward, backward, update, output, next or "
                "gradient, found 'frob'" },
    { "input", "expected a name, found '(end of line)'" },
    { "input z", "expected a type and shape like f32[4,8], found '(end of line)'" },
    { "input z f32", "found 'f32'" },
    { "input z f33[2]", "found 'f33[2]'" },
    { "input z f32[2", "found 'f32[2'" },
    { "input z f32[2,]", "found 'f32[2,]'" },
    { "input z f32[,2]", "found 'f32[,2]'" },
    { "input z f32[2]]", "found 'f32[2]]'" },
    { "input z f32[a]", "found 'f32[a]'" },
    { "input z f32[0]", "'z': dimension 0 is 0" },
    { "input z f32[1,1,1,1,1,1,1,1,1]", "found 'f32[1,1,1,1,1,1,1,1,1]'" },
    { "input z f32[2] w", "unexpected 'w'" },
    { "input x f32[2]", "two values are named 'x'" },
    { "state z f32[2]", "expected a kind of state, found '(end of line)'" },
    { "state z f32[2] weight", "expected an initial value, found '(end of line)'" },
    { "state z f32[2] train \"zeros\"", "expected a kind of state, found 'train'" },
    { "state z f32[2] moment \"zeros\"", "expected 'of WEIGHT', found 'zeros'" },
    { "state z f32[2] gradient-sum of q \"zeros\"", "no earlier value is named 'q'" },
    { "forward z f32[2] = exp \"\" x / x", "expected the output of a node after '/'" },
    { "gradient x of s", "not made by a node: 'x'" },
    { "state z f32[2] buffer \"zeros\" \"z\"", "'z' names no rows of it: it needs one {}" },
    { "state z f32[2] buffer \"zeros\" \"{}z{}\"", "'{}z{}' names no rows of it" },
    { "state z f32[] buffer \"zeros\" \"z.{}\"", "'z.{}' names no rows of it" },
    { "forward z f32[2] = frob \"\" x", "unknown operator 'frob'" },
    { "forward z f32[2] =", "unknown operator '(end of line)'" },
    { "forward z f32[2] exp", "expected a type and shape like f32[4,8], found '(end of line)'" },
    { "forward = exp \"\" x", "expected an output before '=', found 'exp'" },
    { "forward z f32[2] = exp \"\" q", "no earlier value is named 'q'" },
    { "forward z f32[2] = exp \"\" z", "no earlier value is named 'z'" },
    { "forward z f32[3] = exp \"\" x", "the signature gives another shape or type for 'z'" },
    { "forward z bf16[2] = exp \"\" x", "the signature gives another shape or type for 'z'" },
    { "forward z f32[2] v f32[2] = exp \"\" x", "wrong number of outputs for 'exp'" },
    { "forward z f32[2] = add \"\" x y", "node 'z': add: '0' is 3 in input 1 but 2 elsewhere" },
    { "forward z f32[2] = exp \"\" x x x x x x x x x x x x x", "too many inputs at 'x'" },
    { "forward z f32[2] = exp \"; a\" x", "node 'z': exp: 'a' is not attribute=value" },
    { "forward y f32[2] = exp \"\" x", "two values are named 'y'" },
    { "output", "no earlier value is named '(end of line)'" },
    { "output q", "no earlier value is named 'q'" },
    { "output x x", "unexpected 'x'" },
    { "next x x", "not a state of the type and shape of its next value: 'x'" },
    { "next s y", "not a state of the type and shape of its next value: 's'" },
    { "next s q", "no earlier value is named 'q'" },
};

static void mistakes_name_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        pl_graph *g = NULL;
        pl_err err = { 0 };
        const char *text = pl_arena_fmt(arena,
                                        "graph t\ninput x f32[2]\ninput y f32[3]\n"
                                        "state s f32[2] buffer \"ones\"\n%s\noutput s\n",
                                        mistakes[i].line);
        if (pl_graph_parse(text, &pl_ops_all, arena, &g, &err))
            fail_msg("'%s' is accepted", mistakes[i].line);
        assert_int_equal(err.code, PL_EINPUT);
        ASSERT_HAS(err.msg, mistakes[i].want);
        if (strncmp(err.msg, "line 5: ", 8)) fail_msg("'%s' does not begin with its line", err.msg);
    }
}

/* Moments, sums and gradients are of weights of their shape; no phase reads a later one. */
static void facts_are_checked(void **state)
{
    static const struct {
        const char *lines, *want;
    } wrong[] = {
        { "state z f32[2] moment of x \"zeros\"\n", "'z': moment of 'x', which is no weight" },
        { "state z f32[3] moment of w \"zeros\"\n", "'z': moment of 'w', which has another shape" },
        { "forward y f32[2] = exp \"\" x\ngradient y of x\n",
          "'y': gradient of 'x', which is no weight" },
        { "backward y f32[2] = exp \"\" x\nforward z f32[2] = exp \"\" y\noutput z\n",
          "line 5: what it reads or is of makes it 'backward'" },
        { "forward y f32[2] = exp \"\" x\nforward z f32[2] = exp \"\" x / y\noutput z\n",
          "line 5: what it reads or is of makes it 'backward'" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *text =
            pl_arena_fmt(arena,
                         "graph t\ninput x f32[2]\nstate w f32[2] weight \"ones\"\n"
                         "%s%s",
                         wrong[i].lines, strstr(wrong[i].lines, "= exp") ? "output y\n" : "");
        pl_graph *g;
        pl_err err = { 0 };
        assert_false(pl_graph_parse(text, &pl_ops_all, arena, &g, &err));
        ASSERT_HAS(err.msg, wrong[i].want);
    }
}

static void a_graph_starts_with_its_name(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "\n", "grap t\n", "input x f32[2]\n", "\"" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pl_graph *g;
        pl_err err = { 0 };
        assert_false(pl_graph_parse(texts[i], &pl_ops_all, arena, &g, &err));
        ASSERT_HAS(err.msg, "line 1: expected 'graph NAME', found '");
    }
}

/* Random graphs of elementwise nodes and matrix products, with a loss and its gradients. */
static pl_graph *make_random(uint64_t seed)
{
    static const pl_op *const unary[] = { &pl_op_exp, &pl_op_relu, &pl_op_silu, &pl_op_scale };
    static const pl_op *const binary[] = { &pl_op_add, &pl_op_mul, &pl_op_sub, &pl_op_maximum };
    pl_rng r = pl_rng_at(seed, 1);
    pl_builder b = start();
    pl_value *v[16] = { pl_add_input(&b, "x", PL_F32, PL_SHAPE(3, 3)) };
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(3, 3), "normal std=0.02", PL_WEIGHT), *dw;
    pl_graph *g = NULL;
    pl_err err = { 0 };
    v[1] = w;
    for (uint64_t i = 2; i < 16; i++) {
        pl_value *x = v[pl_rng_below(r, 4 * i, i)], *y = v[pl_rng_below(r, 4 * i + 1, i)];
        uint64_t kind = pl_rng_below(r, 4 * i + 2, 3), which = pl_rng_below(r, 4 * i + 3, 4);
        v[i] = kind == 0   ? PL_ADD(&b, unary[which], NULL, x)
               : kind == 1 ? PL_ADD(&b, binary[which], NULL, x, y)
                           : PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", x, y);
    }
    pl_value *loss = PL_ADD(&b, &pl_op_reduce_sum, "ab->", v[15]);
    pl_autodiff(&b, loss, 1, &w, &dw);
    pl_add_output(&b, "loss", loss);
    if (dw) w->next = PL_ADD(&b, &pl_op_sub, NULL, w, dw);
    if (!pl_builder_done(&b, &g, &err))
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.msg);
    return g;
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        pl_graph *g = make_random(seed), *again = NULL;
        pl_text first = { .arena = arena }, second = first;
        pl_err err = { 0 };
        pl_graph_print(g, &first);
        if (!pl_graph_parse(pl_text_get(&first), &pl_ops_all, arena, &again, &err))
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.msg);
        pl_graph_print(again, &second);
        if (strcmp(pl_text_get(&first), pl_text_get(&second)))
            fail_msg("seed %llu:\n%s\n%s", (unsigned long long)seed, pl_text_get(&first),
                     pl_text_get(&second));
        assert_true(g->nodes.n > 1);
    }
}

/* -- the independent check --------------------------------------------------------------------- */

static const pl_op over_op = {
    .name = "over", .sig = "a,b->b", .inplace = "0", .ref = ref_nothing
};

/* x -> a = exp x -> b = scale a; w becomes b. */
static pl_graph *make_chain(pl_value **x, pl_value **w)
{
    pl_builder b = start();
    pl_graph *g = NULL;
    pl_err err = { 0 };
    *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4));
    *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(4), "ones", PL_WEIGHT);
    pl_value *a = PL_ADD_AS(&b, &pl_op_exp, "a", NULL, *x);
    (*w)->next = PL_ADD_AS(&b, &pl_op_scale, "b", NULL, a);
    assert_true(pl_builder_done(&b, &g, &err));
    return g;
}

static void damage_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        static const char *const want[] = {
            "node 'a': output 0 should be f32[4]",
            "node 'a': output 0 should be f32[4]",
            "node 'b': id 7 stands at 1",
            "node 'a': input 0 is made later, by 'b'",
            "two values are named 'x'",
            "'w' cannot become 'b'",
            "'x' cannot become 'x'",
        };
        pl_value *x, *w;
        pl_err err = { 0 };
        pl_graph *g = make_chain(&x, &w);
        pl_node *a = g->nodes.at[0], *b = g->nodes.at[1];
        if (i == 0) a->out[0]->shape.dim[0] = 5;
        if (i == 1) a->out[0]->type = PL_BF16;
        if (i == 2) b->id = 7;
        if (i == 3) a->in[0] = b->out[0];
        if (i == 4) w->name = "x";
        if (i == 5) w->shape = PL_SHAPE(3);
        if (i == 6) x->next = x;
        assert_false(pl_graph_check(g, &err));
        ASSERT_HAS(err.msg, want[i]);
    }
}

static void inplace_needs_equal_shapes(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        pl_builder b = start();
        pl_graph *g;
        pl_err err = { 0 };
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4)),
                 *y = pl_add_input(&b, "y", PL_F32, PL_SHAPE(same ? 4 : 5));
        pl_add_output(&b, "z", PL_ADD_AS(&b, &over_op, "z", NULL, x, y));
        assert_int_equal(pl_builder_done(&b, &g, &err), same);
        if (!same) ASSERT_HAS(err.msg, "node 'z': output 0 cannot take over input 0");
    }
}

/* -- mixed precision --------------------------------------------------------------------------- */

/* A weight that only products read is kept in their type, one that is read as it is too stays. */
static void narrow_weights_need_no_casts(void **state)
{
    (void)state;
    pl_builder b = start();
    pl_graph *g = NULL;
    pl_err err = { 0 };
    b.compute = PL_BF16;
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 3)),
             *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(3, 3), "zeros", PL_WEIGHT),
             *u = pl_add_state(&b, "u", PL_F32, PL_SHAPE(3, 3), "zeros", PL_WEIGHT),
             *mask = pl_add_state(&b, "mask", PL_BF16, PL_SHAPE(3), "ones", PL_BUFFER);
    pl_value *y =
        PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", x, w), w);
    y = PL_ADD(&b, &pl_op_mul, "mn,n->mn", PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", y, u), mask);
    pl_add_output(&b, "y", y);
    pl_add_output(&b, "norm", PL_ADD(&b, &pl_op_accumulate, NULL, u, u));
    pl_add_narrow_weights(&b);
    assert_true(pl_builder_done(&b, &g, &err));
    assert_int_equal(w->type, PL_BF16);
    assert_int_equal(u->type, PL_F32);
    assert_non_null(pl_graph_find(g, "x.bf16"));
    assert_non_null(pl_graph_find(g, "u.bf16"));
    assert_null(pl_graph_find(g, "w.bf16"));
    assert_false(pl_graph_is_copy(w)); /* nobody trains it */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* No text of a graph makes an f64; one that has become so keeps all its digits. */
static void f64_is_nobodys_word(void **state)
{
    double x[2] = { 1.0 / 3, 0 }, least[1];
    pl_type t;
    (void)state;
    assert_false(pl_type_find("f64", &t));
    assert_true(pl_type_find("f32", &t) && t == PL_F32);
    assert_true(pl_type_is_float(PL_F64));
    assert_int_equal(pl_type_bytes(PL_F64), sizeof *x);
    pl_type_put(PL_F64, x, 1, pl_type_get(PL_F64, x, 0));
    assert_memory_equal(&x[0], &x[1], sizeof *x);
    pl_type_fill(PL_F64, PL_MAX, least, 1);
    assert_true(least[0] < -1e300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(f64_is_nobodys_word),
        TEST(the_first_error_sticks),
        TEST(shapes_of_leaves_are_checked),
        TEST(names_are_checked),
        TEST(names_carry_their_scope),
        TEST(unneeded_nodes_are_pruned),
        TEST(operands_and_attributes_are_checked),
        TEST(a_missing_input_is_our_bug),
        TEST(attributes_have_defaults_and_lists),
        TEST(flops_follow_the_share),
        TEST(what_cannot_be_differentiated_is_named),
        TEST(only_the_way_to_the_weights_counts),
        TEST(shares_of_a_gradient_add_up),
        TEST(gradients_of_inner_values),
        TEST(text_comes_back),
        TEST(text_may_be_untidy),
        TEST(mistakes_name_their_line),
        TEST(facts_are_checked),
        TEST(a_graph_starts_with_its_name),
        TEST(random_graphs_come_back),
        TEST(damage_is_found),
        TEST(inplace_needs_equal_shapes),
        TEST(narrow_weights_need_no_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
