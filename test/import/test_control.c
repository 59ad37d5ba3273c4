/* Control flow of ONNX files: the branch that is taken, loops unrolled, sequences; and bodies that
 * are wrong, endless or nested without end. Models are written here field by field. */
#include "../ops/eval.h"
#include "import/onnx.h"
#include "ops/lib/all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* -- messages ---------------------------------------------------------------------------------- */

typedef struct message {
    size_t n;
    uint8_t at[16000];
} message;

/* Fields as in src/import/onnx.proto. */
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE };
enum { GRAPH_NODE = 1, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT = 3, ATTRIBUTE_GRAPH = 6 };
enum { ATTRIBUTE_TYPE = 20, IS_INT = 2, IS_GRAPH = 5 };

static void put_number(message *m, uint64_t x)
{
    for (; x > 127; x >>= 7) m->at[m->n++] = (uint8_t)(x | 128);
    m->at[m->n++] = (uint8_t)x;
}

static void put_int(message *m, int field, int64_t x)
{
    put_number(m, (uint64_t)field << 3);
    put_number(m, (uint64_t)x);
}

static void put_bytes(message *m, int field, const void *at, size_t n)
{
    put_number(m, (uint64_t)field << 3 | 2);
    put_number(m, n);
    assert_true(m->n + n < sizeof m->at);
    memcpy(m->at + m->n, at, n);
    m->n += n;
}

static void put_text(message *m, int field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

/* Names by blanks; "-" is the one that is left out. */
static void put_names(message *m, int field, const char *names)
{
    char name[40];
    while (*names) {
        const size_t n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        put_text(m, field, !strcmp(name, "-") ? "" : name);
        names += n + (names[n] == ' ');
    }
}

/* A node of an operator, "a b -> c"; attributes follow with put_graph and put_attribute, then
 * add_node. */
static message node_of(const char *op, const char *in, const char *out)
{
    message m = { 0 };
    put_names(&m, NODE_INPUT, in);
    put_names(&m, NODE_OUTPUT, out);
    put_text(&m, NODE_OP, op);
    put_text(&m, NODE_NAME, out);
    return m;
}

static void put_graph(message *node, const char *name, const message *graph)
{
    static message a;
    a.n = 0;
    put_text(&a, ATTRIBUTE_NAME, name);
    put_bytes(&a, ATTRIBUTE_GRAPH, graph->at, graph->n);
    put_int(&a, ATTRIBUTE_TYPE, IS_GRAPH);
    put_bytes(node, NODE_ATTRIBUTE, a.at, a.n);
}

static void add_node(message *graph, const char *op, const char *in, const char *out)
{
    const message m = node_of(op, in, out);
    put_bytes(graph, GRAPH_NODE, m.at, m.n);
}

static void add_constant(message *graph, const char *name, int64_t x)
{
    message a = { 0 }, m = node_of("Constant", "", name);
    put_text(&a, ATTRIBUTE_NAME, "value_int");
    put_int(&a, ATTRIBUTE_INT, x);
    put_int(&a, ATTRIBUTE_TYPE, IS_INT);
    put_bytes(&m, NODE_ATTRIBUTE, a.at, a.n);
    put_bytes(graph, GRAPH_NODE, m.at, m.n);
}

static void add_port(message *graph, int field, const char *name)
{
    message m = { 0 };
    put_text(&m, 1, name);
    put_bytes(graph, field, m.at, m.n);
}

/* The whole model: input x f32[2], output y. */
static message model_of(const message *graph)
{
    message g = *graph, m = { 0 }, opset = { 0 }, dim = { 0 }, shape = { 0 }, tensor = { 0 },
            type = { 0 }, x = { 0 };
    put_int(&dim, 1, 2);
    put_bytes(&shape, 1, dim.at, dim.n);
    put_int(&tensor, 1, 1);
    put_bytes(&tensor, 2, shape.at, shape.n);
    put_bytes(&type, 1, tensor.at, tensor.n);
    put_text(&x, 1, "x");
    put_bytes(&x, 2, type.at, type.n);
    put_bytes(&g, GRAPH_INPUT, x.at, x.n);
    add_port(&g, GRAPH_OUTPUT, "y");
    put_int(&m, 1, 8);
    put_bytes(&m, 7, g.at, g.n);
    put_int(&opset, 2, 17);
    put_bytes(&m, 8, opset.at, opset.n);
    return m;
}

/* -- running ----------------------------------------------------------------------------------- */

/* The model's y for x = (1, 10): its number of elements, -1 with an error. */
static int run(const message *graph, double y[], int most, pl_err *err)
{
    const message m = model_of(graph);
    pl_arena *a = pl_arena_new("control");
    const pl_onnx_options o = { 0 };
    pl_value *out[1];
    pl_onnx *f;
    pl_graph *g;
    int n = -1;
    if (pl_onnx_parse(m.at, m.n, "m.onnx", a, &f, err)) {
        pl_builder b = pl_builder_new(a, &pl_ops_all, "m");
        pl_onnx_add(&b, f, &o, out);
        if (!b.err.code) pl_add_output(&b, "out", out[0]);
        if (pl_builder_done(&b, &g, err)) {
            eval e = eval_new(g);
            const pl_value *v = g->outputs.at[0];
            for (int i = 0; i < g->values.n; i++)
                if (g->values.at[i]->role == PL_INPUT)
                    memcpy(e.at[i], (const float[]){ 1, 10 }, 2 * sizeof(float));
            eval_run(&e, g->nodes.n);
            n = (int)pl_shape_count(&v->shape);
            for (int i = 0; i < n && i < most; i++) y[i] = pl_type_get(v->type, e.at[v->id], i);
            eval_free(&e);
        }
    }
    pl_arena_free(a);
    return n;
}

static void expect(const message *graph, int n, const double want[])
{
    double y[32] = { 0 };
    pl_err err = { 0 };
    const int got = run(graph, y, 32, &err);
    if (got < 0) fail_msg("%s", err.msg);
    assert_int_equal(got, n);
    for (int i = 0; i < n; i++) assert_true(fabs(y[i] - want[i]) < 1e-5 * (1 + fabs(want[i])));
}

static void refuse(const message *graph, pl_code code, const char *says)
{
    pl_err err = { 0 };
    if (run(graph, NULL, 0, &err) >= 0) fail_msg("no error that says '%s'", says);
    if (err.code != code || !strstr(err.msg, says))
        fail_msg("code %d, not %d with '%s': %s", err.code, code, says, err.msg);
}

/* -- If ---------------------------------------------------------------------------------------- */

/* A branch that makes `out` of x by an operator of two operands. */
static message branch(const char *op, const char *out)
{
    message g = { 0 };
    add_node(&g, op, "x x", out);
    add_port(&g, GRAPH_OUTPUT, out);
    return g;
}

static message if_of(const char *condition)
{
    const message then = branch("Add", "a"), other = branch("Mul", "a");
    message m = node_of("If", condition, "y");
    put_graph(&m, "then_branch", &then);
    put_graph(&m, "else_branch", &other);
    return m;
}

static void test_if(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        message g = { 0 };
        const message m = if_of("c");
        add_constant(&g, "c", on);
        put_bytes(&g, GRAPH_NODE, m.at, m.n);
        expect(&g, 2, on ? (const double[]){ 2, 20 } : (const double[]){ 1, 100 });
    }
    message g = { 0 };
    const message m = if_of("s");
    add_node(&g, "ReduceSum", "x", "s");
    put_bytes(&g, GRAPH_NODE, m.at, m.n);
    refuse(&g, PL_EUNSUPPORTED, "the condition 's' is computed from the data");
}

static void test_if_wrong(void **state)
{
    (void)state;
    message g = { 0 }, m = node_of("If", "c", "y");
    const message none = { 0 }, junk = { .n = 3, .at = { 0xff, 0xff, 0xff } };
    add_constant(&g, "c", 1);
    const size_t start = g.n;
    put_bytes(&g, GRAPH_NODE, m.at, m.n);
    refuse(&g, PL_EINPUT, "then_branch holds no graph");
    g.n = start;
    put_graph(&m, "then_branch", &junk);
    put_bytes(&g, GRAPH_NODE, m.at, m.n);
    refuse(&g, PL_EINPUT, "then_branch holds no graph");
    g.n = start;
    m = node_of("If", "c", "y");
    put_graph(&m, "then_branch", &none);
    put_bytes(&g, GRAPH_NODE, m.at, m.n);
    refuse(&g, PL_EINPUT, "the body has 0 outputs, 1 are wanted");
}

/* An operator that is not known matters in the branch that is taken alone. */
static void test_if_unknown(void **state)
{
    const message known = branch("Add", "a"), unknown = branch("Fancy", "a");
    (void)state;
    for (int on = 0; on < 2; on++) {
        message g = { 0 }, m = node_of("If", "c", "y");
        put_graph(&m, "then_branch", &known);
        put_graph(&m, "else_branch", &unknown);
        add_constant(&g, "c", on);
        put_bytes(&g, GRAPH_NODE, m.at, m.n);
        if (on)
            expect(&g, 2, (const double[]){ 2, 20 });
        else
            refuse(&g, PL_EUNSUPPORTED, "'a' (Fancy): the operator is not supported");
    }
}

static void test_nested(void **state)
{
    message body = branch("Add", "a");
    (void)state;
    for (int depth = 0; depth < 40; depth++) {
        message g = { 0 }, m = node_of("If", "c", depth < 39 ? "a" : "y");
        put_graph(&m, "then_branch", &body);
        add_constant(&g, "c", 1);
        put_bytes(&g, GRAPH_NODE, m.at, m.n);
        if (depth == 39) refuse(&g, PL_EUNSUPPORTED, "nested more than 16 deep");
        add_port(&g, GRAPH_OUTPUT, "a");
        body = g;
    }
}

/* -- Loop -------------------------------------------------------------------------------------- */

/* Rounds of v = v + v; with each of them the new v, and the round's number. */
static message doubling(bool scans)
{
    message g = { 0 };
    add_port(&g, GRAPH_INPUT, "i");
    add_port(&g, GRAPH_INPUT, "on");
    add_port(&g, GRAPH_INPUT, "v");
    add_node(&g, "Add", "v v", "w");
    add_node(&g, "Identity", "on", "still");
    add_node(&g, "Identity", "w", "each");
    add_node(&g, "Identity", "i", "number");
    add_port(&g, GRAPH_OUTPUT, "still");
    add_port(&g, GRAPH_OUTPUT, "w");
    if (scans) add_port(&g, GRAPH_OUTPUT, "each");
    if (scans) add_port(&g, GRAPH_OUTPUT, "number");
    return g;
}

static void add_loop(message *g, const message *body, const char *in, const char *out)
{
    message m = node_of("Loop", in, out);
    put_graph(&m, "body", body);
    put_bytes(g, GRAPH_NODE, m.at, m.n);
}

static void test_loop(void **state)
{
    const message plain = doubling(false), scans = doubling(true);
    message g = { 0 };
    (void)state;
    add_constant(&g, "n", 3);
    const size_t start = g.n;
    add_loop(&g, &plain, "n - x", "y");
    expect(&g, 2, (const double[]){ 8, 80 });
    g.n = start;
    add_loop(&g, &scans, "n - x", "last y numbers");
    expect(&g, 6, (const double[]){ 2, 20, 4, 40, 8, 80 });
    message h = { 0 }; /* the numbers of the rounds are known: 0 and 1 can be a shape */
    add_constant(&h, "n", 2);
    add_loop(&h, &scans, "n - x", "last each numbers");
    add_node(&h, "Reshape", "x numbers", "y");
    expect(&h, 2, (const double[]){ 1, 10 });
}

/* Bags of x: its elements before the place x[0], and those from there; summed up, and each sum put
 * through `then`. As TorchScript writes EmbeddingBag. */
static message bags(const char *then)
{
    message g = { 0 }, body = { 0 }, keep = { 0 };
    for (int i = 0; i < 3; i++) {
        const char *const name[] = { "zero", "one", "two" }, *const list[] = { "at0", "at1",
                                                                               "at2" };
        char in[16];
        snprintf(in, sizeof in, "%s zero", name[i]);
        add_constant(&g, name[i], i);
        add_node(&g, "Unsqueeze", in, list[i]);
    }
    add_constant(&g, "yes", 1);
    add_node(&g, "Unsqueeze", "x one", "rows");
    add_node(&g, "CastLike", "x zero", "whole");
    add_node(&g, "Slice", "whole at0 at1", "first");
    add_node(&g, "Concat", "at0 first at2", "offsets");
    add_node(&g, "Concat", "first at2", "ends");
    add_port(&body, GRAPH_INPUT, "i");
    add_port(&body, GRAPH_INPUT, "on");
    add_node(&body, "Gather", "offsets i", "b");
    add_node(&body, "Gather", "ends i", "e");
    add_node(&body, "Unsqueeze", "b zero", "begin");
    add_node(&body, "Unsqueeze", "e zero", "end");
    add_node(&body, "Slice", "rows begin end", "part");
    message sum = node_of("ReduceSum", "part at0", "sum");
    put_text(&keep, ATTRIBUTE_NAME, "keepdims");
    put_int(&keep, ATTRIBUTE_INT, 0);
    put_int(&keep, ATTRIBUTE_TYPE, IS_INT);
    put_bytes(&sum, NODE_ATTRIBUTE, keep.at, keep.n);
    put_bytes(&body, GRAPH_NODE, sum.at, sum.n);
    add_node(&body, then, "sum", "row");
    add_node(&body, "Identity", "on", "still");
    add_port(&body, GRAPH_OUTPUT, "still");
    add_port(&body, GRAPH_OUTPUT, "row");
    add_loop(&g, &body, "two yes", "y");
    return g;
}

/* Where they begin is not known; a loop that makes something else of them stays one. */
static void test_bags(void **state)
{
    const message sums = bags("Identity"), less = bags("Neg");
    (void)state;
    expect(&sums, 2, (const double[]){ 1, 10 });
    refuse(&less, PL_EUNSUPPORTED, "is computed from the data");
}

static void test_loop_ends(void **state)
{
    const message plain = doubling(false), scans = doubling(true);
    message g = { 0 };
    (void)state;
    add_constant(&g, "n", 0);
    const size_t start = g.n;
    add_loop(&g, &plain, "n - x", "y");
    expect(&g, 2, (const double[]){ 1, 10 });
    g.n = start;
    add_loop(&g, &scans, "n - x", "last y numbers");
    refuse(&g, PL_EUNSUPPORTED, "no round is run");
    g.n = start;
    add_loop(&g, &plain, "- n x", "y"); /* the condition is 0 */
    expect(&g, 2, (const double[]){ 1, 10 });
    g.n = start;
    add_loop(&g, &plain, "- - x", "y");
    refuse(&g, PL_EUNSUPPORTED, "more than 4096 rounds");
    g.n = start;
    add_node(&g, "ReduceSum", "x", "s");
    add_loop(&g, &plain, "s - x", "y");
    refuse(&g, PL_EUNSUPPORTED, "has to be one constant");
    g.n = start;
    add_constant(&g, "one", 1);
    add_loop(&g, &plain, "one - x x", "y z");
    refuse(&g, PL_EINPUT, "the body has 3 inputs, it is given 4");
}

/* Rounds within rounds end when all of them together are too many. */
static void test_loop_bomb(void **state)
{
    message g = { 0 }, inner = doubling(false);
    (void)state;
    message outer = { 0 };
    add_port(&outer, GRAPH_INPUT, "i");
    add_port(&outer, GRAPH_INPUT, "on");
    add_port(&outer, GRAPH_INPUT, "v");
    add_loop(&outer, &inner, "n - v", "w");
    add_port(&outer, GRAPH_OUTPUT, "on");
    add_port(&outer, GRAPH_OUTPUT, "w");
    add_constant(&g, "n", 4000);
    add_loop(&g, &outer, "n - x", "y");
    refuse(&g, PL_EUNSUPPORTED, "a loop too long to unroll: ");
}

/* -- sequences --------------------------------------------------------------------------------- */

static void test_sequences(void **state)
{
    static const struct {
        const char *places; /* of the insertion, of the erasure; "": the usual ones */
        double y[4];
    } cases[] = {
        { "", { 1, 10, 2, 20 } },    /* x x+x xx, the last erased  */
        { "-1", { 1, 10, 1, 100 } }, /* x xx x+x                   */
        { "0", { 1, 100, 1, 10 } },  /* xx x x+x                   */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message g = { 0 };
        add_node(&g, "Add", "x x", "a");
        add_node(&g, "Mul", "x x", "b");
        if (*cases[i].places) add_constant(&g, "at", strtol(cases[i].places, NULL, 10));
        add_node(&g, "SequenceConstruct", "x a", "s");
        add_node(&g, "SequenceInsert", *cases[i].places ? "s b at" : "s b", "t");
        add_node(&g, "SequenceErase", "t", "u");
        add_node(&g, "ConcatFromSequence", "u", "y");
        message m = node_of("ConcatFromSequence", "u", "y"), a = { 0 };
        put_text(&a, ATTRIBUTE_NAME, "axis");
        put_int(&a, ATTRIBUTE_INT, 0);
        put_int(&a, ATTRIBUTE_TYPE, IS_INT);
        put_bytes(&m, NODE_ATTRIBUTE, a.at, a.n);
        expect(&g, 4, cases[i].y);
    }
    message g = { 0 };
    add_constant(&g, "far", 7);
    add_node(&g, "SequenceConstruct", "x x", "s");
    const size_t start = g.n;
    add_node(&g, "SequenceAt", "s far", "y");
    refuse(&g, PL_EINPUT, "place 7 in a sequence of 2");
    g.n = start;
    add_node(&g, "Relu", "s", "y");
    refuse(&g, PL_EUNSUPPORTED, "input 's' is a sequence");
    g.n = start;
    add_node(&g, "SequenceEmpty", "", "none");
    add_node(&g, "ConcatFromSequence", "none", "y");
    refuse(&g, PL_EUNSUPPORTED, "the sequence is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),         cmocka_unit_test(test_if_wrong),
        cmocka_unit_test(test_if_unknown), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_loop),       cmocka_unit_test(test_loop_ends),
        cmocka_unit_test(test_loop_bomb),  cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_bags),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
