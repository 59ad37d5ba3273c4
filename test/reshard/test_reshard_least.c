/* Paths between placements against all paths between all placements of small worlds. */
#include "walk.h"

/* Plain: no path of four moves between placements of whole dimensions is cheaper; what is found may
 * be, over digits or by more moves. Digits: these are all even placements, and no path is. */
static const struct world {
    const char *name;
    pl_mesh mesh;
    pl_shape shape;
    pl_type type;
    bool digits;
    int every; /* of the pairs one in so many */
} worlds[] = {
    { "2x2, rank 1", { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } }, { 1, { 8 } }, PL_F32, true, 1 },
    { "2x2, rank 2",
      { 2, { { "a", 2, 0, 0 }, { "b", 2, 0, 0 } } },
      { 2, { 8, 16 } },
      PL_F32,
      true,
      1 },
    { "2x4, rank 2, bytes count",
      { 2, { { "a", 2, 1e-6, 1e-8 }, { "b", 4, 1e-6, 1e-8 } } },
      { 2, { 8, 16 } },
      PL_F32,
      false,
      1 },
    { "4x2, rank 2, a slow axis",
      { 2, { { "a", 4, 1e-5, 1e-7 }, { "b", 2, 1e-6, 1e-8 } } },
      { 2, { 16, 16 } },
      PL_I64,
      true,
      1 },
    { "2x3, rank 1, of 2 bytes",
      { 2, { { "a", 2, 0, 0 }, { "b", 3, 0, 0 } } },
      { 1, { 24 } },
      PL_BF16,
      true,
      1 },
    { "2x4, rank 3, bytes count",
      { 2, { { "a", 2, 1e-6, 1e-7 }, { "b", 4, 1e-6, 1e-7 } } },
      { 3, { 8, 8, 8 } },
      PL_F32,
      false,
      1 },
    { "2x4, rank 3, digits",
      { 2, { { "a", 2, 1e-6, 1e-7 }, { "b", 4, 1e-6, 1e-7 } } },
      { 3, { 8, 8, 8 } },
      PL_F32,
      true,
      3 },
    { "2x2x2, rank 1, a slow axis",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 1, { 64 } },
      PL_F32,
      false,
      1 },
    { "2x2x2, rank 1, digits",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 1, { 64 } },
      PL_F32,
      true,
      61 },
    { "2x2x2, rank 2, bytes count",
      { 3, { { "a", 2, 1e-6, 1e-7 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-7 } } },
      { 2, { 16, 8 } },
      PL_F32,
      false,
      1 },
    { "2x2x2, rank 2, digits",
      { 3, { { "a", 2, 1e-6, 1e-7 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-7 } } },
      { 2, { 16, 8 } },
      PL_F32,
      true,
      151 },
    { "2x2x2, rank 3, a slow axis",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 3, { 8, 8, 8 } },
      PL_F32,
      false,
      1 },
    { "2x4, 5 x 6 values",
      { 2, { { "a", 2, 1e-6, 1e-8 }, { "b", 4, 1e-6, 1e-8 } } },
      { 2, { 5, 6 } },
      PL_F32,
      false,
      1 },
    { "3x2, 5 x 6 values, bytes count",
      { 2, { { "a", 3, 1e-6, 1e-7 }, { "b", 2, 1e-6, 1e-7 } } },
      { 2, { 5, 6 } },
      PL_I64,
      false,
      1 },
    { "2x4, 3 x 8 values",
      { 2, { { "a", 2, 0, 0 }, { "b", 4, 0, 0 } } },
      { 2, { 3, 8 } },
      PL_BF16,
      false,
      1 },
    { "2x2x2, 7 x 6 values, a slow axis",
      { 3, { { "a", 2, 1e-5, 1e-6 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-8 } } },
      { 2, { 7, 6 } },
      PL_F32,
      false,
      7 },
    { "2x2x2, 3 x 4 x 5 values, bytes count",
      { 3, { { "a", 2, 1e-6, 1e-7 }, { "b", 2, 1e-6, 1e-7 }, { "c", 2, 1e-6, 1e-7 } } },
      { 3, { 3, 4, 5 } },
      PL_F32,
      false,
      31 },
};

enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static universe u; /* large */

static const char *say(pl_arena *a, const char *name, const pl_placement *x, const pl_placement *y)
{
    return pl_arena_fmt(a, "%s: %s to %s", name, pl_placement_text(a, x, &u.mesh, u.shape.rank),
                        pl_placement_text(a, y, &u.mesh, u.shape.rank));
}

/* How much cheaper is the path found? 1: as `least` seconds. */
static double check_pair(const char *name, pl_reshard *r, int i, int k, double least)
{
    const pl_placement *x = &u.at[i].p, *y = &u.at[k].p;
    pl_path path;
    pl_err err = { 0 };
    int which;
    bool ok = pl_reshard_find(r, u.type, &u.shape, 1, x, y, &which, &path, &err);
    bool best = ok && path.seconds <= least * (1 + 1e-9);
    bool exact = best && (!u.digits || path.seconds >= least * (1 - 1e-9));
    bool none = !ok && least > 1e299 && err.code == PL_EUNSUPPORTED;
    if ((exact || none) && (i * u.n + k) % 61) /* some of them run */
        return ok && i != k ? path.seconds / least : 1;
    pl_arena *a = pl_arena_new("test");
    const char *says = say(a, name, x, y);
    EXPECT(ok == (least < 1e299), "%s: %s", says, ok ? "there is no way" : err.msg);
    EXPECT(ok || none, "%s: %s", says, err.msg);
    EXPECT(!ok || exact, "%s: %.9g us, but all paths: %.9g us", says, path.seconds * 1e6,
           least * 1e6);
    if (ok) run_path(says, &u.mesh, u.type, &u.shape, x, y, &path);
    pl_arena_free(a);
    return ok && i != k ? path.seconds / least : 1;
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
    assert_true(pl_reshard_find(r, u.type, &u.shape, 1, &u.at[i].p, &u.at[k].p, &which, &path,
                                &(pl_err){ 0 }));
    EXPECT(path.seconds <= greedy * (1 + 1e-9), "greedy is better: %g us", greedy * 1e6);
    t->pairs++, t->lost += greedy > 1e299, t->worse += greedy > path.seconds * 1.01;
    if (greedy > 1e299) return;
    t->sum += greedy / path.seconds;
    if (greedy / path.seconds > t->most) t->most = greedy / path.seconds;
}
typedef struct world_tally {
    int pairs, cheaper;
    tally greedy;
} world_tally;

/* All pairs from one placement. */
static void check_from(const struct world *w, pl_reshard *r, int i, world_tally *t)
{
    static double least[2][NODES]; /* by all parts, by even ones */
    int moves = w->digits ? 12 : 4;
    if (!w->digits) find_least(&u, i, moves, false, least[0]);
    find_least(&u, i, moves, true, least[1]);
    for (int k = 0; k < u.n; k++) {
        bool both = u.at[i].even && u.at[k].even;
        if ((i * u.n + k) % w->every) continue;
        double ratio = check_pair(w->name, r, i, k, least[both][k]);
        t->cheaper += ratio < 1 - 1e-9;
        t->pairs++;
        if (!w->digits && both) compare_greedy(r, i, k, &t->greedy);
    }
}

static void test_least(void **state)
{
    (void)state;
    for (int i = 0; i < N_WORLDS; i++) {
        const struct world *w = &worlds[i];
        make_universe(&u, &w->mesh, &w->shape, w->type, w->digits);
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&u.mesh, a);
        world_tally t = { 0 };
        const tally *g = &t.greedy;
        for (int k = 0; k < u.n; k++) check_from(w, &r, k, &t);
        print_message("%s: %d placements, %d moves, %d pairs, %d cheaper by digits or more moves\n",
                      w->name, u.n, u.n_edges, t.pairs, t.cheaper);
        if (g->pairs)
            print_message("    greedy is worse in %d of %d, lost in %d; %.2f times on average, "
                          "at most %.2f\n",
                          g->worse, g->pairs, g->lost, g->sum / (g->pairs - g->lost), g->most);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_least) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
