/* libFuzzer target: any bytes as the index of sharded weights; no file that it names may lie
 * outside of the folder. */
#include "base/file.h"
#include "data/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_weights_index x;
    pl_err err = { 0 };
    if (pl_weights_parse((const char *)bytes, n, a, &x, &err)) {
        PL_ASSERT(x.n > 0);
        for (int i = 0; i < x.n; i++) PL_ASSERT(x.name[i] && pl_file_is_below(x.file[i]));
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    }
    pl_arena_free(a);
    return 0;
}
