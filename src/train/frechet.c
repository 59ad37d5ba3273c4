/* Frechet distance of two Gaussians, and inception score. The trace of (S1 S2)^(1/2) is that of
 * (R S2 R)^(1/2) with R = S1^(1/2): both are symmetric, so their roots are roots of eigenvalues. */
#include "train/frechet.h"

#include <math.h>
#include <string.h>

pl_gaussian pl_frechet_fit(int64_t rows, int n, const double x[], pl_arena *arena)
{
    const size_t count = (size_t)n * (size_t)n;
    pl_gaussian g = { n, PL_NEW_N(arena, double, n), PL_NEW_N(arena, double, count) };
    PL_ASSERT_CMP(rows, >=, 2);
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) g.mean[i] += x[r * n + i] / (double)rows;
    pl_arena *tmp = pl_arena_new("covariance");
    double *d = PL_NEW_N(tmp, double, n);
    for (int64_t r = 0; r < rows; r++) {
        for (int i = 0; i < n; i++) d[i] = x[r * n + i] - g.mean[i];
        for (int i = 0; i < n; i++)
            for (int k = 0; k <= i; k++) g.covariance[i * n + k] += d[i] * d[k];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++)
            g.covariance[k * n + i] = g.covariance[i * n + k] /= (double)(rows - 1);
    pl_arena_free(tmp);
    return g;
}

/* -- eigenvalues ------------------------------------------------------------------------------- */

/* Rows p and q of x become c p - s q and s p + c q. */
static void turn_rows(int n, double x[], int p, int q, double c, double s)
{
    double *a = x + (int64_t)p * n, *b = x + (int64_t)q * n;
    for (int k = 0; k < n; k++) {
        const double old = a[k];
        a[k] = c * old - s * b[k];
        b[k] = s * old + c * b[k];
    }
}

/* Makes x[p, q] zero: the smaller of the two angles that do. */
static void rotate(int n, double x[], int p, int q, double vector[])
{
    const double theta = (x[q * n + q] - x[p * n + p]) / (2 * x[p * n + q]);
    const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)),
                 c = 1 / sqrt(t * t + 1), s = t * c;
    const double pp = x[p * n + p] - t * x[p * n + q], qq = x[q * n + q] + t * x[p * n + q];
    turn_rows(n, x, p, q, c, s);
    for (int k = 0; k < n; k++) {
        x[k * n + p] = x[p * n + k];
        x[k * n + q] = x[q * n + k];
    }
    x[p * n + p] = pp;
    x[q * n + q] = qq;
    x[p * n + q] = x[q * n + p] = 0;
    if (vector) turn_rows(n, vector, p, q, c, s);
}

void pl_frechet_eigen(int n, double x[], double value[], double vector[])
{
    enum { MOST_SWEEPS = 60 }; /* it converges quadratically: usual are fewer than 15 */
    double size = 0;
    for (int i = 0; i < n * n; i++) size = fmax(size, fabs(x[i]));
    const double least = size * 1e-17; /* what is below changes no digit */
    for (int i = 0; vector && i < n * n; i++) vector[i] = i % (n + 1) == 0;
    bool more = true;
    for (int sweep = 0; more && sweep < MOST_SWEEPS; sweep++) {
        more = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (fabs(x[p * n + q]) <= least) continue;
                rotate(n, x, p, q, vector);
                more = true;
            }
    }
    for (int i = 0; i < n; i++) value[i] = x[i * n + i];
}

/* -- the distance ------------------------------------------------------------------------------ */

/* [n, n] times [n, n] */
static void multiply(int n, const double a[], const double b[], double to[])
{
    memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) to[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* The root of symmetric x >= 0: sum over k of sqrt(value k) (vector k) (vector k)^T. */
static double *root(int n, const double x[], pl_arena *arena)
{
    const size_t count = (size_t)n * (size_t)n;
    double *copy = PL_NEW_N(arena, double, count), *vector = PL_NEW_N(arena, double, count),
           *value = PL_NEW_N(arena, double, n), *to = PL_NEW_N(arena, double, count);
    memcpy(copy, x, count * sizeof *x);
    pl_frechet_eigen(n, copy, value, vector);
    for (int k = 0; k < n; k++) {
        const double *v = vector + (int64_t)k * n, size = sqrt(fmax(value[k], 0));
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) to[i * n + j] += size * v[i] * v[j];
    }
    return to;
}

/* The trace of (S1 S2)^(1/2). */
static double trace_of_root(const pl_gaussian *a, const pl_gaussian *b, pl_arena *tmp)
{
    const int n = a->n;
    const size_t count = (size_t)n * (size_t)n;
    double *r = root(n, a->covariance, tmp), *some = PL_NEW_N(tmp, double, count),
           *all = PL_NEW_N(tmp, double, count), *value = PL_NEW_N(tmp, double, n), sum = 0;
    multiply(n, r, b->covariance, some);
    multiply(n, some, r, all);
    for (int i = 0; i < n; i++) /* symmetric but for rounding */
        for (int k = 0; k < i; k++)
            all[i * n + k] = all[k * n + i] = (all[i * n + k] + all[k * n + i]) / 2;
    pl_frechet_eigen(n, all, value, NULL);
    for (int i = 0; i < n; i++) sum += sqrt(fmax(value[i], 0));
    return sum;
}

double pl_frechet_distance(const pl_gaussian *a, const pl_gaussian *b)
{
    const int n = a->n;
    double sum = 0;
    PL_ASSERT_CMP(n, ==, b->n);
    for (int i = 0; i < n; i++) {
        const double apart = a->mean[i] - b->mean[i];
        sum += apart * apart + a->covariance[i * n + i] + b->covariance[i * n + i];
    }
    pl_arena *tmp = pl_arena_new("frechet");
    sum -= 2 * trace_of_root(a, b, tmp);
    pl_arena_free(tmp);
    return fmax(sum, 0);
}

/* -- inception score --------------------------------------------------------------------------- */

double pl_frechet_inception(int64_t rows, int n, const double p[])
{
    pl_arena *tmp = pl_arena_new("inception");
    double *mean = PL_NEW_N(tmp, double, n), sum = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) mean[i] += p[r * n + i] / (double)rows;
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) {
            const double x = p[r * n + i];
            if (x > 0) sum += x * log(x / mean[i]);
        }
    pl_arena_free(tmp);
    return exp(sum / (double)rows);
}
