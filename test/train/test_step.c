/* The plan of a step: in how many micro-batches. */
#include "graph/op.h"
#include "support/expect.h"
#include "support/rounds.h"
#include "train/step.h"

#include <math.h>
#include <string.h>

#define MLP "mlp:layers=4,in=64,hidden=64,classes=16,batch=4096"

typedef struct asked {
    pl_arena *arena;
    pl_model_args args;
    pl_optim optim;
    pl_plan_request request;
} asked;

static asked ask(const char *model, const char *strategy, double memory)
{
    asked x = { .arena = pl_arena_new("test"), .optim = pl_optim_usual("adamw") };
    pl_cluster *c;
    pl_err err = { 0 };
    EXPECT(pl_model_parse(model, x.arena, &x.args, &err), "%s", err.msg);
    EXPECT(pl_cluster_find("local:4", x.arena, &c, &err), "%s", err.msg);
    EXPECT(pl_strategy_parse(strategy, 4, x.arena, &x.request.strategy, &err), "%s", err.msg);
    x.request.cluster = c;
    x.request.search.memory = memory;
    return x;
}

/* The same on another cluster. */
static asked ask_of(const char *cluster, const char *model, const char *strategy, double memory)
{
    asked x = ask(model, "auto", memory);
    pl_cluster *c;
    pl_err err = { 0 };
    EXPECT(pl_cluster_find(cluster, x.arena, &c, &err), "%s", err.msg);
    EXPECT(pl_strategy_parse(strategy, c->n_devices, x.arena, &x.request.strategy, &err), "%s",
           err.msg);
    x.request.cluster = c;
    return x;
}

static bool find(asked *x, pl_found **f, pl_err *err)
{
    *err = (pl_err){ 0 };
    return pl_step_find(&x->request, &(pl_trained){ &x->args, &x->optim }, x->arena, f, err);
}

static pl_found *must_find(asked *x)
{
    pl_found *f;
    pl_err err;
    EXPECT(find(x, &f, &err), "%s", err.msg);
    return f;
}

static int64_t micro_of(const pl_found *f)
{
    return f->take->plan->graph->micro;
}

/* What the strategy says; else one, unless memory binds. */
static void test_said(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        int64_t micro;
    } cases[] = { { "dp", 1 }, { "zero=3,micro=8", 8 }, { "auto,micro=4", 4 }, { "auto", 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asked x = ask(MLP, cases[i].strategy, 0);
        const pl_found *f = must_find(&x);
        EXPECT(micro_of(f) == cases[i].micro, "%s: %d", cases[i].strategy, (int)micro_of(f));
        EXPECT(!f->n_tried, "%s: others were tried", cases[i].strategy);
        pl_arena_free(x.arena);
    }
}

/* Where the whole batch does not fit, as many as make the fastest step: no other number of those
 * that it can choose from has a faster plan. */
static void test_found(void **state)
{
    (void)state;
    asked one = ask(MLP, "auto,micro=1", 0);
    const double whole = (double)must_find(&one)->take->forecast.memory.peak;
    pl_arena_free(one.arena);
    for (int part = 2; part <= 6; part += 2) {
        asked x = ask(MLP, "auto", whole / part);
        const pl_found *f = must_find(&x);
        const double step = f->take->forecast.step_seconds;
        EXPECT(f->take->fits && micro_of(f) > 1 && f->n_tried, "a %dth: %d", part,
               (int)micro_of(f));
        for (int64_t n = 1; n <= 64; n *= 2) {
            asked y = ask(MLP, pl_arena_fmt(x.arena, "auto,micro=%d", (int)n), whole / part);
            pl_found *g;
            pl_err err;
            const bool fits = find(&y, &g, &err);
            const double other = fits ? g->take->forecast.step_seconds : INFINITY;
            EXPECT(fits || err.code == PL_EINFEASIBLE, "%s", err.msg);
            EXPECT(n == micro_of(f) ? other == step : other >= step * (1 - 1e-3),
                   "a %dth: %d micro-batches take %.6g s, and %d %.6g s", part, (int)micro_of(f),
                   step, (int)n, other);
            pl_arena_free(y.arena);
        }
        pl_arena_free(x.arena);
    }
}

/* Numbers that are not searched, as their layouts are far slower: no plan with one is faster, and
 * it takes about what is told. */
static void test_outlined(void **state)
{
    static const struct {
        const char *cluster, *model;
        double memory;
        int least; /* a number of which the least is told: on so many nodes layouts are all there
                      is, and these count as if they fitted. 0: look at all numbers */
    } cases[] = {
        { "2x4xv100", "gpt2:layers=16,hidden=512,heads=8,vocab=512,seq=512,batch=32,dropout=0",
          1.3e9, 0 },
        { "2048x8xh100", "llama3-405b:layers=4,batch=2048,seq=8192,dtype=bf16", 5e9, 4 },
    };
    (void)state;
    for (size_t k = PL_SANITIZED; k < sizeof cases / sizeof *cases; k++) {
        asked x = ask_of(cases[k].cluster, cases[k].model, "auto", cases[k].memory);
        const pl_found *f = must_find(&x);
        int n = 0;
        for (int i = 0; i < f->n_tried; i++) {
            const pl_tried *t = &f->tried[i];
            if (!t->outlined) continue;
            if (cases[k].least && t->micro != cases[k].least) continue;
            asked y = ask_of(cases[k].cluster, cases[k].model,
                             pl_arena_fmt(x.arena, "auto,micro=%d", (int)t->micro),
                             x.request.search.memory);
            pl_found *g;
            pl_err err;
            const double other = find(&y, &g, &err) ? g->take->forecast.step_seconds : INFINITY;
            EXPECT(other > f->take->forecast.step_seconds && other > t->seconds / 1.2 &&
                       (cases[k].least || other < t->seconds * 1.2 || other == INFINITY),
                   "%d take %.4g s, about %.4g", (int)t->micro, other, t->seconds);
            pl_arena_free(y.arena);
            n++;
        }
        EXPECT(n, "%s: %d numbers were tried, and none was outlined", cases[k].model, f->n_tried);
        pl_arena_free(x.arena);
    }
}

/* Eviction is left to the best number, which has it as if there were no other. */
static void test_evicted(void **state)
{
    static const char model[] = "gpt2:layers=4,hidden=256,heads=4,vocab=1000,seq=128,batch=16";
    (void)state;
    asked x = ask_of("1x1xv100", model, "auto", 120e6);
    const pl_found *f = must_find(&x);
    EXPECT(f->n_tried > 1 && micro_of(f) == 1 && !f->unevicted, "%d numbers", f->n_tried);
    const double step = f->take->forecast.step_seconds;
    x.request.strategy.micro = 1;
    EXPECT(must_find(&x)->take->forecast.step_seconds == step, "alone it takes something else");
    x.request.blocks = true;
    pl_err err;
    pl_found *blocks;
    const bool fits = find(&x, &blocks, &err);
    EXPECT(blocks->unevicted && (!fits || blocks->take->forecast.step_seconds > step),
           "nothing is evicted");
    pl_arena_free(x.arena);
}

/* With any number. */
static void test_nothing_fits(void **state)
{
    asked x = ask(MLP, "auto", 2048);
    pl_found *f;
    pl_err err;
    (void)state;
    EXPECT(!find(&x, &f, &err) && err.code == PL_EINFEASIBLE, "%s", err.msg);
    EXPECT(strstr(err.msg, "nothing fits in 2.0 KiB of a device: the least that was found"), "%s",
           err.msg);
    pl_arena_free(x.arena);
}

/* Running statistics would be those of micro-batches: nobody asked for that. */
static void test_statistics(void **state)
{
    (void)state;
    asked x = ask("resnet18:stages=2,width=8,size=32,batch=64", "auto", 0);
    const double whole = (double)must_find(&x)->take->forecast.memory.peak;
    x.request.search.memory = whole / 2;
    pl_found *f;
    pl_err err;
    if (find(&x, &f, &err)) EXPECT(micro_of(f) == 1 && !f->n_tried, "%d", (int)micro_of(f));
    pl_arena_free(x.arena);
}

static void test_mistakes(void **state)
{
    asked x = ask(MLP, "dp,micro=3", 0);
    pl_found *f;
    pl_err err;
    int64_t micro = 2;
    (void)state;
    EXPECT(!find(&x, &f, &err) && err.code == PL_EUSAGE, "%s", err.msg);
    EXPECT(strstr(err.msg, "batch=4096 does not divide into 3 micro-batches"), "%s", err.msg);
    err = (pl_err){ 0 };
    EXPECT(!pl_step_settle(&x.request.strategy, &micro, &(pl_optim){ 0 }, x.arena, &err), "taken");
    EXPECT(err.code == PL_EUSAGE && strstr(err.msg, "--micro 2, and strategy 'dp,micro=3'"), "%s",
           err.msg);
    pl_arena_free(x.arena);
}

/* Long rows on many devices: whatever is split, all of them together do no more than they can. */
static void test_peak(void **state)
{
    static const char *const models[] = {
        "llama:layers=2,hidden=128,heads=1,kv=1,ffn=128,seq=262144,batch=1,dtype=bf16",
        "llama:layers=2,hidden=128,heads=1,kv=1,ffn=128,seq=262144,batch=1,window=99999,dtype=bf16",
    };
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        asked x = ask_of("8xh100", models[i], "auto", 0);
        const pl_cluster *c = x.request.cluster;
        const pl_candidate *k = must_find(&x)->take;
        const double peak = 8 * c->class[0].bf16_flops.value * c->class[0].matmul_efficiency.value;
        EXPECT(k->forecast.step_seconds * peak >= pl_graph_flops(k->plan->graph),
               "%s: %.4g s for %.4g flops", models[i], k->forecast.step_seconds,
               pl_graph_flops(k->plan->graph));
        pl_arena_free(x.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_said),       cmocka_unit_test(test_found),
        cmocka_unit_test(test_statistics), cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_peak),
        cmocka_unit_test(test_outlined),   cmocka_unit_test(test_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
