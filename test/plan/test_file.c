/* Plans as files: what was written and read prints, lowers and writes the same; and the same plan
 * has the same bytes. */
#include "support/rounds.h"
#include "support/files.h"
#include "planners/auto.h"
#include "placement/speed.h"
#include "plan/stages.h"
#include "program/program.h"

#define SMALL_GPT2 "gpt2:layers=1,hidden=16,heads=4,seq=8,vocab=32,batch=8"

static const char *const models[] = {
    "mlp:in=12,hidden=16,classes=8,batch=16",
    SMALL_GPT2,
    "moe:layers=1,in=8,hidden=8,experts=8,tokens=8,classes=8,batch=8",
    "resnet18:size=16,width=8,classes=8,batch=8",
    SMALL_GPT2 ",dtype=bf16",
};
enum { N_MODELS = sizeof models / sizeof *models };

/* Levels in the one form that a reader gives them: none where the order is that of the mesh. */
static void settle_levels(pl_plan *p)
{
    for (int i = 0; i < p->graph->nodes.n; i++) {
        pl_choice *c = &p->choice[i], to = *c;
        int order[PL_MAX_AXES], place[PL_MAX_AXES];
        pl_choice_order(c, &p->mesh, order);
        for (int k = 0; k < p->mesh.n; k++) place[order[k]] = k;
        for (int a = 0; a < p->mesh.n; a++) {
            bool turned = false;
            int before = 0;
            for (int b = 0; b < p->mesh.n; b++) {
                bool shares = c->factor[a] >= 0 && c->factor[b] == c->factor[a];
                before += shares && place[b] < place[a];
                for (int d = 0; d < b; d++)
                    turned |= shares && c->factor[d] == c->factor[a] && place[b] < place[d];
            }
            to.level[a] = (int8_t)(turned ? before : 0);
        }
        *c = to;
    }
}

static const char *print_plan(const pl_plan *p, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_plan_print(p, &t);
    return pl_text_get(&t);
}

/* NULL: it cannot be lowered. */
static const char *print_program(const pl_plan *p, int rank, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_program *x;
    pl_err err = { 0 };
    const pl_store *store = pl_store_new(p, rank, a);
    if (!pl_program_lower(p, rank, store, &(pl_lower_options){ 0 }, a, &x, &err)) return NULL;
    pl_program_print(x, &t);
    return pl_text_get(&t);
}

static void check_programs(const pl_plan *p, const pl_plan *q, const char *what, pl_arena *a)
{
    for (int k = 0, last = pl_mesh_ranks(&p->mesh) - 1; k <= (last > 0); k++) {
        const char *x = print_program(p, k * last, a), *y = print_program(q, k * last, a);
        EXPECT(x && y && !strcmp(x, y), "%s: rank %d runs another program", what, k * last);
    }
}

/* Does the plan come back? Returns what was read. */
static pl_plan *check_again(const pl_plan *p, const pl_plan_about *about, const char *what,
                            pl_arena *a)
{
    const char *first = write_file(p, about, a);
    const pl_plan_file f = read_file(first, a);
    pl_plan *q = plan_of_file(first, p->graph, a);
    EXPECT(!strcmp(first, write_file(q, &f.about, a)), "%s: other bytes at the second time", what);
    return q;
}

/* Links too, which a cluster in the file gives: of their price programs depend. */
static bool same_mesh(const pl_mesh *a, const pl_mesh *b)
{
    bool same =
        a->n == b->n && a->copy_start == b->copy_start && a->copy_per_byte == b->copy_per_byte;
    for (int i = 0; same && i < a->n; i++)
        same = !strcmp(a->axis[i].name, b->axis[i].name) && a->axis[i].size == b->axis[i].size &&
               a->axis[i].latency == b->axis[i].latency &&
               a->axis[i].per_byte == b->axis[i].per_byte;
    return same;
}

static void check_all(const pl_plan *p, const pl_plan_about *about, const char *what, bool lower,
                      pl_arena *a)
{
    pl_plan *q = check_again(p, about, what, a);
    EXPECT(!strcmp(print_plan(p, a), print_plan(q, a)), "%s: prints\n%s\nnot\n%s", what,
           print_plan(q, a), print_plan(p, a));
    EXPECT(same_mesh(&p->mesh, &q->mesh), "%s: another mesh", what);
    if (lower) check_programs(p, q, what, a);
}

static pl_cluster *find_cluster(const char *name, pl_arena *a)
{
    pl_cluster *c;
    pl_err err = { 0 };
    EXPECT(pl_cluster_find(name, a, &c, &err), "%s", err.msg);
    return c;
}

static const char *cluster_text(const pl_cluster *c, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_cluster_print(c, &t);
    return pl_text_get(&t);
}

/* -- plans ------------------------------------------------------------------------------------- */

/* All strategies for a number of devices, on models with an optimizer; every fifth is lowered. */
static void test_presets(void **state)
{
    static const int devices[] = { 1, 4, 6, 8 };
    int plans = 0;
    (void)state;
    for (int i = 0; i < N_MODELS; i++)
        for (int d = 0; d < 4; d++) {
            bool deep = !strncmp(models[i], "resnet", 6);
            if (deep && devices[d] != 4) continue;
            pl_arena *a = pl_arena_new("test");
            const char *text[100];
            const pl_graph *g = make_clipped(models[i], PL_TRAIN, 1, a);
            const unsigned has = !strncmp(models[i], "moe", 3)    ? PL_HAS_EXPERTS
                                 : !strncmp(models[i], "gpt2", 4) ? PL_HAS_POSITIONS | PL_HAS_TABLES
                                                                  : 0;
            int n = pl_strategy_all(devices[d], has, a, 100, text);
            for (int k = 0; k < n; k += PL_SANITIZED ? 2 : 1) {
                pl_arena *tmp = pl_arena_new("plan");
                pl_strategy s = parse(text[k], devices[d], tmp);
                pl_plan *p;
                pl_err err = { 0 };
                const char *what = pl_arena_fmt(tmp, "%s of %s", text[k], models[i]);
                if (pl_strategy_plan(&s, g, NULL, tmp, &p, &err)) {
                    check_all(p, NULL, what, k % 5 == d, tmp);
                    plans++;
                }
                pl_arena_free(tmp);
            }
            pl_arena_free(a);
        }
    EXPECT(plans > ROUNDS_OF(200), "%d plans", plans);
}

/* With the links of a cluster. */
static void test_cluster(void **state)
{
    static const char *const texts[] = { "dp", "zero=3", "tp=4,sp", "hsdp=2", "grid:2x2x2" };
    (void)state;
    for (int k = 0; k < 5; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_clipped(SMALL_GPT2, PL_TRAIN, 1, a);
        const pl_cluster *c = find_cluster("2x4xv100", a);
        const pl_plan_about about = { .cluster = cluster_text(c, a) };
        pl_strategy s = parse(texts[k], 8, a);
        pl_plan *p;
        pl_err err = { 0 };
        s.cluster = c;
        EXPECT(pl_strategy_plan(&s, g, NULL, a, &p, &err), "%s", err.msg);
        EXPECT(p->mesh.axis[0].per_byte > 0, "%s: no links", texts[k]);
        check_all(p, &about, texts[k], true, a);
        pl_arena_free(a);
    }
}

/* What the search finds; on three levels of two devices axes that share a factor come in every
 * order. */
static void test_auto(void **state)
{
    static const char levels[] = "schema: pleat.cluster/1\n"
                                 "classes: {d: {memory: 1 GB, f32_flops: 1 TFLOP/s, "
                                 "memory_bandwidth: 100 GB/s}}\n"
                                 "levels: [{name: a, size: 2, latency: 1 us, bandwidth: 9 GB/s},"
                                 " {name: b, size: 2, latency: 2 us, bandwidth: 5 GB/s},"
                                 " {name: c, size: 2, latency: 9 us, bandwidth: 1 GB/s}]\n";
    (void)state;
    for (int i = 0; i < N_MODELS; i++)
        for (int k = 0; k < 2; k++) {
            if (!strncmp(models[i], "resnet", 6)) continue; /* few equal blocks: searched long */
            pl_arena *a = pl_arena_new("test");
            const pl_graph *g = make_clipped(models[i], PL_TRAIN, 1, a);
            pl_cluster *c = k ? NULL : find_cluster("2x4xv100", a);
            pl_auto *x;
            pl_err err = { 0 };
            if (k)
                EXPECT(pl_cluster_parse(levels, strlen(levels), "c", a, &c, &err), "%s", err.msg);
            EXPECT(pl_auto_plan(g, c, NULL, a, &x, &err), "%s", err.msg);
            EXPECT(x->plan->mesh.n == 2 + k, "%d axes", x->plan->mesh.n);
            const pl_plan_about about = { models[i],  "adamw",  cluster_text(c, a), NULL,
                                          x->seconds, x->bound, x->memory };
            const pl_plan *q = check_again(x->plan, &about, models[i], a);
            check_programs(x->plan, q, models[i], a);
            settle_levels(x->plan); /* the text form shows levels that say nothing */
            check_all(x->plan, &about, models[i], false, a);
            pl_arena_free(a);
        }
}

static bool same_work(const pl_plan *p, const pl_plan *q, const pl_node *n)
{
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement x = pl_plan_operand(p, n->id, o), y = pl_plan_operand(q, n->id, o);
        if (!pl_placement_same(&x, &y)) return false;
    }
    for (int r = 0; r < pl_mesh_ranks(&p->mesh); r++) {
        pl_share x = pl_plan_share(p, n->id, r), y = pl_plan_share(q, n->id, r);
        for (int f = 0; f < n->sig->n_factors; f++)
            if (x.factor[f].lo != y.factor[f].lo || x.factor[f].n != y.factor[f].n) return false;
    }
    return true;
}

static bool is_kept_same(const pl_plan *p, const pl_plan *q, const pl_value *v)
{
    const pl_placement *x = p->kept[v->id], *y = q->kept[v->id];
    if (!x || !y) return x == y;
    const pl_placement normal = pl_placement_normal(x, &p->mesh, &v->shape);
    return pl_placement_same(&normal, y);
}

/* Any legal plan, with any levels and sets. */
static void test_lots(void **state)
{
    static const int sizes[][PL_MAX_AXES + 1] = { { 2, 2 }, { 2, 3, 2 }, { 2, 1, 2, 2 }, { 4 } };
    static const char *const few[] = { "mlp:in=12,hidden=16,classes=8,batch=16", SMALL_GPT2 };
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS_OF(48); seed++) {
        pl_arena *a = pl_arena_new("test");
        lot l = { .rng = pl_rng_at(seed, 77) };
        const pl_graph *g = make_clipped(few[seed % 2], PL_TRAIN, 1, a);
        const pl_mesh m = mesh_of(sizes[lot_below(&l, 4)]);
        pl_plan *p = plan_by_lot(g, &m, seed, 3, a);
        pl_err err = { 0 };
        for (int i = 0; i < g->nodes.n; i++)
            for (int k = 0; k < m.n; k++) p->choice[i].level[k] = (int8_t)(lot_below(&l, 5) - 2);
        EXPECT(pl_plan_check(p, &err), "%s", err.msg);
        const pl_plan *q = check_again(p, NULL, "lot", a);
        for (int i = 0; i < g->values.n; i++) {
            const pl_value *v = g->values.at[i];
            pl_placement x = pl_placement_normal(&p->stored[i], &p->mesh, &v->shape);
            EXPECT(v->maker || pl_placement_same(&x, &q->stored[i]), "seed %d: '%s' lies elsewhere",
                   (int)seed, v->name);
            EXPECT(is_kept_same(p, q, v) && p->recompute[i] == q->recompute[i],
                   "seed %d: '%s' is kept otherwise", (int)seed, v->name);
        }
        for (int i = 0; i < g->nodes.n; i++)
            EXPECT(same_work(p, q, g->nodes.at[i]), "seed %d: '%s' works otherwise", (int)seed,
                   g->nodes.at[i]->name);
        pl_arena_free(a);
    }
}

/* -- bytes ------------------------------------------------------------------------------------- */

static const char tiny_text[] =
    "{\n"
    "  \"schema\": \"pleat.plan/4\",\n"
    "  \"model\": \"tiny\",\n"
    "  \"optimizer\": \"\",\n"
    "  \"strategy\": \"by hand\",\n"
    "  \"cluster\": \"\",\n"
    "  \"micro\": 1,\n"
    "  \"graph\": {\"nodes\": 6, \"digest\": \"%016llx\"},\n"
    "  \"mesh\": [{\"axis\": \"data\", \"size\": 2}, {\"axis\": \"tensor\", \"size\": 2}],\n"
    "  \"predicted\": {\"step_seconds\": 0.1, \"lower_bound_seconds\": 0, "
    "\"memory_bytes\": 4096},\n"
    "  \"stored\": [\n"
    "    {\"tensor\": \"x\", \"placement\": \"[data;]\"},\n"
    "    {\"tensor\": \"w\", \"placement\": \"[;tensor]\"}\n"
    "  ],\n"
    "  \"kept\": [\n"
    "    {\"tensor\": \"w\", \"placement\": \"[;tensor]\"},\n"
    "    {\"tensor\": \"act\", \"placement\": \"[data;]\"}\n"
    "  ],\n"
    "  \"recomputed\": [\n"
    "    \"sum\"\n"
    "  ],\n"
    "  \"pipeline\": {},\n"
    "  \"stages\": [],\n"
    "  \"nodes\": [\n"
    "    {\"node\": \"fc\", \"split\": {\"data\": \"m\", \"tensor\": \"n\"}},\n"
    "    {\"node\": \"sum\", \"split\": {\"data\": \"m\", \"tensor\": \"m\"}, "
    "\"order\": {\"m\": [\"tensor\", \"data\"]}},\n"
    "    {\"node\": \"g\", \"split\": {\"data\": \"m\", \"tensor\": \"linear:0\"}}\n"
    "  ]\n"
    "}\n";

static void test_bytes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const pl_plan *p = make_tiny(g, a), *single = pl_plan_single(g, a);
    const pl_plan_about about = { .model = "tiny", .step_seconds = 0.1, .memory_bytes = 4096 };
    const char *want = pl_arena_fmt(a, tiny_text, (unsigned long long)pl_plan_digest(g));
    (void)state;
    assert_string_equal(write_file(p, &about, a), want);
    check_all(p, &about, "tiny", false, a);
    const char *text = write_file(single, NULL, a);
    assert_non_null(strstr(text, "  \"mesh\": [],\n"));
    assert_non_null(strstr(text, "  \"stored\": [],\n  \"kept\": [],\n  \"recomputed\": [],\n"
                                 "  \"pipeline\": {},\n  \"stages\": [],\n"
                                 "  \"nodes\": []\n}\n"));
    check_all(single, NULL, "single", true, a);
    pl_arena_free(a);
}

/* Plans that say the same have the same bytes. */
static void test_same(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    pl_plan *p = make_tiny(g, a);
    const char *first = write_file(p, NULL, a);
    int x = pl_graph_find(g, "x")->id;
    (void)state;
    set_factor(p, "sum", 0, 'm', 9);
    set_factor(p, "sum", 1, 'm', -3);
    set_factor(p, "fc", 0, 'm', 5);
    p->stored[x] = (pl_placement){ .n = 1, .split = { { .size = 8, .unit = 1 } } };
    assert_string_equal(write_file(p, NULL, a), first);
    p->stored[x].split[0].size = 4, p->stored[x].split[0].unit = 2;
    assert_string_equal(write_file(p, NULL, a), first);
    p->stored[x].split[0].unit = 1;
    assert_string_not_equal(write_file(p, NULL, a), first);
    p->stored[x].split[0].unit = 2;
    set_factor(p, "sum", 1, 'm', 9);
    assert_string_not_equal(write_file(p, NULL, a), first);

    /* Read: another order of keys and axes, blanks, an order that is the mesh's. */
    const char *line = "{\"node\": \"sum\", \"split\": {\"data\": \"m\", \"tensor\": \"m\"}}";
    const char *same = "{\"order\":{\"m\":[\"data\",\"tensor\"]},\n\n\"split\": {\"tensor\":"
                       " \"m\", \"data\": \"m\"}, \"node\": \"sum\"}";
    first = write_file(p, NULL, a);
    const char *at = strstr(first, line);
    assert_non_null(at);
    const char *text =
        pl_arena_fmt(a, "%.*s%s%s", (int)(at - first), first, same, at + strlen(line));
    assert_string_equal(write_file(plan_of_file(text, g, a), NULL, a), first);
    pl_arena_free(a);
}

static void check_older(const char *(*as_older)(const char *file, pl_arena *a))
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const pl_plan *p = make_tiny(g, a),
                  *q = plan_of_file(as_older(write_file(p, NULL, a), a), g, a);
    assert_string_equal(write_file(q, NULL, a), write_file(p, NULL, a));
    pl_arena_free(a);
}

/* Before version 4 there were no stages. */
static void test_version_3(void **state)
{
    (void)state;
    check_older(version_3);
}

/* Stages and a schedule are read as they were written, another order of passes too. */
static void test_stages(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        make_micro("gpt2:layers=2,hidden=16,heads=4,seq=8,vocab=32,batch=8", 4, 1, a);
    (void)state;
    const char *file = write_file(plan(g, "pp=2,tp=2,micro=4", 4, NULL, a), NULL, a);
    const pl_plan *p = plan_of_file(file, g, a);
    assert_string_equal(write_file(p, NULL, a), file);
    assert_int_equal(p->stages->order->row[0].n, 8);
    const char *other = change(file, "0F0,0F1,,0B0", "0F0,0F1,0F2,0B0", a);
    other = change(other, "0B0,0F2", "0B0", a);
    const pl_plan *q = plan_of_file(other, g, a);
    assert_int_equal(q->stages->order->row[0].at[2].kind, PL_PASS_F);
    pl_plan_file f;
    pl_plan *none;
    pl_err err = { 0 };
    other = change(file, "{\"node\": \"wte\", \"stage\": 0},", "", a);
    assert_true(pl_plan_file_read(other, strlen(other), a, &f, &err));
    assert_false(pl_plan_file_plan(&f, g, a, &none, &err));
    assert_string_equal(err.msg, "stages: missing are 'wte'");
    other = change(file, "0F0,0F1,", "0F0,0F1,0F1,", a);
    assert_false(pl_plan_file_read(other, strlen(other), a, &f, &err));
    EXPECT(strstr(err.msg, "pipeline: "), "%s", err.msg);
    pl_arena_free(a);
}

/* Before version 3 a step had one micro-batch. */
static void test_version_2(void **state)
{
    (void)state;
    check_older(version_2);
}

/* The graph of one of several micro-batches, with a sum of gradients that is stored pending. */
static void test_micro(void **state)
{
    static const char text[] =
        "graph summed\nmicro 4\ninput x f32[4,8]\n"
        "state w f32[4,8] weight \"zeros\"\n"
        "state w.grad f32[4,8] gradient-sum of w \"zeros\"\n"
        "backward w.grad.add f32[4,8] = accumulate \"...,...->...\" w.grad x\n"
        "next w.grad w.grad.add\n";
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(text, a);
    (void)state;
    pl_plan *p = pl_plan_single(g, a);
    p->mesh = (pl_mesh){ .n = 1, .axis = { { .name = "data", .size = 2 } } };
    p->stored[pl_graph_find(g, "w.grad")->id].pending = 1;
    p->choice[0].factor[0] = PL_LINEAR;
    const char *file = write_file(p, NULL, a);
    (void)change(file, "\"micro\": 4,", "", a);
    (void)change(file, "\"placement\": \"[;]+{data}\"", "", a);
    check_all(p, NULL, "micro", false, a);
    pl_arena_free(a);
}

/* A file of version 1 says what is not kept as it was moved: then it is kept as it was made. */
static void test_version_1(void **state)
{
    static const char rows[] = "{\"tensor\": \"w\"}, {\"tensor\": \"sum\", \"unless\": [\"data\"]}";
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const pl_mesh *m;
    (void)state;
    const pl_plan *p = plan_of_file(version_1(write_file(make_tiny(g, a), NULL, a), rows, a), g, a);
    m = &p->mesh;
    assert_string_equal(pl_placement_text(a, p->kept[pl_graph_find(g, "w")->id], m, 2),
                        "[;tensor]");
    assert_string_equal(pl_placement_text(a, p->kept[pl_graph_find(g, "sum")->id], m, 2),
                        "[data:4x1;]");
    assert_null(p->kept[pl_graph_find(g, "act")->id]);
    check_all(p, NULL, "tiny", false, a);
    pl_arena_free(a);
}

static void test_head(void **state)
{
    static const double reals[] = { 0,          1. / 3,
                                    5e-324,     1.7976931348623157e308,
                                    1e15 + 0.5, 9007199254740993.,
                                    1e22,       123456789012345678. };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    pl_plan *p = make_tiny(g, a);
    (void)state;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        const pl_plan_about about = { "a \"b\" \\ c\n\t\x01 \x7f",
                                      "\xc3\xa9\xf0\x9f\x98\x80",
                                      "",
                                      "{[,]}",
                                      reals[i],
                                      reals[i] / 3,
                                      reals[i] / 7 };
        pl_plan_file f = read_file(write_file(p, &about, a), a);
        assert_string_equal(f.about.model, about.model);
        assert_string_equal(f.about.optimizer, about.optimizer);
        assert_string_equal(f.about.strategy, about.strategy);
        assert_true(f.about.step_seconds == about.step_seconds);
        assert_true(f.about.bound_seconds == about.bound_seconds);
        assert_true(f.about.memory_bytes == about.memory_bytes);
        assert_true(f.n_nodes == g->nodes.n && f.graph == pl_plan_digest(g) && !f.cluster);
        (void)check_again(p, &about, "head", a);
    }
    const pl_plan_about negative = { .step_seconds = -0.0 };
    assert_string_equal(write_file(p, &negative, a), write_file(p, NULL, a));
    pl_arena_free(a);
}

/* -- digest ------------------------------------------------------------------------------------ */

/* A change of what a plan depends on changes it; another name and other initial values do not; what
 * is parsed from the text has the same. */
static void test_digest(void **state)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        { "input lr f32[]", "input lr i64[]" },
        { "input lr", "input rl" },
        { "input lr f32[]", "input lr f32[1]" },
        { "state b f32[6] weight", "state b f32[6] buffer" },
        { "= relu", "= tanh" },
        { "forward act f32[8,6] = relu \"\" fc", "forward act f32[8,6] = scale \"; value=2\" fc" },
        { "act b", "fc b" },
        { " / fc", "" },
        { " / fc", " / act" },
        { "sub \"\" w g", "sub \"\" g w" },
        { "next w step", "next w w" },
        { "next w step\n", "" },
        { "input x f32[8,4]\ninput lr f32[]\n", "input lr f32[]\ninput x f32[8,4]\n" },
    };
    enum { N = sizeof changes / sizeof *changes };
    pl_arena *a = pl_arena_new("test");
    uint64_t seen[N + 1] = { pl_plan_digest(parse_graph(TINY, a)) };
    (void)state;
    assert_true(seen[0] == pl_plan_digest(parse_graph(TINY, a)));
    static const struct {
        const char *from, *to;
    } same[] = { { "graph tiny", "graph tinier" }, { "std=0.5", "std=0.25" } };
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(TINY, same[i].from);
        const char *text = pl_arena_fmt(a, "%.*s%s%s", (int)(at - TINY), TINY, same[i].to,
                                        at + strlen(same[i].from));
        assert_true(seen[0] == pl_plan_digest(parse_graph(text, a)));
    }
    for (int i = 0; i < N; i++) {
        const char *at = strstr(TINY, changes[i].from);
        assert_non_null(at);
        const char *text = pl_arena_fmt(a, "%.*s%s%s", (int)(at - TINY), TINY, changes[i].to,
                                        at + strlen(changes[i].from));
        seen[i + 1] = pl_plan_digest(parse_graph(text, a));
        for (int k = 0; k <= i; k++)
            EXPECT(seen[k] != seen[i + 1], "'%s' -> '%s' is not seen", changes[i].from,
                   changes[i].to);
    }
    pl_arena_free(a);
}

/* A graph from the text of another has other ids, and nodes that are named otherwise. */
static void test_parsed_graph(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODELS; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_clipped(models[i], PL_TRAIN, 1, a);
        pl_text t = { .arena = a };
        pl_graph_print(g, &t);
        const pl_graph *again = parse_graph(pl_text_get(&t), a);
        assert_true(pl_plan_digest(g) == pl_plan_digest(again));
        const char *text = write_file(plan(g, "zero=3", 4, NULL, a), NULL, a);
        const pl_plan *p = plan_of_file(text, g, a), *q = plan_of_file(text, again, a);
        for (int n = 0; n < g->nodes.n; n++)
            EXPECT(!memcmp(&p->choice[n], &q->choice[n], sizeof *q->choice), "'%s' works otherwise",
                   g->nodes.at[n]->name);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),   cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_auto),      cmocka_unit_test(test_lots),
        cmocka_unit_test(test_bytes),     cmocka_unit_test(test_same),
        cmocka_unit_test(test_version_1), cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_3), cmocka_unit_test(test_stages),
        cmocka_unit_test(test_micro),     cmocka_unit_test(test_head),
        cmocka_unit_test(test_digest),    cmocka_unit_test(test_parsed_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
