/* What is read once of nodes that are alike, and of no others. */
#include "graph/infer.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Of one operator, text, shapes and types: what one says none of the others has to. */
static void nodes_of_a_kind_share_their_signature(void **state)
{
    (void)state;
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_graph *g;
    pl_err err = { 0 };
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3)),
             *y = pl_add_input(&b, "y", PL_F32, PL_SHAPE(2, 3)),
             *z = pl_add_input(&b, "z", PL_F32, PL_SHAPE(3, 2)),
             *w = pl_add_input(&b, "w", PL_BF16, PL_SHAPE(2, 3));
    pl_value *made[] = {
        PL_ADD(&b, &pl_op_scale, "; value=2", x),
        PL_ADD(&b, &pl_op_scale, "; value=2", y), /* alone like the first */
        PL_ADD(&b, &pl_op_scale, "; value=2", z),
        PL_ADD(&b, &pl_op_scale, "; value=2", w),
        PL_ADD(&b, &pl_op_scale, "; value=3", x),
        PL_ADD(&b, &pl_op_relu, NULL, x),
    };
    enum { MADE = sizeof made / sizeof *made };
    for (int i = 0; i < MADE; i++) pl_add_output(&b, pl_builder_fmt(&b, "out%d", i), made[i]);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    for (int i = 1; i < MADE; i++)
        assert_true((made[i]->maker->sig == made[0]->maker->sig) == (i == 1));
    assert_true(pl_node_real(made[1]->maker, "value", 0) == 2);
    assert_true(pl_node_real(made[4]->maker, "value", 0) == 3);
    assert_int_equal(made[2]->shape.dim[0], 3);
    assert_int_equal(made[3]->type, PL_BF16);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = { TEST(nodes_of_a_kind_share_their_signature) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
