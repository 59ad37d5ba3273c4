/* The local transport: the shared cases on thread ranks, the order of sums, and every way to
 * fail. */
#include "backends/local/local.h"

#include "graph/reduce.h"
#include "comm_cases.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST = 8 };

typedef struct team {
    pl_comm *comm[MOST];
    pl_err err[MOST];
    bool ok[MOST];
    atomic_int finished; /* ranks whose act is over */
    char left[MOST][4];  /* a buffer of each rank that outlives its act */
    bool (*act)(struct team *t, pl_comm *c, pl_err *err);
} team;

typedef struct seat {
    team *team;
    int rank;
} seat;

static void *run_seat(void *p)
{
    seat *s = p;
    pl_comm *c = s->team->comm[s->rank];
    s->team->ok[s->rank] = s->team->act(s->team, c, &s->team->err[s->rank]);
    atomic_fetch_add(&s->team->finished, 1);
    pl_comm_free(c);
    return NULL;
}

/* Runs act on n thread ranks; their results stand in t. */
static void run_team(team *t, int n, double timeout, bool (*act)(team *, pl_comm *, pl_err *))
{
    pl_err err = { 0 };
    pthread_t thread[MOST];
    seat seats[MOST];
    memset(t, 0, sizeof *t);
    t->act = act;
    if (!pl_local_new(n, timeout, t->comm, &err)) fail_msg("%s", err.msg);
    for (int r = 0; r < n; r++) {
        seats[r] = (seat){ t, r };
        assert_int_equal(pthread_create(&thread[r], NULL, run_seat, &seats[r]), 0);
    }
    for (int r = 0; r < n; r++) pthread_join(thread[r], NULL);
}

static void check_all_ok(const team *t, int n)
{
    for (int r = 0; r < n; r++)
        if (!t->ok[r]) fail_msg("%d ranks, rank %d: %s", n, r, t->err[r].msg);
}

static void check_error(const team *t, int rank, pl_code code, const char *text)
{
    assert_false(t->ok[rank]);
    assert_string_equal(t->err[rank].msg, text);
    assert_int_equal(t->err[rank].code, code);
}

static bool act_cases(team *t, pl_comm *c, pl_err *err)
{
    (void)t;
    return cases_run(c, err);
}

static void test_cases(void **state)
{
    static const int sizes[] = { 1, 2, 3, 4, 8 };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        team t;
        run_team(&t, sizes[i], 60, act_cases);
        check_all_ok(&t, sizes[i]);
    }
}

enum { ORDER = 3001 };

static double drawn(int rank, int64_t i)
{
    return pl_rng_normal(pl_rng_at(11, (uint64_t)rank), (uint64_t)i);
}

/* ((x0 + x1) + x2) + ... in f32, rounded to the type at the end only. */
static bool act_order(team *t, pl_comm *c, pl_err *err)
{
    (void)t;
    static const pl_type types[] = { PL_F32, PL_BF16 };
    float send[ORDER], got[ORDER], want[ORDER];
    for (int k = 0; k < 2; k++) {
        pl_type type = types[k];
        memset(want, 0, sizeof want);
        for (int64_t i = 0; i < ORDER; i++) {
            float sum = 0;
            for (int r = 0; r < c->size; r++) {
                float x;
                pl_type_put(type, &x, 0, drawn(r, i));
                if (r == c->rank) pl_type_put(type, send, i, drawn(r, i));
                float v = (float)pl_type_get(type, &x, 0);
                sum = r ? sum + v : v;
            }
            pl_type_put(type, want, i, sum);
        }
        pl_message m = { .kind = PL_ALL_REDUCE,
                         .type = type,
                         .count = ORDER,
                         .send = send,
                         .recv = got,
                         .label = "order" };
        PL_TRY(pl_comm_run(c, c->world, &m, err));
        if (memcmp(got, want, (size_t)(ORDER * pl_type_bytes(type))))
            return pl_err_set(err, PL_EMISMATCH, "%s sum is not in rank order", pl_type_name(type));
    }
    return true;
}

static void test_order(void **state)
{
    (void)state;
    team t;
    run_team(&t, 5, 60, act_order);
    check_all_ok(&t, 5);
}

/* Every bf16, and f32 around the ties, as graph/type.h converts them. */
static void test_bf16(void **state)
{
    (void)state;
    pl_reduce_acc acc;
    for (uint32_t high = 0; high < 65536; high++) {
        uint16_t x = (uint16_t)high, y;
        pl_reduce_load(PL_BF16, &acc, &x, 1);
        float widened = pl_bf16_widen(x);
        assert_memory_equal(acc.f32, &widened, 4);
        for (uint32_t low = 0x7FFF; low <= 0x8001; low++) {
            uint32_t bits = high << 16 | low;
            memcpy(acc.f32, &bits, 4);
            pl_reduce_store(PL_BF16, &y, &acc, 1);
            assert_int_equal(y, pl_bf16_round(acc.f32[0]));
        }
    }
}

static void test_nan(void **state)
{
    (void)state;
    static const pl_monoid ops[] = { PL_MAX, PL_MIN };
    const float with[3] = { NAN, 1, NAN }, other[3] = { 2, NAN, NAN };
    for (int k = 0; k < 2; k++) {
        pl_reduce_acc acc;
        pl_reduce_load(PL_F32, &acc, with, 3);
        pl_reduce_fold(PL_F32, ops[k], &acc, other, 3);
        for (int i = 0; i < 3; i++) assert_true(isnan(acc.f32[i]));
    }
}

static void check_fold_into(pl_type t, pl_monoid op, int64_t n)
{
    static int64_t to[3000], from[3000], before[3000]; /* room for any type */
    memset(to, 0x55, sizeof to);
    for (int64_t i = 0; i < n; i++) {
        pl_type_put(t, to, i, (double)(i % 7));
        pl_type_put(t, from, i, (double)(i % 5));
    }
    pl_reduce_into(t, op, to, from, n);
    for (int64_t i = 0; i < n; i++)
        assert_true(pl_type_get(t, to, i) == combine(op, (double)(i % 7), (double)(i % 5)));
    assert_int_equal(((char *)to)[n * pl_type_bytes(t)], 0x55);
    pl_type_fill(t, op, from, n);
    memcpy(before, to, sizeof to);
    pl_reduce_into(t, op, to, from, n);
    assert_memory_equal(before, to, sizeof to);
}

/* Of any length and type: no element behind the last, and nothing changes with nothing. */
static void test_fold_into(void **state)
{
    static const int64_t counts[] = { 0, 1, PL_REDUCE_BLOCK, 2 * PL_REDUCE_BLOCK + 3 };
    (void)state;
    for (int t = 0; t < PL_N_TYPES; t++)
        for (int op = PL_SUM; op < PL_N_MONOIDS; op++)
            for (int k = 0; k < 4; k++) check_fold_into((pl_type)t, (pl_monoid)op, counts[k]);
    int64_t big = ((int64_t)1 << 53) + 1, two = 2; /* not exact in a double */
    pl_reduce_into(PL_I64, PL_SUM, &big, &two, 1);
    assert_true(big == ((int64_t)1 << 53) + 3);
}

static pl_collective late_in; /* the collective that rank 2 stays away from */

/* Rank 2 stays away until the others have failed, then gets the same words at once. */
static bool act_late(team *t, pl_comm *c, pl_err *err)
{
    float send[32] = { 0 }, recv[32];
    pl_message m = {
        .kind = late_in, .type = PL_F32, .count = 8, .send = send, .recv = recv, .label = "h0.w"
    };
    if (c->rank == 2)
        while (atomic_load(&t->finished) < 3) sched_yield();
    return pl_comm_run(c, c->world, &m, err);
}

static void test_timeout(void **state)
{
    static const pl_collective kinds[] = { PL_ALL_REDUCE, PL_ALL_GATHER, PL_REDUCE_SCATTER,
                                           PL_ALL_TO_ALL, PL_BROADCAST,  PL_BARRIER };
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        team t;
        char text[256];
        const char *data = kinds[i] == PL_BARRIER ? "" : "8 f32, ";
        late_in = kinds[i];
        snprintf(text, sizeof text,
                 "%s of 'h0.w' (%s4 ranks): no answer from rank 2 within 0.8 s (ranks 0, 1, 3 "
                 "arrived)",
                 pl_collective_name(late_in), data);
        run_team(&t, 4, 0.8, act_late);
        for (int r = 0; r < 4; r++) check_error(&t, r, PL_ERUN, text);
    }
}

/* Nobody sends. */
static bool act_receive(team *t, pl_comm *c, pl_err *err)
{
    float x[2];
    pl_message m = {
        .kind = PL_RECV, .type = PL_F32, .count = 2, .peer = 2, .recv = x, .label = "x"
    };
    if (c->rank == 0) return pl_comm_run(c, c->world, &m, err);
    while (c->rank == 2 && atomic_load(&t->finished) < 2) sched_yield();
    return c->rank == 1 || c->ops->poll(c, err);
}

static void test_timeout_receive(void **state)
{
    (void)state;
    team t;
    run_team(&t, 3, 0.3, act_receive);
    const char *text = "receive of 'x' (2 f32, from rank 2): no answer from rank 2 within 0.3 s "
                       "(rank 0 arrived)";
    check_error(&t, 0, PL_ERUN, text);
    check_error(&t, 2, PL_ERUN, text);
    assert_true(t.ok[1]);
}

/* Rank 1 arrives, then goes away without testing: the others cannot finish. */
static bool act_leave(team *t, pl_comm *c, pl_err *err)
{
    int64_t x[4] = { 0 };
    pl_message m = {
        .kind = PL_ALL_REDUCE, .type = PL_I64, .count = 4, .send = x, .recv = x, .label = "y"
    };
    pl_request *r;
    if (c->rank != 1) return pl_comm_run(c, c->world, &m, err);
    PL_TRY(pl_comm_start(c, c->world, &m, &r, err));
    while (atomic_load(&t->finished) < 1) sched_yield();
    return c->ops->poll(c, err);
}

static void test_timeout_halfway(void **state)
{
    (void)state;
    team t;
    run_team(&t, 2, 0.3, act_leave);
    for (int r = 0; r < 2; r++)
        check_error(&t, r, PL_ERUN,
                    "all-reduce of 'y' (4 i64, 2 ranks): no answer from rank 1 within 0.3 s "
                    "(rank 0 answered)");
}

static bool act_free(team *t, pl_comm *c, pl_err *err)
{
    char *x = t->left[c->rank];
    pl_message m = { .kind = PL_BROADCAST,
                     .type = PL_U8,
                     .count = 4,
                     .peer = 1,
                     .send = x,
                     .recv = x,
                     .label = "b" };
    pl_request *r;
    if (c->rank != 1) return pl_comm_run(c, c->world, &m, err);
    return pl_comm_start(c, c->world, &m, &r, err); /* and is freed with it open */
}

static void test_left(void **state)
{
    (void)state;
    team t;
    run_team(&t, 3, 60, act_free);
    assert_true(t.ok[1]);
    for (int r = 0; r < 3; r += 2)
        check_error(
            &t, r, PL_ERUN,
            "broadcast of 'b' (4 u8, 3 ranks): rank 1 left in the middle of broadcast of 'b' "
            "(4 u8, 3 ranks)");
}

static bool act_abort(team *t, pl_comm *c, pl_err *err)
{
    (void)t;
    pl_message m = { .kind = PL_BARRIER };
    if (c->rank != 1) return pl_comm_run(c, c->world, &m, err);
    c->ops->abort(c, 7);
    return true;
}

static void test_abort(void **state)
{
    (void)state;
    team t;
    run_team(&t, 4, 60, act_abort);
    for (int r = 0; r < 4; r++)
        if (r != 1) check_error(&t, r, PL_ERUN, "barrier (4 ranks): rank 1 gave up (exit code 7)");
}

static int race_tests; /* rank 1 tests that often, then gives up */

/* A rank gives up in the middle of a message, and every rank frees its buffers as soon as it is
 * told: nobody may be reading them (the sanitizers see it). */
static bool act_race(team *t, pl_comm *c, pl_err *err)
{
    enum { COUNT = 200000 };
    (void)t;
    size_t bytes = COUNT * sizeof(float);
    float *send = malloc(bytes), *recv = malloc(bytes);
    assert_true(send && recv);
    memset(send, 0, bytes);
    pl_message m = { .kind = PL_ALL_REDUCE,
                     .type = PL_F32,
                     .count = COUNT,
                     .send = send,
                     .recv = recv,
                     .label = "race" };
    pl_request *r;
    bool done = false, ok = pl_comm_start(c, c->world, &m, &r, err);
    for (int k = 0; ok && !done && (c->rank != 1 || k < race_tests); k++)
        ok = pl_comm_test(c, r, &done, err);
    if (c->rank == 1 && !done) c->ops->abort(c, 7);
    free(send);
    free(recv);
    return ok;
}

static void test_race(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        team t;
        race_tests = round % 7;
        run_team(&t, 3, 60, act_race);
        for (int r = 0; r < 3; r += 2)
            if (!t.ok[r] &&
                strcmp(t.err[r].msg, "all-reduce of 'race' (200000 f32, 3 ranks): rank 1 "
                                     "gave up (exit code 7)"))
                fail_msg("%s", t.err[r].msg);
    }
}

/* Per row: what rank 0 and rank 1 start, and the words. The label is 'y' on rank 0, 'x' on rank
 * 1. */
/* clang-format off */
static const struct {
    pl_message m[2];
    const char *text;
} clashes[] = {
    { { { .kind = PL_ALL_REDUCE, .count = 8 }, { .kind = PL_ALL_GATHER, .count = 4 } },
      "rank 1 started all-gather of 'x' (4 f32) where rank 0 started all-reduce of 'y' (8 f32)" },
    { { { .kind = PL_ALL_REDUCE, .count = 8 }, { .kind = PL_ALL_REDUCE, .count = 7 } },
      "rank 1 started all-reduce of 'x' (7 f32) where rank 0 started all-reduce of 'y' (8 f32)" },
    { { { .kind = PL_ALL_REDUCE, .count = 8 },
        { .kind = PL_ALL_REDUCE, .type = PL_I32, .count = 8 } },
      "rank 1 started all-reduce of 'x' (8 i32) where rank 0 started all-reduce of 'y' (8 f32)" },
    { { { .kind = PL_ALL_REDUCE, .count = 8 },
        { .kind = PL_ALL_REDUCE, .monoid = PL_MAX, .count = 8 } },
      "rank 1 started all-reduce of 'x' (8 f32, max) where rank 0 started all-reduce of 'y' "
      "(8 f32)" },
    { { { .kind = PL_BROADCAST, .count = 8 }, { .kind = PL_BROADCAST, .count = 8, .peer = 1 } },
      "rank 1 started broadcast of 'x' (8 f32, root 1) where rank 0 started broadcast of 'y' "
      "(8 f32, root 0)" },
    { { { .kind = PL_SEND, .count = 8, .peer = 1 }, { .kind = PL_RECV, .count = 6 } },
      "rank 1 started receive of 'x' (6 f32) where rank 0 started send of 'y' (8 f32)" },
    { { { .kind = PL_BARRIER }, { .kind = PL_ALL_GATHER, .count = 4 } },
      "rank 1 started all-gather of 'x' (4 f32) where rank 0 started barrier of 'y'" },
};

/* clang-format on */

static size_t clash;

static bool act_clash(team *t, pl_comm *c, pl_err *err)
{
    (void)t;
    float send[8] = { 0 }, recv[8];
    pl_message m = clashes[clash].m[c->rank];
    m.label = c->rank ? "x" : "y";
    m.send = send;
    m.recv = recv;
    return pl_comm_run(c, c->world, &m, err);
}

static void test_clashes(void **state)
{
    (void)state;
    for (clash = 0; clash < sizeof clashes / sizeof *clashes; clash++) {
        team t;
        run_team(&t, 2, 60, act_clash);
        for (int r = 0; r < 2; r++) check_error(&t, r, PL_EINTERNAL, clashes[clash].text);
    }
}

/* Long, as it is a table. */
static void test_arguments(void **state)
{
    (void)state;
    static float x[64];
    static const struct {
        pl_message m;
        const char *text;
    } bad[] = {
        { { .kind = PL_N_COLLECTIVES }, "message of kind 15 and type 0" },
        { { .kind = PL_HALO }, "message of kind 7 and type 0" },
        { { .kind = PL_ALL_REDUCE, .type = PL_N_TYPES }, "message of kind 3 and type 6" },
        { { .kind = PL_ALL_REDUCE, .count = -1, .label = "a" },
          "all-reduce of 'a' (-1 f32, 2 ranks): -1 elements" },
        { { .kind = PL_ALL_REDUCE, .count = INT64_MAX / 8, .send = x, .recv = x, .label = "a" },
          "all-reduce of 'a' (1152921504606846975 f32, 2 ranks): 1152921504606846975 elements" },
        { { .kind = PL_ALL_REDUCE, .monoid = PL_N_MONOIDS, .label = "a" },
          "all-reduce of 'a' (0 f32, 2 ranks): monoid 3 does not exist" },
        { { .kind = PL_ALL_REDUCE, .count = 1, .recv = x },
          "all-reduce (1 f32, 2 ranks): no send buffer (4 bytes)" },
        { { .kind = PL_ALL_GATHER, .count = 2, .send = x },
          "all-gather (2 f32, 2 ranks): no receive buffer (16 bytes)" },
        { { .kind = PL_ALL_REDUCE, .count = 4, .send = x, .recv = x + 3 },
          "all-reduce (4 f32, 2 ranks): the send buffer (16 bytes) and the receive buffer "
          "(16 bytes) overlap" },
        { { .kind = PL_ALL_TO_ALL, .count = 4, .send = x, .recv = x },
          "all-to-all (4 f32, 2 ranks): the send buffer (32 bytes) and the receive buffer "
          "(32 bytes) overlap" },
        { { .kind = PL_SEND, .peer = 2, .label = "a" }, "send of 'a': peer 2 of a group of 2" },
        { { .kind = PL_BROADCAST, .peer = -1, .label = "a" },
          "broadcast of 'a': peer -1 of a group of 2" },
    };
    pl_comm *c[2];
    pl_err err = { 0 };
    pl_request *r;
    assert_true(pl_local_new(2, 1, c, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (pl_err){ 0 };
        assert_false(pl_comm_start(c[0], c[0]->world, &bad[i].m, &r, &err));
        assert_string_equal(err.msg, bad[i].text);
        assert_int_equal(err.code, PL_EINTERNAL);
    }
    static const struct {
        int n, ranks[3];
    } groups[] = { { 0, { 0 } }, { 3, { 0, 1, 2 } }, { 2, { 1, 0 } }, { 2, { 0, 0 } },
                   { 1, { 1 } }, { 2, { 0, 2 } },    { 1, { -1 } } };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        pl_group *g;
        err = (pl_err){ 0 };
        assert_false(pl_comm_group(c[0], groups[i].n, groups[i].ranks, &g, &err));
        assert_int_equal(err.code, PL_EINTERNAL);
    }
    for (int k = 0; k < PL_N_COLLECTIVES; k++) assert_int_equal(c[0]->count.calls[k], 0);
    pl_comm_free(c[0]);
    pl_comm_free(c[1]);
    err = (pl_err){ 0 };
    assert_false(pl_local_new(0, 1, c, &err));
    assert_int_equal(err.code, PL_EUSAGE);
    err = (pl_err){ 0 };
    assert_false(pl_local_new(2, 0, c, &err));
    assert_int_equal(err.code, PL_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_fold_into),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_timeout_receive),
        cmocka_unit_test(test_timeout_halfway),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_clashes),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
