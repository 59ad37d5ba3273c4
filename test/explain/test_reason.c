/* Reasons: what is taken is the least; every alternative costs what a search of new tables says in
 * which that one choice is made in all blocks; parts add up; the way of a tensor starts
 * where it lies and is priced as the tables have it. */
#include "support/rounds.h"
#include "support/training.h"
#include "explain/reason.h"

#include <math.h>

static const char *const models[] = {
    "mlp:layers=5,in=64,hidden=64,classes=64,batch=64",
    "gpt2:layers=3,hidden=64,heads=4,vocab=96,seq=32,batch=8,dropout=0.1",
    "moe:layers=3,hidden=32,batch=8",
};
enum { N_MODELS = sizeof models / sizeof *models };
enum { FEWER = PL_SANITIZED ? 3 : 1 }; /* of the nodes and tensors are asked for */

typedef struct searched {
    const pl_graph *graph;
    const pl_cluster *cluster;
    pl_auto_options options;
    pl_auto *found;
    const pl_auto_mesh *mesh;
    pl_reason reason;
} searched;

static bool search(const char *model, const char *cluster, double memory, pl_arena *a, searched *s)
{
    pl_cluster *c;
    pl_err err = { 0 };
    if (!pl_cluster_find(cluster, a, &c, &err)) fail_msg("%s", err.msg);
    s->graph = training_graph(model, a);
    s->cluster = c;
    s->options = (pl_auto_options){ .memory = memory };
    for (int i = 0; i < c->n_levels; i++) s->options.axes += c->level[i].size > 1;
    if (!pl_auto_plan(s->graph, c, &s->options, a, &s->found, &err)) return false;
    s->mesh = &s->found->mesh[s->found->best];
    s->reason = pl_reason_open(s->mesh, &s->options, a);
    return true;
}

static bool is_near(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-9 * scale;
}

/* A variable has one of these values alone. */
static void fix(pl_variable *v, const bool *may, pl_arena *a)
{
    double *row = PL_NEW_N(a, double, v->n);
    for (int i = 0; i < v->n; i++) row[i] = may[i] ? v->time[i] : INFINITY;
    v->time = row;
}

/* The choices of a node that have all its operands where `value` has them. */
static bool *like(const pl_problem *t, const pl_node *n, int value, pl_arena *a)
{
    const pl_domain *d = t->domain[n->id];
    bool *may = PL_NEW_N(a, bool, d->n);
    for (int i = 0; i < d->n; i++) {
        may[i] = true;
        for (int o = 0; o < n->n_in + n->n_out; o++)
            if (pl_node_value(n, o)->shape.rank) may[i] &= d->at[o][i] == d->at[o][value];
    }
    return may;
}

/* The least time in which a node and its like in all blocks make a choice, in new tables: either of
 * blocks that are all written out for the search, or in which every node has a variable of its
 * own. */
static bool solve_again(const searched *s, const pl_node *n, int value, bool folded,
                        pl_answer *answer, pl_arena *a)
{
    const pl_problem *old = s->mesh->problem;
    const pl_speed speed = pl_speed_of(s->cluster);
    const pl_search_options o = { .no_power = true };
    pl_problem *t =
        pl_problem_new(s->graph, folded ? &s->found->fold : NULL, &s->mesh->mesh, &speed, a);
    pl_err err = { 0 };
    for (int i = 0; i < s->graph->nodes.n; i++) {
        const pl_node *x = s->graph->nodes.at[i];
        bool same = pl_problem_counterpart(old, x) == pl_problem_counterpart(old, n);
        if (!same || pl_problem_counterpart(t, x) != x) continue;
        fix(&t->vars[pl_problem_copy(t, x) >= 0].at[t->node[i]], like(t, x, value, a), a);
    }
    return pl_problem_min(t, s->reason.cap, false, &o, a, answer, &err);
}

/* Where nothing is folded the first and the last of equal blocks need fewer variables: what is kept
 * there may cost one more copy of memory on the device. */
static void check_again(const searched *s, const pl_node *n, const pl_alternative *x, bool folded,
                        pl_arena *a)
{
    pl_answer again;
    double room = folded ? 1e-9 : 0.01;
    assert_true(solve_again(s, n, x->value, folded, &again, a));
    bool same = is_near(again.time, x->seconds, again.time) || !again.proven || !folded;
    if (!same || again.bound > x->seconds * (1 + room) || x->bound > again.time * (1 + room))
        fail_msg("%s: %s '%s': %.9g >= %.9g, again %.9g >= %.9g", s->graph->name, n->name, x->text,
                 x->seconds, x->bound, again.time, again.bound);
}

/* -- alternatives ------------------------------------------------------------------------------ */

static void check_parts(const searched *s, const pl_alternatives *a)
{
    int taken = 0;
    for (int i = 0; i < a->n; i++) {
        const pl_alternative *x = &a->at[i];
        taken += x->taken;
        assert_true(is_near(x->compute + x->messages + x->rest, x->more, s->reason.seconds));
        assert_true(is_near(x->seconds - s->reason.seconds, x->more, s->reason.seconds));
        assert_true(x->bound <= x->seconds * (1 + 1e-9));
        assert_true(x->seconds - x->bound <= 1.1e-3 * x->seconds || isfinite(s->reason.cap));
        assert_true(!i || x->more >= a->at[i - 1].more - 1e-9 * s->reason.seconds);
    }
    assert_int_equal(taken, a->copies);
    if (a->at[0].taken == a->copies) {
        assert_true(is_near(a->at[0].more, 0, s->reason.seconds));
        assert_int_equal(a->at[0].n_others, 0);
    }
}

static void test_alternatives_are_exact(void **state)
{
    int n_asked = 0;
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        searched s;
        assert_true(search(models[k], "4xv100", 0, a, &s));
        for (int i = 0; i < s.graph->nodes.n; i += 9 * FEWER) {
            const pl_node *n = s.graph->nodes.at[i];
            pl_alternatives x;
            pl_err err = { 0 };
            if (!pl_reason_node(&s.reason, n, 3, a, &x, &err)) {
                assert_int_equal(err.code, PL_EINPUT);
                assert_non_null(strstr(err.msg, n->name));
                continue;
            }
            assert_true(x.n >= 1);
            check_parts(&s, &x);
            for (int j = i % 3; j < x.n; j += 3) {
                check_again(&s, n, &x.at[j], true, a);
                check_again(&s, n, &x.at[j], false, a);
                n_asked++;
            }
        }
        pl_arena_free(a);
    }
    assert_true(n_asked > 15 / FEWER);
}

/* All choices of a node: those that are not listed take at least as long as is said. */
static void test_rest_is_slower(void **state)
{
    pl_arena *a = pl_arena_new("test");
    searched s;
    pl_alternatives few, all;
    pl_err err = { 0 };
    (void)state;
    assert_true(search(models[0], "2xv100", 0, a, &s));
    const pl_node *n = pl_graph_find(s.graph, "layers.2.linear")->maker;
    assert_true(pl_reason_node(&s.reason, n, 2, a, &few, &err));
    assert_true(pl_reason_node(&s.reason, n, 1000, a, &all, &err));
    assert_int_equal(all.n_more, 0);
    assert_int_equal(few.n + few.n_more + few.n_illegal, all.n + all.n_illegal);
    for (int i = 0; i < all.n; i++) {
        const pl_alternative *x = &all.at[i];
        int k = 0;
        while (k < few.n && strcmp(few.at[k].text, x->text) != 0) k++;
        if (k < few.n)
            assert_true(is_near(few.at[k].more, x->more, s.reason.seconds));
        else
            assert_true(x->more >= few.at_least - 1e-9 * s.reason.seconds);
        for (int j = 0; j < i; j++) assert_string_not_equal(x->text, all.at[j].text);
    }
    pl_arena_free(a);
}

static void test_under_a_cap(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k += 2) {
        pl_arena *a = pl_arena_new("test");
        searched s;
        int n_asked = 0;
        assert_true(search(models[k], "4xv100", 0, a, &s));
        assert_true(search(models[k], "4xv100", 0.93 * s.found->memory, a, &s));
        for (int i = 0; i < s.graph->nodes.n; i += 17) {
            pl_alternatives x;
            pl_err err = { 0 };
            if (!pl_reason_node(&s.reason, s.graph->nodes.at[i], 3, a, &x, &err)) continue;
            check_parts(&s, &x);
            for (int j = 0; j < x.n; j++) {
                assert_true(x.at[j].memory + s.reason.memory <= s.options.memory * (1 + 1e-9));
                assert_true(x.at[j].seconds >= s.found->bound * (1 - 1e-9));
            }
            n_asked++;
        }
        assert_true(n_asked > 2);
        pl_arena_free(a);
    }
}

static void test_tied(void **state)
{
    pl_arena *a = pl_arena_new("test");
    searched s;
    pl_alternatives x;
    pl_err err = { 0 };
    (void)state;
    assert_true(search(models[1], "4xv100", 0, a, &s));
    s.options.tied = true;
    assert_true(pl_auto_plan(s.graph, s.cluster, &s.options, a, &s.found, &err));
    s.mesh = &s.found->mesh[s.found->best];
    s.reason = pl_reason_open(s.mesh, &s.options, a);
    const pl_node *n = pl_graph_find(s.graph, "h.1.mlp.fc")->maker;
    assert_true(pl_reason_node(&s.reason, n, 4, a, &x, &err));
    assert_int_equal(x.copies, 3);
    assert_int_equal(x.at[0].taken, 3);
    check_parts(&s, &x);
    pl_arena_free(a);
}

/* -- tensors ----------------------------------------------------------------------------------- */

static void check_stops(const searched *s, const pl_reason_tensor *t)
{
    double seconds = 0;
    assert_true(t->n_stops >= 1);
    assert_int_equal(t->stop[0].kind, t->value->maker ? PL_STOP_MADE : PL_STOP_STORED);
    for (int i = 0; i < t->n_stops; i++) {
        const pl_stop *x = &t->stop[i];
        const pl_path *p = &x->path;
        pl_err err = { 0 };
        seconds += p->seconds;
        assert_true(x->bytes > 0);
        if (!pl_placement_check(&x->at, &s->mesh->mesh, &t->value->shape, &err))
            fail_msg("%s", err.msg);
        if (x->kind == PL_STOP_READER) assert_non_null(x->node);
        if (!p->n || x->kind == PL_STOP_NEXT) continue;
        assert_true(pl_placement_same(&p->move[p->n - 1].to, &x->at));
    }
    assert_true(is_near(seconds, t->seconds, s->reason.seconds));
}

static void test_tensors(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        searched s;
        int n_about[4] = { 0 };
        assert_true(search(models[k], "2x2xv100", 0, a, &s));
        for (int i = 0; i < s.graph->values.n; i += 7 * FEWER) {
            const pl_value *v = s.graph->values.at[i];
            pl_reason_tensor t;
            pl_err err = { 0 };
            if (!pl_reason_value(&s.reason, v, 2, a, &t, &err)) {
                assert_int_equal(v->shape.rank, 0);
                assert_non_null(strstr(err.msg, v->name));
                continue;
            }
            check_stops(&s, &t);
            n_about[t.about]++;
            if (t.other.n) check_parts(&s, &t.other);
            if (t.owner) assert_true(!v->maker && t.about == PL_VARIABLE_NODE);
            if (t.about == PL_VARIABLE_STORED) assert_false(v->maker != NULL);
        }
        assert_true(n_about[PL_VARIABLE_STORED] && n_about[PL_VARIABLE_NODE]);
        pl_arena_free(a);
    }
}

/* -- given plans ------------------------------------------------------------------------------- */

/* A plan that was found costs as a given plan what it cost in the search; presets cost more. */
static void test_price(void **state)
{
    static const char *const presets[] = { "dp", "zero=3", "tp=4", "tp=2" };
    int n_priced = 0;
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        pl_arena *a = pl_arena_new("test");
        searched s;
        pl_reason r;
        pl_err err = { 0 };
        assert_true(search(models[k], "4xv100", 0, a, &s));
        const pl_speed speed = pl_speed_of(s.cluster);
        const pl_fold *folds[2] = { NULL, &s.found->fold };
        for (int f = 0; f < 2; f++) { /* no cap binds: equal blocks were planned alike */
            if (!pl_reason_price(s.found->plan, folds[f], &speed, &s.options, a, &r, &err))
                fail_msg("%s", err.msg);
            assert_true(is_near(r.seconds, s.found->seconds, r.seconds));
        }
        for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
            pl_strategy strategy;
            pl_plan *p;
            if (!pl_strategy_parse(presets[i], 4, a, &strategy, &err)) fail_msg("%s", err.msg);
            strategy.cluster = s.cluster;
            err = (pl_err){ 0 };
            if (!pl_strategy_plan(&strategy, s.graph, NULL, a, &p, &err)) continue;
            if (!pl_reason_price(p, NULL, &speed, &s.options, a, &r, &err)) continue;
            assert_true(r.seconds >= s.found->bound * (1 - 1e-9));
            assert_string_equal(r.plan->strategy, presets[i]);
            n_priced++;
        }
        pl_arena_free(a);
    }
    assert_true(n_priced > 4);
}

/* A plan that does not fit is priced all the same. */
static void test_price_above_cap(void **state)
{
    pl_arena *a = pl_arena_new("test");
    searched s;
    pl_reason r;
    pl_err err = { 0 };
    (void)state;
    assert_true(search(models[0], "4xv100", 0, a, &s));
    const pl_speed speed = pl_speed_of(s.cluster);
    const pl_auto_options small = { .memory = 100 };
    if (!pl_reason_price(s.found->plan, NULL, &speed, &small, a, &r, &err)) fail_msg("%s", err.msg);
    assert_true(r.memory > r.cap);
    pl_arena_free(a);
}

/* -- texts ------------------------------------------------------------------------------------- */

static void test_texts(void **state)
{
    static const struct {
        int factor[2], level[2]; /* on axes x, y; factor: letter, 0 copied, -1 linear */
        const char *text;
    } cases[] = {
        { { 0, 0 }, { 0, 0 }, "all copied" },
        { { 'b', 0 }, { 0, 0 }, "x: b" },
        { { 'b', 'f' }, { 0, 0 }, "x: b, y: f" },
        { { 'b', 'b' }, { 0, 0 }, "x+y: b" },
        { { 'b', 'b' }, { 1, 0 }, "y+x: b" },
        { { -1, 's' }, { 0, 0 }, "x: sum pending in input 1, y: s" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph(models[1], a);
    const pl_node *n = pl_graph_find(g, "h.1.mlp.fc")->maker;
    const pl_mesh m = { .n = 2,
                        .axis = { { .name = "x", .size = 2 }, { .name = "y", .size = 2 } } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_choice c;
        memset(&c, PL_COPIED, sizeof c);
        memset(c.level, 0, sizeof c.level);
        for (int k = 0; k < 2; k++) {
            int f = cases[i].factor[k];
            c.level[k] = (int8_t)cases[i].level[k];
            if (f > 0) c.factor[k] = (int8_t)pl_sig_find(n->sig, (char)f);
            if (f < 0) c.factor[k] = PL_LINEAR;
        }
        assert_string_equal(pl_reason_choice(&c, n, &m, a), cases[i].text);
    }
    pl_arena_free(a);
}

static void test_names(void **state)
{
    static const char *const cases[][2] = {
        { "h.1.mlp.fc", "h.*.mlp.fc" },
        { "h.2.mlp.c_fc.weight", "h.*.mlp.c_fc.weight" },
        { "h.0.attn.split:1", "h.*.attn.split:1" },
        { "wte.weight", "wte.weight" },
        { "logits", "logits" },
    };
    pl_arena *a = pl_arena_new("test");
    searched s;
    (void)state;
    assert_true(search(models[1], "4xv100", 0, a, &s));
    const pl_problem *t = s.mesh->problem;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pl_reason_value_name(t, pl_graph_find(s.graph, cases[i][0]), a),
                            cases[i][1]);
    const pl_value *w = pl_graph_find(s.graph, "h.1.mlp.c_fc.weight");
    const pl_node *update = w->next->maker;
    int n_gradients = 0;
    for (int k = 0; k < update->n_in; k++)
        n_gradients +=
            !strcmp(pl_reason_value_name(t, update->in[k], a), "gradient of h.*.mlp.c_fc.weight");
    assert_int_equal(n_gradients, 1);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alternatives_are_exact),
        cmocka_unit_test(test_rest_is_slower),
        cmocka_unit_test(test_under_a_cap),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_price),
        cmocka_unit_test(test_price_above_cap),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
