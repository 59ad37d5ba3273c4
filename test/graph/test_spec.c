/* Specs in the letters of another node: sizes, windows; composite factors that autodiff keeps. */
#include "graph/autodiff.h"
#include "graph/graph.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void specs_follow_a_node(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *pattern, *want;
    } rows[] = {
        { "mk,kn->mn", "{2},{1}->{0}", "mn,kn->mk" },
        { "mk,kn->mn", "{0}->{2}", "mk->mn; n=6" },
        { "mk,kn->mn", "{2}->", "mn->" },
        { "mk,k(hd)->mh(d); h=2", "{2}->{1}", "mhd->k(hd); k=6" },
        { "mk,k(hd)->m(hd); h=2", "{2},{1}->{0}", "m(hd),k(hd)->mk; h=2 d=3" },
        { "mk,k(hd)->m(hd); h=2", "{2}->{0}; value=3", "m(hd)->mk; k=6 h=2 d=3 value=3" },
        { "...k,kn->...n", "{2},{1}->{0}", "0n,kn->0k" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *in[] = { pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6)),
                           pl_add_input(&b, "w", PL_F32, PL_SHAPE(6, 6)) };
        pl_node *n = pl_add_node(&b, &pl_op_einsum, NULL, rows[i].spec, 2, in);
        assert_non_null(n);
        assert_string_equal(pl_spec(&b, n, rows[i].pattern), rows[i].want);
        pl_arena_free(arena);
    }
}

/* Attributes of windows stand in the order of the new text; a size that an input gives is not
 * repeated. */
static void specs_know_windows(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *pattern, *want;
    } rows[] = {
        { NULL, "{2},{1}->{0}", "noyx,ocrs->nc[y+r][x+s]; extent=8,9" },
        { NULL, "{0},{2}->{1}", "nc[y+r][x+s],noyx->ocrs; r=3 s=3" },
        { "; stride=2 pad=1", "{2},{1}->{0}",
          "noyx,ocrs->nc[y+r][x+s]; stride=2,2 pad=1,1 extent=8,9" },
        { "; stride=1,2 dilation=2,1", "{0},{2}->{1}; k=1",
          "nc[y+r][x+s],noyx->ocrs; r=3 s=3 stride=1,2 dilation=2,1 k=1" },
        { "; stride=2,3", "{2},{0}->{0}", "noyx,nc[y+r][x+s]->nc[y+r][x+s]; r=3 s=3 stride=2,3" },
        { "; stride=2,3", "{2}->{1}", "noyx->ocrs; c=2 r=3 s=3" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *in[] = { pl_add_input(&b, "x", PL_F32, PL_SHAPE(1, 2, 8, 9)),
                           pl_add_input(&b, "w", PL_F32, PL_SHAPE(4, 2, 3, 3)) };
        pl_node *n = pl_add_node(&b, &pl_op_conv2d, NULL, rows[i].spec, 2, in);
        if (!n) fail_msg("%s", b.err.msg);
        assert_string_equal(pl_spec(&b, n, rows[i].pattern), rows[i].want);
        pl_arena_free(arena);
    }
}

static const pl_node *find_last(const pl_graph *g, const pl_op *op)
{
    for (int i = g->nodes.n - 1; i >= 0; i--)
        if (g->nodes.at[i]->op == op) return g->nodes.at[i];
    return NULL;
}

/* A value used twice gets the sum of two gradients; its heads are one of two factors there too. */
static void sums_of_gradients_keep_their_factors(void **state)
{
    (void)state;
    for (int composed = 0; composed < 2; composed++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(3, 4)), *dx;
        pl_value *y = composed ? PL_ADD(&b, &pl_op_einsum, "mk,kh->m(kh)", x,
                                        pl_add_input(&b, "w", PL_F32, PL_SHAPE(4, 2)))
                               : PL_ADD(&b, &pl_op_exp, NULL, x);
        pl_value *loss = PL_ADD(&b, &pl_op_reduce_sum, "...->", PL_ADD(&b, &pl_op_mul, NULL, y, y));
        pl_autodiff(&b, loss, 1, &x, &dx);
        if (b.err.code) fail_msg("%s", b.err.msg);
        const pl_node *sum = find_last(b.graph, &pl_op_add);
        assert_non_null(sum);
        assert_string_equal(sum->spec, composed ? "m(kh),m(kh)->m(kh); k=4 h=2" : "");
        pl_arena_free(arena);
    }
}

/* A weight has no maker: its gradients' makers know its factors. */
static void sums_for_a_weight_keep_its_factors(void **state)
{
    (void)state;
    pl_arena *arena = pl_arena_new("test");
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(3, 4)), *dw;
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(4, 6), "ones", PL_WEIGHT);
    pl_value *y = PL_ADD(&b, &pl_op_einsum, "mk,k(hd)->m(hd); h=2", x, w);
    pl_value *z = PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", x, w);
    pl_value *loss = PL_ADD(&b, &pl_op_einsum, "mn,mn->", y, z);
    pl_autodiff(&b, loss, 1, &w, &dw);
    if (b.err.code) fail_msg("%s", b.err.msg);
    assert_string_equal(dw->maker->spec, "k(hd),k(hd)->k(hd); h=2 d=3");
    pl_arena_free(arena);
}

static void softmax_gradients_keep_their_factors(void **state)
{
    (void)state;
    pl_arena *arena = pl_arena_new("test");
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(6, 4)), *dx;
    pl_value *y = PL_ADD(&b, &pl_op_softmax, "(hq)v->(hq)v; h=2", x);
    pl_autodiff(&b, PL_ADD(&b, &pl_op_einsum, "ab,ab->", y, x), 1, &x, &dx);
    if (b.err.code) fail_msg("%s", b.err.msg);
    const pl_node *g = find_last(b.graph, &pl_op_softmax_grad);
    assert_non_null(g);
    assert_string_equal(g->spec, "(hq)v,(hq)v->(hq)v; h=2 q=3 scale=1");
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_follow_a_node),
        cmocka_unit_test(specs_know_windows),
        cmocka_unit_test(sums_of_gradients_keep_their_factors),
        cmocka_unit_test(sums_for_a_weight_keep_its_factors),
        cmocka_unit_test(softmax_gradients_keep_their_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
