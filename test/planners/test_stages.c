/* The plan to take of a pipeline: no slower than published layouts within its stages, within the
 * memory that there is, and no slower with more of it. */
#include "plan/stages.h"
#include "planners/floor.h"
#include "support/expect.h"
#include "support/request.h"
#include "support/training.h"

#include <string.h>

/* A step in n micro-batches. */
static const pl_graph *graph_in_micro(const char *spec, int64_t n, pl_arena *a)
{
    const pl_optim adamw = pl_optim_usual("adamw");
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_model_parse(spec, a, &args, &err) || !pl_optim_micro(&args, n, a, &args, &err))
        fail_msg("%s", err.msg);
    pl_builder b = pl_optim_step(&args, &adamw, n, a);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* Another schedule takes layouts that were found for this one, which are nearly as fast as what its
 * own search finds; where they do not fit it is searched all the same. */
static void check_as(const pl_graph *g, const pl_cluster *c, const pl_found *as, pl_arena *a)
{
    pl_plan_request r = request_of("pp=2,schedule=zb-h1,micro=4,auto", c, a);
    const pl_found *own = find_plan(&r, g, a), *like;
    r.as = as;
    like = find_plan(&r, g, a);
    assert_true(like->take->fits && like->n <= own->n && like->search->bound > 0);
    assert_string_equal(like->take->plan->strategy, "pp=2,schedule=zb-h1,micro=4,auto");
    assert_true(like->take->forecast.step_seconds < 1.02 * own->take->forecast.step_seconds);
    r.search.memory = 0.95 * (double)like->take->forecast.memory.peak;
    like = find_plan(&r, g, a);
    assert_true(like->take->fits);
    assert_true((double)like->take->forecast.memory.peak <= r.search.memory);
    r.as = NULL;
    own = find_plan(&r, g, a); /* looks again at what was known */
    EXPECT(own->n == like->n &&
               own->take->forecast.step_seconds == like->take->forecast.step_seconds &&
               own->take->forecast.memory.peak == like->take->forecast.memory.peak,
           "%g s of %d, %g s of %d with known layouts", own->take->forecast.step_seconds, own->n,
           like->take->forecast.step_seconds, like->n);
}

/* With the words of a pipeline the layout within its stages is searched: no slower than published
 * ones (by a percent: its tables do not count what stages send each other), within the memory that
 * there is, and no faster than its bound. */
static void test_layouts(void **state)
{
    static const char *const words[] = { "dp", "zero=1", "zero=3", "tp=4", "tp=4,sp", "tp=2,sp" };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        graph_in_micro("gpt2:layers=4,hidden=256,heads=4,vocab=1000,seq=128,batch=32", 4, a);
    pl_cluster *c = cluster_of("2x4xv100", a);
    pl_plan_request r = request_of("pp=2,micro=4,auto", c, a);
    const pl_found *b = find_plan(&r, g, a);
    const double step = b->take->forecast.step_seconds;
    const pl_plan *p = b->take->plan;
    assert_true(p->stages && p->stages->axis == 0 && p->mesh.axis[0].size == 2);
    assert_int_equal(pl_mesh_ranks(&p->mesh), 8);
    assert_string_equal(p->strategy, "pp=2,micro=4,auto");
    assert_true(b->search->bound > 0 && b->search->bound <= step);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        pl_plan_request w = request_of(pl_arena_fmt(a, "pp=2,micro=4,%s", words[i]), c, a);
        const double other = find_plan(&w, g, a)->take->forecast.step_seconds;
        if (other < 0.99 * step) fail_msg("%s: %g ms, auto %g", words[i], 1e3 * other, 1e3 * step);
    }
    check_as(g, c, b, a);
    r.search.memory = 0.7 * (double)b->take->forecast.memory.peak;
    const pl_found *tight = find_plan(&r, g, a);
    assert_true(tight->take->fits);
    assert_true((double)tight->take->forecast.memory.peak <= r.search.memory);
    assert_true(tight->take->forecast.step_seconds >= step);
    pl_arena_free(a);
}

/* Where by the tables no layout that keeps all activations fits, one that makes them again may. */
static void test_again(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        graph_in_micro("gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=256,batch=32", 8, a);
    pl_plan_request r = request_of("pp=2,micro=8,auto", cluster_of("4xv100", a), a);
    r.search.memory = 80 << 20;
    const pl_found *b = find_plan(&r, g, a);
    assert_true(b->take->fits && b->take->forecast.again_seconds > 0);
    assert_false(b->beaten);
    assert_true(b->search->bound > 0 && b->search->bound <= b->take->forecast.step_seconds);
    pl_arena_free(a);
}

/* A pipeline that recomputes some blocks is found, too, where it has to beat what one that
 * recomputes all of them does not beat. */
static void test_beat(void **state)
{
    static const struct {
        const char *model, *strategy, *cluster;
        int micro, mib;
    } tight[] = {
        { "gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=256,batch=32", "pp=2,micro=8,auto",
          "4xv100", 8, 108 },
        { "gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=512,batch=64", "pp=2,micro=4,auto",
          "2x4xv100", 4, 209 },
        { "gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=512,batch=64", "pp=2,micro=8,vpp=2,auto",
          "2x4xv100", 8, 209 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof tight / sizeof *tight; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = graph_in_micro(tight[i].model, tight[i].micro, a);
        pl_plan_request r = request_of(tight[i].strategy, cluster_of(tight[i].cluster, a), a);
        r.search.memory = tight[i].mib * 1024. * 1024.;
        const pl_found *b = find_plan(&r, g, a);
        assert_non_null(strstr(b->take->name, "recompute="));
        assert_null(strstr(b->take->name, "recompute=full"));
        r.beat = 1.001 * b->take->forecast.step_seconds;
        const pl_found *again = find_plan(&r, g, a);
        assert_true(again->take->fits && again->take->forecast.step_seconds < r.beat);
        pl_arena_free(a);
    }
}

/* With more memory a pipeline recomputes fewer blocks. */
static void test_more(void **state)
{
    static const double memory[] = { 84 << 20,  100 << 20, 108 << 20, 116 << 20,
                                     136 << 20, 148 << 20, 160 << 20 };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        graph_in_micro("gpt2:layers=12,hidden=256,heads=4,vocab=500,seq=256,batch=32", 8, a);
    check_more(g, request_of("pp=2,micro=8,auto", cluster_of("4xv100", a), a), 7, memory, a);
    pl_arena_free(a);
}

/* On a fast and a slow node a stage is as long as its devices are fast, and holds what they have
 * room for. */
static void test_unequal(void **state)
{
    static const char text[] =
        "schema: pleat.cluster/1\n"
        "classes:\n"
        "  fast: {memory: 16 GB, f32_flops: 30 TFLOP/s, memory_bandwidth: 1800 GB/s}\n"
        "  slow: {memory: 8 GB, f32_flops: 10 TFLOP/s, memory_bandwidth: 600 GB/s}\n"
        "levels:\n"
        "  - {name: in, size: 2, latency: 1 us, bandwidth: 100 GB/s}\n"
        "  - {name: out, size: 2, latency: 5 us, bandwidth: 10 GB/s}\n"
        "groups: [{class: fast, count: 1}, {class: slow, count: 1}]\n";
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_cluster *c;
    pl_err err = { 0 };
    if (!pl_cluster_parse(text, strlen(text), "unequal", a, &c, &err)) fail_msg("%s", err.msg);
    const pl_graph *g =
        graph_in_micro("gpt2:layers=12,hidden=512,heads=8,vocab=1000,seq=256,batch=32", 16, a);
    pl_plan_request r = request_of("pp=2,micro=16,dp", c, a);
    const pl_found *b = find_plan(&r, g, a);
    const pl_stages_forecast *s = b->take->stages;
    double fast = s->costs.forward[0] + s->costs.input[0],
           slow = s->costs.forward[1] + s->costs.input[1];
    int nodes[2] = { 0 };
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->phase == PL_FORWARD) nodes[b->take->plan->stages->of[i]]++;
    assert_true(fabs(fast - slow) < 0.15 * fast); /* equally long, but for half a block */
    assert_true(2 * nodes[0] > 3 * nodes[1] && nodes[0] < 4 * nodes[1]);
    const double slowest = (double)s->memory[1].peak;
    c->class[1].memory.value = slowest; /* less than the other place takes */
    assert_true((double)s->memory[0].peak > slowest);
    b = find_plan(&r, g, a);
    assert_true(b->take->fits && pl_candidate_limit(b, b->take) <= slowest);
    c->class[1].memory.value = slowest - 1;
    b = find_plan(&r, g, a);
    assert_false(b->take->fits);
    pl_cluster even = *c; /* of the fast ones alone, or of the slow ones, it is the sum of all */
    const double both = pl_floor_of(g, c);
    even.n_parts = 1, even.part = &(pl_part){ 0, 2 };
    const double fastest = pl_floor_of(g, &even);
    even.part = &(pl_part){ 1, 2 };
    assert_true(fastest < both && both < pl_floor_of(g, &even));
    assert_true(fabs(both - 1.5 * fastest) < 1e-6 * both); /* 4 fast ones do in 1 what takes 6 */
    assert_true(both < b->take->forecast.step_seconds);
    /* the bound is one of places that are faster than its tables count */
    c->class[1].memory.value = 8e9;
    r = request_of("pp=2,micro=16,auto", c, a);
    b = find_plan(&r, g, a);
    assert_true(b->search->bound <= b->take->forecast.step_seconds);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_unequal),
        cmocka_unit_test(test_again),   cmocka_unit_test(test_beat),
        cmocka_unit_test(test_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
