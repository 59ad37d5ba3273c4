/* Paths between placements: cases worked by hand, uneven and random ones run on data, and the parts
 * of the price. test_reshard_least.c compares them to all paths. */
#include "walk.h"
#include "reshard/move.h"
#include "reshard/queue.h"

#include <math.h>

static universe u; /* large */

static const char *say(pl_arena *a, const char *name, const pl_placement *x, const pl_placement *y)
{
    return pl_arena_fmt(a, "%s: %s to %s", name, pl_placement_text(a, x, &u.mesh, u.shape.rank),
                        pl_placement_text(a, y, &u.mesh, u.shape.rank));
}

/* -- by hand ----------------------------------------------------------------------------------- */

static pl_placement parse(const pl_mesh *m, const char *text)
{
    pl_placement p;
    pl_err err = { 0 };
    EXPECT(pl_placement_parse(text, m, &p, &err), "%s: %s", text, err.msg);
    return p;
}

static pl_path find(pl_reshard *r, const pl_shape *s, const char *from, const char *to)
{
    pl_placement x = parse(r->mesh, from), y = parse(r->mesh, to);
    pl_path path;
    pl_err err = { 0 };
    int which;
    EXPECT(pl_reshard_find(r, PL_F32, s, 1, &x, &y, &which, &path, &err), "%s", err.msg);
    assert_int_equal(which, 0);
    return path;
}

static int64_t bytes_over(const pl_path *p, unsigned axes)
{
    int64_t n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->move[i].axes & axes) n += p->move[i].bytes;
    return n;
}

/* 4 MiB on 2 x 2 devices, 10 us and 100 MB/s between the halves, 1 us and 1 GB/s within.
 * Gathers: 1 MiB over the slow axis first, blocks in order; then 2 MiB over the fast one, and a
 * copy of all. */
static void test_slow_axis(void **state)
{
    static const pl_mesh m = { 2, { { "slow", 2, 1e-5, 1e-8 }, { "fast", 2, 1e-6, 1e-9 } } };
    static const pl_shape s = { 2, { 1024, 1024 } };
    const double mib = 1 << 20;
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    pl_path p = find(&r, &s, "[slow,fast;]", "[;]");
    double want = 1e-5 + mib * 1e-8 + 1e-6 + 2 * mib * 1e-9 + 0.2e-6 + 4 * mib / 20e9;
    assert_int_equal(p.n, 2);
    assert_int_equal(p.move[0].kind, PL_ALL_GATHER);
    assert_int_equal(p.move[0].axes, 1);
    assert_int_equal(p.bytes, 3 << 20);
    assert_true(p.seconds > want - 1e-9 && p.seconds < want + 1e-9);
    p = find(&r, &s, "[;]+{slow}", "[;]"); /* the copies on the fast axis share the work */
    assert_int_equal(bytes_over(&p, 1), 2 << 20);
    assert_int_equal(bytes_over(&p, 2), 2 << 20);
    p = find(&r, &s, "[;]+{slow,fast}", "[slow,fast;]"); /* the fast one first */
    assert_int_equal(bytes_over(&p, 1), 1 << 20);
    assert_int_equal(bytes_over(&p, 2), 2 << 20);
    p = find(&r, &s, "[;]+{fast}", "[;]");
    assert_int_equal(bytes_over(&p, 1), 0);
    pl_arena_free(a);
}

/* On small tensors the number of messages decides: all pending axes at once. */
static void test_small(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } };
    static const pl_shape s = { 1, { 8 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    pl_path p = find(&r, &s, "[]+{a}", "[a]");
    assert_int_equal(p.n, 1);
    assert_int_equal(p.move[0].kind, PL_REDUCE_SCATTER);
    assert_int_equal(p.bytes, 16);
    p = find(&r, &s, "[a,b]", "[b,a]");
    assert_int_equal(p.n, 1);
    assert_int_equal(p.move[0].kind, PL_PERMUTE);
    assert_int_equal(p.bytes, 8);
    p = find(&r, &s, "[]", "[b,a]");
    assert_int_equal(p.bytes, 0);
    p = find(&r, &s, "[a]", "[a:8x1]");
    assert_int_equal(p.n, 0);
    pl_arena_free(a);
}

static void test_cap(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 } } };
    static const pl_shape s = { 2, { 8, 16 } };
    int changed = 0;
    (void)state;
    make_universe(&u, &m, &s, PL_F32, true);
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&u.mesh, a), capped = pl_reshard_new(&u.mesh, a);
    for (int i = 0; i < u.n * u.n; i++) {
        const pl_placement *x = &u.at[i / u.n].p, *y = &u.at[i % u.n].p;
        pl_path p, q;
        int which, cap = count_bits(&u.at[i / u.n].has[0]), end = count_bits(&u.at[i % u.n].has[0]);
        if (end > cap) cap = end;
        if (!pl_reshard_find(&r, PL_F32, &u.shape, 1, x, y, &which, &p, &(pl_err){ 0 })) continue;
        capped.most_bytes = 1; /* never less than the ends */
        if (!pl_reshard_find(&capped, PL_F32, &u.shape, 1, x, y, &which, &q, &(pl_err){ 0 }))
            continue;
        for (int k = 0; k < q.n; k++) {
            pl_shape local = pl_placement_local(&q.move[k].to, &u.mesh, &u.shape, 0);
            EXPECT(pl_shape_count(&local) <= cap, "%s", say(a, "too much on the way", x, y));
        }
        EXPECT(q.seconds >= p.seconds - 1e-12, "%s", say(a, "better with a cap", x, y));
        changed += q.seconds > p.seconds + 1e-12;
        run_path(say(a, "capped", x, y), &u.mesh, PL_F32, &u.shape, x, y, &q);
    }
    assert_true(changed > 0);
    pl_arena_free(a);
}

/* Heads of a fused query-key-value: 3 x 4 heads x 2. */
static void test_no_strided(void **state)
{
    static const pl_mesh m = { 1, { { "t", 4, 0, 0 } } };
    static const pl_shape s = { 2, { 8, 24 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a), plain = pl_reshard_new(&m, a);
    plain.no_strided = true;
    pl_path p = find(&r, &s, "[;t:4x2]", "[;t:8x1]");
    assert_int_equal(p.n, 0);
    p = find(&plain, &s, "[;t:4x2]", "[;t:8x1]");
    assert_int_equal(p.n, 0);
    p = find(&plain, &s, "[;t:4x2]", "[;t]");
    assert_int_equal(p.n, 2);
    assert_int_equal(p.move[0].kind, PL_ALL_GATHER);
    assert_int_equal(p.bytes, 3 * 8 * 6 * 4);
    int64_t whole = p.bytes;
    p = find(&plain, &s, "[t;]", "[;t:4x2]");
    assert_int_equal(p.bytes, whole);
    p = find(&r, &s, "[t;]", "[;t:4x2]");
    assert_int_equal(p.bytes, 3 * 2 * 6 * 4);
    pl_arena_free(a);
}

static void test_no_way(void **state)
{
    static const pl_mesh m = { 1, { { "t", 4, 0, 0 } } };
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        { "[;]", "[;]+{t}", "no messages turn [;] of f32[8,8] into [;]+{t}: what is whole" },
        { "[t;]", "[;]max{t}", "does not become partial" },
        { "[t:3~2,1,0;]", "[;]", "the parts of windows do not have all of it" },
        { "[t:8~1,3,1;]", "[;]+{t}", "no messages turn" },
    };
    static const pl_shape s = { 2, { 8, 8 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    for (int i = 0; i < 8; i++) { /* asked twice */
        pl_placement x = parse(&m, cases[i / 2].from), y = parse(&m, cases[i / 2].to);
        pl_path p;
        pl_err err = { 0 };
        int which;
        EXPECT(!pl_reshard_find(&r, PL_F32, &s, 1, &x, &y, &which, &p, &err), "case %d", i / 2);
        EXPECT(err.code == PL_EUNSUPPORTED && strstr(err.msg, cases[i / 2].says), "%s", err.msg);
    }
    assert_int_equal(find(&r, &s, "[t:8~1,3,1;]", "[t:8~1,3,1;]").n, 0);
    pl_arena_free(a);
}

static void test_mask(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 } } };
    static const char *const ends[][2] = { { "[;]", "[;]+{b}" },       { "[b;]", "[;]+{b}" },
                                           { "[;]+{a}", "[;]+{b}" },   { "[a;]", "[a;]+{b}" },
                                           { "[a;]+{b}", "[;a]+{b}" }, { "[;]+{a}", "[;]+{a,b}" } };
    static const pl_shape s = { 2, { 8, 8 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    r.mask = true;
    for (int i = 0; i < 6; i++) {
        pl_path p = find(&r, &s, ends[i][0], ends[i][1]);
        pl_placement x = parse(&m, ends[i][0]), y = parse(&m, ends[i][1]);
        run_path(ends[i][1], &m, PL_F32, &s, &x, &y, &p);
    }
    pl_placement x = parse(&m, "[;]"), y = parse(&m, "[;]max{b}");
    int which;
    assert_false(
        pl_reshard_find(&r, PL_F32, &s, 1, &x, &y, &which, &(pl_path){ 0 }, &(pl_err){ 0 }));
    pl_arena_free(a);
}

static void test_sources(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 } } };
    static const pl_shape s = { 2, { 64, 64 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    pl_placement from[] = { parse(&m, "[;]+{a}"), parse(&m, "[b;a]"), parse(&m, "[;]"),
                            parse(&m, "[a;]") };
    pl_placement to = parse(&m, "[a;]"), cut = parse(&m, "[a;b]");
    pl_path p, again;
    pl_err err = { 0 };
    int which, twice;
    assert_true(pl_reshard_find(&r, PL_F32, &s, 4, from, &to, &which, &p, &err));
    assert_true(which == 3 && p.n == 0);
    assert_true(pl_reshard_find(&r, PL_F32, &s, 3, from, &to, &which, &p, &err));
    assert_true(which == 2 && p.n == 1 && p.move[0].kind == PL_SLICE);
    assert_true(pl_reshard_find(&r, PL_F32, &s, 2, from, &cut, &which, &p, &err));
    assert_true(pl_reshard_find(&r, PL_F32, &s, 2, from, &cut, &twice, &again, &err));
    assert_true(which == twice && p.n == again.n && p.seconds == again.seconds);
    assert_true(pl_placement_same(&p.move[0].to, &again.move[0].to));
    assert_true(pl_reshard_find(&r, PL_I64, &s, 2, from, &cut, &twice, &again, &err));
    assert_true(again.bytes == 2 * p.bytes);
    pl_arena_free(a);
}

/* -- uneven parts ------------------------------------------------------------------------------ */

static void test_uneven(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 } } };
    static const char *const ends[] = { "[;]",       "[a;]",     "[;a]",     "[b;]",    "[a,b;]",
                                        "[b,a;]",    "[a;b]",    "[;a,b]",   "[b;a]",   "[;]+{a}",
                                        "[;]+{a,b}", "[b;]+{a}", "[;b]+{a}", "[a;]+{b}" };
    static const pl_shape shapes[] = { { 2, { 5, 6 } }, { 2, { 3, 8 } }, { 2, { 3, 1 } } };
    (void)state;
    for (size_t i = 0; i < 3 * 14 * 14; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&m, a);
        const pl_shape *s = &shapes[i / 196];
        pl_placement x = parse(&m, ends[i / 14 % 14]), y = parse(&m, ends[i % 14]);
        const char *says = pl_arena_fmt(a, "%s to %s of %s", ends[i / 14 % 14], ends[i % 14],
                                        pl_shape_text(a, PL_F32, s));
        pl_path p;
        pl_err err = { 0 };
        int which;
        bool ok = pl_reshard_find(&r, PL_F32, s, 1, &x, &y, &which, &p, &err);
        EXPECT(ok == !(y.pending & ~x.pending), "%s: %s", says, ok ? "there is no way" : err.msg);
        if (ok) run_path(says, &m, PL_F32, s, &x, &y, &p);
        pl_arena_free(a);
    }
}

static void test_random(void **state)
{
    int found = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        if (pl_mesh_ranks(&m) > RANKS) continue;
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&m, a);
        pl_placement x = draw_placement(&l, &m, &s, WITH_DIGITS);
        pl_placement y = draw_placement(&l, &m, &s, WITH_DIGITS);
        pl_path p;
        pl_err err = { 0 };
        int which;
        y.pending &= x.pending, y.monoid = x.monoid;
        if (pl_reshard_find(&r, PL_F32, &s, 1, &x, &y, &which, &p, &err)) {
            run_path(pl_arena_fmt(a, "seed %d", (int)seed), &m, PL_F32, &s, &x, &y, &p);
            found++;
        } else
            EXPECT(err.code == PL_EUNSUPPORTED, "seed %d: %s", (int)seed, err.msg);
        pl_arena_free(a);
    }
    assert_true(found > 200);
}

/* -- large meshes ------------------------------------------------------------------------------ */

/* Each axis on some dimension, pending, or nowhere. */
static pl_placement draw_even(lot *l, const pl_mesh *m, const pl_shape *s)
{
    pl_placement p = { 0 };
    for (int i = 0, first = draw(l, m->n); i < m->n; i++) {
        int axis = (first + i) % m->n, d = draw(l, s->rank + 2);
        if (d < s->rank) pl_placement_split(&p, d, axis);
        if (d == s->rank) p.pending |= (uint8_t)(1u << axis);
    }
    return p;
}

static double seconds_of(pl_reshard *r, const pl_shape *s, const pl_placement *x,
                         const pl_placement *y, pl_path *path)
{
    pl_err err = { 0 };
    int which;
    EXPECT(pl_reshard_find(r, PL_F32, s, 1, x, y, &which, path, &err), "%s", err.msg);
    pl_placement at = pl_placement_normal(x, r->mesh, s), end = pl_placement_normal(y, r->mesh, s);
    for (int i = 0; i < path->n; i++) {
        EXPECT(pl_placement_same(&path->move[i].from, &at), "move %d does not follow", i);
        at = path->move[i].to;
    }
    EXPECT(pl_placement_same(&at, &end), "it ends elsewhere");
    return path->seconds;
}

/* Where there are too many ways to look at all of them one is found all the same, and none that is
 * dearer than to make the tensor whole first. */
static void test_large(void **state)
{
    static const pl_mesh m = { 6,
                               { { "a", 2, 2e-5, 1e-9 },
                                 { "b", 2, 5e-6, 1e-11 },
                                 { "c", 2, 5e-6, 1e-11 },
                                 { "d", 2, 0, 0 },
                                 { "e", 2, 0, 0 },
                                 { "f", 2, 0, 0 } } };
    static const pl_shape s = { 3, { 64, 128, 1024 } };
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        lot l = draw_from(seed);
        pl_mesh part = m;
        part.n = 5 + (int)(seed % 2);
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&part, a);
        pl_placement x = draw_even(&l, &part, &s), y = draw_even(&l, &part, &s), whole = { 0 };
        pl_path path;
        y.pending &= x.pending;
        whole.pending = y.pending;
        double direct = seconds_of(&r, &s, &x, &y, &path);
        double detour =
            seconds_of(&r, &s, &x, &whole, &path) + seconds_of(&r, &s, &whole, &y, &path);
        EXPECT(direct <= detour * (1 + 1e-9), "seed %d: %g us, but %g us by way of the whole",
               (int)seed, direct * 1e6, detour * 1e6);
        pl_arena_free(a);
    }
}

/* -- the queue --------------------------------------------------------------------------------- */

static void test_queue(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        lot l = draw_from(seed);
        pl_arena *a = pl_arena_new("test");
        pl_queue q = { 0 };
        pl_queued x;
        double last = -1;
        int n = draw(&l, 200), taken = 0;
        pl_reshard_queue_start(&q, 1);
        for (int i = 0; i < n; i++)
            pl_reshard_queue_add(&q, a,
                                 (pl_queued){ .seconds = draw(&l, 50), .rest = draw(&l, 50) });
        if (seed % 2) pl_reshard_queue_weigh(&q, 3);
        for (; pl_reshard_queue_take(&q, &x); taken++) {
            double order = x.seconds + (seed % 2 ? 3 : 1) * x.rest;
            EXPECT(order >= last, "seed %d: %g after %g", (int)seed, order, last);
            last = order;
        }
        assert_int_equal(taken, n);
        pl_arena_free(a);
    }
}

/* -- parts of the price ------------------------------------------------------------------------ */

static void test_volume(void **state)
{
    static const struct {
        pl_collective kind;
        int n;
        int64_t block, bytes;
    } cases[] = {
        { PL_SLICE, 4, 10, 0 },        { PL_MASK, 4, 10, 0 },
        { PL_ALL_GATHER, 4, 10, 120 }, { PL_REDUCE_SCATTER, 4, 10, 120 },
        { PL_ALL_TO_ALL, 4, 10, 120 }, { PL_PERMUTE, 4, 10, 40 },
        { PL_ALL_REDUCE, 4, 10, 60 },  { PL_ALL_REDUCE, 3, 10, 52 },
        { PL_ALL_REDUCE, 2, 7, 28 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pl_move_volume(cases[i].kind, cases[i].n, cases[i].block, 4),
                         cases[i].bytes);
    for (int k = 0; k < PL_N_COLLECTIVES; k++)
        for (int j = 0; j < k; j++)
            assert_string_not_equal(pl_collective_name((pl_collective)k),
                                    pl_collective_name((pl_collective)j));
}

/* Of f32[8,8]. */
static void test_least_bytes(void **state)
{
    static const pl_mesh m = { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } };
    static const pl_shape s = { 2, { 8, 8 } };
    static const struct {
        const char *from, *other, *to;
        int64_t bytes;
    } cases[] = {
        { "[;]", NULL, "[a;b]", 0 },        /* it has it */
        { "[a;]", NULL, "[;]", 128 },       /* the other half */
        { "[a;]", NULL, "[;a]", 64 },       /* half of its half */
        { "[a;]", NULL, "[b;]", 0 },        /* rank 0 has that, others do not */
        { "[;]+{a}", NULL, "[;]", 256 },    /* of each sum something */
        { "[;]+{a}", NULL, "[b;]+{a}", 0 }, /* which stays one */
        { "[a;]", "[b;]", "[;]", 128 },     /* from either */
        { "[a;]", "[;a]", "[;a]", 0 },      /* it lies there */
        { "[a,b;]", "[a;]+{b}", "[a;]", 64 },
        { "[a:4x2;]", NULL, "[a:2x1;]", 64 }, /* 0 to 3, then 0, 2, 4, 6 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_placement to = parse(&m, cases[i].to);
        const pl_placement from[] = { parse(&m, cases[i].from),
                                      parse(&m, cases[i].other ? cases[i].other : "[;]") };
        const int n = cases[i].other ? 2 : 1;
        assert_int_equal(pl_reshard_least_bytes(&m, PL_F32, &s, n, from, &to), cases[i].bytes);
    }
    assert_int_equal(pl_reshard_least_bytes(&m, PL_F32, &s, 0, NULL, &(pl_placement){ 0 }), 0);
}

static void test_members(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        unsigned axes = (unsigned)draw(&l, 1 << m.n);
        int group[256], me, mine;
        for (int r = 0, ranks = pl_mesh_ranks(&m); r < ranks; r++) {
            int n = pl_mesh_group(&m, r, axes, group, &me);
            EXPECT(pl_move_group(&m, r, axes, &mine) == n && mine == me, "seed %d", (int)seed);
            for (int i = 0; i < n; i++)
                EXPECT(pl_move_member(&m, r, axes, i) == group[i], "seed %d", (int)seed);
        }
    }
}

/* The largest block, and whether all are products, against all pairs of devices. */
static void test_blocks(void **state)
{
    int seen[2] = { 0 };
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        pl_placement x = draw_placement(&l, &m, &s, WITH_DIGITS);
        pl_placement y = draw_placement(&l, &m, &s, WITH_DIGITS);
        x = pl_placement_normal(&x, &m, &s), y = pl_placement_normal(&y, &m, &s);
        unsigned all = (1u << m.n) - 1;
        int64_t got = pl_move_block(&x, &y, all, &m, &s), most = 0;
        for (int i = 0, n = pl_mesh_ranks(&m); i < n && most >= 0; i++)
            for (int k = 0; k < n && most >= 0; k++) {
                pl_region a = pl_region_of(&x, &m, &s, i), b = pl_region_of(&y, &m, &s, k), c;
                bool ok = pl_region_meet(&a, &b, &c);
                int64_t count = ok ? pl_region_count(&c) : -1;
                if (!ok || count > most) most = count;
            }
        EXPECT(got == most, "seed %d: %d, not %d", (int)seed, (int)got, (int)most);
        seen[got < 0]++;
    }
    EXPECT(seen[0] > 100 && seen[1] > 5, "%d pairs, %d odd ones", seen[0], seen[1]);
}

/* What an all-to-all of uneven parts is, device by device. */
typedef struct looked {
    int64_t most;
    bool whole, lacks;
} looked;

static looked look_at_all(const pl_placement *x, const pl_placement *y, unsigned axes,
                          const pl_mesh *m, const pl_shape *s)
{
    looked all = { 0, true, false };
    for (int r = 0, me, ranks = pl_mesh_ranks(m); r < ranks; r++) {
        const int n = pl_move_group(m, r, axes, &me);
        const pl_region gets = pl_region_of(y, m, s, r);
        int64_t found = 0;
        for (int k = 0; k < n; k++) {
            const pl_region has = pl_region_of(x, m, s, pl_move_member(m, r, axes, k));
            pl_region both;
            if (!pl_region_meet(&has, &gets, &both)) return (looked){ -1, false, false };
            const int64_t count = pl_region_count(&both);
            found += count;
            if (count > all.most) all.most = count;
            all.whole &=
                !count || (count == pl_region_count(&has) && count == pl_region_count(&gets));
        }
        all.lacks |= found < pl_region_count(&gets);
    }
    return all;
}

/* Of uneven parts a price is found dimension by dimension. */
static void test_uneven_price(void **state)
{
    int seen[4] = { 0 };
    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        lot l = draw_from(seed);
        pl_mesh m = draw_mesh(&l);
        pl_shape s = draw_shape(&l);
        pl_placement x = draw_placement(&l, &m, &s, WITH_DIGITS);
        pl_placement y = draw_placement(&l, &m, &s, WITH_DIGITS);
        x = pl_placement_normal(&x, &m, &s), y = pl_placement_normal(&y, &m, &s);
        x.pending = y.pending = 0;
        if (pl_placement_even(&x, &m, &s) && pl_placement_even(&y, &m, &s)) continue;
        pl_move move = { .kind = PL_ALL_TO_ALL, .from = x, .to = y };
        move.axes = pl_placement_differ(&x, &y) & (unsigned)(draw(&l, 2) ? ~0 : draw(&l, 16));
        bool stay = true; /* the other axes in their dimensions, as with every move */
        for (int a = 0; a < m.n; a++)
            stay &= move.axes >> a & 1 || pl_placement_dim(&x, a) == pl_placement_dim(&y, a);
        if (!stay) continue;
        const looked want = look_at_all(&x, &y, move.axes, &m, &s);
        const double least = pl_move_least(&move, PL_F32, &m, &s);
        const bool ok = pl_move_price(&move, PL_F32, &m, &s);
        EXPECT(ok == (want.most >= 0 && !want.lacks), "seed %d: %d", (int)seed, ok);
        seen[ok ? want.whole : 2 + want.lacks]++;
        EXPECT(!ok || move.block == want.most, "seed %d: %d, not %d", (int)seed, (int)move.block,
               (int)want.most);
        EXPECT(!ok || (move.kind == PL_PERMUTE) == want.whole, "seed %d", (int)seed);
        EXPECT(!ok || least <= move.seconds, "seed %d: %g, not %g", (int)seed, move.seconds, least);
    }
    for (int k = 0; k < 4; k++) EXPECT(seen[k] > 20, "%d of kind %d", seen[k], k);
}

/* -- the host's memory ------------------------------------------------------------------------- */

static void expect_host(pl_reshard *r, const char *from, const char *to, int n,
                        const pl_collective kinds[])
{
    static const pl_shape s = { 2, { 1024, 1024 } };
    const pl_path p = find(r, &s, from, to);
    EXPECT(p.n == n, "%s to %s: %d moves", from, to, p.n);
    for (int i = 0; i < n; i++)
        EXPECT(p.move[i].kind == kinds[i], "%s to %s: move %d is %s", from, to, i,
               pl_collective_name(p.move[i].kind));
    double seconds = 0;
    for (int i = 0; i < n; i++) seconds += p.move[i].seconds;
    EXPECT(fabs(seconds - p.seconds) < 1e-12, "%s to %s: %g s", from, to, p.seconds);
    EXPECT(pl_placement_same(&p.move[n - 1].to, &(pl_placement){ 0 }) || strcmp(to, "[;]"), "%s",
           to);
}

/* A part leaves the host before anything else happens to it, and goes there last. */
static void test_host(void **state)
{
    static const pl_mesh m = {
        1, { { "a", 2, 1e-6, 1e-9 } }, .copy_start = 1e-6, .host_per_byte = 1e-8
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    expect_host(&r, "[a;]@host", "[a;]", 1, (pl_collective[]){ PL_FROM_HOST });
    expect_host(&r, "[a;]", "[a;]@host", 1, (pl_collective[]){ PL_TO_HOST });
    expect_host(&r, "[a;]@host", "[;]", 2, (pl_collective[]){ PL_FROM_HOST, PL_ALL_GATHER });
    expect_host(&r, "[;]+{a}", "[a;]@host", 2, (pl_collective[]){ PL_REDUCE_SCATTER, PL_TO_HOST });
    expect_host(&r, "[;]@host", "[a;]@host", 3,
                (pl_collective[]){ PL_FROM_HOST, PL_SLICE, PL_TO_HOST });
    static const pl_shape s = { 2, { 1024, 1024 } };
    const pl_path p = find(&r, &s, "[a;]@host", "[a;]");
    assert_true(fabs(p.seconds - (1e-6 + (2 << 20) * 1e-8)) < 1e-12);
    assert_int_equal(p.bytes, 2 << 20);
    pl_path none = find(&r, &s, "[a;]@host", "[a;]@host");
    assert_int_equal(none.n, 0);
    pl_arena_free(a);
}

/* What is on the device is nearer, whichever comes first. */
static void test_host_sources(void **state)
{
    static const pl_mesh m = { 1, { { "a", 2, 1e-6, 1e-9 } } };
    static const pl_shape s = { 2, { 1024, 1024 } };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    for (int first = 0; first < 2; first++) {
        pl_placement from[2], to = parse(&m, "[;]");
        pl_path p;
        pl_err err = { 0 };
        int which;
        from[first] = parse(&m, "[a;]"), from[!first] = parse(&m, "[;]@host");
        assert_true(pl_reshard_find(&r, PL_F32, &s, 2, from, &to, &which, &p, &err));
        assert_int_equal(which, first);
        assert_int_equal(p.n, 1);
        assert_int_equal(p.move[0].kind, PL_ALL_GATHER);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_axis),   cmocka_unit_test(test_small),
        cmocka_unit_test(test_cap),         cmocka_unit_test(test_no_strided),
        cmocka_unit_test(test_no_way),      cmocka_unit_test(test_mask),
        cmocka_unit_test(test_sources),     cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_random),      cmocka_unit_test(test_large),
        cmocka_unit_test(test_queue),       cmocka_unit_test(test_volume),
        cmocka_unit_test(test_least_bytes), cmocka_unit_test(test_members),
        cmocka_unit_test(test_blocks),      cmocka_unit_test(test_uneven_price),
        cmocka_unit_test(test_host),        cmocka_unit_test(test_host_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
