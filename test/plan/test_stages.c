/* Stages: whose stage nodes and states are, what is refused, and all micro-batches in one graph. */
#include "plan/stages.h"
#include "plan/terms.h"
#include "plan/unroll.h"
#include "schedules/make.h"
#include "support/files.h"

#define DEEP "gpt2:layers=3,hidden=16,heads=2,vocab=32,seq=8,batch=2"

enum { MICRO = 4 };

static const pl_node *maker_of(const pl_graph *g, const char *value)
{
    const pl_value *v = pl_graph_find(g, value);
    EXPECT(v && v->maker, "no '%s'", value);
    return v->maker;
}

static int home_of(const pl_plan *p, const char *state)
{
    const pl_value *v = pl_graph_find(p->graph, state);
    EXPECT(v, "no state '%s'", state);
    return p->stages->home[v->id];
}

/* A weight, its moments, the sum of its gradients, and what makes and reads them are together. */
static void test_homes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const char *model = pl_arena_fmt(a, DEEP ",tied=%d", tied);
        const pl_graph *g = make_micro(model, MICRO, 1, a);
        const pl_plan *p = plan(g, "pp=3,micro=4", 3, NULL, a);
        assert_int_equal(home_of(p, "wte.weight"), 0);
        assert_int_equal(home_of(p, "wte.weight.m"), 0);
        assert_int_equal(home_of(p, "wte.weight.grad"), 0);
        assert_int_equal(home_of(p, "ln_f.weight"), 2);
        assert_int_equal(p->stages->of[maker_of(g, "loss")->id], 2);
        if (!tied) assert_int_equal(home_of(p, "lm_head.weight"), 2);
        for (int i = 0; i < g->nodes.n; i++) {
            const pl_node *n = g->nodes.at[i];
            if (n->of) assert_int_equal(p->stages->of[i], p->stages->of[n->of->id]);
        }
        const pl_term **term = pl_terms_find(g, p->stages, a);
        int terms = 0;
        for (int i = 0; i < g->nodes.n; i++) terms += term[i] != NULL;
        assert_int_equal(terms, tied);
        for (int r = 0; r < 3; r++) {
            const pl_value *w = pl_graph_find(g, "ln_f.weight");
            const pl_region part = pl_plan_region(p, w, r);
            assert_int_equal(pl_region_count(&part), r == 2 ? 16 : 0);
        }
    }
    pl_arena_free(a);
}

/* Stages take about the same. */
static void test_balance(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (int n = 2; n <= 8; n++) {
        const pl_graph *g = make_micro("llama:layers=8,hidden=32,heads=4,kv=2,ffn=64,seq=16,"
                                       "batch=8,vocab=32",
                                       MICRO, 1, a);
        const pl_plan *p = plan(g, pl_arena_fmt(a, "pp=%d,micro=4", n), n, NULL, a);
        double most = 0, sum = 0, *flops = PL_NEW_N(a, double, n);
        for (int i = 0; i < g->nodes.n; i++) {
            const pl_node *at = g->nodes.at[i]->of ? g->nodes.at[i]->of : g->nodes.at[i];
            const pl_share s = pl_plan_share(p, i, 0);
            if (g->nodes.at[i]->phase != PL_UPDATE && p->stages->of[at->id] >= 0)
                flops[p->stages->of[at->id]] += pl_op_flops(&s);
        }
        for (int k = 0; k < n; k++) sum += flops[k], most = fmax(most, flops[k]);
        EXPECT(most <= (n <= 4 ? 1.25 : 1.5) * sum / n, "%d stages: %.3g of %.3g flops", n, most,
               sum); /* blocks are cut in two pieces at most */
    }
    pl_arena_free(a);
}

static void refuses(const pl_plan *p, const char *words)
{
    pl_err err = { 0 };
    EXPECT(!pl_plan_check(p, &err), "'%s' is not refused", words);
    EXPECT(strstr(err.msg, words), "'%s', not '%s'", err.msg, words);
}

static void test_refused(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_micro(DEEP ",tied=0", MICRO, 1, a);
    pl_plan *p = plan(g, "pp=3,micro=4", 3, NULL, a);
    const pl_stages good = *p->stages;
    int *of = PL_NEW_N(a, int, g->nodes.n + 1);
    pl_stages bad = good;
    (void)state;
    bad.of = of;
    p->stages = &bad;
    memcpy(of, good.of, (size_t)g->nodes.n * sizeof *of);
    of[maker_of(g, "loss")->id] = 0;
    refuses(p, "of stage 0 reads 'loss.sum' of stage 2, which comes later");
    of[maker_of(g, "loss")->id] = 3;
    refuses(p, "is of stage 3, and there are 3");
    for (int i = 0; i < g->nodes.n; i++) of[i] = 0;
    pl_err err = { 0 };
    assert_true(pl_plan_check(p, &err));
    assert_false(pl_plan_check_full(p, &err));
    assert_string_equal(err.msg, "stage 1 of 3 is empty");
    p->stages = &good;
    p->choice[3].factor[0] = 0;
    refuses(p, "is split over axis 'pipe', of the stages");
    p->choice[3].factor[0] = PL_COPIED;
    p->mesh.axis[0].size = 4;
    refuses(p, "a schedule for 3 ranks, and no axis of as many");
    pl_arena_free(a);
}

/* Forward and backward nodes once for each micro-batch, updates and states once; running statistics
 * go from one to the next. */
static void test_unroll(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_micro("resnet18:width=8,size=32,batch=2", MICRO, 1, a);
    const pl_plan *p = plan(g, "dp", 2, NULL, a);
    pl_unrolled u;
    pl_err err = { 0 };
    int n[PL_N_PHASES] = { 0 }, m[PL_N_PHASES] = { 0 };
    (void)state;
    EXPECT(pl_plan_unroll(p, a, &u, &err), "%s", err.msg);
    EXPECT(pl_graph_check(u.graph, &err), "%s", err.msg);
    EXPECT(pl_plan_check(u.plan, &err), "%s", err.msg);
    for (int i = 0; i < g->nodes.n; i++) n[g->nodes.at[i]->phase]++;
    for (int i = 0; i < u.graph->nodes.n; i++) m[u.graph->nodes.at[i]->phase]++;
    assert_int_equal(m[PL_FORWARD], MICRO * n[PL_FORWARD]);
    assert_int_equal(m[PL_BACKWARD], MICRO * n[PL_BACKWARD]);
    assert_int_equal(m[PL_UPDATE], n[PL_UPDATE]);
    assert_int_equal(u.graph->micro, 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i], *w = pl_graph_find(u.graph, v->name);
        if (v->role != PL_STATE || v->maker) continue;
        EXPECT(w && !w->maker && !w->next == !v->next, "state '%s'", v->name);
        if (!v->next || v->next->maker->phase == PL_UPDATE) continue;
        const char *last = pl_arena_fmt(a, "%s@%d", v->next->name, MICRO - 1);
        assert_string_equal(w->next->name, last);
        int links = 0; /* from the last one back to the state */
        for (const pl_value *x = w->next; x != w; links++) {
            const pl_node *maker = x->maker;
            x = NULL;
            for (int k = 0; k < maker->n_in && !x; k++) {
                const pl_value *in = maker->in[k];
                if (in == w || (in->maker && u.from[in->id] == v->next)) x = in;
            }
            EXPECT(x, "'%s' does not go on", v->name);
        }
        assert_int_equal(links, MICRO);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_homes),
                                        cmocka_unit_test(test_balance),
                                        cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_unroll) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
