/* The plan that was taken, opened for questions: it is that plan, with its time, and its
 * alternatives keep within what a device has. */
#include "support/training.h"
#include "report/why.h"
#include "support/request.h"

#include <math.h>

static const char model[] = "mlp:layers=5,in=256,hidden=256,classes=256,batch=256";

typedef struct taken {
    pl_cluster *cluster;
    pl_found *best;
    pl_reason reason;
    const pl_candidate *about;
} taken;

static bool take(const char *cluster, double memory, pl_arena *a, taken *t)
{
    pl_err err = { 0 };
    if (!pl_cluster_find(cluster, a, &t->cluster, &err)) fail_msg("%s", err.msg);
    const pl_graph *g = training_graph(model, a);
    pl_plan_request r = request_of("auto", t->cluster, a);
    r.search.memory = memory;
    return pl_plan_find(&r, g, a, &t->best, &err) &&
           pl_why_open(t->best, a, &t->reason, &t->about, &err);
}

static void test_is_the_plan(void **state)
{
    pl_arena *a = pl_arena_new("test");
    taken t;
    (void)state;
    assert_true(take("4xv100", 0, a, &t));
    assert_ptr_equal(t.about, t.best->take);
    const pl_plan *p = t.about->plan, *q = t.reason.plan;
    for (int i = 0; i < p->graph->values.n; i++)
        if (!p->graph->values.at[i]->maker)
            assert_true(pl_placement_same(&p->stored[i], &q->stored[i]));
    for (int i = 0; i < p->graph->nodes.n; i++)
        for (int o = 0; o < p->graph->nodes.at[i]->n_in; o++) {
            pl_placement x = pl_plan_operand(p, i, o), y = pl_plan_operand(q, i, o);
            assert_true(pl_placement_same(&x, &y));
        }
    assert_true(t.reason.cap > 100 * t.reason.memory);
    pl_arena_free(a);
}

static void test_keeps_the_limit(void **state)
{
    pl_arena *a = pl_arena_new("test");
    taken t;
    int n_asked = 0;
    (void)state;
    assert_true(take("4xv100", 0, a, &t));
    double limit = 1.001 * (double)t.best->take->forecast.memory.peak;
    assert_true(take("4xv100", limit, a, &t));
    assert_true(t.reason.cap <= limit && t.reason.cap >= t.reason.memory);
    for (int i = 0; i < t.reason.plan->graph->nodes.n; i += 9) {
        pl_alternatives x;
        pl_err err = { 0 };
        const pl_node *n = t.reason.plan->graph->nodes.at[i];
        if (!pl_reason_node(&t.reason, n, 2, a, &x, &err)) continue;
        for (int k = 0; k < x.n; k++)
            assert_true(t.reason.memory + x.at[k].memory <= t.reason.cap * (1 + 1e-9));
        n_asked++;
    }
    assert_true(n_asked > 2);
    pl_arena_free(a);
}

/* A layout that was taken is asked about as it is, if the search knows all that it does. */
static void test_layout(void **state)
{
    pl_arena *a = pl_arena_new("test");
    taken t;
    pl_err err = { 0 };
    int n_layouts = 0;
    (void)state;
    assert_true(take("4xv100", 0, a, &t));
    for (int i = 0; i < t.best->n; i++) {
        const pl_candidate *k = &t.best->at[i];
        if (k->bound > 0) continue;
        t.best->take = &t.best->at[i];
        if (!pl_why_open(t.best, a, &t.reason, &t.about, &err)) fail_msg("%s", err.msg);
        if (t.about != k) continue;
        assert_string_equal(t.reason.plan->strategy, k->name);
        assert_true(t.reason.seconds >= t.best->search->bound * (1 - 1e-9));
        n_layouts++;
    }
    assert_true(n_layouts > 2);
    pl_arena_free(a);
}

/* The sentence is about the next best, has the forecast's difference, and says that memory binds
 * only where there is next to none left. */
static void test_sentence(void **state)
{
    pl_arena *a = pl_arena_new("test");
    taken t;
    (void)state;
    assert_true(take("4xv100", 0, a, &t));
    const char *why = pl_why_sentence(t.best, a);
    const pl_candidate *next = &t.best->at[1];
    while (next->searched || next->forecast.step_seconds <= t.best->take->forecast.step_seconds)
        next++;
    const double more = next->forecast.step_seconds - t.best->take->forecast.step_seconds;
    const char *begin = pl_arena_fmt(a, "%s is %.3f ms slower: ", next->name, 1e3 * more);
    if (strncmp(why, begin, strlen(begin)) != 0) fail_msg("'%s' begins not with '%s'", why, begin);
    assert_null(strstr(why, "Memory binds"));
    assert_null(strstr(why, "nan"));

    double peak = (double)t.best->take->forecast.memory.peak;
    assert_true(take("4xv100", 1.001 * peak, a, &t));
    why = pl_why_sentence(t.best, a);
    assert_non_null(strstr(why, "Memory binds: "));
    assert_true(strlen(why) <= 200);

    const char *name = NULL;
    for (int i = 0; i < t.best->n && !name; i++)
        if (t.best->at[i].searched) name = pl_why_name(&t.best->at[i], a);
    assert_true(name && !strncmp(name, "auto, mesh nvlink", 17));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_plan),
        cmocka_unit_test(test_keeps_the_limit),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
