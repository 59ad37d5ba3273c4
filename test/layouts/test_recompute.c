/* Activations that are made again: which ones the words name, what then is kept, and that nothing
 * else of the step changes. What a program with such steps computes: test/program/test_ranks.c, and
 * test/cli/test_train.sh. */
#include "plan/stages.h"
#include "support/presets.h"

#include "plan/recompute.h"
#include "placement/speed.h"
#include "program/forecast.h"

#define T5 "t5:hidden=32,heads=4,head=8,ffn=64,vocab=64,buckets=8,limit=9,"
#define BLOCK "encoder.block.1.layer.0."

static const pl_plan *plan_of(const char *spec, const char *words, pl_arena *a)
{
    return plan(make_model(spec, PL_TRAIN, a), words, 1, NULL, a);
}

static bool is_again(const pl_plan *p, const char *name)
{
    const pl_value *v = pl_graph_find(p->graph, name);
    EXPECT(v, "no '%s'", name);
    return p->recompute[v->id];
}

static pl_forecast_memory memory_of(const pl_plan *p, pl_arena *a)
{
    pl_program *q;
    pl_forecast f = { 0 };
    pl_err err = { 0 };
    EXPECT(pl_program_lower(p, 0, pl_store_new(p, 0, a), &(pl_lower_options){ 0 }, a, &q, &err) &&
               pl_program_check(q, &err),
           "%s", err.msg);
    pl_forecast_memory_make(q, a, &f);
    return f.memory;
}

/* Of attention with a bias, which keeps its scores: these, their softmax and its dropout, and
 * nothing else, where rows are long. */
static void test_selective(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const char *spec = T5 "layers=3,seq=64,batch=2";
    const pl_plan *p = plan_of(spec, "recompute=selective", a);
    int n = 0;
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *v = p->graph->values.at[i];
        if (!p->recompute[i]) continue;
        EXPECT(v->shape.rank == 4 && v->shape.dim[2] == 64 && v->shape.dim[3] == 64,
               "'%s' is made again", v->name);
        n++;
    }
    assert_true(n >= 2 * 3 * 3 && n % 3 == 0);
    assert_true(is_again(p, BLOCK "SelfAttention.scores") &&
                is_again(p, BLOCK "SelfAttention.softmax"));
    assert_false(is_again(p, BLOCK "SelfAttention.mix") || is_again(p, BLOCK "SelfAttention.q"));
    pl_arena_free(a);
}

/* What goes from block to block is kept: a row of it per block; the rest is there for one block. */
static void test_full(void **state)
{
    (void)state;
    static const int layers[] = { 6, 12 };
    int64_t kept[2], plain[2], peak[2];
    for (int i = 0; i < 2; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *spec = pl_arena_fmt(
            a, "gpt2:layers=%d,hidden=32,heads=4,vocab=64,seq=16,batch=8,dropout=0", layers[i]);
        const pl_forecast_memory all = memory_of(plan_of(spec, "dp", a), a),
                                 full = memory_of(plan_of(spec, "recompute=full", a), a);
        plain[i] = all.activations;
        kept[i] = full.activations;
        peak[i] = full.peak - full.weights - full.optimizer;
        pl_arena_free(a);
    }
    const int64_t block = 4 * 8 * 16 * 32;
    assert_int_equal(kept[1] - kept[0], 6 * block);
    assert_true(plain[1] - plain[0] > 10 * 6 * block);
    assert_int_equal(peak[1] - peak[0], 6 * block);
}

/* A step computes as much longer as what runs again takes, and no longer than the forward pass. */
static void test_time(void **state)
{
    (void)state;
    static const char *const words[] = { "dp", "recompute=full", "recompute=selective" };
    pl_arena *a = pl_arena_new("test");
    pl_cluster *c;
    pl_err err = { 0 };
    pl_forecast f[3];
    EXPECT(pl_cluster_find("1xv100", a, &c, &err), "%s", err.msg);
    const pl_speed speed = pl_speed_of(c);
    for (int i = 0; i < 3; i++) {
        const char *spec = T5 "layers=3,seq=128,batch=8";
        const pl_plan *p = plan_of(spec, words[i], a);
        pl_program *q;
        EXPECT(pl_program_lower(p, 0, pl_store_new(p, 0, a), &(pl_lower_options){ 0 }, a, &q, &err),
               "%s", err.msg);
        pl_forecast_make(q, &speed, a, &f[i]);
    }
    assert_true(f[0].again_seconds == 0);
    for (int i = 1; i < 3; i++) {
        const double more = f[i].compute_seconds - f[0].compute_seconds;
        EXPECT(fabs(more - f[i].again_seconds) <= 1e-9 * more, "%s: %g more, %g again", words[i],
               more, f[i].again_seconds);
        assert_true(more > 0 && more < f[0].compute_seconds / 2);
    }
    assert_true(f[2].again_seconds < f[1].again_seconds);
    pl_arena_free(a);
}

/* N blocks: between none and all, by equal steps. */
static void test_some(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const char *spec = "gpt2:layers=8,hidden=32,heads=4,vocab=64,seq=16,batch=8";
    const pl_graph *g = make_model(spec, PL_TRAIN, a);
    const pl_fold fold = pl_fold_find(g, a);
    int last = -1, step = 0;
    for (int blocks = 0; blocks <= 8; blocks++) {
        const bool *set = pl_recompute_blocks(g, &fold, blocks, a);
        int n = 0;
        for (int i = 0; i < g->values.n; i++) n += set[i];
        if (blocks == 1) step = n - last;
        if (blocks) assert_true(n - last == step || (blocks == 8 && n >= last));
        last = n;
    }
    assert_true(step > 10);
    const pl_plan *two = plan_of(spec, "recompute=2", a), *all = plan_of(spec, "recompute=full", a),
                  *many = plan_of(spec, "recompute=99", a);
    assert_true(is_again(two, "h.1.mlp.gelu") && !is_again(two, "h.2.mlp.gelu"));
    assert_true(is_again(all, "h.2.mlp.gelu"));
    const pl_plan *both =
        plan_of(T5 "layers=4,seq=64,batch=8", "recompute=selective,recompute=1", a);
    const char *name = "encoder.block.%d.layer.%s";
    for (int i = 0; i < 2; i++) {
        assert_true(is_again(both, pl_arena_fmt(a, name, i, "1.DenseReluDense.wi")) == !i);
        assert_true(is_again(both, pl_arena_fmt(a, name, i, "0.SelfAttention.softmax")));
    }
    for (int i = 0; i < g->values.n; i++) assert_true(all->recompute[i] == many->recompute[i]);
    pl_arena_free(a);
}

/* In stages the first blocks of each, as many of all. */
static void test_stages(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const char *spec = "gpt2:layers=8,hidden=32,heads=4,vocab=64,seq=16,batch=8";
    const pl_graph *g = make_micro(spec, 2, 0, a);
    const pl_plan *p = plan(g, "pp=2,micro=2,recompute=3", 2, NULL, a);
    const int first = p->stages->of[pl_graph_find(g, "h.3.mlp.gelu")->maker->id],
              second = p->stages->of[pl_graph_find(g, "h.4.mlp.gelu")->maker->id];
    assert_true(first == 0 && second == 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(is_again(p, pl_arena_fmt(a, "h.%d.mlp.gelu", i)),
                         i == 0 || i == 1 || i == 4);
    pl_arena_free(a);
}

/* Work of a stage, with the blocks that are made again. */
static double work_of(const pl_plan *p, int stage)
{
    double flops = 0;
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        if (n->phase == PL_UPDATE || p->stages->of[(n->of ? n->of : n)->id] != stage) continue;
        const pl_share s = pl_plan_share(p, i, 0);
        const bool again = n->phase == PL_FORWARD && p->recompute[n->out[0]->id];
        flops += pl_op_flops(&s) * (1 + again);
    }
    return flops;
}

/* Each device has its own number of blocks, and shorter stages where they are more. */
static void test_places(void **state)
{
    static const struct {
        const char *words;
        int n, again[4]; /* blocks of each stage */
    } cases[] = {
        { "pp=2,micro=2,recompute=stages:2-1", 2, { 2, 1 } },
        { "pp=2,micro=2,recompute=stages:0-3", 2, { 0, 3 } },
        { "pp=4,micro=4,recompute=stages:2-0-1", 4, { 2, 0, 1, 0 } },
        { "pp=2,vpp=2,micro=2,recompute=stages:3-1", 2, { 2, 1, 1, 0 } },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_micro("gpt2:layers=16,hidden=32,heads=4,vocab=64,seq=16,batch=8",
                                       cases[c].n, 0, a);
        const pl_plan *p = plan(g, cases[c].words, cases[c].n, NULL, a);
        int again[4] = { 0 };
        for (int i = 0; i < 16; i++) {
            const pl_value *v = pl_graph_find(g, pl_arena_fmt(a, "h.%d.mlp.gelu", i));
            again[p->stages->of[v->maker->id]] += p->recompute[v->id];
        }
        for (int k = 0; k < 4; k++)
            EXPECT(again[k] == cases[c].again[k], "%s: stage %d: %d blocks", cases[c].words, k,
                   again[k]);
        pl_arena_free(a);
    }
}

static void test_cut(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        make_micro("llama:layers=16,hidden=32,heads=4,ffn=64,vocab=8,seq=16,batch=8", 2, 0, a);
    const pl_plan *all = plan(g, "pp=2,micro=2,recompute=stages:16", 2, NULL, a),
                  *none = plan(g, "pp=2,micro=2", 2, NULL, a);
    const double block = (work_of(none, 0) + work_of(none, 1)) / 16;
    EXPECT(work_of(all, 0) > work_of(none, 0) && work_of(all, 1) > work_of(none, 1) + block / 2,
           "%.3g %.3g", work_of(all, 0), work_of(all, 1));
    EXPECT(fabs(work_of(all, 0) - work_of(all, 1)) < 1.5 * block, "%.3g %.3g of %.3g",
           work_of(all, 0), work_of(all, 1), block);
    pl_arena_free(a);
}

/* No weight, no state's change, nothing of the backward pass is ever made again by a word. */
static void test_legal(void **state)
{
    static const char *const specs[] = {
        GPT2,
        "llama:layers=4,dtype=bf16,seq=64",
        "resnet50:batch=4,classes=10,size=32",
        "t5:layers=3",
        "moe:layers=3",
    };
    static const char *const words[] = { "recompute=full", "recompute=selective" };
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++) {
            pl_arena *a = pl_arena_new("test");
            pl_strategy s;
            pl_plan *p;
            pl_err err = { 0 };
            const pl_graph *g = make_model(specs[i], PL_TRAIN, a);
            EXPECT(pl_strategy_parse(words[k], 1, a, &s, &err), "%s", err.msg);
            if (!pl_strategy_plan(&s, g, NULL, a, &p, &err)) {
                EXPECT(err.code == PL_EINPUT && strstr(err.msg, words[k]), "%s", err.msg);
                pl_arena_free(a);
                continue;
            }
            EXPECT(pl_plan_check(p, &err), "%s: %s", specs[i], err.msg);
            for (int v = 0; v < g->values.n; v++)
                EXPECT(!p->recompute[v] || !pl_graph_state(g->values.at[v]), "%s: '%s'", specs[i],
                       g->values.at[v]->name);
            (void)memory_of(p, a);
            pl_arena_free(a);
        }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *says;
    } cases[] = {
        { "recompute=full", "'recompute=full': the model has no equal blocks" },
        { "recompute=selective",
          "nothing in the model is larger than what it is made from: the operator attention" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model("mlp:layers=1,batch=8", PL_TRAIN, a);
    for (int i = 0; i < 2; i++) {
        pl_strategy s;
        pl_plan *p;
        pl_err err = { 0 };
        EXPECT(pl_strategy_parse(cases[i].words, 1, a, &s, &err), "%s", err.msg);
        EXPECT(!pl_strategy_plan(&s, g, NULL, a, &p, &err) && err.code == PL_EINPUT &&
                   strstr(err.msg, cases[i].says),
               "'%s'", err.msg);
    }
    pl_plan *p = pl_plan_single(g, a);
    pl_err err = { 0 };
    p->recompute[pl_graph_find(g, "layers.0.weight")->id] = true;
    EXPECT(!pl_plan_check(p, &err) && strstr(err.msg, "no node of the forward pass makes it"), "%s",
           err.msg);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selective), cmocka_unit_test(test_full),
        cmocka_unit_test(test_time),      cmocka_unit_test(test_some),
        cmocka_unit_test(test_legal),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
