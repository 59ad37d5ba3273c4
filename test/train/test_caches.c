/* Tables in slow memory, a cache of whose rows is on the device: the same bits as without, under
 * every policy, however large it is, split or not, resumed with another. */
#include "support/rounds.h"
#include "jobs.h"

enum { STEPS = 16 };

/* Two tables by the same ids, and two of other sizes, of which one is too small to cache. */
static const char *const tables =
    "dlrm:sizes=900-400-30,hots=2,embed=6,dense=3,bottom=8,top=8,batch=16";
static const char *const shared = "wide_deep:sizes=900-400,embed=4,dense=3,batch=16";

static pl_train_options options_of(const char *model, const char *optimizer)
{
    pl_train_options o = options();
    o.model = model;
    o.data = "zipf=1.05";
    o.optim.name = optimizer;
    o.optim.momentum = o.optim.decay = o.optim.clip = 0;
    o.steps = STEPS;
    o.eval_batches = 2;
    o.eval_every = 5;
    o.strategy = "dp";
    o.policy = pl_cache_policies[0];
    o.ahead = 3;
    return o;
}

/* Trains into a folder. */
static diary run(pl_train_options o, int n, const char *folder)
{
    diary d;
    o.save = folder;
    train_well(&o, n, &d);
    return d;
}

static void check_same(const char *a, const char *b)
{
    char x[64], y[64];
    snprintf(x, sizeof x, "%s/step-%08d.safetensors", a, STEPS);
    snprintf(y, sizeof y, "%s/step-%08d.safetensors", b, STEPS);
    check_same_file(x, y);
    remove_folder(b);
}

static void test_equal_bits(void **state)
{
    static const char *const names[] = { "sgd", "adagrad", "lazy-adam", "rowwise-adagrad" };
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int m = 0; m < 2; m++) {
            if (PL_SANITIZED && m != k % 2) continue;
            pl_train_options o = options_of(m ? shared : tables, names[k]);
            const diary whole = run(o, 1, "whole");
            for (int i = 0; pl_cache_policies[i]; i++) {
                o.policy = pl_cache_policies[i];
                o.optim.cache = i % 2 ? (pl_cached){ .rows = 33 } : (pl_cached){ .share = 0.01 };
                o.exec.host_dir = i % 2 ? "." : NULL;
                const diary cached = run(o, 1, "cached");
                check_losses(o.policy->name, &whole, &cached, 0, STEPS, 0);
                check_same("whole", "cached");
            }
            remove_folder("whole");
        }
}

/* Columns on devices, rows on devices, all on all of them. */
static void test_split(void **state)
{
    static const char *const words[] = { "dp", "embrace", "row-wise", "zero=3" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        pl_train_options o = options_of(tables, "adagrad");
        o.strategy = words[i];
        run(o, 2, "whole");
        o.optim.cache.share = 0.02;
        o.policy = pl_cache_policies[i];
        run(o, 2, "cached");
        check_same("whole", "cached");
        remove_folder("whole");
    }
}

/* The rows of all micro-batches of a step have to be there together. */
static void test_micro(void **state)
{
    (void)state;
    pl_train_options o = options_of(tables, "adagrad");
    o.micro = 4;
    run(o, 1, "whole");
    o.optim.cache.rows = 40;
    run(o, 1, "cached");
    check_same("whole", "cached");
    remove_folder("whole");
}

/* A checkpoint has whole tables: caches are no part of it. */
static void test_resume(void **state)
{
    diary d;
    (void)state;
    pl_train_options o = options_of(tables, "adagrad"), first = o, last = o;
    run(o, 1, "whole");
    first.optim.cache.rows = 50;
    first.save = "first";
    first.save_every = 7;
    first.keep = 9;
    train_well(&first, 1, &d);
    last.optim.cache.share = 0.03;
    last.policy = pl_cache_policies[3];
    last.resume = "first/step-00000007.json";
    run(last, 2, "cached");
    last.optim.cache = (pl_cached){ 0 };
    run(last, 2, "uncached");
    check_same("cached", "uncached");
    run(last, 1, "alone");
    check_same("whole", "alone");
    remove_folder("whole");
    remove_folder("cached");
    remove_folder("first");
}

static void check_refused(const pl_train_options *o, const char *word)
{
    diary d;
    pl_err err = { 0 };
    assert_false(train(o, 2, &d, &err));
    if (!strstr(err.msg, word)) fail_msg("%s", err.msg);
}

static void test_refused(void **state)
{
    (void)state;
    pl_train_options o = options_of(tables, "adagrad");
    o.optim.cache.rows = 10;
    check_refused(&o, "more than 10 rows by 'cat_0'");
    o = options_of(tables, "adamw");
    o.optim.cache.rows = 50;
    check_refused(&o, "adamw changes rows that no step has read");
    o = options_of(tables, "lazy-adam");
    o.optim.cache.rows = 50;
    o.micro = 2;
    check_refused(&o, "in micro-batches");
    o = options_of(gpt2, "adagrad");
    o.data = text;
    o.optim.cache.share = 0.1;
    check_refused(&o, "nothing to cache");
    o = options_of(tables, "adagrad");
    o.optim.cache.rows = 50;
    o.apart = true;
    check_refused(&o, "several processes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_bits), cmocka_unit_test(test_split),
        cmocka_unit_test(test_micro),      cmocka_unit_test(test_resume),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_text, clean_up);
}
