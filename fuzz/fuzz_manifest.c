/* libFuzzer target: any bytes as a manifest; what is read prints, and reads and prints the same. */
#include "run/manifest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_round_trip(const char *text, size_t n, pl_arena *a, pl_err *err)
{
    pl_manifest_text m, again;
    const char *first = NULL, *second = NULL;
    PL_ASSERT(pl_manifest_read(text, n, a, &m, err));
    if (!pl_manifest_print(&m, a, &first, err)) pl_bug(__FILE__, __LINE__, "%s", err->msg);
    PL_ASSERT(pl_manifest_read(first, strlen(first), a, &again, err));
    PL_ASSERT(pl_manifest_print(&again, a, &second, err));
    PL_ASSERT(!strcmp(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_manifest m;
    pl_err err = { 0 };
    if (pl_manifest_parse((const char *)bytes, n, a, &m, &err))
        check_round_trip((const char *)bytes, n, a, &err);
    else
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    pl_arena_free(a);
    return 0;
}
