/* train/init.h - initial values of states, drawn on the global element index: every device that
 * holds a part of a weight, under any plan, draws the same numbers. */
#ifndef PL_TRAIN_INIT_H
#define PL_TRAIN_INIT_H
#include "program/program.h"

/* Fill one device's part of a state. The state's `init`: "zeros", "ones", "normal std=S" or
 * "uniform a=A" (in [-A, A)); floats only for the random ones. Fails with PL_EINPUT on anything
 * else. */
PL_MUST_CHECK bool pl_init_fill(const pl_port *port, uint64_t seed, void *data, pl_err *err);

#endif
