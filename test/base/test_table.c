/* base/table.h: columns are aligned, whatever stands in them; lines end where their texts do. */
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_columns(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_table t = pl_table_new(a, "  name\t>count\t>\tnote\t");
    (void)state;
    pl_table_add(&t, "  %s\t%d\t%+.1f %%\t%s\t%s", "x", 7, 1.0, "", "");
    pl_table_add(&t, "  %s\t%d\t%+.1f %%\t%s\t%s", "longer", 12345678, -12.5, "of 3", "and\tmore");
    pl_table_add(&t, "\t\t\t%s", "alone");
    assert_string_equal(pl_table_text(&t), "  name       count           note\n"
                                           "  x              7   +1.0 %\n"
                                           "  longer  12345678  -12.5 %  of 3   and\tmore\n"
                                           "                             alone\n");
    pl_arena_free(a);
}

/* No rows; a character of several bytes; a line is not cut. */
static void test_odd(void **state)
{
    enum { LONG = 500 };
    pl_arena *a = pl_arena_new("test");
    pl_table none = pl_table_new(a, "a\tb"), t = pl_table_new(a, "name\tabout");
    char text[LONG + 1];
    (void)state;
    memset(text, 'x', LONG);
    text[LONG] = 0;
    assert_string_equal(pl_table_text(&none), "a  b\n");
    pl_table_add(&t, "h\xc3\xa9\t%s", text);
    assert_string_equal(pl_table_text(&t), pl_arena_fmt(a, "name  about\nh\xc3\xa9    %s\n", text));
    pl_arena_free(a);
}

/* Rows that are told one by one, in columns for those to come; a table without titles. */
static void test_one_by_one(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_table t = pl_table_new(a, "name\t>n\tnote"), bare = pl_table_new(a, "\t>");
    pl_table_fit(&t, "longest\t%4s", "");
    assert_string_equal(pl_table_last(&t), "name        n  note\n");
    pl_table_add(&t, "x\t%d\t%s", 7, "seven");
    assert_string_equal(pl_table_last(&t), "x           7  seven\n");
    assert_string_equal(pl_table_text(&t), "name        n  note\nx           7  seven\n");
    assert_string_equal(pl_table_text(&bare), "");
    pl_table_add(&bare, "cores\t%d", 2);
    assert_string_equal(pl_table_text(&bare), "cores  2\n");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_columns), cmocka_unit_test(test_odd),
                                        cmocka_unit_test(test_one_by_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
