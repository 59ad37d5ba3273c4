/* libFuzzer target: any text as a strategy for a number of devices; what is read takes all of them,
 * and no more. */
#include "layouts/strategy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (!n) return 0;
    pl_arena *a = pl_arena_new("fuzz");
    const int devices = bytes[0] + 1;
    pl_strategy s;
    pl_err err = { 0 };
    if (pl_strategy_parse(pl_arena_span(a, (const char *)bytes + 1, n - 1), devices, a, &s, &err)) {
        PL_ASSERT_CMP(s.mesh.n, <=, PL_MAX_AXES);
        PL_ASSERT_CMP(pl_mesh_ranks(&s.mesh), ==, devices);
    } else {
        PL_ASSERT(err.code == PL_EUSAGE || err.code == PL_EINPUT || err.code == PL_EUNSUPPORTED);
        PL_ASSERT(*err.msg);
    }
    pl_arena_free(a);
    return 0;
}
