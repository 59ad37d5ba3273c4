/* Layout problems as text: what is read, and every error. */
#include "arena/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_read(void **state)
{
    (void)state;
    static const char text[] = "size, end ,start,buffer_id,note,alignment,gaps,hint,offset\r\n"
                               "\n"
                               " 12,9,-2,x y,any,4,1-2 4-5@8:12,-1,\r\n"
                               "7,3,3,b,,,,5,24";
    pl_arena *a = pl_arena_new("test");
    pl_csv *c;
    pl_err err = { 0 };
    if (!pl_csv_parse(text, sizeof text - 1, "t", a, &c, &err)) fail_msg("%s", err.msg);
    assert_int_equal(c->n, 2);
    const pl_buf *x = &c->buf[0], *y = &c->buf[1];
    assert_true(x->birth == -2 && x->death == 10 && x->bytes == 12);
    assert_true(x->wish->align == 4 && !x->wish->is_fixed && !x->wish->is_hinted);
    assert_int_equal(x->wish->n_gaps, 2);
    const pl_gap *g = x->wish->gap;
    assert_true(g[0].from == 1 && g[0].to == 3 && g[0].low == 0 && g[0].high == 0);
    assert_true(g[1].from == 4 && g[1].to == 6 && g[1].low == 8 && g[1].high == 12);
    assert_true(y->birth == 3 && y->death == 4 && y->bytes == 7 && !y->wish->align);
    assert_true(y->wish->is_fixed && y->wish->fixed == 24);
    assert_true(y->wish->is_hinted && y->wish->hint == 5);
    pl_text out = { .arena = a };
    pl_csv_print(c, (const int64_t[]){ 3, 24 }, &out);
    assert_string_equal(pl_text_get(&out),
                        "size,end,start,buffer_id,note,alignment,gaps,hint,offset\n"
                        "12,9,-2,x y,any,4,1-2 4-5@8:12,-1,3\n7,3,3,b,,,,5,24\n");
    pl_arena_free(a);
}

static void test_new_column(void **state)
{
    (void)state;
    static const char text[] = "id,lower,upper,size\nq,0,2,3\n";
    pl_arena *a = pl_arena_new("test");
    pl_csv *c;
    pl_err err = { 0 };
    assert_true(pl_csv_parse(text, sizeof text - 1, "t", a, &c, &err));
    assert_null(c->buf[0].wish);
    pl_text out = { .arena = a };
    pl_csv_print(c, (const int64_t[]){ 64 }, &out);
    assert_string_equal(pl_text_get(&out), "id,lower,upper,size,offset\nq,0,2,3,64\n");
    pl_arena_free(a);
}

#define TITLE "id,lower,upper,size\n"
#define WITH(column) "id,lower,upper,size," column "\na,0,9,8,"

/* clang-format off */
static const struct { const char *text, *says; } mistakes[] = {
    { "", "t: line 1: empty; the first line names the columns, e.g. id,lower,upper,size" },
    { "lower,upper,size\n", "t: line 1: the column 'id' (or 'buffer', 'buffer_id') is missing" },
    { "id,upper,size\n", "the column 'lower' (or 'begin', 'start') is missing" },
    { "id,lower,size\n", "the column 'upper' (or 'end') is missing" },
    { "\nid,lower,upper\n", "t: line 2: the column 'size' is missing" },
    { "id,lower,upper,size,lower\n", "t: line 1, column 21: 'lower': a second column with this" },
    { "id,lower,upper,size,end\n", "column 21: 'end': a second column with this meaning" },
    { TITLE "a,0,2,-3\n", "t: line 2, column 7: '-3': a size is 0 or more" },
    { TITLE "a,5,5,3\n", "t: line 2, column 5: the life from 5 to 5 is empty" },
    { TITLE "a,6,5,3\n", "the life from 6 to 5 is empty: it must end after it begins" },
    { TITLE "a,0,2,99999999999999999999\n",
      "column 7: '99999999999999999999': the number does not" },
    { TITLE "a,0,2,3k\n", "line 2, column 7: '3k': not a whole number" },
    { TITLE "a,0.5,2,3\n", "line 2, column 3: '0.5': not a whole number" },
    { TITLE "a,,2,3\n", "line 2, column 3: '': a whole number is missing" },
    { TITLE ",0,2,3\n", "line 2, column 1: '': the id is missing" },
    { TITLE "a,0,2\n", "t: line 2 has 3 fields, the first line has 4" },
    { TITLE "a,0,2,3,4\n", "t: line 2 has 5 fields, the first line has 4" },
    { TITLE "a,0,2,3\n\nb,0,2,3\na,1,2,3\n",
      "t: line 5, column 1: the id 'a' is already that of line 2" },
    { "id,lower,end,size\na,0,9223372036854775807,1\n", "does not fit into 64 bits" },
    { WITH("alignment") "0\n", "column 9: '0': an alignment is 1 or more" },
    { WITH("alignment") "-4\n", "an alignment is 1 or more" },
    { WITH("alignment") "x\n", "'x': not a whole number" },
    { WITH("offset") "-1\n", "column 9: '-1': an offset is 0 or more" },
    { "id,lower,upper,size,alignment,offset\na,0,9,8,4,6\n", "column 11: '6': not a multiple of" },
    { WITH("hint") "?\n", "'?': not a whole number" },
    { WITH("gaps") "3\n", "'3': a gap is FROM-TO or FROM-TO@LOW:HIGH" },
    { WITH("gaps") "3-4x\n", "a gap is FROM-TO" },
    { WITH("gaps") "4-3\n", "a gap ends before it begins" },
    { WITH("gaps") "8-10\n", "gaps must lie in the life, one after the other" },
    { WITH("gaps") "4-6 5-7\n", "gaps must lie in the life, one after the other" },
    { WITH("gaps") "4-6@7:9\n", "what a gap keeps must be bytes LOW:HIGH of the size" },
    { WITH("gaps") "4-6@7\n", "a gap is FROM-TO" },
    { WITH("gaps") "4-99999999999999999999\n", "does not fit into 64 bits" },
};
/* clang-format on */

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_csv *c;
        pl_err err = { 0 };
        if (pl_csv_parse(mistakes[i].text, strlen(mistakes[i].text), "t", a, &c, &err))
            fail_msg("was read: %s", mistakes[i].text);
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, mistakes[i].says))
            fail_msg("'%s' is not in: %s", mistakes[i].says, err.msg);
        pl_arena_free(a);
    }
}

static void test_zero_byte(void **state)
{
    (void)state;
    static const char text[] = TITLE "a,0,2,\0003\n";
    pl_arena *a = pl_arena_new("test");
    pl_csv *c;
    pl_err err = { 0 };
    assert_false(pl_csv_parse(text, sizeof text - 1, "t", a, &c, &err));
    assert_string_equal(err.msg, "t: line 2: a zero byte: this is no text");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_new_column),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_zero_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
