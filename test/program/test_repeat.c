/* The forecast of a deep model from the program of a short one, against the forecast of the whole
 * program: the same seconds, messages, bytes and peak. And the short graph itself: it is what the
 * model's builder makes with fewer layers. */
#include "support/forecasts.h"
#include "support/rounds.h"
#include "support/training.h"
#include "program/repeat.h"
#include "program/summary.h"

#include <stdio.h>

enum { FEW = 8, PERIODS = 12 };

static double apart(double a, double b)
{
    return fabs(a - b) / fmax(fabs(a), fmax(fabs(b), 1e-300));
}

/* -- forecasts --------------------------------------------------------------------------------- */

static const char *const models[] = {
    "gpt2:layers=26,hidden=1600,heads=25,seq=1024,batch=64,dropout=0",
    "gpt2:layers=27,seq=256,batch=64,dtype=bf16",
    "masters llama:layers=26,hidden=2048,heads=16,kv=4,ffn=5632,seq=1024,batch=64,dtype=bf16",
    "llama:layers=24,hidden=4096,heads=32,kv=8,ffn=14336,seq=2048,batch=64",
    "bert-base:layers=24,seq=128,batch=64",
    "t5:layers=24,seq=128,batch=64",
    "vit_b_16:layers=30,batch=64",
    "moe:layers=24,batch=64",
};

static const char *const layouts[] = {
    "dp",
    "zero=1",
    "zero=2",
    "zero=3",
    "tp=8,sp",
    "dp=2,tp=8",
    "zero=3,tp=8,sp",
    "tp=2d:4x4",
    "zero=3,recompute=full",
    "tp=8,sp,recompute=2",
    "zero=3,offload=optimizer",
    "zero=3,tp=8,sp,recompute=full,offload=all",
    "offload=activations",
    "offload=weights,offload=updates",
    "zero=3,recompute=full,offload=updates",
};

/* What a layout leaves unused where most is live. */
static int64_t unused_bytes(const pl_program *p, pl_arena *a)
{
    pl_forecast f;
    pl_forecast_memory_make(p, a, &f);
    return p->work_bytes - f.live[f.peak_step];
}

static void expect_same_memory(const char *name, const pl_forecast_memory *x,
                               const pl_forecast_memory *y, int64_t unused)
{
    EXPECT(x->weights == y->weights && x->optimizer == y->optimizer, "%s: states", name);
    EXPECT(x->gradients == y->gradients && x->activations == y->activations, "%s: %lld and %lld",
           name, (long long)x->activations, (long long)y->activations);
    EXPECT(x->buffers == y->buffers, "%s: buffers", name);
    EXPECT(x->host == y->host, "%s: %lld and %lld of the host's memory", name, (long long)x->host,
           (long long)y->host);
    EXPECT(x->peak - y->peak == unused, "%s: peak %lld and %lld, apart from %lld that is unused",
           name, (long long)x->peak, (long long)y->peak, (long long)unused);
}

/* Messages of one kind over the same axes: how many, their bytes and seconds. Rows of tensors
 * depend on how a model numbers its blocks. */
typedef struct messages {
    int64_t count, bytes;
    double seconds;
} messages;

static messages add_up(const pl_summary *s, const pl_summary_row *like)
{
    messages m = { 0 };
    for (int i = 0; i < s->n; i++) {
        const pl_summary_row *r = &s->row[i];
        if (r->collective != like->collective || r->axes != like->axes ||
            strcmp(r->kind, like->kind))
            continue;
        m.count += r->count, m.bytes += r->bytes, m.seconds += r->seconds;
    }
    return m;
}

static void expect_same_messages(const char *name, const pl_summary *x, const pl_summary *y)
{
    for (int i = 0; i < x->n; i++) {
        const messages a = add_up(x, &x->row[i]), b = add_up(y, &x->row[i]);
        EXPECT(a.count == b.count && a.bytes == b.bytes && apart(a.seconds, b.seconds) < 1e-9,
               "%s: %lld and %lld messages of %s, %lld and %lld bytes", name, (long long)a.count,
               (long long)b.count, x->row[i].kind, (long long)a.bytes, (long long)b.bytes);
    }
}

/* A layout plans few blocks as it plans many. */
static void expect_same_plan(const pl_strategy *s, const pl_plan *shortened, const char *layout,
                             pl_arena *a)
{
    const pl_graph *g = shortened->graph;
    pl_plan *p;
    pl_err err = { 0 };
    EXPECT(pl_strategy_plan(s, g, NULL, a, &p, &err), "%s: %s", layout, err.msg);
    for (int i = 0; i < g->nodes.n; i++)
        EXPECT(!memcmp(&p->choice[i], &shortened->choice[i], sizeof *p->choice),
               "%s, %s: %s is split otherwise", g->name, layout, g->nodes.at[i]->name);
    for (int v = 0; v < g->values.n; v++)
        EXPECT(
            pl_plan_kept_alike(p, v, shortened, v) &&
                (g->values.at[v]->maker || pl_placement_same(&p->stored[v], &shortened->stored[v])),
            "%s, %s: %s lies elsewhere", g->name, layout, g->values.at[v]->name);
}

/* The programs of a plan and of what the cuts leave of it, forecast. False: its blocks show no
 * period. */
static bool compare_plan(const char *name, const pl_plan *all, const pl_fold *fold, int n_cuts,
                         const pl_cut cut[], const pl_cluster *c, pl_arena *a)
{
    pl_speed speed = pl_speed_of(c);
    const pl_lower_options o = { 0 };
    pl_short s;
    pl_program *p, *q;
    pl_forecast whole, folded;
    pl_summary x, y;
    pl_err err = { 0 };
    speed.launch = 20e-6; /* some wait for the host */
    EXPECT(pl_graph_shorten(all->graph, fold, n_cuts, cut, a, &s), "%s", name);
    const pl_plan *few = pl_plan_shorten(all, fold, &s, a);
    EXPECT(few && pl_plan_check(few, &err), "%s: %s", name, err.msg);
    EXPECT(pl_program_lower(few, 0, pl_store_new(few, 0, a), &o, a, &q, &err), "%s: %s", name,
           err.msg);
    if (!pl_forecast_fold(q, &s, &speed, a, &folded)) return false;
    EXPECT(pl_program_lower(all, 0, pl_store_new(all, 0, a), &o, a, &p, &err), "%s: %s", name,
           err.msg);
    pl_forecast_make(p, &speed, a, &whole);
    EXPECT(apart(whole.step_seconds, folded.step_seconds) < 1e-9 &&
               apart(whole.device_seconds, folded.device_seconds) < 1e-9 &&
               apart(whole.launch_seconds, folded.launch_seconds) < 1e-9 &&
               apart(whole.compute_seconds, folded.compute_seconds) < 1e-9 &&
               apart(whole.comm_seconds, folded.comm_seconds) < 1e-9,
           "%s: %.9g s and %.9g s", name, whole.step_seconds, folded.step_seconds);
    EXPECT(whole.comm_bytes == folded.comm_bytes, "%s: %lld and %lld bytes", name,
           (long long)whole.comm_bytes, (long long)folded.comm_bytes);
    expect_same_memory(name, &whole.memory, &folded.memory,
                       unused_bytes(p, a) - unused_bytes(q, a));
    pl_summary_make(p, a, &x);
    pl_summary_fold_make(folded.program, &folded, a, &y);
    expect_same_messages(name, &x, &y);
    return true;
}

/* As planners/find.c has it. */
static pl_cut cut_of(int from, int to)
{
    const int all = to - from, few = FEW + (all - FEW) % PERIODS;
    return (pl_cut){ .from = from + few / 2, .to = from + few / 2 + all - few };
}

/* False: the layout is none of this model, or its blocks show no period. */
static bool compare(const char *model, const char *layout, const pl_cluster *c, int64_t micro,
                    double clip)
{
    pl_arena *a = pl_arena_new("test");
    const char *name = pl_arena_fmt(a, "%s, %s", model, layout);
    const pl_graph *g = make_micro(model, micro, clip, a);
    const pl_fold fold = pl_fold_find(g, a);
    const pl_cut cut = cut_of(0, pl_fold_copies(&fold));
    pl_strategy x = parse(layout, c->n_devices, a);
    pl_plan *p;
    pl_err err = { 0 };
    x.cluster = c;
    bool ok = pl_strategy_plan(&x, g, NULL, a, &p, &err);
    if (ok) {
        pl_short s;
        EXPECT(pl_graph_shorten(g, &fold, 1, &cut, a, &s), "%s", name);
        expect_same_plan(&x, pl_plan_shorten(p, &fold, &s, a), layout, a);
        ok = compare_plan(name, p, &fold, 1, &cut, c, a);
    }
    pl_arena_free(a);
    return ok;
}

/* Of the combinations one of so many; under sanitizers of six times as many. */
static void compare_all(int64_t micro, double clip, int of_each, int least)
{
    enum {
        LAYOUTS = sizeof layouts / sizeof *layouts,
        ALL = LAYOUTS * sizeof models / sizeof *models
    };
    pl_arena *a = pl_arena_new("clusters");
    pl_err err = { 0 };
    pl_cluster *c;
    int n = 0, of = 0;
    EXPECT(pl_cluster_find("2x8xv100", a, &c, &err), "%s", err.msg);
    for (int i = 0; i < ALL; i += PL_SANITIZED ? 6 * of_each : of_each, of++)
        n += compare(models[i / LAYOUTS], layouts[i % LAYOUTS], c, micro, clip);
    printf("%d of %d programs told by few blocks\n", n, of);
    EXPECT(PL_SANITIZED || n >= least, "only %d of %d are told by few blocks", n, of);
    pl_arena_free(a);
}

static void test_models(void **state)
{
    (void)state;
    compare_all(1, 0, 3, 16);
}

/* With the norm of all gradients updates wait for the last of them: a stretch of their own. */
static void test_clipped(void **state)
{
    (void)state;
    compare_all(1, 1, 5, 9);
}

/* Gradients add up, and updates come after the last micro-batch. */
static void test_micro(void **state)
{
    (void)state;
    compare_all(4, 1, 7, 6);
}

/* -- plans whose blocks differ ----------------------------------------------------------------- */

static int block_of(const pl_fold *fold, const pl_node *n)
{
    const int class = fold->class_of[n->id];
    return class >= 0 && pl_fold_shortens(fold, class) ? fold->instance_of[n->id] : -1;
}

/* p with the blocks from `first` on as q has them. */
static void join_plans(pl_plan *p, const pl_plan *q, const pl_fold *fold, int first)
{
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        if (block_of(fold, n) < first) continue;
        p->choice[i] = q->choice[i];
        for (int k = 0; k < n->n_in + n->n_out; k++) {
            const pl_value *v = pl_node_value(n, k);
            const bool shared =
                v->role == PL_INPUT || (v->maker && block_of(fold, v->maker) < first);
            if (shared) continue;
            p->stored[v->id] = q->stored[v->id];
            p->kept[v->id] = q->kept[v->id];
        }
    }
}

/* Three stretches, two of which are long enough to be told by few. */
static void test_stretches(void **state)
{
    static const char *const pairs[][2] = {
        { "zero=3", "dp" },
        { "dp", "zero=1" },
        { "zero=2", "zero=3" },
        { "tp=8,sp", "tp=8" },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_err err = { 0 };
    pl_cluster *c;
    int n = 0;
    EXPECT(pl_cluster_find("2x8xv100", a, &c, &err), "%s", err.msg);
    const pl_graph *g =
        make_clipped("gpt2:layers=49,hidden=1600,heads=25,batch=64,dropout=0", PL_TRAIN, 0, a);
    const pl_fold fold = pl_fold_find(g, a);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        pl_plan *p = plan(g, pairs[i][0], 16, NULL, a), *q = plan(g, pairs[i][1], 16, NULL, a);
        pl_cut stretch[4], cut[2];
        join_plans(p, q, &fold, 27);
        EXPECT(pl_plan_check(p, &err), "%s, %s: %s", pairs[i][0], pairs[i][1], err.msg);
        const int all = pl_plan_stretches(p, &fold, 4, stretch);
        EXPECT(all >= 2 && all <= 4, "%d stretches", all);
        EXPECT(stretch[0].to == 27 || stretch[1].to == 27, "the first ends with block %d",
               stretch[0].to);
        int cuts = 0;
        for (int k = 0; k < all; k++)
            if (stretch[k].to - stretch[k].from >= FEW + PERIODS && cuts < 2)
                cut[cuts++] = cut_of(stretch[k].from, stretch[k].to);
        EXPECT(cuts == 2, "%d cuts", cuts);
        n += compare_plan(pairs[i][0], p, &fold, cuts, cut, c, a);
    }
    printf("%d of 4 plans told by few blocks\n", n);
    EXPECT(n >= 3, "only %d", n);
    pl_arena_free(a);
}

/* -- graphs ------------------------------------------------------------------------------------ */

static const struct depth {
    const char *deep, *built;
} depths[] = {
    { "gpt2:layers=12,hidden=64,heads=4", "gpt2:layers=5,hidden=64,heads=4" },
    { "llama:layers=11,hidden=64,heads=4,kv=2", "llama:layers=4,hidden=64,heads=4,kv=2" },
    { "bert-base:layers=12,hidden=64,heads=4", "bert-base:layers=5,hidden=64,heads=4" },
    { "moe:layers=12", "moe:layers=5" },
};

/* The text of a graph, with numbers in names and in the counters of random draws left out. */
static const char *folded_text(const pl_graph *g, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_graph_print(g, &t);
    const char *text = pl_text_get(&t),
               *body = strchr(text, '\n'); /* the first line has the spec */
    return pl_summary_fold(a, body);
}

static void test_short_graph(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *deep = make_clipped(depths[i].deep, PL_TRAIN, 1, a);
        const pl_graph *built = make_clipped(depths[i].built, PL_TRAIN, 1, a);
        const pl_fold fold = pl_fold_find(deep, a);
        const int copies = pl_fold_copies(&fold);
        static const pl_cut cuts[] = { { .from = 2, .to = 5 }, { .from = 6, .to = 10 } };
        pl_short s;
        pl_err err = { 0 };
        EXPECT(pl_graph_shorten(deep, &fold, 2, cuts, a, &s), "%s", depths[i].deep);
        EXPECT(s.kept == copies - 7, "%s: %d of %d", depths[i].deep, s.kept, copies);
        EXPECT(pl_graph_check(s.graph, &err), "%s: %s", depths[i].deep, err.msg);
        EXPECT(pl_graph_params(s.graph) == pl_graph_params(built), "%s: parameters",
               depths[i].deep);
        assert_string_equal(folded_text(s.graph, a), folded_text(built, a));
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models), cmocka_unit_test(test_clipped), cmocka_unit_test(test_micro),
        cmocka_unit_test(test_stretches), cmocka_unit_test(test_short_graph)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
