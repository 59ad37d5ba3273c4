/* Sentences in lines: none is wider than it may be, and every word is there once. */
#include "report/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    int at, indent, columns;
    const char *lines;
} cases[] = {
    { "", 0, 0, 10, "\n" },
    { "one", 0, 0, 10, "one\n" },
    { "one two", 0, 0, 7, "one two\n" },
    { "one two", 0, 0, 6, "one\ntwo\n" },
    { "one two", 4, 2, 10, "one\n  two\n" },
    { "one two", 3, 3, 10, "one two\n" },
    { "  one   two ", 0, 0, 10, "one two\n" },
    { "incomprehensible it is", 0, 1, 6, "incomprehensible\n it is\n" },
    { "a b c d e", 2, 2, 6, "a b\n  c d\n  e\n" },
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_text out = { .arena = a };
        pl_words_wrap(cases[i].text, cases[i].at, cases[i].indent, cases[i].columns, &out);
        assert_string_equal(pl_text_get(&out), cases[i].lines);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
