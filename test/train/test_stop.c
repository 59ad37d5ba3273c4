/* Jobs that are asked for their end, and jobs that save by the clock. */
#include "train/train.h"

#include "backends/local/local.h"
#include "backends/ref/ref.h"
#include "base/file.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folders.h"

enum { RANKS = 3, STEPS = 12 };

static const pl_backend *const backends[] = { &pl_backend_ref };

/* What a job told, and the step at whose telling it is asked for its end. */
typedef struct diary {
    int64_t stop_at;
    atomic_int stop;
    int n_steps, n_evals, n_saves;
    pl_train_event end;
} diary;

static void note(void *to, const pl_train_event *e)
{
    diary *d = to;
    d->n_steps += e->what == PL_TOLD_STEP;
    d->n_evals += e->what == PL_TOLD_EVAL;
    d->n_saves += e->what == PL_TOLD_SAVE;
    if (e->what == PL_TOLD_STEP && e->step == d->stop_at) atomic_store(&d->stop, 15);
    if (e->what == PL_TOLD_END) d->end = *e;
}

typedef struct rank {
    const pl_train_job *job;
    pl_comm *comm;
    diary *log;
    pl_err err;
    bool ok;
    int stopped;
    pthread_t thread;
} rank;

static void *run_rank(void *arg)
{
    rank *r = arg;
    r->ok = pl_train_run(r->job, r->comm, note, r->log, &r->stopped, &r->err);
    return NULL;
}

/* Runs it on n ranks; returns the signal that all of them say ended it. */
static int train(pl_train_options o, int n, diary *d)
{
    pl_arena *a = pl_arena_new("test");
    pl_train_job *j;
    pl_comm *comm[RANKS] = { NULL };
    rank r[RANKS];
    pl_err err = { 0 };
    o.stop = &d->stop;
    if (!pl_train_new(&o, n, a, &j, &err)) fail_msg("%s", err.msg);
    if (n > 1 && !pl_local_new(n, 60, comm, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < n; i++) {
        r[i] = (rank){ .job = j, .comm = comm[i], .log = d };
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        if (!r[i].ok) fail_msg("%s", r[i].err.msg);
        assert_int_equal(r[i].stopped, r[0].stopped);
        if (comm[i]) pl_comm_free(comm[i]);
    }
    pl_train_free(j);
    pl_arena_free(a);
    return r[0].stopped;
}

static pl_train_options options(const char *save)
{
    return (pl_train_options){
        .model = "gpt2:layers=1,hidden=8,heads=2,vocab=16,seq=4,batch=3,dropout=0.2",
        .data = "synthetic",
        .train_share = 0.9,
        .steps = STEPS,
        .lr = 0.01,
        .lr_min = 0.001,
        .seed = 5,
        .save = save,
        .keep = 9,
        .optim = { .name = "sgd", .momentum = 0.9 },
        .exec = { .n_backends = 1, .backends = backends, .env = { .n_threads = 1 } },
    };
}

static int set_up(void **state)
{
    (void)state;
    remove_folder("whole");
    remove_folder("stopped");
    return 0;
}

/* Asked for its end when step 5 is told, all ranks end after step 6, which is saved; what goes on
 * from there is the run that was never stopped. With micro-batches a step is still done whole. */
static void test_stop(void **state)
{
    (void)state;
    for (int n = 1; n <= RANKS; n++)
        for (int micro = 1; micro <= 3; micro += 2) {
            diary whole = { 0 }, d = { .stop_at = 5 }, rest = { 0 };
            pl_train_options o = options("whole");
            o.micro = micro;
            assert_int_equal(train(o, n, &whole), 0);
            assert_int_equal(whole.end.stopped, 0);
            o.save = "stopped";
            assert_int_equal(train(o, n, &d), 15);
            assert_int_equal(d.n_steps, 6);
            assert_int_equal(d.n_saves, 1);
            assert_int_equal(d.end.step, 6);
            assert_int_equal(d.end.stopped, 15);
            assert_true(d.end.ok);
            assert_string_equal(d.end.path, "stopped");
            o.resume = "stopped";
            assert_int_equal(train(o, n, &rest), 0);
            assert_int_equal(rest.n_steps, STEPS - 6);
            check_same_file("whole/step-00000012.safetensors", "stopped/step-00000012.safetensors");
            set_up(NULL);
        }
}

/* An evaluation is left, and not told; where nothing is saved, nothing is said to be. */
static void test_stop_in_evaluation(void **state)
{
    (void)state;
    diary d = { .stop_at = 4 };
    pl_train_options o = options(NULL);
    o.eval_every = 4;
    o.eval_batches = 3;
    assert_int_equal(train(o, 2, &d), 15);
    assert_int_equal(d.n_steps, 4);
    assert_int_equal(d.n_evals, 0);
    assert_null(d.end.path);
}

/* The clock of rank 0 alone says when to save: when any time is enough, at every step. */
static void test_save_by_time(void **state)
{
    (void)state;
    for (int n = 1; n <= RANKS; n++) {
        diary often = { 0 }, once = { 0 };
        pl_train_options o = options("stopped");
        o.save_seconds = 1e-9;
        train(o, n, &often);
        assert_int_equal(often.n_saves, STEPS);
        o.overwrite = true;
        o.save_seconds = 3600;
        train(o, n, &once);
        assert_int_equal(once.n_saves, 1);
        assert_string_equal(once.end.path, "stopped");
        set_up(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_in_evaluation),
        cmocka_unit_test(test_save_by_time),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
