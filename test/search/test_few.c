/* Parts of a chain: a choice of the part costs what it costs in the whole, in both chains. */
#include "search/few.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const double NEAR = 1e-7;

enum { KNOWN = 3 };

static int *draw_choice(draw *d, const pl_chain *c)
{
    int n = (int)pl_chain_variables(c), *value = PL_NEW_N(d->a, int, n);
    for (int v = 0; v < n; v++) {
        int at = v - c->outside.n;
        value[v] =
            draw_below(d, at < 0 ? c->outside.n_values[v] : c->block.n_values[at % c->block.n]);
    }
    return value;
}

/* The same chain with other numbers: legal where the first one is. */
static double *add_one(const double *row, size_t n, pl_arena *a)
{
    double *out = pl_arena_get(a, n, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = (row ? row[i] : 0) + 1;
    return out;
}

static pl_sum_pair *other_pairs(int n, const pl_sum_pair *p, const pl_sum *x, const pl_sum *y,
                                pl_arena *a)
{
    pl_sum_pair *out = PL_NEW_N(a, pl_sum_pair, n);
    for (int i = 0; i < n; i++) {
        size_t count = (size_t)x->n_values[p[i].a] * (size_t)y->n_values[p[i].b];
        out[i] = (pl_sum_pair){ p[i].a, p[i].b, add_one(p[i].time, count, a), NULL };
    }
    return out;
}

static pl_sum other_sum(const pl_sum *s, pl_arena *a)
{
    pl_sum t = *s;
    const double **time = PL_NEW_N(a, const double *, s->n);
    for (int v = 0; v < s->n; v++)
        time[v] = add_one(s->time ? s->time[v] : NULL, (size_t)s->n_values[v], a);
    t.time = time;
    t.memory = NULL;
    t.pair = other_pairs(s->n_pairs, s->pair, s, s, a);
    return t;
}

static pl_chain other_chain(const pl_chain *c, pl_arena *a)
{
    const pl_sum *o = &c->outside, *b = &c->block;
    pl_chain d = *c;
    d.outside = other_sum(o, a);
    d.block = other_sum(b, a);
    d.link = other_pairs(c->n_links, c->link, b, b, a);
    d.first = other_pairs(c->n_first, c->first, o, b, a);
    d.last = other_pairs(c->n_last, c->last, o, b, a);
    d.every = other_pairs(c->n_every, c->every, o, b, a);
    return d;
}

static void check_choice(uint64_t seed, const pl_chain *c, const pl_chain *d, const pl_few *few,
                         const int *value, pl_arena *a)
{
    const int *whole = pl_few_whole(few, value, a);
    pl_cost part = pl_chain_cost(&few->chain, value);
    double time = pl_chain_cost(c, whole).time;
    double memory = d ? pl_chain_cost(d, whole).time : pl_chain_cost(c, whole).memory;
    if (isinf(time) != isinf(part.time)) fail_msg("seed %d: legal in one only", (int)seed);
    if (isinf(time)) return;
    if (fabs(part.time - time) > NEAR || fabs(part.memory - memory) > NEAR)
        fail_msg("seed %d: (%g, %g) in the part, (%g, %g) in the whole", (int)seed, part.time,
                 part.memory, time, memory);
}

static void test_costs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, true, a);
        pl_chain c = draw_chain(&d, 5, 4, 6), other = other_chain(&c, a);
        int *known[KNOWN];
        for (int k = 0; k < KNOWN; k++) known[k] = draw_choice(&d, &c);
        pl_few own = pl_few_of(&c, NULL, KNOWN, known, a);
        pl_few two = pl_few_of(&c, &other, KNOWN, known, a);
        for (int i = 0; i < 5; i++) {
            int *value = draw_choice(&d, &own.chain);
            check_choice(seed, &c, NULL, &own, value, a);
            check_choice(seed, &c, &other, &two, value, a);
        }
        pl_arena_free(a);
    }
}

/* Of one choice with all copies alike nothing else is left. */
static void test_one(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    draw d = draw_new(1, true, a);
    pl_chain c = draw_chain(&d, 5, 4, 6);
    int n = (int)pl_chain_variables(&c), *value = PL_NEW_N(a, int, n), *zero = PL_NEW_N(a, int, n);
    for (int v = 0; v < n; v++) {
        int at = v - c.outside.n;
        value[v] = (at < 0 ? c.outside.n_values[v] : c.block.n_values[at % c.block.n]) - 1;
    }
    pl_few few = pl_few_of(&c, NULL, 1, &value, a);
    for (int v = 0; v < c.block.n; v++) assert_int_equal(few.chain.block.n_values[v], 1);
    assert_memory_equal(pl_few_whole(&few, zero, a), value, (size_t)n * sizeof *value);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
