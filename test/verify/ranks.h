/* test/verify/ranks.h - verify a strategy with the ranks as threads of the test. */
#ifndef PL_TEST_VERIFY_RANKS_H
#define PL_TEST_VERIFY_RANKS_H
#include "backends/local/local.h"
#include "backends/native/native.h"
#include "backends/ref/ref.h"
#include "backends/widen/widen.h"
#include "verify/verify.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_RANKS = 64 };

static const pl_backend *const backends[] = { &pl_backend_native, &pl_backend_widen,
                                              &pl_backend_ref };

static inline pl_verify_options verify_options(const char *model)
{
    return (pl_verify_options){
        .model = model,
        .steps = 3,
        .lr = 0.01,
        .seed = 7,
        .tolerance = 1e-5,
        .optim = { .name = "adamw",
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .eps = 1e-3,
                   .momentum = 0.9,
                   .decay = 0.1,
                   .clip = 1 },
        .exec = { .n_backends = sizeof backends / sizeof *backends,
                  .backends = backends,
                  .env = { .n_threads = 1 } },
    };
}

typedef struct verify_thread {
    const pl_verify_case *c;
    pl_comm *comm;
    pl_verify_found found;
    pl_err err;
    bool ok;
    pthread_t thread;
} verify_thread;

static inline void *verify_rank(void *arg)
{
    verify_thread *r = arg;
    r->ok = pl_verify_run(r->c, r->comm, &r->found, &r->err);
    return NULL;
}

static inline bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static inline void verify_ranks(const pl_verify_case *c, int n, pl_verify_found *f, pl_err *err)
{
    pl_comm *comm[MAX_RANKS] = { 0 };
    verify_thread r[MAX_RANKS];
    if (n > 1 && !pl_local_new(n, 60, comm, err)) fail_msg("%s", err->msg);
    for (int i = 0; i < n; i++) {
        r[i] = (verify_thread){ .c = c, .comm = comm[i] };
        assert_int_equal(pthread_create(&r[i].thread, NULL, verify_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        pl_comm_free(comm[i]);
        if (!r[i].ok) fail_msg("rank %d: %s", i, r[i].err.msg);
        assert_true(same_text(r[i].found.tensor, r[0].found.tensor));
        assert_true(same_text(r[i].found.copies, r[0].found.copies));
        assert_int_equal(r[i].found.bytes_counted, r[0].found.bytes_counted);
    }
    *f = r[0].found;
}

/* Runs a strategy on n ranks, as the command does. Findings and verdict; texts live as long as the
 * arena. */
static inline bool verify_strategy(pl_verify *v, const char *strategy, int n, pl_arena *a,
                                   pl_verify_found *f, pl_err *err)
{
    const pl_verify_case *c, *exact;
    pl_verify_found g;
    pl_strategy s;
    PL_TRY(pl_strategy_parse(strategy, n, a, &s, err));
    PL_TRY(pl_verify_split(v, &s, a, &c, err));
    verify_ranks(c, n, f, err);
    const bool doubts = pl_verify_doubts(c, f);
    if (doubts) {
        if (!pl_verify_measure(v, err) || !pl_verify_exact(c, a, &exact, err))
            fail_msg("%s", err->msg);
        verify_ranks(exact, n, &g, err);
    }
    return pl_verify_judge(c, f, doubts ? &g : NULL, err);
}

static inline bool verify(const pl_verify_options *o, const char *strategy, int n, pl_arena *a,
                          pl_verify_found *f, pl_err *err)
{
    pl_verify *v;
    *err = (pl_err){ 0 };
    PL_TRY(pl_verify_new(o, a, &v, err));
    const bool ok = verify_strategy(v, strategy, n, a, f, err);
    pl_verify_free(v);
    return ok;
}

#endif
