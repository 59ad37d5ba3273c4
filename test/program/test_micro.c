/* Steps in micro-batches: what the micro-batches before the last run is a program like any other,
 * and a step takes as long as all of them do one after another. */
#include "support/forecasts.h"

enum { MICRO = 3, RANKS = 4 };

static const struct {
    const char *model, *layout;
} cases[] = {
    { GPT2, "dp" },
    { GPT2, "zero=1" },
    { GPT2, "zero=2" },
    { GPT2, "zero=3" },
    { GPT2, "hsdp=2" },
    { GPT2, "tp=2,sp" },
    { GPT2, "tp=2d:2x2" },
    { GPT2, "zero=3,tp=2,sp,recompute=full" },
    { GPT2, "dp,recompute=1" },
    { "mlp:batch=8", "zero=3" },
    { "moe:layers=2,hidden=32,experts=4,batch=8", "ep=2" },
    { "resnet18:width=8,size=32,batch=8", "spatial=2" },
};

static bool reads(const pl_step *x, pl_phase phase)
{
    return x->kind == PL_KERNEL && x->share->node->phase == phase;
}

/* Of rank 0: bytes, seconds. */
static void check_forecast(const char *name, const pl_program *p, const pl_program *m, pl_arena *a)
{
    const pl_speed speed = speed_of(0.5);
    pl_forecast all, each, last;
    pl_program alone = *p; /* as if it were one of one */
    alone.micro = true;
    pl_forecast_make(p, &speed, a, &all);
    pl_forecast_make(m, &speed, a, &each);
    pl_forecast_make(&alone, &speed, a, &last);
    EXPECT(all.micro_seconds == each.step_seconds, "%s: %.9g s, not %.9g s", name,
           all.micro_seconds, each.step_seconds);
    EXPECT(all.step_seconds == (MICRO - 1) * each.step_seconds + last.step_seconds, "%s: a step",
           name);
    EXPECT(all.comm_bytes == (MICRO - 1) * m->message_bytes + p->message_bytes, "%s: bytes", name);
    EXPECT(all.memory.peak == last.memory.peak && each.memory.peak <= all.memory.peak, "%s: peak",
           name);
}

/* A host that is slower than the device: all kernels one after the other. */
static void check_launches(const char *name, const pl_program *p, const pl_program *m, pl_arena *a)
{
    const double launch = 1;
    const pl_speed fast = speed_of(0.5);
    pl_speed slow = fast;
    pl_forecast ahead, behind;
    int64_t n = 0;
    slow.launch = launch;
    for (int i = 0; i < p->n_steps; i++)
        n += p->step[i].kind == PL_KERNEL && !p->step[i].share->node->op->view;
    for (int i = 0; i < m->n_steps; i++)
        n += (MICRO - 1) * (m->step[i].kind == PL_KERNEL && !m->step[i].share->node->op->view);
    pl_forecast_make(p, &fast, a, &ahead);
    pl_forecast_make(p, &slow, a, &behind);
    EXPECT(ahead.step_seconds == ahead.device_seconds && ahead.launch_seconds == 0,
           "%s: nothing to wait for", name);
    EXPECT(behind.step_seconds == launch * (double)n && behind.launch_seconds == launch * (double)n,
           "%s: %.9g s, not %lld kernels", name, behind.step_seconds, (long long)n);
    EXPECT(behind.device_seconds == ahead.step_seconds, "%s: of the device", name);
    slow.launch = 1e-3 * ahead.step_seconds / (double)n;
    pl_forecast_make(p, &slow, a, &behind);
    EXPECT(behind.step_seconds == ahead.step_seconds, "%s: a host that is ahead", name);
}

/* All but the updates, in the same order and the same places; of the states sums change alone, and
 * what the forward pass leaves. */
static void check_steps(const char *name, const pl_program *p, const pl_program *m)
{
    int at = 0, once = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        EXPECT(!x->once || (!reads(x, PL_FORWARD) && !reads(x, PL_BACKWARD)), "%s: '%s' runs once",
               name, x->label);
        EXPECT(x->once || !reads(x, PL_UPDATE), "%s: '%s' runs every time", name, x->label);
        once += x->once;
        if (x->once) continue;
        const pl_step *y = &m->step[at++];
        EXPECT(x->kind == y->kind && !strcmp(x->label, y->label), "%s: '%s' is '%s'", name,
               x->label, y->label);
        EXPECT(!memcmp(x->in, y->in, sizeof x->in) && !memcmp(x->out, y->out, sizeof x->out),
               "%s: '%s' is elsewhere", name, x->label);
        EXPECT(y->wait <= x->wait && y->after <= x->after, "%s: '%s' waits", name, x->label);
    }
    EXPECT(at == m->n_steps && once, "%s: %d steps", name, at);
}

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *name = pl_arena_fmt(a, "%s, %s", cases[i].model, cases[i].layout);
        const pl_graph *g = make_micro(cases[i].model, MICRO, 1, a);
        pl_plan *x = plan(g, cases[i].layout, RANKS, NULL, a);
        const pl_program *program[RANKS], *micro[RANKS];
        pl_err err = { 0 };
        set_links(x, 1e-5, 1e-9);
        for (int r = 0; r < RANKS; r++) {
            program[r] = lower(x, r, &(pl_lower_options){ 0 }, a);
            micro[r] = pl_program_micro(program[r], a);
            EXPECT(pl_program_check(micro[r], &err), "%s, rank %d: %s", name, r, err.msg);
            check_steps(name, program[r], micro[r]);
        }
        EXPECT(pl_program_check_ranks(RANKS, program, &err), "%s: %s", name, err.msg);
        EXPECT(pl_program_check_ranks(RANKS, micro, &err), "%s: %s", name, err.msg);
        check_forecast(name, program[0], micro[0], a);
        check_launches(name, program[0], micro[0], a);
        pl_arena_free(a);
    }
}

/* One micro-batch is a step: nothing runs once, and there is nothing to leave out. */
static void test_one(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_micro(GPT2, 1, 1, a);
    const pl_program *p = lower(plan(g, "zero=3", RANKS, NULL, a), 0, &(pl_lower_options){ 0 }, a);
    (void)state;
    for (int i = 0; i < p->n_steps; i++) assert_false(p->step[i].once);
    assert_null(pl_graph_find(g, "wte.weight.grad"));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs),
                                        cmocka_unit_test(test_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
