/* The least of rows and columns of tables of all small sizes, against loops that do one entry after
 * the other: to the bit, as a least does not depend on the order. */
#include "search/lanes.h"
#include "support/expect.h"
#include "support/search_draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 19, GAP = 3 }; /* rows and columns; entries between rows, at most */

static double draw_entry(draw *d)
{
    return draw_below(d, 8) ? 10 * draw_unit(d) - 5 : INFINITY;
}

static double *draw_line(draw *d, int n)
{
    double *x = PL_NEW_N(d->a, double, n + 1);
    for (int i = 0; i < n; i++) x[i] = draw_entry(d);
    return x;
}

static void check_block(draw *d, int rows, int cols)
{
    const size_t stride = (size_t)(cols + draw_below(d, GAP + 1));
    const pl_block b = { rows, cols, stride, draw_line(d, rows * (int)stride) };
    const double *row = draw_line(d, rows), *col = draw_line(d, cols);
    double least[MOST];
    pl_least_of_columns(b, row, least);
    for (int y = 0; y < cols; y++) {
        double want = INFINITY;
        for (int x = 0; x < rows; x++)
            want = fmin(want, b.at[(size_t)x * stride + (size_t)y] + row[x]);
        EXPECT(least[y] == want, "%d x %d: column %d has %g, not %g", rows, cols, y, least[y],
               want);
    }
    pl_least_of_rows(b, col, least);
    for (int x = 0; x < rows; x++) {
        double want = INFINITY;
        for (int y = 0; y < cols; y++)
            want = fmin(want, b.at[(size_t)x * stride + (size_t)y] + col[y]);
        EXPECT(least[x] == want, "%d x %d: row %d has %g, not %g", rows, cols, x, least[x], want);
    }
}

static void test_least(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    draw d = draw_new(1, true, a);
    for (int rows = 1; rows <= MOST; rows++)
        for (int cols = 1; cols <= MOST; cols++) check_block(&d, rows, cols);
    pl_arena_free(a);
}

static void test_add(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    draw d = draw_new(2, true, a);
    for (int n = 0; n <= MOST; n++)
        for (int step = 1; step <= GAP; step++) {
            const double *from = draw_line(&d, n * step), *before = draw_line(&d, n);
            double to[MOST];
            for (int i = 0; i < n; i++) to[i] = before[i];
            pl_add_line(n, from, (size_t)step, to);
            for (int i = 0; i < n; i++)
                EXPECT(to[i] == before[i] + from[i * step], "entry %d of %d, %d apart", i, n, step);
        }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_least), cmocka_unit_test(test_add) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
