/* libFuzzer target: any bytes as the text of a chain; what is read prints, and reads as the same.
 * */
#include "chain/text.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_chain c, d;
    pl_err err = { 0 };
    if (!pl_chain_parse(pl_arena_span(a, (const char *)bytes, n), a, &c, &err)) {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
        PL_ASSERT(*err.msg);
    } else {
        pl_text text = { .arena = a }, again = { .arena = a };
        pl_chain_print(&c, &text);
        if (!pl_chain_parse(pl_text_get(&text), a, &d, &err))
            pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, pl_text_get(&text));
        pl_chain_print(&d, &again);
        PL_ASSERT(!strcmp(pl_text_get(&text), pl_text_get(&again)));
    }
    pl_arena_free(a);
    return 0;
}
