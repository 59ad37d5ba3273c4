/* What a memo of conversions gives is what one that knows nothing gives, and both are the least
 * sums of moves that a textbook finds one edge at a time. */
#include "support/draw.h"
#include "reshard/convert.h"
#include "reshard/convert_map.h"
#include "cost/domain.h"

#include <math.h>

enum { SEEDS = 60, MOST_PLACES = 24 };

/* A mesh of at most 3 axes, a shape, and different placements of it in normal form. */
typedef struct world {
    pl_mesh mesh;
    pl_shape shape;
    pl_placement_set spots;
} world;

static world draw_world(uint64_t seed, pl_arena *a)
{
    lot l = draw_from(seed);
    world w = { .mesh = draw_mesh(&l), .shape = draw_shape(&l) };
    int with = WITH_DIGITS | (seed % 3 ? 0 : WITH_WINDOWS), n = 1 + draw(&l, MOST_PLACES);
    if (w.mesh.n > 3) w.mesh.n = 3;
    for (int i = 0; i < w.mesh.n; i++)
        w.mesh.axis[i].latency = 1e-6 * (1 + i), w.mesh.axis[i].per_byte = 1e-9 / (1 + i);
    for (int i = 0; i < n; i++) {
        pl_placement p = draw_placement(&l, &w.mesh, &w.shape, with);
        p = pl_placement_normal(&p, &w.mesh, &w.shape);
        pl_placement_set_add(&w.spots, &p, a);
    }
    return w;
}

/* -- paths ------------------------------------------------------------------------------------- */

/* A map of all that the moves of some placements lead to. */
static pl_convert_map *open_all(const world *w, pl_arena *a)
{
    pl_split digit[PL_MOST_DIGITS];
    int n = 0;
    for (int d = 0; d < w->shape.rank; d++) digit[n++] = (pl_split){ .dim = (int8_t)d, .axis = -1 };
    for (int i = 0; i < w->spots.n; i++)
        for (int k = 0; k < w->spots.at[i].n; k++) {
            pl_split s = w->spots.at[i].split[k];
            bool known = s.stride > 0;
            for (int j = 0; j < n; j++)
                known |=
                    digit[j].dim == s.dim && digit[j].size == s.size && digit[j].unit == s.unit;
            s.axis = -1;
            if (!known && n < PL_MOST_DIGITS) digit[n++] = s;
        }
    pl_convert_map *x = pl_convert_map_new(&w->mesh, PL_F32, &w->shape, n, digit, a);
    for (int i = 0; i < w->spots.n; i++)
        assert_int_equal(pl_convert_map_add(x, &w->spots.at[i]), i);
    for (int i = 0; i < x->n; i++) pl_convert_map_open(x, i);
    return x;
}

/* From one place to all, until no edge makes any nearer. */
static double *walk(pl_convert_map *x, int from, pl_arena *a)
{
    double *far = PL_NEW_N(a, double, x->n);
    for (int i = 0; i < x->n; i++) far[i] = i == from ? 0 : INFINITY;
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < x->n; i++)
            for (int k = 0; k < x->at[i]->n_moves; k++) {
                int to = x->at[i]->to[k];
                double seconds = to < 0 ? INFINITY : far[i] + pl_convert_map_price(x, i, k);
                if (to < 0 || !(seconds < far[to])) continue;
                far[to] = seconds;
                more = true;
            }
    }
    return far;
}

static void test_paths(void **state)
{
    (void)state;
    int few = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pl_arena *a = pl_arena_new("test");
        const world w = draw_world(seed, a);
        int n = w.spots.n;
        pl_convert_map *x = open_all(&w, a);
        pl_convert c = pl_convert_all(&w.mesh, PL_F32, &w.shape, n, w.spots.at, a);
        bool all = x->n <= n + 512;
        few += all;
        for (int i = 0; i < n && x->n < 3000; i++) {
            const double *far = walk(x, i, a);
            for (int j = 0; j < n; j++) {
                double got = c.seconds[i * n + j];
                bool right =
                    got == far[j] || (got > far[j] && !all) || fabs(got - far[j]) <= 1e-12 * far[j];
                EXPECT(right, "seed %llu, %d places: %d to %d: %g, but %g",
                       (unsigned long long)seed, x->n, i, j, got, far[j]);
            }
        }
        pl_arena_free(a);
    }
    assert_true(few > SEEDS / 2);
}

/* What one move of one axis does costs no more than that. */
static void test_moves(void **state)
{
    (void)state;
    int moves[PL_N_COLLECTIVES] = { 0 };
    pl_arena *a = pl_arena_new("test");
    world w = { .mesh = { .n = 3,
                          .axis = { { .name = "x", .size = 2, .latency = 2e-5, .per_byte = 1e-10 },
                                    { .name = "y", .size = 2, .latency = 5e-6, .per_byte = 1e-11 },
                                    { .name = "z", .size = 4 } } },
                .shape = { 2, { 16, 32 } } };
    lot l = draw_from(1);
    for (int i = 0; i < 200; i++) {
        pl_placement p = draw_placement(&l, &w.mesh, &w.shape, 0);
        if (p.pending) p.monoid = PL_SUM;
        p = pl_placement_normal(&p, &w.mesh, &w.shape);
        pl_placement_set_add(&w.spots, &p, a);
    }
    int n = w.spots.n;
    pl_convert c = pl_convert_all(&w.mesh, PL_F32, &w.shape, n, w.spots.at, a);
    pl_reshard r = pl_reshard_new(&w.mesh, a);
    r.mask = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            pl_path path;
            pl_err err = { 0 };
            int which;
            if (!pl_reshard_find(&r, PL_F32, &w.shape, 1, &w.spots.at[i], &w.spots.at[j], &which,
                                 &path, &err) ||
                path.n != 1 || path.move[0].axes & (path.move[0].axes - 1))
                continue;
            moves[path.move[0].kind]++;
            EXPECT(c.seconds[i * n + j] <= path.seconds * (1 + 1e-12),
                   "%s from %d to %d: %g, not %g", pl_collective_name(path.move[0].kind), i, j,
                   c.seconds[i * n + j], path.seconds);
        }
    for (int k = PL_SLICE; k <= PL_ALL_TO_ALL; k++) assert_true(moves[k] > 0);
    pl_arena_free(a);
}

/* -- memo -------------------------------------------------------------------------------------- */

static void check_memo(pl_convert_memo *memo, const world *w, int n, const pl_placement at[],
                       uint64_t seed, pl_arena *a)
{
    pl_convert c = pl_convert_all(&w->mesh, PL_F32, &w->shape, n, at, a);
    pl_convert x = pl_convert_find(memo, PL_F32, &w->shape, n, at);
    assert_int_equal(x.n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            EXPECT(x.seconds[x.row[i] * n + x.row[j]] == c.seconds[i * n + j],
                   "seed %llu: %d to %d of %d", (unsigned long long)seed, i, j, n);
}

static void test_memo(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pl_arena *a = pl_arena_new("test");
        const world w = draw_world(seed, a);
        int n = w.spots.n;
        lot l = draw_from(seed + 1000);
        pl_convert_memo *memo = pl_convert_memo_new(&w.mesh, a);
        pl_placement *at = PL_NEW_N(a, pl_placement, n);
        memcpy(at, w.spots.at, (size_t)n * sizeof *at);
        for (int turn = 0; turn < 4; turn++) {
            for (int i = n - 1; i > 0 && turn; i--) {
                int k = draw(&l, i + 1);
                pl_placement p = at[i];
                at[i] = at[k], at[k] = p;
            }
            check_memo(memo, &w, n, at, seed, a);
            check_memo(memo, &w, 1 + draw(&l, n), at, seed, a);
        }
        pl_arena_free(a);
    }
}

/* The same set in another order is not looked for again. */
static void test_shared(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_mesh m = { .n = 2,
                        .axis = { { .name = "x", .size = 2 }, { .name = "y", .size = 4 } } };
    const pl_shape s = { 2, { 8, 16 } };
    pl_placement at[3] = { { 0 } }, turned[3];
    pl_placement_split(&at[1], 0, 0);
    pl_placement_split(&at[2], 1, 1);
    for (int i = 0; i < 3; i++) turned[i] = at[2 - i];
    pl_convert_memo *memo = pl_convert_memo_new(&m, a);
    pl_convert x = pl_convert_find(memo, PL_F32, &s, 3, at);
    pl_convert y = pl_convert_find(memo, PL_F32, &s, 3, turned);
    pl_convert z = pl_convert_find(memo, PL_BF16, &s, 3, at);
    assert_ptr_equal(x.seconds, y.seconds);
    assert_ptr_not_equal(x.seconds, z.seconds);
    for (int i = 0; i < 3; i++) assert_int_equal(x.row[i], y.row[2 - i]);
    pl_arena_free(a);
}

/* -- parts ------------------------------------------------------------------------------------- */

/* Without the axes that the other one does not split. */
static bool is_part(const world *w, const pl_placement *whole, const pl_placement *part)
{
    pl_placement p = *part;
    unsigned more = pl_placement_axes(&p) & ~pl_placement_axes(whole);
    for (int i = p.n - 1; i >= 0; i--)
        if (more >> p.split[i].axis & 1 &&
            !pl_placement_gather(&p, &w->mesh, &w->shape, p.split[i].axis))
            return false;
    return pl_placement_same(&p, whole);
}

static void test_parts(void **state)
{
    (void)state;
    int parts = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pl_arena *a = pl_arena_new("test");
        const world w = draw_world(seed, a);
        int n = w.spots.n;
        pl_convert_memo *memo = pl_convert_memo_new(&w.mesh, a);
        const bool *part = pl_convert_parts(memo, PL_F32, &w.shape, n, w.spots.at);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                bool expected = is_part(&w, &w.spots.at[j], &w.spots.at[i]);
                EXPECT(part[i * n + j] == expected, "seed %llu: %d of %d", (unsigned long long)seed,
                       i, j);
                parts += expected && i != j;
            }
        pl_arena_free(a);
    }
    assert_true(parts > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths), cmocka_unit_test(test_moves),
                                        cmocka_unit_test(test_memo), cmocka_unit_test(test_shared),
                                        cmocka_unit_test(test_parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
