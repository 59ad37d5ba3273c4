/* What is left of a sum has the least of the whole one, and goes back to a choice that costs it. */
#include "search/reduce.h"
#include "support/expect.h"
#include "support/search_draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 8 };
static const pl_cost weights = { 0.7, 0.3 };

static double weigh(pl_cost c, pl_cost by)
{
    return isinf(c.time) ? INFINITY : by.time * c.time + by.memory * c.memory;
}

/* Every choice in turn. */
static double find_least(const pl_sum *s, pl_cost by)
{
    int at[MOST] = { 0 }, v = 0;
    double least = INFINITY;
    do {
        least = fmin(least, weigh(pl_sum_cost(s, at), by));
        for (v = 0; v < s->n && ++at[v] == s->n_values[v]; v++) at[v] = 0;
    } while (v < s->n);
    return least;
}

static int count_neighbours(const pl_sum *s, int v)
{
    bool near[MOST] = { false };
    int n = 0;
    for (int p = 0; p < s->n_edges; p++) {
        const pl_sum_edge *e = &s->edge[p];
        if (e->a == v || e->b == v) near[e->a == v ? e->b : e->a] = true;
    }
    for (int u = 0; u < s->n; u++) n += near[u];
    return n;
}

/* Tables of so few values are all worth making: what is left has no neighbour, or many, or has to
 * stay. */
static void check_left(const pl_reduced *r, const bool *keep)
{
    const pl_sum one = { .n = r->sum.n, .n_edges = r->sum.n_edges, .edge = r->sum.edge };
    for (int i = 0; i < r->sum.n; i++) {
        const int n = count_neighbours(&one, i);
        EXPECT(n == 0 || n > 2 || keep[r->left[i]], "variable %d has %d neighbours", i, n);
        EXPECT(r->place[r->left[i]] == i, "variable %d stands at %d", i, r->place[r->left[i]]);
    }
    for (int p = 0; p < one.n_edges; p++)
        for (int q = 0; q < p; q++)
            EXPECT(one.edge[p].a != one.edge[q].a || one.edge[p].b != one.edge[q].b,
                   "tables %d and %d join the same two", q, p);
}

/* A choice with the values of `left` is among the best of those. */
static void check_restored(const pl_sum *s, const pl_reduced *r, draw *d)
{
    int left[MOST], value[MOST], again[MOST];
    for (int i = 0; i < r->sum.n; i++) left[i] = draw_below(d, r->sum.n_values[i]);
    pl_reduced_restore(r, left, value);
    const double cost = pl_sum_cost(&r->sum, left).time,
                 whole = weigh(pl_sum_cost(s, value), weights);
    EXPECT(cost == whole || fabs(cost - whole) < 1e-9, "%.12g is left of %.12g", cost, whole);
    pl_reduced_drop(r, value, again);
    for (int i = 0; i < r->sum.n; i++) EXPECT(left[i] == again[i], "variable %d differs", i);
}

static void test_reduced(void **state)
{
    (void)state;
    int taken = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, false, a);
        const int n = 1 + draw_below(&d, MOST - 1);
        const pl_sum s = draw_sum(&d, n, 4, draw_below(&d, 2 * n), seed % 5 == 0);
        bool keep[MOST];
        for (int v = 0; v < n; v++) keep[v] = !draw_below(&d, 4);
        const pl_reduced *r = pl_sum_reduce(&s, weights, keep, a);
        const double least = find_least(&r->sum, (pl_cost){ 1, 0 }),
                     whole = find_least(&s, weights);
        EXPECT(least == whole || fabs(least - whole) < 1e-9, "seed %d: %.12g is left of %.12g",
               (int)seed, least, whole);
        for (int v = 0; v < n; v++) EXPECT(!keep[v] || r->place[v] >= 0, "variable %d went", v);
        check_left(r, keep);
        check_restored(&s, r, &d);
        taken += r->n_taken;
        pl_arena_free(a);
    }
    EXPECT(taken > 500, "only %d variables went", taken);
}

/* A table of two large variables is not made for a small one between them. */
static void test_dear(void **state)
{
    (void)state;
    enum { LARGE = 300 };
    static double table[2 * LARGE];
    const pl_sum_edge edge[] = { { 0, 1, table, NULL },
                                 { 1, 2, table, NULL },
                                 { 0, 3, table, NULL } };
    const int sizes[] = { LARGE, 2, LARGE, 2 };
    const pl_sum s = { .n = 4, .n_values = sizes, .n_edges = 3, .edge = edge };
    const bool keep[] = { true, false, true, false };
    pl_arena *a = pl_arena_new("test");
    const pl_reduced *r = pl_sum_reduce(&s, weights, keep, a);
    EXPECT(r->sum.n == 3 && r->place[3] < 0 && r->place[1] == 1, "%d are left", r->sum.n);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_dear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
