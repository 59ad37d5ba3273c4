/* Pictures decoded ahead: each taker gets the right one, however many threads there are or come
 * and go, who wants what, and how little may be kept; what cannot be decoded is told to all who
 * take it. */
#include "data/ahead.h"

#include "base/rng.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PICTURES = 40, STEPS = 60, ROWS = 12, TAKERS = 3, BROKEN = 7 };

/* Picture i is i + 1 bytes of i. */
static bool decode(const void *of, int64_t picture, pl_arena *arena, pl_picture *out, pl_err *err)
{
    const int64_t n = picture + 1;
    unsigned char *at = pl_arena_get(arena, (size_t)n, 1);
    (void)of;
    if (picture == BROKEN) return pl_err_set(err, PL_EINPUT, "picture %d is broken", BROKEN);
    for (int64_t i = 0; i < n; i++) at[i] = (unsigned char)picture;
    *out = (pl_picture){ 1, n, 1, at, n, 1, 0 };
    return true;
}

/* Threads come and go while pictures are taken. */
static const int turns[] = { 5, 0, 1, 3, 64, 2, 1000, 1 };

typedef struct taker {
    pl_ahead *ahead;
    int number;
    bool turns;
    int64_t wrong;
    pthread_t thread;
} taker;

static void use(void *with, const pl_picture *p)
{
    int64_t *picture = with; /* -1 when it is the right one */
    const int64_t wanted = *picture;
    *picture = p->width == wanted + 1 && p->at[wanted] == wanted ? -1 : -2;
}

static int64_t picture_of(int step, int row)
{
    return (int64_t)pl_rng_below(pl_rng_at(3, 5), (uint64_t)(step * ROWS + row), PICTURES);
}

/* Every row of a step, having wanted those of the next. */
static void *take_all(void *arg)
{
    taker *t = arg;
    for (int step = 0; step < STEPS; step++) {
        if (t->turns) pl_ahead_set_threads(t->ahead, turns[step % 8]);
        for (int row = t->number; row < ROWS; row++)
            pl_ahead_want(t->ahead, picture_of(step + 1, row));
        for (int row = t->number; row < ROWS; row++) {
            const int64_t wanted = picture_of(step, row);
            int64_t picture = wanted;
            pl_err err = { 0 };
            const bool ok = pl_ahead_take(t->ahead, wanted, use, &picture, &err);
            t->wrong += wanted == BROKEN ? ok || err.code != PL_EINPUT : !ok || picture != -1;
        }
    }
    return NULL;
}

static void check_takers(int n, int64_t kept, bool turning)
{
    taker t[TAKERS];
    pl_ahead *a = pl_ahead_new(n, kept, decode, NULL);
    for (int i = 0; i < TAKERS; i++) {
        t[i] = (taker){ .ahead = a, .number = i, .turns = turning && !i };
        assert_int_equal(pthread_create(&t[i].thread, NULL, take_all, &t[i]), 0);
    }
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(t[i].thread, NULL);
        assert_int_equal(t[i].wrong, 0);
    }
    pl_ahead_free(a);
}

static void test_takers(void **state)
{
    static const int64_t kept[] = { 0, 1000, 1 << 20 };
    (void)state;
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        for (int n = 0; n <= 3; n++) check_takers(n, kept[k], false);
        check_takers(2, kept[k], true);
    }
}

/* A picture that three take was decoded once, one that nobody wanted as often as it is taken. */
static void test_spent(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        pl_ahead *a = pl_ahead_new(n, 1 << 20, decode, NULL);
        int64_t picture;
        pl_err err = { 0 };
        for (int i = 0; i < 6; i++) pl_ahead_want(a, i < 3 ? 1 : i);
        for (int i = 0; i < 6; i++) {
            picture = i < 3 ? 1 : i;
            assert_true(pl_ahead_take(a, picture, use, &picture, &err));
        }
        pl_ahead_spent spent = pl_ahead_ask_spent(a);
        assert_int_equal(spent.pictures, n ? 4 : 6);
        assert_true(spent.seconds > 0 && spent.cpu > 0);
        spent = pl_ahead_ask_spent(a);
        assert_int_equal(spent.pictures, 0);
        assert_true(spent.seconds <= 0);
        pl_ahead_free(a);
    }
}

/* What nobody takes goes with all else; wishes without room are forgotten. */
static void test_wishes(void **state)
{
    (void)state;
    pl_ahead *a = pl_ahead_new(2, 1 << 20, decode, NULL);
    for (int i = 0; i < 10000; i++) pl_ahead_want(a, i);
    int64_t picture = 3;
    pl_err err = { 0 };
    assert_true(pl_ahead_take(a, 3, use, &picture, &err));
    assert_int_equal(picture, -1);
    pl_ahead_free(a);
}

/* Wishes that are withdrawn leave room, whether a thread is at them or done; some stay. */
static void test_dropped(void **state)
{
    (void)state;
    for (int n = 1; n < 4; n++) {
        pl_ahead *a = pl_ahead_new(n, 1 << 20, decode, NULL);
        for (int i = 0; i < 20 * PL_AHEAD_PICTURES; i++) {
            pl_ahead_want(a, i % PICTURES);
            if (i % 3 == 0) pl_ahead_want(a, i % PICTURES);
            pl_ahead_drop(a, i % PICTURES);
            pl_ahead_drop(a, PICTURES); /* nobody wants that */
            int64_t picture = i % PICTURES;
            pl_err err = { 0 };
            if (i % 3 == 0 && picture != BROKEN) {
                assert_true(pl_ahead_take(a, picture, use, &picture, &err));
                assert_int_equal(picture, -1);
            }
        }
        pl_ahead_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_takers),
                                        cmocka_unit_test(test_wishes),
                                        cmocka_unit_test(test_dropped),
                                        cmocka_unit_test(test_spent) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
