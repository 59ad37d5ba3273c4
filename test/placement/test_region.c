/* Regions: what each device holds against a count of owners; common elements and copies of pairs of
 * parts against brute force. */
#include "support/draw.h"

enum { MOST = 400 };

/* A region's elements in the order of memory. */
static int list_elements(const pl_region *r, const pl_shape *s, int64_t out[MOST])
{
    int64_t n = pl_region_count(r);
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; i++) out[i] = pl_region_global(r, s, i);
    return (int)n;
}

static void check_part(const lot *l, const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                       int rank)
{
    int64_t has[MOST];
    pl_region r = pl_region_of(p, m, s, rank);
    pl_shape local = pl_placement_local(p, m, s, rank);
    int n = list_elements(&r, s, has), k = 0;
    assert_int_equal(pl_shape_count(&local), n);
    for (int64_t e = 0; e < pl_shape_count(s); e++) { /* all, in order, and no other */
        if (!owns(p, m, s, e, rank)) continue;
        EXPECT(k < n && has[k] == e, "seed %d: rank %d lacks element %d, has %d", (int)l->seed,
               rank, (int)e, k < n ? (int)has[k] : -1);
        k++;
    }
    EXPECT(k == n, "seed %d: rank %d has %d elements, not %d", (int)l->seed, rank, n, k);
}

static bool has_window(const pl_placement *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->split[i].stride) return true;
    return false;
}

static void test_owners(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        pl_placement p = draw_placement(&l, &m, &s, WITH_DIGITS | WITH_WINDOWS);
        pl_shape first = pl_placement_local(&p, &m, &s, 0);
        bool even = true;
        for (int r = 0, ranks = pl_mesh_ranks(&m); r < ranks; r++) {
            check_part(&l, &p, &m, &s, r);
            pl_shape local = pl_placement_local(&p, &m, &s, r);
            even &= pl_shape_same(&local, &first);
            for (int d = 0; d < s.rank && !has_window(&p); d++)
                EXPECT(local.dim[d] <= first.dim[d], "seed %d: rank %d has more than rank 0",
                       (int)seed, r);
        }
        if (!has_window(&p))
            EXPECT(even == pl_placement_even(&p, &m, &s), "seed %d: even: %d", (int)seed, even);
    }
}

/* Positions of 5 rows over 2, 3 over 8; heads of a fused dimension; neighbours that overlap. */
static void test_parts(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "h", 4, 0, 0 } } };
    static const struct {
        const char *text;
        pl_shape shape;
        int rank, n;
        int64_t has[12];
    } cases[] = {
        { "[a]", { 1, { 5 } }, 0, 3, { 0, 1, 2 } },
        { "[a]", { 1, { 5 } }, 4, 2, { 3, 4 } },
        { "[a,h]", { 1, { 3 } }, 0, 1, { 0 } },
        { "[a,h]", { 1, { 3 } }, 1, 1, { 1 } },
        { "[a,h]", { 1, { 3 } }, 2, 0, { 0 } },
        { "[a,h]", { 1, { 3 } }, 4, 1, { 2 } },
        { "[a,h]", { 1, { 3 } }, 7, 0, { 0 } },
        { "[h:4x2]", { 1, { 24 } }, 1, 6, { 2, 3, 10, 11, 18, 19 } }, /* (v h d) of 3 x 4 x 2 */
        { "[a:3x8,h:4x2]", { 1, { 24 } }, 5, 2, { 18, 19 } },
        { "[;a:2x1]", { 2, { 2, 4 } }, 4, 4, { 1, 3, 5, 7 } },
        { "[h:8~1,3,1]", { 1, { 8 } }, 0, 3, { 0, 1, 2 } },
        { "[h:8~1,3,1]", { 1, { 8 } }, 1, 4, { 1, 2, 3, 4 } },
        { "[h:8~1,3,1]", { 1, { 8 } }, 3, 3, { 5, 6, 7 } },
        { "[h:4~2,3,1]", { 1, { 8 } }, 2, 3, { 3, 4, 5 } },
        { "[a:4~2,1,0]", { 1, { 8 } }, 0, 3, { 0, 1, 2 } },
        { "[a:4~2,1,0]", { 1, { 8 } }, 4, 3, { 4, 5, 6 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p;
        pl_err err = { 0 };
        int64_t has[MOST];
        EXPECT(pl_placement_parse(cases[i].text, &m, &p, &err), "%s", err.msg);
        pl_region r = pl_region_of(&p, &m, &cases[i].shape, cases[i].rank);
        int n = list_elements(&r, &cases[i].shape, has);
        EXPECT(n == cases[i].n && !memcmp(has, cases[i].has, (size_t)n * sizeof *has),
               "%s: rank %d has %d, the first %d", cases[i].text, cases[i].rank, n, (int)has[0]);
    }
}

/* -- pairs ------------------------------------------------------------------------------------- */

/* Copies of ids of `size` bytes: what both have arrives, and nothing else is touched. */
static void check_copy(const lot *l, const pl_region *a, const pl_region *b, const pl_shape *s,
                       const bool both[MOST], int size)
{
    int64_t from_at[MOST], to_at[MOST];
    unsigned char from[MOST * 8], to[MOST * 8], want[MOST * 8];
    int n = list_elements(a, s, from_at), k = list_elements(b, s, to_at);
    pl_copy c;
    memset(to, 0xee, sizeof to);
    memset(want, 0xee, sizeof want);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < size; j++) from[i * size + j] = (unsigned char)(from_at[i] * 7 + j);
    for (int i = 0; i < k; i++)
        for (int j = 0; j < size; j++)
            if (both[to_at[i]]) want[i * size + j] = (unsigned char)(to_at[i] * 7 + j);
    EXPECT(pl_region_copy(a, b, size, &c), "seed %d: no copy", (int)l->seed);
    int64_t bytes = c.bytes;
    for (int i = 0; i < c.n; i++) bytes *= c.count[i];
    int64_t common = 0;
    for (int e = 0; e < MOST; e++) common += both[e];
    EXPECT(bytes == common * size, "seed %d: %d bytes for %d elements", (int)l->seed, (int)bytes,
           (int)common);
    pl_region_apply(&c, from, to);
    EXPECT(!memcmp(to, want, sizeof to), "seed %d: other bytes arrive", (int)l->seed);
}

/* Cut like each other they have the same digits, and as many common elements as ever. */
static void check_cut(const lot *l, const pl_region *a, const pl_region *b, int64_t common)
{
    pl_region x = *a, y = *b;
    int64_t n = 1;
    if (!pl_region_cut(&x, b) || !pl_region_cut(&y, a)) {
        EXPECT(!common || !pl_region_align(&x, &y), "seed %d: not cut", (int)l->seed);
        return;
    }
    EXPECT(x.n == y.n, "seed %d: %d and %d digits", (int)l->seed, x.n, y.n);
    EXPECT(pl_region_count(&x) == pl_region_count(a), "seed %d: cut to another size", (int)l->seed);
    for (int i = 0; i < x.n; i++) {
        const pl_digit *p = &x.digit[i], *q = &y.digit[i];
        EXPECT(p->size == q->size && p->unit == q->unit, "seed %d: digit %d", (int)l->seed, i);
        int64_t lo = p->lo > q->lo ? p->lo : q->lo;
        int64_t end = p->lo + p->n < q->lo + q->n ? p->lo + p->n : q->lo + q->n;
        n *= end > lo ? end - lo : 0;
    }
    EXPECT(n == common, "seed %d: cut they have %d in common, not %d", (int)l->seed, (int)n,
           (int)common);
}

/* Returns false when the two do not align. */
static bool check_pair(const lot *l, const pl_region *a, const pl_region *b, const pl_shape *s,
                       int size)
{
    int64_t has[MOST];
    bool in_a[MOST] = { 0 }, both[MOST] = { 0 };
    pl_region meet;
    pl_copy c;
    if (!pl_region_meet(a, b, &meet)) {
        EXPECT(!pl_region_copy(a, b, size, &c), "seed %d: a copy all the same", (int)l->seed);
        return false;
    }
    int n = list_elements(a, s, has), common = 0;
    for (int i = 0; i < n; i++) in_a[has[i]] = true;
    n = list_elements(b, s, has);
    for (int i = 0; i < n; i++) common += both[has[i]] = in_a[has[i]];
    n = list_elements(&meet, s, has);
    for (int i = 0; i < n; i++)
        EXPECT(both[has[i]] && (!i || has[i - 1] < has[i]), "seed %d: element %d is not common",
               (int)l->seed, (int)has[i]);
    EXPECT(n == common, "seed %d: %d common elements, not %d", (int)l->seed, n, common);
    check_copy(l, a, b, s, both, size);
    check_cut(l, a, b, common);
    return true;
}

static void test_pairs(void **state)
{
    int aligned = 0, odd = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        int with = draw(&l, 2) ? WITH_DIGITS | WITH_WINDOWS : WITH_WINDOWS;
        pl_placement p = draw_placement(&l, &m, &s, with), q = draw_placement(&l, &m, &s, with);
        pl_region a = pl_region_of(&p, &m, &s, draw(&l, pl_mesh_ranks(&m)));
        pl_region b = pl_region_of(&q, &m, &s, draw(&l, pl_mesh_ranks(&m)));
        bool ok = check_pair(&l, &a, &b, &s, 1 << draw(&l, 4));
        EXPECT(ok || with & WITH_DIGITS, "seed %d: ranges of whole dimensions align", (int)seed);
        aligned += ok, odd += !ok;
    }
    EXPECT(odd > 0 && aligned > 20 * odd, "%d pairs align and %d do not", aligned, odd);
}

/* Digits that cut each other are found out, also where each holds half of the dimension. */
static void test_odd_pairs(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 3, 0, 0 } } };
    static const struct {
        const char *from, *to;
        int64_t size;
        bool aligns;
    } cases[] = {
        { "[b:3x2]", "[a:2x3]", 6, false }, { "[b:3x2]", "[a:2x1]", 6, true },
        { "[b]", "[a]", 6, true },          { "[b:3x1]", "[a:2x1]", 6, false },
        { "[b]", "[a:2x4]", 8, false },     { "[b]", "[a:4x1]", 8, false },
        { "[a:4x1]", "[a:2x1]", 16, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_shape s = { 1, { cases[i].size } };
        pl_placement p, q;
        pl_err err = { 0 };
        EXPECT(pl_placement_parse(cases[i].from, &m, &p, &err), "%s", err.msg);
        EXPECT(pl_placement_parse(cases[i].to, &m, &q, &err), "%s", err.msg);
        bool all = true;
        for (int r = 0; r < 36; r++) {
            pl_region a = pl_region_of(&p, &m, &s, r / 6), b = pl_region_of(&q, &m, &s, r % 6), c;
            all &= pl_region_meet(&a, &b, &c);
        }
        EXPECT(all == cases[i].aligns, "%s and %s", cases[i].from, cases[i].to);
    }
}

/* A contiguous part is one run of bytes; a column is one loop. */
static void test_copy_loops(void **state)
{
    static const pl_mesh m = { 1, { { "a", 2, 0, 0 } } };
    static const struct {
        const char *from, *to;
        int loops;
        int64_t bytes;
    } cases[] = {
        { "[a;;]", "[;;]", 0, 4 * 6 * 8 / 2 },
        { "[;a;]", "[;;]", 1, 3 * 8 },
        { "[;;a]", "[;;]", 1, 4 },
        { "[;;a]", "[;a;]", 2, 4 },
        { "[;;a:4x1]", "[;;]", 1, 2 },
        { "[a;;]", "[;;a]", 1, 4 },
    };
    static const pl_shape s = { 3, { 4, 6, 8 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_placement p, q;
        pl_err err = { 0 };
        pl_copy c;
        EXPECT(pl_placement_parse(cases[i].from, &m, &p, &err), "%s", err.msg);
        EXPECT(pl_placement_parse(cases[i].to, &m, &q, &err), "%s", err.msg);
        pl_region a = pl_region_of(&p, &m, &s, 1), b = pl_region_of(&q, &m, &s, 0);
        assert_true(pl_region_copy(&a, &b, 1, &c));
        EXPECT(c.n == cases[i].loops && c.bytes == cases[i].bytes, "%s to %s: %d loops of %d",
               cases[i].from, cases[i].to, c.n, (int)c.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_odd_pairs),
        cmocka_unit_test(test_copy_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
