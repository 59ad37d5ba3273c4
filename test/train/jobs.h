/* Whole training jobs on threads, and what they tell, for tests. */
#ifndef PL_TEST_TRAIN_JOBS_H
#define PL_TEST_TRAIN_JOBS_H
#include "train/train.h"

#include "backends/local/local.h"
#include "backends/native/native.h"
#include "backends/ref/ref.h"
#include "backends/widen/widen.h"
#include "base/file.h"
#include "run/checkpoint.h"
#ifdef PLEAT_HAVE_ONEDNN
#include "backends/onednn/onednn.h"
#endif

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folders.h"

enum { MAX_RANKS = 4, MAX_STEPS = 64 };

static const pl_backend *const backends[] = {
#ifdef PLEAT_HAVE_ONEDNN
    &pl_backend_onednn,
#endif
    &pl_backend_native,
    &pl_backend_widen,
    &pl_backend_ref,
};

static const char *const text = "text.txt";
static const char *const gpt2 =
    "gpt2:layers=2,hidden=24,heads=3,vocab=256,seq=12,batch=4,dropout=0.2";
static const char *const even =
    "gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=8,batch=4,dropout=0.2";
static const char *const steady =
    "gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=8,batch=8,dropout=0";

/* What a job told. */
typedef struct diary {
    int n, n_evals, n_saves, n_programs;
    int64_t step[MAX_STEPS];
    double loss[MAX_STEPS], lr[MAX_STEPS], grad_norm[MAX_STEPS], validation[MAX_STEPS];
} diary;

static void note(void *to, const pl_train_event *e)
{
    diary *l = to;
    if (e->what == PL_TOLD_EVAL) l->validation[l->n_evals++] = e->loss;
    if (e->what == PL_TOLD_SAVE) l->n_saves++;
    if (e->what == PL_TOLD_START) l->n_programs = e->n_programs;
    if (e->what != PL_TOLD_STEP) return;
    assert_true(l->n < MAX_STEPS);
    l->step[l->n] = e->step;
    l->loss[l->n] = e->loss;
    l->lr[l->n] = e->lr;
    l->grad_norm[l->n++] = e->grad_norm;
}

typedef struct rank {
    const pl_train_job *job;
    pl_comm *comm;
    diary *log;
    pl_err err;
    bool ok;
    pthread_t thread;
} rank;

static void *run_rank(void *arg)
{
    rank *r = arg;
    r->ok = pl_train_run(r->job, r->comm, note, r->log, NULL, &r->err);
    return NULL;
}

static bool run_ranks(const pl_train_job *j, int n, diary *l, pl_err *err)
{
    pl_comm *comm[MAX_RANKS];
    rank r[MAX_RANKS];
    bool ok = true;
    PL_TRY(pl_local_new(n, 60, comm, err));
    for (int i = 0; i < n; i++) {
        r[i] = (rank){ .job = j, .comm = comm[i], .log = l };
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        pl_comm_free(comm[i]);
        ok = ok && r[i].ok;
        if (!r[i].ok && !err->code) *err = r[i].err;
    }
    return ok;
}

static bool train(const pl_train_options *o, int n, diary *l, pl_err *err)
{
    pl_arena *a = pl_arena_new("test");
    pl_train_job *j;
    *l = (diary){ 0 };
    bool ok = pl_train_new(o, n, a, &j, err);
    if (ok) {
        ok = n > 1 ? run_ranks(j, n, l, err) : pl_train_run(j, NULL, note, l, NULL, err);
        pl_train_free(j);
    }
    pl_arena_free(a);
    return ok;
}

static void train_well(const pl_train_options *o, int n, diary *l)
{
    pl_err err = { 0 };
    if (!train(o, n, l, &err)) fail_msg("%s", err.msg);
}

static pl_train_options options(void)
{
    return (pl_train_options){
        .model = gpt2,
        .data = text,
        .train_share = 0.9,
        .steps = 12,
        .lr = 0.01,
        .lr_min = 0.001,
        .warmup = 2,
        .seed = 5,
        .keep = 9,
        .optim = { .name = "adamw",
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .eps = 1e-8,
                   .momentum = 0.9,
                   .decay = 0.1,
                   .clip = 1 },
        .exec = { .n_backends = sizeof backends / sizeof *backends,
                  .backends = backends,
                  .env = { .n_threads = 1 } },
    };
}

/* The losses of b are those of a from its step `skip_a` on. */
static inline void check_losses(const char *what, const diary *a, const diary *b, int skip_a, int n,
                         double tolerance)
{
    for (int i = 0; i < n; i++) {
        double x = a->loss[skip_a + i], y = b->loss[i];
        assert_int_equal(a->step[skip_a + i], b->step[i]);
        if (!(fabs(x - y) <= tolerance * fabs(x)))
            fail_msg("%s: step %d: loss %.9g, not %.9g", what, (int)b->step[i], y, x);
    }
}

static inline int make_text(void **state)
{
    static const char line[] = "the quick brown fox jumps over the lazy dog, again and again; ";
    (void)state;
    remove_folder("one"); /* of a test that has failed */
    remove_folder("many");
    FILE *f = fopen(text, "w");
    if (!f) return -1;
    for (int i = 0; i < 60; i++) fprintf(f, "%d %s\n", i * 7919 % 1000, line);
    return fclose(f);
}

static inline int clean_up(void **state)
{
    (void)state;
    unlink(text);
    return 0;
}

#endif
