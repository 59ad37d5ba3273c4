/* libFuzzer target: any bytes as a safetensors file; what is read must lie inside the bytes. Files
 * of types that pleat does not have are only scanned. */
#include "run/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    int count = 0;
    pl_saved *t = NULL;
    pl_safetensor *s = NULL;
    pl_err err = { 0 };
    if (pl_safetensors_scan(bytes, n, a, &count, &s, &err)) {
        const uint8_t *at = count ? s[0].data : bytes + n;
        for (int i = 0; i < count; at += s[i++].bytes) PL_ASSERT(at == s[i].data);
        PL_ASSERT(at == bytes + n);
    }
    err = (pl_err){ 0 };
    if (pl_safetensors_parse(bytes, n, a, &count, &t, &err)) {
        const uint8_t *at = count ? t[0].data : bytes + n; /* the tensors follow one another */
        for (int i = 0; i < count; i++) {
            PL_ASSERT(at == t[i].data);
            at += pl_safetensors_bytes(&t[i]);
        }
        PL_ASSERT(at == bytes + n);
        const char *head = NULL; /* and can be written again */
        size_t head_bytes = 0, total = 0;
        PL_ASSERT(pl_safetensors_print(count, t, a, &head, &head_bytes, &total, &err));
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    }
    pl_arena_free(a);
    return 0;
}
