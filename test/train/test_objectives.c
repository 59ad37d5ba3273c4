/* Steps that work towards several objectives: what is said of each; which train when; that a buffer
 * and objectives that rest go on after a resume; that objectives apart compute the same bits. */
#include "jobs.h"

#include "ops/lib/all.h"
#include "train/rests.h"

static const char *const gan = "dcgan:size=16,width=4,z=8,channels=1,batch=4";
static const char *const late = "dcgan:size=16,width=4,z=8,channels=1,batch=4,buffer=2";

static const char *const sn = "sngan:width=2,judge=2,z=8,channels=1,batch=4";

static const char seldom[] = "generator:optimizer=adabelief,rate=0.5,every=3,beta1=0.5,decay=0,"
                             "clip=0;discriminator:optimizer=adam,decay=0,clip=0";

static pl_graph *graph_of(const pl_optim *o, const char *spec, pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    assert_true(pl_model_parse(spec, a, &args, &err));
    pl_builder b = pl_optim_step(&args, o, 1, a);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static void reading(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_optim o = pl_optim_usual("adamw");
    const pl_graph *g = graph_of(&o, gan, a);
    pl_objectives list;
    pl_err err = { 0 };
    o.objectives = seldom;
    assert_true(pl_objectives_find(g, &o, &list, &err));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.at[0].name, "discriminator");
    assert_string_equal(list.at[1].name, "generator");
    assert_string_equal(list.at[1].optim.name, "adabelief");
    assert_true(list.at[1].rate == 0.5 && list.at[1].optim.beta1 == 0.5);
    assert_true(list.at[0].rate == 1 && list.at[0].optim.beta1 == PL_OPTIM_BETA1);
    assert_int_equal(list.at[1].every, 3);
    assert_int_equal(pl_objectives_period(&list), 3);
    assert_int_equal(pl_objectives_resting(&list, 0), 0);
    assert_int_equal(pl_objectives_resting(&list, 1), 2);
    assert_int_equal(pl_objectives_resting(&list, 3), 0);
    list.at[0].every = 2;
    assert_int_equal(pl_objectives_period(&list), 6);
    assert_int_equal(pl_objectives_resting(&list, 5), 3);
    pl_arena_free(a);
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "painter:rate=1", "no objective 'painter': there are discriminator, generator" },
        { "generator:speed=1", "unknown key 'speed'" },
        { "generator:rate", "'rate' has no value" },
        { "generator:rate=-1", "rate=-1: a number, not below 0" },
        { "generator:every=0", "every=0: a number of steps, at least 1" },
    };
    pl_arena *a = pl_arena_new("test");
    pl_optim o = pl_optim_usual("adamw");
    const pl_graph *g = graph_of(&o, gan, a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_objectives list;
        pl_err err = { 0 };
        o.objectives = rows[i].text;
        assert_false(pl_objectives_find(g, &o, &list, &err));
        assert_int_equal(err.code, PL_EUSAGE);
        if (!strstr(err.msg, rows[i].says)) fail_msg("%s", err.msg);
    }
    pl_arena_free(a);
}

/* A step in which one rests is a part of the whole one: updates of the other, and pictures. */
static void resting(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_optim o = pl_optim_usual("adamw");
    o.objectives = seldom;
    pl_model_args args;
    pl_rests rests;
    pl_value *loss[4];
    pl_err err = { 0 };
    assert_true(pl_model_parse(late, a, &args, &err));
    pl_graph *all = graph_of(&o, late, a);
    const pl_plan *whole = pl_plan_single(all, a);
    assert_true(pl_rests_find(all, &(pl_trained){ &args, &o, NULL }, &rests, &err));
    assert_int_equal(rests.n, 1);
    assert_int_equal(rests.period, 3);
    assert_int_equal(rests.at[0].steps, 2);
    if (!pl_rests_plan(&rests, whole, a, &err)) fail_msg("%s", err.msg);
    const pl_graph *some = rests.at[0].graph;
    assert_non_null(pl_graph_find(all, "generator.deconv0.weight.s"));
    assert_null(pl_graph_find(some, "generator.deconv0.weight.s"));
    assert_non_null(pl_graph_find(some, "discriminator.conv0.weight.v")->next);
    assert_non_null(pl_graph_find(all, "generator.deconv0.weight")->next);
    assert_null(pl_graph_find(some, "generator.deconv0.weight")->next);
    assert_non_null(pl_graph_find(some, "buffer.image.0")->next); /* it still makes pictures */
    assert_null(pl_graph_find(some, "discriminator.made.conv0")); /* which nobody judges     */
    assert_int_equal(pl_graph_losses(all, 4, loss), 2);
    assert_int_equal(pl_graph_losses(some, 4, loss), 1);
    assert_string_equal(pl_graph_objective(loss[0]), "discriminator");
    assert_true(pl_graph_flops(some) < 0.8 * pl_graph_flops(all));
    pl_arena_free(a);
}

static pl_train_options options_of(const char *model)
{
    pl_train_options o = options();
    o.model = model;
    o.data = "synthetic";
    o.optim.objectives = seldom;
    o.steps = 8;
    return o;
}

/* In the middle of the buffer, and between two steps of the generator. */
static void resume(void **state)
{
    (void)state;
    pl_train_options o = options_of(late);
    diary whole, rest;
    o.save = "whole";
    o.save_every = 4;
    train_well(&o, 1, &whole);
    o.save = "rest";
    o.resume = "whole/step-00000004.json";
    train_well(&o, 1, &rest);
    assert_int_equal(rest.n, 4);
    assert_memory_equal(&whole.loss[4], rest.loss, 4 * sizeof *rest.loss);
    check_same_file("whole/step-00000008.safetensors", "rest/step-00000008.safetensors");
    remove_folder("whole");
    remove_folder("rest");
}

/* Each network on a rank of its own, which waits for no other within a step: the same bits. */
static void apart(void **state)
{
    (void)state;
    pl_train_options o = options_of(late);
    diary one, two;
    pl_err err = { 0 };
    o.eval_batches = 1;
    train_well(&o, 1, &one);
    o.strategy = "apart=2";
    train_well(&o, 2, &two);
    assert_memory_equal(one.loss, two.loss, 8 * sizeof *one.loss);
    assert_memory_equal(one.validation, two.validation, sizeof *one.validation);
    o.model = gan; /* without a buffer they wait */
    assert_false(train(&o, 2, &two, &err));
    assert_non_null(strstr(err.msg, "serves several objectives"));
    err = (pl_err){ 0 };
    o.model = late;
    o.strategy = "apart=2,pp=2,micro=1";
    assert_false(train(&o, 4, &two, &err));
    assert_non_null(strstr(err.msg, "have no stages"));
    err = (pl_err){ 0 };
    o.strategy = "apart=2";
    o.model = "mlp";
    o.optim.objectives = NULL;
    assert_false(train(&o, 2, &two, &err));
    assert_non_null(strstr(err.msg, "the model has 1 objective"));
}

static void split(void **state)
{
    (void)state;
    pl_train_options o = options_of(gan);
    diary one, many;
    train_well(&o, 1, &one);
    o.strategy = "zero=3";
    train_well(&o, 2, &many);
    check_losses("zero=3", &one, &many, 0, 8, 1e-5);
    o.model = sn;
    o.strategy = NULL;
    o.optim.objectives = NULL;
    o.lr = o.lr_min =
        1e-4; /* Adam moves what has no gradient but rounding by as much, either way */
    train_well(&o, 1, &one);
    o.strategy = "zero=3";
    train_well(&o, 2, &many);
    check_losses("spectral norms", &one, &many, 0, 8, 1e-4);
    o = options_of(gan);
    o.micro = 2;
    train_well(&o, 1, &one);
    train_well(&o, 2, &many);
    check_losses("micro-batches", &one, &many, 0, 8, 1e-5);
}

static void none_trains(void **state)
{
    (void)state;
    pl_train_options o = options_of(gan);
    diary l;
    pl_err err = { 0 };
    o.optim.objectives = "generator:every=2;discriminator:every=2";
    assert_false(train(&o, 1, &l, &err));
    assert_int_equal(err.code, PL_EUSAGE);
    assert_non_null(strstr(err.msg, "in step 2 none trains"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),     cmocka_unit_test(mistakes), cmocka_unit_test(resting),
        cmocka_unit_test(resume),      cmocka_unit_test(apart),    cmocka_unit_test(split),
        cmocka_unit_test(none_trains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
