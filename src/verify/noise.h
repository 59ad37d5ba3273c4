/* verify/noise.h - how far rounding may move the whole run of a verification: what tells
 * rounding from error.
 *
 * The same step is computed in f64 by the reference kernels, from the same weights, inputs and
 * dropout masks: the distance of the whole run from this twin is the rounding that is in it. One
 * distance is one sample, and small by chance where two errors cancel or where a ReLU, a maximum or
 * a router that stands at a tie fell the same way: so the whole run is repeated with its weights
 * moved by some units in their last place. At a tie each of these falls either way like a coin.
 *
 * Sources: a forward error as in Higham, Accuracy and Stability of Numerical Algorithms, 2002,
 * section 1.5; random last places as in Parker, Monte Carlo Arithmetic, 1997. */
#ifndef PL_VERIFY_NOISE_H
#define PL_VERIFY_NOISE_H
#include "verify/whole.h"

/* Flops of so many training steps. */
double pl_verify_noise_flops(const pl_verify_whole *whole, int64_t steps);

/* noise [w->n]: the distance of each tensor of the whole run from its twin, which has run, or from
 * any of `repetitions`, where that is larger; in units of the tensor's scale, and infinite where
 * one of them is not finite. twin NULL: from repetitions alone. */
PL_MUST_CHECK bool pl_verify_noise(const pl_verify_whole *whole, const pl_verify_whole *twin,
                                   int repetitions, double noise[], pl_err *err);

#endif
