/* Golden texts: what a model's training step becomes under a layout, down to the last place in
 * memory. A change that claims to keep behaviour leaves all of them as they are.
 *
 * golden/MODEL.graph has the graph; golden/MODEL.LAYOUT the plan, rank 0's program and its
 * forecast. After a change that is meant to show, PLEAT_GOLDEN=write writes them again; read the
 * difference. */
#include "planners/find.h"
#include "support/request.h"
#include "support/training.h"

#include "base/file.h"

#include <stdio.h>

static const struct model {
    const char *name, *spec;
} models[] = {
    { "mlp", "mlp:layers=2,in=1024,hidden=4096,classes=512,batch=256" },
    { "gpt2", "gpt2:layers=2,seq=256,batch=32" },
    { "gpt2-mixed", "gpt2:layers=1,seq=256,batch=32,dtype=bf16" },
    { "gpt2-masters", "masters gpt2:layers=1,seq=256,batch=32,dtype=bf16" },
    { "llama", "llama:layers=1,hidden=1024,heads=16,kv=4,ffn=2816,seq=512,batch=16" },
    { "bert", "bert-base:layers=1,seq=128,batch=32" },
    { "t5", "t5:layers=1,seq=128,batch=32" },
    { "lstm", "lstm:layers=1,seq=2,batch=64" },
    { "moe", "moe:batch=64" },
    { "deepseek", "deepseek:layers=2,hidden=1024,heads=16,seq=256,batch=16" },
    { "alexnet", "alexnet:batch=64" },
    { "vit", "vit_b_16:layers=1,batch=32" },
};

static const struct layout {
    const char *name, *strategy;
} layouts[] = {
    { "dp", "dp" },          { "zero3", "zero=3" }, { "tp", "dp=2,tp=2,sp" },
    { "grid", "tp=2d:2x2" }, { "auto", "auto" },
};

/* Compares, or writes when that is asked for. */
static void expect_text(const char *name, const pl_text *text, pl_arena *a)
{
    const char *source = getenv("PLEAT_SOURCE_DIR"), *wish = getenv("PLEAT_GOLDEN"), *want = NULL;
    const char *path = pl_arena_fmt(a, "%s/test/program/golden/%s", source ? source : ".", name);
    const char *got = pl_text_get(text);
    size_t n, same = 0;
    pl_err err = { 0 };
    if (wish && !strcmp(wish, "write")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(got, 1, text->n, f), text->n);
        assert_int_equal(fclose(f), 0);
        return;
    }
    if (!pl_file_read(path, 1 << 24, a, &want, &n, &err)) fail_msg("%s", err.msg);
    if (n == text->n && !strcmp(got, want)) return;
    int line = 1;
    for (size_t i = 0; got[i] && got[i] == want[i]; i++)
        if (got[i] == '\n') line++, same = i + 1;
    fail_msg("%s:%d:\n- %.*s\n+ %.*s", path, line, (int)strcspn(want + same, "\n"), want + same,
             (int)strcspn(got + same, "\n"), got + same);
}

/* Four digits: enough to see a change of price, and no two compilers round them differently. */
static void print_forecast(const pl_program *p, const pl_forecast *f, pl_text *out)
{
    const pl_forecast_memory *m = &f->memory;
    pl_text_add(out, "forecast step %.4g compute %.4g messages %.4g exposed %.4g\n",
                f->step_seconds, f->compute_seconds, f->comm_seconds, f->exposed_seconds);
    pl_text_add(out,
                "memory weights %lld optimizer %lld gradients %lld activations %lld buffers %lld "
                "transient %lld peak %lld at %d\n",
                (long long)m->weights, (long long)m->optimizer, (long long)m->gradients,
                (long long)m->activations, (long long)m->buffers, (long long)m->transient,
                (long long)m->peak, f->peak_step);
    for (int i = 0; i < p->n_steps; i++)
        pl_text_add(out, "%.4g %.4g %lld\n", f->begin[i], f->end[i], (long long)f->live[i]);
}

/* The text alone is a program: it prints the same, is as right, and is forecast the same. */
static void expect_parsed(const pl_candidate *take, const pl_speed *speed, const char *text,
                          pl_arena *a)
{
    pl_text again = { .arena = a }, times = { .arena = a }, want = { .arena = a };
    pl_program *p;
    pl_forecast f;
    pl_err err = { 0 };
    if (!pl_program_parse(text, take->plan, a, &p, &err)) fail_msg("%s", err.msg);
    pl_program_print(p, &again);
    assert_string_equal(pl_text_get(&again), text);
    if (!pl_program_check(p, &err)) fail_msg("%s", err.msg);
    assert_true(p->flops == take->program->flops);
    pl_forecast_make(p, speed, a, &f);
    print_forecast(p, &f, &times);
    print_forecast(p, &take->forecast, &want);
    assert_string_equal(pl_text_get(&times), pl_text_get(&want));
}

static void check_layout(const struct model *m, const struct layout *l, const pl_graph *g,
                         pl_arena *a)
{
    pl_text text = { .arena = a }, program = { .arena = a };
    pl_cluster *c;
    pl_found *b;
    pl_err err = { 0 };
    if (!pl_cluster_find("2x2xv100", a, &c, &err)) fail_msg("%s", err.msg);
    const pl_plan_request r = request_of(l->strategy, c, a);
    if (!pl_plan_find(&r, g, a, &b, &err)) fail_msg("%s %s: %s", m->name, l->name, err.msg);
    const pl_speed speed = pl_speed_of(c);
    pl_program_print(b->take->program, &program);
    expect_parsed(b->take, &speed, pl_text_get(&program), a);
    pl_plan_print(b->take->plan, &text);
    pl_text_add(&text, "%s", pl_text_get(&program));
    print_forecast(b->take->program, &b->take->forecast, &text);
    expect_text(pl_arena_fmt(a, "%s.%s", m->name, l->name), &text, a);
}

static void test_golden(void **state)
{
    const struct model *m = *state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph(m->spec, a);
    pl_text text = { .arena = a };
    pl_graph_print(g, &text);
    expect_text(pl_arena_fmt(a, "%s.graph", m->name), &text, a);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        check_layout(m, &layouts[i], g, a);
    pl_arena_free(a);
}

int main(void)
{
    enum { N = sizeof models / sizeof *models };
    struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){ .name = models[i].name,
                                        .test_func = test_golden,
                                        .initial_state = (void *)(uintptr_t)&models[i] };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
