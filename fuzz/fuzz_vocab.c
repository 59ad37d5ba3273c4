/* libFuzzer target: any bytes as a vocabulary, and as a text; what is read prints as it was read,
 * and of a text's own vocabulary each word is known. */
#include "data/vocab.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_round_trip(const pl_vocab *v, pl_arena *a)
{
    pl_text out = { .arena = a };
    pl_vocab again;
    pl_err err = { 0 };
    pl_vocab_print(v, &out);
    if (!pl_vocab_parse(pl_text_get(&out), out.n, a, &again, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, pl_text_get(&out));
    PL_ASSERT_CMP(again.n, ==, v->n);
    for (int64_t i = 0; i < v->n; i++) {
        PL_ASSERT(!strcmp(again.word[i], v->word[i]));
        PL_ASSERT_CMP(again.count[i], ==, v->count[i]);
    }
}

static void check_text(const char *text, size_t n, pl_arena *a)
{
    const pl_vocab v = pl_vocab_count(text, n, 0, a);
    const int64_t count = pl_vocab_take(&v, text, n, NULL);
    int32_t *ids = PL_NEW_N(a, int32_t, count + 1);
    int64_t *seen = PL_NEW_N(a, int64_t, v.n);
    PL_ASSERT_CMP(pl_vocab_take(&v, text, n, ids), ==, count);
    for (int64_t i = 0; i < count; i++) {
        PL_ASSERT(ids[i] > 0 && ids[i] < v.n);
        seen[ids[i]]++;
    }
    for (int64_t i = 0; i < v.n; i++) PL_ASSERT_CMP(seen[i], ==, v.count[i]);
    if (v.n > 1) check_round_trip(&v, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_vocab v;
    pl_err err = { 0 };
    if (pl_vocab_parse((const char *)bytes, n, a, &v, &err))
        check_round_trip(&v, a);
    else
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    check_text((const char *)bytes, n, a);
    pl_arena_free(a);
    return 0;
}
