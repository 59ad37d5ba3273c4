/* A sweep of ADMM: it does not raise the Lagrangian; where nothing is to be gained it leaves all as
 * it is; what breaks the net's equations dies out. With old sums too the Lagrangian falls. */
#include "built.h"

static pl_arena *arena;

/* Of pictures, but "seq=..." of a text. */
static eval open(const char *keys)
{
    const bool text = !strncmp(keys, "seq=", 4);
    const char *spec = pl_arena_fmt(arena, "%s,hidden=5,batch=14,method=admm,watch=1,%s",
                                    text ? "elman-text:vocab=3" : "elman:size=6,classes=3", keys);
    eval e = eval_new(build(spec, PL_TRAIN, NULL, arena));
    feed(&e, 3);
    return e;
}

static double scalar(const eval *e, const char *name)
{
    return (double)*state_of(e, name);
}

/* A step: what it leaves is what the next begins with. */
static void step(eval *e)
{
    eval_run(e, e->graph->nodes.n);
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->next) memcpy(e->at[v->id], e->at[v->next->id], eval_bytes(v->type, &v->shape));
    }
}

static void never_up(void **state)
{
    (void)state;
    static const char *const keys[] = { "steps=1",
                                        "steps=3",
                                        "steps=6",
                                        "steps=6,nu=0.1,rho=3.0",
                                        "steps=3,nu=4.0,rho=0.2",
                                        "steps=3,near=20.0",
                                        "seq=2,near=0.01",
                                        "seq=4",
                                        "steps=2,near=0.001" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        eval e = open(keys[i]);
        double first = 0, last = 0;
        for (int k = 0; k < 40; k++) {
            step(&e);
            const double before = scalar(&e, "lagrangian.before"),
                         after = scalar(&e, "lagrangian.after");
            if (!(after <= before + 2e-6 * fabs(before) + 2e-6))
                fail_msg("%s, sweep %d: from %.9g to %.9g", keys[i], k + 1, before, after);
            if (!k) first = scalar(&e, "loss");
            last = scalar(&e, "loss");
        }
        if (!(last < 0.7 * first))
            fail_msg("%s: the loss went from %g to %g", keys[i], first, last);
        eval_free(&e);
    }
}

/* -- sums of sweeps before --------------------------------------------------------------------- */

/* The oldest state is what is read, the newest becomes the sum. */
static void hands_sums_on(void **state)
{
    (void)state;
    static const char *const sums[] = { "back.gram",  "back.right", "cell.gram",
                                        "cell.right", "forth.gram", "forth.right" };
    eval e = open("steps=3,age=2"), fresh = open("steps=3");
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        const pl_value *slot[2];
        for (int k = 0; k < 2; k++) {
            slot[k] = pl_graph_find(e.graph, pl_arena_fmt(arena, "admm.old.%s.%d", sums[i], k));
            assert_non_null(slot[k]);
            assert_int_equal(slot[k]->kind, PL_BUFFER);
            assert_null(pl_graph_find(fresh.graph, slot[k]->name));
        }
        assert_ptr_equal(slot[0]->next->maker->in[0], slot[1]); /* a copy */
    }
    eval_free(&e), eval_free(&fresh);
}

/* As long as there are none weights stay. */
static void waits_for_sums(void **state)
{
    (void)state;
    static const char *const weights[] = { "cell.input.weight", "cell.hidden.weight", "cell.bias",
                                           "head.weight", "head.bias" };
    for (int age = 0; age <= 3; age++) {
        eval e = open(pl_arena_fmt(arena, "steps=3,age=%d", age)), was = eval_new(e.graph);
        for (int k = 0; k <= age; k++) {
            for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
                const pl_value *v = pl_graph_find(e.graph, weights[i]);
                memcpy(was.at[v->id], e.at[v->id], eval_bytes(v->type, &v->shape));
            }
            step(&e);
            for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
                const pl_value *v = pl_graph_find(e.graph, weights[i]);
                double most = 0;
                for (int64_t n = 0; n < pl_shape_count(&v->shape); n++)
                    most = fmax(most, fabs((double)((float *)e.at[v->id])[n] -
                                           (double)((float *)was.at[v->id])[n]));
                if (k < age ? !(most < 1e-6) : !(most > 1e-4))
                    fail_msg("age %d, sweep %d: %s moved by %g", age, k + 1, weights[i], most);
            }
        }
        eval_free(&e), eval_free(&was);
    }
}

/* Weights that stay near where they were lower the Lagrangian by old sums too; else a sweep may
 * raise it, and with `near` of 0.1 those that are 4 sweeps old do not settle. */
static void falls_with_old_sums(void **state)
{
    (void)state;
    enum { SWEEPS = 120 };
    static const struct {
        const char *keys;
        int oldest, rises;
    } rows[] = { { "steps=1", 2, 40 },
                 { "steps=1,near=2.0", 4, 0 },
                 { "steps=3,near=2.0", 4, 0 },
                 { "steps=6,near=2.0", 4, 0 } };
    for (int i = 0; i < 4 * 3; i++) {
        const int age = 1 << (i % 3);
        const char *keys = pl_arena_fmt(arena, "%s,age=%d", rows[i / 3].keys, age);
        if (age > rows[i / 3].oldest) continue;
        eval e = open(keys);
        double first = 0, after = 0, loss = 0;
        int rises = 0;
        for (int k = 0; k < SWEEPS; k++) {
            step(&e);
            const double before = scalar(&e, "lagrangian.before");
            after = scalar(&e, "lagrangian.after");
            rises += after > before + 2e-6 * fabs(before) + 2e-6;
            if (!k) first = before, loss = scalar(&e, "loss");
        }
        if (rises > rows[i / 3].rises || !(after < 0.2 * first))
            fail_msg("%s: from %g to %g, up in %d sweeps", keys, first, after, rises);
        if (!(scalar(&e, "loss") < loss))
            fail_msg("%s: the loss went from %g to %g", keys, loss, scalar(&e, "loss"));
        eval_free(&e);
    }
}

/* -- the last step ----------------------------------------------------------------------------- */

/* How far o is from V s + c, of the largest row. */
static double gap_of(const eval *e, int steps)
{
    const float *o = state_of(e, "admm.o"), *v = state_of(e, "head.weight"),
                *c = state_of(e, "head.bias"),
                *s = state_of(e, pl_arena_fmt(arena, "admm.s.%d", steps - 1));
    double most = 0;
    for (int n = 0; n < 14; n++)
        for (int k = 0; k < 3; k++) {
            double x = (double)o[n * 3 + k] - (double)c[k];
            for (int h = 0; h < 5; h++) x -= (double)v[k * 5 + h] * (double)s[n * 5 + h];
            most = fmax(most, fabs(x));
        }
    return most;
}

static void equations_hold_at_last(void **state)
{
    (void)state;
    eval e = open("steps=3,nu=0.5");
    for (int k = 0; k < 10; k++) step(&e);
    const double early = gap_of(&e, 3);
    for (int k = 0; k < 400; k++) step(&e);
    const double late = gap_of(&e, 3);
    if (!(late < 0.1 * early)) fail_msg("after 10 sweeps %g, after 410 %g", early, late);
    eval_free(&e);
}

/* Rows come in pairs that are equal but for their labels, and V and c are 0: the loss cannot be
 * lower near there. With the multipliers that say so a sweep moves nothing. */
static void rests_where_it_should(void **state)
{
    (void)state;
    eval e = open("steps=3,nu=0.5,rho=2.0");
    float *image = e.at[pl_graph_find(e.graph, "image")->id],
          *l3 = e.at[pl_graph_find(e.graph, "admm.l3")->id];
    int32_t *label = e.at[pl_graph_find(e.graph, "label")->id];
    memcpy(image + 7 * 36, image, 7 * 36 * sizeof *image);
    memset(e.at[pl_graph_find(e.graph, "head.weight")->id], 0, 15 * sizeof(float));
    /* c makes the third class impossible, and the others equal */
    const float c[3] = { 0, 0, -18 };
    memcpy(e.at[pl_graph_find(e.graph, "head.bias")->id], c, sizeof c);
    for (int n = 0; n < 14; n++) {
        label[n] = n / 7;
        for (int k = 0; k < 3; k++)
            l3[n * 3 + k] = k == 2 ? 0 : (0.5F - (float)(k == label[n])) / 2;
    }
    eval was = eval_new(e.graph);
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        if (!v->maker) memcpy(was.at[i], e.at[i], eval_bytes(v->type, &v->shape));
    }
    step(&e);
    static const char *const weights[] = { "cell.input.weight", "cell.hidden.weight",
                                           "cell.bias",         "head.weight",
                                           "head.bias",         "admm.l3",
                                           "admm.l1",           "admm.l2" };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        const pl_value *v = pl_graph_find(e.graph, weights[i]);
        for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++)
            if (!(fabs((double)((float *)e.at[v->id])[k] - (double)((float *)was.at[v->id])[k]) <=
                  5e-5)) /* of sums of f32 near 18 */
                fail_msg("%s[%lld]: from %g to %g", weights[i], (long long)k,
                         (double)((float *)was.at[v->id])[k], (double)((float *)e.at[v->id])[k]);
    }
    check_near(scalar(&e, "lagrangian.after"), scalar(&e, "lagrangian.before"), 1e-4);
    eval_free(&e), eval_free(&was);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *error;
    } rows[] = {
        { "elman:steps=5", "size=28 rows do not divide into steps=5" },
        { "elman:method=admm,mixup=1", "admm has no mixup" },
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
        cmocka_unit_test_setup_teardown(never_up, setup, teardown),
        cmocka_unit_test_setup_teardown(hands_sums_on, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(falls_with_old_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(equations_hold_at_last, setup, teardown),
        cmocka_unit_test_setup_teardown(rests_where_it_should, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
