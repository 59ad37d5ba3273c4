/* An arena of each test's own: cmocka_unit_test_setup_teardown(test, set_up, tear_down). */
#ifndef PL_TEST_SUPPORT_ARENA_H
#define PL_TEST_SUPPORT_ARENA_H
#include "base/arena.h"

static pl_arena *arena;

static inline int set_up(void **state)
{
    (void)state;
    arena = pl_arena_new("test");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

#endif
