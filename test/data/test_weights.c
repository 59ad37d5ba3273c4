/* Weights in files: which states start from them, what is told of the others, what is refused. */
#include "data/weights.h"

#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/arena.h"
#include "support/tensor_file.h"

static const float a23[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, a32[3][2];
static const uint16_t b2[2] = { 0x3C00, 0xC100 }; /* 1, -2.5 in f16 */
static const int64_t c1[1] = { 7 }, d4[4];

/* States a f32[2,3], b and c f32[2], and a constant; the output reads all of them. */
static const pl_graph *make_graph(void)
{
    pl_graph *g;
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *x = pl_add_state(&b, "a", PL_F32, PL_SHAPE(2, 3), "zeros", PL_WEIGHT);
    pl_value *y = pl_add_state(&b, "b", PL_F32, PL_SHAPE(2), "zeros", PL_WEIGHT);
    pl_value *z = pl_add_state(&b, "c", PL_F32, PL_SHAPE(2), "ones", PL_WEIGHT);
    pl_value *k = pl_add_state(&b, "constant.0", PL_F32, PL_SHAPE(2), "values 1 2", PL_BUFFER);
    pl_value *both = PL_ADD(&b, &pl_op_add, NULL, PL_ADD(&b, &pl_op_mul, NULL, y, k), z);
    pl_add_output(&b, "out", PL_ADD(&b, &pl_op_add, "ij,i->ij", x, both));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* What a state of the graph starts with. */
static void check_fill(const pl_weights *w, const char *name, int n, const float want[])
{
    const pl_value *v = pl_graph_find(make_graph(), name);
    const pl_init from = { .seed = 1, .weights = pl_weights_source(w) };
    pl_port p = port_of_whole(v);
    float found[6] = { 9, 9, 9, 9, 9, 9 };
    pl_err err = { 0 };
    if (!pl_init_fill(&p, &from, found, &err)) fail_msg("%s", err.msg);
    assert_memory_equal(found, want, (size_t)n * sizeof *want);
}

static void check_loads(const char *path, const char *told)
{
    pl_weights w;
    pl_err err = { 0 };
    const char *note;
    if (!pl_weights_open(path, arena, &w, &err) ||
        !pl_weights_match(&w, make_graph(), true, arena, &note, &err))
        fail_msg("%s", err.msg);
    assert_string_equal(note, told);
    check_fill(&w, "a", 6, a23[0]);
    check_fill(&w, "b", 2, (float[]){ 1, -2.5f });
    check_fill(&w, "c", 2, (float[]){ 1, 1 }); /* the initial value */
    pl_weights_free(&w);
}

static void test_file(void **state)
{
    (void)state;
    const tensor t[] = { TENSOR("a", "F32", a23, 2, 2, 3), TENSOR("b", "F16", b2, 1, 2),
                         TENSOR("u1", "I64", c1, 1, 1),    TENSOR("u2", "U64", c1, 1, 1),
                         TENSOR("u3", "I64", c1, 1, 1),    TENSOR("u4", "I64", c1, 1, 1) };
    write_tensors("weights.safetensors", 2, t, arena);
    check_loads("weights.safetensors",
                "weights.safetensors: 2 of 3 states loaded; start from their initial values: 'c'");
    write_tensors("weights.safetensors", 6, t, arena);
    check_loads("weights.safetensors",
                "weights.safetensors: 2 of 3 states loaded; start from their initial values: 'c'; "
                "of the file not used: 'u1', 'u2', 'u3' and 1 more");
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static void test_folders(void **state)
{
    (void)state;
    const tensor t[] = { TENSOR("a", "F32", a23, 2, 2, 3), TENSOR("b", "F16", b2, 1, 2),
                         TENSOR("z", "I64", c1, 1, 1) };
    mkdir("one", 0777);
    mkdir("shards", 0777);
    mkdir("shards/sub", 0777);
    write_tensors("one/any.safetensors", 2, t, arena);
    check_loads("one", "one: 2 of 3 states loaded; start from their initial values: 'c'");
    check_loads("one/", "one/: 2 of 3 states loaded; start from their initial values: 'c'");
    write_tensors("shards/1.safetensors", 1, t, arena);
    write_tensors("shards/sub/2.safetensors", 2, t + 1, arena);
    write_text("shards/model.safetensors.index.json",
               "{\"metadata\": {\"total_size\": 28}, \"weight_map\": "
               "{\"b\": \"sub/2.safetensors\", \"a\": \"1.safetensors\"}}");
    check_loads("shards", "shards: 2 of 3 states loaded; start from their initial values: 'c'");
    check_loads("shards/model.safetensors.index.json",
                "shards/model.safetensors.index.json: 2 of 3 states loaded; start from their "
                "initial values: 'c'");
}

static void check_match(const char *path, bool partial, const char *words)
{
    pl_weights w = { 0 };
    pl_err err = { 0 };
    const char *note;
    bool opened = pl_weights_open(path, arena, &w, &err);
    if (opened && pl_weights_match(&w, make_graph(), partial, arena, &note, &err))
        fail_msg("accepted: %s", words);
    if (opened) pl_weights_free(&w);
    assert_int_equal(err.code, PL_EINPUT);
    if (!strstr(err.msg, words)) fail_msg("no '%s' in: %s", words, err.msg);
}

static void check_refusal(const char *path, const char *words)
{
    check_match(path, true, words);
}

/* What would start from random numbers is an error, with what the user may have meant. */
static void test_missing(void **state)
{
    (void)state;
    static const float c2[2] = { 1, 2 };
    const tensor t[] = { TENSOR("a", "F32", a23, 2, 2, 3), TENSOR("b", "F16", b2, 1, 2),
                         TENSOR("base.the_c", "F32", c2, 1, 2), TENSOR("u", "I64", c1, 1, 1) };
    write_tensors("weights.safetensors", 4, t, arena);
    check_match("weights.safetensors", false,
                "weights.safetensors: 2 of 3 states loaded; not found: 'c'; of the file not used: "
                "'base.the_c', 'u'; --weights-partial starts these from their initial values");
    write_tensors("weights.safetensors", 1, t, arena);
    check_match("weights.safetensors", false, "not found: 'b', 'c'; --weights-partial");
}

/* The base model's name is the one that most tensors begin with, not the first of all. */
static void test_base_name(void **state)
{
    (void)state;
    static const float c2[2] = { 1, 2 };
    const tensor t[] = { TENSOR("alone.weight", "F32", c2, 1, 2),
                         TENSOR("base.a", "F32", a23, 2, 2, 3), TENSOR("base.b", "F16", b2, 1, 2),
                         TENSOR("base.c", "F32", c2, 1, 2) };
    pl_weights w;
    pl_err err = { 0 };
    const char *note;
    write_tensors("weights.safetensors", 4, t, arena);
    if (!pl_weights_open("weights.safetensors", arena, &w, &err) ||
        !pl_weights_match(&w, make_graph(), false, arena, &note, &err))
        fail_msg("%s", err.msg);
    if (!strstr(note, "3 of 3 states loaded")) fail_msg("%s", note);
    pl_weights_free(&w);
}

/* Weights "layer.experts.w" f32[4,2] of which files have the rows, and "layer.gate.weight" f32[2].
 */
static const pl_graph *make_stacked_graph(void)
{
    pl_graph *g;
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    b.scope = "layer.";
    pl_value *x = pl_add_state(&b, "experts.w", PL_F32, PL_SHAPE(4, 2), "zeros", PL_WEIGHT);
    pl_value *y = pl_add_state(&b, "gate.weight", PL_F32, PL_SHAPE(2), "zeros", PL_WEIGHT);
    x = pl_add_parts(&b, x, "experts.{}.w");
    b.scope = "";
    pl_add_output(&b, "out", PL_ADD(&b, &pl_op_add, "ij,j->ij", x, y));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static const float rows[4][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } };

static void check_stacked(const char *path)
{
    pl_weights w;
    pl_err err = { 0 };
    const char *note;
    const pl_graph *g = make_stacked_graph();
    const pl_value *v = pl_graph_find(g, "layer.experts.w");
    float whole[4][2], column[4];
    pl_port all = port_of_whole(v), part = port_of_part(v, 1, 2, 1),
            last = port_of_part(v, 0, 2, 1);
    if (!pl_weights_open(path, arena, &w, &err) ||
        !pl_weights_match(&w, g, false, arena, &note, &err))
        fail_msg("%s", err.msg);
    assert_non_null(strstr(note, "2 of 2 states loaded"));
    const pl_init from = { .seed = 1, .weights = pl_weights_source(&w) };
    if (!pl_init_fill(&all, &from, whole, &err) || !pl_init_fill(&part, &from, column, &err))
        fail_msg("%s", err.msg);
    assert_memory_equal(whole, rows, sizeof rows);
    assert_memory_equal(column, ((float[]){ 2, 4, 6, 8 }), sizeof column);
    if (!pl_init_fill(&last, &from, column, &err)) fail_msg("%s", err.msg);
    assert_memory_equal(column, rows[2], sizeof column);
    pl_weights_free(&w);
}

/* Rows in any order, over files, of several types, with the base model's name; or all in one. */
static void test_stacked(void **state)
{
    (void)state;
    static const uint16_t half[2] = { 0x40A0, 0x40C0 }; /* 5, 6 in bf16 */
    const tensor t[] = { TENSOR("m.layer.experts.3.w", "F32", rows[3], 1, 2),
                         TENSOR("m.layer.experts.0.w", "F32", rows[0], 1, 2),
                         TENSOR("m.layer.gate.weight", "F32", rows[0], 1, 2),
                         TENSOR("m.layer.experts.2.w", "BF16", half, 1, 2),
                         TENSOR("m.layer.experts.1.w", "F32", rows[1], 1, 2) };
    const tensor one[] = { TENSOR("layer.experts.w", "F32", rows, 2, 4, 2),
                           TENSOR("layer.gate.weight", "F32", rows[0], 1, 2) };
    write_tensors("weights.safetensors", 5, t, arena);
    check_stacked("weights.safetensors");
    write_tensors("weights.safetensors", 2, one, arena);
    check_stacked("weights.safetensors");
    mkdir("experts", 0777);
    write_tensors("experts/1.safetensors", 2, t, arena);
    write_tensors("experts/2.safetensors", 3, t + 2, arena);
    write_text("experts/model.safetensors.index.json",
               "{\"weight_map\": {\"m.layer.experts.1.w\": \"2.safetensors\", "
               "\"m.layer.experts.3.w\": \"1.safetensors\", "
               "\"m.layer.experts.2.w\": \"2.safetensors\", "
               "\"m.layer.gate.weight\": \"2.safetensors\", "
               "\"m.layer.experts.0.w\": \"1.safetensors\"}}");
    check_stacked("experts");
}

static void check_rows_refused(int n, const tensor t[], const char *words)
{
    pl_weights w;
    pl_err err = { 0 };
    const char *note;
    write_tensors("weights.safetensors", n, t, arena);
    if (!pl_weights_open("weights.safetensors", arena, &w, &err)) fail_msg("%s", err.msg);
    assert_false(pl_weights_match(&w, make_stacked_graph(), false, arena, &note, &err));
    assert_int_equal(err.code, PL_EINPUT);
    if (!strstr(err.msg, words)) fail_msg("no '%s' in: %s", words, err.msg);
    pl_weights_free(&w);
}

static void test_refused_rows(void **state)
{
    (void)state;
    const tensor t[] = {
        TENSOR("layer.gate.weight", "F32", rows[0], 1, 2),
        TENSOR("layer.experts.0.w", "F32", rows[0], 1, 2),
        TENSOR("layer.experts.1.w", "F32", rows[0], 1, 2),
        TENSOR("layer.experts.3.w", "F32", rows[0], 1, 2),
        TENSOR("layer.experts.2.u", "F32", rows[0], 1, 2),
    };
    const tensor near[] = { TENSOR("layer.get.weight", "F32", rows[0], 1, 2) };
    const tensor wide[] = { t[0], t[1], t[2], t[3],
                            TENSOR("layer.experts.2.w", "F32", rows, 1, 8) };
    check_rows_refused(1, t, "1 of 2 states loaded; not found: 'layer.experts.0.w'; --weights-p");
    check_rows_refused(5, t, "no 'layer.experts.2.w', and 3 of 4 such are there");
    check_rows_refused(1, near, "'layer.gate.weight' (the file has 'layer.get.weight')");
    check_rows_refused(5, wide, "'layer.experts.2.w' is f32[2] here, F32[8] in the file");
}

static void test_refused_tensors(void **state)
{
    static const struct {
        tensor t;
        const char *words;
    } cases[] = {
        { TENSOR("a", "F32", a32, 2, 3, 2),
          "'a' is f32[2,3] here, F32[3,2] in the file: transpose" },
        { TENSOR("b", "F32", a32, 1, 6), "'b' is f32[2] here, F32[6] in the file" },
        { TENSOR("b", "I64", d4, 1, 4), "'b' is f32[2] here, I64[4] in the file" },
        { TENSOR("b", "U16", b2, 1, 2), "'b' is uint16, and f32 is needed" },
        { TENSOR("other", "F32", a32, 1, 6), "0 of 3 states loaded; not found: 'a', 'b', 'c'; of" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_tensors("weights.safetensors", 1, &cases[i].t, arena);
        check_refusal("weights.safetensors", cases[i].words);
    }
    const tensor two[] = { cases[0].t, cases[1].t }; /* at once */
    write_tensors("weights.safetensors", 2, two, arena);
    check_refusal("weights.safetensors", "transpose it; 'b' is f32[2] here");
}

static void test_refused_files(void **state)
{
    static const struct {
        const char *index, *words;
    } cases[] = {
        { "{", "index.json: bad JSON" },
        { "{}", "'weight_map' is missing, empty or no object" },
        { "{\"weight_map\": {}}", "'weight_map' is missing, empty or no object" },
        { "{\"weight_map\": [1]}", "'weight_map' is missing, empty or no object" },
        { "{\"weight_map\": {\"a\": 1}}", "'a' is in ''" },
        { "{\"weight_map\": {\"a\": \"\"}}", "'a' is in ''" },
        { "{\"weight_map\": {\"a\": \"../one/any.safetensors\"}}", "'a' is in '../one/" },
        { "{\"weight_map\": {\"a\": \"sub/../../x\"}}", "without '..'" },
        { "{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "'a' is in '/etc/passwd'" },
        { "{\"weight_map\": {\"a\": \"3.safetensors\"}}", "shards/3.safetensors: cannot open" },
        { "{\"weight_map\": {\"q\": \"1.safetensors\"}}", "1.safetensors: no tensor 'q'" },
    };
    (void)state;
    const char *index = "shards/model.safetensors.index.json";
    test_folders(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(index, cases[i].index);
        check_refusal("shards", cases[i].words);
    }
    unlink(index);
    unlink("shards/1.safetensors");
    check_refusal("shards", "0 files *.safetensors there");
    write_text("shards/1.safetensors", "x");
    write_text("shards/2.safetensors", "x");
    check_refusal("shards", "2 files *.safetensors there: name one");
    unlink("shards/2.safetensors");
    check_refusal("shards", "shards/1.safetensors: truncated: 1 bytes");
    check_refusal("nosuch", "nosuch: cannot open");
}

static int clean_up(void **state)
{
    (void)state;
    return system("rm -rf one shards experts weights.safetensors");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file),          TEST(test_folders),      TEST(test_missing),
        TEST(test_stacked),       TEST(test_refused_rows), TEST(test_refused_tensors),
        TEST(test_refused_files), TEST(test_base_name),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
