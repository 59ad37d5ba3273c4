/* Words of a text: how it is cut, counted, written and read again, and what is said of vocabularies
 * that are wrong. */
#include "data/vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char text[] = "The cat, the_2 \xc3\xa9t\xc3\xa9!\n\n  cat\r\nThe end";

/* All in lower case; an empty line has no end; the last line has none either. */
static void test_cut(void **state)
{
    static const char *const words[] = { "the", "cat",   ",",   "the_2", "\xc3\xa9t\xc3\xa9",
                                         "!",   "<eos>", "cat", "<eos>", "the",
                                         "end" };
    enum { N = sizeof words / sizeof *words };
    pl_arena *a = pl_arena_new("test");
    int32_t ids[N];
    (void)state;
    const pl_vocab v = pl_vocab_count(text, strlen(text), 0, a);
    assert_int_equal(pl_vocab_take(&v, text, strlen(text), NULL), N);
    assert_int_equal(pl_vocab_take(&v, text, strlen(text), ids), N);
    for (int i = 0; i < N; i++) assert_string_equal(v.word[ids[i]], words[i]);
    pl_arena_free(a);
}

/* The most frequent first, of equal ones what comes first in the text; what is left out counts as
 * unknown. */
static void test_counts(void **state)
{
    pl_arena *a = pl_arena_new("test");
    int32_t ids[11];
    (void)state;
    const pl_vocab all = pl_vocab_count(text, strlen(text), 0, a),
                   few = pl_vocab_count(text, strlen(text), 3, a);
    assert_int_equal(all.n, 9);
    assert_string_equal(all.word[0], "<unk>");
    assert_int_equal(all.count[0], 0);
    assert_string_equal(all.word[1], "the");
    assert_string_equal(all.word[2], "cat");
    assert_string_equal(all.word[3], "<eos>");
    assert_string_equal(all.word[4], ",");
    assert_int_equal(all.count[1] + all.count[2] + all.count[3], 6);
    assert_int_equal(few.n, 3);
    assert_int_equal(few.count[0], 7);
    assert_int_equal(pl_vocab_take(&few, text, strlen(text), ids), 11);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[2], 0);
    pl_arena_free(a);
}

static void test_round_trip(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_text out = { .arena = a };
    pl_vocab again;
    pl_err err = { 0 };
    (void)state;
    const pl_vocab v = pl_vocab_count(text, strlen(text), 5, a);
    pl_vocab_print(&v, &out);
    assert_string_equal(pl_text_get(&out), "<unk>\t4\nthe\t2\ncat\t2\n<eos>\t2\n,\t1\n");
    if (!pl_vocab_parse(pl_text_get(&out), out.n, a, &again, &err)) fail_msg("%s", err.msg);
    assert_int_equal(again.n, v.n);
    int32_t ids[11], same[11];
    assert_int_equal(pl_vocab_take(&v, text, strlen(text), ids), 11);
    assert_int_equal(pl_vocab_take(&again, text, strlen(text), same), 11);
    assert_memory_equal(ids, same, sizeof ids);
    pl_arena_free(a);
}

/* As people write: no blank before what closes, none at the start of a line. */
static void test_put(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_text out = { .arena = a };
    int32_t ids[11];
    (void)state;
    const pl_vocab v = pl_vocab_count(text, strlen(text), 0, a);
    assert_int_equal(pl_vocab_take(&v, text, strlen(text), ids), 11);
    for (int i = 0; i < 11; i++)
        pl_vocab_put(&v, ids[i], i == 0 || !strcmp(v.word[ids[i - 1]], "<eos>"), &out);
    assert_string_equal(pl_text_get(&out), "the cat, the_2 \xc3\xa9t\xc3\xa9!\ncat\nthe end");
    pl_arena_free(a);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        { "", "no words" },
        { "<unk>\t0\n", "no words" },
        { "the\t4\n<unk>\t0\n", "line 1" },
        { "<unk>\t0\nthe\t1\n<unk>\t2\n", "line 3" },
        { "<unk>\t0\nthe\t1\nThe\t2\n", "line 3 has 'The'" },
        { "<unk>\t0\nthe\n", "line 2" },
        { "<unk>\t0\nthe\t-1\n", "line 2" },
        { "<unk>\t0\n\t1\n", "line 2" },
        { "<unk>\t0\nthe\t1x\n", "line 2" },
    };
    pl_arena *a = pl_arena_new("test");
    pl_vocab v;
    pl_err err = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err = (pl_err){ 0 };
        assert_false(pl_vocab_parse(cases[i].text, strlen(cases[i].text), a, &v, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].told)) fail_msg("'%s': %s", cases[i].text, err.msg);
    }
    assert_false(pl_vocab_read("no.tsv", a, &v, &err));
    assert_int_equal(err.code, PL_EINPUT);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_put),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
