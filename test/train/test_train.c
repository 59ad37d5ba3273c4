/* Whole training jobs: the learning rate, checkpoints, many ranks against one. */
#include "jobs.h"
#include "support/rounds.h"

static void check_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g (+- %g)", a, b, tolerance);
}

static void check_close(const diary *a, const diary *b, int skip_a)
{
    assert_int_equal(a->n - skip_a, b->n);
    check_losses("", a, b, skip_a, b->n, 1e-5);
}

/* -- tests ------------------------------------------------------------------------------------- */

/* What must hold whatever the formula: a straight rise, the peak, half way down in the middle. */
static void check_schedule(int64_t steps, int64_t warmup, double lr, double lr_min)
{
    pl_train_options o = options();
    diary l;
    o.model = "mlp:layers=1,in=2,classes=2,batch=1";
    o.data = "synthetic";
    o.steps = steps;
    o.warmup = warmup;
    o.lr = lr;
    o.lr_min = lr_min;
    train_well(&o, 1, &l);
    assert_int_equal(l.n, steps);
    for (int64_t i = 0; i < warmup && i < steps; i++)
        check_near(l.lr[i], lr * (double)(i + 1) / (double)(warmup + 1), 1e-12);
    if (warmup < steps) check_near(l.lr[warmup], lr, 1e-12);
    for (int64_t i = warmup + 1; i < steps; i++) {
        assert_true(l.lr[i] <= l.lr[i - 1] && l.lr[i] >= lr_min - 1e-12);
        int64_t mirror = warmup + steps - i; /* a cosine is odd about its middle */
        check_near(l.lr[i] + l.lr[mirror], lr + lr_min, 1e-12);
    }
    if (steps - warmup == 16)
        check_near(l.lr[warmup + 4], lr_min + (lr - lr_min) * (2 + sqrt(2)) / 4, 1e-12);
}

static void test_learning_rate(void **state)
{
    (void)state;
    check_schedule(16, 0, 0.1, 0.01);
    check_schedule(21, 5, 0.1, 0.01);
    check_schedule(12, 3, 0.2, 0);
    check_schedule(9, 0, 0.05, 0.05);
    check_schedule(4, 9, 0.1, 0.01);
    check_schedule(1, 0, 0.1, 0.01);
    check_schedule(0, 0, 0.1, 0.01);
}

static void test_learns(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary l;
    o.steps = 60;
    o.eval_batches = 2;
    o.eval_every = 20;
    train_well(&o, 1, &l);
    assert_true(fabs(l.loss[0] - log(256)) < 0.1);
    assert_true(l.loss[59] < 4);
    assert_int_equal(l.n_evals, 3);
    assert_true(l.validation[2] < l.validation[0] && l.validation[0] < log(256));
    for (int i = 0; i < l.n; i++) assert_true(l.grad_norm[i] > 0);
    o.steps = 2;
    o.optim.clip = 0;
    train_well(&o, 1, &l);
    assert_true(l.grad_norm[0] < 0); /* nobody asked for it */
}

/* 40 steps are 20 and 20 more, to the last bit; validating in between changes nothing. */
static void test_resume(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary whole, rest;
    o.steps = 40;
    o.save_every = 20;
    o.save = "whole";
    train_well(&o, 1, &whole);
    assert_int_equal(whole.n_saves, 2);
    assert_int_equal(whole.n_programs, 1); /* what never runs takes no memory */
    o.save = "rest";
    o.resume = "whole/step-00000020.json";
    o.eval_every = 3;
    o.eval_batches = 1;
    train_well(&o, 1, &rest);
    assert_int_equal(rest.n, 20);
    assert_int_equal(rest.step[0], 21);
    assert_int_equal(rest.n_programs, 2);
    assert_memory_equal(&whole.loss[20], rest.loss, 20 * sizeof *rest.loss);
    assert_memory_equal(&whole.lr[20], rest.lr, 20 * sizeof *rest.lr);
    check_same_file("whole/step-00000040.safetensors", "rest/step-00000040.safetensors");
    remove_folder("rest");
    o.resume = "whole"; /* nothing is left to do */
    o.save = NULL;
    o.eval_batches = 0;
    train_well(&o, 1, &rest);
    assert_int_equal(rest.n, 0);
    remove_folder("whole");
}

static void test_resume_on_other_ranks(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary whole, rest;
    o.steps = 20;
    o.save_every = 10;
    o.save = "one";
    train_well(&o, 1, &whole);
    o.save = NULL;
    o.resume = "one/step-00000010.json";
    for (int n = 2; n <= MAX_RANKS; n *= 2) {
        train_well(&o, n, &rest);
        check_close(&whole, &rest, 10);
    }
    o.save = "two"; /* and back: two ranks wrote, one goes on */
    o.resume = NULL;
    train_well(&o, 2, &rest);
    check_close(&whole, &rest, 0);
    o.save = NULL;
    o.resume = "two/step-00000010.json";
    train_well(&o, 1, &rest);
    check_close(&whole, &rest, 10);
    remove_folder("one");
    remove_folder("two");
}

static void test_ranks(void **state)
{
    static const char *const names[] = { "sgd", "adam", "adamw" };
    (void)state;
    for (int i = 0; i < 3; i++) {
        pl_train_options o = options();
        diary one, many;
        o.optim.name = names[i];
        o.plan.lower.bucket_bytes = i ? 4096 : 0;
        o.eval_batches = 2;
        train_well(&o, 1, &one);
        for (int n = 2; n <= MAX_RANKS; n *= 2) {
            train_well(&o, n, &many);
            check_close(&one, &many, 0);
            check_near(one.validation[0], many.validation[0], 1e-5 * one.validation[0]);
        }
    }
}

/* An update in many nodes is the one in one node but for roundings: on one rank and on two, in one
 * graph and after micro-batches, with clipping and without. */
static void test_unfused(void **state)
{
    static const char *const names[] = { "sgd", "adam", "adamw" };
    (void)state;
    for (int i = 0; i < 12; i += PL_SANITIZED ? 5 : 1) {
        pl_train_options o = options();
        diary fused, unfused;
        o.optim.name = names[i % 3];
        o.optim.clip = i / 3 % 2 ? 0 : 1;
        o.micro = i / 6 ? 2 : 1;
        o.eval_batches = 2;
        train_well(&o, 1, &fused);
        o.optim.unfused = true;
        for (int n = 1; n <= 2; n++) {
            o.strategy = n > 1 ? "zero=1" : "dp";
            train_well(&o, n, &unfused);
            check_close(&fused, &unfused, 0);
            check_near(fused.validation[0], unfused.validation[0], 1e-5 * fused.validation[0]);
        }
    }
}

/* -- strategies -------------------------------------------------------------------------------- */

static const struct layout {
    const char *strategy;
    int ranks;
} layouts[] = {
    { "dp", 2 },     { "dp", 3 },     { "dp", 4 },     { "zero=1", 2 },      { "zero=1", 4 },
    { "zero=2", 2 }, { "zero=2", 4 }, { "zero=3", 2 }, { "zero=3", 3 },      { "zero=3", 4 },
    { "tp=2", 2 },   { "tp=2", 4 },   { "tp=4", 4 },   { "tp=2,zero=3", 4 }, { "dp=2,tp=2,sp", 4 },
};

enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void test_strategies(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary one, many;
    o.model = even;
    o.steps = 5;
    o.eval_batches = 2;
    train_well(&o, 1, &one);
    for (int i = 0; i < N_LAYOUTS; i++) {
        const char *s = o.strategy = layouts[i].strategy;
        train_well(&o, layouts[i].ranks, &many);
        assert_int_equal(many.n, 5);
        check_losses(s, &one, &many, 0, 5, 1e-5);
        check_near(one.validation[0], many.validation[0], 1e-5 * one.validation[0]);
        for (int k = 0; k < 5; k++)
            check_near(one.grad_norm[k], many.grad_norm[k], 1e-4 * one.grad_norm[k]);
    }
}

/* More devices than rows, heads that do not divide: some hold nothing of some tensors. */
static void test_uneven(void **state)
{
    static const struct layout uneven[] = {
        { "dp", 3 }, { "zero=3", 3 }, { "dp", 4 }, { "zero=2", 4 }
    };
    (void)state;
    pl_train_options o = options();
    diary one, many;
    o.model = "gpt2:layers=1,hidden=21,heads=3,vocab=256,seq=5,batch=2,dropout=0.2";
    o.steps = 5;
    train_well(&o, 1, &one);
    for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++) {
        o.strategy = uneven[i].strategy;
        train_well(&o, uneven[i].ranks, &many);
        check_losses(o.strategy, &one, &many, 0, 5, 1e-5);
    }
}

/* What is saved before the first step are the initial values: the same bytes under every plan. */
static void test_saved_parts(void **state)
{
    static const char *const manifests[] = { "one/step-00000000.json", "many/step-00000000.json" };
    (void)state;
    pl_train_options o = options();
    diary l;
    o.model = even;
    o.steps = 0;
    o.save = "one";
    train_well(&o, 1, &l);
    o.save = "many";
    for (int i = 0; i < N_LAYOUTS; i += 1 + PL_SANITIZED) {
        o.strategy = layouts[i].strategy;
        train_well(&o, layouts[i].ranks, &l);
        assert_int_equal(l.n_saves, 1);
        check_same_file("one/step-00000000.safetensors", "many/step-00000000.safetensors");
        check_same_manifest(manifests);
        remove_folder("many");
    }
    remove_folder("one");
}

/* Saved at zero=3 on 4 devices, resumed under other plans; under the same one to the last bit. */
static void test_resume_under_other_plans(void **state)
{
    static const struct layout others[] = {
        { "tp=2", 2 }, { "dp", 3 }, { "dp", 1 }, { "zero=1,tp=2", 4 }
    };
    (void)state;
    pl_train_options o = options();
    diary whole, rest;
    o.model = even;
    o.strategy = "zero=3";
    o.steps = 12;
    o.save_every = 6;
    o.save = "parts";
    train_well(&o, 4, &whole);
    o.resume = "parts/step-00000006.json";
    o.save = "again";
    train_well(&o, 4, &rest);
    assert_int_equal(rest.n, 6);
    assert_memory_equal(&whole.loss[6], rest.loss, 6 * sizeof *rest.loss);
    check_same_file("parts/step-00000012.safetensors", "again/step-00000012.safetensors");
    o.save = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o.strategy = others[i].strategy;
        train_well(&o, others[i].ranks, &rest);
        check_losses(o.strategy, &whole, &rest, 6, 1, 1e-6);
        check_losses(o.strategy, &whole, &rest, 6, 6, 1e-5);
    }
    remove_folder("parts");
    remove_folder("again");
}

/* -- micro-batches ----------------------------------------------------------------------------- */

/* The same rows in one batch or in several give the same step. */
static void test_micro(void **state)
{
    static const struct layout many[] = { { "dp", 1 },       { "dp", 2 },     { "zero=1", 2 },
                                          { "zero=2", 2 },   { "zero=3", 2 }, { "tp=2", 2 },
                                          { "dp=2,tp=2", 4 } };
    (void)state;
    pl_train_options o = options();
    diary one, l;
    o.model = steady;
    o.steps = 5;
    o.eval_batches = 2;
    train_well(&o, 1, &one);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        for (o.micro = 1; o.micro <= 4; o.micro *= PL_SANITIZED ? 4 : 2) {
            o.strategy = many[i].strategy;
            train_well(&o, many[i].ranks, &l);
            assert_int_equal(l.n, 5);
            check_losses(o.strategy, &one, &l, 0, 5, 1e-5);
            check_near(one.validation[0], l.validation[0], 1e-5 * one.validation[0]);
            for (int k = 0; k < 5; k++)
                check_near(one.grad_norm[k], l.grad_norm[k], 1e-4 * one.grad_norm[k]);
        }
}

/* Sums are no part of a checkpoint; it goes on with any number of micro-batches. */
static void test_micro_resume(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary whole, rest;
    pl_arena *a = pl_arena_new("test");
    pl_checkpoint c;
    pl_err err = { 0 };
    o.model = steady;
    o.strategy = "zero=2";
    o.steps = 10;
    o.micro = 4;
    o.save = "parts";
    o.save_every = 5;
    train_well(&o, 2, &whole);
    if (!pl_checkpoint_open("parts/step-00000005.json", a, &c, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < c.n; i++) assert_null(strstr(c.tensor[i].name, ".grad"));
    assert_non_null(pl_checkpoint_find(&c, "h.0.mlp.c_fc.weight.v"));
    pl_checkpoint_free(&c);
    o.save = NULL;
    o.resume = "parts/step-00000005.json";
    train_well(&o, 2, &rest);
    assert_memory_equal(&whole.loss[5], rest.loss, 5 * sizeof *rest.loss);
    o.micro = 1;
    o.strategy = "dp";
    train_well(&o, 1, &rest);
    check_losses("one batch", &whole, &rest, 5, 5, 1e-5);
    remove_folder("parts");
    pl_arena_free(a);
}

/* States that the update does not know (running statistics) live on. */
static void test_micro_statistics(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary one, two;
    o.model = "resnet18:stages=1,blocks=1,width=4,size=16,classes=5,batch=4";
    o.data = "synthetic";
    o.steps = 3;
    o.micro = 2;
    o.eval_batches = 2;
    train_well(&o, 1, &one);
    train_well(&o, 2, &two);
    check_losses("statistics", &one, &two, 0, 3, 1e-5);
    check_near(one.validation[0], two.validation[0], 1e-5 * one.validation[0]);
}

/* What a run may not change when it goes on is all named at once. */
static void test_resume_of_another_run(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary l;
    pl_err err = { 0 };
    o.steps = 4;
    o.save = "one";
    train_well(&o, 1, &l);
    o.save = NULL;
    o.resume = "one";
    o.seed = 6;
    o.model = "gpt2:layers=2,hidden=24,heads=2,vocab=256,seq=12,batch=4,dropout=0.2";
    assert_false(train(&o, 1, &l, &err));
    assert_int_equal(err.code, PL_EINPUT);
    const char *const words[] = { "cannot resume one", "heads=3", "heads=2",
                                  "seed was 5 and is 6" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(err.msg, words[i])) fail_msg("no '%s' in: %s", words[i], err.msg);
    o = options();
    o.steps = 4;
    o.resume = "one";
    o.data = "synthetic";
    err = (pl_err){ 0 };
    assert_false(train(&o, 1, &l, &err));
    assert_non_null(strstr(err.msg, "the data were 'text.txt'"));
    remove_folder("one");
}

static void test_loss_that_is_not_finite(void **state)
{
    (void)state;
    for (int n = 1; n <= 2; n++) {
        pl_train_options o = options();
        diary l;
        pl_err err = { 0 };
        o.optim.name = "sgd";
        o.optim.clip = 0;
        o.lr = 1e30;
        o.warmup = 0;
        assert_false(train(&o, n, &l, &err));
        assert_int_equal(err.code, PL_ERUN);
        assert_non_null(strstr(err.msg, "not finite at step 2"));
        assert_non_null(strstr(err.msg, "lower --lr"));
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *model, *data, *save;
        int ranks;
        pl_code code;
        const char *words[3];
    } cases[] = {
        { "gpt2:heads=5,seq=8,batch=4",
          text,
          NULL,
          1,
          PL_EUSAGE,
          { "hidden=768", "heads=5", "e.g. hidden=770" } },
        { "gpt2:vocab=255,seq=8", text, NULL, 1, PL_EINPUT, { "vocab=255", "vocab=256" } },
        { "mlp", text, NULL, 1, PL_EUNSUPPORTED, { "mlp", "vectors", "--data synthetic" } },
        { "mlp", "synthetic", "text.txt", 1, PL_EINPUT, { "text.txt: not a folder" } },
        { "mlp", "synthetic", "no/such", 1, PL_EINPUT, { "no/such", "create its parent" } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_train_options o = options();
        pl_err err = { 0 };
        pl_train_job *j;
        pl_arena *a = pl_arena_new("test");
        o.model = cases[i].model;
        o.data = cases[i].data;
        o.save = cases[i].save;
        if (pl_train_new(&o, cases[i].ranks, a, &j, &err)) fail_msg("accepted %s", cases[i].model);
        if (err.code != cases[i].code) fail_msg("code %d: %s", (int)err.code, err.msg);
        for (int k = 0; k < 3 && cases[i].words[k]; k++)
            if (!strstr(err.msg, cases[i].words[k]))
                fail_msg("no '%s' in: %s", cases[i].words[k], err.msg);
        pl_arena_free(a);
    }
}

static void test_refused_layouts(void **state)
{
    static const struct {
        const char *strategy;
        int64_t micro;
        int ranks;
        pl_code code;
        const char *words[2];
    } cases[] = {
        { "nosuch", 1, 2, PL_EUSAGE, { "nosuch" } },
        { "zero=7", 1, 2, PL_EUSAGE, { "zero" } },
        { "tp=3", 1, 4, PL_EUSAGE, { "3", "4" } },
        { "dp=2,tp=2", 1, 2, PL_EUSAGE, { "2" } },
        { "dp", 3, 1, PL_EUSAGE, { "batch=4 does not divide into 3", "--batch 6" } },
        { "dp", 8, 1, PL_EUSAGE, { "batch=4 does not divide into 8", "--batch 8" } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_train_options o = options();
        pl_err err = { 0 };
        pl_train_job *j;
        pl_arena *a = pl_arena_new("test");
        o.strategy = cases[i].strategy;
        o.micro = cases[i].micro;
        if (pl_train_new(&o, cases[i].ranks, a, &j, &err)) fail_msg("accepted %s", o.strategy);
        if (err.code != cases[i].code)
            fail_msg("%s: code %d: %s", o.strategy, (int)err.code, err.msg);
        for (int k = 0; k < 2 && cases[i].words[k]; k++)
            if (!strstr(err.msg, cases[i].words[k]))
                fail_msg("no '%s' in: %s", cases[i].words[k], err.msg);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learning_rate),
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_on_other_ranks),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_unfused),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_saved_parts),
        cmocka_unit_test(test_resume_under_other_plans),
        cmocka_unit_test(test_micro),
        cmocka_unit_test(test_micro_resume),
        cmocka_unit_test(test_micro_statistics),
        cmocka_unit_test(test_resume_of_another_run),
        cmocka_unit_test(test_loss_that_is_not_finite),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_layouts),
    };
    return cmocka_run_group_tests(tests, make_text, clean_up);
}
