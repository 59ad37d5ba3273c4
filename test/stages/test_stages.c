/* Pipeline stages of a DAG: brute force over all chains of prefixes, the partition of a chain,
 * large graphs, mistakes that are found. */
#include "support/expect.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "stages/stages.h"
#include "support/arena.h"

/* A problem that is being made: numbers are drawn in a row. */
typedef struct making {
    pl_rng rng;
    uint64_t drawn;
    pl_stages_problem x;
    pl_stages_node node[1024];
    pl_stages_edge edge[8192];
} making;

static making made;

static int draw(int n)
{
    return (int)pl_rng_below(made.rng, made.drawn++, (uint64_t)n);
}

static void begin(int seed, int n_nodes, int n_devices, int n_hosts)
{
    made.rng = pl_rng_at((uint64_t)seed, 0);
    made.drawn = 0;
    made.x = (pl_stages_problem){ .n_nodes = n_nodes,
                                  .node = made.node,
                                  .edge = made.edge,
                                  .n_devices = n_devices,
                                  .n_hosts = n_hosts };
    for (int u = 0; u < n_nodes; u++) made.node[u] = (pl_stages_node){ .group = -1 };
}

static void join(int from, int to)
{
    made.edge[made.x.n_edges++] = (pl_stages_edge){ from, to };
}

static pl_stages_cut find(int64_t effort)
{
    pl_stages_cut c;
    pl_err err = { 0 };
    if (!pl_stages_find(&made.x, effort, arena, &c, &err)) fail_msg("%s", err.msg);
    if (!pl_stages_check(&made.x, &c, &err)) fail_msg("%s", err.msg);
    return c;
}

/* -- brute force ------------------------------------------------------------------------------- */

enum { MOST_UNITS = 14 };

/* Seconds of a set of nodes as a stage; infinite where it does not fit. */
static double stage_seconds(int set, bool on_host)
{
    double seconds = 0;
    int64_t bytes = 0;
    int senders = 0;
    for (int u = 0; u < made.x.n_nodes; u++) {
        if (!(set >> u & 1)) continue;
        seconds += on_host ? made.node[u].host_seconds : made.node[u].seconds;
        bytes += made.node[u].bytes;
    }
    if (on_host) return seconds;
    for (int e = 0; e < made.x.n_edges; e++)
        if ((set >> made.edge[e].from & 1) != (set >> made.edge[e].to & 1))
            senders |= 1 << made.edge[e].from;
    for (int u = 0; u < made.x.n_nodes; u++) seconds += senders >> u & 1 ? made.node[u].send : 0;
    return made.x.bytes && bytes > made.x.bytes ? INFINITY : seconds;
}

static bool has_forward(int u)
{
    for (int v = 0; v < made.x.n_nodes; v++)
        if ((v == u || (made.node[u].group >= 0 && made.node[v].group == made.node[u].group)) &&
            !made.node[v].backward)
            return true;
    return false;
}

/* May the nodes of a set be the first stages? */
static bool is_prefix(int set)
{
    for (int u = 0; u < made.x.n_nodes; u++)
        for (int v = 0; v < u; v++)
            if (made.node[u].group >= 0 && made.node[u].group == made.node[v].group &&
                (set >> u & 1) != (set >> v & 1))
                return false;
    for (int e = 0; e < made.x.n_edges; e++) {
        const int u = made.edge[e].from, v = made.edge[e].to;
        const bool back = made.node[u].backward && made.node[v].backward;
        if (!made.node[u].backward && !made.node[v].backward && set >> v & 1 && !(set >> u & 1))
            return false;
        if (back && !(has_forward(u) && has_forward(v)) && set >> u & 1 && !(set >> v & 1))
            return false;
    }
    return true;
}

/* The least greatest load over all chains of prefixes: of each one, by devices and hosts used. */
static double brute(void)
{
    static int prefix[1 << MOST_UNITS];
    static double least[1 << MOST_UNITS][5][3];
    int n = 0;
    for (int set = 0; set < 1 << made.x.n_nodes; set++)
        if (is_prefix(set)) prefix[n++] = set;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d <= made.x.n_devices; d++)
            for (int h = 0; h <= made.x.n_hosts; h++) least[i][d][h] = i ? INFINITY : 0;
        for (int k = 0; k < i; k++) {
            if (prefix[k] & ~prefix[i]) continue;
            const double device = stage_seconds(prefix[i] & ~prefix[k], false);
            const double host = stage_seconds(prefix[i] & ~prefix[k], true);
            for (int d = 0; d <= made.x.n_devices; d++)
                for (int h = 0; h <= made.x.n_hosts; h++) {
                    double *own = &least[i][d][h];
                    if (d) *own = fmin(*own, fmax(least[k][d - 1][h], device));
                    if (h) *own = fmin(*own, fmax(least[k][d][h - 1], host));
                }
        }
    }
    return least[n - 1][made.x.n_devices][made.x.n_hosts];
}

/* All placements of all nodes, the stages in order; the kinds of stages are the bits of `hosts`. */
static double place_rest(int u, int n_stages, int hosts, int *stage)
{
    if (u == made.x.n_nodes) {
        double most = 0;
        for (int k = 0, set = 0, all = 0; k < n_stages; k++, set = 0) {
            for (int v = 0; v < u; v++) set |= (stage[v] == k) << v;
            all |= set;
            if (!is_prefix(all)) return INFINITY;
            if (set) most = fmax(most, stage_seconds(set, hosts >> k & 1));
        }
        return most;
    }
    double least = INFINITY;
    for (stage[u] = 0; stage[u] < n_stages; stage[u]++)
        least = fmin(least, place_rest(u + 1, n_stages, hosts, stage));
    return least;
}

static int count_bits(int x)
{
    return x ? (x & 1) + count_bits(x >> 1) : 0;
}

static double brute_placements(void)
{
    const int n = made.x.n_devices + made.x.n_hosts;
    int stage[MOST_UNITS];
    double least = INFINITY;
    for (int hosts = 0; hosts < 1 << n; hosts++)
        if (count_bits(hosts) == made.x.n_hosts)
            least = fmin(least, place_rest(0, n, hosts, stage));
    return least;
}

/* Small whole numbers, so that ties are many; nodes without weight, groups, backward nodes, some of
 * them in groups without a forward node, and memory that may not be enough. */
static void make_random(int seed, int most)
{
    begin(seed, 0, 1, 0);
    const int n = 2 + draw(most - 1), dense = 1 + draw(6), free = draw(3);
    const int hosts = draw(3), devices = 1 + draw(4);
    begin(seed, n, devices, hosts);
    made.drawn = 100;
    const int backward = draw(2) ? n / 3 + draw(n / 2 + 1) : n;
    for (int u = 0; u < n; u++) {
        pl_stages_node *x = &made.node[u];
        x->seconds = draw(3) < free ? 0 : draw(9);
        x->host_seconds = draw(3) < free ? 0 : x->seconds * draw(4);
        x->send = draw(4);
        x->bytes = draw(3) ? draw(5) : 0;
        x->backward = u >= backward;
        if (draw(4) == 0) x->group = draw(n);
        if (x->backward && draw(4)) { /* with a forward node */
            const int mate = draw(backward + 1);
            if (mate < backward) {
                if (made.node[mate].group < 0) made.node[mate].group = mate;
                x->group = made.node[mate].group;
            }
        }
        for (int v = 0; v < u; v++)
            if (draw(8) < dense && draw(u - v + 1) < 3) join(v, u);
    }
    if (draw(2)) made.x.bytes = 1 + draw(3 * n);
}

static void test_random(void **state)
{
    (void)state;
    int proven = 0, infeasible = 0;
    for (int seed = 0; seed < 1500; seed++) {
        make_random(seed, seed < 300 ? 5 : seed % 8 ? 10 : MOST_UNITS);
        const double least = brute();
        if (seed < 300) {
            const double placed = brute_placements();
            EXPECT(placed == least, "seed %d: %g by placements, %g", seed, placed, least);
        }
        pl_stages_cut c;
        pl_err err = { 0 };
        if (!pl_stages_find(&made.x, 0, arena, &c, &err)) {
            EXPECT(err.code == PL_EINFEASIBLE && least == INFINITY, "seed %d: %s; %g", seed,
                   err.msg, least);
            infeasible++;
            continue;
        }
        if (!pl_stages_check(&made.x, &c, &err)) fail_msg("seed %d: %s", seed, err.msg);
        EXPECT(c.max_load == least && c.proven, "seed %d: %g, %g by brute force", seed, c.max_load,
               least);
        proven++;
    }
    assert_true(proven > 1000 && infeasible > 50);
}

/* -- chains ------------------------------------------------------------------------------------ */

/* The classical partition of a chain: least[k][i] of the first i nodes on k devices. */
static double cut_chain(int n, int n_devices)
{
    static double least[65][129];
    for (int k = 0; k <= n_devices; k++)
        for (int i = 0; i <= n; i++) {
            least[k][i] = i ? INFINITY : 0;
            double seconds = 0;
            for (int j = i - 1; k && j >= 0; j--) {
                seconds += made.node[j].seconds;
                const double sent =
                    (j ? made.node[j - 1].send : 0) + (i < n ? made.node[i - 1].send : 0);
                least[k][i] = fmin(least[k][i], fmax(least[k - 1][j], seconds + sent));
            }
            if (k) least[k][i] = fmin(least[k][i], least[k - 1][i]);
        }
    return least[n_devices][n];
}

static void test_chain(void **state)
{
    (void)state;
    for (int seed = 0; seed < 100; seed++) {
        begin(seed, 2 + seed % 100, 1 + seed % 17, 0);
        for (int u = 0; u < made.x.n_nodes; u++) {
            made.node[u].seconds = draw(1000) / 64.0;
            made.node[u].send = draw(1000) / 256.0;
            if (u) join(u - 1, u);
        }
        const double least = cut_chain(made.x.n_nodes, made.x.n_devices);
        const pl_stages_cut c = find(0);
        EXPECT(fabs(c.max_load - least) <= 1e-12 * least && c.proven, "seed %d: %.17g, not %.17g",
               seed, c.max_load, least);
    }
}

/* A node joins what reads it where sending its output takes longer than making it again elsewhere
 * could, so chains that never should be cut are one piece. */
static void test_merging(void **state)
{
    (void)state;
    begin(0, 8, 2, 1);
    for (int u = 0; u < 8; u++) {
        made.node[u].seconds = made.node[u].host_seconds = u % 4 == 0 ? 4 : 0;
        made.node[u].send = u == 3 ? 1 : 2;
        if (u) join(u - 1, u);
    }
    const pl_stages_cut c = find(0);
    assert_int_equal(c.n_pieces, 2);
    assert_true(c.max_load == 5);
    assert_true(c.stage_of[3] != c.stage_of[4]);
}

/* Pieces that can change places, 64 of them in each of 6 layers: one order of them is enough. Every
 * third sends more than the others. */
static void test_twins(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        begin(0, 1 + 6 * 65, 5, 0);
        for (int u = 0; u < made.x.n_nodes; u++) {
            made.node[u].seconds = u % 65 ? 2 : 5;
            made.node[u].send = u % 65 ? 0.25 + (odd && u % 3 == 0) : 1;
            if (u % 65) join(u - u % 65, u), join(u, u - u % 65 + 65);
        }
        const pl_stages_cut c = find(0);
        assert_true(c.all_ideals && c.proven);
        assert_true(c.n_ideals <= (odd ? 6 * 44 * 23 + 7 : 6 * 65 + 2));
    }
    for (int seed = 0; seed < 200; seed++) { /* of two kinds, which may share a value */
        begin(seed, 5 + seed % 6, 2 + seed % 2, seed % 2);
        const int last = made.x.n_nodes - 1;
        for (int u = 0; u <= last; u++) {
            made.node[u].seconds = made.node[u].host_seconds = 2 + draw(2);
            made.node[u].send = draw(2);
            made.node[u].bytes = draw(2);
            if (u && u < last) join(0, u), join(u, last);
        }
        if (seed % 3 == 0) join(1, 2);
        if (seed % 5 == 0) made.x.bytes = 3;
        const double least = brute();
        pl_stages_cut c;
        pl_err err = { 0 };
        const bool fits = pl_stages_find(&made.x, 0, arena, &c, &err);
        EXPECT(fits ? c.max_load == least && c.proven : least == INFINITY, "seed %d", seed);
    }
}

/* -- large graphs ------------------------------------------------------------------------------ */

/* Branches beside each other have too many prefixes to list: the cut is near the bound. */
static void make_branches(int seed, int n_branches, int length, int n_devices)
{
    begin(seed, 2 + n_branches * length, n_devices, 0);
    for (int u = 0; u < made.x.n_nodes; u++) {
        made.node[u].seconds = 1 + draw(100) / 50.0;
        made.node[u].send = draw(100) / 1000.0;
    }
    for (int b = 0; b < n_branches; b++)
        for (int i = 0; i <= length; i++)
            join(i ? 1 + b * length + i : 0, i < length ? 2 + b * length + i : 1);
}

static void test_large(void **state)
{
    (void)state;
    make_branches(7, 16, 20, 8);
    const pl_stages_cut c = find(0);
    assert_false(c.all_ideals);
    EXPECT(c.max_load <= 1.06 * c.bound, "%g, bound %g", c.max_load, c.bound);

    begin(8, 1000, 64, 0); /* two lanes, linked here and there: all are listed; many devices */
    for (int u = 0; u < 1000; u++) {
        made.node[u].seconds = draw(100);
        made.node[u].send = draw(10);
        if (u > 1) join(u - 2, u);
        if (u && draw(3) == 0) join(u - 1, u);
    }
    const pl_stages_cut d = find(0);
    assert_true(d.all_ideals && d.proven);
}

/* With less effort than it takes the answer is a cut with its gap, or none. */
static void test_effort(void **state)
{
    (void)state;
    make_branches(9, 4, 8, 4);
    const pl_stages_cut best = find(0);
    assert_true(best.proven);
    for (int64_t effort = 1; effort < best.effort; effort += effort / 4 + 1) {
        pl_stages_cut c;
        pl_err err = { 0 };
        if (!pl_stages_find(&made.x, effort, arena, &c, &err)) {
            assert_int_equal(err.code, PL_EINFEASIBLE);
            assert_non_null(strstr(err.msg, "was found"));
            continue;
        }
        if (!pl_stages_check(&made.x, &c, &err)) fail_msg("%s", err.msg);
        assert_true(c.max_load >= best.max_load && c.bound <= best.max_load);
    }
}

/* -- mistakes ---------------------------------------------------------------------------------- */

static void make_small(void)
{
    begin(1, 6, 2, 1);
    for (int u = 0; u < 6; u++) {
        made.node[u].seconds = made.node[u].host_seconds = made.node[u].send = 1;
        made.node[u].bytes = 1;
        made.node[u].backward = u >= 4;
        if (u && u < 4) join(u - 1, u);
    }
    join(3, 4);
    join(4, 5);
    made.node[3].group = made.node[4].group = 0;
    made.x.bytes = 4;
}

static void test_problems(void **state)
{
    (void)state;
    static const struct {
        int what;
        const char *says;
    } cases[] = {
        { 0, "0 nodes; 1 to" },
        { 1, "0 devices and 1 hosts" },
        { 2, "a device of -1 bytes" },
        { 3, "node 2: nan seconds" },
        { 4, "node 2: -1 bytes" },
        { 5, "node 2: group 6 of 6" },
        { 6, "edge 0: from node 0 to 6 of 6" },
        { 7, "edge 0: from backward node 4 to forward node 1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_stages_cut c;
        pl_err err = { 0 };
        make_small();
        switch (cases[i].what) {
        case 0: made.x.n_nodes = 0; break;
        case 1: made.x.n_devices = 0; break;
        case 2: made.x.bytes = -1; break;
        case 3: made.node[2].seconds = NAN; break;
        case 4: made.node[2].bytes = -1; break;
        case 5: made.node[2].group = 6; break;
        case 6: made.edge[0].to = 6; break;
        default: made.edge[0].from = 4; break;
        }
        EXPECT(!pl_stages_find(&made.x, 0, arena, &c, &err) && err.code == PL_EINPUT &&
                   strstr(err.msg, cases[i].says),
               "'%s', not '%s'", err.msg, cases[i].says);
    }
}

static void refuse(const pl_stages_cut *c, const char *says)
{
    pl_err err = { 0 };
    EXPECT(!pl_stages_check(&made.x, c, &err) && err.code == PL_EMISMATCH && strstr(err.msg, says),
           "'%s', not '%s'", err.msg, says);
}

/* The judge refuses whatever is changed in a right answer. */
static void test_cuts(void **state)
{
    (void)state;
    int stage_of[6] = { 0, 0, 0, 1, 1, 1 };
    bool on_host[4] = { false, false, true, true };
    double load[4] = { 4, 4, 0, 0 };
    const pl_stages_cut right = { .n_stages = 2,
                                  .stage_of = stage_of,
                                  .on_host = on_host,
                                  .load = load,
                                  .max_load = 4,
                                  .bound = 4,
                                  .proven = true };
    static const struct {
        int node, stage;
        const char *says;
    } moves[] = {
        { 0, 1, "edge 0: node 0 in stage 1, node 1 in 0" },
        { 4, 0, "group 0: node 3 in stage 1, node 4 in 0" },
        { 5, 0, "stage 0: 6 s, not 4" },
        { 5, 2, "node 5: in stage 2 of 2" },
        { 2, 1, "stage 0: 3 s, not 4" },
    };
    pl_err err = { 0 };
    make_small();
    if (!pl_stages_check(&made.x, &right, &err)) fail_msg("%s", err.msg);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        const int before = stage_of[moves[i].node];
        stage_of[moves[i].node] = moves[i].stage;
        refuse(&right, moves[i].says);
        stage_of[moves[i].node] = before;
    }
    made.x.bytes = 2;
    refuse(&right, "stage 0: 3 bytes on a device of 2");
    made.x.bytes = 0;
    for (int k = 0; k < 5; k++) {
        static const char *const says[] = { "4 stages on 2 devices and 1 hosts",
                                            "stage 2 has no node", "a stage takes 4 s, not 5",
                                            "a bound of 4.5, 4 s", "a bound of 3, 4 s, proven" };
        pl_stages_cut wrong = right;
        if (k == 0) wrong.n_stages = 4;
        if (k == 1) wrong.n_stages = 3;
        if (k == 2) wrong.max_load = 5;
        if (k == 3) wrong.bound = 4.5;
        if (k == 4) wrong.bound = 3, wrong.proven = true;
        refuse(&wrong, says[k]);
    }
    on_host[0] = on_host[1] = true;
    refuse(&right, "2 of 2 stages on 1 hosts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_merging, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_twins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_effort, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cuts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
