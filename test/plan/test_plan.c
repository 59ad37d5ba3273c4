/* Plans: what may be chosen, and that data parallelism follows from two lines of placements:
 * nothing moves in the forward pass and every weight's gradient is summed once. */
#include "support/expect.h"
#include "support/graphs.h"
#include "layouts/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const pl_node *find_node(const pl_graph *g, const char *name)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (!strcmp(g->nodes.at[i]->name, name)) return g->nodes.at[i];
    print_error("no node '%s'\n", name);
    fail();
    return NULL;
}

static pl_plan *data_parallel(const pl_graph *g, int n, pl_arena *a)
{
    pl_plan *p = NULL;
    pl_strategy s;
    pl_err err = { 0 };
    bool ok = pl_strategy_parse("dp", n, a, &s, &err) && pl_strategy_plan(&s, g, NULL, a, &p, &err);
    EXPECT(ok, "dp on %d: %s", n, err.msg);
    return p;
}

/* -- linear sets ------------------------------------------------------------------------------- */

static void test_linear_sets(void **state)
{
    static const struct {
        const char *linear;
        int n_in, k;
        unsigned set;
    } cases[] = {
        { "0|1", 2, 0, 1 }, { "0|1", 2, 1, 2 }, { "0|1", 2, 2, 0 },
        { "01", 2, 0, 3 },  { "01", 2, 1, 0 },  { "0|1|2", 2, 2, 0 },
        { "34", 5, 0, 24 }, { NULL, 2, 0, 0 },  { "012345678", 3, 0, 7 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_op op = { .linear = cases[i].linear };
        pl_value x = { .type = PL_F32 }, y = { .type = PL_I32 };
        pl_node n = { .op = &op, .n_in = cases[i].n_in, .n_out = 1, .out = { &x } };
        for (int k = 0; k < n.n_in; k++) n.in[k] = &x;
        unsigned set = pl_plan_linear_set(&n, cases[i].k);
        EXPECT(set == cases[i].set, "set %d of '%s' is %u", cases[i].k, cases[i].linear, set);
        n.out[0] = &y;
        set = pl_plan_linear_set(&n, cases[i].k);
        EXPECT(!set, "set %d of '%s' is %u, though it rounds", cases[i].k, cases[i].linear, set);
    }
}

/* -- data parallel ----------------------------------------------------------------------------- */

/* The changes of placement that a plan needs, each once per value and target. */
typedef struct moves {
    int sums, others;
    const char *summed[64];
} moves;

static void add_move(moves *m, const pl_value *v, const pl_placement *from, const pl_placement *to)
{
    if (pl_placement_same(from, to)) return;
    if (!from->pending || to->pending) {
        m->others++;
        return;
    }
    for (int i = 0; i < m->sums; i++)
        if (!strcmp(m->summed[i], v->name)) return;
    m->summed[m->sums++] = v->name;
}

static moves find_moves(const pl_plan *p, pl_arena *a)
{
    const pl_graph *g = p->graph;
    moves m = { 0 };
    pl_placement *made = PL_NEW_N(a, pl_placement, g->values.n + 1), whole = { 0 };
    for (int i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->maker) made[i] = p->stored[i];
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_in; k++) {
            pl_placement to = pl_plan_operand(p, i, k);
            add_move(&m, n->in[k], &made[n->in[k]->id], &to);
        }
        for (int k = 0; k < n->n_out; k++) made[n->out[k]->id] = pl_plan_operand(p, i, n->n_in + k);
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->next) add_move(&m, v->next, &made[v->next->id], &p->stored[i]);
    }
    for (int i = 0; i < g->outputs.n; i++)
        add_move(&m, g->outputs.at[i], &made[g->outputs.at[i]->id], &whole);
    return m;
}

static bool is_summed(const moves *m, const char *name)
{
    for (int i = 0; i < m->sums; i++)
        if (!strcmp(m->summed[i], name)) return true;
    return false;
}

static void test_data_parallel(void **state)
{
    static const char *const split[] = { "fc1", "act", "fc2", "residual", "error" };
    static const char *const weights[] = { "w1", "w2", "b1", "b2" };
    (void)state;
    for (int n = 2; n <= 4; n *= 2) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_mlp(a, 8);
        const pl_plan *p = data_parallel(g, n, a);
        for (int i = 0; i < 5; i++) {
            const pl_node *x = find_node(g, split[i]);
            pl_placement y = pl_plan_operand(p, x->id, x->n_in);
            const char *text = pl_placement_text(a, &y, &p->mesh, 2);
            EXPECT(!strcmp(text, "[data;]"), "'%s' is made at %s", split[i], text);
        }
        moves m = find_moves(p, a);
        EXPECT(m.others == 0, "%d moves that are no sums", m.others);
        EXPECT(m.sums == 5, "%d sums: four gradients and the loss are 5", m.sums);
        EXPECT(is_summed(&m, "loss"), "the loss is not summed");
        for (int i = 0; i < 4; i++) {
            const char *update = pl_arena_fmt(a, "%s.update", weights[i]);
            const char *grad = find_node(g, update)->in[1]->name;
            EXPECT(is_summed(&m, grad), "'%s', the gradient of %s, is not summed", grad,
                   weights[i]);
        }
        pl_arena_free(a);
    }
}

/* The table is used twice: what both uses leave pending is added first and summed once. */
static void test_tied_weight(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_tied(a, 8);
    const pl_plan *p = data_parallel(g, 4, a);
    const pl_node *update = find_node(g, "update"), *add = update->in[1]->maker;
    moves m = find_moves(p, a);
    (void)state;
    assert_string_equal(add->op->name, "add");
    for (int k = 0; k < 3; k++) {
        pl_placement x = pl_plan_operand(p, add->id, k);
        EXPECT(x.pending == 1 && x.monoid == PL_SUM, "operand %d of the add is not pending", k);
    }
    EXPECT(m.others == 0 && m.sums == 2, "%d sums, %d others", m.sums, m.others);
    EXPECT(is_summed(&m, "loss") && is_summed(&m, update->in[1]->name), "something else is summed");
    pl_arena_free(a);
}

/* A maximum that is pending is no sum: what is linear may not pass it on. */
static void test_pending_maximum(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "max");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 4));
    pl_value *top = PL_ADD_AS(&b, &pl_op_reduce_max, "top", "bn->n", x);
    pl_value *y = PL_ADD_AS(&b, &pl_op_scale, "twice", "; value=2", top);
    (void)state;
    pl_add_output(&b, "y", y);
    const pl_graph *g = graph_done(&b);
    const pl_plan *p = data_parallel(g, 2, a);
    pl_placement made = pl_plan_operand(p, find_node(g, "top")->id, 1);
    pl_placement read = pl_plan_operand(p, find_node(g, "twice")->id, 0);
    assert_true(made.pending == 1 && made.monoid == PL_MAX);
    assert_true(read.pending == 0);
    pl_arena_free(a);
}

static void test_one_device(void **state)
{
    pl_arena *a = pl_arena_new("test");
    moves m = find_moves(data_parallel(make_mlp(a, 7), 1, a), a);
    (void)state;
    assert_int_equal(m.sums + m.others, 0);
    pl_arena_free(a);
}

/* -- errors ------------------------------------------------------------------------------------ */

/* Six rows on four devices: two, two, two and none. */
static void test_indivisible_batch(void **state)
{
    static const int64_t rows[] = { 2, 2, 2, 0 };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_mlp(a, 6);
    const pl_plan *p = data_parallel(g, 4, a);
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        pl_share s = pl_plan_share(p, find_node(g, "fc1")->id, rank);
        EXPECT(pl_share_out(&s, 0)->dim[0] == rows[rank], "rank %d has %lld rows", rank,
               (long long)pl_share_out(&s, 0)->dim[0]);
    }
    assert_int_equal(find_moves(p, a).others, 0);
    pl_arena_free(a);
}

/* softmax over the last of "...v": 0 and 1 may be split, v not. */
static const pl_graph *make_softmax(pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "softmax");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6, 8));
    pl_value *y = PL_ADD_AS(&b, &pl_op_softmax, "soft", NULL, x);
    y = PL_ADD_AS(&b, &pl_op_reshape, "flat", "abv->(ab)v", y);
    pl_add_output(&b, "y", y);
    return graph_done(&b);
}

static void test_illegal_choices(void **state)
{
    static const struct {
        const char *node;
        int factor[2]; /* on axes of 4 and 2 */
        const char *says;
    } cases[] = {
        { "soft", { 0, 1 }, NULL },
        { "soft", { 1, PL_COPIED }, NULL }, /* 6 over 4: unevenly        */
        { "soft", { 0, 0 }, NULL },         /* 4 over 8: some have none */
        { "soft", { PL_COPIED, 2 }, "cannot be split on factor 2 (axis 'b')" },
        { "soft", { 7, PL_COPIED }, "cannot be split on factor 7" },
        { "soft", { PL_LINEAR, PL_COPIED }, "softmax is not linear in a set 0" },
        { "flat", { 0, PL_LINEAR }, NULL },
        { "flat", { PL_COPIED, PL_LINEAR - 1 }, "not linear in a set 1" },
        { "flat", { PL_COPIED, 1 }, NULL }, /* a strided part of (ab)    */
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_softmax(a);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_plan *p = pl_plan_single(g, a);
        pl_err err = { 0 };
        p->mesh = (pl_mesh){ 2, { { .name = "a", .size = 4 }, { .name = "b", .size = 2 } } };
        for (int k = 0; k < 2; k++)
            p->choice[find_node(g, cases[i].node)->id].factor[k] = (int8_t)cases[i].factor[k];
        bool ok = pl_plan_check(p, &err);
        EXPECT(ok == !cases[i].says, "case %d: %s", (int)i, ok ? "is legal" : err.msg);
        EXPECT(ok || (strstr(err.msg, cases[i].says) && strstr(err.msg, cases[i].node)),
               "case %d: %s", (int)i, err.msg);
    }
    pl_arena_free(a);
}

/* -- text -------------------------------------------------------------------------------------- */

static void test_print(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "line");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 3)), *w = weight(&b, "w", PL_SHAPE(3));
    pl_value *y = PL_ADD_AS(&b, &pl_op_einsum, "y", "mk,k->m", x, w);
    pl_value *loss = PL_ADD_AS(&b, &pl_op_reduce_sum, "sum", "m->", y);
    pl_value *back = PL_ADD_AS(&b, &pl_op_einsum, "back", "m,mk->k", y, x);
    pl_text text = { .arena = a };
    (void)state;
    pl_add_output(&b, "grad", PL_ADD_AS(&b, &pl_op_scale, "half", "; value=0.5", back));
    pl_add_output(&b, "loss", loss);
    pl_plan_print(data_parallel(graph_done(&b), 2, a), &text);
    assert_string_equal(pl_text_get(&text), "plan dp\n"
                                            "mesh data=2\n"
                                            "store x [data;]\n"
                                            "store w []\n"
                                            "node y data=m\n"
                                            "node sum data=m\n"
                                            "node back data=m\n"
                                            "node half data=linear:0\n");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_sets),     cmocka_unit_test(test_data_parallel),
        cmocka_unit_test(test_tied_weight),     cmocka_unit_test(test_pending_maximum),
        cmocka_unit_test(test_one_device),      cmocka_unit_test(test_indivisible_batch),
        cmocka_unit_test(test_illegal_choices), cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
