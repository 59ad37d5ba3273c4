/* test/support/operands.h - what an operator's example says of its operands. */
#ifndef PL_TEST_SUPPORT_OPERANDS_H
#define PL_TEST_SUPPORT_OPERANDS_H
#include "graph/op.h"

#include <stdbool.h>
#include <string.h>

/* Operands left of the arrow. Nothing stands there for no inputs and for one scalar: then the
 * scalar is there when the example gives its type. */
static inline int count_inputs(const pl_op *op, const pl_example *x)
{
    const char *text = x->spec && *x->spec && *x->spec != ';' ? x->spec : op->sig;
    if (!text) return 0;
    const char *arrow = strstr(text, "->");
    bool blank = true;
    int n = 1;
    for (const char *at = text; arrow && at < arrow; at++) {
        blank &= *at == ' ';
        n += *at == ',';
    }
    return blank && !x->in[0].type ? 0 : n;
}

#endif
