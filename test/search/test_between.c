/* Choices between known ones: what is returned costs what it must, small mixtures are the best ones
 * there are, and long ones change from the one kind to the other once. */
#include "search/between.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double NEAR = 1e-9;

typedef int *between(const pl_between *p, double most, int64_t *work, pl_arena *out);

static double *scale(const double *row, int n, double by, pl_arena *a)
{
    double *out = PL_NEW_N(a, double, n);
    for (int i = 0; row && i < n; i++) out[i] = by * row[i];
    return out;
}

/* Entries as far from 10 as before, on the other side: dear in the one is cheap in the other. */
static double *turn(const double *row, int n, pl_arena *a)
{
    double *out = PL_NEW_N(a, double, n);
    for (int i = 0; i < n; i++) out[i] = row && isinf(row[i]) ? row[i] : 10 - (row ? row[i] : 0);
    return out;
}

/* price * c + (1 - price) * (c with its own tables turned). */
static double *mean(const double *row, int n, double price, pl_arena *a)
{
    double *out = scale(row, n, price, a), *other = turn(row, n, a);
    for (int i = 0; i < n; i++) out[i] += isinf(other[i]) ? other[i] : (1 - price) * other[i];
    return out;
}

/* Variables' own times at a price of the ones that are given; the rest of the chain is the same. */
static pl_sum price_sum(const pl_sum *s, double price, pl_arena *a)
{
    pl_sum t = *s;
    const double **time = PL_NEW_N(a, const double *, s->n);
    for (int v = 0; v < s->n; v++)
        time[v] = mean(s->time ? s->time[v] : NULL, s->n_values[v], price, a);
    t.time = time;
    return t;
}

static pl_chain price_chain(const pl_chain *c, double price, pl_arena *a)
{
    pl_chain d = *c;
    d.outside = price_sum(&c->outside, price, a);
    d.block = price_sum(&c->block, price, a);
    return d;
}

static double larger(const pl_between *p, const int *value)
{
    return fmax(pl_chain_cost(p->one, value).time, pl_chain_cost(p->other, value).time);
}

static int *find_least(const pl_chain *c, pl_arena *a)
{
    pl_answer x;
    pl_err err = { 0 };
    return pl_chain_min(c, INFINITY, NULL, a, &x, &err) ? x.value : NULL;
}

/* A choice that is returned is legal, below what was asked for, and the same the next time. */
static void check_found(uint64_t seed, const pl_between *p, between *find, pl_arena *a)
{
    double most = INFINITY;
    int64_t work = 0, again = 0;
    for (int i = 0; i < p->n_known; i++) most = fmin(most, larger(p, p->known[i]));
    int *value = find(p, most, &work, a), *same = find(p, most, &again, a);
    if (work != again || !value != !same) fail_msg("seed %d: two answers", (int)seed);
    if (!value) return;
    if (!(larger(p, value) < most))
        fail_msg("seed %d: %g is not below %g", (int)seed, larger(p, value), most);
    if (memcmp(value, same, (size_t)pl_chain_variables(p->one) * sizeof *value) != 0)
        fail_msg("seed %d: two answers", (int)seed);
}

static void test_random(void **state)
{
    (void)state;
    int n_found = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, false, a);
        pl_chain c = draw_chain(&d, 5, 4, 9);
        pl_chain other = price_chain(&c, 0, a), priced = price_chain(&c, 0.5, a);
        int *known[2] = { find_least(&c, a), find_least(&other, a) };
        pl_between p = { &c, &other, &priced, 0.5, 2, known };
        int64_t work = 0;
        if (known[0] && known[1]) {
            check_found(seed, &p, pl_between_copies, a);
            check_found(seed, &p, pl_between_tilts, a);
            double most = fmin(larger(&p, known[0]), larger(&p, known[1]));
            n_found += pl_between_copies(&p, most, &work, a) != NULL;
        }
        pl_arena_free(a);
    }
    assert_true(n_found > 20);
}

/* A chain of one variable of two values per copy, for which the two kinds are all there is. */
static pl_chain draw_small(draw *d, int copies)
{
    pl_chain c = { .outside = draw_sum(d, 1, 1, 0, false), .copies = copies };
    int *two = PL_NEW(d->a, int);
    const double **time = PL_NEW(d->a, const double *);
    *two = 2;
    *time = draw_times(d, 2);
    c.block = (pl_sum){ .n = 1, .n_values = two, .time = time };
    c.link = draw_links(d, &c.block, &c.block, 3, &c.n_links);
    c.first = draw_links(d, &c.outside, &c.block, 2, &c.n_first);
    c.last = draw_links(d, &c.outside, &c.block, 2, &c.n_last);
    c.every = draw_links(d, &c.outside, &c.block, 2, &c.n_every);
    return c;
}

static void test_brute(void **state)
{
    (void)state;
    int n_mixed = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, false, a);
        d.illegal = 0;
        int copies = 2 + draw_below(&d, 5), value[8] = { 0 }, zero[8] = { 0 }, ones[8] = { 0 };
        pl_chain c = draw_small(&d, copies);
        pl_chain other = price_chain(&c, 0, a), priced = price_chain(&c, 0.5, a);
        for (int i = 1; i <= copies; i++) ones[i] = 1;
        pl_between p = { &c, &other, &priced, 0.5, 2, (int *const[]){ zero, ones } };
        double best = INFINITY, ends = fmin(larger(&p, zero), larger(&p, ones));
        for (int bits = 0; bits < 1 << copies; bits++) {
            for (int i = 0; i < copies; i++) value[1 + i] = bits >> i & 1;
            best = fmin(best, larger(&p, value));
        }
        int64_t work = 0;
        const int *found = pl_between_copies(&p, ends, &work, a);
        bool sides = (pl_chain_cost(&c, zero).time > pl_chain_cost(&other, zero).time) !=
                     (pl_chain_cost(&c, ones).time > pl_chain_cost(&other, ones).time);
        double cost = found ? larger(&p, found) : ends;
        if (cost < best - NEAR) fail_msg("seed %d: %g below %g", (int)seed, cost, best);
        if (sides && cost > best + NEAR) fail_msg("seed %d: %g, not %g", (int)seed, cost, best);
        n_mixed += sides && best < ends - NEAR;
        pl_arena_free(a);
    }
    assert_true(n_mixed > 20);
}

enum { LONG = 24 };

static const int TWO[] = { 2, 2 };
static const double CHANGE[] = { 0, 2, 2, 0 }; /* of both times */
static const pl_sum_pair LINK[] = { { 0, 0, CHANGE, NULL }, { 1, 1, CHANGE, NULL } };

/* So many variables per copy, each linked to the same one of the next copy. */
static pl_chain link_copies(int stacks, const double *const *time)
{
    return (pl_chain){ .block = { .n = stacks, .n_values = TWO, .time = time },
                       .copies = LONG,
                       .n_links = stacks,
                       .link = LINK };
}

/* Copies cost (3, 1) or (1, 2): a third of the one kind, the rest of the other, in two runs. */
static void test_long(void **state)
{
    (void)state;
    static const double one[] = { 3, 1 }, other[] = { 1, 2 }, priced[] = { 5. / 3, 5. / 3 };
    static const double *const time[] = { one, other, priced };
    const pl_chain chain[] = { link_copies(1, &time[0]), link_copies(1, &time[1]),
                               link_copies(1, &time[2]) };
    int value[2][LONG] = { { 0 } };
    for (int i = 0; i < LONG; i++) value[1][i] = 1;
    int *known[] = { value[0], value[1] };
    pl_between p = { &chain[0], &chain[1], &chain[2], 1. / 3, 2, known };
    between *const find[] = { pl_between_copies, pl_between_tilts };
    for (int i = 0; i < 2; i++) {
        pl_arena *a = pl_arena_new("test");
        int64_t work = 0;
        const int *found = find[i](&p, 2 * LONG, &work, a);
        assert_non_null(found);
        assert_true(fabs(larger(&p, found) - (5 * LONG / 3 + 2)) < NEAR);
        assert_true(work > 0);
        assert_null(find[i](&p, 5 * LONG / 3 + 2, &work, a));
        pl_arena_free(a);
    }
}

/* Two stacks that nothing joins: the one like the first choice, the other like the second, without
 * any change. */
static void test_stacks(void **state)
{
    (void)state;
    static const double dear[] = { 3, 1 }, cheap[] = { 1, 3 }, even[] = { 2, 2 };
    static const double *const one[] = { dear, dear }, *const other[] = { cheap, cheap };
    static const double *const priced[] = { even, even };
    const pl_chain chain[] = { link_copies(2, one), link_copies(2, other), link_copies(2, priced) };
    int value[2][2 * LONG] = { { 0 } };
    for (int i = 0; i < 2 * LONG; i++) value[1][i] = 1;
    int *known[] = { value[0], value[1] };
    pl_between p = { &chain[0], &chain[1], &chain[2], 0.5, 2, known };
    pl_arena *a = pl_arena_new("test");
    int64_t work = 0;
    const int *found = pl_between_copies(&p, 6 * LONG, &work, a);
    assert_non_null(found);
    assert_true(fabs(larger(&p, found) - 4 * LONG) < NEAR);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_brute),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
