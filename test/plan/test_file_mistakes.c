/* What is no plan file, or none of this graph, is told with its place; bytes of an enemy do no
 * harm. */
#include "base/file.h"
#include "support/files.h"

#include <math.h>

static const char *tiny_file(const pl_graph *g, pl_arena *a)
{
    const pl_plan_about about = { .model = "tiny", .step_seconds = 0.125, .memory_bytes = 4096 };
    return write_file(make_tiny(g, a), &about, a);
}

/* The message of what does not read, or does not fit the graph. */
static const char *message_of(const char *text, size_t n, const pl_graph *g, pl_arena *a)
{
    pl_plan_file f;
    pl_plan *p;
    pl_err err = { 0 };
    bool ok = pl_plan_file_read(text, n, a, &f, &err) && pl_plan_file_plan(&f, g, a, &p, &err);
    EXPECT(!ok, "this is no plan, and reads:\n%s", text);
    EXPECT(err.code == PL_EINPUT && *err.msg, "code %d: %s", (int)err.code, err.msg);
    return pl_arena_text(a, err.msg);
}

#define STORED_X "{\"tensor\": \"x\", \"placement\": \"[data;]\"}"
#define KEPT_ACT "{\"tensor\": \"act\", \"placement\": \"[data;]\"}"
#define AGAIN_SUM "\"recomputed\": [\n    \"sum\""
#define NODE_FC "{\"node\": \"fc\", \"split\": {\"data\": \"m\", \"tensor\": \"n\"}}"
#define ORDER "\"order\": {\"m\": [\"tensor\", \"data\"]}"
#define MESH "[{\"axis\": \"data\", \"size\": 2}, {\"axis\": \"tensor\", \"size\": 2}]"

static const struct {
    const char *from, *to, *message;
} cases[] = {
    /* the head */
    { "pleat.plan/4", "pleat.plan/5",
      "'schema' is 'pleat.plan/5', and this version of pleat knows pleat.plan/1, "
      "pleat.plan/2, pleat.plan/3 and pleat.plan/4: plan again" },
    { "\"micro\": 1,", "", "'micro' is missing" },
    { "\"micro\": 1,", "\"micro\": 0,", "'micro' is 0: a step has one micro-batch at least" },
    { "\"micro\": 1,", "\"micro\": -1,", "'micro' is another value: an integer" },
    { "\"micro\": 1,", "\"micro\": 2,", "the plan is for another graph" },
    { "\"micro\": 1,", "\"micro\": 1, \"masters\": false,", "'masters' is true, or not there" },
    { "\"micro\": 1,", "\"micro\": 1, \"unclipped\": 1,", "'unclipped' is true, or not there" },
    { "\"schema\": \"pleat.plan/4\",", "", "'schema' is missing: a text is needed" },
    { "\"pleat.plan/4\"", "1", "'schema' is of another kind: a text is needed" },
    { "\"model\"", "\"modle\"", "no key is called 'modle'; there are schema model optimizer" },
    { "  \"model\": \"tiny\",\n", "", "'model' is missing: a text is needed" },
    { "\"optimizer\": \"\"", "\"optimizer\": null", "'optimizer' is of another kind" },
    { "\"strategy\": \"by hand\"", "\"strategy\": []", "'strategy' is of another kind" },
    { "\"model\":", "\"model\": \"\", \"model\":", "bad JSON at line 3, column 22: duplicate" },
    { "\"nodes\": 6,", "\"nodes\": 6.5,", "graph: 'nodes' is another value: an integer" },
    { "\"nodes\": 6,", "\"nodes\": -6,", "graph: 'nodes' is another value: an integer" },
    { "\"nodes\": 6,", "\"nodes\": 3000000000,", "graph: 3000000000 nodes are too many" },
    { "\"nodes\": 6,", "", "graph: 'nodes' is missing" },
    { "\"digest\": \"", "\"digest\": \"0", "graph: 'digest' is not 16 hexadecimal digits" },
    { "\"nodes\": 6,", "\"nodes\": 6, \"edges\": 1,", "graph: no key is called 'edges'" },
    { "\"step_seconds\": 0.125", "\"step_seconds\": -1", "predicted: 'step_seconds' is another" },
    { "\"step_seconds\": 0.125", "\"step_seconds\": \"1\"", "a number of at least 0 is needed" },
    { "\"step_seconds\": 0.125", "\"step_seconds\": 1e309", "real number overflow" },
    { "\"step_seconds\": 0.125, ", "", "predicted: 'step_seconds' is missing" },
    /* the mesh and the cluster */
    { MESH, "{}", "'mesh' is of another kind: a list is needed" },
    { MESH, "[7]", "mesh[0]: an object is needed, with the keys axis size" },
    { "\"size\": 2}]", "\"size\": 0}]", "mesh[1]: axis 'tensor' has 0 devices" },
    { "\"size\": 2}]", "\"size\": 1000000}]",
      "axis 'tensor' has 1000000 devices, those before it 2: "
      "at least 1, and 1048576 in all, can be" },
    { "\"size\": 2}]", "\"size\": 1e308}]", "mesh[1]: 'size' is another value: an integer" },
    { "\"size\": 2}]", "\"size\": 99999999999999999999}]", "too big integer" },
    { "\"axis\": \"tensor\"", "\"axis\": \"data\"", "mesh[1]: two axes are named 'data'" },
    { "\"axis\": \"tensor\"", "\"axis\": \"a:b\"", "axis 'a:b': a name has none of , : ; ] }" },
    { "\"axis\": \"tensor\"", "\"axis\": \"\"", "an axis name of 0 bytes: it has 1 to 15" },
    { "\"axis\": \"tensor\"", "\"axis\": \"0123456789abcdef\"", "an axis name of 16 bytes" },
    { MESH,
      "[{\"axis\":\"a\",\"size\":1},{\"axis\":\"b\",\"size\":1},{\"axis\":\"c\",\"size\":1},"
      "{\"axis\":\"d\",\"size\":1},{\"axis\":\"e\",\"size\":1},{\"axis\":\"f\",\"size\":1},"
      "{\"axis\":\"g\",\"size\":1}]",
      "'mesh' has 7 axes, at most 6 can be" },
    { "\"cluster\": \"\"", "\"cluster\": \"nothing\"", "cluster: line 1: " },
    /* rows */
    { "\"placement\": \"[data;]\"", "\"placement\": \"data\"",
      "stored[0]: 'x': placement 'data' does not start with '['" },
    { "[data;]", "[gpu;]", "stored[0]: 'x': placement: the mesh has no axis 'gpu'" },
    { "[data;]", "[;;data]", "stored, kept: placements of another rank have 'x' (3, not 2)" },
    { "[data;]", "[data:3x1;]",
      "input 'x': axis 'data': dimension 0 of 8 has no digit of 3 values of 1 each" },
    { "[data;]", "[data,data;]", "input 'x': axis 'data' is used twice" },
    { ", \"placement\": \"[data;]\"", "", "stored[0]: 'x': 'placement' is missing" },
    { STORED_X, "[]", "stored[0]: an object is needed, with the keys tensor placement" },
    { STORED_X, STORED_X ", " STORED_X, "stored: more than once there stand 'x'" },
    { "\"tensor\": \"x\"", "\"tensor\": \"y\"",
      "stored, kept, recomputed: the graph has no tensors that are called 'y'" },
    { "\"tensor\": \"x\"", "\"tensor\": \"act\"", "stored: neither inputs nor states are 'act'" },
    { KEPT_ACT, KEPT_ACT ", " KEPT_ACT, "kept: more than once there stand 'act'" },
    { KEPT_ACT, "{\"tensor\": \"v\", \"placement\": \"[]\"}",
      "stored, kept, recomputed: the graph has no tensors that are called 'v'" },
    { KEPT_ACT, "{\"tensor\": \"act\", \"placement\": \"[;;data]\"}",
      "stored, kept: placements of another rank have 'act' (3, not 2)" },
    { KEPT_ACT, "{\"tensor\": \"act\", \"placement\": \"[gpu;]\"}",
      "kept[1]: 'act': placement: the mesh has no axis 'gpu'" },
    { KEPT_ACT, "{\"tensor\": \"act\", \"placement\": \"[data:3x1;]\"}",
      "'act', as it is kept: axis 'data': dimension 0 of 8 has no digit of 3 values of 1 each" },
    { KEPT_ACT, "{\"tensor\": \"act\"}", "kept[1]: 'act': 'placement' is missing" },
    { KEPT_ACT, "{\"tensor\": \"act\", \"unless\": [\"data\"]}",
      "kept[1]: no key is called 'unless'" },
    { AGAIN_SUM,
      "\"recomputed\": ["
      "\"total\", \"sum\", \"total\"",
      "recomputed: more than once there stand 'total'" },
    { AGAIN_SUM,
      "\"recomputed\": ["
      "\"w\", \"g\"",
      "recomputed: no node that changes no state makes in the forward pass 'w', 'g'" },
    { AGAIN_SUM,
      "\"recomputed\": ["
      "\"v\"",
      "stored, kept, recomputed: the graph has no tensors that are called 'v'" },
    { AGAIN_SUM,
      "\"recomputed\": ["
      "{}",
      "recomputed[0]: the name of a tensor is needed" },
    { "\"data\": \"m\", \"tensor\": \"n\"", "\"gpu\": \"m\"",
      "nodes[0]: 'fc': the mesh has no axis 'gpu'; it has data, tensor" },
    { "\"data\": \"m\", \"tensor\": \"n\"", "", "nodes[0]: 'fc': 'split' names no axis" },
    { "\"tensor\": \"n\"", "\"tensor\": \"q\"",
      "nodes: their signatures lack the letters of 'fc' (q on axis 'tensor')" },
    { "\"tensor\": \"n\"", "\"tensor\": \"mn\"",
      "nodes[0]: 'fc': 'mn' is neither the letter of a factor nor linear:N" },
    { "\"tensor\": \"n\"", "\"tensor\": \"\"", "'' is neither the letter of a factor" },
    { "\"tensor\": \"n\"", "\"tensor\": \"linear:127\"", "'linear:127' is neither" },
    { "\"tensor\": \"n\"", "\"tensor\": \"linear:9\"",
      "node 'fc': einsum is not linear in a set 9" },
    { "\"tensor\": \"n\"", "\"tensor\": 3", "nodes[0]: 'fc': 'tensor' is of another kind" },
    { "\"split\": {\"data\": \"m\", \"tensor\": \"n\"}", "\"split\": [\"m\"]",
      "nodes[0]: 'fc': 'split' is of another kind: an object is needed" },
    { ", \"split\": {\"data\": \"m\", \"tensor\": \"n\"}", "", "'split' is missing" },
    { NODE_FC, NODE_FC ", " NODE_FC, "nodes: more than once there stand 'fc'" },
    { "\"node\": \"fc\"", "\"node\": \"fd\"", "nodes: the graph has none that are called 'fd'" },
    { "\"node\": \"fc\"", "\"node\": \"w\"", "nodes: the graph has none that are called 'w'" },
    { ORDER, "\"order\": {\"m\": [\"tensor\"]}",
      "nodes[1]: 'sum': order: 'm' names other axes than 'split' has for it" },
    { ORDER, "\"order\": {\"n\": [\"tensor\", \"data\"]}", "order: 'n' names other axes" },
    { ORDER, "\"order\": {\"mm\": [\"tensor\", \"data\"]}", "order: 'mm' names other axes" },
    { ORDER, "\"order\": [\"m\"]", "'order' is of another kind: an object is needed" },
    { ORDER, "\"level\": 1", "nodes[1]: no key is called 'level'; there are node split order" },
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = parse_graph(TINY, a);
        const char *text = change(tiny_file(g, a), cases[i].from, cases[i].to, a);
        const char *message = message_of(text, strlen(text), g, a);
        EXPECT(strstr(message, cases[i].message), "'%s' -> '%s': '%s', not '%s'", cases[i].from,
               cases[i].to, message, cases[i].message);
        pl_arena_free(a);
    }
}

/* A factor that may not be split. */
static void test_illegal(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph("graph one\ninput x f32[8,4]\n"
                                    "forward y f32[8,4] = softmax \"\" x\noutput y\n",
                                    a);
    pl_plan *p = pl_plan_single(g, a);
    (void)state;
    p->mesh = (pl_mesh){ .n = 1, .axis = { { "data", 2, 0, 0 } } };
    set_factor(p, "y", 0, '0', 0);
    const char *text = write_file(p, NULL, a);
    (void)plan_of_file(text, g, a);
    text = change(text, "\"data\": \"0\"", "\"data\": \"v\"", a);
    const char *message = message_of(text, strlen(text), g, a);
    EXPECT(strstr(message, "node 'y': softmax cannot be split on factor"), "%s", message);
    pl_arena_free(a);
}

static void test_other_graph(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a), *less, *other;
    const char *text = tiny_file(g, a);
    (void)state;
    other = parse_graph(change(TINY, "relu", "tanh", a), a);
    less = parse_graph(change(TINY, "next w step\n", "", a), a);
    const char *message = message_of(text, strlen(text), other, a);
    const char *want = pl_arena_fmt(a,
                                    "for another graph: 6 nodes, digest %016llx; 'tiny' has 6, "
                                    "digest %016llx. Build 'tiny' with ",
                                    (unsigned long long)pl_plan_digest(g),
                                    (unsigned long long)pl_plan_digest(other));
    EXPECT(strstr(message, want), "%s", message);
    message = message_of(text, strlen(text), less, a);
    EXPECT(strstr(message, "6 nodes") && strstr(message, "has 4, digest"), "%s", message);
    text = change(text, "\"nodes\": 6,", "\"nodes\": 7,", a);
    message = message_of(text, strlen(text), g, a);
    EXPECT(strstr(message, "7 nodes"), "%s", message);
    pl_arena_free(a);
}

/* The cluster in the file says how many devices there are. */
static void test_other_cluster(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    pl_plan *p = make_tiny(g, a);
    pl_cluster *c;
    pl_text t = { .arena = a };
    pl_plan_about about = { 0 };
    pl_err err = { 0 };
    (void)state;
    EXPECT(pl_cluster_find("2x3xv100", a, &c, &err), "%s", err.msg);
    pl_cluster_print(c, &t);
    about.cluster = pl_text_get(&t);
    const char *text = write_file(p, &about, a), *message = message_of(text, strlen(text), g, a);
    EXPECT(strstr(message, "'mesh' has 4 devices, cluster '2x3xv100' 6"), "%s", message);
    text = change(text, MESH, "[{\"axis\": \"data\", \"size\": 6}]", a);
    message = message_of(text, strlen(text), g, a);
    EXPECT(strstr(message, "stored[1]: 'w': placement: the mesh has no axis 'tensor'"), "%s",
           message);
    pl_arena_free(a);
}

static void test_version_1(void **state)
{
    static const struct {
        const char *rows, *message;
    } few[] = {
        { "{\"tensor\": \"w\", \"unless\": []}",
          "regather[0]: 'w': 'unless' names no axis: leave it out" },
        { "{\"tensor\": \"w\", \"unless\": [\"data\", \"data\"]}",
          "regather[0]: 'w': 'unless' names axis 'data' twice" },
        { "{\"tensor\": \"w\", \"unless\": [1]}", "'unless': the name of an axis is needed" },
        { "{\"tensor\": \"w\", \"unless\": \"data\"}", "'unless' is of another kind: a list" },
        { "{\"tensor\": \"w\", \"placement\": \"[;]\"}", "no key is called 'placement'" },
        { "{\"tensor\": \"w\"}, {\"tensor\": \"w\"}", "kept: more than once there stand 'w'" },
        { "{\"tensor\": \"v\"}",
          "stored, kept, recomputed: the graph has no tensors that are called 'v'" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    (void)state;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        const char *text = version_1(tiny_file(g, a), few[i].rows, a);
        const char *message = message_of(text, strlen(text), g, a);
        EXPECT(strstr(message, few[i].message), "'%s', not '%s'", message, few[i].message);
    }
    pl_arena_free(a);
}

/* All of a kind, the first eight by name. */
static void test_many(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    pl_text t = { .arena = a };
    (void)state;
    for (int i = 0; i < 11; i++)
        pl_text_add(&t, "{\"node\": \"no%d\", \"split\": {\"data\": \"m\"}}, ", i);
    pl_text_add(&t, "%s", NODE_FC);
    const char *text = change(tiny_file(g, a), NODE_FC, pl_text_get(&t), a);
    const char *message = message_of(text, strlen(text), g, a);
    EXPECT(strstr(message, "called 'no0', 'no1', 'no2', 'no3', 'no4', 'no5', 'no6', 'no7' and 3 "
                           "more"),
           "%s", message);
    pl_arena_free(a);
}

/* -- bytes of an enemy ------------------------------------------------------------------------- */

/* Cut anywhere, it says so. */
static void test_cut(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const char *text = tiny_file(g, a);
    (void)state;
    for (size_t n = 0; n + 2 < strlen(text); n++) {
        pl_arena *tmp = pl_arena_new("cut");
        const char *message = message_of(pl_arena_span(tmp, text, n), n, g, tmp);
        EXPECT(strstr(message, "bad JSON at line "), "%zu bytes: %s", n, message);
        pl_arena_free(tmp);
    }
    EXPECT(strstr(message_of(text, strlen(text) - 20, g, a), "near end of file"), "cut");
    pl_arena_free(a);
}

/* Any byte of it another: read or refused, and what is read writes and reads the same. */
static void test_one_byte(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const char *text = tiny_file(g, a);
    const size_t n = strlen(text);
    int read = 0;
    (void)state;
    for (size_t i = 0; i < 4 * n; i++) {
        pl_arena *tmp = pl_arena_new("byte");
        static const char bytes[] = { 0, '"', '9', (char)0xff };
        char *x = pl_arena_span(tmp, text, n);
        pl_plan_file f;
        pl_plan *p;
        pl_err err = { 0 };
        x[i / 4] = bytes[i % 4];
        if (pl_plan_file_read(x, n, tmp, &f, &err) && pl_plan_file_plan(&f, g, tmp, &p, &err)) {
            const char *first = write_file(p, &f.about, tmp);
            const pl_plan *q = plan_of_file(first, g, tmp);
            assert_string_equal(write_file(q, &f.about, tmp), first);
            read++;
        } else {
            assert_true(err.code == PL_EINPUT && *err.msg);
        }
        pl_arena_free(tmp);
    }
    assert_true(read > 10); /* texts, sizes */
    pl_arena_free(a);
}

static const char *repeat(const char *text, int n, pl_arena *a)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < n; i++) pl_text_add(&t, "%s", text);
    return pl_text_get(&t);
}

static void test_hostile(void **state)
{
    static const char nul[] = "{\"schema\": \"pleat.plan/4\", \"model\": \"a\0b\"}";
    static const struct {
        const char *text, *message;
    } few[] = {
        { "", "bad JSON at line 1" },
        { "[]", "an object {...} is needed" },
        { "plan dp\nmesh data=4\n", "bad JSON at line 1" },
        { "{\"schema\": \"pleat.plan/4\", \"model\": \"a\\u0000b\"}", "\\u0000 is not allowed" },
        { "{\"schema\": \"pleat.plan/4\", \"model\": \"\xff\"}", "unable to decode byte 0xff" },
        { "{\"schema\": \"pleat.plan/4\", \"model\": \"\\ud800\"}", "invalid Unicode" },
        { "{\"schema\": \"pleat.plan/4\", \"\xc3\x28\": 1}", "unable to decode byte" },
    };
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = parse_graph(TINY, a);
    const char *text = tiny_file(g, a), *message;
    (void)state;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        message = message_of(few[i].text, strlen(few[i].text), g, a);
        EXPECT(strstr(message, few[i].message), "'%s', not '%s'", message, few[i].message);
    }
    EXPECT(strstr(message_of(nul, sizeof nul - 1, g, a), "bad JSON at line 1"), "NUL");
    const char *deep = repeat("[", 100000, a);
    EXPECT(strstr(message_of(deep, strlen(deep), g, a), "nested deeper than 5 levels"), "deep");
    deep = change(text, MESH, "[{\"axis\": [[[[]]]]}]", a);
    EXPECT(strstr(message_of(deep, strlen(deep), g, a), "nested deeper than 5 levels"), "mesh");
    const char *wide = change(text, MESH, pl_arena_fmt(a, "[%s0]", repeat("0,", 500000, a)), a);
    EXPECT(strstr(message_of(wide, strlen(wide), g, a), "'mesh' has 500001 axes"), "wide");
    wide = change(text, STORED_X, pl_arena_fmt(a, "%s0", repeat("[],", 300000, a)), a);
    EXPECT(strstr(message_of(wide, strlen(wide), g, a), "brackets"), "brackets");
    wide = change(text, NODE_FC, pl_arena_fmt(a, "%s0", repeat(NODE_FC ",", 20000, a)), a);
    EXPECT(strstr(message_of(wide, strlen(wide), g, a), "nodes[20000]: an object"), "nodes");
    message = change(text, "\"fc\"", pl_arena_fmt(a, "\"%s\"", repeat("long ", 100000, a)), a);
    EXPECT(strlen(message_of(message, strlen(message), g, a)) < 400, "a long name");
    message = change(text, "[data;]", repeat("[;", 100000, a), a);
    EXPECT(strstr(message_of(message, strlen(message), g, a), "placement"), "placement");
    message = change(text, "[data;]", "[data:9223372036854775807x9223372036854775807;]", a);
    EXPECT(strstr(message_of(message, strlen(message), g, a), "SIZExUNIT"), "digits");
    pl_arena_free(a);
}

/* The example of docs/plan.md. */
static void test_documented(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const char *source = getenv("PLEAT_SOURCE_DIR"), *text;
    size_t n;
    pl_err err = { 0 };
    (void)state;
    EXPECT(source, "PLEAT_SOURCE_DIR says where docs/ is");
    const char *path = pl_arena_fmt(a, "%s/docs/plan.md", source);
    EXPECT(pl_file_read(path, 1 << 20, a, &text, &n, &err), "%s", err.msg);
    const char *from = strstr(text, "```json\n"), *end = from ? strstr(from + 8, "```\n") : NULL;
    EXPECT(end, "%s has no example", path);
    const char *example = pl_arena_span(a, from + 8, (size_t)(end - from) - 8);
    const pl_plan_file f = read_file(example, a);
    assert_true(f.cluster && f.mesh.n && f.about.step_seconds > 0);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),    cmocka_unit_test(test_illegal),
        cmocka_unit_test(test_other_graph), cmocka_unit_test(test_other_cluster),
        cmocka_unit_test(test_version_1),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_one_byte),
        cmocka_unit_test(test_hostile),     cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
