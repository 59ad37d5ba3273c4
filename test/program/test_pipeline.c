/* Plans in stages: the program of every rank is right by itself, and all of them come to their ends
 * together, with all micro-batches in one graph. */
#include "plan/stages.h"
#include "program/forecast_stages.h"
#include "plan/unroll.h"
#include "support/forecasts.h"

#define DEEP "gpt2:layers=4,hidden=32,heads=2,vocab=64,seq=8,batch=2"

enum { MICRO = 8 };

static const struct {
    const char *model, *layout;
    int ranks;
} cases[] = {
    { DEEP, "pp=2,micro=8", 2 },
    { DEEP, "pp=2,micro=8,schedule=gpipe", 2 },
    { DEEP, "pp=4,micro=8", 4 },
    { DEEP, "pp=3,micro=8,schedule=zb-h1", 3 },
    { DEEP, "pp=4,micro=8,schedule=zb-h2", 4 },
    { DEEP, "pp=2,vpp=2,micro=8", 2 },
    { DEEP, "pp=2,micro=8,schedule=zbv", 2 },
    { DEEP, "pp=2,micro=8,schedule=dualpipev", 2 },
    { DEEP, "pp=4,micro=8,schedule=search", 4 },
    { DEEP, "pp=2,dp=2,micro=8", 4 },
    { DEEP, "pp=2,tp=2,micro=8", 4 },
    { DEEP, "pp=2,tp=2,sp,micro=8,schedule=zb-h2", 4 },
    { DEEP, "pp=2,vpp=2,zero=1,micro=8", 4 },
    { DEEP, "pp=2,zero=3,micro=8", 4 },
    { DEEP, "pp=2,micro=8,recompute=full", 2 },
    { DEEP, "pp=2,zero=3,micro=8,recompute=1", 4 },
    { "gpt2:layers=2,hidden=32,heads=2,vocab=64,seq=8,batch=2,dtype=bf16", "pp=2,tp=2,micro=8", 4 },
    { "t5:layers=2,hidden=32,heads=2,vocab=64,seq=8,batch=2", "pp=4,micro=8", 4 },
    { "resnet18:width=8,size=32,batch=2", "pp=3,micro=8,schedule=zb-h1", 3 },
    { "mlp:batch=8", "pp=2,dp=2,micro=8", 4 },
    { "resnet18:width=8,size=32,batch=2", "pp=2,micro=8", 2 },
};

/* Bytes as one micro-batch's programs tell them, and as all of them lie. */
static void check_forecast(const char *name, const pl_plan *x, const pl_program *const unrolled[],
                           pl_arena *a)
{
    const pl_speed speed = speed_of(0.5);
    const int n = x->stages->order->n_ranks;
    const pl_program **program = PL_NEW_N(a, const pl_program *, n);
    pl_forecast *f = PL_NEW_N(a, pl_forecast, n);
    pl_stages_forecast all;
    for (int c = 0; c < n; c++)
        program[c] = lower(x, pl_stages_rank(x, c), &(pl_lower_options){ 0 }, a);
    pl_forecast_stages(n, program, &speed, a, a, f, &all);
    for (int c = 0; c < n; c++) {
        const pl_program *p = unrolled[pl_stages_rank(x, c)];
        const int64_t bytes = p->work_bytes + p->store->bytes;
        printf("%s place %d: %lld told, %lld lie: %.3f\n", name, c, (long long)f[c].memory.peak,
               (long long)bytes, (double)f[c].memory.peak / (double)bytes);
    }
}

static void check_case(size_t i)
{
    pl_arena *a = pl_arena_new("test");
    const char *name = pl_arena_fmt(a, "%s, %s", cases[i].model, cases[i].layout);
    const int n = cases[i].ranks;
    const pl_graph *g = make_micro(cases[i].model, MICRO, 1, a);
    pl_plan *x = plan(g, cases[i].layout, n, NULL, a);
    const pl_program **program = PL_NEW_N(a, const pl_program *, n);
    pl_err err = { 0 };
    pl_unrolled u;
    set_links(x, 1e-5, 1e-9);
    EXPECT(x->stages, "%s: no stages", name);
    EXPECT(pl_plan_unroll(x, a, &u, &err), "%s: %s", name, err.msg);
    EXPECT(pl_graph_check(u.graph, &err), "%s: %s", name, err.msg);
    EXPECT(pl_plan_check(u.plan, &err), "%s: %s", name, err.msg);
    for (int r = 0; r < n; r++) {
        program[r] = lower(u.plan, r, &(pl_lower_options){ 0 }, a);
        EXPECT(pl_program_check(program[r], &err), "%s, rank %d: %s", name, r, err.msg);
    }
    EXPECT(pl_program_check_ranks(n, program, &err), "%s: %s", name, err.msg);
    check_forecast(name, x, program, a);
    pl_arena_free(a);
}

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
