/* Tables of stacks of blocks that share what has a gradient: copies of one chain, whatever the
 * depth, with the least time and memory that the same graph has node by node. */
#include "graph/fold.h"
#include "cost/problem.h"
#include "chain/chain.h"
#include "support/tiny.h"

#include "support/training.h"

#define T5 "t5:hidden=32,ffn=64,heads=4,head=8,vocab=64,seq=16,batch=8"

enum { SEEDS = 2 };

static const struct {
    int n, size[2];
} meshes[] = { { 1, { 2 } }, { 1, { 4 } }, { 2, { 2, 2 } } };

static world world_of(const char *model, uint64_t seed)
{
    world w = { .r = draw_from(seed), .arena = pl_arena_new("test") };
    int k = (int)seed % 3;
    w.graph = training_graph(model, w.arena);
    w.fold = pl_fold_find(w.graph, w.arena);
    w.mesh = tiny_mesh(&w.r, meshes[k].n, meshes[k].size, w.arena);
    w.speed = tiny_speed(&w.r);
    w.speed.hidden = 0; /* of equal blocks the one counts that hides most (cost/problem.h) */
    return w;
}

static pl_problem *tables_of(const world *w, bool fold)
{
    return pl_problem_new(w->graph, fold ? &w->fold : NULL, w->mesh, &w->speed, w->arena);
}

/* Do two answers agree as far as they are proven? */
static bool agree(const pl_answer *x, const pl_answer *y)
{
    if (x->proven && y->proven) return fabs(x->time - y->time) <= 1e-12 * y->time;
    return x->bound <= y->time * (1 + 1e-9) && y->bound <= x->time * (1 + 1e-9);
}

/* What the nodes and the stored tensors of a plan cost, exactly: all else as is best. */
static double cost_of(const world *w, const pl_problem *t, const pl_plan *p, double cap)
{
    pl_sum s;
    pl_answer x = { 0 };
    pl_err err = { 0 };
    if (!pl_problem_fix(t, p, w->arena, &s, &err) ||
        !pl_search_min(&s, cap, NULL, w->arena, &x, &err))
        fail_msg("seed %d: %s", (int)w->r.seed, err.msg);
    EXPECT(x.proven, "seed %d: the cost of a plan is not proven", (int)w->r.seed);
    return x.time;
}

/* The least times within the cap, and what the plan that was found costs; *memory: of that. */
static void expect_same(const world *w, const char *model, pl_problem *folded, pl_problem *flat,
                        double cap, double *memory)
{
    const pl_search_options few = { .effort = 1 << 22 }, *options = isinf(cap) ? NULL : &few;
    pl_answer x = { 0 }, y = { 0 };
    pl_err err = { 0 };
    bool ok = pl_problem_min(folded, cap, false, options, w->arena, &x, &err),
         same = pl_problem_min(flat, cap, false, options, w->arena, &y, &err) == ok;
    EXPECT(same && (!ok || agree(&x, &y)),
           "%s, seed %d, cap %g: folded %.17g s, bound %.17g, node by node %.17g s, bound %.17g",
           model, (int)w->r.seed, cap, x.time, x.bound, y.time, y.bound);
    if (!ok) return;
    const pl_plan *p = pl_problem_plan(folded, x.value, NULL, "auto", NULL, w->arena);
    double a = cost_of(w, folded, p, x.memory * (1 + 1e-12)),
           b = cost_of(w, flat, p, x.memory * (1 + 1e-12));
    EXPECT(fabs(a - b) <= 1e-12 * b, "%s, seed %d: a plan costs %.17g s, node by node %.17g s",
           model, (int)w->r.seed, a, b);
    *memory = x.memory;
}

/* -- T5 ---------------------------------------------------------------------------------------- */

/* Both stacks are copies but for their last blocks. */
static void test_any_depth_of_t5_has_the_same_tables(void **state)
{
    (void)state;
    static const char *const kinds[] = { "", ",dropout=0", ",dtype=bf16" };
    for (int k = 0; k < 3; k++)
        for (int n = 4, size[2 + PL_N_EDGES]; n <= 96; n += n < 6 ? 1 : n) {
            pl_arena *a = pl_arena_new("test");
            world w = world_of(pl_arena_fmt(a, "%s,layers=%d%s", T5, n, kinds[k]), 1);
            pl_problem *t = tables_of(&w, true);
            int now[2 + PL_N_EDGES] = { t->vars[0].n, t->vars[1].n };
            for (int i = 0; i < PL_N_EDGES; i++) now[2 + i] = t->edges[i].n;
            if (n == 4) memcpy(size, now, sizeof size);
            EXPECT(t->n_classes == 2 && t->copies == n - 1 && !memcmp(size, now, sizeof size),
                   "%d layers%s: %d classes in %d copies, %d variables outside, %d in a block", n,
                   kinds[k], t->n_classes, t->copies, t->vars[0].n, t->vars[1].n);
            pl_arena_free(w.arena);
            pl_arena_free(a);
        }
}

/* Without a cap, and on the mesh that is soon searched with one of some part of what the fastest
 * takes. */
static void test_t5_is_the_same_node_by_node(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int copies;
    } rows[] = {
        { T5 ",layers=4", 3 },
        { T5 ",layers=5,dropout=0", 4 },
        { T5 ",layers=2,decoder=5", 4 },
        { T5 ",layers=6,decoder=4,dropout=0", 5 },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            world w = world_of(rows[r].model, seed);
            pl_problem *folded = tables_of(&w, true), *flat = tables_of(&w, false);
            double memory;
            EXPECT(folded->copies == rows[r].copies && flat->copies == 1, "%s: %d copies",
                   rows[r].model, folded->copies);
            expect_same(&w, rows[r].model, folded, flat, INFINITY, &memory);
            double part = 0.5 + 0.5 * pl_rng_uniform(w.r.rng, w.r.drawn++);
            if (w.mesh->axis[0].size == 2 && w.mesh->n == 1)
                expect_same(&w, rows[r].model, folded, flat, part * memory, &memory);
            pl_arena_free(w.arena);
        }
}

/* -- micro-batches ----------------------------------------------------------------------------- */

/* A step whose graph says that it has `micro` micro-batches; made for several in any case. */
static const pl_problem *tables_in(const world *w, const char *model, int64_t micro)
{
    const pl_optim adamw = { "adamw", 0.9, 0.99, 1e-8, 0, 0.1, 1 };
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    EXPECT(pl_model_parse(model, w->arena, &args, &err), "%s", err.msg);
    pl_builder b = pl_optim_step(&args, &adamw, 2, w->arena);
    EXPECT(pl_builder_done(&b, &g, &err), "%s", err.msg);
    g->micro = micro;
    return pl_problem_new(g, NULL, w->mesh, &w->speed, w->arena);
}

/* Other values of some variables, such that all that lies between them can be moved. */
static void change_values(const pl_problem *t, world *w, int *value)
{
    for (int i = 0; i < t->vars[0].n; i++) {
        const int was = value[i];
        if (pl_rng_uniform(w->r.rng, w->r.drawn++) < 0.8) continue;
        value[i] = (int)(pl_rng_uniform(w->r.rng, w->r.drawn++) * t->vars[0].at[i].n);
        if (pl_problem_cost(t, value).time == INFINITY) value[i] = was;
    }
}

/* Each micro-batch adds the same to what the update takes; memory is that of one. */
static void test_each_micro_batch_costs_the_same(void **state)
{
    static const char *const models[] = {
        T5 ",layers=2", "mlp:batch=8", "moe:layers=2,in=8,hidden=16,experts=4,tokens=8,batch=8"
    };
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            world w = world_of("mlp:batch=8", seed);
            const pl_problem *t[] = { tables_in(&w, models[m], 1), tables_in(&w, models[m], 2),
                                      tables_in(&w, models[m], 7) };
            int *value = PL_NEW_N(w.arena, int, t[0]->vars[0].n + 1);
            for (int k = 0; k < 10; k++) {
                change_values(t[0], &w, value);
                const pl_cost one = pl_problem_cost(t[0], value),
                              two = pl_problem_cost(t[1], value),
                              seven = pl_problem_cost(t[2], value);
                const double each = two.time - one.time, update = one.time - each;
                EXPECT(each > 0 && update > 0 &&
                           fabs(seven.time - 7 * each - update) < 1e-9 * seven.time,
                       "%s: %.17g s, %.17g s, %.17g s", models[m], one.time, two.time, seven.time);
                EXPECT(one.memory == two.memory && one.memory == seven.memory, "%s: memory",
                       models[m]);
            }
            for (int i = 0; i < t[0]->graph->nodes.n; i++) {
                const int v = t[0]->node[i];
                const double runs = t[0]->graph->nodes.at[i]->phase == PL_UPDATE ? 1 : 7;
                for (int k = 0; v >= 0 && k < t[0]->vars[0].at[v].n; k++)
                    EXPECT(t[2]->vars[0].at[v].time[k] == runs * t[0]->vars[0].at[v].time[k],
                           "%s: '%s'", models[m], t[0]->graph->nodes.at[i]->name);
            }
            pl_arena_free(w.arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_depth_of_t5_has_the_same_tables),
        cmocka_unit_test(test_t5_is_the_same_node_by_node),
        cmocka_unit_test(test_each_micro_batch_costs_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
