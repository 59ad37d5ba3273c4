/* test/support/request.h - what is asked of pl_plan_find, from the text of a strategy and a
 * cluster. */
#ifndef PL_TEST_SUPPORT_REQUEST_H
#define PL_TEST_SUPPORT_REQUEST_H
#include "planners/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline pl_plan_request request_of(const char *text, const pl_cluster *c, pl_arena *a)
{
    pl_plan_request r = { .cluster = c };
    pl_err err = { 0 };
    if (!pl_strategy_parse(text, c->n_devices, a, &r.strategy, &err)) fail_msg("%s", err.msg);
    return r;
}

#endif
