/* Cluster files: YAML and JSON, what may be left out, and every mistake with its line. */
#include "cluster/cluster.h"
#include "support/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void has(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("'%s' lacks '%s'", text, words);
}

static pl_cluster *parse(const char *text)
{
    pl_cluster *c;
    pl_err err = { 0 };
    if (!pl_cluster_parse(text, strlen(text), "dir/some.yaml", arena, &c, &err))
        fail_msg("%s", err.msg);
    return c;
}

static const char *print(const pl_cluster *c)
{
    pl_text t = { .arena = arena };
    pl_cluster_print(c, &t);
    return pl_text_get(&t);
}

// clang-format off
#define HEAD "schema: pleat.cluster/1\n"
#define CLASSES                                                                                    \
    "classes:\n"                                                                                   \
    "  fast: {memory: 16 GiB, f32_flops: 15.7 TFLOP/s, memory_bandwidth: 900 GB/s}\n"
#define LEVELS                                                                                     \
    "levels:\n"                                                                                    \
    "  - {name: in, size: 8, latency: 1 us, bandwidth: 100 GB/s}\n"                                \
    "  - {name: out, size: 2, latency: 25 us, uplink: 25 Gbit/s}\n"

static const char mixed[] = HEAD
    "name: two kinds  # heterogeneous\n"
    "classes:\n"
    "  new:\n"
    "    memory: {value: 80 GB, source: 'a sheet: \"x\", #1'}\n"
    "    f32_flops: 67e12\n"
    "    bf16_flops: 989 TFLOP/s\n"
    "    memory_bandwidth: 3.35 TB/s\n"
    "    matmul_efficiency: 62 %\n"
    "    stream_efficiency: 0.8\n"
    "    kernel_start: 3 us\n"
    "  old: {memory: 17179869184, f32_flops: 15.7 TFLOP/s, memory_bandwidth: 900 GB/s}\n"
    "levels:\n"
    "  - name: in\n"
    "    size: 4\n"
    "    overlap: 0.25\n"
    "    messages:\n"
    "      source: measured\n"
    "      value: [[1 KiB, 5 us], [1 MiB, 0.1 ms]]\n"
    "  - {name: out, size: 3, latency: 25 us, uplink: 25 Gbit/s}\n"
    "groups:\n"
    "  - {class: old, count: 1}\n"
    "  - {class: new, count: 2}\n";

static const char mixed_json[] =
    "{\"schema\":\"pleat.cluster/1\",\"name\":\"two kinds\",\n"
    "\t\"classes\": {\"new\":\n"
    "\t\t{\"memory\": {\"value\": 80e9, \"source\": \"a sheet: \\\"x\\\", #1\"},\n"
    "\t\t\"f32_flops\": 6.7e13, \"bf16_flops\": \"989 TFLOP/s\",\n"
    "\t\t\"memory_bandwidth\": 3350000000000,\n"
    "\t\t\"matmul_efficiency\": 0.62, \"stream_efficiency\": 0.8, \"kernel_start\": 3e-6},\n"
    "\t\"old\": {\"memory\": \"16 GiB\", \"f32_flops\": 15.7e12, \"memory_bandwidth\": 9e11}},\n"
    "\t\"levels\":[{\"name\":\"in\",\"size\":4,\"overlap\":0.25,\n"
    "\t\t\"messages\":{\"source\":\"measured\",\n"
    "\t\t\"value\":[[1024,5e-6],[1048576,1e-4]]}},\n"
    "\t\t{\"name\":\"out\",\"size\":3,\"latency\":25e-6,\"uplink\":3125000000}],\n"
    "\t\"groups\":[{\"class\":\"old\",\"count\":1},{\"class\":\"new\",\"count\":2}]}\n";
// clang-format on

static void all_of_a_file(void **state)
{
    (void)state;
    const pl_cluster *c = parse(mixed);
    assert_string_equal(c->name, "two kinds");
    assert_int_equal(c->n_devices, 12);
    assert_int_equal(c->n_classes, 2);
    assert_string_equal(c->class[0].memory.source, "a sheet: \"x\", #1");
    assert_true(c->class[0].matmul_efficiency.value == 0.62);
    assert_true(c->class[0].kernel_start.value == 3e-6);
    assert_true(c->class[1].memory.value == 0x1p34);
    assert_true(c->class[1].bf16_flops.value == 15.7e12);
    assert_string_equal(c->class[1].bf16_flops.source, "as f32_flops");
    assert_true(c->class[1].matmul_efficiency.value == 0.7);
    has(c->class[1].matmul_efficiency.source, "usual: ");
    assert_int_equal(c->level[0].link.n_points, 2);
    assert_string_equal(c->level[0].curve_source, "measured");
    assert_true(c->level[0].link.overlap == 0.25);
    assert_true(c->level[1].link.overlap == 0.87);
    assert_true(c->level[1].shared);
    assert_true(c->level[1].link.per_byte == 4 / 3.125e9);
    assert_string_equal(pl_cluster_device(c, 3)->name, "old");
    assert_string_equal(pl_cluster_device(c, 4)->name, "new");
}

static void json_is_the_same(void **state)
{
    (void)state;
    assert_string_equal(print(parse(mixed_json)), print(parse(mixed)));
}

static void what_is_printed_prints_the_same(void **state)
{
    (void)state;
    const char *first = print(parse(mixed));
    assert_string_equal(print(parse(first)), first);
    const pl_cluster *c = parse(HEAD CLASSES LEVELS);
    assert_string_equal(c->name, "some.yaml");
    assert_int_equal(c->n_parts, 1);
    assert_int_equal(c->part[0].count, 2);
}

/* Names and sources with every sign that could be taken for YAML. */
static void odd_texts_survive(void **state)
{
    static const char *const texts[] = {
        "a b",  "- a",  "a: b",     "a #b",         "'a'",      "\"a\"",
        "{a}",  "[a",   "a, b",     "&a",           "*a",       "!a",
        "|",    ">",    "%a",       "@a",           "`a",       "~",
        "null", "1e3",  "true",     "? a",          "a:",       ":a",
        " a",   "a ",   "\\",       "---",          "...",      "a\nb",
        "\t",   "\x7f", "\xc3\xa9", "\xe2\x80\xa8", "\xc2\x85", "\xf0\x9f\x98\x80",
        "#",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pl_err err = { 0 };
        pl_cluster *c = parse(HEAD CLASSES LEVELS);
        c->name = c->class[0].name = c->class[0].memory.source = c->level[0].name = texts[i];
        c->level[1].latency.source = texts[i];
        assert_true(pl_cluster_finish(c, arena, &err));
        const pl_cluster *again = parse(print(c));
        assert_string_equal(again->name, texts[i]);
        assert_string_equal(again->class[0].name, texts[i]);
        assert_string_equal(again->class[0].memory.source, texts[i]);
        assert_string_equal(again->level[0].name, texts[i]);
        assert_string_equal(print(again), print(c));
    }
}

// clang-format off
static const struct {
    const char *text, *says[6];
} cases[] = {
    /* not YAML, or none of ours */
    { "", { "line 1: nothing in it" } },
    { "a: [1, 2", { "line 2: column 1", "expected ',' or ']'" } },
    { "a: 1\nb\n", { "line 3: column", "could not find expected ':'" } },
    { "a: \"\\q\"", { "line 1: column", "escape" } },
    { "a: \xff", { "line 1: byte 3: ", "UTF-8" } },
    { "a: \"b\\0c\"", { "line 1: a NUL byte" } },
    { HEAD "x: &a 1", { "line 2: anchors, aliases and tags are not read" } },
    { HEAD "x: *a", { "line 2: anchors" } },
    { HEAD "x: !!int 1", { "line 2: anchors" } },
    { HEAD "[a]: 1", { "line 2: a key must be a plain word" } },
    { HEAD "---\na: 1", { "line 2: a second document" } },
    { HEAD "name: a\n\nname: b", { "line 4: key 'name' again (first on line 2)" } },
    { "a:\n [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", { "line 2: nested deeper than 16" } },
    { "- a", { "line 1: a cluster is a list, not a map of keys" } },
    { "12", { "line 1: a cluster is a single value, not a map of keys" } },
    /* top */
    { CLASSES LEVELS, { "line 1: key 'schema' is missing" } },
    { "schema: pleat.cluster/9\n" CLASSES LEVELS,
        { "line 1: schema 'pleat.cluster/9'; pleat.cluster/1" } },
    { HEAD "clases: 1\nlevel: 2\nzzzzzzzz: 3\n",
        { "line 2: unknown key 'clases' (did you mean 'classes'?)",
        "line 3: unknown key 'level' (did you mean 'levels'?)",
        "line 4: unknown key 'zzzzzzzz' (known: schema",
        "line 1: key 'classes' is missing", "line 1: key 'levels' is missing" } },
    { HEAD CLASSES LEVELS "name: [a]", { "line 7: name is a list, not a single value" } },
    { HEAD CLASSES LEVELS "name: ''", { "line 7: a name of 0 bytes; names have 1 to 60" } },
    /* classes */
    { HEAD LEVELS "classes: {}", { "line 5: 0 classes; 1 to 64 are possible" } },
    { HEAD LEVELS "classes: [a]", { "line 5: classes is a list, not a map of keys" } },
    { HEAD LEVELS "classes:\n  a: 1", { "line 6: a is a single value, not a map" } },
    { HEAD LEVELS "classes:\n  a: {memroy: 1 GB}",
        { "line 6: unknown key 'memroy' (did you mean 'memory'?)",
        "line 6: key 'memory' is missing", "line 6: key 'f32_flops' is missing",
        "key 'memory_bandwidth' is missing" } },
    { HEAD LEVELS "classes:\n  a:\n    memory: 0\n    f32_flops: -1 TFLOP/s\n"
        "    memory_bandwidth: .nan\n"
        "    kernel_start: 9223372036854775808\n",
        { "line 7: memory: '0' is not from 1 MiB to 1024 TiB",
        "line 8: f32_flops: '-1 TFLOP/s' is not from 1 MFLOP/s to",
        "line 9: memory_bandwidth: '.nan' is not a bandwidth",
        "line 10: kernel_start: '9223372036854775808' is not from 0 s to 1 s" } },
    { HEAD LEVELS "classes:\n  a:\n    memory: {valu: 1}\n    f32_flops: {value: 1 TB}\n"
        "    memory_bandwidth: [1]\n",
        { "line 7: unknown key 'valu' (did you mean 'value'?)", "line 7: key 'value' is missing",
        "line 8: f32_flops: '1 TB' is not flops per second such as 15.7 TFLOP/s",
        "line 9: memory_bandwidth is a list, not a single value" } },
    /* levels */
    { HEAD CLASSES "levels: []", { "line 4: 0 levels; 1 to 8 are possible" } },
    { HEAD CLASSES "levels: [1,1,1,1,1,1,1,1,1]", { "line 4: 9 levels" } },
    { HEAD CLASSES "levels:\n- a", { "line 5: a level is a single value, not a map" } },
    { HEAD CLASSES "levels:\n- {}", { "line 5: key 'name' is missing",
        "line 5: key 'size' is missing",
        "line 5: key 'latency' is missing", "line 5: give either bandwidth" } },
    { HEAD CLASSES "levels:\n- name: a\n  size: 0\n  latency: 1 us\n  bandwidth: 1 GB/s\n",
        { "line 6: size: '0' is not a whole number from 1 to 1048576" } },
    { HEAD CLASSES "levels:\n- {name: a, size: -8, latency: 1 us, bandwidth: 1 GB/s}",
        { "line 5: size: '-8'" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 9223372036854775808, latency: 1 us, "
        "bandwidth: 1 GB/s}",
        { "line 5: size: '9223372036854775808'" } },
    { HEAD CLASSES "levels:\n- {name: a, size: nan, latency: 1 us, bandwidth: 1 GB/s}",
        { "line 5: size: 'nan'" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, latency: 1 us, bandwidth: 1 GB/s, "
        "uplink: 1 GB/s}",
        { "line 5: give either bandwidth (of a device) or uplink" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, latency: 1 us, messages: [[1, 1]]}",
        { "line 5: messages stand for latency and bandwidth" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, messages: []}",
        { "line 5: messages: 0 points; 1 to 32" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, messages: [[1]]}",
        { "line 5: messages: point 1 is not [SIZE, TIME]" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, messages: [[2, 1], [1, 1]]}",
        { "line 5: messages: point 2: 1 bytes after 2" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, messages: [[2, x]]}",
        { "line 5: messages: 'x' is not a time" } },
    { HEAD CLASSES "levels:\n- {name: a, size: 8, messages: 1}",
        { "line 5: messages is a single value, not a list" } },
    { HEAD CLASSES LEVELS "  - {name: in, size: 8, latency: 1 us, bandwidth: 1 GB/s}",
        { "line 4: two levels are named 'in'" } },
    { HEAD CLASSES LEVELS "  - {name: x, size: 1048576, latency: 1 us, bandwidth: 1 GB/s}",
        { "line 4: level 'x' joins 1048576 groups of 16 devices; a cluster has 1 to 1048576" } },
    /* groups */
    { HEAD CLASSES LEVELS "groups: []", { "line 7: 0 rows of groups" } },
    { HEAD CLASSES LEVELS "groups:\n- {class: fest, count: 2}",
        { "line 8: no class 'fest' (did you mean 'fast'?)" } },
    { HEAD CLASSES LEVELS "groups:\n- {class: a100-80gb, count: 2}",
        { "line 8: no class 'a100-80gb' under classes" } },
    { HEAD CLASSES LEVELS "groups:\n- {class: fast, count: 0}",
        { "line 8: count: '0' is not a whole number" } },
    { HEAD CLASSES LEVELS "groups:\n- {class: fast}", { "line 8: key 'count' is missing" } },
    { HEAD CLASSES LEVELS "groups:\n- {class: fast, count: 3}",
        { "line 7: the groups' counts add up to 3, but level 'out' joins 2" } },
    /* many: the first ones, by line, and how many more */
    { HEAD "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n",
        { "line 1: key 'classes' is missing; line 1: key 'levels'",
        "line 4: unknown key 'c'", "and 4 more" } },
};
// clang-format on

static void mistakes_have_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_cluster *c;
        pl_err err = { 0 };
        if (pl_cluster_parse(cases[i].text, strlen(cases[i].text), "c.yaml", arena, &c, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(err.code, PL_EINPUT);
        assert_memory_equal(err.msg, "c.yaml: line ", 13);
        for (int k = 0; cases[i].says[k]; k++) has(err.msg, cases[i].says[k]);
    }
}

/* Large and deep texts end soon, with an error. */
static void large_texts_are_refused(void **state)
{
    static const struct {
        const char *unit, *says;
        int count;
    } large[] = {
        { "a", "at most 1048576 are read", 1048577 },
        { "[", "nested deeper than 16", 1048576 },
        { "- - - - - - - -\n", "c.yaml: line ", 60000 },
        { "a: 1\n", "line 2: key 'a' again", 200000 },
        { "- a\n", "more than 4096 members", 200000 },
        { "\"", "c.yaml: line ", 1048576 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        pl_cluster *c;
        pl_err err = { 0 };
        const size_t unit = strlen(large[i].unit), n = unit * (size_t)large[i].count;
        char *text = PL_NEW_N(arena, char, n + 1);
        for (size_t k = 0; k < n; k += unit) memcpy(text + k, large[i].unit, unit);
        assert_false(pl_cluster_parse(text, n, "c.yaml", arena, &c, &err));
        has(err.msg, large[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_file),
        cmocka_unit_test(json_is_the_same),
        cmocka_unit_test(what_is_printed_prints_the_same),
        cmocka_unit_test(odd_texts_survive),
        cmocka_unit_test(mistakes_have_their_line),
        cmocka_unit_test(large_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
