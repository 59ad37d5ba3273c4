/* train/frechet.h - how far sets of pictures are apart, by what a network of features says of them:
 * pure mathematics on rows of numbers, in double precision.
 *
 * Sources: Heusel et al., "GANs trained by a two time-scale update rule converge to a local Nash
 * equilibrium", NeurIPS 2017 (Frechet inception distance); Dowson and Landau, "The Frechet distance
 * between multivariate normal distributions", 1982; Salimans et al., "Improved techniques for
 * training GANs", NeurIPS 2016 (inception score); Golub and Van Loan, "Matrix computations", 8.5
 * (cyclic Jacobi). */
#ifndef PL_TRAIN_FRECHET_H
#define PL_TRAIN_FRECHET_H
#include "base/arena.h"
#include <stdint.h>

/* A Gaussian: mean [n], covariance [n, n]. */
typedef struct pl_gaussian {
    int n;
    double *mean, *covariance;
} pl_gaussian;

/* That of x [rows, n], at least 2 rows; the covariance divides by rows - 1. `arena` owns it. */
pl_gaussian pl_frechet_fit(int64_t rows, int n, const double x[], pl_arena *arena);

/* |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), of Gaussians of the same n; at least 0. What S1 has
 * below 0 by rounding counts as 0. Takes of the order of n^3. */
double pl_frechet_distance(const pl_gaussian *a, const pl_gaussian *b);

/* The eigenvalues of symmetric x [n, n], in no order, and row by row their eigenvectors [n, n],
 * each of length 1 (NULL: not wanted). x is used up. */
void pl_frechet_eigen(int n, double x[], double value[], double vector[]);

/* exp(mean of KL(p_i | mean of p)) of p [rows, n], whose rows are probabilities: 1 .. n, the larger
 * the surer each row is and the more evenly classes are met. */
double pl_frechet_inception(int64_t rows, int n, const double p[]);

#endif
