/* verify/whole.h - what a verification compares with: the whole training step, run once, and
 * the list of what it left. */
#ifndef PL_VERIFY_WHOLE_H
#define PL_VERIFY_WHOLE_H
#include "verify/side.h"

/* What is compared, in this order: gradients and scalars of the first step, in the order of the
 * graph; scalars of the steps, and states after the first and the last of them. After the first,
 * moments are gradients of the programs that train, before rounding has grown from step to step. */
typedef enum pl_verify_kind { PL_VERIFY_FIRST, PL_VERIFY_SCALAR, PL_VERIFY_STATE } pl_verify_kind;

typedef struct pl_verify_tensor {
    pl_verify_kind kind;
    const char *name;       /* of the output or state                                   */
    int64_t made;           /* FIRST: its place in the order of the graph               */
    int64_t step;           /* SCALAR, STATE: from 0                                    */
    const char *text;       /* what reports call it                                     */
    const pl_value *value;  /* of data                                                  */
    void *data;             /* all of it, mapped: see pl_exec_map; NULL: a scalar       */
    pl_exec *exec;          /* of data                                                  */
    const pl_port *port;    /* likewise                                                 */
    double scalar;
    double top;             /* largest magnitude                                        */
    double scale;           /* of differences                                           */
} pl_verify_tensor;

typedef struct pl_verify_whole {
    const pl_verify_options *options; /* `micro` set                                    */
    const pl_verify_graphs *ranks;
    const struct pl_verify_whole *of; /* a twin in f64: of that one; or NULL            */
    pl_arena *arena;
    pl_verify_graphs graphs;    /* those of the ranks, or in one piece                  */
    pl_verify_side first, last; /* after the first step, and after all: data lies there */
    int n;
    pl_verify_tensor *tensor;
} pl_verify_whole;

/* Run it; the first rows are set. Fails as pl_verify_new does. */
PL_MUST_CHECK bool pl_verify_whole_run(pl_verify_whole *whole, pl_err *err);
void pl_verify_whole_free(pl_verify_whole *whole);

#endif
