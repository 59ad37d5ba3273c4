/* Programs executed: every plan of a graph gives the numbers of the graph itself, under every
 * schedule of the messages that a program allows, and the same bits with and without reuse of
 * memory. A random case that fails is made smaller and printed. */
#include "support/rounds.h"
#include "support/trial.h"
#include "layouts/strategy.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* -- by hand ----------------------------------------------------------------------------------- */

static void check_data_parallel(const char *name, const pl_graph *g, uint64_t seed, pl_arena *a)
{
    trial t = trial_new(g, seed, a);
    for (int n = 1; n <= 4; n++) {
        pl_plan *p = NULL;
        pl_err err = { 0 };
        pl_strategy dp;
        bool ok = pl_strategy_parse("dp", n, a, &dp, &err) &&
                  pl_strategy_plan(&dp, g, NULL, a, &p, &err) &&
                  trial_plan(&t, p, n > 1 ? 1e-5 : 0, seed, true, &err);
        if (!ok) print_error("%s, dp=%d: %s\n", name, n, err.msg);
        assert_true(ok);
    }
    trial_free(&t);
}

static void test_by_hand(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    check_data_parallel("mlp", make_mlp(a, 8), 1, a);
    check_data_parallel("mlp, uneven", make_mlp(a, 5), 1, a);
    check_data_parallel("mlp, a rank without rows", make_mlp(a, 3), 1, a);
    check_data_parallel("tied", make_tied(a, 8), 2, a);
    check_data_parallel("tied, uneven", make_tied(a, 7), 2, a);
    check_data_parallel("hazards", make_hazards(a, 8), 3, a);
    check_data_parallel("hazards, uneven", make_hazards(a, 9), 3, a);
    pl_arena_free(a);
}

/* -- any plan ---------------------------------------------------------------------------------- */

enum { MLP, TIED, HAZARDS, RANDOM };

typedef struct lot_case {
    uint64_t seed;
    int kind;
    int64_t batch; /* of the graphs by hand                            */
    recipe graph;  /* RANDOM                                           */
    int mesh[4];   /* sizes of the axes, 0 behind the last             */
    int keep;      /* one choice in so many is by lot                  */
    lot_limits limits;
} lot_case;

static lot_case case_by_lot(uint64_t seed)
{
    static const int meshes[][4] = { { 2 },    { 3 },    { 4 },    { 2, 2 }, { 2, 1, 2 },
                                     { 2, 3 }, { 3, 2 }, { 2, 4 }, { 4, 2 }, { 2, 2, 2 },
                                     { 5 },    { 8 },    { 7 },    { 6 } };
    lot l = { .rng = pl_rng_at(seed, 2) };
    lot_case x = { .seed = seed, .graph = random_recipe(seed) };
    x.kind = lot_below(&l, 12);
    if (x.kind > RANDOM) x.kind = RANDOM;
    x.batch = 3 + lot_below(&l, 10);
    x.keep = 1 + lot_below(&l, 3);
    memcpy(x.mesh, meshes[lot_below(&l, sizeof meshes / sizeof *meshes)], sizeof x.mesh);
    return x;
}

static pl_graph *make_graph(const lot_case *x, pl_arena *a)
{
    switch (x->kind) {
    case MLP: return make_mlp(a, x->batch);
    case TIED: return make_tied(a, x->batch);
    case HAZARDS: return make_hazards(a, x->batch);
    default: return make_recipe(a, &x->graph);
    }
}

/* What the programs of all cases have in them. */
typedef struct tally {
    int steps[PL_HOST_KERNEL + 1], collectives[PL_N_COLLECTIVES], moves[PL_N_COLLECTIVES];
} tally;

static void add_up(tally *sum, const trial *t)
{
    for (int k = 0; k <= PL_HOST_KERNEL; k++) sum->steps[k] += t->seen[k];
    for (int k = 0; k <= PL_RECV; k++) sum->collectives[k] += t->collectives[k];
    for (int k = 0; k < PL_N_COLLECTIVES; k++) sum->moves[k] += t->moves[k];
}

static sigjmp_buf escape;

static void escape_abort(int number)
{
    siglongjmp(escape, number);
}

/* A failed assertion in what is tested fails the case, so that it can be made smaller. What it had
 * in use is lost. */
static bool try_case(const lot_case *x, pl_text *show, tally *sum, pl_err *err)
{
    pl_arena *a = pl_arena_new("test");
    void (*before)(int) = signal(SIGABRT, escape_abort);
    pl_mesh m = mesh_of(x->mesh);
    if (sigsetjmp(escape, 1)) {
        signal(SIGABRT, before);
        return pl_err_set(err, PL_EINTERNAL, "aborted");
    }
    pl_graph *g = make_graph(x, a);
    pl_plan *p = plan_within(g, &m, x->seed, x->keep, &x->limits, a);
    if (show) {
        pl_graph_print(g, show);
        pl_plan_print(p, show);
    }
    trial t = trial_new(g, x->seed, a);
    bool ok = trial_plan(&t, p, 1e-5, x->seed, false, err);
    if (show && t.failed) pl_program_print(t.failed, show);
    signal(SIGABRT, before);
    if (sum) add_up(sum, &t);
    trial_free(&t);
    pl_arena_free(a);
    return ok;
}

/* -- a smaller case that fails ----------------------------------------------------------------- */

/* The k-th way to make a case smaller; false when there are no more. *changed: it is another. */
static bool make_smaller(lot_case *x, int k, bool *changed)
{
    lot_case was;
    int axes = 0;
    memcpy(&was, x, sizeof was);
    while (axes < 3 && x->mesh[axes]) axes++;
    if (k < 3) {
        if (axes > 1 && k < axes)
            memmove(&x->mesh[k], &x->mesh[k + 1], sizeof(int) * (size_t)(3 - k));
    } else if ((k -= 3) < 3) {
        if (k < axes && x->mesh[k] > 2) x->mesh[k]--;
    } else if ((k -= 3) < MOST_STEPS) {
        if (k < x->graph.n_steps) x->graph.dropped |= 1u << k;
    } else if ((k -= MOST_STEPS) < 32) {
        if (k == NO_UPDATES || k < MOST_OUTPUTS) x->graph.silent |= 1u << k;
    } else if ((k -= 32) < 3) {
        if (x->graph.size[k] > 1) x->graph.size[k]--;
    } else if ((k -= 3) < 64) {
        x->limits.whole |= 1ull << k;
    } else if ((k -= 64) < 64) {
        x->limits.copied |= 1ull << k;
    } else if (k == 64) {
        if (x->batch > 1) x->batch--;
    } else {
        return false;
    }
    *changed = memcmp(&was, x, sizeof was) != 0;
    return true;
}

static lot_case shrink(lot_case x)
{
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int k = 0, tries = 0;; k++, tries = 0) {
            lot_case y = x;
            bool changed = false;
            if (!make_smaller(&y, k, &changed)) break;
            for (; changed && tries < 12; tries++) { /* sizes: again and again */
                pl_err err = { 0 };
                if (try_case(&y, NULL, NULL, &err)) break;
                x = y;
                smaller = true;
                make_smaller(&y, k, &changed);
            }
        }
    }
    return x;
}

static void fail_case(const lot_case *x, const pl_err *first)
{
    pl_arena *a = pl_arena_new("test");
    pl_text text = { .arena = a };
    pl_err err = { 0 };
    print_error("seed %llu: %s\n", (unsigned long long)x->seed, first->msg);
    lot_case small = shrink(*x);
    bool ok = try_case(&small, &text, NULL, &err);
    fprintf(stderr, "made smaller: %s\n%s", ok ? "passes" : err.msg, pl_text_get(&text));
    pl_arena_free(a);
    fail();
}

static void test_any_plan(void **state)
{
    const char *only = getenv("PLEAT_TEST_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : 0, n = only ? 1 : ROUNDS_OF(600);
    tally sum = { 0 };
    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        lot_case x = case_by_lot(seed);
        pl_err err = { 0 };
        if (!try_case(&x, NULL, &sum, &err)) fail_case(&x, &err);
    }
    for (int k = 0; k <= PL_HOST_KERNEL; k++) assert_true(only || sum.steps[k] > 0);
    for (int k = 0; k < PL_BARRIER; k++) { /* windows: test_windows.c */
        const bool is_message = pl_collective_is_message((pl_collective)k);
        assert_true(only || !is_message || sum.collectives[k] > 0);
        const bool is_host = pl_collective_is_host((pl_collective)k);
        assert_true(only || (k >= PL_HALO && !is_host) || sum.moves[k] > 0);
    }
    for (int k = 0; k < PL_N_COLLECTIVES; k++)
        print_message("%s %d\n", pl_collective_name((pl_collective)k), sum.moves[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_any_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
