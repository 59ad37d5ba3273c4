/* Domains, tables and the search over them: what a plan costs in the tables is the same before and
 * after it was a plan; folded and unfolded agree; no preset is faster. */
#include "support/request.h"
#include "support/training.h"
#include "plan/stages.h"
#include "planners/auto.h"

#include <math.h>

static const char *const models[] = {
    "mlp:layers=5,in=64,hidden=64,classes=64,batch=64",
    "gpt2:layers=3,hidden=64,heads=4,vocab=96,seq=32,batch=8,dropout=0.1",
    "masters gpt2:layers=3,hidden=64,heads=4,vocab=96,seq=32,batch=8,dtype=bf16",
    "moe:layers=3,hidden=32,batch=8",
};
enum { N_MODELS = sizeof models / sizeof *models };

/* -- domains ----------------------------------------------------------------------------------- */

static bool same_places(const pl_choice *a, const pl_choice *b, const pl_node *n, const pl_mesh *m)
{
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = pl_choice_operand(a, n, m, o), y = pl_choice_operand(b, n, m, o);
        if (!pl_placement_same(&x, &y)) return false;
    }
    return true;
}

/* Every choice is legal and comes once; of a matrix product on two axes all there are. */
static void test_domains(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_mesh m = { .n = 2,
                        .axis = { { .name = "x", .size = 2 }, { .name = "y", .size = 4 } } };
    for (int k = 0; k < N_MODELS; k++) {
        const pl_graph *g = training_graph(models[k], a);
        pl_plan *p = pl_plan_single(g, a);
        p->mesh = m;
        for (int i = 0; i < g->nodes.n; i++) {
            const pl_node *n = g->nodes.at[i];
            pl_domain d = pl_domain_of(n, &m, a);
            assert_true(d.n >= 1);
            for (int c = 0; c < d.n; c++) {
                pl_err err = { 0 };
                p->choice[i] = d.choice[c];
                if (!pl_plan_check_node(p, n, &err)) fail_msg("%s: %s", n->name, err.msg);
                for (int o = 0; o < n->n_in + n->n_out; o++) {
                    pl_placement x = pl_choice_operand(&d.choice[c], n, &m, o);
                    assert_true(pl_placement_same(&x, &d.placements[o].at[d.at[o][c]]));
                }
                for (int b = 0; b < c; b++)
                    assert_false(!memcmp(&d.choice[b], &d.choice[c], sizeof d.choice[c]));
            }
        }
    }
    pl_arena_free(a);
}

/* [m,k] x [k,n]: none, m, k, n or one of two linear sets per axis, and both orders of two axes on
 * one factor. */
static void test_domain_of_product(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_mesh m = { .n = 2,
                        .axis = { { .name = "x", .size = 2 }, { .name = "y", .size = 4 } } };
    const pl_graph *g = training_graph(models[0], a);
    const pl_node *n = pl_graph_find(g, "layers.1.linear")->maker;
    pl_domain d = pl_domain_of(n, &m, a);
    assert_int_equal(d.n, 6 * 6 + 3);
    int same = 0;
    for (int i = 0; i < d.n; i++)
        for (int k = 0; k < i; k++) same += same_places(&d.choice[i], &d.choice[k], n, &m);
    assert_int_equal(same, 0);
    pl_arena_free(a);
}

/* -- tables ------------------------------------------------------------------------------------ */

static pl_auto *search_on(const pl_graph *g, const char *cluster, pl_arena *a)
{
    pl_auto *x;
    pl_err err = { 0 };
    if (!pl_auto_plan(g, cluster_of(cluster, a), NULL, a, &x, &err)) fail_msg("%s", err.msg);
    return x;
}

/* What a plan costs at least in the tables of its mesh. */
static double cost_of(const pl_graph *g, const pl_plan *p, const pl_cluster *c, pl_arena *a,
                      bool *known)
{
    const pl_speed speed = pl_speed_of(c);
    pl_problem *t = pl_problem_new(g, NULL, &p->mesh, &speed, a);
    pl_sum sum;
    pl_answer answer;
    pl_err err = { 0 };
    *known = pl_problem_fix(t, p, a, &sum, &err);
    if (!*known) return INFINITY;
    if (!pl_search_min(&sum, INFINITY, NULL, a, &answer, &err)) fail_msg("%s", err.msg);
    return answer.time;
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(models[k], a);
        const pl_auto *x = search_on(g, "2x4xv100", a);
        bool known;
        double again = cost_of(g, x->plan, cluster_of("2x4xv100", a), a, &known);
        print_message("%-70s %.6f ms, bound %.6f, %s\n", models[k], 1e3 * x->seconds,
                      1e3 * x->bound, x->mesh[x->best].proven ? "proven" : "not proven");
        assert_true(known);
        assert_true(fabs(again - x->seconds) <= 1e-9 * x->seconds);
        assert_true(x->bound <= x->seconds * (1 + 1e-9));
        pl_arena_free(a);
    }
}

/* Slow links: messages of gradients take longer than all computing. At no price between computing
 * and sending is there a bound above the one found, and what is found costs what it says. */
static void test_overlap(void **state)
{
    (void)state;
    static const double speeds[] = { 1e7, 1e8, 1e9, 1e10, 1e11 };
    for (int k = 0; k < N_MODELS; k++) {
        for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
            pl_arena *a = pl_arena_new("test");
            const pl_graph *g = training_graph(models[k], a);
            pl_fold fold = pl_fold_find(g, a);
            pl_speed speed = { .stream = speeds[i], .start = 1e-6, .hidden = 0.9 };
            for (int t = 0; t < PL_N_TYPES; t++) speed.flops[t] = speeds[i];
            const pl_mesh m = {
                .n = 1, .axis = { { .name = "x", .size = 4, .latency = 1e-6, .per_byte = 1e-9 } }
            };
            pl_problem *t = pl_problem_new(g, &fold, &m, &speed, a);
            pl_answer found;
            pl_err err = { 0 };
            if (!pl_problem_min(t, INFINITY, false, NULL, a, &found, &err)) fail_msg("%s", err.msg);
            pl_cost cost = pl_problem_cost(t, found.value);
            assert_true(fabs(cost.time - found.time) <= 1e-12 * found.time);
            print_message("%.20s %.0e gap %.4f %%\n", models[k], speeds[i],
                          100 - 100 * found.bound / found.time);
            assert_true(found.bound <= found.time && found.bound >= 0.5 * found.time);
            for (int p = 0; p <= 10; p++) {
                pl_answer x;
                pl_chain c = pl_problem_chain(t, p / 10., a);
                assert_true(pl_chain_min(&c, INFINITY, NULL, a, &x, &err));
                assert_true(x.bound <= found.time * (1 + 1e-9));
                assert_true(x.bound <= found.bound * (1 + 1e-6) || !found.proven);
                assert_true(pl_problem_cost(t, x.value).time >= found.bound * (1 - 1e-9));
            }
            pl_arena_free(a);
        }
    }
}

static void test_fold_changes_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(models[k], a);
        const pl_cluster *c = cluster_of("8xv100", a);
        const pl_speed speed = pl_speed_of(c);
        pl_mesh m[4];
        pl_fold fold = pl_fold_find(g, a);
        assert_true(pl_auto_meshes(c, 1, 1, 4, m) >= 1);
        double time[2];
        for (int f = 0; f < 2; f++) {
            pl_problem *t = pl_problem_new(g, f ? &fold : NULL, &m[0], &speed, a);
            pl_answer answer;
            pl_err err = { 0 };
            if (!pl_chain_min(&t->chain, INFINITY, NULL, a, &answer, &err)) fail_msg("%s", err.msg);
            assert_true(answer.proven);
            time[f] = answer.time;
        }
        assert_true(fabs(time[0] - time[1]) <= 1e-9 * time[0]);
        pl_arena_free(a);
    }
}

static void test_presets_are_not_faster(void **state)
{
    static const char *const presets[] = { "dp",     "zero=1",     "zero=2",      "zero=3",
                                           "tp=4",   "tp=4,sp",    "zero=3,tp=2", "tp=2",
                                           "hsdp=2", "grid:1x2x2", "grid:2x2x1",  "tp=2d:2x2" };
    int n_known = 0;
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(models[k], a);
        pl_cluster *c = cluster_of("4xv100", a);
        const pl_auto *x = search_on(g, "4xv100", a);
        for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
            pl_strategy s;
            pl_plan *p;
            pl_err err = { 0 };
            bool known, fits = pl_strategy_parse(presets[i], 4, a, &s, &err);
            s.cluster = c;
            if (!fits || !pl_strategy_plan(&s, g, NULL, a, &p, &err)) continue;
            double cost = cost_of(g, p, c, a, &known);
            n_known += known;
            if (known && cost < x->seconds * (1 - 1e-9))
                fail_msg("%s: %s takes %g ms, the search found %g", models[k], presets[i],
                         1e3 * cost, 1e3 * x->seconds);
        }
        pl_arena_free(a);
    }
    print_message("%d presets were priced\n", n_known);
    assert_true(n_known > 20);
}

/* Stages take the outermost levels, and what is left of them is the mesh of one stage. */
static void test_stage_meshes(void **state)
{
    static const struct {
        const char *cluster;
        int stages, n;
    } cases[] = { { "2x8xv100", 2, 2 }, { "2x8xv100", 4, 2 }, { "2x8xv100", 16, 1 },
                  { "8xv100", 4, 1 },   { "4x4xh100", 2, 1 }, { "2x8xv100", 3, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_cluster *c = cluster_of(cases[i].cluster, a);
        pl_mesh m[8];
        const int n = pl_auto_meshes(c, 2, cases[i].stages, 8, m);
        assert_int_equal(n, cases[i].n);
        for (int k = 0; k < n; k++) {
            assert_int_equal(pl_mesh_find(&m[k], PL_STAGE_AXIS), 0);
            assert_int_equal(m[k].axis[0].size, 1);
            assert_int_equal(pl_mesh_ranks(&m[k]) * cases[i].stages, c->n_devices);
        }
        pl_arena_free(a);
    }
}

/* Names of levels become names of axes that a plan file can have, each another. */
static void test_axis_names(void **state)
{
    static const char text[] =
        "schema: pleat.cluster/1\n"
        "classes:\n"
        "  x: {memory: 1GiB, f32_flops: 1 TFLOP/s, memory_bandwidth: 1 GB/s}\n"
        "levels:\n"
        "  - {name: 'a, b: c', size: 4, latency: 1 us, bandwidth: 1 GB/s}\n"
        "  - {name: 'a- b- c', size: 4, latency: 1 us, bandwidth: 1 GB/s}\n"
        "  - {name: links of the rack 1, size: 2, latency: 1 us, bandwidth: 1 GB/s}\n"
        "  - {name: links of the rack 2, size: 2, latency: 1 us, bandwidth: 1 GB/s}\n"
        "groups:\n"
        "  - {class: x, count: 2}\n";
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_cluster *c;
    pl_err err = { 0 };
    pl_mesh m[64];
    if (!pl_cluster_parse(text, strlen(text), "names.yaml", a, &c, &err)) fail_msg("%s", err.msg);
    int n = pl_auto_meshes(c, 6, 1, 64, m), split = 0;
    assert_true(n > 1);
    for (int i = 0; i < n; i++)
        for (int x = 0; x < m[i].n; x++) {
            assert_int_equal(pl_mesh_find(&m[i], m[i].axis[x].name), x);
            assert_null(strpbrk(m[i].axis[x].name, " ,:;]}"));
            split += strchr(m[i].axis[x].name, '1') != NULL;
        }
    assert_true(split > 0);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axis_names),
        cmocka_unit_test(test_stage_meshes),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_domain_of_product),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_fold_changes_nothing),
        cmocka_unit_test(test_presets_are_not_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
