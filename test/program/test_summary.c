/* Summaries: names of blocks fold, bytes are those of the program. */
#include "program/summary.h"

#include "models/model.h"
#include "layouts/strategy.h"
#include "train/optim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_fold(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "7", "*" },
        { "h.3.ln_1.bias", "h.*.ln_1.bias" },
        { "h.12.mlp.fc/einsum.345", "h.*.mlp.fc/einsum.*" },
        { "x.update:1", "x.update:*" },
        { "layer4.1.conv2", "layer4.*.conv2" },
        { "2x.3_.x4.", "2x.3_.x4." },
        { "1.2.3", "*.*.*" },
    };
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pl_summary_fold(a, cases[i][0]), cases[i][1]);
    pl_arena_free(a);
}

static void summarise(const char *model, const char *strategy, int n, int64_t bucket, pl_arena *a,
                      pl_summary *s, const pl_program **program)
{
    const pl_optim o = pl_optim_usual("adamw");
    const pl_lower_options options = { .bucket_bytes = bucket };
    pl_model_args args;
    pl_strategy degrees;
    pl_graph *g;
    pl_plan *plan;
    pl_program *p = NULL;
    pl_err err = { 0 };
    bool ok = pl_model_parse(model, a, &args, &err);
    if (ok) {
        pl_builder b = pl_optim_step(&args, &o, 1, a);
        ok = pl_builder_done(&b, &g, &err) && pl_strategy_parse(strategy, n, a, &degrees, &err) &&
             pl_strategy_plan(&degrees, g, NULL, a, &plan, &err) &&
             pl_program_lower(plan, 0, pl_store_new(plan, 0, a), &options, a, &p, &err);
    }
    if (!ok) fail_msg("%s, %s: %s", model, strategy, err.msg);
    pl_summary_make(p, a, s);
    *program = p;
}

static const pl_summary_row *find(const pl_summary *s, const char *tensor)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->row[i].tensor, tensor)) return &s->row[i];
    fail_msg("no row '%s'", tensor);
    return NULL;
}

/* A weight of 6x4 and a bias of 6, four of each: gradients come by name, one message each. */
static void test_known_model(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p;
    pl_summary s;
    (void)state;
    summarise("mlp:layers=4,in=6,hidden=6,classes=6,batch=8", "dp", 2, 1, a, &s, &p);
    assert_int_equal(s.weights_bytes, 4 * 4 * (6 * 6 + 6));
    assert_int_equal(s.optimizer_bytes, 2 * s.weights_bytes);
    const pl_summary_row *w = find(&s, "gradient of layers.*.weight");
    assert_int_equal(w->collective, PL_ALL_REDUCE);
    assert_int_equal(w->axes, 1);
    assert_int_equal(w->count, 4);
    assert_int_equal(w->bytes, 4 * 4 * 36); /* 2 (n - 1) / n = 1 */
    assert_int_equal(find(&s, "gradient of layers.*.bias")->bytes, 4 * 4 * 6);
    assert_string_equal(pl_summary_axes(a, &p->plan->mesh, w->axes), "data");

    summarise("mlp:layers=4,in=6,hidden=6,classes=6,batch=8", "zero=1", 2, 1, a, &s, &p);
    w = find(&s, "new layers.*.weight");
    assert_int_equal(w->collective, PL_ALL_GATHER);
    assert_int_equal(w->bytes, 4 * 4 * 36 / 2);
    pl_arena_free(a);
}

/* The rows are the program's messages, whatever the plan; buckets fold into one row. */
static void test_rows_are_the_messages(void **state)
{
    // clang-format off
    static const struct {
        const char *strategy;
        int n;
        int64_t bucket;
    } cases[] = { { "dp", 1, 1 },   { "dp", 4, 1 },        { "dp", 4, 1 << 20 },
                  { "tp=2", 4, 1 }, { "zero=3", 3, 4096 }, { "zero=1,tp=2", 8, 1 << 20 } };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_program *p;
        pl_summary s;
        int64_t bytes = 0, count = 0, messages = 0;
        double seconds = 0;
        summarise("gpt2:layers=3,hidden=16,heads=4,vocab=32,seq=8,batch=8", cases[i].strategy,
                  cases[i].n, cases[i].bucket, a, &s, &p);
        for (int k = 0; k < s.n; k++) {
            bytes += s.row[k].bytes, count += s.row[k].count, seconds += s.row[k].seconds;
            assert_true(s.row[k].seconds > 0 && s.row[k].bytes > 0);
            assert_true(!k || s.row[k].bytes <= s.row[k - 1].bytes);
        }
        for (int k = 0; k < p->n_steps; k++)
            messages += p->step[k].kind == PL_MESSAGE && p->step[k].collective != PL_SEND;
        assert_int_equal(bytes, p->message_bytes);
        assert_int_equal(bytes, s.message_bytes);
        assert_int_equal(count, messages);
        assert_true(seconds <= s.message_seconds * 1.000001);
        assert_true(seconds >= s.message_seconds * 0.999999);
        assert_int_equal(s.work_bytes, p->work_bytes);
        assert_true(s.work_bound_bytes <= s.work_bytes);
        assert_true((cases[i].n == 1) == (s.n == 0));
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_known_model),
        cmocka_unit_test(test_rows_are_the_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
