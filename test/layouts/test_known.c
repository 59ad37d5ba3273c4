/* Nodes of one kind in the same case choose as each of them would by itself. */
#include "layouts/propagate.h"
#include "support/training.h"

static const struct {
    const char *model, *strategy;
    int devices;
} cases[] = {
    { "gpt2:layers=4,hidden=64,heads=4,vocab=100,seq=16,batch=8", "dp=4", 4 },
    { "gpt2:layers=4,hidden=64,heads=4,vocab=100,seq=16,batch=8", "dp=2,tp=2,sp", 4 },
    { "llama:layers=5,hidden=64,heads=4,kv=2,ffn=96,vocab=96,seq=16,batch=8,dtype=bf16",
      "zero=3,tp=4", 8 },
    { "moe:layers=4,in=32,hidden=32,experts=4,tokens=16,batch=8", "dp=2,ep=2", 4 },
    { "resnet18:size=32,classes=10,batch=8", "zero=1", 4 },
    { "dlrm:tables=6,rows=64,embed=8,bottom=16-8,top=16-8,batch=16", "dp=4", 4 },
};
enum { N = sizeof cases / sizeof *cases };

/* A plan of the same states, all else open. */
static pl_plan *open_plan(const pl_plan *like, pl_arena *a)
{
    pl_plan *p = pl_plan_single(like->graph, a);
    p->mesh = like->mesh;
    memcpy(p->stored, like->stored, (size_t)like->graph->values.n * sizeof *p->stored);
    return p;
}

/* Returns how many cases there were; `alone`: each node's is new. */
static int propagate(pl_plan *p, bool alone, pl_arena *a)
{
    pl_propagation f;
    pl_propagate_init(&f, p, a);
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_placement x = p->stored[i];
        if (f.open[i]) pl_propagate_store(&f, p->graph->values.at[i], &x);
    }
    pl_propagate_updates(&f);
    for (int i = 0; i < p->graph->nodes.n; i++) {
        if (alone) f.known = (pl_known){ 0 };
        pl_propagate_node(&f, p->graph->nodes.at[i]);
    }
    return f.known.n;
}

static void test_same(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(cases[i].model, a);
        const pl_plan *like = training_plan(g, cases[i].strategy, cases[i].devices, a);
        pl_plan *p = open_plan(like, a), *q = open_plan(like, a);
        const int n = propagate(p, false, a);
        propagate(q, true, a);
        assert_in_range(n, 1, g->nodes.n * 2 / 3);
        for (int k = 0; k < g->nodes.n; k++)
            if (memcmp(&p->choice[k], &q->choice[k], sizeof *p->choice) != 0)
                fail_msg("%s, %s: '%s' chooses otherwise", cases[i].model, cases[i].strategy,
                         g->nodes.at[k]->name);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
