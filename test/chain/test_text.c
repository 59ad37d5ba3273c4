/* Chains as text: what is parsed prints the same and has the same answer; mistakes are named by
 * line. */
#include "chain/text.h"
#include "support/rounds.h"
#include "support/search_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pl_chain parse(const char *text, pl_arena *a)
{
    pl_chain c;
    pl_err err = { 0 };
    if (!pl_chain_parse(text, a, &c, &err)) fail_msg("%s\n%s", err.msg, text);
    return c;
}

static void test_round_trip(void **state)
{
    int solved = 0;
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS_OF(200); seed++) {
        pl_arena *a = pl_arena_new("test");
        draw d = draw_new(seed, seed % 2, a);
        const pl_chain c = draw_chain(&d, 4, 3, 4);
        pl_text text = { .arena = a }, again = { .arena = a };
        pl_answer x, y;
        pl_err err = { 0 }, other = { 0 };
        pl_chain_print(&c, &text);
        const pl_chain p = parse(pl_text_get(&text), a);
        pl_chain_print(&p, &again);
        assert_string_equal(pl_text_get(&text), pl_text_get(&again));
        const bool ok = pl_chain_min(&c, INFINITY, NULL, a, &x, &err);
        assert_int_equal(pl_chain_min(&p, INFINITY, NULL, a, &y, &other), ok);
        if (ok) {
            assert_true(x.time == y.time && x.bound == y.bound && x.work == y.work);
            const size_t n = (size_t)pl_chain_variables(&c);
            assert_memory_equal(x.value, y.value, n * sizeof *x.value);
        }
        solved += ok;
        pl_arena_free(a);
    }
    assert_true(solved > 10);
}

/* The problem of docs/planner.md. */
static const char worked[] = "chain 1\n"
                             "outside 2 1\n"
                             "variable 6 384 192 192 192 384 384\n"
                             "variable 4 48 24 24 48\n"
                             "edge 0 1 0 0 0 0 96 0 48 96 192 96 96 0 96 48 0 96 "
                             "192 96 96 0 192 96 96 0\n"
                             "block 0 0\n"
                             "links 0\n"
                             "first 0\n"
                             "last 0\n"
                             "every 0\n";

static void test_worked(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_chain c = parse(worked, a);
    pl_answer x;
    pl_err err = { 0 };
    assert_true(pl_chain_min(&c, INFINITY, NULL, a, &x, &err));
    assert_true(x.time == 216 && x.proven && x.value[0] == 1 && x.value[1] == 1);
    pl_arena_free(a);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        { "chain 1", "train 1", "line 1: chain is wanted, found 'train'" },
        { "chain 1", "chain 0", "line 1: a number of copies is wanted, found '0'" },
        { "outside 2", "outside 3", "line 5: a variable is wanted, found 'edge'" },
        { "variable 4 48", "variable 5 48", "line 4: a number is wanted" },
        { "variable 4 48", "variable 3 48", "line 4: the end of the line is wanted, found '48'" },
        { "variable 4 48", "variable 4 x", "line 4: a number is wanted, found 'x'" },
        { "variable 4 48", "variable 4 nan", "nan" },
        { "edge 0 1", "edge 0 2", "line 5: a variable is wanted, found '2'" },
        { "edge 0 1", "edge 0 0", "" },
        { "variable 4", "variable 1000000", "line 4: a line of that many numbers is wanted" },
        { "links 0", "links 1000000", "line 8: that many edges is wanted" },
        { "every 0\n", "every 0\nmore", "line 11: the end is wanted, found 'more'" },
        { "every 0\n", "", "line 10: every is wanted, found ''" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *at = strstr(worked, cases[i].from);
        const char *text = pl_arena_fmt(a, "%.*s%s%s", (int)(at - worked), worked, cases[i].to,
                                        at + strlen(cases[i].from));
        pl_chain c;
        pl_err err = { 0 };
        if (pl_chain_parse(text, a, &c, &err)) fail_msg("taken:\n%s", text);
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].says)) fail_msg("%s: %s", cases[i].to, err.msg);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip),
                                        cmocka_unit_test(test_worked),
                                        cmocka_unit_test(test_mistakes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
