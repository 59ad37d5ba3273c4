/* The prices of all conversions at once against the search for one: never lower, and rarely higher;
 * and a metric: no detour is cheaper. */
#include "base/rng.h"
#include "reshard/convert.h"
#include "cost/domain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Every axis splits a dimension, holds copies, or a sum is pending on it; in both orders. */
static void add_all(const pl_mesh *m, const pl_shape *s, int axis, const pl_placement *p,
                    pl_placement_set *out, pl_arena *a)
{
    if (axis == m->n) {
        pl_placement x = pl_placement_normal(p, m, s);
        pl_placement_set_add(out, &x, a);
        return;
    }
    pl_placement x = *p;
    add_all(m, s, axis + 1, &x, out, a);
    x.pending |= (uint8_t)(1u << axis);
    add_all(m, s, axis + 1, &x, out, a);
    for (int d = 0; d < s->rank; d++) {
        x = *p;
        pl_placement_split(&x, d, axis);
        add_all(m, s, axis + 1, &x, out, a);
    }
}

static const struct world {
    pl_mesh mesh;
    pl_shape shape;
    pl_type type;
} worlds[] = {
    { { 2, { { "x", 2, 2e-5, 1e-10 }, { "y", 4, 5e-6, 1e-11 } } }, { 3, { 8, 128, 96 } }, PL_F32 },
    { { 2, { { "x", 4, 2e-5, 1e-10 }, { "y", 4, 5e-6, 1e-11 } } }, { 2, { 256, 64 } }, PL_BF16 },
    { { 2, { { "x", 2, 2e-5, 1e-10 }, { "y", 4, 5e-6, 1e-11 } } }, { 2, { 101, 48 } }, PL_F32 },
    { { 3, { { "x", 2, 2e-5, 1e-10 }, { "y", 2, 5e-6, 1e-11 }, { "z", 2, 5e-6, 1e-11 } } },
      { 2, { 64, 32 } },
      PL_F32 },
};

static void test_against_search(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
        const struct world *x = &worlds[w];
        pl_arena *a = pl_arena_new("test");
        pl_placement_set all = { 0 };
        const pl_placement whole = { 0 };
        add_all(&x->mesh, &x->shape, 0, &whole, &all, a);
        pl_convert c = pl_convert_all(&x->mesh, x->type, &x->shape, all.n, all.at, a);
        pl_reshard r = pl_reshard_new(&x->mesh, a);
        r.mask = true;
        int n = 0, dearer = 0;
        double worst = 1;
        for (int i = 0; i < c.n; i++)
            for (int j = 0; j < c.n; j++) {
                pl_path path;
                pl_err err = { 0 };
                int which;
                double seconds = c.seconds[i * c.n + j];
                if (all.at[i].pending & all.at[j].pending) continue; /* see convert.h */
                bool way = pl_reshard_find(&r, x->type, &x->shape, 1, &all.at[i], &all.at[j],
                                           &which, &path, &err);
                if (!way) continue;
                n++;
                if (seconds < path.seconds * (1 - 1e-9) - 1e-15)
                    fail_msg("world %zu: %s to %s: %g, the search needs %g", w,
                             pl_placement_text(a, &all.at[i], &x->mesh, x->shape.rank),
                             pl_placement_text(a, &all.at[j], &x->mesh, x->shape.rank), seconds,
                             path.seconds);
                if (seconds <= path.seconds * (1 + 1e-9)) continue;
                dearer++;
                worst = fmax(worst, seconds / path.seconds);
            }
        print_message("world %zu: %d placements, %d of %d pairs dearer, at most %.2f times\n", w,
                      c.n, dearer, n, worst);
        assert_true(n > c.n && worst < 3);
        pl_arena_free(a);
    }
}

static void test_no_detour(void **state)
{
    (void)state;
    const struct world *x = &worlds[0];
    pl_arena *a = pl_arena_new("test");
    pl_placement_set all = { 0 };
    const pl_placement whole = { 0 };
    add_all(&x->mesh, &x->shape, 0, &whole, &all, a);
    pl_convert c = pl_convert_all(&x->mesh, x->type, &x->shape, all.n, all.at, a);
    for (int i = 0; i < c.n; i++)
        for (int k = 0; k < c.n; k++)
            for (int j = 0; j < c.n; j++)
                assert_true(c.seconds[i * c.n + j] <=
                            (c.seconds[i * c.n + k] + c.seconds[k * c.n + j]) * (1 + 1e-12));
    for (int i = 0; i < c.n; i++) assert_true(c.seconds[i * c.n + i] == 0);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_search),
                                        cmocka_unit_test(test_no_detour) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
