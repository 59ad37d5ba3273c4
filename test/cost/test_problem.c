/* Tables of stacks of blocks that share what has a gradient: copies of one chain, whatever the
 * depth, with the least time and memory that the same graph has node by node. */
#include "graph/fold.h"
#include "cost/problem.h"
#include "chain/chain.h"
#include "support/tiny.h"

#include "support/training.h"

#define T5 "t5:hidden=32,ffn=64,heads=4,head=8,vocab=64,seq=16,batch=8"

enum { SEEDS = 3 };

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
    const pl_plan *p = pl_problem_plan(folded, x.value, NULL, "auto", w->arena);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_depth_of_t5_has_the_same_tables),
        cmocka_unit_test(test_t5_is_the_same_node_by_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
