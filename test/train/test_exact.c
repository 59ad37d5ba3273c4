/* Exact integers: three linear layers in i64, with forward, backward and update as nodes of one
 * graph, under every published layout on up to 64 ranks. No sum is rounded, in whatever order it is
 * made: outputs, every gradient and the weights after each of 3 steps are the same bits as the
 * whole program's, which are those of loops written here. Widths divide by nearly nothing. */
#include "support/rounds.h"
#include "backends/local/local.h"
#include "backends/native/native.h"
#include "backends/ref/ref.h"
#include "base/rng.h"
#include "graph/op.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "layouts/strategy.h"
#include "run/exec.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_RANKS = 64, MAX_STRATEGIES = 256, STEPS = 3, LAYERS = 3, ROWS = 70, MOST = 1600 };

static const int64_t width[LAYERS + 1] = { 20, 13, 22, 11 };

static const pl_backend *const backends[] = { &pl_backend_native, &pl_backend_ref };

/* -- the graph --------------------------------------------------------------------------------- */

static pl_value *layer(pl_builder *b, int i, pl_value *x)
{
    pl_value *w = pl_add_state(b, pl_builder_fmt(b, "w%d", i), PL_I64,
                               PL_SHAPE(width[i], width[i + 1]), "zeros", PL_WEIGHT);
    return PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "layer%d", i), "mk,kn->mn", x, w);
}

/* What autodiff does, which is for floats: nodes of the backward pass are `of` a forward one. Each
 * value here has one reader. */
static void add_backward(pl_builder *b, pl_value *loss, pl_value *grad[])
{
    int n = b->graph->nodes.n;
    grad[loss->id] = pl_add_value(b, &pl_op_fill, "dloss", "->; value=1 to=i64", 0, NULL);
    for (int i = n - 1; i >= 0 && !b->err.code; i--) {
        const pl_node *x = b->graph->nodes.at[i];
        pl_value *dx[PL_MAX_OPERANDS] = { 0 };
        b->of = x;
        x->op->grad(b, x, &grad[x->out[0]->id], dx);
        b->of = NULL;
        for (int k = 0; k < x->n_in; k++) grad[x->in[k]->id] = dx[k];
    }
}

/* loss = sum y t, so that dy = t; then w -= dw. */
static pl_graph *make_graph(pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "exact");
    pl_value *grad[64] = { 0 }, *y, *loss, *w;
    pl_value *x = y = pl_add_input(&b, "x", PL_I64, PL_SHAPE(ROWS, width[0]));
    for (int i = 0; i < LAYERS; i++) y = layer(&b, i, y);
    pl_value *t = pl_add_input(&b, "t", PL_I64, PL_SHAPE(ROWS, width[LAYERS]));
    loss = PL_ADD_AS(&b, &pl_op_einsum, "product", "mn,mn->", y, t);
    add_backward(&b, loss, grad);
    pl_add_output(&b, "loss", loss);
    pl_add_output(&b, "y", y);
    pl_add_output(&b, "dx", grad[x->id]);
    for (int i = 0; i < LAYERS && !b.err.code; i++) {
        w = pl_graph_find(b.graph, pl_builder_fmt(&b, "w%d", i));
        w->next =
            PL_ADD_AS(&b, &pl_op_sub, pl_builder_fmt(&b, "w%d.update", i), NULL, w, grad[w->id]);
        pl_add_output(&b, pl_builder_fmt(&b, "dw%d", i), grad[w->id]);
    }
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* -- the answers ------------------------------------------------------------------------------- */

/* All tensors of a step; w after it. */
typedef struct answer {
    int64_t x[MOST], t[MOST], loss, y[MOST], dx[MOST], w[LAYERS][MOST], dw[LAYERS][MOST];
} answer;

typedef struct answers {
    int64_t start[LAYERS][MOST];
    answer step[STEPS];
} answers;

/* c [m,n] = a [m,k] b [k,n], of strides (ai, ak) and (bk, bj). Magnitudes of all terms of a sum
 * together stay below 2^53: the kernels add in doubles. */
static void multiply(const int64_t *a, int64_t ai, int64_t ak, const int64_t *b, int64_t bk,
                     int64_t bj, int64_t *c, int64_t m, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double magnitude = 0;
            int64_t sum = 0;
            for (int64_t l = 0; l < k; l++) {
                int64_t p = a[i * ai + l * ak], q = b[l * bk + j * bj];
                magnitude += fabs((double)p) * fabs((double)q);
                assert_true(magnitude < 9007199254740992.0);
                sum += p * q;
            }
            c[i * n + j] = sum;
        }
}

/* One number in `sparse` is not 0 and lies in -most .. most. */
static void draw(const char *name, int64_t step, int64_t n, int sparse, int most, int64_t *to)
{
    pl_rng r = pl_rng_at(11, pl_rng_mix(pl_rng_name(name), (uint64_t)step));
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = 2 * (uint64_t)i;
        int64_t x = (int64_t)pl_rng_below(r, at, (uint64_t)(2 * most + 1)) - most;
        to[i] = pl_rng_below(r, at + 1, (uint64_t)sparse) ? 0 : x;
    }
}

static void compute(answer *s, int64_t (*w)[MOST])
{
    int64_t y[LAYERS + 1][MOST], dy[LAYERS + 1][MOST], n = width[LAYERS];
    memcpy(y[0], s->x, sizeof s->x);
    memcpy(dy[LAYERS], s->t, sizeof s->t);
    for (int i = 0; i < LAYERS; i++)
        multiply(y[i], width[i], 1, w[i], width[i + 1], 1, y[i + 1], ROWS, width[i], width[i + 1]);
    for (int i = LAYERS - 1; i >= 0; i--) {
        multiply(dy[i + 1], width[i + 1], 1, w[i], 1, width[i + 1], dy[i], ROWS, width[i + 1],
                 width[i]);
        multiply(y[i], 1, width[i], dy[i + 1], width[i + 1], 1, s->dw[i], width[i], ROWS,
                 width[i + 1]);
        for (int64_t k = 0; k < width[i] * width[i + 1]; k++) s->w[i][k] = w[i][k] - s->dw[i][k];
    }
    multiply(y[LAYERS], 0, 1, s->t, 1, 0, &s->loss, 1, ROWS * n, 1);
    memcpy(s->y, y[LAYERS], sizeof s->y);
    memcpy(s->dx, dy[0], sizeof s->dx);
}

static void make_answers(answers *x)
{
    for (int i = 0; i < LAYERS; i++) draw("w", i, width[i] * width[i + 1], 2, 1, x->start[i]);
    for (int k = 0; k < STEPS; k++) {
        answer *s = &x->step[k];
        draw("x", k, ROWS * width[0], 2, 2, s->x);
        draw("t", k, ROWS * width[LAYERS], 8, 1, s->t);
        compute(s, k ? x->step[k - 1].w : x->start);
    }
}

static const int64_t *find_answer(const answer *s, const char *name)
{
    int layer = name[strlen(name) - 1] - '0';
    if (!strcmp(name, "x")) return s->x;
    if (!strcmp(name, "t")) return s->t;
    if (!strcmp(name, "y")) return s->y;
    if (!strcmp(name, "dx")) return s->dx;
    if (!strcmp(name, "loss")) return &s->loss;
    return name[0] == 'w' ? s->w[layer] : s->dw[layer];
}

/* -- ranks ------------------------------------------------------------------------------------- */

typedef struct rank {
    const pl_program *program;
    const answers *expected;
    pl_comm *comm;
    pl_err err;
    bool ok;
    char wrong[128]; /* the first tensor that is not as expected */
    pthread_t thread;
} rank;

static void check_part(rank *r, int step, const pl_port *p, const void *part)
{
    int64_t right[MOST], n = pl_region_count(p->region);
    pl_port_take(p, find_answer(&r->expected->step[step], p->value->name), right);
    if (memcmp(right, part, sizeof *right * (size_t)n) && !r->wrong[0])
        snprintf(r->wrong, sizeof r->wrong, "'%s' of step %d", p->value->name, step + 1);
}

static void put(pl_exec *e, const pl_port *p, const void *whole)
{
    void *part = pl_exec_map(e, p, PL_WRITE);
    pl_port_take(p, whole, part);
    pl_exec_unmap(e, p, PL_WRITE, part);
}

static void check(rank *r, pl_exec *e, int step, const pl_port *p)
{
    void *part = pl_exec_map(e, p, PL_READ);
    check_part(r, step, p, part);
    pl_exec_unmap(e, p, PL_READ, part);
}

static bool run_step(rank *r, pl_exec *e, int step, pl_err *err)
{
    const pl_program *p = r->program;
    for (int i = 0; i < p->n_inputs; i++) {
        const pl_port *x = &p->input[i];
        put(e, x, find_answer(&r->expected->step[step], x->value->name));
    }
    PL_TRY(pl_exec_step(e, 0, err));
    for (int i = 0; i < p->n_outputs; i++) check(r, e, step, &p->output[i]);
    for (int i = 0; i < p->store->n; i++) check(r, e, step, &p->store->state[i]);
    return true;
}

static bool run_steps(rank *r, pl_exec *e, pl_err *err)
{
    const pl_program *p = r->program;
    int64_t before = 0, received = 0;
    for (int k = 0; r->comm && k < PL_N_COLLECTIVES; k++) before += r->comm->count.bytes[k];
    for (int i = 0; i < p->store->n; i++) {
        const pl_port *w = &p->store->state[i];
        put(e, w, r->expected->start[w->value->name[1] - '0']);
    }
    for (int step = 0; step < STEPS; step++) PL_TRY(run_step(r, e, step, err));
    for (int k = 0; r->comm && k < PL_N_COLLECTIVES; k++) received += r->comm->count.bytes[k];
    received -= before;
    if (received != STEPS * p->message_bytes && !r->wrong[0])
        snprintf(r->wrong, sizeof r->wrong, "%lld bytes instead of %d times %lld",
                 (long long)received, STEPS, (long long)p->message_bytes);
    return true;
}

static void *run_rank(void *arg)
{
    static const pl_exec_options o = { .n_backends = sizeof backends / sizeof *backends,
                                       .backends = backends,
                                       .env = { .n_threads = 1 },
                                       .poison = true };
    rank *r = arg;
    pl_arena *a = pl_arena_new("rank");
    pl_exec *e = NULL;
    if (pl_exec_new(&o, r->comm, 1, &r->program, a, &e, &r->err))
        r->ok = pl_exec_agree(e, &r->err) && run_steps(r, e, &r->err);
    else if (r->comm)
        r->ok = pl_comm_agree(r->comm, &r->err);
    if (e) pl_exec_free(e);
    pl_arena_free(a);
    return NULL;
}

static void run_ranks(const char *what, int n, pl_program *const program[], const answers *x)
{
    pl_comm *comm[MAX_RANKS] = { 0 };
    rank *r = test_calloc(sizeof *r, (size_t)n);
    pl_err err = { 0 };
    if (n > 1 && !pl_local_new(n, 60, comm, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < n; i++) {
        r[i] = (rank){ .program = program[i], .expected = x, .comm = comm[i] };
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        pl_comm_free(comm[i]);
        if (!r[i].ok) fail_msg("%s on %d, rank %d: %s", what, n, i, r[i].err.msg);
        if (r[i].wrong[0]) fail_msg("%s on %d, rank %d: %s", what, n, i, r[i].wrong);
    }
    test_free(r);
}

static void run_plan(const pl_plan *plan, const char *what, int n, const answers *x, pl_arena *a)
{
    pl_program *program[MAX_RANKS];
    const pl_lower_options o = { 0 };
    for (int i = 0; i < n; i++) {
        pl_err err = { 0 };
        if (!pl_program_lower(plan, i, pl_store_new(plan, i, a), &o, a, &program[i], &err) ||
            !pl_program_check(program[i], &err))
            fail_msg("%s on %d: %s", what, n, err.msg);
    }
    run_ranks(what, n, program, x);
}

/* -- tests ------------------------------------------------------------------------------------- */

/* Refused may be what asks for more parts than the widest layer has positions, nothing else. */
static void check_refusal(const char *strategy, int n, const pl_err *err)
{
    const char *parts = strstr(err->msg, "over the "), *widest = strstr(err->msg, "offered is ");
    int devices = 0, positions = 0;
    if (err->code != PL_EINPUT || !parts || !widest ||
        sscanf(parts, "over the %d devices", &devices) != 1 ||
        sscanf(widest, "offered is %d", &positions) != 1 || positions >= devices)
        fail_msg("%s on %d: %s", strategy, n, err->msg);
}

/* Was it run? */
static bool check_strategy(const pl_graph *g, const char *text, int n, const answers *x)
{
    pl_arena *a = pl_arena_new("test");
    pl_strategy s;
    pl_plan *p;
    pl_err err = { 0 };
    if (!pl_strategy_parse(text, n, a, &s, &err)) fail_msg("%s on %d: %s", text, n, err.msg);
    bool fits = pl_strategy_plan(&s, g, NULL, a, &p, &err);
    if (fits)
        run_plan(p, text, n, x, a);
    else
        check_refusal(text, n, &err);
    pl_arena_free(a);
    return fits;
}

static void check_all(int n)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_graph(a);
    answers *x = PL_NEW(a, answers);
    const char *text[MAX_STRATEGIES];
    int all = pl_strategy_all(n, 0, a, MAX_STRATEGIES, text), equal = 0;
    make_answers(x);
    assert_in_range(all, 1, MAX_STRATEGIES - 1);
    for (int i = 0; i < all; i++) equal += check_strategy(g, text[i], n, x);
    print_message("%d ranks: %d layouts equal, %d too wide\n", n, equal, all - equal);
    pl_arena_free(a);
}

static void test_whole(void **state)
{
    pl_arena *a = pl_arena_new("test");
    answers *x = PL_NEW(a, answers);
    (void)state;
    make_answers(x);
    run_plan(pl_plan_single(make_graph(a), a), "whole", 1, x, a);
    pl_arena_free(a);
}

/* All of 64 take half a minute: as argument of this program, or a few of them below. */
static void test_all(void **state)
{
    static const int n[] = { 2, 3, 4, 8, 9, 16 };
    const int *asked = *state;
    if (*asked) check_all(*asked);
    for (size_t i = 0; i < sizeof n / sizeof *n && !*asked; i++)
        if (n[i] <= 9 || (n[i] == 16 && !PL_SANITIZED)) check_all(n[i]);
}

/* None of these is refused. */
static void test_named(void **state)
{
    static const struct {
        int n;
        const char *strategies;
    } rows[] = {
        { 4, "tp=2d:2x2 tp=4,sp hpz=2 grid:1x2x2" },
        { 8, "tp=2d:2x2 tp=2.5d:2x2x2 tp=3d:2x2x2 zero=2,tp=4,sp hpz=2,tp=2" },
        { 9, "tp=2d:3x3 tp=9 zero=1,tp=3,sp" },
        { 16, "tp=2d:4x4 tp=2.5d:2x2x4 zero=3,tp=2d:2x2 hsdp=4,tp=2,sp" },
        { 27, "tp=2.5d:3x3x3 tp=3d:3x3x3 grid:1x9x3 zero=3" },
        { 64, "dp zero=3 tp=16 hsdp=8,tp=4 tp=2d:8x8 tp=2.5d:4x4x4 tp=3d:4x4x4 grid:1x8x8" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_graph(a);
    answers *x = PL_NEW(a, answers);
    (void)state;
    make_answers(x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *rest = pl_arena_text(a, rows[i].strategies);
        for (char *text; (text = strtok_r(rest, " ", &rest));)
            if (!check_strategy(g, text, rows[i].n, x))
                fail_msg("%s on %d is refused", text, rows[i].n);
    }
    pl_arena_free(a);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole),
                                        cmocka_unit_test_prestate(test_all, &n),
                                        cmocka_unit_test(test_named) };
    if (n < 0 || n > MAX_RANKS) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
