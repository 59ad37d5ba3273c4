/* A cost problem as text: read back it prints the same, and is searched with the same steps. */
#include "support/presets.h"
#include "support/rounds.h"
#include "cost/text.h"
#include "planners/auto.h"

#include <stdlib.h>

static const char *const models[] = {
    "mlp:layers=4",
    "gpt2:layers=6,hidden=256,heads=4,seq=64,batch=16",
    "t5:layers=4,seq=64,batch=16",
    "moe:layers=4,batch=16",
};

static void expect_same_answer(const char *name, const pl_problem *a, const pl_problem *b,
                               const pl_answer *x, const pl_answer *y)
{
    const int64_t n = pl_chain_variables(&a->chain);
    EXPECT(n == pl_chain_variables(&b->chain), "%s: variables", name);
    EXPECT(!memcmp(x->value, y->value, (size_t)n * sizeof *x->value), "%s: values", name);
    EXPECT(x->time == y->time && x->memory == y->memory && x->bound == y->bound, "%s: figures",
           name);
    EXPECT(x->work == y->work, "%s: %lld steps and %lld", name, (long long)x->work,
           (long long)y->work);
}

/* With all memory; and with a cap between the least and what the fastest takes: this takes long. */
static void search_both(const char *name, pl_problem *a, pl_problem *b, pl_arena *arena)
{
    pl_answer x, y;
    pl_err err = { 0 };
    EXPECT(pl_problem_least(a, arena, &x, &err) && pl_problem_least(b, arena, &y, &err), "%s: %s",
           name, err.msg);
    expect_same_answer(name, a, b, &x, &y);
    const double least = x.memory;
    EXPECT(pl_problem_min(a, INFINITY, false, NULL, arena, &x, &err) &&
               pl_problem_min(b, INFINITY, false, NULL, arena, &y, &err),
           "%s: %s", name, err.msg);
    expect_same_answer(name, a, b, &x, &y);
    if (PL_SANITIZED) return;
    const double cap = (least + x.memory) / 2;
    const bool ok = pl_problem_min(a, cap, false, NULL, arena, &x, &err);
    EXPECT(ok == pl_problem_min(b, cap, false, NULL, arena, &y, &err), "%s: a cap", name);
    if (ok) expect_same_answer(name, a, b, &x, &y);
}

static void test_models(void **state)
{
    (void)state;
    int hides = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_model(models[i], PL_TRAIN, a);
        const pl_auto_options options = { 0 };
        pl_auto *x;
        pl_cluster *c;
        pl_err err = { 0 };
        EXPECT(pl_cluster_find("2x4xv100", a, &c, &err), "%s", err.msg);
        EXPECT(pl_auto_open(g, c, &options, a, &x, &err), "%s", err.msg);
        for (int k = (int)i % x->n; k < x->n; k += PL_SANITIZED ? x->n : 2) {
            pl_text text = { .arena = a }, again = { .arena = a };
            pl_problem *read;
            pl_problem_print(x->mesh[k].problem, &text);
            EXPECT(pl_problem_parse(pl_text_get(&text), a, &read, &err), "%s: %s", models[i],
                   err.msg);
            pl_problem_print(read, &again);
            assert_string_equal(pl_text_get(&text), pl_text_get(&again));
            hides += strstr(pl_text_get(&text), "\nhides ") != NULL;
            search_both(models[i], x->mesh[k].problem, read, a);
        }
        pl_arena_free(a);
    }
    EXPECT(hides > 2, "only %d problems in which anything hides", hides);
}

/* -- mistakes ---------------------------------------------------------------------------------- */

#define CHAIN                                                                                      \
    "chain 1\noutside 2 1\nvariable 2 0 1\nvariable 1 0\nedge 0 1 0 3\nblock 0 0\n"                \
    "links 0\nfirst 0\nlast 0\nevery 0\n"

static const struct mistake {
    const char *text, *why;
} mistakes[] = {
    { "chain 1\n", "line 2: outside is wanted" },
    { CHAIN, "line 11: 'nodes' and 'outside' or 'block' is wanted, found ''" },
    { CHAIN "nodes outside 2\nnodes block\n", "line 11: a variable is wanted, found '2'" },
    { CHAIN "nodes outside 0.5\nnodes block\n", "line 11: a variable is wanted, found '0.5'" },
    { CHAIN "nodes outside 0\n", "line 12: 'nodes' and 'outside' or 'block' is wanted, found ''" },
    { CHAIN "nodes outside\nnodes block\nhides here 0 1 1\n",
      "line 13: a list of edges is wanted, found 'here'" },
    { CHAIN "nodes outside\nnodes block\nhides outside 1 1 1\n",
      "line 13: an edge is wanted, found '1'" },
    { CHAIN "nodes outside\nnodes block\nhides outside 0 1.5 1\n",
      "line 13: a share from 0 to 1 is wanted, found '1.5'" },
    { CHAIN "nodes outside\nnodes block\nhides outside 0 1 -1\n",
      "line 13: seconds is wanted, found '-1'" },
    { CHAIN "nodes outside\nnodes block\nhides outside 0 1 1 1\n",
      "line 13: the end of the line is wanted, found '1'" },
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_problem *p;
        pl_err err = { 0 };
        EXPECT(!pl_problem_parse(mistakes[i].text, a, &p, &err), "taken:\n%s", mistakes[i].text);
        assert_int_equal(err.code, PL_EINPUT);
        EXPECT(strstr(err.msg, mistakes[i].why), "%s\nnot: %s", err.msg, mistakes[i].why);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_models),
                                        cmocka_unit_test(test_mistakes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
