/* Gathers in steps with their readers: SUMMA and the collective matmul by hand, their memory in
 * bytes, what is under way meanwhile, and what is gathered as ever. */
#include "support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* y = x w, all three states; or, with a batch, y[b] = x[b] w. */
static pl_graph *make_product(pl_arena *a, int64_t batch, int64_t m, int64_t k, int64_t n)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "product");
    pl_value *x = weight(&b, "x", batch ? PL_SHAPE(batch, m, k) : PL_SHAPE(m, k));
    pl_value *w = weight(&b, "w", PL_SHAPE(k, n));
    pl_value *y = weight(&b, "y", batch ? PL_SHAPE(batch, m, n) : PL_SHAPE(m, n));
    y->next = PL_ADD_AS(&b, &pl_op_einsum, "product", batch ? "bmk,kn->bmn" : "mk,kn->mn", x, w);
    return graph_done(&b);
}

static void store(pl_plan *p, const char *name, const char *where)
{
    pl_err err = { 0 };
    int id = pl_graph_find(p->graph, name)->id;
    if (!pl_placement_parse(where, &p->mesh, &p->stored[id], &err)) fail_msg("%s", err.msg);
}

/* Axis a splits the letter of axes[0], and so on; '-': every device does all. */
static pl_plan *make_plan(pl_graph *g, const int *mesh, const char *axes, const char *x,
                          const char *w, const char *y, pl_arena *a)
{
    pl_plan *p = pl_plan_single(g, a);
    p->mesh = mesh_of(mesh);
    store(p, "x", x);
    store(p, "w", w);
    store(p, "y", y);
    for (int i = 0; axes[i]; i++)
        if (axes[i] != '-')
            p->choice[0].factor[i] = (int8_t)pl_sig_find(g->nodes.at[0]->sig, axes[i]);
    return p;
}

static pl_plan *make_summa(int q, int64_t m, int64_t k, int64_t n, pl_arena *a)
{
    return make_plan(make_product(a, 0, m, k, n), (int[]){ q, q, 0 }, "mn", "[a;b]", "[a;b]",
                     "[a;b]", a);
}

static void lower(const pl_plan *p, int64_t step_bytes, pl_program *program[], pl_arena *a)
{
    const pl_program *all[64];
    pl_err err = { 0 };
    int n = pl_mesh_ranks(&p->mesh);
    const pl_lower_options o = { .step_bytes = step_bytes };
    for (int r = 0; r < n; r++) {
        bool ok = pl_program_lower(p, r, pl_store_new(p, r, a), &o, a, &program[r], &err) &&
                  pl_program_check(program[r], &err);
        if (!ok) fail_msg("rank %d: %s", r, err.msg);
        all[r] = program[r];
    }
    if (!pl_program_check_ranks(n, all, &err)) fail_msg("%s", err.msg);
}

static int count(const pl_program *p, pl_step_kind kind, pl_collective c)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++)
        n += p->step[i].kind == kind && (kind != PL_MESSAGE || p->step[i].collective == c);
    return n;
}

/* The numbers, under all options and schedules. */
static void run(const pl_plan *p, pl_arena *a)
{
    trial t = trial_new(p->graph, 1, a);
    pl_err err = { 0 };
    if (!trial_plan(&t, p, 1e-5, 1, true, &err)) fail_msg("%s", err.msg);
    trial_free(&t);
}

/* Of q x q devices each keeps two blocks of x, of w, and the output with the term that is added to
 * it; without steps a row of blocks of x, a column of w, and the output. What a device receives is
 * the same: (q - 1) blocks of each. */
static void test_summa(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (int q = 2; q <= 4; q++) {
        const int64_t m = 16 * q, k = 32 * q, n = 48 * q;
        const int64_t x = m * k * 4 / (q * q), w = k * n * 4 / (q * q), y = m * n * 4 / (q * q);
        pl_program *in_steps[16], *at_once[16];
        pl_plan *p = make_summa(q, m, k, n, a);
        lower(p, x * q - 1, in_steps, a);
        lower(p, 0, at_once, a);
        for (int r = 0; r < q * q; r++) {
            const pl_program *s = in_steps[r];
            assert_int_equal(count(s, PL_MESSAGE, PL_BROADCAST), 2 * q);
            assert_int_equal(s->n_messages, 2 * q);
            assert_int_equal(count(s, PL_KERNEL, 0), q);
            assert_int_equal(count(s, PL_FOLD, 0), q - 1);
            assert_int_equal(count(s, PL_COPY, 0), 1); /* of the result into its state */
            assert_int_equal(s->message_bytes, (q - 1) * (x + w));
            assert_int_equal(s->message_bytes, at_once[r]->message_bytes);
            assert_true(s->flops == at_once[r]->flops);
            /* Of two steps there is no term yet when both blocks are there. */
            assert_int_equal(s->work_bytes, 2 * (x + w) + (q > 2 ? 2 : 1) * y);
            assert_true(at_once[r]->work_bytes >= q * (x + w) + y);
        }
        if (q * q <= MAX_RANKS) run(p, a);
    }
    pl_arena_free(a);
}

/* The broadcasts of step i + 1 start before the kernel of step i, which does not wait for them. */
static void test_under_way(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_program *program[16];
    lower(make_summa(4, 16, 16, 16, a), 1, program, a);
    const pl_program *p = program[5];
    for (int i = 0, kernels = 0, messages = 0, computes = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        if (s->kind == PL_MESSAGE) {
            assert_int_equal(s->peer, messages++ / 2);
            assert_true(s->after <= computes);
            continue;
        }
        computes++;
        if (s->kind != PL_KERNEL) continue;
        int started = kernels < 3 ? kernels + 2 : 4;
        assert_int_equal(messages, 2 * started);
        assert_int_equal(s->wait, 2 * (kernels + 1));
        assert_int_equal(s->piece->i, kernels++);
    }
    pl_arena_free(a);
}

/* Rows of x are gathered: each block's rows of y are written where they belong. In a batch they do
 * not lie dense: they are copied there. A w of columns is read there block by block: rows of w at
 * an offset, columns of x by a copy. */
static void test_outputs_and_offsets(void **state)
{
    // clang-format off
    static const struct {
        int64_t batch;
        const char *axes, *x, *w, *y;
        int copies, folds;
    } cases[] = {
        { 0, "n", "[a;]",  "[;a]", "[;a]", 0, 0 },
        { 3, "n", "[;a;]", "[;a]", "[;;a]", 4, 0 },
        { 1, "n", "[;a;]", "[;a]", "[;;a]", 0, 0 },
        { 0, "m", "[a;]",  "[a;]", "[a;]", 4, 3 }, /* w is gathered along k: columns of x */
        { 0, "m", "[a;]",  "[;a]", "[a;]", 4, 0 }, /* along n: columns of y               */
        { 0, "n", "[;a]",  "[;a]", "[;a]", 0, 3 }, /* x is gathered along k: rows of w    */
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_program *in_steps[4], *at_once[4];
        pl_graph *g = make_product(a, cases[i].batch, 8, 12, 16);
        pl_plan *p =
            make_plan(g, (int[]){ 4, 0 }, cases[i].axes, cases[i].x, cases[i].w, cases[i].y, a);
        lower(p, 1, in_steps, a);
        lower(p, 0, at_once, a);
        for (int r = 0; r < 4; r++) {
            assert_int_equal(count(in_steps[r], PL_MESSAGE, PL_BROADCAST), 4);
            assert_int_equal(count(in_steps[r], PL_KERNEL, 0), 4);
            assert_int_equal(count(in_steps[r], PL_COPY, 0), cases[i].copies + 1);
            assert_int_equal(count(in_steps[r], PL_FOLD, 0), cases[i].folds);
            assert_int_equal(in_steps[r]->message_bytes, at_once[r]->message_bytes);
        }
        run(p, a);
        pl_arena_free(a);
    }
}

/* Uneven blocks, a result no larger than the limit, two readers: one all-gather. */
static void test_gathered_as_ever(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_program *program[4];
    const int mesh[] = { 4, 0 };
    pl_plan *p = make_plan(make_product(a, 0, 8, 12, 16), mesh, "n", "[a;]", "[;a]", "[;a]", a);
    lower(p, 8 * 12 * 4, program, a);
    assert_int_equal(count(program[1], PL_MESSAGE, PL_ALL_GATHER), 1);
    lower(p, 8 * 12 * 4 - 1, program, a);
    assert_int_equal(count(program[1], PL_MESSAGE, PL_ALL_GATHER), 0);
    p = make_plan(make_product(a, 0, 7, 12, 16), mesh, "n", "[a;]", "[;a]", "[;a]", a);
    lower(p, 1, program, a);
    assert_int_equal(count(program[1], PL_MESSAGE, PL_ALL_GATHER), 1);
    assert_int_equal(count(program[1], PL_MESSAGE, PL_BROADCAST), 0);

    pl_builder b = pl_builder_new(a, &pl_ops_all, "two readers");
    pl_value *x = weight(&b, "x", PL_SHAPE(8, 12)), *y = weight(&b, "y", PL_SHAPE(8, 12));
    pl_value *w = weight(&b, "w", PL_SHAPE(8, 12));
    y->next = PL_ADD(&b, &pl_op_relu, NULL, x);
    w->next = PL_ADD(&b, &pl_op_tanh, NULL, x);
    p = make_plan(graph_done(&b), mesh, "", "[a;]", "[]", "[]", a);
    lower(p, 1, program, a);
    assert_int_equal(count(program[1], PL_MESSAGE, PL_ALL_GATHER), 1);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summa),
        cmocka_unit_test(test_under_way),
        cmocka_unit_test(test_outputs_and_offsets),
        cmocka_unit_test(test_gathered_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
