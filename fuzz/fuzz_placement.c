/* libFuzzer target: any text as a placement; what is read prints, and reads and prints the same. Of
 * a legal one, the normal form is legal and gives each device the same. */
#include "placement/region.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_normal(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    pl_placement q = pl_placement_normal(p, m, s), twice = pl_placement_normal(&q, m, s);
    PL_ASSERT(pl_placement_check(&q, m, s, &(pl_err){ 0 }));
    PL_ASSERT(pl_placement_same(&q, &twice));
    for (int r = 0, n = pl_mesh_ranks(m); r < n; r++) {
        pl_shape a = pl_placement_local(p, m, s, r), b = pl_placement_local(&q, m, s, r);
        PL_ASSERT(pl_shape_same(&a, &b));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const pl_mesh mesh = { 3, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 }, { "bc", 1, 0, 0 } } };
    pl_arena *a = pl_arena_new("fuzz");
    pl_placement p, again;
    pl_err err = { 0 };
    if (pl_placement_parse(pl_arena_span(a, (const char *)bytes, n), &mesh, &p, &err)) {
        const char *text = pl_placement_text(a, &p, &mesh, PL_MAX_RANK);
        pl_shape s = { PL_MAX_RANK, { 8, 12, 3, 8, 8, 8, 1, 768 } };
        PL_ASSERT(pl_placement_parse(text, &mesh, &again, &err));
        PL_ASSERT(pl_placement_same(&p, &again));
        PL_ASSERT(!strcmp(pl_placement_text(a, &again, &mesh, PL_MAX_RANK), text));
        if (pl_placement_check(&p, &mesh, &s, &err)) check_normal(&p, &mesh, &s);
    } else
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    pl_arena_free(a);
    return 0;
}
