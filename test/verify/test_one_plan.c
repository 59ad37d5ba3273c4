/* One request has one plan: what pl_plan_find finds, what a training job trains and what is
 * verified are the same to the last byte, whatever the options. */
#include "plan/file.h"
#include "support/request.h"
#include "train/job.h"
#include "ranks.h"

#include <stdlib.h>

enum { DEVICES = 4 };

static const struct {
    const char *strategy, *search, *cluster; /* NULL: exact; guesses */
    double memory;                           /* of the peak without a limit; 0: none */
    bool tied;
    int axes;
    int64_t bucket, steps_over;
} cases[] = {
    { "dp" },
    { "zero=3,tp=2,sp" },
    { "auto" },
    { "auto", .cluster = "2x2xv100" },
    { "auto", .cluster = "1x4xa100", .memory = 0.95 },
    { "auto", "tapas", .memory = 2, .tied = true },
    { "auto", "tofu", .axes = 1 },
    { "auto", .cluster = "2x2xv100", .steps_over = 1 << 10, .bucket = 1 << 12 },
};

static const char *write(const pl_plan *p, pl_arena *a)
{
    const pl_plan_about about = {
        .model = "m", .optimizer = "adamw", .cluster = "c", .strategy = p->strategy
    };
    pl_text t = { .arena = a };
    pl_plan_write(p, &about, &t);
    return pl_text_get(&t);
}

static pl_plan_request ask(size_t i, pl_arena *a)
{
    pl_cluster *c;
    pl_plan_request r = { .search = { .tied = cases[i].tied, .axes = cases[i].axes } };
    pl_err err = { 0 };
    r.lower =
        (pl_lower_options){ .bucket_bytes = cases[i].bucket, .step_bytes = cases[i].steps_over };
    bool ok = pl_strategy_parse(cases[i].strategy, DEVICES, a, &r.strategy, &err);
    if (ok && cases[i].search) ok = pl_planner_find(cases[i].search, &r.search.method, &err);
    if (ok && cases[i].cluster) {
        ok = pl_cluster_find(cases[i].cluster, a, &c, &err);
        r.cluster = c;
    }
    if (!ok) fail_msg("%s", err.msg);
    return r;
}

static const pl_found *find(const pl_plan_request *r, const char *model, const pl_optim *o,
                            pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_found *f = NULL;
    pl_err err = { 0 };
    if (!pl_model_parse(model, a, &args, &err)) fail_msg("%s", err.msg);
    pl_builder b = pl_optim_step(&args, o, 1, a);
    if (!pl_builder_done(&b, &g, &err) || !pl_plan_find(r, g, a, &f, &err)) fail_msg("%s", err.msg);
    return f;
}

static const char *train(const pl_plan_request *r, const char *model, const pl_verify_options *v,
                         const char *strategy, pl_arena *a)
{
    const pl_train_options o = { .model = model,
                                 .strategy = strategy,
                                 .plan = *r,
                                 .data = "synthetic",
                                 .train_share = 0.9,
                                 .steps = 1,
                                 .eval_batches = 1,
                                 .optim = v->optim,
                                 .exec = v->exec };
    pl_train_job *j;
    pl_err err = { 0 };
    if (!pl_train_new(&o, DEVICES, a, &j, &err)) fail_msg("%s", err.msg);
    const char *text = write(pl_train_found(j)->take->plan, a);
    assert_ptr_equal(j->plan[PL_TRAIN_STEP], pl_train_found(j)->take->plan);
    pl_train_free(j);
    return text;
}

static const char *verify_plan(const pl_plan_request *r, pl_verify_options o, pl_arena *a)
{
    pl_verify *v;
    const pl_verify_case *c;
    pl_err err = { 0 };
    o.plan = *r;
    if (!pl_verify_new(&o, a, &v, &err) || !pl_verify_split(v, &r->strategy, a, &c, &err))
        fail_msg("%s", err.msg);
    const char *text = write(pl_verify_plan(c), a);
    pl_verify_free(v);
    return text;
}

static void check_model(const char *model)
{
    const pl_verify_options v = verify_options(model);
    const char *first = NULL;
    bool differ = false;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_plan_request r = ask(i, a);
        const pl_found *f = find(&r, model, &v.optim, a);
        if (cases[i].memory > 0) {
            r.search.memory = cases[i].memory * (double)f->take->forecast.memory.peak;
            f = find(&r, model, &v.optim, a);
        }
        const char *plan = write(f->take->plan, a);
        assert_string_equal(train(&r, model, &v, cases[i].strategy, a), plan);
        assert_string_equal(verify_plan(&r, v, a), plan);
        differ |= first && strcmp(first, plan) != 0;
        if (!first) first = strdup(plan);
        pl_arena_free(a);
    }
    assert_true(differ);
    free((void *)(uintptr_t)first);
}

static void test_gpt(void **state)
{
    (void)state;
    check_model("gpt2:layers=1,hidden=32,heads=4,vocab=64,seq=8,batch=8");
}

static void test_mlp(void **state)
{
    (void)state;
    check_model("mlp:layers=2,hidden=64,batch=16");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gpt), cmocka_unit_test(test_mlp) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
