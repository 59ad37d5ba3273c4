/* Placements: text both ways and its errors, who owns which element on any mesh, groups of
 * ranks. */
#include "base/rng.h"
#include "plan/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_RANKS = 256 };

#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

static const pl_mesh cube = { 3, { { "node", 2 }, { "gpu", 4 }, { "one", 1 } } };

/* -- text -------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    static const struct {
        const char *text;
        int rank;
        bool same; /* prints as it was read */
    } cases[] = {
        { "[]", 0, true },
        { "[]", 1, true },
        { "[;]", 2, true },
        { "[node]", 1, true },
        { "[;gpu]", 2, true },
        { "[node,gpu;]", 2, true },
        { "[gpu,node;;one]", 3, true },
        { "[]+{node}", 0, true },
        { "[node]+{gpu,one}", 1, true },
        { "[;]max{gpu}", 2, true },
        { "[]min{node,gpu}", 1, true },
        { "[]+{gpu,node}", 1, false },
        { "[;;]", 1, false },
        { "[;;;;;;;gpu]", 8, true },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p, again;
        pl_err err = { 0 };
        bool ok = pl_placement_parse(cases[i].text, &cube, &p, &err);
        EXPECT(ok, "%s: %s", cases[i].text, err.msg);
        const char *text = pl_placement_text(a, &p, &cube, cases[i].rank);
        EXPECT(!strcmp(text, cases[i].text) == cases[i].same, "%s prints %s", cases[i].text, text);
        ok = pl_placement_parse(text, &cube, &again, &err);
        EXPECT(ok && pl_placement_same(&p, &again), "%s reads otherwise: %s", text, err.msg);
    }
    pl_arena_free(a);
}

static void test_text_errors(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "does not start with '['" },
        { "node", "does not start with '['" },
        { "[node", "has no ']'" },
        { "[;", "no axis ''" },
        { "[gpus]", "no axis 'gpus'" },
        { "[gp]", "no axis 'gp'" },
        { "[node,]", "no axis ''" },
        { "[,node]", "no axis ''" },
        { "[node gpu]", "no axis 'node gpu'" },
        { "[;;;;;;;;gpu]", "at most 8 dimensions" },
        { "[gpu,gpu,gpu,gpu,gpu,gpu,gpu]", "6 axes" },
        { "[]x", "'x' is not +{axis,...}" },
        { "[]+", "is not +{axis,...}" },
        { "[]+{}", "no axis ''" },
        { "[]+{node", "is not +{axis,...}" },
        { "[]+{node}x", "is not +{axis,...}" },
        { "[]max{disk}", "no axis 'disk'" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p;
        pl_err err = { 0 };
        EXPECT(!pl_placement_parse(cases[i].text, &cube, &p, &err), "'%s' is read", cases[i].text);
        EXPECT(err.code == PL_EINPUT && strstr(err.msg, cases[i].says), "'%s': %s", cases[i].text,
               err.msg);
    }
}

static void test_check_errors(void **state)
{
    static const struct {
        const char *text;
        pl_shape shape;
        const char *says; /* NULL: legal */
    } cases[] = {
        { "[node,gpu]", { 1, { 8 } }, NULL },
        { "[node;gpu]", { 2, { 2, 4 } }, NULL },
        { "[one]", { 1, { 3 } }, NULL },
        { "[]+{node,gpu}", { 0, { 0 } }, NULL },
        { "[gpu]", { 1, { 6 } }, "dimension 0 of 6 does not divide into 4 parts (axis 'gpu')" },
        { "[;node,gpu]", { 2, { 8, 4 } }, "dimension 1 of 4 does not divide into 8 parts" },
        { "[node;node]", { 2, { 2, 2 } }, "axis 'node' is used twice" },
        { "[node,node]", { 1, { 4 } }, "axis 'node' is used twice" },
        { "[gpu]+{gpu}", { 1, { 4 } }, "axis 'gpu' is used twice" },
        { "[node]", { 0, { 0 } }, "dimension 0" },
        { "[;gpu]", { 1, { 4 } }, "dimension 1" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p;
        pl_err err = { 0 };
        bool ok = pl_placement_parse(cases[i].text, &cube, &p, &err);
        EXPECT(ok, "%s: %s", cases[i].text, err.msg);
        ok = pl_placement_check(&p, &cube, &cases[i].shape, &err);
        EXPECT(ok == !cases[i].says, "%s: %s", cases[i].text, ok ? "is legal" : err.msg);
        EXPECT(ok || (err.code == PL_EINPUT && strstr(err.msg, cases[i].says)), "%s: %s",
               cases[i].text, err.msg);
    }
    pl_placement stray = { .pending = 1u << 5 };
    pl_err err = { 0 };
    EXPECT(!pl_placement_check(&stray, &cube, &(pl_shape){ 0 }, &err), "an axis beyond the mesh");
}

static void test_trim(void **state)
{
    pl_placement p, want;
    pl_err err = { 0 };
    (void)state;
    assert_true(pl_placement_parse("[one,node;one]max{gpu}", &cube, &p, &err));
    assert_true(pl_placement_parse("[node;]max{gpu}", &cube, &want, &err));
    pl_placement got = pl_placement_trim(&p, &cube);
    assert_true(pl_placement_same(&got, &want));
    assert_false(pl_placement_same(&p, &want));
    assert_int_equal(pl_placement_dim(&want, 0), 0);
    assert_int_equal(pl_placement_dim(&want, 1), -1);
}

/* -- ownership --------------------------------------------------------------------------------- */

typedef struct lot {
    pl_rng rng;
    uint64_t drawn, seed;
} lot;

static int draw(lot *l, int below)
{
    return (int)pl_rng_below(l->rng, l->drawn++, (uint64_t)below);
}

static pl_mesh draw_mesh(lot *l)
{
    pl_mesh m = { .n = draw(l, 5) };
    for (int i = 0; i < m.n; i++) {
        m.axis[i].size = 1 + draw(l, 3);
        snprintf(m.axis[i].name, sizeof m.axis[i].name, "x%d", i);
    }
    return m;
}

/* Axes in any order on any dimension; each dimension a multiple of its parts. */
static pl_placement draw_placement(lot *l, const pl_mesh *m, pl_shape *s)
{
    pl_placement p = { 0 };
    int axis[PL_MAX_AXES];
    s->rank = draw(l, 4);
    for (int d = 0; d < s->rank; d++) s->dim[d] = 1 + draw(l, 2);
    for (int i = 0; i < m->n; i++) axis[i] = i;
    for (int i = m->n - 1; i > 0; i--) {
        int k = draw(l, i + 1), x = axis[i];
        axis[i] = axis[k], axis[k] = x;
    }
    for (int i = 0; i < m->n; i++) {
        int use = draw(l, s->rank + 2);
        if (use < s->rank) {
            pl_placement_split(&p, use, axis[i]);
            s->dim[use] *= m->axis[axis[i]].size;
        } else if (use == s->rank)
            p.pending |= (uint8_t)(1u << axis[i]);
    }
    return p;
}

/* Does the rank own index i of dimension d: digits of its block number, major axis first. */
static bool owns_index(const pl_placement *p, const pl_mesh *m, int64_t size, int d, int64_t i,
                       const int coord[])
{
    int64_t block = size;
    for (int k = 0; k < p->n[d]; k++) {
        int a = p->axis[d][k];
        block /= m->axis[a].size;
        if (i / block % m->axis[a].size != coord[a]) return false;
    }
    return true;
}

/* Coordinates by counting through the mesh, the last axis fastest. */
static void next_coord(const pl_mesh *m, int coord[])
{
    for (int a = m->n - 1; a >= 0; a--) {
        if (++coord[a] < m->axis[a].size) return;
        coord[a] = 0;
    }
}

static void check_owner(const lot *l, const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                        int rank, const int coord[], int owners[])
{
    int64_t lo[PL_MAX_RANK] = { 0 }, n = pl_shape_count(s), held = 0;
    pl_shape local = pl_placement_local(p, m, s);
    pl_placement_origin(p, m, s, rank, lo);
    for (int64_t e = 0; e < n; e++) {
        bool inside = true, mine = true;
        int64_t rest = e;
        for (int d = s->rank - 1; d >= 0; d--) {
            int64_t i = rest % s->dim[d];
            rest /= s->dim[d];
            inside &= i >= lo[d] && i < lo[d] + local.dim[d];
            mine &= owns_index(p, m, s->dim[d], d, i, coord);
        }
        EXPECT(inside == mine, "seed %d: rank %d, element %d", (int)l->seed, rank, (int)e);
        owners[e] += mine;
        held += mine;
    }
    EXPECT(held == pl_shape_count(&local), "seed %d: rank %d holds %d", (int)l->seed, rank,
           (int)held);
}

static void check_groups(const lot *l, const pl_mesh *m, unsigned axes)
{
    int group[MAX_RANKS], all = pl_mesh_ranks(m), size = 1, me = -1;
    for (int a = 0; a < m->n; a++)
        if (axes >> a & 1) size *= m->axis[a].size;
    for (int r = 0; r < all; r++) {
        int n = pl_mesh_group(m, r, axes, group, &me);
        EXPECT(n == size && group[me] == r, "seed %d: rank %d of %d", (int)l->seed, r, n);
        for (int i = 0; i < n; i++) {
            EXPECT(i == 0 || group[i] > group[i - 1], "seed %d: not ascending", (int)l->seed);
            for (int a = 0; a < m->n; a++)
                EXPECT(axes >> a & 1 || pl_mesh_coord(m, group[i], a) == pl_mesh_coord(m, r, a),
                       "seed %d: rank %d is no peer of %d", (int)l->seed, group[i], r);
        }
    }
}

static void test_ownership(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        lot l = { .rng = pl_rng_at(seed, 0), .seed = seed };
        pl_mesh m = draw_mesh(&l);
        pl_shape s = { 0 };
        pl_placement p = draw_placement(&l, &m, &s);
        int all = pl_mesh_ranks(&m), coord[PL_MAX_AXES] = { 0 }, owners[10000] = { 0 }, parts = 1;
        pl_err err = { 0 };
        EXPECT(pl_placement_check(&p, &m, &s, &err), "seed %d: %s", (int)seed, err.msg);
        for (int r = 0; r < all; r++) {
            for (int a = 0; a < m.n; a++) assert_int_equal(pl_mesh_coord(&m, r, a), coord[a]);
            check_owner(&l, &p, &m, &s, r, coord, owners);
            next_coord(&m, coord);
        }
        for (int d = 0; d < s.rank; d++)
            for (int k = 0; k < p.n[d]; k++) parts *= m.axis[p.axis[d][k]].size;
        for (int64_t e = 0; e < pl_shape_count(&s); e++)
            EXPECT(owners[e] == all / parts,
                   "seed %d: element %d has %d owners of %d ranks, %d parts", (int)seed, (int)e,
                   owners[e], all, parts);
        check_groups(&l, &m, (unsigned)draw(&l, 1 << m.n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_text_errors),
        cmocka_unit_test(test_check_errors), cmocka_unit_test(test_trim),
        cmocka_unit_test(test_ownership),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
