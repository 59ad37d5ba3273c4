/* Orders of training graphs: closed forms, and how far from the bound realistic graphs stay. */
#include "order/schedule.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/rounds.h"
#include "support/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "train_graph.h"

static pl_schedule find(const pl_schedule_problem *p, pl_schedule_method method, const char *what)
{
    pl_schedule s;
    pl_err err = { 0 };
    pl_schedule_options o = { .method = method };
    if (!pl_schedule_find(p, &o, arena, &s, &err)) fail_msg("%s: %s", what, err.msg);
    if (p->n < 6000 && !pl_schedule_check(p, s.order, s.peak, &err))
        fail_msg("%s: %s", what, err.msg);
    assert_true(s.bound <= s.peak);
    return s;
}

/* Batch 1: the update of the largest weight dominates, and the peak is P + 3G. */
static void test_update_bound(void **state)
{
    (void)state;
    static const int64_t alexnet[] = { 93, 1228, 2654, 3538, 2359, 150994, 67108, 16384 };
    static const int64_t vgg[] = {
        6, 295, 1179, 2359, 4718, 9437, 9437, 9437, 411041, 67108, 16384
    };
    static const int64_t act[] = { 600, 770, 550, 250, 170, 170, 16, 16, 4, 4, 4, 4 };
    static const struct {
        const char *name;
        const int64_t *weight;
        int n;
    } nets[] = { { "alexnet", alexnet, 8 }, { "vgg11", vgg, 11 } };
    for (size_t i = 0; i < 2; i++)
        for (int skips = 0; skips < 2; skips++) {
            net_graph g = { .b = { .a = arena } };
            pl_schedule_problem p = make_chain(&g, nets[i].n, nets[i].weight, act, skips);
            pl_schedule s = find(&p, PL_SCHEDULE_PLEAT, nets[i].name);
            pl_schedule given = find(&p, PL_SCHEDULE_GIVEN, nets[i].name);
            printf("%s, skips %d: given P + %.3f G, pleat P + %.3f G\n", nets[i].name, skips,
                   (double)(given.peak - g.params) / (double)g.largest,
                   (double)(s.peak - g.params) / (double)g.largest);
            assert_int_equal(s.peak, g.params + 3 * g.largest);
            assert_true(s.optimal);
        }
}

/* Large batch: what is saved for the backward pass dominates, and the peak is what the forced-live
 * bound finds at the turn; for equal layers that is every activation twice (before and after ReLU
 * is kept: one), the gradient of the last, and the weights. */
static void test_activation_bound(void **state)
{
    (void)state;
    for (int n = 2; n <= 64; n *= PL_SANITIZED ? 8 : 2) {
        int64_t weight[64], act[65];
        for (int i = 0; i <= n; i++) act[i] = 1000000;
        for (int i = 0; i < n; i++) weight[i] = 3000;
        net_graph g = { .b = { .a = arena } };
        pl_schedule_problem p = make_chain(&g, n, weight, act, false);
        pl_schedule s = find(&p, PL_SCHEDULE_PLEAT, "equal layers");
        if (s.peak != g.params + (n + 3) * 1000000)
            fail_msg("%d layers: %lld", n, (long long)(s.peak - g.params));
        assert_true(s.optimal);
    }
}

static void report(const char *name, const pl_schedule_problem *p, double most)
{
    pl_schedule given = find(p, PL_SCHEDULE_GIVEN, name);
    pl_schedule lescea = find(p, PL_SCHEDULE_LESCEA, name);
    double start = pl_clock_now();
    pl_schedule s = find(p, PL_SCHEDULE_PLEAT, name);
    double gap = (double)(s.peak - s.bound) / (double)s.peak;
    printf("%-24s %6d tasks %5d segments %4d twins: given %.2f LESCEA %.2f pleat %.2f MiB, gap "
           "%.3f %%, %.3f s, effort %lld\n",
           name, p->n, s.n_segments, s.n_reused, (double)given.peak / 1048576,
           (double)lescea.peak / 1048576, (double)s.peak / 1048576, 100 * gap,
           pl_clock_now() - start, (long long)s.effort);
    if (gap > most) fail_msg("%s: gap %.4f", name, gap);
}

static void test_gpt(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int layers;
        int64_t d, heads, seq, batch, vocab;
    } nets[] = {
        { "gpt 2 layers", 2, 64, 4, 64, 4, 1000 },
        { "gpt2 4 tokens", 12, 768, 12, 4, 1, 50257 },
        { "vit-b/16 batch 1", 12, 768, 12, 197, 1, 1000 },
        { "vit-b/16 batch 32", 12, 768, 12, 197, 32, 1000 },
        { "gpt2-xl batch 1", 48, 1600, 25, 1024, 1, 50257 },
        { "gpt2-xl batch 4", 48, 1600, 25, 1024, 4, 50257 },
        { "gpt 96 layers", 96, 768, 12, 64, 1, 5000 },
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        net_graph g = { .b = { .a = arena } };
        pl_schedule_problem p = make_gpt(&g, nets[i].layers, nets[i].d, nets[i].heads, nets[i].seq,
                                         nets[i].batch, nets[i].vocab);
        report(nets[i].name, &p, 0.001);
    }
}

static void test_mobile(void **state)
{
    (void)state;
    for (int squeeze = 0; squeeze < 2; squeeze++)
        for (int batch = 1; batch <= 32; batch *= 32) {
            net_graph g = { .b = { .a = arena } };
            pl_schedule_problem p = make_mobile(&g, 5, 4, batch, squeeze);
            char name[40];
            snprintf(name, sizeof name, "mobile%s batch %d", squeeze ? "+se" : "", batch);
            report(name, &p, 0.001);
        }
}

static void test_chains(void **state)
{
    (void)state;
    static const int64_t vgg[] = { 6912,    294912,  1179648,   2359296,  4718592, 9437184,
                                   9437184, 9437184, 411041792, 67108864, 16384000 };
    static const int64_t act[] = { 602112,  12845056, 6422528, 3211264, 3211264, 1605632,
                                   1605632, 401408,   100352,  16384,   16384,   4000 };
    for (int batch = 1; batch <= 128; batch *= PL_SANITIZED ? 8 : 2) {
        int64_t scaled[12];
        for (int i = 0; i < 12; i++) scaled[i] = batch * act[i];
        net_graph g = { .b = { .a = arena } };
        pl_schedule_problem p = make_chain(&g, 11, vgg, scaled, true);
        char name[40];
        snprintf(name, sizeof name, "vgg-like batch %d", batch);
        report(name, &p, 0.001);
    }
}

/* Other shapes. Where every activation waits for a weight gradient larger than itself, some update
 * must be the first while all are still live; no bound here sees that, so such a graph keeps a
 * wider gap. */
static void test_shapes(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        net_graph branches = { .b = { .a = arena } }, unet = { .b = { .a = arena } };
        net_graph unrolled = { .b = { .a = arena } };
        pl_schedule_problem p = make_branches(&branches, 20, 1000000, wide ? 1000000 : 10000);
        report(wide ? "branches, wide" : "branches", &p, wide ? 0.02 : 0.01);
        p = make_unet(&unet, 6, wide ? 400000 : 4000000, wide ? 100000 : 10000);
        report(wide ? "unet, wide" : "unet", &p, 0.01);
        p = make_unrolled(&unrolled, 100, 100000, wide ? 3000000 : 30000);
        report(wide ? "unrolled, wide" : "unrolled", &p, 0.01);
    }
}

/* What memory needs does not hang on the order that the tasks come in. */
static void test_any_start(void **state)
{
    (void)state;
    static const int64_t weight[] = { 40000, 900000, 300000, 70000, 500000, 20000 };
    static const int64_t act[] = { 90000, 300000, 250000, 100000, 60000, 20000, 1000 };
    net_graph g = { .b = { .a = arena } };
    pl_schedule_problem p = make_chain(&g, 6, weight, act, true);
    int64_t peak = find(&p, PL_SCHEDULE_PLEAT, "in order").peak;
    for (int seed = 0; seed < ROUNDS_OF(10); seed++) {
        int *given = PL_NEW_N(arena, int, p.n), *wait = PL_NEW_N(arena, int, p.n);
        int *ready = PL_NEW_N(arena, int, p.n), n_ready = 0;
        pl_rng rng = pl_rng_at((uint64_t)seed, 1);
        for (int e = 0; e < p.edge_at[p.n]; e++) wait[p.edge[e]]++;
        for (int t = 0; t < p.n; t++)
            if (wait[t] == 0) ready[n_ready++] = t;
        for (int i = 0; i < p.n; i++) {
            int k = (int)pl_rng_below(rng, (uint64_t)i, (uint64_t)n_ready), t = given[i] = ready[k];
            ready[k] = ready[--n_ready];
            for (int e = p.edge_at[t]; e < p.edge_at[t + 1]; e++)
                if (--wait[p.edge[e]] == 0) ready[n_ready++] = p.edge[e];
        }
        pl_schedule s;
        pl_err err = { 0 };
        pl_schedule_options o = { .given = given };
        assert_true(pl_schedule_find(&p, &o, arena, &s, &err));
        if (s.peak * 100 > peak * 101) fail_msg("seed %d: %lld", seed, (long long)s.peak);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_update_bound), TEST(test_activation_bound),
        TEST(test_chains),       TEST(test_mobile),
        TEST(test_gpt),          TEST(test_shapes),
        TEST(test_any_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
