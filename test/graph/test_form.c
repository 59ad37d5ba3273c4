/* Which signatures a node may have: forms, those that are read from an operator's own signature,
 * those that operators of ops/ have; layouts that elementwise operators ask for. */
#include "graph/form.h"
#include "graph/op.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct row {
    const pl_op *op;
    const char *spec;
    int n_in;
    pl_shape in[5];
    const char *want; /* in the message; NULL: it is accepted */
} row;

static void check_rows(size_t n, const row rows[])
{
    for (size_t i = 0; i < n; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *in[5];
        for (int k = 0; k < rows[i].n_in; k++)
            in[k] = pl_add_input(&b, pl_builder_fmt(&b, "x%d", k), PL_F32, rows[i].in[k]);
        const pl_node *y = pl_add_node(&b, rows[i].op, "y", rows[i].spec, rows[i].n_in, in);
        const char *want = rows[i].want;
        if (!want != !!y || (want && (b.err.code != PL_EINPUT || !strstr(b.err.msg, want))))
            fail_msg("%s \"%s\": \"%s\", wanted %s", rows[i].op->name, rows[i].spec, b.err.msg,
                     want ? want : "no error");
        pl_arena_free(arena);
    }
}

#define CHECK_ROWS(rows) check_rows(sizeof(rows) / sizeof *(rows), rows)

/* -- forms of our own -------------------------------------------------------------------------- */

static const pl_op table = { .name = "table", .sig = "vh,...->...h", .lookup = "v" };
static const pl_op same = { .name = "same", .sig = "vh,...->...h", .form = "v:0 02 12" };
static const pl_op strict = {
    .name = "strict", .sig = "vh,...->...h", .form = "02 12", .whole = "v"
};
static const pl_op free_op = { .name = "free" };
static const pl_op window = { .name = "window", .sig = "n[y+r],r->ny", .attrs = "stride=1" };
static const pl_op lone = { .name = "lone", .sig = "->" };
static const pl_op none = { .name = "none", .form = "0>2 01 0" };

/* What a signature says by itself, a form may say in its place. */
static void signatures_are_forms(void **state)
{
    (void)state;
    const pl_op *const ops[] = { &table, &same, &strict };
    for (int i = 0; i < 3; i++) {
        const row rows[] = {
            { ops[i], "", 2, { { 2, { 4, 2 } }, { 1, { 3 } } }, NULL },
            { ops[i], "vh,bs->bsh", 2, { { 2, { 4, 2 } }, { 2, { 3, 5 } } }, NULL },
            { ops[i],
              "(vw)h,b->bh; w=2",
              2,
              { { 2, { 4, 2 } }, { 1, { 3 } } },
              "'w' stands in the operands 0; counted from 0, inputs first, a letter may stand in: "
              "v:0 02 12" },
            { ops[i],
              "xh,b->bh",
              2,
              { { 2, { 4, 2 } }, { 1, { 3 } } },
              "'x' stands in the operands 0;" },
            { ops[i], "hx,b->bhx", 2, { { 2, { 4, 2 } }, { 1, { 3 } } }, "needs the letter 'v'" },
            { ops[i],
              "hv,v->hv",
              2,
              { { 2, { 4, 2 } }, { 1, { 2 } } },
              "'v' stands in the operands 012;" },
            { ops[i],
              "vh->h",
              1,
              { { 2, { 4, 2 } } },
              "1 inputs and 1 outputs, but the operator has 2 and 1 (vh,...->...h)" },
            { ops[i],
              "vh,b->bh,b",
              2,
              { { 2, { 4, 2 } }, { 1, { 3 } } },
              "2 inputs and 2 outputs" },
            { ops[i],
              "[v+r]h,b->bh; r=2",
              2,
              { { 2, { 4, 2 } }, { 1, { 3 } } },
              "input 0 has 1 of the 1 windows, should have none" },
        };
        CHECK_ROWS(rows);
    }
}

static void windows_have_their_operands(void **state)
{
    (void)state;
    static const row rows[] = {
        { &window, "", 2, { { 2, { 2, 5 } }, { 1, { 3 } } }, NULL },
        { &window, "[y+r][x+s],rs->yx", 2, { { 2, { 4, 5 } }, { 2, { 3, 2 } } }, NULL },
        { &window,
          "n[y+r],nr->ny",
          2,
          { { 2, { 2, 5 } }, { 2, { 2, 3 } } },
          "'n' stands in the operands 012; counted from 0, inputs first, a letter may stand in: 02 "
          "taps:01" },
        { &window, "n[y+r]->ny; r=2", 1, { { 2, { 2, 5 } } }, "1 inputs and 1 outputs" },
        { &window,
          "n[y+r],y->nr; r=2",
          2,
          { { 2, { 2, 5 } }, { 1, { 4 } } },
          "'y' stands in the operands 01;" },
        { &window, "ny,->ny", 2, { { 2, { 2, 5 } }, { 0 } }, "needs at least one window" },
    };
    CHECK_ROWS(rows);
}

static void numbers_of_operands(void **state)
{
    (void)state;
    static const row rows[] = {
        { &free_op, "ab,bc,a->b,c", 3, { { 2, { 2, 3 } }, { 2, { 3, 4 } }, { 1, { 2 } } }, NULL },
        { &free_op, "[y+r]->y; r=2", 1, { { 1, { 3 } } }, NULL },
        { &lone, "", 1, { { 0 } }, NULL },
        { &lone,
          "a->",
          1,
          { { 1, { 3 } } },
          "'a' stands in the operands 0; counted from 0, inputs "
          "first, a letter may stand in: none" },
        { &lone, "->", 0, { { 0 } }, "0 inputs and 1 outputs, but the operator has 1 and 1 (->)" },
        { &none, "->a,ab; a=2 b=3", 0, { { 0 } }, "'b' stands in the operands 1;" },
        { &none, "->ab,a; a=2 b=3", 0, { { 0 } }, NULL },
        { &none, "->a; a=2", 0, { { 0 } }, "has 0 and 2 (0>2 01 0)" },
    };
    CHECK_ROWS(rows);
}

/* -- forms of operators ------------------------------------------------------------------------ */

static const row refused[] = {
    { &pl_op_broadcast, "n->b; b=4", 1, { { 1, { 3 } } }, "'n' stands in the operands 0;" },
    { &pl_op_broadcast, "->b,b; b=4", 0, { { 0 } }, "has 1 and 1" },
    { &pl_op_broadcast, "n->bn,b; b=4", 1, { { 1, { 3 } } }, "has 1 and 1" },
    { &pl_op_fill, "n->n", 1, { { 1, { 3 } } }, "has 0 and 1" },
    { &pl_op_softmax, "bsd->bsd", 1, { { 3, { 2, 3, 4 } } }, "needs the letter 'v'" },
    { &pl_op_reduce_sum, "ab->abc; c=2", 1, { { 2, { 2, 3 } } }, "'c' stands in the operands 1;" },
    { &pl_op_exp, "ab->a", 1, { { 2, { 2, 3 } } }, "'b' stands in the operands 0;" },
    { &pl_op_exp,
      "[a+b]->a; b=2",
      1,
      { { 1, { 4 } } },
      "has 1 of the 1 windows, should have none" },
    { &pl_op_avg_pool,
      "nc[y+r]->ny; r=2",
      1,
      { { 3, { 2, 3, 4 } } },
      "'c' stands in the operands 0;" },
    { &pl_op_conv2d,
      "nc[y+r],or->noy",
      2,
      { { 3, { 2, 3, 4 } }, { 2, { 5, 2 } } },
      "'c' stands in the operands 0;" },
    { &pl_op_transpose, NULL, 1, { { 2, { 2, 3 } } }, "needs a signature" },
};

static const row layouts[] = {
    { &pl_op_exp,
      "ab->ba",
      1,
      { { 2, { 2, 3 } } },
      "input 0 has the letters of output 0 in another order" },
    { &pl_op_add, "ab,ba->ab", 2, { { 2, { 2, 3 } }, { 2, { 3, 2 } } }, "input 1 has the letters" },
    { &pl_op_add,
      "a(bc),abc->a(bc)",
      2,
      { { 2, { 2, 6 } }, { 3, { 2, 3, 2 } } },
      "input 1 has the letters" },
    { &pl_op_mul, "ab,b->ab", 2, { { 2, { 2, 3 } }, { 1, { 3 } } }, NULL },
    { &pl_op_softmax, "vb->vb", 1, { { 2, { 2, 3 } } }, "'v' has to be the last dimension" },
    { &pl_op_softmax,
      "b(hv)->b(hv); h=3",
      1,
      { { 2, { 2, 6 } } },
      "'v' has to be the last dimension" },
    { &pl_op_softmax, "abv->bav", 1, { { 3, { 2, 3, 4 } } }, "in another order" },
    { &pl_op_softmax_grad,
      "vb,vb->vb",
      2,
      { { 2, { 2, 3 } }, { 2, { 2, 3 } } },
      "'v' has to be the last dimension" },
    { &pl_op_softmax, "; causal=1", 1, { { 1, { 4 } } }, "causal=1 needs one letter" },
    { &pl_op_softmax,
      "(hq)v->(hq)v; h=2 causal=1",
      1,
      { { 2, { 4, 2 } } },
      "causal=1 needs one letter" },
};

static void operators_refuse(void **state)
{
    (void)state;
    CHECK_ROWS(refused);
    CHECK_ROWS(layouts);
}

/* -- the same index ---------------------------------------------------------------------------- */

static void equal_shapes_are_not_the_same_index(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool same[3]; /* operands 0 and 1, 0 and 2, 1 and 2 */
    } rows[] = {
        { "ab,ab->ab", { true, true, true } },
        { "ab,ba->ab", { false, true, false } },
        { "ab,ca->bc", { false, false, false } },
        { "(ab)c,(ab)c->(ba)c; a=2", { true, false, false } },
        { "(ab)c,dc->(ab)c; a=2", { false, true, false } },
        { "[a+b]c,ac->ac; b=1", { false, false, true } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_arena *arena = pl_arena_new("test");
        pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
        pl_value *in[] = { pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 4)),
                           pl_add_input(&b, "w", PL_F32, PL_SHAPE(4, 4)) };
        const pl_node *n = pl_add_node(&b, &free_op, NULL, rows[i].spec, 2, in);
        if (!n) fail_msg("%s: %s", rows[i].spec, b.err.msg);
        for (int k = 0; k < 3; k++)
            if (pl_share_same_index(n, k == 2, k ? 2 : 1) != rows[i].same[k])
                fail_msg("%s: operands %d and %d", rows[i].spec, k == 2, k ? 2 : 1);
        pl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_forms),
        cmocka_unit_test(windows_have_their_operands),
        cmocka_unit_test(numbers_of_operands),
        cmocka_unit_test(operators_refuse),
        cmocka_unit_test(equal_shapes_are_not_the_same_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
