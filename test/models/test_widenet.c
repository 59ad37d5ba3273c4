/* WideNet: the published sizes; gradients of what blocks share; the loss that balances experts; the
 * rule of the slots; experts without slots against those with slots for all. */
#include "built.h"

#include "graph/autodiff.h"

#define SMALL                                                                                      \
    "layers=3,hidden=16,ffn=24,heads=2,experts=4,patch=4,size=8,classes=5,batch=4,noise=0.0,"      \
    "dropout=0.0"

static pl_arena *arena;

/* Table 1 of the paper has them in millions; the sum is in its supplement's sizes. */
static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t params;
    } rows[] = { { "widenet-b", 29690600 }, { "widenet-l", 40941544 }, { "widenet-h", 63341800 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(pl_graph_params(build(rows[i].spec, PL_EVAL, NULL, arena)),
                         rows[i].params);
}

/* Decoders whose blocks share all but their norms, two of them a block. */
static void text(void **state)
{
    (void)state;
    const int64_t six = pl_graph_params(build("widenet-text:layers=6", PL_EVAL, NULL, arena)),
                  twelve = pl_graph_params(build("widenet-text", PL_EVAL, NULL, arena));
    assert_int_equal(twelve, 2465024);
    assert_int_equal(twelve - six, 6 * 2 * 256);
}

/* -- gradients --------------------------------------------------------------------------------- */

/* A graph of the loss and of what it changes by with each weight. */
typedef struct slopes {
    eval e;
    int n;
    pl_value *weight[200], *grad[200];
} slopes;

static slopes slopes_new(const char *spec)
{
    slopes s = { 0 };
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    parse_well(spec, arena, &args);
    pl_builder b = pl_builder_new(arena, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_TRAIN);
    for (int i = 0; i < b.graph->values.n; i++)
        if (b.graph->values.at[i]->kind == PL_WEIGHT && b.graph->values.at[i]->role == PL_STATE)
            s.weight[s.n++] = b.graph->values.at[i];
    pl_autodiff(&b, pl_graph_find(b.graph, "loss"), s.n, s.weight, s.grad);
    for (int i = 0; i < s.n; i++) {
        assert_non_null(s.grad[i]);
        pl_add_output(&b, pl_builder_fmt(&b, "slope.%s", s.weight[i]->name), s.grad[i]);
    }
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", spec, err.msg);
    s.e = eval_new(g);
    feed(&s.e, 5);
    for (int i = 0; i < g->values.n; i++) { /* the same for whatever graph */
        const pl_value *v = g->values.at[i];
        const bool real = pl_type_is_float(v->type);
        if (v->role == PL_INPUT)
            eval_random(v->type, &v->shape, s.e.at[i], pl_rng_at(1, pl_rng_name(v->name)),
                        real ? -1 : 0, real ? 1 : 5);
    }
    return s;
}

static double loss_of(slopes *s)
{
    eval_run(&s->e, s->e.graph->nodes.n);
    return (double)*(const float *)s->e.at[pl_graph_find(s->e.graph, "loss")->id];
}

static const float *slope_of(const slopes *s, const char *name)
{
    return state_of(&s->e, pl_arena_fmt(arena, "slope.%s", name));
}

static const char *const shared_weights[] = {
    "attention.query.weight", "attention.out.weight", "router.weight", "experts.up.weight",
    "experts.up.bias",        "experts.down.weight",  "norm1.weight",  "norm2.bias",
};

/* Blocks that begin with the same weights compute the same, shared or not, and what the shared ones
 * get is the sum of what each block's own get. */
static void shared_is_the_sum(void **state)
{
    (void)state;
    for (int grouped = 0; grouped < 2; grouped++) {
        const char *spec = pl_arena_fmt(
            arena, "widenet-b:" SMALL ",balance=0.3,capacity=%s,share=", grouped ? "0" : "0.8");
        slopes one = slopes_new(pl_arena_fmt(arena, "%snorms", spec)),
               own = slopes_new(pl_arena_fmt(arena, "%snothing", spec));
        for (int i = 0; i < own.n; i++) {
            const char *name = own.weight[i]->name;
            if (!strncmp(name, "encoder.", 8) && name[8] >= '0' && name[8] <= '2')
                name = pl_arena_fmt(arena, "encoder.%s", name + 10);
            memcpy(own.e.at[own.weight[i]->id], state_of(&one.e, name),
                   (size_t)pl_value_bytes(own.weight[i]));
        }
        check_near(loss_of(&one), loss_of(&own), 1e-6);
        for (size_t w = 0; w < sizeof shared_weights / sizeof *shared_weights; w++) {
            const char *name = pl_arena_fmt(arena, "encoder.%s", shared_weights[w]);
            const float *got = slope_of(&one, name);
            const float *part[3];
            double top = 0;
            int64_t n = pl_shape_count(&pl_graph_find(one.e.graph, name)->shape);
            for (int k = 0; k < 3; k++)
                part[k] =
                    slope_of(&own, pl_arena_fmt(arena, "encoder.%d.%s", k, shared_weights[w]));
            for (int64_t i = 0; i < n; i++) top = fmax(top, fabs((double)got[i]));
            assert_true(top > 0);
            for (int64_t i = 0; i < n; i++)
                check_near((double)got[i],
                           (double)part[0][i] + (double)part[1][i] + (double)part[2][i],
                           2e-5 * top);
        }
        eval_free(&one.e), eval_free(&own.e);
    }
}

/* -- the router -------------------------------------------------------------------------------- */

static double balance_of(const char *keys, bool even)
{
    slopes with = slopes_new(pl_arena_fmt(arena, "widenet-b:" SMALL ",balance=1.0,%s", keys)),
           without = slopes_new(pl_arena_fmt(arena, "widenet-b:" SMALL ",balance=0.0,%s", keys));
    slopes *const both[] = { &with, &without };
    double loss[2];
    for (int i = 0; i < 2; i++) {
        float *w = both[i]->e.at[pl_graph_find(both[i]->e.graph, "encoder.router.weight")->id];
        for (int k = 0; k < 64 && even; k++) w[k] = 0;
        loss[i] = loss_of(both[i]);
    }
    eval_free(&with.e), eval_free(&without.e);
    return (loss[0] - loss[1]) / 3; /* of three blocks */
}

/* Probabilities that are all equal give 1, whatever is chosen then; others more. */
static void balance(void **state)
{
    (void)state;
    check_near(balance_of("group=1", true), 1, 1e-5);
    check_near(balance_of("group=0", true), 1, 1e-5);
    check_near(balance_of("capacity=0", true), 1, 1e-5);
    assert_true(balance_of("group=1", false) > 1 + 1e-5);
}

static int64_t slots_of(const char *keys)
{
    const pl_graph *g =
        build(pl_arena_fmt(arena, "widenet-b:" SMALL ",%s", keys), PL_TRAIN, NULL, arena);
    const pl_value *v = pl_graph_find(g, "encoder.0.dispatch");
    return v ? v->shape.dim[2] : 0;
}

/* floor(capacity tokens k / experts): 5 tokens of an image, 20 of all. */
static void slots(void **state)
{
    (void)state;
    assert_int_equal(slots_of("group=1"), 3);
    assert_int_equal(slots_of("group=2"), 6);
    assert_int_equal(slots_of("group=0"), 12);
    assert_int_equal(slots_of("group=0,quirk=1"), 11);
    assert_int_equal(slots_of("group=0,capacity=9"), 20);
    assert_int_equal(slots_of("group=0,capacity=0.01"), 1);
    assert_int_equal(slots_of("capacity=0"), 0);
}

/* Choices of a layer, one after the other: *dropped of them find no slot left, *unused experts are
 * chosen by nobody. */
static void count_choices(const eval *e, const pl_node *n, int *choices, int *dropped, int *unused)
{
    const pl_value *ids = n->in[1];
    const bool slots = n->out[0]->shape.rank == 4 && !strcmp(n->op->name, "moe_dispatch");
    const int32_t *id = e->at[ids->id];
    const int64_t each = ids->shape.dim[1] * ids->shape.dim[2];
    bool used[4] = { false };
    for (int64_t g = 0; g < ids->shape.dim[0]; g++) {
        int64_t load[4] = { 0 };
        for (int64_t i = 0; i < each; i++) {
            const int32_t x = id[g * each + i];
            used[x] = true;
            *choices += slots;
            *dropped += slots && load[x]++ >= n->out[0]->shape.dim[2];
        }
    }
    for (int x = 0; x < 4; x++) *unused += !used[x];
}

static double share_of(const eval *e, const char *name)
{
    const pl_value *v = pl_graph_find(e->graph, name);
    return v ? (double)*(const float *)e->at[v->id] : -1;
}

/* The shares that evaluation tells. */
static void told(void **state)
{
    (void)state;
    static const char *const keys[] = { "capacity=0.4", "group=1", "capacity=9", "capacity=0,k=1",
                                        "capacity=0.4,k=1,share=nothing" };
    int some_unused = 0;
    for (int i = 0; i < 5; i++) {
        eval e = eval_new(
            build(pl_arena_fmt(arena, "widenet-b:" SMALL ",%s", keys[i]), PL_EVAL, NULL, arena));
        int choices = 0, dropped = 0, unused = 0;
        const pl_value *last = NULL;
        feed(&e, 5);
        eval_run(&e, e.graph->nodes.n);
        for (int k = 0; k < e.graph->nodes.n; k++) {
            const pl_node *n = e.graph->nodes.at[k];
            if (strcmp(n->op->name, "moe_dispatch") && strcmp(n->op->name, "moe_matmul")) continue;
            if (n->in[1] != last) count_choices(&e, n, &choices, &dropped, &unused);
            last = n->in[1];
        }
        check_near(share_of(&e, "dropped"), choices ? (double)dropped / choices : -1, 1e-6);
        check_near(share_of(&e, "unused_experts"), (double)unused / (3 * 4), 1e-6);
        assert_true(!dropped == (i == 2 || i == 3));
        some_unused += unused > 0;
        eval_free(&e);
    }
    assert_true(some_unused);
}

/* Slots for all, in one group or many, and none at all are the same model; too few are another. */
static void grouped_is_all(void **state)
{
    (void)state;
    static const char *const keys[] = { "capacity=0", "capacity=9", "capacity=9,group=1",
                                        "capacity=0.4" };
    static const char *const weights[] = { "encoder.experts.up.weight", "encoder.experts.up.bias",
                                           "encoder.experts.down.weight", "encoder.router.weight" };
    double loss[4];
    slopes s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = slopes_new(pl_arena_fmt(arena, "widenet-b:" SMALL ",balance=0.5,%s", keys[i]));
        loss[i] = loss_of(&s[i]);
        for (int w = 0; w < 4 && i < 3; w++) {
            const float *got = slope_of(&s[i], weights[w]), *want = slope_of(&s[0], weights[w]);
            const pl_value *v = pl_graph_find(s[0].e.graph, weights[w]);
            for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++)
                check_near((double)got[k], (double)want[k], 2e-6);
        }
    }
    for (int i = 0; i < 4; i++) eval_free(&s[i].e);
    check_near(loss[1], loss[0], 1e-6);
    check_near(loss[2], loss[0], 1e-6);
    assert_true(fabs(loss[3] - loss[0]) > 1e-6);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *error;
    } rows[] = {
        { "widenet-b:batch=4,group=3", "4 images do not divide into groups of group=3" },
        { "widenet-b:size=30", "size=30 does not divide into patches" },
        { "widenet-b:every=2", "blocks that share their weights are all routed" },
        { "widenet-b:experts=1", "k=2 experts of a token" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_model_args args;
        parse_well(rows[i].spec, arena, &args);
        pl_builder b = pl_builder_new(arena, &pl_ops_all, args.spec);
        pl_model_build(&b, &args, PL_TRAIN);
        if (!strstr(b.err.msg, rows[i].error)) fail_msg("%s: %s", rows[i].spec, b.err.msg);
    }
}

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new("test");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts, setup, teardown),
        cmocka_unit_test_setup_teardown(text, setup, teardown),
        cmocka_unit_test_setup_teardown(shared_is_the_sum, setup, teardown),
        cmocka_unit_test_setup_teardown(balance, setup, teardown),
        cmocka_unit_test_setup_teardown(slots, setup, teardown),
        cmocka_unit_test_setup_teardown(told, setup, teardown),
        cmocka_unit_test_setup_teardown(grouped_is_all, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
