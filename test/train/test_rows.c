/* Updates of those rows of a table alone that a step has read: the same bits as updates of all rows
 * leave, split or not, where the optimizer is one of which that holds. */
#include "support/rounds.h"
#include "jobs.h"

#include "base/clock.h"

/* The table is encoder.weight; each row of the batch reads few of its 256 rows. */
static const char *const table = "lstm:layers=1,hidden=16,embed=12,vocab=256,seq=3,batch=8";

static pl_train_options options_of(const char *optimizer, double decay)
{
    pl_train_options o = options();
    o.model = table;
    o.optim.name = optimizer;
    o.optim.momentum = 0;
    o.optim.decay = decay;
    o.steps = 10;
    o.eval_batches = 1;
    o.strategy = "dp";
    return o;
}

/* A decay that is too small to do anything asks for updates of all rows. */
static void test_equal_bits(void **state)
{
    static const char *const names[] = { "sgd", "adagrad" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        diary all, rows;
        pl_train_options o = options_of(names[i % 2], 1e-300);
        /* native kernels round rows as the machine's vectors fall on them */
        o.exec.backends = backends + o.exec.n_backends - 1, o.exec.n_backends = 1;
        o.optim.clip = i / 2; /* the norm of rows that stand once is that of the gradient */
        o.save = "one";
        train_well(&o, 1, &all);
        o.optim.decay = 0;
        o.save = "many";
        train_well(&o, 1, &rows);
        assert_memory_equal(all.loss, rows.loss, 10 * sizeof *all.loss);
        if (i % 2) /* sgd has a momentum of all rows */
            check_same_file("one/step-00000010.safetensors", "many/step-00000010.safetensors");
        remove_folder("one");
        remove_folder("many");
    }
}

/* Each of the split programs updates the rows it has. */
static void test_split(void **state)
{
    static const char *const words[] = { "dp",   "zero=1",  "zero=3",  "tp=2",
                                         "auto", "embrace", "row-wise" };
    static const char *const names[] = { "sgd", "adagrad", "lazy-adam", "lazy-adamw",
                                         "rowwise-adagrad" };
    (void)state;
    for (int k = 0; k < 5; k += PL_SANITIZED ? 2 : 1) {
        diary whole, split;
        pl_train_options o = options_of(names[k], 0);
        train_well(&o, 1, &whole);
        for (int i = 0; i < 7; i++) {
            o.strategy = words[i];
            train_well(&o, 2, &split);
            check_losses(words[i], &whole, &split, 0, 10, 1e-5);
        }
    }
}

/* Rows of a click log: a label, two numbers, four ids. */
static void write_clicks(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 64; i++)
        fprintf(f, "%d\t%d\t%d\t%x\t%x\t%x\t%x\n", i % 3 == 0, i % 7, i % 10, i * i % 37, i % 11,
                i * 5 % 23, i * 3 % 9);
    fclose(f);
}

static pl_train_options clicks_of(const char *model)
{
    pl_train_options o = options();
    o.model = model;
    o.data = "clicks.tsv";
    o.optim.name = "adagrad";
    o.optim.decay = 0;
    o.steps = 10;
    o.eval_batches = 1;
    return o;
}

/* Tables that stand in one are those that stand alone: of the same weights and rows, the same
 * losses, however they are split. */
static void test_stacked(void **state)
{
    static const char *const words[] = { "dp", "embrace", "row-wise", "table-wise", "auto" };
    static const char *const weights = "alone/step-00000001.safetensors";
    diary alone, stacked;
    (void)state;
    write_clicks("clicks.tsv");
    pl_train_options o = clicks_of("dlrm:dense=2,sizes=20-40-40-40,embed=8,batch=16");
    o.steps = 1;
    o.save = "alone";
    train_well(&o, 1, &alone);
    o = clicks_of("dlrm:dense=2,sizes=20-40-40-40,embed=8,batch=16");
    o.weights = weights;
    train_well(&o, 1, &alone);
    o.model = "dlrm:dense=2,sizes=20-3x40,embed=8,batch=16";
    for (int i = 0; i < 5; i++)
        for (int ranks = 1; ranks <= 3; ranks += PL_SANITIZED ? 2 : 1) {
            o.strategy = words[i];
            train_well(&o, ranks, &stacked);
            check_losses(words[i], &alone, &stacked, 0, 10, 1e-6);
        }
    remove_folder("alone");
    unlink("clicks.tsv");
}

/* Moments of rows that a step does not read stay: so it is not adam. With all rows read it is. */
static void test_lazy(void **state)
{
    diary all, lazy;
    (void)state;
    pl_train_options o = options_of("adam", 0);
    train_well(&o, 1, &all);
    o.optim.name = "lazy-adam";
    train_well(&o, 1, &lazy);
    assert_true(all.loss[0] == lazy.loss[0] && all.loss[1] == lazy.loss[1]);
    assert_true(all.loss[9] != lazy.loss[9]);
    assert_true(fabs(all.loss[9] - lazy.loss[9]) < 0.1 * all.loss[9]);
}

/* Updates as torch's operators have none for rows. */
static void test_unfused(void **state)
{
    diary fused, unfused;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pl_train_options o = options_of(i ? "adagrad" : "lazy-adam", 0);
        train_well(&o, 1, &fused);
        o.optim.unfused = true;
        train_well(&o, 1, &unfused);
        check_losses(o.optim.name, &fused, &unfused, 0, 10, 1e-5);
    }
}

/* One sum a row, whether the gradient is rows or, in micro-batches, all of the table. */
static void test_rowwise(void **state)
{
    pl_train_options o = options_of("rowwise-adagrad", 0);
    diary whole, other;
    (void)state;
    train_well(&o, 1, &whole);
    assert_true(whole.loss[9] < whole.loss[0]);
    o.micro = 4;
    train_well(&o, 1, &other);
    check_losses("4 micro-batches", &whole, &other, 0, 10, 1e-5);
    o.strategy = "zero=3";
    train_well(&o, 2, &other);
    check_losses("4 micro-batches, zero=3", &whole, &other, 0, 10, 1e-5);
    o.micro = 1;
    o.save_every = 5;
    o.save = "one";
    train_well(&o, 2, &whole);
    o.resume = "one/step-00000005.json";
    o.save = "many";
    train_well(&o, 2, &other);
    assert_memory_equal(&whole.loss[5], other.loss, 5 * sizeof *other.loss);
    check_same_file("one/step-00000010.safetensors", "many/step-00000010.safetensors");
    remove_folder("one");
    remove_folder("many");
    o = options_of("rowwise-adagrad", 0.1);
    pl_err err = { 0 };
    assert_false(train(&o, 1, &other, &err));
    assert_int_equal(err.code, PL_EUSAGE);
    assert_non_null(strstr(err.msg, "a decay of 0.1: rowwise-adagrad has none"));
}

/* Over links so slow that messages are waited for, the same bits, and no sooner than the bytes that
 * a rank receives have passed: 10 steps, each of which has to bring the rows of 24 ids. */
static void test_slow_links(void **state)
{
    diary fast, slow;
    pl_train_options o = options_of("adagrad", 0);
    (void)state;
    o.strategy = "embrace";
    train_well(&o, 2, &fast);
    o.exec.link_rate = 1 << 20;
    const double begin = pl_clock_now();
    train_well(&o, 2, &slow);
    assert_true(pl_clock_now() - begin > 10 * 24 * 12 * 4 / 2 / o.exec.link_rate);
    assert_memory_equal(fast.loss, slow.loss, 10 * sizeof *fast.loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_bits), cmocka_unit_test(test_split),
        cmocka_unit_test(test_stacked),    cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_unfused),    cmocka_unit_test(test_slow_links),
        cmocka_unit_test(test_rowwise),
    };
    return cmocka_run_group_tests(tests, make_text, clean_up);
}
