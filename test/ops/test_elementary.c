/* The elementary operators of imported models: known answers, worked out by hand, and refusals. */
#include "known.h"
#include "graph/autodiff.h"
#include "ops/list.h"

/* y = op(x), n numbers each; from one type to another, with attributes. */
#define TO(op, n, from, to, attrs)                                                                 \
    "input x " from "[" n "]\nforward y " to "[" n "] = " op " \"" attrs "\" x\n"
#define ONE(op, n, attrs) TO(op, n, "f32", "f32", attrs)
#define INTS(op, n, attrs) TO(op, n, "i64", "i64", attrs)
/* y = op(a, b), n numbers each. */
#define TWO(op, n, from, to, attrs)                                                                \
    "input a " from "[" n "]\ninput b " from "[" n "]\nforward y " to "[" n "] = " op " \"" attrs  \
    "\" a b\n"
/* One letter of a single row: u numbers become v. */
#define LINE(op, u, v, attrs)                                                                      \
    "input x f32[" u "]\nforward y f32[" v "] = " op " \"; " attrs "\" x\n"

#define PI 3.14159265358979323846
#define LN2 0.69314718055994530942

/* clang-format off */
static const known_answer answers[] = {
    { "neg", ONE("neg", "3", ""), { 1, 0, -2 }, { -1, 0, 2 } },
    { "neg of integers", INTS("neg", "2", ""), { 7, -3 }, { -7, 3 } },
    { "abs", ONE("abs", "3", ""), { 1, 0, -2 }, { 1, 0, 2 } },
    { "sign", ONE("sign", "4", ""), { 5, 0, -2, NAN }, { 1, 0, -1, NAN } },
    { "reciprocal", ONE("reciprocal", "3", ""), { 2, -4, INFINITY }, { 0.5, -0.25, 0 } },
    { "sin", ONE("sin", "3", ""), { 0, PI / 6, PI / 2 }, { 0, 0.5, 1 } },
    { "cos", ONE("cos", "3", ""), { 0, PI / 3, PI }, { 1, 0.5, -1 } },
    { "tan", ONE("tan", "2", ""), { 0, PI / 4 }, { 0, 1 } },
    { "asin", ONE("asin", "3", ""), { 1, 0.5, 2 }, { PI / 2, PI / 6, NAN } },
    { "acos", ONE("acos", "3", ""), { 1, 0.5, -1 }, { 0, PI / 3, PI } },
    { "atan", ONE("atan", "3", ""), { 0, 1, -INFINITY }, { 0, PI / 4, -PI / 2 } },
    { "sinh", ONE("sinh", "2", ""), { 0, LN2 }, { 0, 0.75 } },
    { "cosh", ONE("cosh", "2", ""), { 0, LN2 }, { 1, 1.25 } },
    { "asinh", ONE("asinh", "2", ""), { 0, 0.75 }, { 0, LN2 } },
    { "acosh", ONE("acosh", "2", ""), { 1, 1.25 }, { 0, LN2 } },
    { "atanh", ONE("atanh", "2", ""), { 0, 0.6 }, { 0, LN2 } },
    { "erf", ONE("erf", "3", ""), { 0, 1, -INFINITY }, { 0, 0.8427007929, -1 } },
    { "softplus", ONE("softplus", "3", ""), { 0, 200, -200 }, { LN2, 200, 0 } },
    { "softsign", ONE("softsign", "2", ""), { 1, -3 }, { 0.5, -0.75 } },
    { "leaky_relu", ONE("leaky_relu", "3", ""), { 2, -2, 0 }, { 2, -0.02, 0 } },
    { "elu", ONE("elu", "3", "; alpha=2"), { 3, -LN2, 0 }, { 3, -1, 0 } },
    { "clip has no bounds at first", ONE("clip", "4", ""), { INFINITY, -INFINITY, NAN, 3e38 },
      { INFINITY, -INFINITY, NAN, (double)3e38F } },
    { "clip", ONE("clip", "4", "; lo=-1 hi=2"), { -5, 1, INFINITY, NAN }, { -1, 1, 2, NAN } },
    { "clip of integers", INTS("clip", "3", "; lo=-1"), { -5, 1, 9 }, { -1, 1, 9 } },
    { "clip_grad passes at the bounds", TWO("clip_grad", "4", "f32", "f32", "; lo=0 hi=1"),
      { 0, 1, -0.1, 1.1, 5, 6, 7, 8 }, { 5, 6, 0, 0 } },
    { "floor", ONE("floor", "3", ""), { 1.5, -1.5, 2 }, { 1, -2, 2 } },
    { "ceil", ONE("ceil", "3", ""), { 1.5, -1.5, 2 }, { 2, -1, 2 } },
    { "round takes halves to the even number", ONE("round", "8", ""),
      { 0.5, 1.5, 2.5, -0.5, -1.5, 1.25, -1.75, INFINITY }, { 0, 2, 2, 0, -2, 1, -2, INFINITY } },
    { "isnan", TO("isnan", "3", "f32", "u8", ""), { 1, NAN, INFINITY }, { 0, 1, 0 } },
    { "isinf", TO("isinf", "4", "f32", "u8", ""), { 1, NAN, INFINITY, -INFINITY }, { 0, 0, 1, 1 } },
    { "isinf of one sign", TO("isinf", "2", "f32", "u8", "; positive=0"), { INFINITY, -INFINITY },
      { 0, 1 } },
    { "not", TO("not", "3", "u8", "u8", ""), { 0, 1, 2 }, { 1, 0, 0 } },
    { "pow", TWO("pow", "5", "f32", "f32", ""), { 2, -2, -2, 9, 0, -1, 3, 0.5, 0.5, 0 },
      { 0.5, -8, NAN, 3, 1 } },
    { "pow of integers", TWO("pow", "4", "i64", "i64", ""), { 2, -3, 2, 0, 5, 3, -1, -1 },
      { 32, -27, 0, 0 } },
    { "pow_grad_base at 0", "input a f32[3]\ninput b f32[3]\ninput d f32[3]\n"
      "forward y f32[3] = pow_grad_base \"\" a b d\n",
      { 0, 0, -3, 2, 1, 2, 1, 5, 1 }, { 0, 5, -6 } },
    { "pow_grad_exponent at 0", "input a f32[2]\ninput b f32[2]\ninput d f32[2]\n"
      "forward y f32[2] = pow_grad_exponent \"\" a b d\n", { 0, 1, 2, 2, 5, 5 }, { 0, 0 } },
    { "minimum", TWO("minimum", "2", "f32", "f32", ""), { 1, 5, 2, -3 }, { 1, -3 } },
    { "mod has the sign of the divisor", TWO("mod", "5", "i64", "i64", ""),
      { 7, -7, 7, -7, 5, 3, 3, -3, -3, 0 }, { 1, 2, -2, -1, 0 } },
    { "mod with that of the dividend", TWO("mod", "4", "i64", "i64", "; fmod=1"),
      { 7, -7, 7, -7, 3, 3, -3, -3 }, { 1, -1, 1, -1 } },
    { "mod of floats", TWO("mod", "2", "f32", "f32", ""), { -5.5, 5.5, 2, -2 }, { 0.5, -0.5 } },
    { "div_int is cut towards zero", TWO("div_int", "4", "i32", "i32", ""),
      { 7, -7, 6, 5, 2, 2, 3, 0 }, { 3, -3, 2, 0 } },
    { "equal", TWO("equal", "3", "f32", "u8", ""), { 1, 2, NAN, 1, 3, NAN }, { 1, 0, 0 } },
    { "less", TWO("less", "3", "i32", "u8", ""), { 1, 2, 3, 2, 2, 2 }, { 1, 0, 0 } },
    { "less_equal", TWO("less_equal", "3", "i64", "u8", ""), { 1, 2, 3, 2, 2, 2 }, { 1, 1, 0 } },
    { "and", TWO("and", "4", "u8", "u8", ""), { 0, 0, 1, 2, 0, 1, 0, 1 }, { 0, 0, 0, 1 } },
    { "or", TWO("or", "4", "u8", "u8", ""), { 0, 0, 1, 2, 0, 1, 0, 1 }, { 0, 1, 1, 1 } },
    { "xor", TWO("xor", "4", "u8", "u8", ""), { 0, 0, 1, 2, 0, 1, 0, 1 }, { 0, 1, 1, 0 } },
    { "where does not let through what is not taken",
      "input c u8[2]\ninput a f32[2,2]\ninput b f32[]\n"
      "forward y f32[2,2] = where \"n,mn,->mn\" c a b\n",
      { 1, 0, 1, NAN, 3, NAN, 7 }, { 1, 7, 3, 7 } },
    { "embedding along the second dimension",
      "input t i64[2,3]\ninput i i32[2]\nforward y i64[2,2] = embedding \"av,n->an\" t i\n",
      { 1, 2, 3, 4, 5, 6, 2, 0 }, { 3, 1, 6, 4 } },
    { "gather_elements along the first dimension",
      "input x f32[3,2]\ninput i i64[2,2]\n"
      "forward y f32[2,2] = gather_elements \"en,kn->kn\" x i\n",
      { 1, 2, 3, 4, 5, 6, 2, 0, 1, 1 }, { 5, 2, 3, 4 } },
    { "topk_grad adds up what was taken twice",
      "input i i32[3]\ninput d f32[3]\nforward y f32[4] = topk_grad \"; e=4\" i d\n",
      { 1, 3, 1, 1, 10, 100 }, { 0, 101, 0, 10 } },
    { "one_hot", "input i i64[3]\n"
      "forward y f32[3,3] = one_hot \"; v=3 off=-1 on=5\" i\n", { 2, 0, 3 },
      { -1, -1, 5, 5, -1, -1, -1, -1, -1 } },
    { "cumsum", LINE("cumsum", "3", "3", ""), { 1, 2, 4 }, { 1, 3, 7 } },
    { "cumsum without itself", LINE("cumsum", "3", "3", "exclusive=1"), { 1, 2, 4 }, { 0, 1, 3 } },
    { "cumsum in reverse", LINE("cumsum", "3", "3", "reverse=1"), { 1, 2, 4 }, { 7, 6, 4 } },
    { "cumsum in reverse without itself", LINE("cumsum", "3", "3", "reverse=1 exclusive=1"),
      { 1, 2, 4 }, { 6, 4, 0 } },
    { "argmax", "input x f32[2,3]\nforward a i64[2] = argmax \"\" x\n"
      "forward b i64[2] = argmax \"; last=1\" x\n"
      "forward c i32[2] = argmax \"; least=1 to=i32\" x\n",
      { 3, 1, 3, NAN, 2, 1 }, { 0, 1, 2, 1, 1, 2 } },
    { "trilu", "input x f32[3,3]\nforward a f32[3,3] = trilu \"\" x\n"
      "forward b f32[3,3] = trilu \"; upper=0 diagonal=-1\" x\n", { 1, 2, 3, 4, 5, 6, 7, 8, 9 },
      { 1, 2, 3, 0, 5, 6, 0, 0, 9, 0, 0, 0, 4, 0, 0, 7, 8, 0 } },
    { "reduce_min", LINE("reduce_min", "3", "", ""), { 2, -1, 3 }, { -1 } },
    { "reduce_prod", LINE("reduce_prod", "3", "", ""), { 2, -1, 3 }, { -6 } },
    { "pad", LINE("pad", "2", "5", "lo=1 hi=2 value=9"), { 1, 2 }, { 9, 1, 2, 9, 9 } },
    { "pad edge", LINE("pad", "2", "5", "lo=1 hi=2 mode=edge"), { 1, 2 }, { 1, 1, 2, 2, 2 } },
    { "pad reflect", LINE("pad", "3", "7", "lo=2 hi=2 mode=reflect"), { 1, 2, 3 },
      { 3, 2, 1, 2, 3, 2, 1 } },
    { "pad wrap", LINE("pad", "3", "6", "lo=1 hi=2 mode=wrap"), { 1, 2, 3 }, { 3, 1, 2, 3, 1, 2 } },
    { "pad_grad reflect", LINE("pad_grad", "7", "3", "u=3 lo=2 hi=2 mode=reflect"),
      { 1, 2, 4, 8, 16, 32, 64 }, { 4 + 64, 2 + 8 + 32, 1 + 16 } },
    /* Places of v on u: -1/4 1/4 3/4 5/4 7/4 9/4 */
    { "resize nearest", LINE("resize", "3", "6", "scale=2"), { 1, 2, 3 }, { 1, 1, 2, 2, 3, 3 } },
    { "resize linear", LINE("resize", "3", "6", "scale=2 mode=linear"), { 0, 4, 8 },
      { 0, 1, 3, 5, 7, 8 } },
    /* 0 1/2 1 3/2 2 5/2 */
    { "resize asymmetric, halves down",
      LINE("resize", "3", "6", "v=6 coords=asymmetric"), { 1, 2, 3 }, { 1, 1, 2, 2, 3, 3 } },
    { "resize asymmetric, halves up",
      LINE("resize", "3", "6", "v=6 coords=asymmetric round=round_prefer_ceil"), { 1, 2, 3 },
      { 1, 2, 2, 3, 3, 3 } },
    { "resize asymmetric, floor", LINE("resize", "4", "3", "v=3 coords=asymmetric round=floor"),
      { 1, 2, 3, 4 }, { 1, 2, 3 } },
    { "resize asymmetric, ceil", LINE("resize", "4", "3", "v=3 coords=asymmetric round=ceil"),
      { 1, 2, 3, 4 }, { 1, 3, 4 } },
    /* 0 2/3 4/3 2 */
    { "resize of aligned corners", LINE("resize", "3", "4", "v=4 mode=linear coords=align_corners"),
      { 0, 3, 9 }, { 0, 2, 5, 9 } },
    { "resize to one place", LINE("resize", "3", "1", "v=1"), { 1, 2, 3 }, { 2 } },
    { "resize to one place as PyTorch does",
      LINE("resize", "3", "1", "v=1 coords=pytorch_half_pixel"), { 1, 2, 3 }, { 1 } },
    /* 5/2 (1 - 3 / 3.5) + (i + 1/2) / 0.7 - 1/2 = 4/7, 2, 24/7 */
    { "resize about the middle",
      LINE("resize", "5", "3", "scale=0.7 mode=linear coords=half_pixel_symmetric"),
      { 0, 7, 14, 21, 28 }, { 4, 14, 24 } },
    { "resize_grad", LINE("resize_grad", "6", "3", "u=3 mode=linear"), { 4, 4, 4, 4, 4, 4 },
      { 8, 8, 8 } },
    { 0 },
};

static const known_refusal refusals[] = {
    { TO("neg", "2", "u8", "u8", ""), "no sign" },
    { ONE("clip", "2", "; lo=2 hi=1"), "lo=2 is above hi=1" },
    { ONE("not", "2", ""), "wanted u8" },
    { TWO("div_int", "2", "f32", "f32", ""), "wanted an integer type" },
    { LINE("pad", "3", "6", "lo=3 mode=reflect"), "mode reflect makes 0 to 2" },
    { LINE("pad", "3", "4", "lo=-1"), "lo=-1" },
    { LINE("pad", "3", "7", "lo=3 v=7"), "'v' is 7" },
    { LINE("pad", "3", "6", "lo=3 mode=mirror"), "none of: constant edge reflect wrap" },
    { LINE("resize", "3", "6", "v=6 mode=area"), "none of: nearest linear cubic" },
    { LINE("resize", "3", "6", ""), "'v' is not known" },
    { LINE("resize", "3", "6", "scale=-1"), "out of range" },
    { "input x f32[6,2]\nforward y f32[6,2] = trilu \"(aq)k->(aq)k; a=2\" x\n", "'q' shares" },
    { "input x f32[2]\nforward y f32[2] = one_hot \"v->v\" x\n", "'v' stands in the operands 01" },
    { "input c u8[2]\ninput a f32[2]\ninput b i32[2]\nforward y f32[2] = where \"\" c a b\n",
      "add a cast" },
};
/* clang-format on */

static void knows_answers(void **state)
{
    (void)state;
    for (const known_answer *x = answers; x->name; x++) known_check_answer(x);
}

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        known_check_refusal(&refusals[i]);
}

/* Random numbers have no two that are equal, so test_ops.c cannot see this. */
static void equal_ones_share_the_gradient_of_an_extreme(void **state)
{
    static const pl_op *const ops[] = { &pl_op_reduce_max, &pl_op_reduce_min };
    static const float x_of[4] = { 3, 1, 3, 1 },
                       want[2][4] = { { 0.5, 0, 0.5, 0 }, { 0, 0.5, 0, 0.5 } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_builder b = pl_builder_new(a, &pl_ops_all, "test");
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4)), *grad;
        pl_graph *g = NULL;
        pl_err err = { 0 };
        pl_autodiff(&b, PL_ADD(&b, ops[i], NULL, x), 1, &x, &grad);
        pl_add_output(&b, "dx", grad);
        if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
        eval e = eval_new(g);
        memcpy(e.at[x->id], x_of, sizeof x_of);
        eval_run(&e, g->nodes.n);
        assert_memory_equal(e.at[grad->id], want[i], sizeof want[i]);
        eval_free(&e);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_answers),
        cmocka_unit_test(refuses),
        cmocka_unit_test(equal_ones_share_the_gradient_of_an_extreme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
