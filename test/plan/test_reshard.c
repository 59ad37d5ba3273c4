/* Paths between placements: against all paths of up to four moves, run on data by the definition of
 * each move, and cases worked by hand. */
#include "universe.h"
#include "plan/move.h"

enum { MOST_ELEMENTS = 64 * WORDS };

/* -- run a path -------------------------------------------------------------------------------- */

/* What each rank holds: for each element of its part the contributions (a bit for each coordinate
 * on the axes that the source has pending) that are combined in it; -1 where it has none. */
typedef struct data {
    int64_t who[RANKS][MOST_ELEMENTS];
} data;

typedef struct run {
    const pl_mesh *mesh;
    const pl_shape *shape;
    int ranks, elements;
    unsigned pending; /* of the source */
    const char *says; /* seed or texts */
} run;

static int coord_on(const pl_mesh *m, int rank, unsigned axes)
{
    int me;
    pl_move_group(m, rank, axes, &me);
    return me;
}

static data first_data(const run *x, const pl_placement *p)
{
    static data d;
    for (int r = 0; r < x->ranks; r++)
        for (int e = 0; e < x->elements; e++) {
            bool has = owns(p, x->mesh, x->shape, e, r);
            d.who[r][e] = has ? (int64_t)1 << coord_on(x->mesh, r, x->pending) : -1;
        }
    return d;
}

/* The block of sender and receiver: what the one has of `from` and the other of `to`. */
static int give_block(const run *x, const pl_move *v, const data *from, int sender, int receiver,
                      data *to)
{
    bool combines = v->kind == PL_REDUCE || v->kind == PL_SCATTER;
    int n = 0;
    for (int e = 0; e < x->elements; e++) {
        int64_t *put = &to->who[receiver][e];
        if (!owns(&v->from, x->mesh, x->shape, e, sender)) continue;
        if (!owns(&v->to, x->mesh, x->shape, e, receiver)) continue;
        n++;
        EXPECT(from->who[sender][e] >= 0, "%s: %s sends what it lacks", x->says,
               pl_move_name(v->kind));
        EXPECT(*put < 0 || combines, "%s: %s gives twice", x->says, pl_move_name(v->kind));
        EXPECT(*put < 0 || !(*put & from->who[sender][e]), "%s: counted twice", x->says);
        *put = (*put < 0 ? 0 : *put) | from->who[sender][e];
    }
    return n;
}

/* Can the block be cut out of the one part and put into the other by copies? */
static void check_copies(const run *x, const pl_move *v, int sender, int receiver)
{
    pl_region from = pl_region_of(&v->from, x->mesh, x->shape, sender), both;
    pl_region to = pl_region_of(&v->to, x->mesh, x->shape, receiver);
    pl_copy out, in;
    EXPECT(pl_region_meet(&from, &to, &both) && pl_region_copy(&from, &both, 4, &out) &&
               pl_region_copy(&both, &to, 4, &in),
           "%s: no copies for %s", x->says, pl_move_name(v->kind));
}

static void keep_own(const run *x, const pl_move *v, const data *from, int rank, data *to)
{
    for (int e = 0; e < x->elements; e++) {
        if (!owns(&v->to, x->mesh, x->shape, e, rank)) continue;
        EXPECT(from->who[rank][e] >= 0, "%s: %s of what is not there", x->says,
               pl_move_name(v->kind));
        bool zero = v->kind == PL_MASK && coord_on(x->mesh, rank, v->axes);
        to->who[rank][e] = zero ? 0 : from->who[rank][e];
    }
}

static void make_move(const run *x, const pl_move *v, data *d)
{
    static data to;
    int most = 0, group[RANKS], me;
    memset(&to, 0xff, sizeof to);
    for (int r = 0; r < x->ranks; r++) {
        int n = pl_mesh_group(x->mesh, r, v->axes, group, &me), givers = 0;
        if (v->kind == PL_SLICE || v->kind == PL_MASK) {
            keep_own(x, v, d, r, &to);
            check_copies(x, v, r, r);
            continue;
        }
        for (int i = 0; i < n; i++) {
            int k = give_block(x, v, d, group[i], r, &to);
            check_copies(x, v, group[i], r);
            if (k > most) most = k;
            givers += k > 0;
        }
        EXPECT(v->kind != PL_PERMUTE || givers <= 1, "%s: a permute of %d senders", x->says,
               givers);
    }
    int n = pl_mesh_group(x->mesh, 0, v->axes, group, &me);
    EXPECT(v->kind == PL_SLICE || v->kind == PL_MASK || most == v->block,
           "%s: %s: the largest block is %d, not %d", x->says, pl_move_name(v->kind), most,
           (int)v->block);
    EXPECT(v->bytes == pl_move_volume(v->kind, n, v->block, 4), "%s: bytes", x->says);
    *d = to;
}

/* Each device has what it must, of all contributions: one of a group over pending axes, all of them
 * together once. */
static void check_end(const run *x, const pl_placement *p, const data *d)
{
    int parts = pl_move_group(x->mesh, 0, x->pending, &(int){ 0 });
    for (int r = 0; r < x->ranks; r++)
        for (int e = 0; e < x->elements; e++) {
            bool has = owns(p, x->mesh, x->shape, e, r);
            EXPECT(has == (d->who[r][e] >= 0), "%s: rank %d, element %d", x->says, r, e);
            if (!has) continue;
            int group[RANKS], me, n = pl_mesh_group(x->mesh, r, p->pending, group, &me);
            int64_t all = 0;
            for (int i = 0; i < n; i++) {
                EXPECT(!(all & d->who[group[i]][e]), "%s: counted twice", x->says);
                all |= d->who[group[i]][e];
            }
            EXPECT(all == (1ll << parts) - 1, "%s: rank %d, element %d lacks a contribution",
                   x->says, r, e);
        }
}

static void run_path(const char *says, const pl_mesh *m, const pl_shape *s,
                     const pl_placement *from, const pl_placement *to, const pl_path *path)
{
    static data d;
    pl_placement at = pl_placement_normal(from, m, s), end = pl_placement_normal(to, m, s);
    run x = { m, s, pl_mesh_ranks(m), (int)pl_shape_count(s), at.pending, says };
    double seconds = 0;
    int64_t bytes = 0;
    d = first_data(&x, &at);
    for (int i = 0; i < path->n; i++) {
        const pl_move *v = &path->move[i];
        EXPECT(pl_placement_same(&v->from, &at), "%s: move %d does not follow", says, i);
        make_move(&x, v, &d);
        at = v->to, seconds += v->seconds, bytes += v->bytes;
    }
    EXPECT(pl_placement_same(&at, &end), "%s: it ends elsewhere", says);
    EXPECT(bytes == path->bytes && seconds > path->seconds - 1e-12 &&
               seconds < path->seconds + 1e-12,
           "%s: sums", says);
    check_end(&x, &end, &d);
}

/* -- against all paths ------------------------------------------------------------------------- */

static const struct world {
    const char *name;
    pl_mesh mesh;
    pl_shape shape;
    int upper, every; /* of the pairs one in so many */
} worlds[] = {
    { "2x2, rank 1", { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } }, { 1, { 8 } }, 4, 1 },
    { "2x2, rank 2", { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } }, { 2, { 8, 16 } }, 4, 1 },
    { "2x4, rank 2, bytes count",
      { 2, { { "a", 2, 1e-6, 1e-8 }, { "b", 4, 1e-6, 1e-8 } } },
      { 2, { 8, 16 } },
      0,
      1 },
    { "4x2, rank 2, a slow axis",
      { 2, { { "a", 4, 1e-5, 1e-7 }, { "b", 2, 1e-6, 1e-8 } } },
      { 2, { 16, 16 } },
      4,
      1 },
    { "2x4, rank 3, bytes count",
      { 2, { { "a", 2, 1e-6, 1e-7 }, { "b", 4, 1e-6, 1e-7 } } },
      { 3, { 8, 8, 8 } },
      0,
      1 },
    { "2x2x2, rank 1, a slow axis",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 1, { 64 } },
      0,
      1 },
    { "2x2x2, rank 2, bytes count",
      { 3, { { "a", 2, 1e-6, 1e-7 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-7 } } },
      { 2, { 16, 8 } },
      0,
      11 },
    { "2x2x2, rank 3, a slow axis",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 3, { 8, 8, 8 } },
      0,
      37 },
};

enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static universe u; /* large */

static const char *say(pl_arena *a, const char *name, const pl_placement *x, const pl_placement *y)
{
    return pl_arena_fmt(a, "%s: %s to %s", name, pl_placement_text(a, x, &u.mesh, u.shape.rank),
                        pl_placement_text(a, y, &u.mesh, u.shape.rank));
}

/* Axes that are as fast as those that move are not tried as helpers, where they could save a copy
 * of memory: of all pairs of these worlds that costs 18 of 43661 up to 2.8%, of those tried here
 * none 0.1%. */
static void check_pair(const char *name, pl_reshard *r, int i, int k, double least)
{
    const pl_placement *x = &u.at[i].p, *y = &u.at[k].p;
    pl_path path;
    pl_err err = { 0 };
    int which;
    bool ok = pl_reshard_find(r, PL_F32, &u.shape, 1, x, y, &which, &path, &err);
    bool best = ok && path.seconds <= least * 1.001 + 1e-12;
    if (best && i % 7 && k % 5) return; /* some of them run */
    pl_arena *a = pl_arena_new("test");
    const char *says = say(a, name, x, y);
    EXPECT(ok == (least < 1e299), "%s: %s", says, ok ? "there is no way" : err.msg);
    EXPECT(ok || err.code == PL_EUNSUPPORTED, "%s: %s", says, err.msg);
    EXPECT(!ok || best, "%s: %g us, but %g us is possible", says, path.seconds * 1e6, least * 1e6);
    if (ok) run_path(says, &u.mesh, &u.shape, x, y, &path);
    pl_arena_free(a);
}

/* -- a greedy converter ------------------------------------------------------------------------ */

/* The rule of Colossal-AI's layout manager (its source, 2022): of all that one gather, slice or
 * all-to-all of the last axis of a dimension makes, take what looks nearest to the target: 20 for
 * each axis to gather, 5 for each to slice, 6 for each step after the first. */
static int guess_distance(const pl_placement *x, const pl_placement *y, int rank)
{
    int sum = 0;
    for (int d = 0; d < rank; d++) {
        int a[PL_MAX_AXES], b[PL_MAX_AXES], n = 0, k = 0, same = 0;
        for (int i = 0; i < x->n; i++)
            if (x->split[i].dim == d) a[n++] = x->split[i].axis;
        for (int i = 0; i < y->n; i++)
            if (y->split[i].dim == d) b[k++] = y->split[i].axis;
        while (same < n && same < k && a[same] == b[same]) same++;
        int gathers = n - same, slices = k - same, steps = gathers + slices;
        sum += 20 * gathers + 5 * slices + (steps > 1 ? 6 * (steps - 1) : 0);
    }
    return sum;
}

static bool is_greedy_step(const edge *e, const pl_placement *x, const pl_placement *y)
{
    int moved = __builtin_ctz(e->axes), other = __builtin_popcount(e->axes) > 1;
    int from = pl_placement_find(x, moved), to = pl_placement_find(y, moved);
    bool last = from < 0 || pl_placement_end(x, from) == from + 1;
    if (other || (to >= 0 && pl_placement_end(y, to) != to + 1)) return false;
    return last && (from < 0 || to < 0 || x->split[from].dim != y->split[to].dim);
}

/* Seconds of the greedy way, 1e300 when it goes in circles. */
static double walk_greedily(int from, int to)
{
    double sum = 0;
    for (int steps = 0; from != to; steps++) {
        const edge *best = NULL;
        int least = 0;
        for (int i = 0; i < u.n_edges; i++) {
            const edge *e = &u.edge[i];
            if (e->from != from || !is_greedy_step(e, &u.at[from].p, &u.at[e->to].p)) continue;
            int guess = guess_distance(&u.at[e->to].p, &u.at[to].p, u.shape.rank);
            if (!best || guess < least) best = e, least = guess;
        }
        if (!best || steps == 20) return 1e300;
        sum += best->seconds, from = best->to;
    }
    return sum;
}

typedef struct tally {
    int pairs, worse, lost;
    double most, sum;
} tally;

static void compare_greedy(pl_reshard *r, int i, int k, tally *t)
{
    pl_path path;
    int which;
    if (u.at[i].p.pending || u.at[k].p.pending || i == k) return;
    double greedy = walk_greedily(i, k);
    assert_true(pl_reshard_find(r, PL_F32, &u.shape, 1, &u.at[i].p, &u.at[k].p, &which, &path,
                                &(pl_err){ 0 }));
    EXPECT(path.seconds <= greedy * 1.001, "greedy is better: %g us", greedy * 1e6);
    t->pairs++, t->lost += greedy > 1e299, t->worse += greedy > path.seconds * 1.01;
    if (greedy > 1e299) return;
    t->sum += greedy / path.seconds;
    if (greedy / path.seconds > t->most) t->most = greedy / path.seconds;
}

static void test_least(void **state)
{
    static double least[NODES];
    (void)state;
    for (int w = 0; w < N_WORLDS; w++) {
        make_universe(&u, &worlds[w].mesh, &worlds[w].shape, worlds[w].upper);
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&u.mesh, a);
        tally t = { 0 };
        int done = 0;
        for (int i = 0; i < u.n; i++) {
            find_least(&u, i, 4, least);
            for (int k = 0; k < u.n; k++) {
                if ((i * u.n + k) % worlds[w].every) continue;
                check_pair(worlds[w].name, &r, i, k, least[k]);
                if (!worlds[w].upper) compare_greedy(&r, i, k, &t);
                done++;
            }
        }
        print_message("%s: %d placements, %d moves, %d pairs\n", worlds[w].name, u.n, u.n_edges,
                      done);
        if (t.pairs)
            print_message("    greedy is worse in %d of %d, lost in %d; %.2f times on average, "
                          "at most %.2f\n",
                          t.worse, t.pairs, t.lost, t.sum / (t.pairs - t.lost), t.most);
        pl_arena_free(a);
    }
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

/* 4 MiB on 2 x 2 devices, 10 us and 100 MB/s between the halves, 1 us and 1 GB/s within. Gathers: 1
 * MiB over the slow axis first, blocks in order; then 2 MiB over the fast one, and a copy of
 * all. */
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
    assert_int_equal(p.move[0].kind, PL_GATHER);
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
    assert_int_equal(p.move[0].kind, PL_SCATTER);
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
    make_universe(&u, &m, &s, 4);
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
        run_path(say(a, "capped", x, y), &u.mesh, &u.shape, x, y, &q);
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
    assert_int_equal(p.move[0].kind, PL_GATHER);
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
        run_path(ends[i][1], &m, &s, &x, &y, &p);
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
        if (ok) run_path(says, &m, s, &x, &y, &p);
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
            run_path(pl_arena_fmt(a, "seed %d", (int)seed), &m, &s, &x, &y, &p);
            found++;
        } else
            EXPECT(err.code == PL_EUNSUPPORTED, "seed %d: %s", (int)seed, err.msg);
        pl_arena_free(a);
    }
    assert_true(found > 200);
}

/* -- parts of the price ------------------------------------------------------------------------ */

static void test_volume(void **state)
{
    static const struct {
        pl_move_kind kind;
        int n;
        int64_t block, bytes;
    } cases[] = {
        { PL_SLICE, 4, 10, 0 },     { PL_MASK, 4, 10, 0 },       { PL_GATHER, 4, 10, 120 },
        { PL_SCATTER, 4, 10, 120 }, { PL_EXCHANGE, 4, 10, 120 }, { PL_PERMUTE, 4, 10, 40 },
        { PL_REDUCE, 4, 10, 60 },   { PL_REDUCE, 3, 10, 52 },    { PL_REDUCE, 2, 7, 28 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pl_move_volume(cases[i].kind, cases[i].n, cases[i].block, 4),
                         cases[i].bytes);
    for (int k = 0; k < PL_N_MOVES; k++)
        for (int j = 0; j < k; j++)
            assert_string_not_equal(pl_move_name((pl_move_kind)k), pl_move_name((pl_move_kind)j));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),      cmocka_unit_test(test_slow_axis),
        cmocka_unit_test(test_small),      cmocka_unit_test(test_cap),
        cmocka_unit_test(test_no_strided), cmocka_unit_test(test_no_way),
        cmocka_unit_test(test_mask),       cmocka_unit_test(test_sources),
        cmocka_unit_test(test_uneven),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_volume),     cmocka_unit_test(test_members),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
