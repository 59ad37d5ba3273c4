/* The library as its caller sees it: the public header alone. */
#include <pleat.h>

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH = 8, IN = 6, OUT = 4 };

static int builds[3]; /* by mode */

static void build(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    builds[mode]++;
    const char *init = self ? self : "normal std=0.5";
    pl_value *x = pl_build_input(b, "x", "f32", 2, (int64_t[]){ batch, IN });
    pl_value *label = pl_build_input(b, "label", "i32", 1, (int64_t[]){ batch });
    pl_value *w = pl_build_weight(b, "w", 2, (int64_t[]){ IN, OUT }, init);
    pl_value *y = pl_build_node(b, "y", "einsum", "bi,io->bo", 2, (pl_value *[]){ x, w });
    if (y) assert_true(pl_build_rank(y) == 2 && pl_build_dim(y, 0) == batch);
    pl_build_output(b, pl_build_cross_entropy(b, y, label), "loss");
}

static void fill(float x[BATCH][IN], int32_t label[BATCH])
{
    for (int i = 0; i < BATCH; i++) {
        label[i] = i % OUT;
        for (int k = 0; k < IN; k++) x[i][k] = (float)((i * 7 + k * 3) % 11) / 11 - 0.5F;
    }
}

static pl_plan *plan(pl_context *c, const char *cluster, const char *strategy)
{
    pl_plan_options o = PL_PLAN_OPTIONS;
    o.strategy = strategy;
    o.optimizer = "sgd";
    pl_model *m = pl_model_new(c, "own", BATCH, build, NULL);
    assert_non_null(m);
    pl_cluster *devices = pl_cluster_open(c, cluster);
    assert_non_null(devices);
    pl_plan *p = pl_plan_new(m, devices, &o);
    if (!p) fail_msg("%s", pl_context_error(c));
    return p;
}

static pl_run *run(const pl_plan *p, pl_context *c)
{
    pl_run_options o = PL_RUN_OPTIONS;
    o.lr = 0.5, o.steps = 10, o.threads = 1;
    pl_run *r = pl_run_new(p, &o);
    if (!r) fail_msg("%s", pl_context_error(c));
    return r;
}

static void feed(pl_run *r)
{
    float x[BATCH][IN];
    int32_t label[BATCH];
    fill(x, label);
    assert_true(pl_run_feed(r, "x", x, sizeof x));
    assert_true(pl_run_feed(r, "label", label, sizeof label));
}

/* The cross-entropy of the model, by hand. */
static double loss_of(float w[IN][OUT])
{
    float x[BATCH][IN];
    int32_t label[BATCH];
    double loss = 0;
    fill(x, label);
    for (int i = 0; i < BATCH; i++) {
        double sum = 0, own = 0;
        for (int o = 0; o < OUT; o++) {
            double y = 0;
            for (int k = 0; k < IN; k++) y += (double)x[i][k] * (double)w[k][o];
            sum += exp(y);
            if (o == label[i]) own = y;
        }
        loss += log(sum) - own;
    }
    return loss / BATCH;
}

/* The same losses on one device and on four; weights are read and written whole, whichever way they
 * are split. */
static void test_runs(void **state)
{
    static const struct {
        const char *cluster, *strategy;
    } cases[] = { { "local:1", "dp" },           { "local:4", "dp" },
                  { "local:4", "zero=3" },       { "local:4", "grid:2x2x1" },
                  { "local:2", "zero=2" },       { "local:2", "auto" },
                  { "local:1", "dp,micro=2" },   { "local:2", "zero=2,micro=2" },
                  { "local:2", "pp=2,micro=2" }, { "local:4", "pp=2,dp,micro=2,schedule=gpipe" } };
    double first[5], eval;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_context *c = pl_context_new();
        pl_run *r = run(plan(c, cases[i].cluster, cases[i].strategy), c);
        float w[IN][OUT];
        feed(r);
        assert_true(pl_run_read(r, "w", w, sizeof w));
        assert_true(pl_run_evaluate(r, &eval));
        assert_true(fabs(eval - loss_of(w)) < 1e-5);
        for (int k = 0; k < 5; k++) {
            pl_step_result s;
            assert_true(pl_run_step(r, &s));
            assert_true(s.step == k + 1 && s.seconds >= 0);
            if (!i) first[k] = s.loss;
            assert_true(fabs(s.loss - first[k]) < 1e-5);
            assert_true(!k || s.loss < first[k - 1]);
        }
        assert_true(pl_run_read(r, "w", w, sizeof w));
        for (int k = 0; k < IN * OUT; k++) (&w[0][0])[k] = (float)k / 100;
        assert_true(pl_run_write(r, "w", w, sizeof w));
        memset(w, 0, sizeof w);
        assert_true(pl_run_read(r, "w", w, sizeof w));
        for (int k = 0; k < IN * OUT; k++) assert_true((&w[0][0])[k] == (float)k / 100);
        assert_true(pl_run_evaluate(r, &eval));
        assert_true(fabs(eval - loss_of(w)) < 1e-5);
        size_t bytes = 0;
        bool has = false;
        for (int k = 0; k < pl_run_states(r); k++)
            if (!strcmp(pl_run_state(r, k, &bytes), "w")) has = bytes == sizeof w;
        assert_true(has);
        pl_context_free(c); /* ends the run */
    }
    assert_true(builds[PL_TRAIN] > 0 && builds[PL_EVAL] > 0 && builds[PL_INFER] == 0);
}

/* A weight in 16 bits is known by its master, and written together with it. */
static void test_masters(void **state)
{
    enum { VOCAB = 64, WIDTH = 16 };
    static float w[VOCAB][WIDTH];
    (void)state;
    pl_context *c = pl_context_new();
    pl_plan_options o = PL_PLAN_OPTIONS;
    o.strategy = "zero=1";
    pl_model *m = pl_model_open(
        c, "gpt2:layers=1,hidden=16,heads=2,vocab=64,seq=8,batch=4,dropout=0,dtype=bf16");
    pl_plan *p = pl_plan_new(m, pl_cluster_open(c, "local:2"), &o);
    if (!p) fail_msg("%s", pl_context_error(c));
    pl_run_options with = PL_RUN_OPTIONS;
    with.lr = 0.01, with.steps = 4, with.threads = 1, with.data = "synthetic";
    pl_run *r = pl_run_new(p, &with);
    if (!r) fail_msg("%s", pl_context_error(c));
    pl_step_result s;
    double eval;
    size_t bytes = 0;
    assert_true(pl_run_step(r, &s));
    for (int k = 0; k < pl_run_states(r); k++) {
        const char *name = pl_run_state(r, k, &bytes);
        assert_null(strstr(name, "master"));
        if (!strcmp(name, "wte.weight")) assert_int_equal(bytes, sizeof w);
    }
    memset(w, 0, sizeof w); /* the table gives the logits too */
    assert_true(pl_run_write(r, "wte.weight", w, sizeof w));
    assert_true(pl_run_evaluate(r, &eval));
    assert_true(fabs(eval - log(VOCAB)) < 1e-6);
    assert_true(pl_run_step(r, &s));
    assert_true(fabs(s.loss - log(VOCAB)) < 1e-6);
    assert_true(pl_run_read(r, "wte.weight", w, sizeof w));
    double sum = 0;
    for (int i = 0; i < VOCAB * WIDTH; i++) sum += fabs((double)(&w[0][0])[i]);
    assert_true(sum > 0 && sum < 0.011 * VOCAB * WIDTH); /* one step from 0 */
    pl_context_free(c);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

/* No thread of the library's runs a handler of the caller's: while the caller does not want the
 * signal, it waits. */
static void test_signals(void **state)
{
    const struct sigaction a = { .sa_handler = handle };
    pl_step_result s;
    sigset_t usr2;
    (void)state;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    assert_int_equal(sigaction(SIGUSR2, &a, NULL), 0);
    pl_context *c = pl_context_new();
    pl_run *r = run(plan(c, "local:2", "dp"), c);
    feed(r);
    assert_true(pl_run_step(r, &s));
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    kill(getpid(), SIGUSR2);
    for (int i = 0; i < 20; i++) assert_true(pl_run_step(r, &s));
    assert_int_equal(handled, 0);
    sigprocmask(SIG_UNBLOCK, &usr2, NULL);
    assert_int_equal(handled, 1);
    pl_context_free(c);
}

/* Without options a run has the defaults: several devices, a rate that falls to a tenth. */
static void test_defaults(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_run *r = pl_run_new(plan(c, "local:2", "dp"), NULL);
    pl_step_result s = { 0 };
    if (!r) fail_msg("%s", pl_context_error(c));
    feed(r);
    for (int i = 0; i < 100; i++) assert_true(pl_run_step(r, &s));
    assert_true(s.lr > 1e-4 && s.lr < 1.1e-4);
    pl_context_free(c);
}

static void test_feeding(void **state)
{
    (void)state;
    float x[BATCH][IN] = { { 0 } };
    pl_context *c = pl_context_new();
    pl_run *r = run(plan(c, "local:2", "dp"), c);
    assert_false(pl_run_step(r, NULL));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    assert_non_null(strstr(pl_context_error(c), "'x' was never fed"));
    assert_false(pl_run_feed(r, "x", x, 4));
    assert_non_null(strstr(pl_context_error(c), "has 192 bytes, not 4"));
    assert_false(pl_run_feed(r, "y", x, 4));
    assert_non_null(strstr(pl_context_error(c), "there are: x, label"));
    assert_false(pl_run_read(r, "v", x, 4));
    assert_non_null(strstr(pl_context_error(c), "there is no state 'v'"));
    assert_false(pl_run_save(r));
    feed(r);
    for (int k = 0; k < IN; k++) x[0][k] = NAN;
    assert_true(pl_run_feed(r, "x", x, sizeof x));
    assert_false(pl_run_step(r, NULL));
    assert_int_equal(pl_context_code(c), PL_ERUN);
    assert_false(pl_run_step(r, NULL));
    assert_non_null(strstr(pl_context_error(c), "free it"));
    pl_run_free(r);
    pl_context_free(c);
}

/* What a caller does wrong is told; nothing ends the process. */
static void no_loss(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    (void)mode, (void)self;
    pl_build_input(b, "x", "f32", 1, &batch);
}

static void no_operator(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    (void)mode, (void)self;
    pl_value *x = pl_build_input(b, "x", "f32", 1, &batch);
    pl_value *y = pl_build_node(b, NULL, "sinn", NULL, 1, &x);
    pl_build_output(b, pl_build_node(b, NULL, "sin", NULL, 1, &y), "loss");
}

static void no_type(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    (void)mode, (void)self;
    pl_value *x = pl_build_input(b, "x", "f33", 1, &batch);
    pl_build_output(b, pl_build_result(x, 3), "loss");
}

static void refuses(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    (void)batch, (void)mode, (void)self;
    pl_build_refuse(b, "not on a Monday");
}

static void test_mistakes(void **state)
{
    static const struct {
        void (*build)(pl_builder *b, int64_t batch, pl_mode mode, void *self);
        const char *says;
    } cases[] = { { no_loss, "has no output 'loss'" },
                  { no_operator, "no operator 'sinn'" },
                  { no_type, "no element type 'f33'" },
                  { refuses, "not on a Monday" } };
    (void)state;
    pl_context *c = pl_context_new();
    pl_cluster *two = pl_cluster_open(c, "local:2");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_model *m = pl_model_new(c, "wrong", 4, cases[i].build, NULL);
        assert_null(pl_plan_new(m, two, NULL));
        if (!strstr(pl_context_error(c), cases[i].says)) fail_msg("%s", pl_context_error(c));
        assert_int_equal(pl_context_code(c), PL_EINPUT);
    }
    assert_null(pl_model_new(c, "a name", 4, build, NULL));
    assert_null(pl_model_new(c, "own", 0, build, NULL));
    assert_null(pl_model_open(c, "gpt3"));
    assert_null(pl_cluster_open(c, "3y4"));
    assert_null(pl_plan_open(c, "none.json", NULL));
    pl_plan_options o = PL_PLAN_OPTIONS;
    pl_model *m = pl_model_new(c, "own", BATCH, build, NULL);
    o.strategy = "dp=3";
    assert_null(pl_plan_new(m, two, &o));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    o.strategy = "auto", o.memory = 10;
    assert_null(pl_plan_new(m, two, &o));
    assert_int_equal(pl_context_code(c), PL_EINFEASIBLE);
    o.memory = 0, o.search = "magic";
    assert_null(pl_plan_new(m, two, &o));
    o.search = NULL, o.size = 1000;
    assert_null(pl_plan_new(m, two, &o));
    assert_non_null(strstr(pl_context_error(c), "begin with PL_PLAN_OPTIONS"));
    pl_context_free(c);
}

/* What a locale says of numbers, instead of the C library. */
static char *point = ".";

struct lconv *localeconv(void)
{
    static struct lconv l;
    l.decimal_point = point;
    return &l;
}

/* In a locale whose numbers are written otherwise nothing is begun. */
static void test_locale(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_cluster *two = pl_cluster_open(c, "local:2");
    pl_model *m = pl_model_new(c, "own", BATCH, build, NULL);
    point = ",";
    assert_null(pl_cluster_open(c, "local:2"));
    assert_null(pl_cluster_probe(c, 1, 1, true));
    assert_null(pl_model_open(c, "mlp"));
    assert_null(pl_model_new(c, "own", BATCH, build, NULL));
    assert_null(pl_plan_open(c, "none.json", NULL));
    assert_null(pl_plan_new(m, two, NULL));
    assert_int_equal(pl_context_code(c), PL_EUNSUPPORTED);
    assert_non_null(strstr(pl_context_error(c), "setlocale"));
    point = ".";
    assert_non_null(pl_plan_new(m, two, NULL));
    pl_context_free(c);
}

/* A plan is saved and opened again, and goes on from where a run stopped. */
static void test_saves(void **state)
{
    (void)state;
    pl_context *c = pl_context_new(), *d = pl_context_new();
    pl_plan *p = plan(c, "local:2", "zero=3");
    const char *folder = "saved-by-api";
    assert_int_equal(system("rm -rf saved-by-api"), 0); /* of a test that failed */
    assert_true(pl_plan_save(p, "plan.json"));
    pl_model *m = pl_model_new(d, "own", BATCH, build, NULL);
    assert_null(pl_plan_open(d, "plan.json", NULL)); /* nobody there knows the model */
    pl_plan *q = pl_plan_open(d, "plan.json", m);
    if (!q) fail_msg("%s", pl_context_error(d));
    assert_int_equal(pl_plan_devices(q), 2);
    assert_true(pl_plan_seconds(p) == pl_plan_seconds(q) && pl_plan_bytes(p) == pl_plan_bytes(q));
    pl_run_options o = PL_RUN_OPTIONS;
    o.save = folder, o.lr = 0.5, o.threads = 1;
    pl_step_result a, b;
    pl_run *r = pl_run_new(p, &o);
    if (!r) fail_msg("%s", pl_context_error(c));
    feed(r);
    for (int i = 0; i < 3; i++) assert_true(pl_run_step(r, &a));
    if (!pl_run_save(r)) fail_msg("%s", pl_context_error(c));
    assert_true(pl_run_step(r, &a));
    pl_run_free(r);
    o.save = NULL, o.resume = folder;
    r = pl_run_new(q, &o);
    if (!r) fail_msg("%s", pl_context_error(d));
    feed(r);
    assert_true(pl_run_step(r, &b));
    assert_true(b.step == 4 && b.loss == a.loss);
    pl_context_free(d);
    pl_context_free(c);
    unlink("plan.json");
    assert_int_equal(system("rm -rf saved-by-api"), 0);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* The tokens of a text are its words; what is fed has none. */
static void test_words(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_model *m = pl_model_open(c, "lstm:layers=1,hidden=4,vocab=5,seq=2,batch=2");
    pl_plan_options by = PL_PLAN_OPTIONS;
    pl_run_options o = PL_RUN_OPTIONS;
    pl_step_result step;
    pl_plan *p = pl_plan_new(m, pl_cluster_open(c, "local:1"), &by);
    if (!p) fail_msg("%s", pl_context_error(c));
    write_file("words.tsv", "<unk>\t0\nthe\t9\nend\t8\ncat\t7\n");
    write_file("words.txt", "the cat the end the the cat end the cat the end unknown the cat the "
                            "end the cat end the end the end the cat the end cat the");
    o.data = "words.txt", o.words = "words.tsv", o.threads = 1;
    pl_run *r = pl_run_new(p, &o);
    if (!r) fail_msg("%s", pl_context_error(c));
    assert_true(pl_run_step(r, &step));
    assert_true(step.loss > 0 && step.loss < 3); /* about log(5) */
    pl_run_free(r);
    o.words = NULL; /* bytes need 256 numbers */
    assert_null(pl_run_new(p, &o));
    assert_non_null(strstr(pl_context_error(c), "vocab=256"));
    o.data = NULL, o.words = "words.tsv";
    assert_null(pl_run_new(p, &o));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    pl_context_free(c);
    unlink("words.tsv");
    unlink("words.txt");
}

static void test_tells(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_plan *p = plan(c, "2x2xv100", "auto");
    pl_model *m = pl_model_open(c, "mlp:hidden=64");
    assert_true(strstr(pl_plan_text(p), "step") && strstr(pl_plan_json(p), "\"schema\""));
    assert_true(pl_plan_fits(p) && pl_plan_seconds(p) > 0 && pl_plan_bytes(p) > 0);
    assert_true(pl_model_parameters(m) > 64 && strstr(pl_model_text(m), "state "));
    assert_string_equal(pl_model_spec(m), "mlp:hidden=64");
    const char *y = pl_plan_explain(p, "y", false), *json = pl_plan_explain(p, "y", true);
    assert_true(y && strstr(y, "einsum") && json && strstr(json, "pleat.explain/1"));
    assert_null(pl_plan_explain(p, "yy", false));
    const char *dp = pl_plan_why_not(p, "zero=3", false);
    assert_true(dp && strstr(dp, "zero=3"));
    assert_null(pl_plan_why_not(p, "zero=9", true));
    assert_null(pl_plan_explain(plan(c, "2x2xv100", "dp"), "y", false));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    assert_true(strstr(pl_cluster_text(c, pl_cluster_open(c, "2x2xv100")), "v100") != NULL);
    assert_true(*pl_version() >= '0' && strchr(pl_version(), '.'));
    pl_context_free(c);
}

/* What was measured is a cluster like any other, and a file of it the same one. */
static void test_probe(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_cluster *probed = pl_cluster_probe(c, 2, 1, true);
    if (!probed) fail_msg("%s", pl_context_error(c));
    assert_int_equal(pl_cluster_devices(probed), 2);
    const char *text = pl_cluster_text(c, probed);
    assert_non_null(strstr(text, "schema: pleat.cluster/1\nname: \"2 threads, probed\"\n"));
    assert_non_null(strstr(text, "messages:"));
    FILE *file = fopen("probed.yaml", "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
    pl_cluster *again = pl_cluster_open(c, "probed.yaml");
    if (!again) fail_msg("%s", pl_context_error(c));
    assert_string_equal(pl_cluster_text(c, again), text);
    unlink("probed.yaml");
    pl_plan *p = pl_plan_new(pl_model_open(c, "mlp:hidden=64"), probed, NULL);
    if (!p) fail_msg("%s", pl_context_error(c));
    assert_true(pl_plan_seconds(p) > 0 && pl_plan_devices(p) == 2);
    assert_null(pl_cluster_probe(c, -1, 1, true));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    assert_non_null(strstr(pl_context_error(c), "there are 1 to 256"));
    assert_null(pl_cluster_probe(c, 2, -1, true));
    pl_context_free(c);
}

/* The first whole number after a key. */
static long number(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    assert_non_null(at);
    return strtol(at + strlen(key), NULL, 10);
}

static void see(void *self, const char *what, int i, int n)
{
    int *told = self;
    if (!what) return;
    if (strstr(what, "order ")) assert_true(i == ++*told && i <= n);
}

/* Orders and layouts of the memory of a device: nine rows, or those that are asked for. */
static void test_memory(void **state)
{
    (void)state;
    int told = 0;
    pl_context *c = pl_context_new();
    pl_plan *p = plan(c, "local:2", "dp");
    pl_context_watch(c, see, &told);
    const char *text = pl_plan_memory(p, NULL, NULL, false);
    if (!text) fail_msg("%s", pl_context_error(c));
    assert_int_equal(told, 9);
    assert_true(strstr(text, ", dp: ") && strstr(text, "pytorch") && strstr(text, "llfb"));
    assert_non_null(strstr(text, "\nthe bound: no order of these steps has less than "));
    pl_context_watch(c, NULL, NULL);
    const char *json = pl_plan_memory(p, "pleat", NULL, true);
    assert_true(json && strstr(json, "\"schema\": \"pleat.memory/1\", \"model\": \"own"));
    assert_non_null(strstr(json, "{\"order\": \"pleat\", \"layout\": \"pleat\", "));
    assert_null(strstr(json, "lescea"));
    const long bound = number(json, "\"bound_bytes\": "), live = number(json, "\"live_bytes\": "),
               block = number(json, "\"block_bytes\": ");
    assert_true(bound > 0 && bound <= live && live <= block);
    assert_true((double)(number(json, "\"state_bytes\": ") + live) <= pl_plan_bytes(p));
    json = pl_plan_memory(p, NULL, "best", true);
    assert_true(json && strstr(json, "lescea") && !strstr(json, "pytorch"));
    assert_null(pl_plan_memory(p, "best", NULL, false));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    assert_non_null(strstr(pl_context_error(c), "no order 'best'"));
    assert_null(pl_plan_memory(p, "pleat", "least", false));
    assert_non_null(strstr(pl_context_error(c), "no layout 'least'"));
    pl_context_free(c);
}

/* Two losses, whose optimizers the caller names. */
static void test_objectives(void **state)
{
    (void)state;
    pl_context *c = pl_context_new();
    pl_model *m = pl_model_open(c, "dcgan:size=8,width=2,z=4,channels=1,batch=4");
    pl_cluster *devices = pl_cluster_open(c, "local:2");
    pl_plan_options o = PL_PLAN_OPTIONS;
    o.strategy = "dp";
    o.objectives = "painter:rate=1";
    assert_null(pl_plan_new(m, devices, &o));
    assert_int_equal(pl_context_code(c), PL_EUSAGE);
    assert_non_null(strstr(pl_context_error(c), "there are discriminator, generator"));
    o.objectives = "generator:optimizer=sgd;discriminator:optimizer=sgd";
    pl_plan *few = pl_plan_new(m, devices, &o);
    o.objectives = NULL; /* adam */
    pl_plan *more = pl_plan_new(m, devices, &o);
    assert_true(few && more);
    assert_true(pl_plan_bytes(few) < pl_plan_bytes(more)); /* one moment, not two */
    pl_run_options r = PL_RUN_OPTIONS;
    r.data = "synthetic", r.steps = 2, r.threads = 1;
    pl_run *run_of = pl_run_new(few, &r);
    if (!run_of) fail_msg("%s", pl_context_error(c));
    pl_run_free(run_of);
    pl_context_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),    cmocka_unit_test(test_masters),
        cmocka_unit_test(test_signals), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_feeding), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_saves),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_tells),   cmocka_unit_test(test_probe),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
