/* base/bell.h: who sleeps is woken, whenever it is that the bell rings. */
#include "base/bell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { LONG_NS = 900 * 1000 * 1000, SHORT_NS = 1000, TURNS = 3000 };

static void test_rings_before_and_after(void **state)
{
    pl_bell b;
    pl_bell_open(&b);
    uint64_t heard = pl_bell_heard(&b);
    assert_false(pl_bell_sleep(&b, heard, SHORT_NS));
    pl_bell_ring(&b);
    assert_true(pl_bell_sleep(&b, heard, LONG_NS)); /* at once */
    heard = pl_bell_heard(&b);
    assert_false(pl_bell_sleep(&b, heard, SHORT_NS));
    pl_bell_close(&b);
    (void)state;
}

/* Two players who throw a ball to and fro, each asleep until it comes. */
typedef struct player {
    pl_bell bell;
    atomic_int balls; /* that came */
    int lost;         /* sleeps that ended late, with the ball there before */
    struct player *other;
} player;

static void catch_next(player *p, int turn)
{
    for (;;) {
        const uint64_t heard = pl_bell_heard(&p->bell);
        if (atomic_load(&p->balls) > turn) return;
        const bool woken = pl_bell_sleep(&p->bell, heard, LONG_NS);
        p->lost += !woken && atomic_load(&p->balls) > turn;
    }
}

static void throw_back(player *p)
{
    atomic_fetch_add(&p->other->balls, 1);
    pl_bell_ring(&p->other->bell);
}

static void *play(void *arg)
{
    for (int turn = 0; turn < TURNS; turn++) {
        catch_next(arg, turn);
        throw_back(arg);
    }
    return NULL;
}

static void test_no_ring_is_lost(void **state)
{
    player a = { 0 }, b = { 0 };
    pthread_t thread;
    a.other = &b, b.other = &a;
    pl_bell_open(&a.bell);
    pl_bell_open(&b.bell);
    assert_int_equal(pthread_create(&thread, NULL, play, &b), 0);
    throw_back(&a); /* the first ball */
    play(&a);
    pthread_join(thread, NULL);
    assert_int_equal(a.lost + b.lost, 0);
    assert_int_equal(atomic_load(&a.balls), TURNS);
    pl_bell_close(&a.bell);
    pl_bell_close(&b.bell);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings_before_and_after),
        cmocka_unit_test(test_no_ring_is_lost),
    };
    return cmocka_run_group_tests_name("base/bell", tests, NULL, NULL);
}
