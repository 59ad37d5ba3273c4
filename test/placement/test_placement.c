/* Placements: text both ways and its errors, checks, the one form of those that say the same,
 * groups of ranks. Who owns what is in test_region.c. */
#include "support/draw.h"

enum { MAX_RANKS = 256 };

static const pl_mesh cube = { 3, { { "node", 2, 0, 0 }, { "gpu", 4, 0, 0 }, { "one", 1, 0, 0 } } };

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
        { "[]@host", 0, true },
        { "[node;gpu]@host", 2, true },
        { "[node:4x6]max{gpu}@host", 1, true },
        { "[;;]", 1, false },
        { "[;;;;;;;gpu]", 8, true },
        { "[gpu:12x64]", 1, true },
        { "[node:4x6,gpu:6x1]", 1, true },
        { "[node:4x6,gpu:4x6;one:3x1]+{node}", 2, true },
        { "[gpu:6x1,node:4x6]", 1, false },
        { "[gpu:4611686018427387903x1]", 1, true },
        { "[gpu:1x9223372036854775807]", 1, true },
        { "[;gpu:8~2,3,1]", 2, true },
        { "[gpu:8~2,3,1,node:8~2,3,1;one]", 2, true },
        { "[gpu:2147483647~2147483647,2147483647,2147483647]", 1, true },
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
        { "[]@disk", "'@disk' is not +{axis,...} or @host" },
        { "[]@host+{node}", "is not +{axis,...} or @host" },
        { "[]+{node}@hosts", "is not +{axis,...} or @host" },
        { "[gpu:]", "':]' is neither" },
        { "[gpu:12]", "is neither" },
        { "[gpu:0x4]", "is neither" },
        { "[gpu:4x0]", "is neither" },
        { "[gpu:4x]", "is neither" },
        { "[gpu:x4]", "is neither" },
        { "[gpu:-4x4]", "is neither" },
        { "[gpu:4x4x4]", "is neither" },
        { "[gpu: 4x4]", "is neither" },
        { "[gpu:4611686018427387904x1]", "is neither" },
        { "[gpu:99999999999999999999x1]", "is neither" },
        { "[gpu:4294967296x4294967296]", "is neither" },
        { "[gpu:8~2,3]", "is neither" },
        { "[gpu:8~2,3,]", "is neither" },
        { "[gpu:8~2,3,1,]", "no axis ''" },
        { "[gpu:8~0,3,1]", "is neither" },
        { "[gpu:8~2,0,1]", "is neither" },
        { "[gpu:0~2,3,1]", "is neither" },
        { "[gpu:8~2,3,2147483648]", "is neither" },
        { "[gpu:2147483648~2,3,1]", "is neither" },
        { "[gpu:8~2,3,1;node:4x4", "has no ']'" },
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
        { "[gpu]", { 1, { 6 } }, NULL },
        { "[;node,gpu]", { 2, { 8, 1 } }, NULL },
        { "[gpu:12x64]", { 1, { 768 } }, NULL },
        { "[gpu:12x64]", { 1, { 2304 } }, NULL },
        { "[node:3x64,gpu:64x1]", { 1, { 192 } }, NULL },
        { "[node:3x64,gpu:3x64]", { 1, { 384 } }, NULL },
        { "[node:3x64,gpu:4x8]", { 1, { 192 } }, NULL },
        { "[gpu:8~2,3,1]", { 1, { 16 } }, NULL },
        { "[gpu:8~2,3,1,node:8~2,3,1]", { 1, { 3 } }, NULL },
        { "[gpu:12x64]",
          { 1, { 770 } },
          "axis 'gpu': dimension 0 of 770 has no digit of 12 values of 64 each" },
        { "[;gpu:12x64]",
          { 2, { 768, 384 } },
          "dimension 1 of 384 has no digit of 12 values of 64" },
        { "[node:3x64,gpu:6x32]",
          { 1, { 192 } },
          "dimension 0 of 192 has no digit of 6 values of 32" },
        { "[node:3x64,gpu:24x4]", { 1, { 192 } }, "no digit of 24 values of 4" },
        { "[node,gpu:4x2]",
          { 1, { 8 } },
          "axes 'gpu' and 'node' split all of dimension 0, but not the same way" },
        { "[node:4x2,gpu]", { 1, { 8 } }, "axes 'node' and 'gpu' split all of dimension 0" },
        { "[node:4~2,2,1,gpu]", { 1, { 8 } }, "not the same way" },
        { "[node:4~2,2,1,gpu:4~2,2,0]", { 1, { 8 } }, "not the same way" },
        { "[gpu:4x2]+{gpu}", { 1, { 8 } }, "axis 'gpu' is used twice" },
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

static void test_list(void **state)
{
    pl_placement p = { 0 };
    (void)state;
    pl_placement_add(&p, (pl_split){ .dim = 1, .axis = 2, .size = 8, .unit = 1 });
    pl_placement_add(&p, (pl_split){ .dim = 1, .axis = 0, .size = 3, .unit = 64 });
    pl_placement_split(&p, 0, 1);
    pl_placement_add(&p, (pl_split){ .dim = 1, .axis = 3, .size = 3, .unit = 64 });
    static const int order[] = { 1, 0, 3, 2 };
    for (int i = 0; i < 4; i++) assert_int_equal(p.split[i].axis, order[i]);
    assert_int_equal(pl_placement_axes(&p), 15);
    assert_int_equal(pl_placement_dim(&p, 1), 0);
    assert_int_equal(pl_placement_dim(&p, 3), 1);
    assert_int_equal(pl_placement_dim(&p, 4), -1);
    assert_int_equal(pl_placement_find(&p, 3), 2);
    pl_placement_remove(&p, 1);
    assert_int_equal(pl_placement_axes(&p), 14);
    assert_int_equal(pl_placement_find(&p, 3), 1);
    assert_int_equal(pl_placement_find(&p, 0), -1);
}

static void test_same(void **state)
{
    static const char *const texts[] = { "[node]",         "[gpu]",          "[;node]",
                                         "[node:4x2]",     "[node:2x4]",     "[node:8~2,3,1]",
                                         "[node:8~1,3,1]", "[node:8~2,2,1]", "[node:8~2,3,0]",
                                         "[node,gpu]",     "[gpu,node]",     "[]+{node}",
                                         "[]max{node}",    "[]+{gpu}",       "[]",
                                         "[]@host",        "[node]@host",    "[]+{gpu}@host" };
    enum { N = sizeof texts / sizeof *texts };
    pl_placement p[N];
    (void)state;
    for (int i = 0; i < N; i++) assert_true(pl_placement_parse(texts[i], &cube, &p[i], NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            EXPECT(pl_placement_same(&p[i], &p[j]) == (i == j) &&
                       (pl_placement_hash(&p[i]) == pl_placement_hash(&p[j])) == (i == j),
                   "%s and %s", texts[i], texts[j]);
}

/* -- the one form ------------------------------------------------------------------------------ */

static const pl_mesh cube4 = {
    4, { { "node", 2, 0, 0 }, { "gpu", 4, 0, 0 }, { "one", 1, 0, 0 }, { "tri", 3, 0, 0 } }
};

static void test_normal(void **state)
{
    static const struct {
        const char *text;
        pl_shape shape;
        const char *normal;
    } cases[] = {
        { "[one,node;]max{gpu}", { 2, { 8, 8 } }, "[node;]max{gpu}" },
        { "[]max{one}", { 1, { 8 } }, "[]" },
        { "[node:8x1]", { 1, { 8 } }, "[node]" },
        { "[node:2x4]", { 1, { 8 } }, "[node]" },
        { "[node:4x1]", { 1, { 8 } }, "[node:4x1]" },
        { "[node:2x2]", { 1, { 8 } }, "[node:4x1]" },
        { "[gpu:12x64]", { 1, { 2304 } }, "[gpu:768x1]" }, /* even: whole rows of heads         */
        { "[gpu:12x64]", { 1, { 768 } }, "[gpu]" },
        { "[gpu:6x64]", { 1, { 384 } }, "[gpu:6x64]" }, /* uneven: whole heads               */
        { "[gpu:3x2]", { 1, { 6 } }, "[gpu]" },         /* 2, 2, 2 and 0 of either           */
        { "[gpu:3x4]", { 1, { 12 } }, "[gpu:6x2]" },    /* 4, 4, 4 and 0, not 3 each         */
        { "[gpu:3x6]", { 1, { 18 } }, "[gpu:9x2]" },    /* 3 x 3: as far as it goes          */
        { "[node:2x4,gpu:4x1]", { 1, { 8 } }, "[node,gpu]" },
        { "[node:4x4,gpu:4x1]", { 1, { 16 } }, "[node:4x4,gpu:4x1]" },
        { "[node:2x8,gpu:4x1]", { 1, { 16 } }, "[node:4x4,gpu:4x1]" },
        { "[gpu:4x8,node:4x2]", { 1, { 32 } }, "[gpu,node]" },
        { "[gpu:3x2,node:2x1]",
          { 1, { 6 } },
          "[gpu,node]" }, /* 3 and 4 devices: one value each   */
        { "[gpu:3x4,node:4x1]", { 1, { 12 } }, "[gpu:6x2,node:6x2]" },
        { "[node:2x16,tri:3x4,gpu:4x1]", { 1, { 32 } }, NULL },
        { "[node:2x12,tri:3x4,gpu:4x1]", { 1, { 24 } }, "[node,tri,gpu]" },
        { "[node:8~1,1,0]", { 1, { 8 } }, "[node]" },  /* a kernel of 1 sees what it makes  */
        { "[node:4~4,4,0]", { 1, { 16 } }, "[node]" }, /* patches                           */
        { "[node:3~4,4,0]", { 1, { 12 } }, "[node:3x4]" },
        { "[node:3~4,4,0]",
          { 1, { 13 } },
          "[node:3~4,4,0]" }, /* the last index is unseen          */
        { "[node:8~1,3,1]", { 1, { 8 } }, "[node:8~1,3,1]" },
        { "[node:1x8]", { 1, { 8 } }, "[node:1x1]" },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p;
        pl_err err = { 0 };
        bool ok = pl_placement_parse(cases[i].text, &cube4, &p, &err);
        EXPECT(ok, "%s: %s", cases[i].text, err.msg);
        ok = pl_placement_check(&p, &cube4, &cases[i].shape, &err);
        EXPECT(ok == !!cases[i].normal, "%s: %s", cases[i].text, err.msg);
        if (!ok) continue;
        p = pl_placement_normal(&p, &cube4, &cases[i].shape);
        const char *text = pl_placement_text(a, &p, &cube4, cases[i].shape.rank);
        EXPECT(!strcmp(text, cases[i].normal), "%s becomes %s", cases[i].text, text);
    }
    pl_arena_free(a);
}

static bool own_the_same(const pl_placement *p, const pl_placement *q, const pl_mesh *m,
                         const pl_shape *s)
{
    for (int r = 0, ranks = pl_mesh_ranks(m); r < ranks; r++)
        for (int64_t e = 0; e < pl_shape_count(s); e++)
            if (owns(p, m, s, e, r) != owns(q, m, s, e, r)) return false;
    return true;
}

static void test_normal_owns_the_same(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (uint64_t seed = 0; seed < 1500; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        pl_placement p = draw_placement(&l, &m, &s, WITH_WINDOWS | WITH_DIGITS);
        pl_placement q = pl_placement_normal(&p, &m, &s), twice = pl_placement_normal(&q, &m, &s);
        pl_err err = { 0 };
        const char *from = pl_placement_text(a, &p, &m, s.rank);
        const char *to = pl_placement_text(a, &q, &m, s.rank);
        EXPECT(pl_placement_check(&p, &m, &s, &err), "seed %d: %s: %s", (int)seed, from, err.msg);
        EXPECT(pl_placement_check(&q, &m, &s, &err), "seed %d: %s from %s: %s", (int)seed, to, from,
               err.msg);
        EXPECT(own_the_same(&p, &q, &m, &s), "seed %d: %s is not %s", (int)seed, from, to);
        EXPECT(pl_placement_same(&q, &twice), "seed %d: %s changes again", (int)seed, to);
    }
    pl_arena_free(a);
}

/* All placements of one dimension over two axes. */
enum { MOST = 4000 };
typedef struct family {
    pl_mesh mesh;
    pl_shape shape;
    int n;
    pl_placement p[MOST], normal[MOST];
    uint64_t owned[MOST]; /* a hash of who owns what */
} family;

/* Whether an axis shares out a single value: placements that say the same then have several
 * forms. */
static bool has_single(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    int64_t chunk = 0;
    for (int i = 0; i < p->n; i++) {
        const pl_split *x = &p->split[i], *up = x - 1;
        bool first = !i || up->size != x->size || up->unit != x->unit;
        if (first) chunk = x->size ? x->size : s->dim[0];
        if (chunk == 1) return true;
        int parts = m->axis[x->axis].size;
        chunk = (chunk + parts - 1) / parts;
    }
    return false;
}

static void add_member(family *f, const pl_placement *p)
{
    if (!pl_placement_check(p, &f->mesh, &f->shape, &(pl_err){ 0 })) return;
    if (has_single(p, &f->mesh, &f->shape)) return;
    uint64_t h = 0;
    for (int r = 0, ranks = pl_mesh_ranks(&f->mesh); r < ranks; r++) {
        uint64_t bits = 0;
        for (int e = 0; e < f->shape.dim[0]; e++)
            bits |= (uint64_t)owns(p, &f->mesh, &f->shape, e, r) << e;
        h = pl_rng_mix(h, bits);
    }
    assert_true(f->n < MOST);
    f->p[f->n] = *p, f->owned[f->n] = h;
    f->normal[f->n++] = pl_placement_normal(p, &f->mesh, &f->shape);
}

static int list_digits(int64_t n, pl_split out[])
{
    int k = 0;
    out[k++] = (pl_split){ .axis = -1 };
    out[k++] = (pl_split){ 0 };
    for (int64_t size = 1; size <= n; size++)
        for (int64_t unit = 1; unit * size <= n; unit++)
            if (n % (size * unit) == 0) out[k++] = (pl_split){ .size = size, .unit = unit };
    return k;
}

static void list_members(family *f)
{
    static pl_split digits[200];
    int k = list_digits(f->shape.dim[0], digits);
    for (int i = 0; i < k * k * 2; i++) {
        pl_split x = digits[i / 2 % k], y = digits[i / 2 / k];
        pl_placement p = { 0 };
        if (x.axis == 0) x.axis = (int8_t)(i % 2), pl_placement_add(&p, x);
        if (y.axis == 0) y.axis = (int8_t)(1 - i % 2), pl_placement_add(&p, y);
        add_member(f, &p);
    }
}

static void test_one_form(void **state)
{
    static const int axes[][2] = { { 2, 2 }, { 2, 3 }, { 3, 4 }, { 4, 2 } };
    static const int sizes[] = { 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 18, 20, 24 };
    static family f;
    (void)state;
    for (int i = 0; i < 4 * 13; i++) {
        f.mesh = (pl_mesh){ 2, { { "a", axes[i % 4][0], 0, 0 }, { "b", axes[i % 4][1], 0, 0 } } };
        f.shape = (pl_shape){ 1, { sizes[i / 4] } };
        f.n = 0;
        list_members(&f);
        for (int a = 0; a < f.n; a++)
            for (int b = 0; b < a; b++) {
                if ((f.owned[a] == f.owned[b]) == pl_placement_same(&f.normal[a], &f.normal[b]))
                    continue;
                pl_arena *t = pl_arena_new("test");
                const char *x = pl_placement_text(t, &f.p[a], &f.mesh, 1);
                const char *y = pl_placement_text(t, &f.p[b], &f.mesh, 1);
                const char *u = pl_placement_text(t, &f.normal[a], &f.mesh, 1);
                const char *v = pl_placement_text(t, &f.normal[b], &f.mesh, 1);
                EXPECT(false, "%d on %dx%d: %s and %s: %s and %s", sizes[i / 4], axes[i % 4][0],
                       axes[i % 4][1], x, y, u, v);
            }
    }
}

/* -- groups ------------------------------------------------------------------------------------ */

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

static void test_groups(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        check_groups(&l, &m, (unsigned)draw(&l, 1 << m.n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_errors),
        cmocka_unit_test(test_check_errors),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_normal_owns_the_same),
        cmocka_unit_test(test_one_form),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
