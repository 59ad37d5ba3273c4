/* base/err.h - how a failure travels: what, the numbers, the place, the next step.
 *
 * What can fail returns bool and takes `pl_err *err` last. The lowest frame says what and the
 * numbers (pl_err_set); each frame above adds only its place (pl_err_in). A pl_err of {0} is "no
 * error". The first failure wins: setting an error that is already set keeps the first. */
#ifndef PL_BASE_ERR_H
#define PL_BASE_ERR_H
#include <pleat.h> /* pl_code */
#include <stdarg.h>
#include <stdbool.h>

#define PL_MUST_CHECK __attribute__((warn_unused_result))
#define PL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

typedef struct pl_err {
    pl_code code;
    char msg[1000];
} pl_err;

/* Both return false, so that a caller writes `return pl_err_set(...)`. pl_err_in prepends
 * "<place>: " to the message. */
bool pl_err_set(pl_err *err, pl_code code, const char *fmt, ...) PL_PRINTF(3, 4);
bool pl_err_in(pl_err *err, const char *fmt, ...) PL_PRINTF(2, 3);

#define PL_TRY(call)                                                                               \
    do {                                                                                           \
        if (!(call)) return false;                                                                 \
    } while (0)

/* Our own mistakes: on in every build; prints both operands and aborts. */
_Noreturn void pl_bug(const char *file, int line, const char *fmt, ...) PL_PRINTF(3, 4);
#define PL_ASSERT(cond)                                                                            \
    do {                                                                                           \
        if (!(cond)) pl_bug(__FILE__, __LINE__, "%s", #cond);                                      \
    } while (0)
#define PL_ASSERT_CMP(a, op, b)                                                                    \
    do {                                                                                           \
        long long pl_a_ = (long long)(a), pl_b_ = (long long)(b);                                  \
        if (!(pl_a_ op pl_b_))                                                                     \
            pl_bug(__FILE__, __LINE__, "%s %s %s (%lld, %lld)", #a, #op, #b, pl_a_, pl_b_);        \
    } while (0)

#endif
