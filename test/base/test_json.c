/* base/json.h: what is written reads back the same, and what is no JSON of ours is refused. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void put_values(pl_json_out *out)
{
    static const pl_json one = { .kind = PL_JSON_INT, .whole = 1, .real = 1 };
    const bool yes = true;
    char text[] = "t";
    pl_json_open_lines(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "text", "a \"b\"\\\n", "absent", (const char *)NULL);
    pl_json_put_span(out, "span", "a\0b", 3);
    pl_json_open(out, "list", PL_JSON_LIST);
    pl_json_put_int(out, NULL, -3);
    pl_json_put_real(out, NULL, 0.1);
    pl_json_put_real(out, NULL, -0.0);
    pl_json_put_real(out, NULL, INFINITY);
    pl_json_close(out);
    pl_json_open_lines(out, "rows", PL_JSON_LIST);
    PL_JSON_ROW(out, NULL, "yes", yes, "n", (int64_t)1 << 40, "x", 0.5F, "a", 'a', "u", 7u, "t",
                text, "c", (const char *)text, "v", &one);
    PL_JSON_ROW(out, NULL, "no", (bool)(one.n > 0));
    pl_json_close(out);
    pl_json_open_lines(out, "none", PL_JSON_OBJECT);
    pl_json_close(out);
    pl_json_close(out);
}

static void test_layout(void **state)
{
    pl_text text = { .arena = pl_arena_new("test") }, tight = { .arena = text.arena };
    (void)state;
    put_values(&(pl_json_out){ .text = &text });
    assert_string_equal(pl_text_get(&text),
                        "{\n"
                        "  \"text\": \"a \\\"b\\\"\\\\\\u000a\",\n"
                        "  \"absent\": null,\n"
                        "  \"span\": \"a\\u0000b\",\n"
                        "  \"list\": [-3, 0.1, 0, null],\n"
                        "  \"rows\": [\n"
                        "    {\"yes\": true, \"n\": 1099511627776, \"x\": 0.5,"
                        " \"a\": 97, \"u\": 7, \"t\": \"t\", \"c\": \"t\", \"v\": 1},\n"
                        "    {\"no\": false}\n"
                        "  ],\n"
                        "  \"none\": {}\n"
                        "}");
    pl_json_out out = { .text = &tight, .tight = true };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    pl_json_put_int(&out, "a", 1);
    pl_json_put_int(&out, "b", 2);
    pl_json_close(&out);
    assert_string_equal(pl_text_get(&tight), "{\"a\":1,\"b\":2}");
    pl_arena_free(text.arena);
}

/* Texts cannot end the script that they stand in, and are UTF-8 whatever they were; the rest is as
 * ever. */
static void test_page(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "a</script><!--", "\"a\\u003c/script>\\u003c!--\"" },
        { "\"\\\x01", "\"\\\"\\\\\\u0001\"" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "\xff\xc3", "\"\\ufffd\\ufffd\"" },
        { "\xc3<", "\"\\ufffd\\u003c\"" },
        { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
        { "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
        { "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
        { "", "\"\"" },
    };
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_text text = { .arena = a };
        pl_json_put_text(&(pl_json_out){ .text = &text, .page = true }, NULL, cases[i].text);
        assert_string_equal(pl_text_get(&text), cases[i].want);
    }
    pl_arena_free(a);
}

/* All doubles come back, in few digits where few do. */
static void test_reals(void **state)
{
    static const double real[] = {
        0.1,  1e-8, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789, 0.0066870554857142855,
        1e22, -2.5
    };
    pl_arena *a = pl_arena_new("test");
    pl_text text = { .arena = a };
    pl_json_out out = { .text = &text };
    const pl_json *root;
    pl_err err = { 0 };
    (void)state;
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    pl_json_open(&out, "x", PL_JSON_LIST);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) pl_json_put_real(&out, NULL, real[i]);
    pl_json_close(&out);
    pl_json_close(&out);
    if (!pl_json_parse(text.at, text.n, 2, a, &root, &err)) fail_msg("%s", err.msg);
    const pl_json *list = pl_json_find(root, "x");
    assert_int_equal(pl_json_items(list), sizeof real / sizeof *real);
    for (int i = 0; i < list->n; i++) assert_true(pl_json_real(&list->at[i]) == real[i]);
    assert_string_equal(pl_json_spell(a, &list->at[0]), "0.1");
    assert_string_equal(pl_json_spell(a, &list->at[5]), "123456789");
    pl_arena_free(a);
}

static void test_reading(void **state)
{
    static const char text[] = "{\"n\": 7, \"s\": \"t\", \"b\": [true, false, null, {}], \"o\": "
                               "{\"x\": -1}}";
    pl_arena *a = pl_arena_new("test");
    const pl_json *root, *x;
    const char *s;
    int64_t n;
    pl_err err = { 0 };
    (void)state;
    if (!pl_json_parse(text, strlen(text), 3, a, &root, &err)) fail_msg("%s", err.msg);
    assert_true(pl_json_get_count(root, "n", &n, &err) && n == 7);
    assert_true(pl_json_get_text(root, "s", &s, &err) && !strcmp(s, "t"));
    assert_true(pl_json_get(root, "b", PL_JSON_LIST, &x, &err) && x->n == 4);
    assert_true(pl_json_is(&x->at[0], PL_JSON_TRUE) && pl_json_is(&x->at[2], PL_JSON_NULL));
    assert_string_equal(pl_json_spell(a, root), "{\"n\":7,\"s\":\"t\",\"b\":[true,false,null,{}],"
                                                "\"o\":{\"x\":-1}}");
    assert_null(pl_json_find(root, "absent"));
    assert_null(pl_json_find(x, "n"));
    assert_int_equal(pl_json_items(NULL), 0);
    assert_false(pl_json_get_count(pl_json_find(root, "o"), "x", &n, &err));
    assert_string_equal(err.msg, "'x' is another value: an integer of at least 0 is needed");
    err = (pl_err){ 0 };
    assert_false(pl_json_get(root, "o", PL_JSON_LIST, &x, &err));
    assert_string_equal(err.msg, "'o' is of another kind: a list is needed");
    err = (pl_err){ 0 };
    assert_false(pl_json_get_text(root, "absent", &s, &err));
    assert_string_equal(err.msg, "'absent' is missing: a text is needed");
    pl_arena_free(a);
}

#define TEN "{},{},{},{},{},{},{},{},{},{},"

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "[1]", "an object {...} is needed" },
        { "{\"a\": 1", "bad JSON at line 1, column 7" },
        { "{\"a\": 1,\n \"a\": 2}", "line 2" },
        { "{\"a\": \"\xff\"}", "bad JSON" },
        { "{\"a\": [[[]]]}", "nested deeper than 3 levels" },
        { "{\"a\":[" TEN TEN TEN TEN "{}]}", "brackets" },
        { "{\"a\": 1e999}", "bad JSON" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_json *root;
        pl_err err = { 0 };
        assert_false(pl_json_parse(cases[i].text, strlen(cases[i].text), 3, a, &root, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].why)) fail_msg("%s: %s", cases[i].text, err.msg);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layout), cmocka_unit_test(test_page),
                                        cmocka_unit_test(test_reals),
                                        cmocka_unit_test(test_reading),
                                        cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
