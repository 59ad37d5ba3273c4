/* Training with 16-bit weights beside f32 masters: the same numbers as with casts in each pass. */
#include "jobs.h"

static const char *const mixed =
    "gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=8,batch=8,dropout=0,dtype=bf16";

/* Weights that are kept in bf16 are those that are cast in each pass, to the last bit; checkpoints
 * of either are the same bytes. */
static void test_masters(void **state)
{
    static const char *const names[] = { "sgd", "adamw", "lamb", "adabelief" };
    (void)state;
    for (int i = 0; i < 16; i++) {
        pl_train_options o = options();
        diary plain, masters;
        o.model = mixed;
        o.optim.name = names[i % 4];
        o.micro = i / 4 % 2 ? 4 : 1;
        o.optim.unfused = i / 8;
        if (o.optim.unfused && i % 4 > 1) continue;
        o.optim.clip = o.micro > 1; /* of one batch norms add up gradients in bf16, in f32 before */
        o.steps = 6;
        o.eval_batches = 1;
        o.save = "one";
        o.strategy = "dp";
        train_well(&o, 1, &plain);
        o.save = "many";
        o.strategy = "dp,masters";
        train_well(&o, 1, &masters);
        assert_memory_equal(plain.loss, masters.loss, 6 * sizeof *plain.loss);
        assert_memory_equal(plain.validation, masters.validation, sizeof *plain.validation);
        check_same_file("one/step-00000006.safetensors", "many/step-00000006.safetensors");
        remove_folder("one");
        remove_folder("many");
    }
}

/* A run goes on with masters, or without them, and split. */
static void test_masters_resume(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary whole, rest;
    o.model = mixed;
    o.steps = 10;
    o.micro = 2;
    o.strategy = "dp";
    o.save = "one";
    o.save_every = 5;
    train_well(&o, 1, &whole);
    o.resume = "one/step-00000005.json";
    o.save = "many";
    o.strategy = "masters,dp";
    train_well(&o, 1, &rest);
    assert_memory_equal(&whole.loss[5], rest.loss, 5 * sizeof *rest.loss);
    check_same_file("one/step-00000010.safetensors", "many/step-00000010.safetensors");
    remove_folder("many");
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = { "zero=1", "zero=2,offload=updates", "masters,zero=3" };
        o.strategy = words[i];
        o.steps = 10;
        train_well(&o, 2, &rest);
        check_losses(o.strategy, &whole, &rest, 5, 5, 1e-2);
        remove_folder("many");
    }
    remove_folder("one");
}

/* Weights of a file, in f32, are masters. */
static void test_masters_from_file(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary plain, masters;
    o.model = mixed;
    o.steps = 2;
    o.strategy = "dp";
    o.save = "one";
    train_well(&o, 1, &plain);
    o.save = NULL;
    o.weights = "one/step-00000002.safetensors";
    o.optim.clip = 0;
    train_well(&o, 1, &plain);
    o.strategy = "dp,masters";
    train_well(&o, 1, &masters);
    assert_memory_equal(plain.loss, masters.loss, 2 * sizeof *plain.loss);
    remove_folder("one");
}

static void test_masters_of_f32(void **state)
{
    (void)state;
    pl_train_options o = options();
    diary l;
    pl_err err = { 0 };
    o.strategy = "masters";
    assert_false(train(&o, 1, &l, &err));
    assert_int_equal(err.code, PL_EINPUT);
    assert_non_null(strstr(err.msg, "say dtype=bf16"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masters),
        cmocka_unit_test(test_masters_resume),
        cmocka_unit_test(test_masters_from_file),
        cmocka_unit_test(test_masters_of_f32),
    };
    return cmocka_run_group_tests(tests, make_text, clean_up);
}
