/* bench-stages: others' graphs cut into pipeline stages, as CSV rows.
 *
 *   bench-stages FILE...    graphs of the repository msr-fiddle/dnn-partitioning
 *
 * A row per file. Every cut is judged (pl_stages_check); exit status 6 when one is wrong. took_s is
 * the fastest of three searches, reading left out. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28, TIMES = 3 };

typedef struct reading {
    int n;
    pl_stages_node *node;
    pl_stages_edge *edge;
    bool *sends; /* [n] an edge said what its output takes */
    pl_map ids, groups;
    pl_arena *arena;
} reading;

/* The number under a key, or -1. */
static int look_up(const pl_map *m, int64_t key)
{
    PL_MAP_EACH (m, pl_hash_mix(0, (uint64_t)key), at) return at.value;
    return -1;
}

static bool is_true(const pl_json *x)
{
    return pl_json_is(x, PL_JSON_TRUE) || pl_json_real(x) != 0;
}

static bool read_node(reading *r, const pl_json *x, pl_err *err)
{
    int64_t id;
    PL_TRY(pl_json_get_count(x, "id", &id, err));
    if (look_up(&r->ids, id) >= 0)
        return pl_err_set(err, PL_EINPUT, "id %lld twice", (long long)id);
    const pl_json *color = pl_json_find(x, "colorClass");
    pl_stages_node *n = &r->node[r->n];
    *n = (pl_stages_node){
        .seconds = pl_json_real(pl_json_find(x, "fpgaLatency")),
        .host_seconds = pl_json_real(pl_json_find(x, "cpuLatency")),
        .bytes = (int64_t)ceil(pl_json_real(pl_json_find(x, "size"))),
        .backward = is_true(pl_json_find(x, "isBackwardNode")),
        .group = -1,
    };
    if (!is_true(pl_json_find(x, "supportedOnFpga")))
        return pl_err_set(err, PL_EUNSUPPORTED, "it runs on no device");
    if (color) {
        n->group = look_up(&r->groups, color->whole);
        if (n->group < 0) {
            n->group = r->n;
            pl_map_put(&r->groups, pl_hash_mix(0, (uint64_t)color->whole), r->n, r->arena);
        }
    }
    pl_map_put(&r->ids, pl_hash_mix(0, (uint64_t)id), r->n, r->arena);
    r->n++;
    return true;
}

static bool read_edge(reading *r, const pl_json *x, pl_stages_edge *e, pl_err *err)
{
    int64_t from, to;
    PL_TRY(pl_json_get_count(x, "sourceId", &from, err));
    PL_TRY(pl_json_get_count(x, "destId", &to, err));
    *e = (pl_stages_edge){ look_up(&r->ids, from), look_up(&r->ids, to) };
    if (e->from < 0 || e->to < 0)
        return pl_err_set(err, PL_EINPUT, "from %lld to %lld: there is no such node",
                          (long long)from, (long long)to);
    const double send = pl_json_real(pl_json_find(x, "cost"));
    pl_stages_node *n = &r->node[e->from];
    if (r->sends[e->from] && fabs(n->send - send) > 1e-6)
        return pl_err_set(err, PL_EINPUT, "node %lld sends in %g and in %g", (long long)from,
                          n->send, send);
    r->sends[e->from] = true;
    n->send = send;
    return true;
}

static bool read_graph(const char *path, pl_arena *arena, pl_stages_problem *x, pl_err *err)
{
    const char *text;
    size_t bytes;
    const pl_json *all, *nodes, *edges;
    int64_t devices, hosts;
    PL_TRY(pl_file_read(path, MOST_BYTES, arena, &text, &bytes, err));
    PL_TRY(pl_json_parse(text, bytes, 8, arena, &all, err));
    PL_TRY(pl_json_get(all, "nodes", PL_JSON_LIST, &nodes, err));
    PL_TRY(pl_json_get(all, "edges", PL_JSON_LIST, &edges, err));
    PL_TRY(pl_json_get_count(all, "maxFPGAs", &devices, err));
    PL_TRY(pl_json_get_count(all, "maxCPUs", &hosts, err));
    reading r = { .arena = arena };
    r.node = PL_NEW_N(arena, pl_stages_node, nodes->n);
    r.edge = PL_NEW_N(arena, pl_stages_edge, edges->n);
    r.sends = PL_NEW_N(arena, bool, nodes->n);
    for (int i = 0; i < nodes->n; i++)
        if (!read_node(&r, &nodes->at[i], err)) return pl_err_in(err, "node %d", i);
    for (int i = 0; i < edges->n; i++)
        if (!read_edge(&r, &edges->at[i], &r.edge[i], err)) return pl_err_in(err, "edge %d", i);
    *x = (pl_stages_problem){
        .n_nodes = nodes->n,
        .n_edges = edges->n,
        .node = r.node,
        .edge = r.edge,
        .n_devices = (int)devices,
        .n_hosts = (int)hosts,
        .bytes = (int64_t)pl_json_real(pl_json_find(all, "maxSizePerFPGA")),
    };
    return true;
}

static bool run_file(const char *path, pl_arena *arena, pl_err *err)
{
    pl_stages_problem x;
    pl_stages_cut c;
    double took = INFINITY;
    PL_TRY(read_graph(path, arena, &x, err));
    for (int k = 0; k < TIMES; k++) {
        const double start = pl_clock_now();
        PL_TRY(pl_stages_find(&x, 0, arena, &c, err));
        took = fmin(took, pl_clock_now() - start);
    }
    PL_TRY(pl_stages_check(&x, &c, err));
    printf("%s,%d,%d,%d,%d,%d,%s,%lld,%.6f,%.6f,%.6f,%s,%.3f\n", path, x.n_nodes, x.n_devices,
           x.n_hosts, c.n_pieces, c.n_ideals, c.all_ideals ? "yes" : "no", (long long)c.effort,
           c.max_load, c.bound, (c.max_load - c.bound) / c.max_load, c.proven ? "yes" : "no", took);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    pl_err err = { 0 };
    bool ok = argc > 1 || pl_err_set(&err, PL_EUSAGE, "bench-stages FILE...");
    for (int i = 1; i < argc && ok; i++) {
        pl_arena *arena = pl_arena_new("bench-stages");
        ok = run_file(argv[i], arena, &err) || pl_err_in(&err, "%s", argv[i]);
        pl_arena_free(arena);
    }
    if (!ok) fprintf(stderr, "bench-stages: %s\n", err.msg);
    return ok ? 0 : (int)err.code;
}
