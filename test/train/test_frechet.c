/* Frechet distance and inception score against what is known: closed forms, a case by hand, and
 * matrices that are put together of chosen eigenvalues. */
#include "train/frechet.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/arena.h"

static void near(double found, double wanted, double within)
{
    if (!(fabs(found - wanted) <= within)) fail_msg("%.17g, not %.17g", found, wanted);
}

static double *draw(uint64_t seed, size_t n)
{
    const pl_rng r = pl_rng_at(seed, 1);
    double *x = PL_NEW_N(arena, double, n);
    for (size_t i = 0; i < n; i++) x[i] = pl_rng_normal(r, i);
    return x;
}

static void test_fit(void **state)
{
    static const double x[] = { 1, 2, 3, 2, 5, 8 }; /* three rows of two */
    const pl_gaussian g = pl_frechet_fit(3, 2, x, arena);
    (void)state;
    near(g.mean[0], 3, 1e-15);
    near(g.mean[1], 4, 1e-15);
    near(g.covariance[0], 4, 1e-15);
    near(g.covariance[1], 6, 1e-15);
    near(g.covariance[2], 6, 1e-15);
    near(g.covariance[3], 12, 1e-15);
}

/* x v = value v for each, the values' sum is the trace, and vectors are orthonormal. */
static void test_eigen(void **state)
{
    (void)state;
    for (int n = 1; n <= 40; n += 13) {
        const size_t count = (size_t)n * (size_t)n;
        double *a = draw((uint64_t)n, count), *x = PL_NEW_N(arena, double, count),
               *copy = PL_NEW_N(arena, double, count), *v = PL_NEW_N(arena, double, count),
               *value = PL_NEW_N(arena, double, n);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                copy[i * n + k] = x[i * n + k] = a[i * n + k] + a[k * n + i];
        pl_frechet_eigen(n, copy, value, v);
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < n; i++) {
                double sum = 0, inner = 0;
                for (int k = 0; k < n; k++) sum += x[i * n + k] * v[j * n + k];
                for (int k = 0; k < n; k++) inner += v[i * n + k] * v[j * n + k];
                near(sum, value[j] * v[j * n + i], 1e-12 * n);
                near(inner, i == j, 1e-13 * n);
            }
        }
    }
}

static void test_same(void **state)
{
    enum { ROWS = 50, N = 20 };
    const double *x = draw(1, ROWS * N);
    const pl_gaussian g = pl_frechet_fit(ROWS, N, x, arena);
    /* fewer rows than features: 11 of the eigenvalues are 0 */
    const pl_gaussian flat = pl_frechet_fit(10, N, x, arena);
    (void)state;
    near(pl_frechet_distance(&g, &g), 0, 1e-10);
    near(pl_frechet_distance(&flat, &flat), 0, 1e-6);
}

/* Of diagonal ones: |m1 - m2|^2 + sum of (s1 - s2)^2. */
static void test_diagonal(void **state)
{
    double s1[9] = { 4, 0, 0, 0, 9, 0, 0, 0, 0 }, s2[9] = { 1, 0, 0, 0, 25, 0, 0, 0, 4 };
    const pl_gaussian a = { 3, (double[]){ 0, 1, 2 }, s1 }, b = { 3, (double[]){ 3, 1, -2 }, s2 };
    (void)state;
    near(pl_frechet_distance(&a, &b), 9 + 16 + 1 + 4 + 4, 1e-12);
    near(pl_frechet_distance(&b, &a), 9 + 16 + 1 + 4 + 4, 1e-12);
}

/* By hand: S1 = [5 4; 4 5] has the root [2 1; 1 2]; S2 = diag(1, 4). R S2 R = [8 10; 10 17], whose
 * trace is 25 and determinant 36, so that the trace of its root is sqrt(25 + 2 sqrt(36)) =
 * sqrt(37). The distance of Gaussians of one mean is then 10 + 5 - 2 sqrt(37). */
static void test_by_hand(void **state)
{
    double s1[4] = { 5, 4, 4, 5 }, s2[4] = { 1, 0, 0, 4 };
    const pl_gaussian a = { 2, (double[]){ 1, 1 }, s1 }, b = { 2, (double[]){ 1, 1 }, s2 };
    (void)state;
    near(pl_frechet_distance(&a, &b), 15 - 2 * sqrt(37), 1e-12);
    near(pl_frechet_distance(&b, &a), 15 - 2 * sqrt(37), 1e-12);
}

/* Turning the space, which changes no distance: features of the two are mixed by one orthogonal
 * matrix, of the eigenvectors of another. */
static void test_turned(void **state)
{
    enum { ROWS = 200, N = 12 };
    double *x = draw(2, ROWS * N), *y = draw(3, ROWS * N), *m = draw(4, N * N), q[N * N], value[N],
           *tx = PL_NEW_N(arena, double, ROWS *N), *ty = PL_NEW_N(arena, double, ROWS *N);
    (void)state;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i; k++) m[i * N + k] = m[k * N + i];
    pl_frechet_eigen(N, m, value, q);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++) {
            y[r * N + i] = (1 + 0.1 * i) * y[r * N + i] + 0.3;
            for (int k = 0; k < N; k++) tx[r * N + k] += x[r * N + i] * q[i * N + k];
        }
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++) ty[r * N + k] += y[r * N + i] * q[i * N + k];
    const pl_gaussian a = pl_frechet_fit(ROWS, N, x, arena), b = pl_frechet_fit(ROWS, N, y, arena),
                      ta = pl_frechet_fit(ROWS, N, tx, arena),
                      tb = pl_frechet_fit(ROWS, N, ty, arena);
    const double apart = pl_frechet_distance(&a, &b);
    assert_true(apart > 1);
    near(pl_frechet_distance(&ta, &tb), apart, 1e-10);
}

/* Each row sure of a class, all classes alike: as many as there are; all rows alike: 1. */
static void test_inception(void **state)
{
    static const double sure[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, alike[] = { 0.2, 0.8, 0.2, 0.8 },
                        some[] = { 0.9, 0.1, 0.1, 0.9 };
    (void)state;
    near(pl_frechet_inception(3, 3, sure), 3, 1e-14);
    near(pl_frechet_inception(2, 2, alike), 1, 1e-14);
    near(pl_frechet_inception(2, 2, some), exp(0.9 * log(1.8) + 0.1 * log(0.2)), 1e-14);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_fit),      TEST(test_eigen),   TEST(test_same),
                                        TEST(test_diagonal), TEST(test_by_hand), TEST(test_turned),
                                        TEST(test_inception) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
