/* libFuzzer target: any text as a placement; what is read prints, and reads and prints the same. */
#include "plan/placement.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const pl_mesh mesh = { 3, { { "a", 2 }, { "b", 4 }, { "bc", 1 } } };
    pl_arena *a = pl_arena_new("fuzz");
    pl_placement p, again;
    pl_err err = { 0 };
    if (pl_placement_parse(pl_arena_span(a, (const char *)bytes, n), &mesh, &p, &err)) {
        const char *text = pl_placement_text(a, &p, &mesh, PL_MAX_RANK);
        pl_shape s = { PL_MAX_RANK, { 8, 8, 8, 8, 8, 8, 8, 8 } };
        PL_ASSERT(pl_placement_parse(text, &mesh, &again, &err));
        PL_ASSERT(pl_placement_same(&p, &again));
        PL_ASSERT(!strcmp(pl_placement_text(a, &again, &mesh, PL_MAX_RANK), text));
        if (pl_placement_check(&p, &mesh, &s, &err)) {
            pl_shape local = pl_placement_local(&p, &mesh, &s);
            PL_ASSERT_CMP(pl_shape_count(&local), >, 0);
        }
    } else
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    pl_arena_free(a);
    return 0;
}
