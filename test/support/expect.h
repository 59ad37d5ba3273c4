/* test/support/expect.h - an assertion that says what it saw: EXPECT(n == 2, "%s: %d", name, n). */
#ifndef PL_TEST_SUPPORT_EXPECT_H
#define PL_TEST_SUPPORT_EXPECT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

#endif
