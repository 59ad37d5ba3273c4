/* Names of equal blocks: what is the same in all stays, what differs is a star, and rows that would
 * be told alike are kept apart by their numbers. */
#include "program/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ROWS = 3, MOST_NAMES = 12 };

static const struct {
    const char *names[MOST_ROWS][MOST_NAMES], *told[MOST_ROWS];
} cases[] = {
    { { { "wte.weight" } }, { "wte.weight" } },
    { { { "h.7.ln_1.bias" } }, { "h.7.ln_1.bias" } },
    { { { "h.7.ln_1.bias", "h.7.ln_1.bias" } }, { "h.7.ln_1.bias" } },
    { { { "h.0.ln_1.bias", "h.1.ln_1.bias", "h.11.ln_1.bias" } }, { "h.*.ln_1.bias" } },
    { { { "a.0.b.3.c", "a.1.b.3.c" } }, { "a.*.b.3.c" } },
    { { { "a.0.b.3", "a.1.b.4" } }, { "a.*.b.*" } },
    { { { "layer2.0.conv1" }, { "layer2.1.conv1" } }, { "layer2.0.conv1", "layer2.1.conv1" } },
    { { { "h.0.w" }, { "h.1.w", "h.2.w", "h.3.w" } }, { "h.0.w", "h.*.w" } },
    { { { "h.0.w", "h.3.w" }, { "h.1.w", "h.2.w" } }, { "h.{0,3}.w", "h.{1,2}.w" } },
    { { { "h.5.w", "h.0.w", "h.6.w", "h.7.w" }, { "h.1.w", "h.4.w" } },
      { "h.{0,5-7}.w", "h.{1,4}.w" } },
    { { { "h.0.w", "h.2.w", "h.4.w", "h.6.w", "h.8.w", "h.9.w" }, { "h.1.w", "h.3.w" } },
      { "h.{0,2,4,...,8,9}.w", "h.{1,3}.w" } },
    { { { "x.0", "x.1" }, { "x.0", "x.1" } }, { "x.*", "x.*" } }, /* of the same names */
    { { { "gradient of h.0.w", "gradient of h.1.w" } }, { "gradient of h.*.w" } },
};

static void test_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_names row[MOST_ROWS] = { 0 }, *rows[MOST_ROWS];
        int n = 0;
        for (; n < MOST_ROWS && cases[i].told[n]; n++) {
            rows[n] = &row[n];
            for (int k = 0; k < MOST_NAMES && cases[i].names[n][k]; k++)
                pl_names_add(&row[n], cases[i].names[n][k], -1, a);
        }
        pl_names_tell(n, rows, a);
        for (int k = 0; k < n; k++) assert_string_equal(row[k].told, cases[i].told[k]);
        pl_arena_free(a);
    }
}

/* Blocks 3 to 8 are left out; the numbers are one ahead of the blocks. Both rows have block 2, and
 * the first one block 9, too. */
static void test_few(void **state)
{
    static const pl_cut cut = { .from = 3, .to = 9, .at = 3 };
    static const pl_short few = { .n_cuts = 1, .cut = &cut };
    static const int blocks[] = { 1, 2, 9, 10 };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_names row[2] = { { .few = &few }, { .few = &few } }, *rows[2] = { &row[0], &row[1] };
    for (int k = 0; k < 4; k++)
        pl_names_add(&row[0], pl_arena_fmt(a, "h.%d.w", blocks[k] + 1), blocks[k], a);
    pl_names_add(&row[1], "h.1.w", 0, a);
    pl_names_add(&row[1], "h.3.w", 2, a);
    pl_names_add(&row[1], "h.11.w", 10, a);
    pl_names_tell(2, rows, a);
    assert_string_equal(row[0].told, "h.{2-11}.w");
    assert_string_equal(row[1].told, "h.{1,3,11}.w");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_told), cmocka_unit_test(test_few) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
