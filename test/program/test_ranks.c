/* Programs executed: every plan of a graph gives the numbers of the graph itself, under every
 * schedule of the messages that a program allows, and the same bits with and without reuse of
 * memory. What the check of programs lets pass is executed as well, broken programs included. */
#include "graphs.h"
#include "plans.h"
#include "ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_RANKS = 8 };

typedef struct trial {
    const char *name;
    uint64_t seed;
    const pl_graph *graph;
    const pl_plan *plan;
    pl_arena *arena;
    eval before, truth; /* leaves as fed; the graph run node by node */
} trial;

static void show(const trial *t, const pl_program *p)
{
    pl_text text = { .arena = t->arena };
    if (t->graph->nodes.n < 40) pl_graph_print(t->graph, &text);
    pl_plan_print(t->plan, &text);
    if (p) pl_program_print(p, &text);
    print_error("%s", pl_text_get(&text));
}

#define EXPECT(t, p, cond, ...)                                                                    \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            print_error("%s, seed %llu: ", (t)->name, (unsigned long long)(t)->seed);              \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            show(t, p);                                                                            \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

static void feed(eval *e, uint64_t seed)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->maker) continue;
        double lo = v->type == PL_I64 ? 1 : 0, hi = v->type == PL_I64 ? 5 : 0;
        if (strstr(v->name, ".v")) lo = 0.1, hi = 1; /* second moments are positive */
        eval_random(v->type, &v->shape, e->at[i], pl_rng_at(seed, (uint64_t)i), lo, hi);
    }
}

static trial begin(const char *name, const pl_graph *g, uint64_t seed, pl_arena *a)
{
    trial t = { name, seed, g, NULL, a, eval_new(g), eval_new(g) };
    feed(&t.before, seed);
    feed(&t.truth, seed);
    eval_run(&t.truth, g->nodes.n);
    return t;
}

static void end(trial *t)
{
    eval_free(&t->before);
    eval_free(&t->truth);
}

static ranks run(const trial *t, pl_program *const program[], schedule how, uint64_t seed)
{
    ranks r = ranks_new(program[0]->n_ranks, program);
    ranks_fill(&r, &t->before, true);
    EXPECT(t, program[0], ranks_step(&r, &t->before, how, seed), "the ranks wait for ever");
    return r;
}

static void lower_all(trial *t, const pl_lower_options *o, pl_program *program[])
{
    for (int i = 0; i < pl_mesh_ranks(&t->plan->mesh); i++) {
        pl_err err = { 0 };
        pl_store *store = pl_store_new(t->plan, i, t->arena);
        bool ok = pl_program_lower(t->plan, i, store, o, t->arena, &program[i], &err);
        EXPECT(t, NULL, ok, "rank %d: %s", i, err.msg);
        EXPECT(t, program[i], pl_program_check(program[i], &err), "rank %d: %s", i, err.msg);
        EXPECT(t, program[i], program[i]->work_bytes >= program[i]->work_bound, "below the bound");
    }
}

/* The plan's programs give the truth within `tolerance`; all layouts and schedules the same
 * bits. */
static void check_plan(trial *t, const pl_plan *p, double tolerance)
{
    static const pl_lower_options options[] = {
        { 0 },
        { .no_reuse = true },
        { .bucket_bytes = 1 },
        { .bucket_bytes = 100 },
    };
    ranks first = { 0 };
    pl_program *kept[MAX_RANKS], *program[MAX_RANKS];
    pl_err err = { 0 };
    t->plan = p;
    EXPECT(t, NULL, pl_plan_check(p, &err), "%s", err.msg);
    for (int o = 0; o < 4; o++) {
        lower_all(t, &options[o], program);
        for (schedule how = AS_LISTED; how <= BY_LOT; how++) {
            ranks r = run(t, program, how, t->seed + (uint64_t)o);
            const char *worst = NULL;
            double off = ranks_difference(&r, &t->truth, &worst);
            EXPECT(t, program[0], off <= tolerance, "'%s' is off by %g (options %d, schedule %d)",
                   worst, off, o, (int)how);
            bool same = !first.program || ranks_same(&first, &r);
            EXPECT(t, program[0], same, "options %d, schedule %d: other bits", o, (int)how);
            if (first.program) {
                ranks_free(&r);
                continue;
            }
            memcpy(kept, program, sizeof kept);
            r.program = kept;
            first = r;
        }
    }
    ranks_free(&first);
}

/* -- data parallel ----------------------------------------------------------------------------- */

static void check_data_parallel(const char *name, const pl_graph *g, uint64_t seed, pl_arena *a)
{
    trial t = begin(name, g, seed, a);
    check_plan(&t, pl_plan_single(g, a), 0);
    for (int n = 1; n <= 4; n *= 2) {
        pl_plan *p = NULL;
        pl_err err = { 0 };
        t.plan = pl_plan_single(g, a);
        bool ok = pl_plan_data_parallel(g, n, a, &p, &err);
        EXPECT(&t, NULL, ok, "dp=%d: %s", n, err.msg);
        check_plan(&t, p, n > 1 ? 1e-5 : 0);
    }
    end(&t);
}

static void test_by_hand(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    check_data_parallel("mlp", make_mlp(a, 8), 1, a);
    check_data_parallel("tied", make_tied(a, 8), 2, a);
    check_data_parallel("hazards", make_hazards(a, 8), 3, a);
    pl_arena_free(a);
}

static void test_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        pl_arena *a = pl_arena_new("test");
        check_data_parallel("random", make_random(a, seed), seed, a);
        pl_arena_free(a);
    }
}

/* -- any plan ---------------------------------------------------------------------------------- */

static const int meshes[][4] = {
    { 2 }, { 4 }, { 3 }, { 2, 2 }, { 2, 1, 2 }, { 2, 3 }, { 2, 2, 2 }
};
enum { N_MESHES = sizeof meshes / sizeof *meshes };

static pl_graph *graph_by_lot(pl_arena *a, uint64_t seed, const char **name)
{
    switch (seed % 8) {
    case 0: return *name = "mlp", make_mlp(a, 12);
    case 1: return *name = "tied", make_tied(a, 12);
    case 2: return *name = "hazards", make_hazards(a, 12);
    default: return *name = "random", make_random(a, seed);
    }
}

static void test_any_plan(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 250; seed++) {
        pl_arena *a = pl_arena_new("test");
        const char *name;
        pl_mesh m = mesh_of(meshes[seed % N_MESHES]);
        pl_graph *g = graph_by_lot(a, seed, &name);
        trial t = begin(name, g, seed, a);
        check_plan(&t, plan_by_lot(g, &m, seed, 1 + (int)(seed / 8 % 3), a), 1e-5);
        end(&t);
        pl_arena_free(a);
    }
}

/* -- broken programs --------------------------------------------------------------------------- */

/* Break step i of every rank's program in the same way. */
static void break_step(pl_program *const program[], int n, lot *l)
{
    int steps = program[0]->n_steps, i = lot_below(l, steps), k = lot_below(l, steps);
    int kind = lot_below(l, 6), side = lot_below(l, 8), by = lot_below(l, 2) ? 64 : -64;
    for (int r = 0; r < n; r++) {
        pl_step *s = &program[r]->step[i], x = *s, *other = &program[r]->step[k];
        if (kind == 0)
            s->wait = s->wait > 0 ? s->wait - 1 : 0;
        else if (kind == 1)
            s->after = s->after > 0 ? s->after - 1 - side % s->after : 0;
        else if (kind == 2 && i + 1 < steps)
            *s = s[1], s[1] = x;
        else if (kind == 3 && s->n_in)
            s->in[side % s->n_in].at += by;
        else if (kind == 4)
            s->out[side % s->n_out].at += by;
        else if (kind == 5 && s->n_in)
            s->in[side % s->n_in] = other->out[0];
    }
}

static bool all_pass(pl_program *const program[], int n)
{
    bool ok = true;
    for (int r = 0; r < n; r++) {
        pl_err err = { 0 };
        ok &= pl_program_check(program[r], &err);
    }
    return ok;
}

/* Half of the breaks change nothing that matters (two independent steps change places); what the
 * check lets pass has to give the same bits, whatever the messages do. */
static void check_broken(trial *t, int *caught, int *passed)
{
    const pl_lower_options o = { .bucket_bytes = 1 + (int64_t)(t->seed % 3) * 100 };
    pl_program *right[MAX_RANKS], *broken[MAX_RANKS];
    lower_all(t, &o, right);
    ranks truth = run(t, right, AS_LISTED, 0);
    for (uint64_t k = 0; k < 12; k++) {
        lot l = { .rng = pl_rng_at(t->seed, 100 + k) };
        lower_all(t, &o, broken);
        break_step(broken, broken[0]->n_ranks, &l);
        if (!all_pass(broken, broken[0]->n_ranks)) {
            ++*caught;
            continue;
        }
        ++*passed;
        for (int how = AS_LISTED; how < BY_LOT + 4; how++) {
            ranks r = run(t, broken, how < BY_LOT ? (schedule)how : BY_LOT, k + (uint64_t)how);
            EXPECT(t, broken[0], ranks_same(&truth, &r),
                   "break %d passes the check, but changes bits", (int)k);
            ranks_free(&r);
        }
    }
    ranks_free(&truth);
}

static void test_broken(void **state)
{
    int caught = 0, passed = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        pl_arena *a = pl_arena_new("test");
        const char *name;
        pl_mesh m = mesh_of(meshes[seed % N_MESHES]);
        pl_graph *g = graph_by_lot(a, seed, &name);
        trial t = begin(name, g, seed, a);
        t.plan = plan_by_lot(g, &m, seed, 2, a);
        check_broken(&t, &caught, &passed);
        end(&t);
        pl_arena_free(a);
    }
    if (caught < passed) print_error("%d breaks caught, %d passed\n", caught, passed);
    assert_true(caught >= passed && passed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_any_plan),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
