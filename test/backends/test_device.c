/* Every operation of every device: the cpu's against plain loops, those of null against memory that
 * stays as it was; events in order. */
#include "backends/host/host.h"
#include "base/rng.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3001, BYTES = 8 * N };

static const pl_device *const devices[] = { &pl_device_cpu, &pl_device_null };

static bool keeps(const pl_device *d)
{
    return d == &pl_device_cpu;
}

/* A block of a device, whose first half is `was`, and what it should become. */
typedef struct bench {
    const pl_device *device;
    pl_stream *stream;
    char *block;
    char was[BYTES], want[BYTES];
} bench;

static void set_up(bench *b, const pl_device *d)
{
    pl_err err = { 0 };
    *b = (bench){ .device = d };
    assert_true(d->stream_new(0, &b->stream, &err));
    assert_ptr_equal(b->stream->device, d);
    assert_true(d->alloc(2 * BYTES, &b->block, &err));
}

/* Small whole numbers of the type, whose sums are numbers of it too; in both halves. */
static void put_numbers(bench *b, pl_type t)
{
    pl_rng r = pl_rng_at(3, (uint64_t)t);
    for (int i = 0; i < N; i++) {
        double lo = t == PL_U8 ? 0 : -50;
        pl_type_put(t, b->block, i, lo + (double)pl_rng_below(r, (uint64_t)i, 100));
        pl_type_put(t, b->block + BYTES, i, lo + (double)pl_rng_below(r, (uint64_t)(N + i), 100));
    }
    memcpy(b->was, b->block, BYTES);
    memcpy(b->want, b->block, BYTES);
}

static void check(bench *b, const char *what)
{
    pl_err err = { 0 };
    assert_true(b->device->sync(b->stream, &err));
    if (memcmp(b->block, keeps(b->device) ? b->want : b->was, BYTES))
        fail_msg("%s of %s", what, b->device->name);
}

static void tear_down(bench *b)
{
    b->device->free(b->block, 2 * BYTES);
    b->device->free(NULL, 0);
    b->device->stream_free(b->stream);
}

/* -- memory ------------------------------------------------------------------------------------ */

static void test_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        uint64_t pool = 1, same = 2;
        bench b;
        set_up(&b, devices[i]);
        assert_int_equal((uintptr_t)b.block % 4096, 0);
        for (int k = 0; k < 2 * BYTES; k++) assert_int_equal(b.block[k], 0);
        assert_true(devices[i]->memory(&pool) > 1 << 20);
        assert_int_equal(devices[i]->memory(&pool), devices[i]->memory(&same));
        assert_int_equal(pool, same);
        tear_down(&b);
    }
}

static void test_map(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const pl_device *d = devices[i];
        bench b;
        set_up(&b, d);
        char *to = d->map(b.stream, b.block + 64, 100, PL_WRITE);
        assert_int_equal(to != NULL, keeps(d));
        if (to) memset(to, 7, 100), memset(b.want + 64, 7, 100);
        if (to) d->unmap(b.stream, b.block + 64, 100, PL_WRITE, to);
        check(&b, "map to write");
        char *from = d->map(b.stream, b.block, BYTES, PL_READ);
        assert_memory_equal(from, b.want, BYTES);
        d->unmap(b.stream, b.block, BYTES, PL_READ, from);
        check(&b, "map to read");
        tear_down(&b);
    }
}

/* -- work -------------------------------------------------------------------------------------- */

static void test_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        bench b;
        set_up(&b, devices[i]);
        put_numbers(&b, PL_I32);
        for (int k = 5; k < 5 + 999; k++) b.want[k] = (char)0xA5;
        b.device->set(b.stream, b.block + 5, 0xA5, 999);
        check(&b, "set");
        tear_down(&b);
    }
}

/* Blocks of 3 bytes, by three loops of which one turns back the order of the others. */
static void test_copy(void **state)
{
    const pl_copy c = { .n = 3,
                        .count = { 5, 7, 4 },
                        .from = { 3, 15, 210 },
                        .to = { 140, 20, 4 },
                        .from_at = 11,
                        .to_at = 2,
                        .bytes = 3 };
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        bench b;
        set_up(&b, devices[i]);
        put_numbers(&b, PL_U8);
        for (int x = 0; x < 5; x++)
            for (int y = 0; y < 7; y++)
                for (int z = 0; z < 4; z++)
                    for (int k = 0; k < 3; k++)
                        b.want[2 + 140 * x + 20 * y + 4 * z + k] =
                            b.block[BYTES + 11 + 3 * x + 15 * y + 210 * z + k];
        b.device->copy(b.stream, &c, b.block + BYTES, b.block);
        check(&b, "copy");
        tear_down(&b);
    }
}

static double combined(pl_monoid m, double x, double y)
{
    return m == PL_SUM ? x + y : (m == PL_MAX) == (x > y) ? x : y;
}

/* In every type: combined with the other half, and then filled with what changes nothing. */
static void test_fold_and_fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        for (int t = 0; t < PL_N_TYPES; t++)
            for (int m = 0; m < PL_N_MONOIDS; m++) {
                bench b;
                set_up(&b, devices[i]);
                put_numbers(&b, (pl_type)t);
                for (int k = 0; k < N; k++) {
                    double x = pl_type_get((pl_type)t, b.block, k);
                    double y = pl_type_get((pl_type)t, b.block + BYTES, k);
                    pl_type_put((pl_type)t, b.want, k, combined((pl_monoid)m, x, y));
                }
                b.device->fold(b.stream, (pl_type)t, (pl_monoid)m, b.block, b.block + BYTES, N);
                check(&b, "fold");
                b.device->fill(b.stream, (pl_type)t, (pl_monoid)m, b.block + BYTES, N);
                b.device->fold(b.stream, (pl_type)t, (pl_monoid)m, b.block, b.block + BYTES, N);
                check(&b, "fill");
                tear_down(&b);
            }
}

/* -- events ------------------------------------------------------------------------------------ */

typedef struct waiter {
    const pl_device *device;
    pl_event *event;
    atomic_int *written;
    int seen;
} waiter;

static void *ask_for_two(void *arg)
{
    waiter *w = arg;
    while (w->device->query(w->event) < 2) sched_yield();
    w->seen = atomic_load(w->written);
    return NULL;
}

/* Who finds an event there sees all that stood before the record. */
static void test_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const pl_device *d = devices[i];
        atomic_int written = 0;
        waiter w = { .device = d, .written = &written };
        pthread_t thread;
        pl_err err = { 0 };
        bench b;
        set_up(&b, d);
        assert_true(d->event_new(&w.event, &err));
        assert_int_equal(d->query(w.event), 0);
        assert_int_equal(pthread_create(&thread, NULL, ask_for_two, &w), 0);
        d->record(b.stream, w.event, 1);
        assert_true(d->sync(b.stream, &err));
        assert_int_equal(d->query(w.event), 1);
        for (int k = 0; k < 1000; k++) sched_yield(); /* time to go on too early */
        atomic_store(&written, 1);
        d->record(b.stream, w.event, (int64_t)1 << 40);
        pthread_join(thread, NULL);
        assert_int_equal(w.seen, 1);
        assert_true(d->query(w.event) == (int64_t)1 << 40);
        d->event_free(w.event);
        tear_down(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),         cmocka_unit_test(test_map),
        cmocka_unit_test(test_set),           cmocka_unit_test(test_copy),
        cmocka_unit_test(test_fold_and_fill), cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
