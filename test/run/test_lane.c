/* The communication lane over a transport made for it: its messages need calls of test to get on,
 * and say when they were started and finished. */
#include "backends/host/host.h"
#include "base/clock.h"
#include "run/lane.h"
#include "run/request.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MESSAGES = 20, OTHERS = 4 };

typedef struct fake_request {
    pl_request head;
    int tests_left;
    bool held; /* cannot finish before release(m) */
    atomic_bool started, finished;
} fake_request;

typedef struct fake {
    pl_comm head;
    pl_group world;
    int rank0;
    fake_request request[MESSAGES + OTHERS]; /* by message; the last ones are those of agree */
    const pl_lane_message *messages;
    atomic_int tests, polls, opened, open, most_open;
    int started[MESSAGES];     /* in order */
    int computed_at[MESSAGES]; /* what the test had advanced to when the message was started */
    atomic_int computed;
    int fail_test, fail_poll; /* the test of this message fails; the poll after so many; -1: none */
    int release_at;           /* held messages may finish when so many are open; 0: never */
} fake;

static bool start_fake(pl_comm *c, pl_group *g, const pl_message *m, pl_request **out, pl_err *err)
{
    fake *f = (fake *)c;
    (void)err;
    int k = m->kind == PL_BARRIER ? m->peer : MESSAGES; /* barriers stand for any message */
    fake_request *r = &f->request[k];
    r->head = (pl_request){ .m = *m, .group = g };
    if (k < MESSAGES) {
        f->computed_at[k] = atomic_load(&f->computed);
        f->started[atomic_fetch_add(&f->opened, 1)] = k;
        int open = atomic_fetch_add(&f->open, 1) + 1;
        if (open > atomic_load(&f->most_open)) atomic_store(&f->most_open, open);
        if (open == f->release_at)
            for (int i = 0; i < MESSAGES; i++) f->request[i].held = false;
    } else if (m->send != m->recv)
        memcpy(m->recv, m->send, (size_t)(m->count * pl_type_bytes(m->type)));
    atomic_store(&r->started, true);
    *out = &r->head;
    return true;
}

static bool test_fake(pl_comm *c, pl_request *q, bool *done, pl_err *err)
{
    fake *f = (fake *)c;
    fake_request *r = (fake_request *)q;
    int k = (int)(r - f->request);
    atomic_fetch_add(&f->tests, 1);
    *done = false;
    if (k == f->fail_test) return pl_err_set(err, PL_ERUN, "message %d was torn", k);
    if (r->tests_left-- > 0 || r->held) return true;
    *done = true;
    if (k < MESSAGES) {
        atomic_fetch_sub(&f->open, 1);
        atomic_store(&r->finished, true);
    }
    return true;
}

static bool poll_fake(pl_comm *c, pl_err *err)
{
    fake *f = (fake *)c;
    int n = atomic_fetch_add(&f->polls, 1);
    return f->fail_poll < 0 || n < f->fail_poll || pl_err_set(err, PL_ERUN, "a peer gave up");
}

static const pl_comm_ops ops = {
    .name = "fake", .start = start_fake, .test = test_fake, .poll = poll_fake
};

typedef struct bench {
    fake f;
    pl_arena *arena;
    pl_lane *lane;
    pl_lane_message message[MESSAGES];
    pl_err err;
} bench;

static void set_up(bench *b)
{
    *b = (bench){ .arena = pl_arena_new("test lane") };
    b->f.head = (pl_comm){ .ops = &ops, .size = 1, .timeout_seconds = 60, .world = &b->f.world };
    b->f.world = (pl_group){ .n = 1, .rank = &b->f.rank0 };
    b->f.fail_test = b->f.fail_poll = -1;
    for (int i = 0; i < MESSAGES; i++)
        b->message[i] = (pl_lane_message){
            .message = { .kind = PL_BARRIER, .peer = i, .label = "x" },
            .group = &b->f.world,
        };
}

static void start_lane(bench *b)
{
    pl_stream *s;
    assert_true(pl_device_cpu.stream_new(0, &s, &b->err));
    assert_true(pl_lane_new(&b->f.head, s, &(pl_lane_options){ .most = MESSAGES }, b->arena,
                            &b->lane, &b->err));
}

static void tear_down(bench *b)
{
    pl_lane_free(b->lane);
    pl_arena_free(b->arena);
}

/* Until the lane has looked for work so many times more; it polls when nothing is open. */
static void let_poll(bench *b, int times)
{
    int to = atomic_load(&b->f.polls) + times;
    while (atomic_load(&b->f.polls) < to) sched_yield();
}

static void advance(bench *b, int computed)
{
    atomic_store(&b->f.computed, computed);
    pl_lane_advance(b->lane, computed);
}

static void test_starts_after_compute(void **state)
{
    static const int after[] = { 0, 2, 2, 5 }, allowed[] = { 1, 1, 3, 3, 3, 4 };
    bench b;
    (void)state;
    set_up(&b);
    for (int i = 0; i < 4; i++) b.message[i].after = after[i];
    start_lane(&b);
    pl_lane_begin(b.lane, 4, b.message);
    for (int step = 0; step <= 5; step++) {
        if (step) advance(&b, step);
        assert_true(pl_lane_wait(b.lane, allowed[step], &b.err));
        let_poll(&b, 20);
        assert_int_equal(atomic_load(&b.f.opened), allowed[step]);
    }
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b.f.started[i], i);
        assert_true(b.f.computed_at[i] >= after[i]);
    }
    tear_down(&b);
}

/* The second of two is finished first; waiting for one message is waiting for the first. */
static void test_waits_in_order(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    b.f.request[0].tests_left = 200;
    start_lane(&b);
    pl_lane_begin(b.lane, 3, b.message);
    assert_true(pl_lane_wait(b.lane, 1, &b.err));
    assert_true(atomic_load(&b.f.request[0].finished));
    assert_true(atomic_load(&b.f.request[1].finished));
    assert_true(pl_lane_wait(b.lane, 3, &b.err));
    assert_true(pl_lane_wait(b.lane, 2, &b.err)); /* long done: returns at once */
    for (int i = 0; i < 3; i++) assert_true(atomic_load(&b.f.request[i].finished));
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    tear_down(&b);
}

/* No message can finish before eight are under way: a lane that did not let them overlap would
 * stand still (and the time limit of tests end it). More than eight are never open. */
static void test_messages_overlap(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    for (int i = 0; i < MESSAGES; i++) b.f.request[i].held = true;
    b.f.release_at = 8;
    start_lane(&b);
    pl_lane_begin(b.lane, MESSAGES, b.message);
    assert_true(pl_lane_wait(b.lane, MESSAGES, &b.err));
    assert_int_equal(atomic_load(&b.f.most_open), 8);
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    tear_down(&b);
}

/* All messages get through 2000 calls of test each while this thread calls nothing of the lane. */
static void test_progress_while_busy(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    for (int i = 0; i < 4; i++) b.f.request[i].tests_left = 2000;
    start_lane(&b);
    pl_lane_begin(b.lane, 4, b.message);
    volatile uint64_t work = 0;
    while (!atomic_load(&b.f.request[3].finished)) work += work * 31 + 7;
    assert_true(atomic_load(&b.f.tests) >= 8000);
    assert_true(pl_lane_wait(b.lane, 4, &b.err));
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    assert_true(pl_lane_busy(b.lane) > 0);
    tear_down(&b);
}

/* Times of messages that overlap are their own: the second begins before the first has ended. */
static void test_times(void **state)
{
    double begin[2] = { 0 }, end[2] = { 0 };
    bench b;
    (void)state;
    set_up(&b);
    b.f.request[0].held = b.f.request[1].held = true;
    b.f.release_at = 2;
    for (int i = 0; i < 2; i++) b.message[i].begin = &begin[i], b.message[i].end = &end[i];
    start_lane(&b);
    double from = pl_clock_now();
    pl_lane_begin(b.lane, 3, b.message);
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    assert_true(from <= begin[0] && begin[0] <= begin[1]);
    assert_true(begin[1] <= end[0] && begin[1] <= end[1]);
    assert_true(end[0] <= pl_clock_now() && end[1] <= pl_clock_now());
    tear_down(&b);
}

static void test_steps_follow_steps(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    start_lane(&b);
    for (int step = 0; step < 50; step++) {
        for (int i = 0; i < MESSAGES; i++) {
            b.f.request[i].tests_left = (step + i) % 3;
            b.message[i].after = i / 4;
        }
        atomic_store(&b.f.opened, 0);
        pl_lane_begin(b.lane, MESSAGES, b.message);
        for (int k = 1; k <= MESSAGES / 4; k++) advance(&b, k);
        assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
        assert_int_equal(atomic_load(&b.f.opened), MESSAGES);
        assert_int_equal(atomic_load(&b.f.open), 0);
    }
    tear_down(&b);
}

static void test_agrees_on_errors(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    start_lane(&b);
    pl_err_set(&b.err, PL_EINPUT, "no such tensor");
    assert_false(pl_lane_agree(b.lane, &(int){ 0 }, &b.err));
    assert_int_equal(b.err.code, PL_EINPUT);
    assert_string_equal(b.err.msg, "rank 0: no such tensor");
    b.err = (pl_err){ 0 };
    assert_true(pl_lane_agree(b.lane, &(int){ 0 }, &b.err)); /* the lane goes on */
    tear_down(&b);
}

/* Whatever is called after a failure returns, with that failure. */
static void check_is_over(bench *b, const char *why)
{
    for (int i = 0; i < 2; i++) {
        b->err = (pl_err){ 0 };
        assert_false(pl_lane_agree(b->lane, &(int){ 0 }, &b->err));
        assert_string_equal(b->err.msg, why);
        b->err = (pl_err){ 0 };
        pl_lane_begin(b->lane, 1, b->message);
        assert_false(pl_lane_wait(b->lane, 1, &b->err));
        assert_string_equal(b->err.msg, why);
        assert_int_equal(b->err.code, PL_ERUN);
    }
}

static void test_failed_message(void **state)
{
    bench b;
    (void)state;
    set_up(&b);
    b.f.fail_test = 2;
    b.f.request[2].tests_left = 100;
    start_lane(&b);
    pl_lane_begin(b.lane, 4, b.message);
    assert_true(pl_lane_wait(b.lane, 2, &b.err));
    assert_false(pl_lane_wait(b.lane, 3, &b.err));
    assert_string_equal(b.err.msg, "message 2 was torn");
    check_is_over(&b, "message 2 was torn");
    tear_down(&b);
}

/* A peer gives up while nothing is open here: at every moment that the compute thread may come
 * along. */
static void test_failed_peer(void **state)
{
    (void)state;
    for (int at = 0; at < 20; at++) {
        bench b;
        set_up(&b);
        b.f.fail_poll = at;
        start_lane(&b);
        while (pl_lane_agree(b.lane, &(int){ 0 }, &b.err)) sched_yield();
        assert_string_equal(b.err.msg, "a peer gave up");
        check_is_over(&b, "a peer gave up");
        tear_down(&b);
    }
}

/* -- copies to and from the host --------------------------------------------------------------- */

enum { WORDS = 1 << 12 };

typedef struct copies {
    pl_arena *arena;
    pl_lane *lane;
    float device[WORDS], host[WORDS], back[WORDS];
    double begin[2], end[2];
    pl_lane_message message[2]; /* there, and back */
    pl_err err;
} copies;

/* No ranks: only the lanes to and from the host. */
static copies *open_copies(double rate)
{
    copies *c = test_calloc(1, sizeof *c);
    pl_stream *s;
    c->arena = pl_arena_new("test copies");
    for (int i = 0; i < WORDS; i++) c->device[i] = (float)i, c->host[i] = c->back[i] = -1;
    c->message[0].message = (pl_message){ .kind = PL_TO_HOST, .send = c->device, .recv = c->host };
    c->message[1].message = (pl_message){ .kind = PL_FROM_HOST, .send = c->host, .recv = c->back };
    for (int i = 0; i < 2; i++) {
        pl_lane_message *m = &c->message[i];
        m->message.type = PL_F32, m->message.count = WORDS, m->message.label = "x";
        m->begin = &c->begin[i], m->end = &c->end[i];
        m->lane = i ? PL_LANE_IN : PL_LANE_OUT;
    }
    assert_true(pl_device_cpu.stream_new(0, &s, &c->err));
    const pl_lane_options o = { .most = 2, .host = true, .host_rate = rate };
    assert_true(pl_lane_new(NULL, s, &o, c->arena, &c->lane, &c->err));
    return c;
}

static void close_copies(copies *c)
{
    pl_lane_free(c->lane);
    pl_arena_free(c->arena);
    test_free(c);
}

/* What one lane waits for may be on the other; steps follow each other. */
static void test_copies(void **state)
{
    copies *c = open_copies(0);
    (void)state;
    c->message[0].after = 1;
    c->message[1].wait = 1;
    for (int step = 0; step < 3; step++) {
        pl_lane_begin(c->lane, 2, c->message);
        c->device[7] = (float)step;
        pl_lane_advance(c->lane, 1);
        assert_true(pl_lane_wait(c->lane, 2, &c->err));
        assert_memory_equal(c->back, c->device, sizeof c->back);
        assert_true(c->begin[1] >= c->end[0]);
        assert_true(pl_lane_agree(c->lane, &(int){ 0 }, &c->err));
        assert_int_equal(pl_lane_copied(c->lane), 2 * (step + 1) * (int)sizeof c->back);
    }
    close_copies(c);
}

/* Each way keeps to the rate, and they pass side by side. */
static void test_rate(void **state)
{
    const double seconds = 0.05;
    copies *c = open_copies(sizeof(float) * WORDS / seconds);
    (void)state;
    pl_lane_begin(c->lane, 2, c->message);
    assert_true(pl_lane_agree(c->lane, &(int){ 0 }, &c->err));
    for (int i = 0; i < 2; i++) assert_true(c->end[i] - c->begin[i] >= seconds);
    assert_true(fmax(c->end[0], c->end[1]) - fmin(c->begin[0], c->begin[1]) < 2 * seconds);
    close_copies(c);
}

/* A device whose copies go wrong. */
static bool broken_sync(pl_stream *s, pl_err *err)
{
    (void)s;
    return pl_err_set(err, PL_ERUN, "the link is down");
}

static pl_device broken;
static pl_stream broken_stream = { &broken };

static bool open_broken(int rank, pl_stream **out, pl_err *err)
{
    (void)rank, (void)err;
    *out = &broken_stream;
    return true;
}

static void test_failed_copy(void **state)
{
    copies *c = open_copies(0);
    pl_lane *lane;
    const pl_lane_options o = { .most = 2, .host = true };
    (void)state;
    broken = pl_device_cpu;
    broken.sync = broken_sync, broken.stream_new = open_broken;
    assert_true(pl_lane_new(NULL, &broken_stream, &o, c->arena, &lane, &c->err));
    pl_lane_begin(lane, 2, c->message);
    assert_false(pl_lane_wait(lane, 2, &c->err));
    assert_int_equal(c->err.code, PL_ERUN);
    assert_non_null(strstr(c->err.msg, "of 'x': the link is down"));
    assert_false(pl_lane_agree(lane, &(int){ 0 }, &c->err));
    pl_lane_free(lane);
    close_copies(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_failed_copy),
        cmocka_unit_test(test_starts_after_compute),
        cmocka_unit_test(test_waits_in_order),
        cmocka_unit_test(test_messages_overlap),
        cmocka_unit_test(test_progress_while_busy),
        cmocka_unit_test(test_steps_follow_steps),
        cmocka_unit_test(test_agrees_on_errors),
        cmocka_unit_test(test_failed_message),
        cmocka_unit_test(test_failed_peer),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
