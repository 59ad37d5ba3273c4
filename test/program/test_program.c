/* Programs as they are lowered: order, messages, memory, ports; and what the check says of broken
 * ones. */
#include "support/expect.h"
#include "base/file.h"
#include "support/graphs.h"
#include "support/plans.h"
#include "program/program.h"
#include "layouts/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const pl_lower_options each_alone = { .bucket_bytes = 1 }; /* one message per reduction */

static pl_program *lower(const pl_plan *plan, int rank, const pl_lower_options *o, pl_arena *a)
{
    pl_program *p = NULL;
    pl_err err = { 0 };
    bool ok = pl_program_lower(plan, rank, pl_store_new(plan, rank, a), o, a, &p, &err) &&
              pl_program_check(p, &err);
    EXPECT(ok, "rank %d: %s", rank, err.msg);
    return p;
}

static pl_plan *data_parallel(const pl_graph *g, int n, pl_arena *a)
{
    pl_plan *p = NULL;
    pl_err err = { 0 };
    pl_strategy dp;
    bool ok =
        pl_strategy_parse("dp", n, a, &dp, &err) && pl_strategy_plan(&dp, g, NULL, a, &p, &err);
    EXPECT(ok, "dp=%d: %s", n, err.msg);
    return p;
}

static int find_step(const pl_program *p, pl_step_kind kind, const char *label)
{
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == kind && !strcmp(p->step[i].label, label)) return i;
    return -1;
}

static bool is_update(const pl_step *s)
{
    return s->kind == PL_KERNEL && s->share->node->op->inplace;
}

static int count_steps(const pl_program *p, pl_step_kind kind, pl_collective c)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++)
        n += p->step[i].kind == kind && (kind != PL_MESSAGE || p->step[i].collective == c);
    return n;
}

/* -- order ------------------------------------------------------------------------------------- */

/* On one device an update follows the last step that it has to wait for; only other updates may
 * stand between. */
static void test_eager_updates(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_mlp(a, 8);
    const pl_program *p =
        lower(pl_plan_single(g, a), 0, &(pl_lower_options){ .order = PL_ORDER_PROGRAM }, a);
    int updates = 0;
    (void)state;
    for (int i = 0; i < p->n_steps; i++) {
        if (!is_update(&p->step[i])) continue;
        const pl_node *n = p->step[i].share->node;
        int last = find_step(p, PL_KERNEL, n->in[1]->maker->name);
        for (int k = 0; k < p->n_steps; k++) /* who reads the weight before it changes */
            for (int o = 0; o < p->step[k].n_in && !is_update(&p->step[k]); o++)
                if (p->step[k].share->node->in[o] == n->in[0] && k > last) last = k;
        for (int k = last + 1; k < i; k++)
            EXPECT(is_update(&p->step[k]), "'%s' runs between step %d and '%s'", p->step[k].label,
                   last, n->name);
        updates++;
    }
    assert_int_equal(updates, 4);
    pl_arena_free(a);
}

/* With a message per gradient the first start while the backward pass runs, and each update waits
 * for the message of its gradient and for no later one. */
static void test_overlap(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_mlp(a, 8);
    const pl_program *p = lower(data_parallel(g, 2, a), 0, &each_alone, a);
    int last = 0, early = 0, waited = 0, number[64] = { 0 }, n = 0;
    (void)state;
    for (int i = 0; i < p->n_steps; i++) {
        if (p->step[i].kind == PL_KERNEL && !is_update(&p->step[i])) last = i;
        if (p->step[i].kind == PL_MESSAGE) number[i] = n++;
    }
    for (int i = 0; i < last; i++)
        early += p->step[i].kind == PL_MESSAGE && strcmp(p->step[i].label, "loss");
    EXPECT(early >= 2, "%d gradients are under way before the last kernel '%s'", early,
           p->step[last].label);
    for (int i = 0; i < p->n_steps; i++) {
        if (!is_update(&p->step[i])) continue;
        const char *grad = p->step[i].share->node->in[1]->name;
        int m = find_step(p, PL_MESSAGE, grad);
        EXPECT(m >= 0 && m < i, "'%s' is not summed before its update", grad);
        EXPECT(p->step[i].wait > number[m], "'%s' waits for %d messages, '%s' is number %d",
               p->step[i].label, p->step[i].wait, grad, number[m]);
        EXPECT(p->step[i].wait <= (number[m] + 1 > waited ? number[m] + 1 : waited),
               "'%s' waits for %d messages: too many", p->step[i].label, p->step[i].wait);
        waited = p->step[i].wait;
    }
    pl_arena_free(a);
}

static void test_buckets(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *plan = data_parallel(make_mlp(a, 8), 4, a);
    const pl_program *one = lower(plan, 1, &(pl_lower_options){ 0 }, a);
    const pl_program *many = lower(plan, 1, &each_alone, a);
    int64_t grads = 6 * 5 + 5 + 5 * 6 + 6;
    (void)state;
    assert_int_equal(one->n_messages, 1);
    assert_int_equal(many->n_messages, 5);
    int64_t all = pl_move_volume(PL_ALL_REDUCE, 4, grads + 1, 4); /* and the loss */
    assert_int_equal(one->message_bytes, all);
    assert_true(many->message_bytes <= all && many->message_bytes > all - 5 * 4); /* each rounded */
    pl_arena_free(a);
}

/* f32 and bf16, sums and maxima do not travel in one message. */
static void test_mixed_buckets(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "mixed");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 4));
    pl_value *y = pl_add_input(&b, "y", PL_BF16, PL_SHAPE(8, 4));
    (void)state;
    pl_add_output(&b, "a", PL_ADD(&b, &pl_op_reduce_sum, "bn->n", x));
    pl_add_output(&b, "b", PL_ADD(&b, &pl_op_reduce_sum, "bn->n", y));
    pl_add_output(&b, "c", PL_ADD(&b, &pl_op_reduce_max, "bn->n", y));
    pl_add_output(&b, "d", PL_ADD(&b, &pl_op_reduce_max, "bn->", y));
    const pl_program *p =
        lower(data_parallel(graph_done(&b), 2, a), 0, &(pl_lower_options){ 0 }, a);
    assert_int_equal(p->n_messages, 3);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        if (s->kind != PL_MESSAGE) continue;
        assert_int_equal(s->type, s->label[0] == 'a' ? PL_F32 : PL_BF16);
        assert_int_equal(s->monoid, s->label[0] < 'c' ? PL_SUM : PL_MAX);
        assert_int_equal(s->count, s->label[0] < 'c' ? 4 : 5);
    }
    pl_arena_free(a);
}

/* Every rank has the same messages in the same order, or they would wait for each other. */
static void test_ranks_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_mesh m = mesh_of((int[]){ 2, 1 + (int)(seed % 3), 0 });
        const pl_plan *plan = plan_by_lot(make_random(a, seed), &m, seed, 2, a);
        const pl_program *p[6];
        pl_err err = { 0 };
        for (int r = 0; r < pl_mesh_ranks(&m); r++)
            p[r] = lower(plan, r, &(pl_lower_options){ 0 }, a);
        EXPECT(pl_program_check_ranks(pl_mesh_ranks(&m), p, &err), "seed %d: %s", (int)seed,
               err.msg);
        pl_arena_free(a);
    }
}

/* -- moves ------------------------------------------------------------------------------------- */

/* y is made split and read whole twice, once as an output, and once split: one gather, and one copy
 * when the split dimension is not the outermost. */
static void check_gathered_once(const char *stored, int copies, pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "gather");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6));
    pl_value *y = PL_ADD_AS(&b, &pl_op_relu, "y", "mn->mn", x);
    pl_add_output(&b, "split", PL_ADD_AS(&b, &pl_op_tanh, "s", "mn->mn", y));
    pl_add_output(&b, "t", PL_ADD_AS(&b, &pl_op_transpose, "whole", "mn->nm", y));
    pl_add_output(&b, "u", PL_ADD_AS(&b, &pl_op_scale, "again", "mn->mn; value=2", y));
    pl_add_output(&b, "y", y);
    pl_graph *g = graph_done(&b);
    pl_plan *p = pl_plan_single(g, a);
    pl_err err = { 0 };
    p->mesh = mesh_of((int[]){ 2, 0 });
    EXPECT(pl_placement_parse(stored, &p->mesh, &p->stored[0], &err), "%s", err.msg);
    for (int i = 0; i < 2; i++) p->choice[i].factor[0] = (int8_t)pl_placement_dim(&p->stored[0], 0);
    const pl_program *q = lower(p, 1, &(pl_lower_options){ 0 }, a);
    assert_int_equal(count_steps(q, PL_MESSAGE, PL_ALL_GATHER), 2); /* y, and tanh's output */
    assert_int_equal(count_steps(q, PL_MESSAGE, PL_ALL_REDUCE), 0);
    assert_int_equal(count_steps(q, PL_COPY, PL_ALL_REDUCE), 2 * copies);
}

static void test_gathered_once(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    check_gathered_once("[a;]", 0, a);
    check_gathered_once("[;a]", 1, a);
    pl_arena_free(a);
}

/* A value pending on one axis and split over another is combined, and gathered when that is
 * finished. */
static void test_chained_messages(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "chain");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6));
    pl_err err = { 0 };
    (void)state;
    pl_add_output(&b, "y", PL_ADD_AS(&b, &pl_op_reduce_sum, "y", "mn->n", x));
    pl_plan *p = pl_plan_single(graph_done(&b), a);
    p->mesh = mesh_of((int[]){ 2, 2, 0 });
    assert_true(pl_placement_parse("[a;b]", &p->mesh, &p->stored[0], &err));
    p->choice[0].factor[0] = 0, p->choice[0].factor[1] = 1;
    pl_program *q = lower(p, 3, &(pl_lower_options){ 0 }, a);
    assert_int_equal(q->n_steps, 3);
    assert_int_equal(q->step[1].collective, PL_ALL_REDUCE);
    assert_int_equal(q->step[2].collective, PL_ALL_GATHER);
    assert_int_equal(q->step[2].wait, 1);
    q->step[2].wait = 0;
    assert_false(pl_program_check(q, &err));
    EXPECT(strstr(err.msg, "step 1 'y' and step 2 'y' may run at once"), "%s", err.msg);
    pl_arena_free(a);
}

/* -- memory and ports -------------------------------------------------------------------------- */

static void test_memory_limit(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *plan = pl_plan_single(make_mlp(a, 64), a);
    const pl_program *p = lower(plan, 0, &(pl_lower_options){ 0 }, a);
    const pl_program *loose = lower(plan, 0, &(pl_lower_options){ .no_reuse = true }, a);
    pl_program *q;
    pl_err err = { 0 };
    (void)state;
    assert_true(p->work_bytes >= p->work_bound && loose->work_bytes > p->work_bytes);
    pl_lower_options o = { .work_limit = p->work_bytes };
    assert_true(pl_program_lower(plan, 0, p->store, &o, a, &q, &err));
    o.work_limit = p->work_bound - 1;
    assert_false(pl_program_lower(plan, 0, p->store, &o, a, &q, &err));
    assert_int_equal(err.code, PL_EINFEASIBLE);
    const char *need = pl_arena_fmt(a, "%lld", (long long)p->work_bound);
    const char *limit = pl_arena_fmt(a, "%lld", (long long)o.work_limit);
    EXPECT(strstr(err.msg, need) && strstr(err.msg, limit), "%s (live %s)", err.msg, need);
    pl_arena_free(a);
}

static pl_graph *make_evaluation(pl_arena *a, const char *weight_name, int64_t n)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "eval");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 6));
    pl_value *w = weight(&b, weight_name, PL_SHAPE(6, n));
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", x, w));
    return graph_done(&b);
}

/* An evaluation reads the weights where the training step keeps them. */
static void test_shared_store(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_store *store = pl_store_new(data_parallel(make_mlp(a, 8), 2, a), 1, a);
    pl_plan *eval = data_parallel(make_evaluation(a, "w1", 5), 2, a);
    pl_plan *missing = data_parallel(make_evaluation(a, "w9", 5), 2, a);
    pl_plan *other = data_parallel(make_evaluation(a, "w1", 4), 2, a);
    pl_lower_options o = { 0 };
    pl_program *p;
    pl_err err = { 0 }, err2 = { 0 };
    (void)state;
    bool ok = pl_program_lower(eval, 1, store, &o, a, &p, &err) && pl_program_check(p, &err);
    EXPECT(ok, "%s", err.msg);
    int k = find_step(p, PL_KERNEL, p->plan->graph->nodes.at[0]->name);
    assert_true(p->step[k].in[1].state && p->step[k].in[1].at == store->state[0].slot.at);
    assert_string_equal(store->state[0].value->name, "w1");
    assert_false(pl_program_lower(missing, 1, store, &o, a, &p, &err));
    assert_int_equal(err.code, PL_EINPUT);
    EXPECT(strstr(err.msg, "no state 'w9'"), "%s", err.msg);
    assert_false(pl_program_lower(other, 1, store, &o, a, &p, &err2));
    EXPECT(strstr(err2.msg, "f32[6,5]") && strstr(err2.msg, "f32[6,4]"), "%s", err2.msg);
    pl_arena_free(a);
}

static void test_ports(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p =
        lower(data_parallel(make_mlp(a, 8), 4, a), 3, &(pl_lower_options){ 0 }, a);
    (void)state;
    assert_int_equal(p->n_inputs, 3);
    assert_int_equal(p->n_outputs, 1);
    assert_string_equal(p->input[0].value->name, "x");
    assert_int_equal(p->input[0].shape.dim[0], 2);
    assert_int_equal(pl_region_global(p->input[0].region, &p->input[0].value->shape, 0), 6 * 6);
    assert_int_equal(p->input[0].bytes, 2 * 6 * 4);
    assert_int_equal(p->output[0].bytes, 4);
    assert_int_equal(p->store->n, 8);
    pl_arena_free(a);
}

/* No node at all: what comes in goes out. */
static void test_nothing_to_do(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "nothing");
    pl_value *w = weight(&b, "w", PL_SHAPE(3));
    (void)state;
    pl_add_output(&b, "x", pl_add_input(&b, "x", PL_F32, PL_SHAPE(4)));
    pl_add_output(&b, "w", w);
    pl_add_output(&b, "w", w);
    const pl_graph *g = graph_done(&b);
    assert_int_equal(lower(pl_plan_single(g, a), 0, &(pl_lower_options){ 0 }, a)->n_steps, 0);
    const pl_program *p = lower(data_parallel(g, 2, a), 1, &(pl_lower_options){ 0 }, a);
    assert_int_equal(p->n_steps, 1); /* the gather of x */
    assert_true(p->output[1].slot.state && p->output[2].slot.state);
    pl_arena_free(a);
}

/* -- text -------------------------------------------------------------------------------------- */

static const pl_plan *line_plan(pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "line");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 3)), *w = weight(&b, "w", PL_SHAPE(3));
    pl_value *lr = pl_add_input(&b, "lr", PL_F32, PL_SCALAR);
    pl_value *u = pl_add_state(&b, "u", PL_F32, PL_SHAPE(3), "zeros", PL_BUFFER);
    pl_value *y = PL_ADD_AS(&b, &pl_op_einsum, "y", "mk,k->m", x, w);
    pl_value *back = PL_ADD_AS(&b, &pl_op_einsum, "back", "m,mk->k", y, x);
    pl_node *update =
        pl_add_node(&b, &pl_op_sgd, "update", NULL, 5, (pl_value *const[]){ w, back, u, lr, lr });
    assert_non_null(update);
    w->next = update->out[0], u->next = update->out[1];
    pl_add_output(&b, "y", y);
    return data_parallel(graph_done(&b), 2, a);
}

static const char line_text[] =
    "program rank 1 of 2\n"
    "store 128\n"
    "work 256 bound 256 order 0\n"
    "input x [data;] w0 bytes 24\n"
    "input lr [] w64 bytes 4\n"
    "output y [] w0 bytes 16\n"
    "kernel y = einsum ( w0 s0 -> w128 ) : y\n"
    "kernel back = einsum ( w128 w0 -> w192 ) : back\n"
    "transfer 0 back all-reduce over data []+{data} []\n"
    "message all-reduce over data peer 0 bytes 12 after 2 3 f32 transfer 0 from to "
    "( w192 -> w192 ) : back\n"
    "transfer 1 y all-gather over data [data] []\n"
    "message all-gather over data peer 0 bytes 8 after 2 2 f32 transfer 1 from to "
    "( w128 -> w0 ) : y\n"
    "kernel update = sgd wait 1 ( s0 w192 s64 w64 w64 -> s0 s64 ) : update\n";

static void test_text(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *plan = line_plan(a);
    pl_text text = { .arena = a }, again = { .arena = a };
    pl_program *p;
    pl_err err = { 0 };
    (void)state;
    pl_program_print(lower(plan, 1, &each_alone, a), &text);
    assert_string_equal(pl_text_get(&text), line_text);
    EXPECT(pl_program_parse(line_text, plan, a, &p, &err), "%s", err.msg);
    EXPECT(pl_program_check(p, &err), "%s", err.msg);
    pl_program_print(p, &again);
    assert_string_equal(pl_text_get(&again), line_text);
    pl_arena_free(a);
}

/* Each with one place changed, and what is said of it. */
static void test_wrong_text(void **state)
{
    static const struct {
        const char *was, *is, *says;
    } cases[] = {
        { "rank 1 of 2", "rank 2 of 2", "line 1: no rank of the plan: '2'" },
        { "rank 1 of 2", "rank 1 of 4", "line 1: no rank of the plan" },
        { "store 128", "store 64", "line 2: not the states of the plan" },
        { "bound 256", "bound x", "line 3: expected a number, found 'x'" },
        { "bound 256", "bound -1", "line 3: expected a number, found '-1'" },
        { "input x", "input z", "line 4: the graph has no tensor 'z'" },
        { "[data;] w0", "[row;] w0", "line 4: placement: the mesh has no axis 'row'" },
        { "w64 bytes", "64 bytes", "line 5: expected a place like s0, w64 or hs128, found '64'" },
        { "kernel y", "colonel y", "line 7: expected input, output, transfer or a kind of step" },
        { "kernel y", "kernel w", "line 7: not made by an operator: 'w'" },
        { "y = einsum", "y = add", "line 7: expected 'einsum', found 'add'" },
        { "w0 s0 ->", "w0 s0", "line 7: expected a place like s0, w64 or hs128, found ')'" },
        { "transfer 0 back", "transfer 1 back", "line 9: not the next transfer's number: 'back'" },
        { "all-reduce over", "all-reuse over", "line 9: expected a move, found 'all-reuse'" },
        { "all-reduce over data", "all-reduce over tensor",
          "line 9: the mesh lacks an axis of 'tensor'" },
        { "message all-reduce", "message all-rebuke",
          "line 10: expected a collective, found 'all-rebuke'" },
        { "3 f32", "3 f33", "line 10: expected a type, found 'f33'" },
        { "transfer 1 from", "transfer 2 from", "line 12: no such transfer yet" },
        { "from to ( w128", "from fro ( w128", "line 12: expected a form, found 'fro'" },
        { ") : update", ") update", "line 13: expected ':', found 'update'" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_plan *plan = line_plan(a);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(line_text, cases[i].was);
        pl_program *p;
        pl_err err = { 0 };
        assert_non_null(at);
        const char *text = pl_arena_fmt(a, "%.*s%s%s", (int)(at - line_text), line_text,
                                        cases[i].is, at + strlen(cases[i].was));
        EXPECT(!pl_program_parse(text, plan, a, &p, &err), "read: %s", cases[i].is);
        EXPECT(err.code == PL_EINPUT && strstr(err.msg, cases[i].says), "%s: %s", cases[i].is,
               err.msg);
    }
    pl_arena_free(a);
}

/* -- what the check finds ---------------------------------------------------------------------- */

/* A fresh program of the two-layer model, to be broken: rank 1 of 2, a message per gradient. */
static pl_program *fresh(pl_arena *a)
{
    return lower(data_parallel(make_mlp(a, 8), 2, a), 1, &each_alone, a);
}

static void expect_caught(const pl_program *p, const char *first, const char *second)
{
    pl_err err = { 0 };
    EXPECT(!pl_program_check(p, &err), "not seen: '%s' and '%s'", first, second);
    EXPECT(err.code == PL_EMISMATCH && strstr(err.msg, first) && strstr(err.msg, second),
           "wanted '%s' and '%s': %s", first, second, err.msg);
}

static const char *step_name(const pl_program *p, int i, pl_arena *a)
{
    return pl_arena_fmt(a, "step %d '%s'", i, p->step[i].label);
}

static void test_wrong_slot(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    int fc2 = find_step(p, PL_KERNEL, "fc2"), fc1 = find_step(p, PL_KERNEL, "fc1");
    pl_slot right = p->step[fc2].in[0];
    (void)state;
    p->step[fc2].in[0].at += 64;
    expect_caught(p, step_name(p, fc2, a), "wants");
    p->step[fc2].in[0].at = p->work_bytes;
    expect_caught(p, step_name(p, fc2, a), "the block has");
    p->step[fc2].in[0].at = -64;
    expect_caught(p, step_name(p, fc2, a), "the block has");
    p->step[fc2].in[0] = right;
    p->step[fc1].out[0] = p->input[0].slot; /* over x, which the residual reads */
    expect_caught(p, step_name(p, fc1, a), "operand 0");
    pl_arena_free(a);
}

/* A result over what a later step still reads: both are named. */
static void test_overwritten(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    int error = find_step(p, PL_KERNEL, "error"), act = find_step(p, PL_KERNEL, "act");
    (void)state;
    for (int i = 0; i < p->n_steps; i++) /* target is read by "error"; "act" writes there before */
        for (int k = 0; k < p->step[i].n_in; k++)
            if (!p->step[i].in[k].state && p->step[i].in[k].at == p->step[act].out[0].at &&
                i > act && i < error)
                p->step[i].in[k] = p->input[1].slot;
    p->step[act].out[0] = p->input[1].slot;
    expect_caught(p, step_name(p, error, a), step_name(p, act, a));
    pl_arena_free(a);
}

static void test_dropped_wait(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    int update = -1, waited = 0;
    (void)state;
    for (int i = 0; i < p->n_steps && update < 0; i++)
        if (p->step[i].wait) update = i;
    assert_true(update >= 0 && is_update(&p->step[update]));
    int message = find_step(p, PL_MESSAGE, p->step[update].share->node->in[1]->name);
    for (int i = 0; i < message; i++) waited += p->step[i].kind == PL_MESSAGE;
    p->step[update].wait = waited;
    expect_caught(p, step_name(p, message, a), step_name(p, update, a));
    p->step[update].wait = p->n_messages + 1;
    expect_caught(p, step_name(p, update, a), "waits for");
    pl_arena_free(a);
}

static void test_dropped_after(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    (void)state;
    for (int i = 0; i < p->n_steps; i++) {
        if (p->step[i].kind != PL_MESSAGE) continue;
        int after = p->step[i].after;
        p->step[i].after = 0; /* the lane's order keeps it behind the message before it, no more */
        expect_caught(p, step_name(p, i, a), "may run at once");
        p->step[i].after = after - 1; /* the step that makes what it sends */
        expect_caught(p, step_name(p, i, a), step_name(p, i - 1, a));
        p->step[i].after = after;
    }
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_MESSAGE) p->step[i].after = p->n_compute + 1;
    expect_caught(p, "waits for", "compute steps");
    pl_arena_free(a);
}

static void test_swapped_steps(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    int fc1 = find_step(p, PL_KERNEL, "fc1"), act = find_step(p, PL_KERNEL, "act");
    (void)state;
    assert_true(act > fc1);
    pl_step x = p->step[act];
    p->step[act] = p->step[fc1];
    p->step[fc1] = x;
    expect_caught(p, step_name(p, fc1, a), "wants");
    pl_arena_free(a);
}

static void test_wrong_books(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_program *p = fresh(a);
    int m = find_step(p, PL_MESSAGE, "loss"), fc1 = find_step(p, PL_KERNEL, "fc1");
    pl_share share = *p->step[fc1].share;
    (void)state;
    p->n_compute++;
    expect_caught(p, "counted as", "compute steps");
    p->n_compute--;
    p->work_bound = p->work_bytes + 1;
    expect_caught(p, "less than its bound", "");
    p->work_bound = 0;
    p->step[m].count++;
    expect_caught(p, step_name(p, m, a), "");
    p->step[m].count--;
    p->step[m].monoid = PL_MAX;
    expect_caught(p, step_name(p, m, a), "partial results");
    p->step[m].monoid = PL_SUM;
    share.factor[0].lo = 0; /* rank 0's rows */
    p->step[fc1].share = &share;
    expect_caught(p, step_name(p, fc1, a), "the plan says");
    pl_arena_free(a);
}

/* A program with one gather whose blocks have to be put in their places: a 4 x 6 tensor, split in
 * dimension 1 over two ranks. */
static pl_program *gathering(pl_arena *a, pl_copy **copy)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "gather");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6));
    pl_err err = { 0 };
    pl_add_output(&b, "y", PL_ADD_AS(&b, &pl_op_relu, "y", "mn->mn", x));
    pl_plan *p = pl_plan_single(graph_done(&b), a);
    p->mesh = mesh_of((int[]){ 2, 0 });
    EXPECT(pl_placement_parse("[;a]", &p->mesh, &p->stored[0], &err), "%s", err.msg);
    pl_program *q = lower(p, 1, &(pl_lower_options){ 0 }, a);
    pl_step *s = &q->step[find_step(q, PL_COPY, "x")];
    assert_int_equal(s->from, PL_INCOMING);
    assert_int_equal(s->to, PL_PART_TO);
    *copy = PL_NEW_N(a, pl_copy, s->n_copies);
    memcpy(*copy, s->copy, sizeof **copy * (size_t)s->n_copies);
    s->copy = *copy;
    return q;
}

static void test_wrong_copies(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_copy *c, right;
    pl_program *p = gathering(a, &c);
    int i = find_step(p, PL_COPY, "x");
    (void)state;
    assert_int_equal(p->step[i].n_copies, 1); /* two loops: members, and rows of 3 elements */
    assert_true(c->n == 2 && c->bytes == 3 * 4);
    right = *c;
    c->from_at += 4;
    expect_caught(p, step_name(p, i, a), "element 1 is copied where 0 belongs");
    c->from_at = right.from_at + 2;
    expect_caught(p, step_name(p, i, a), "do not fall on elements of 4 bytes");
    *c = right;
    c->count[1]--;
    expect_caught(p, step_name(p, i, a), "is not copied");
    c->count[1] += 2;
    expect_caught(p, step_name(p, i, a), "copied");
    *c = right;
    c->to_at = -4;
    expect_caught(p, step_name(p, i, a), "elements from 0 to -1 are copied");
    *c = right;
    p->step[i].from = PL_PART_FROM;
    expect_caught(p, step_name(p, i, a), "the all-gather of 'x' from [;a] to [;]");
    p->step[i].from = PL_INCOMING;
    p->step[i].n_copies = 0;
    expect_caught(p, step_name(p, i, a), "element 0 is not copied");
    pl_arena_free(a);
}

static void test_wrong_messages(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_copy *c;
    pl_program *p = gathering(a, &c);
    int m = find_step(p, PL_MESSAGE, "x");
    pl_step *s = &p->step[m], right = *s;
    pl_transfer t = *s->transfer;
    (void)state;
    s->bytes -= 4, p->message_bytes -= 4;
    expect_caught(p, step_name(p, m, a), "receives 48 bytes, counted as 44");
    *s = right, p->message_bytes += 4;
    s->collective = PL_ALL_TO_ALL;
    expect_caught(p, step_name(p, m, a), "another kind");
    *s = right;
    s->to = PL_PART_TO;
    expect_caught(p, step_name(p, m, a), "incoming blocks are not the part as they lie");
    *s = right;
    s->transfer = &t;
    t.move.to.pending = 1;
    expect_caught(p, step_name(p, m, a), "");
    t = *right.transfer;
    t.value = p->output[0].value;
    expect_caught(p, step_name(p, m, a), "wants 'y' at [;a]");
    pl_arena_free(a);
}

/* Three rows over four devices: the last one has none. It computes nothing of them, adds nothing to
 * the sums over them, and takes part in every message. */
static void test_idle_rank(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *plan = data_parallel(make_mlp(a, 3), 4, a);
    pl_program *idle = lower(plan, 3, &each_alone, a), *busy = lower(plan, 0, &each_alone, a);
    int fill = find_step(idle, PL_FILL, "fc1/einsum.22");
    (void)state;
    assert_int_equal(find_step(idle, PL_KERNEL, "fc1"), -1);
    assert_true(find_step(busy, PL_KERNEL, "fc1") >= 0);
    assert_int_equal(count_steps(busy, PL_FILL, PL_ALL_REDUCE), 0);
    assert_int_equal(idle->n_messages, busy->n_messages);
    assert_int_equal(pl_shape_count(&idle->input[0].shape), 0);
    assert_int_equal(idle->input[0].bytes, busy->input[0].bytes);
    assert_true(fill >= 0);
    idle->step[fill].count--;
    expect_caught(idle, "fc1/einsum.22", "partial results");
    idle->step[fill].count++;
    idle->step[fill].monoid = PL_MAX;
    expect_caught(idle, "fc1/einsum.22", "partial results");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eager_updates),    cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_buckets),          cmocka_unit_test(test_mixed_buckets),
        cmocka_unit_test(test_ranks_agree),      cmocka_unit_test(test_gathered_once),
        cmocka_unit_test(test_chained_messages), cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_shared_store),     cmocka_unit_test(test_ports),
        cmocka_unit_test(test_nothing_to_do),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_wrong_text),       cmocka_unit_test(test_wrong_slot),
        cmocka_unit_test(test_overwritten),      cmocka_unit_test(test_dropped_wait),
        cmocka_unit_test(test_dropped_after),    cmocka_unit_test(test_swapped_steps),
        cmocka_unit_test(test_wrong_books),      cmocka_unit_test(test_wrong_copies),
        cmocka_unit_test(test_wrong_messages),   cmocka_unit_test(test_idle_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
