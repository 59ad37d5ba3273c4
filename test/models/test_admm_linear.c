/* Sweeps with linear blocks: what they move is the slope of the loss in a metric; the loss falls;
 * they rest where it cannot. And sweeps of both kinds stay finite from any weights, over many
 * steps. */
#include "built.h"

enum { ROWS = 14 };

static pl_arena *arena;

static eval open(const char *keys)
{
    const char *spec =
        pl_arena_fmt(arena, "elman:hidden=5,classes=3,batch=%d,method=admm,%s", ROWS, keys);
    eval e = eval_new(build(spec, PL_TRAIN, NULL, arena));
    feed(&e, 3);
    return e;
}

static double loss(const eval *e)
{
    return (double)*state_of(e, "loss");
}

static void run(const eval *e)
{
    eval_run((eval *)(uintptr_t)e, e->graph->nodes.n);
}

/* A step: what it leaves is what the next begins with. */
static void step(eval *e)
{
    run(e);
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->next) memcpy(e->at[v->id], e->at[v->next->id], eval_bytes(v->type, &v->shape));
    }
}

/* With nu = rho = 0 and a metric that is nearly 100 I, what moves is minus the sum over rows of the
 * loss's gradient, by 100 near, for the head by near / steps. The gradient is from differences. */
static void moves_are_slopes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double by;
    } weights[] = { { "cell.input.weight", 100 },
                    { "cell.hidden.weight", 100 },
                    { "cell.bias", 100 },
                    { "head.weight", 1.0 / 3 },
                    { "head.bias", 1.0 / 3 } };
    eval e = open("steps=3,size=6,blocks=linear,nu=0.0,rho=0.0,near=1.0,metric=100.0,most=9.0");
    run(&e);
    eval first = eval_new(e.graph);
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        memcpy(first.at[i], e.at[i], eval_bytes(v->type, &v->shape));
    }
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        const pl_value *v = pl_graph_find(e.graph, weights[i].name);
        float *w = e.at[v->id], *next = first.at[v->next->id];
        for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++) {
            const float was = w[k];
            w[k] = was + 0.01F, run(&e);
            const double up = loss(&e);
            w[k] = was - 0.01F, run(&e);
            const double slope = ROWS * (up - loss(&e)) / 0.02;
            w[k] = was;
            check_near(weights[i].by * ((double)was - (double)next[k]), slope,
                       0.02 + 0.06 * fabs(slope));
        }
    }
    eval_free(&e), eval_free(&first);
}

static void loss_falls(void **state)
{
    (void)state;
    static const char *const keys[] = { "steps=1,near=0.2", "steps=3,near=0.5",
                                        "steps=6,near=1.0,most=0.1" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        eval e = open(pl_arena_fmt(arena, "size=6,blocks=linear,nu=0.1,%s", keys[i]));
        run(&e);
        const double first = loss(&e);
        for (int k = 0; k < 60; k++) step(&e);
        if (!(loss(&e) < 0.3 * first))
            fail_msg("%s: the loss went from %g to %g", keys[i], first, loss(&e));
        eval_free(&e);
    }
}

/* No sweep moves the cell further than `most`. */
static void not_too_far(void **state)
{
    (void)state;
    eval e = open("steps=3,size=6,blocks=linear,near=0.001,nu=0.001,most=0.25");
    static const char *const weights[] = { "cell.input.weight", "cell.hidden.weight", "cell.bias" };
    double sum = 0;
    run(&e);
    for (int i = 0; i < 3; i++) {
        const pl_value *v = pl_graph_find(e.graph, weights[i]);
        const float *was = e.at[v->id], *next = e.at[v->next->id];
        for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++)
            sum += ((double)next[k] - (double)was[k]) * ((double)next[k] - (double)was[k]);
    }
    check_near(sqrt(sum), 0.25, 1e-4);
    eval_free(&e);
}

/* Rows come in pairs that are equal but for their labels, and V and c are 0 but for a third class
 * that c makes impossible: the loss cannot be lower near there. */
static void rests_where_it_should(void **state)
{
    (void)state;
    eval e = open("steps=3,size=6,blocks=linear");
    float *image = e.at[pl_graph_find(e.graph, "image")->id];
    int32_t *label = e.at[pl_graph_find(e.graph, "label")->id];
    const float c[3] = { 0, 0, -18 };
    memcpy(image + 7 * 36, image, 7 * 36 * sizeof *image);
    memset(e.at[pl_graph_find(e.graph, "head.weight")->id], 0, 15 * sizeof(float));
    memcpy(e.at[pl_graph_find(e.graph, "head.bias")->id], c, sizeof c);
    for (int n = 0; n < ROWS; n++) label[n] = n / 7;
    run(&e);
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        if (!v->next || v->type != PL_F32) continue;
        for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++)
            check_near((double)((float *)e.at[v->next->id])[k], (double)((float *)e.at[v->id])[k],
                       1e-5);
    }
    eval_free(&e);
}

static void check_finite(const eval *e, const char *what)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (!v->next || v->type != PL_F32) continue;
        for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++)
            if (!isfinite(((float *)e->at[v->next->id])[k]))
                fail_msg("%s: %s[%lld] is not finite", what, v->name, (long long)k);
    }
}

static void stays_finite(void **state)
{
    (void)state;
    static const char *const steps[] = { "steps=1,size=6", "steps=28,size=28",
                                         "steps=100,size=100" };
    static const char *const kinds[] = { "blocks=least", "blocks=linear,nu=0.1,near=1.0" };
    static const char *const scales[] = { "0.001", "0.03", "1.0" };
    for (int i = 0; i < 3 * 2 * 3; i++) {
        const char *keys =
            pl_arena_fmt(arena, "%s,%s,init=%s", steps[i / 6], kinds[i / 3 % 2], scales[i % 3]);
        eval e = open(keys);
        for (int k = 0; k < 4; k++) step(&e);
        check_finite(&e, keys);
        if (!isfinite(loss(&e))) fail_msg("%s: the loss is not finite", keys);
        eval_free(&e);
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
        cmocka_unit_test_setup_teardown(moves_are_slopes, setup, teardown),
        cmocka_unit_test_setup_teardown(loss_falls, setup, teardown),
        cmocka_unit_test_setup_teardown(not_too_far, setup, teardown),
        cmocka_unit_test_setup_teardown(rests_where_it_should, setup, teardown),
        cmocka_unit_test_setup_teardown(stays_finite, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
