/* The rules of a problem, and the judge of a cut: node by node and edge by edge, by the definition
 * in stages.h, without pieces or ideals. */
#include <math.h>

#include "stages/stages.h"

/* -- the problem ------------------------------------------------------------------------------- */

static bool check_node(const pl_stages_problem *x, int u, pl_err *err)
{
    const pl_stages_node *n = &x->node[u];
    const double seconds[3] = { n->seconds, n->host_seconds, n->send };
    for (int k = 0; k < 3; k++)
        if (!(seconds[k] >= 0 && seconds[k] <= 1e100))
            return pl_err_set(err, PL_EINPUT, "node %d: %g seconds", u, seconds[k]);
    if (n->bytes < 0 || n->bytes > INT64_MAX / (1 << 15))
        return pl_err_set(err, PL_EINPUT, "node %d: %lld bytes", u, (long long)n->bytes);
    if (n->group < -1 || n->group >= x->n_nodes)
        return pl_err_set(err, PL_EINPUT, "node %d: group %d of %d", u, n->group, x->n_nodes);
    return true;
}

bool pl_stages_validate(const pl_stages_problem *x, pl_err *err)
{
    if (x->n_nodes < 1 || x->n_nodes > PL_STAGES_NODES)
        return pl_err_set(err, PL_EINPUT, "%d nodes; 1 to %d can be cut", x->n_nodes,
                          PL_STAGES_NODES);
    if (x->n_devices < 1 || x->n_devices > PL_STAGES_DEVICES || x->n_hosts < 0 ||
        x->n_hosts > PL_STAGES_HOSTS)
        return pl_err_set(err, PL_EINPUT, "%d devices and %d hosts; there may be 1 to %d, and %d",
                          x->n_devices, x->n_hosts, PL_STAGES_DEVICES, PL_STAGES_HOSTS);
    if (x->bytes < 0)
        return pl_err_set(err, PL_EINPUT, "a device of %lld bytes", (long long)x->bytes);
    for (int u = 0; u < x->n_nodes; u++) PL_TRY(check_node(x, u, err));
    for (int e = 0; e < x->n_edges; e++) {
        const int u = x->edge[e].from, v = x->edge[e].to;
        if (u < 0 || u >= x->n_nodes || v < 0 || v >= x->n_nodes || u == v)
            return pl_err_set(err, PL_EINPUT, "edge %d: from node %d to %d of %d", e, u, v,
                              x->n_nodes);
        if (x->node[u].backward && !x->node[v].backward)
            return pl_err_set(err, PL_EINPUT, "edge %d: from backward node %d to forward node %d",
                              e, u, v);
    }
    return true;
}

/* -- the cut ----------------------------------------------------------------------------------- */

static bool check_stages(const pl_stages_problem *x, const pl_stages_cut *c, pl_err *err)
{
    if (c->n_stages < 1 || c->n_stages > x->n_devices + x->n_hosts)
        return pl_err_set(err, PL_EMISMATCH, "%d stages on %d devices and %d hosts", c->n_stages,
                          x->n_devices, x->n_hosts);
    int hosts = 0;
    for (int k = 0; k < c->n_stages; k++) hosts += c->on_host[k];
    if (hosts > x->n_hosts || c->n_stages - hosts > x->n_devices)
        return pl_err_set(err, PL_EMISMATCH,
                          "%d of %d stages on %d hosts, the others on %d devices", hosts,
                          c->n_stages, x->n_hosts, x->n_devices);
    for (int u = 0; u < x->n_nodes; u++)
        if (c->stage_of[u] < 0 || c->stage_of[u] >= c->n_stages)
            return pl_err_set(err, PL_EMISMATCH, "node %d: in stage %d of %d", u, c->stage_of[u],
                              c->n_stages);
    return true;
}

static bool check_groups(const pl_stages_problem *x, const pl_stages_cut *c, pl_arena *tmp,
                         bool *led, pl_err *err)
{
    int *first = PL_NEW_N(tmp, int, x->n_nodes); /* 1 + node; 0: not seen */
    bool *has_forward = PL_NEW_N(tmp, bool, x->n_nodes);
    for (int u = 0; u < x->n_nodes; u++) {
        const int g = x->node[u].group;
        if (g < 0) continue;
        if (!first[g]) first[g] = u + 1;
        has_forward[g] |= !x->node[u].backward;
        if (c->stage_of[first[g] - 1] != c->stage_of[u])
            return pl_err_set(err, PL_EMISMATCH, "group %d: node %d in stage %d, node %d in %d", g,
                              first[g] - 1, c->stage_of[first[g] - 1], u, c->stage_of[u]);
    }
    for (int u = 0; u < x->n_nodes; u++) {
        const int g = x->node[u].group;
        led[u] = g < 0 ? !x->node[u].backward : has_forward[g];
    }
    return true;
}

static bool check_edges(const pl_stages_problem *x, const pl_stages_cut *c, const bool *led,
                        pl_err *err)
{
    for (int e = 0; e < x->n_edges; e++) {
        const int u = x->edge[e].from, v = x->edge[e].to;
        const int from = c->stage_of[u], to = c->stage_of[v];
        const bool forward = !x->node[u].backward && !x->node[v].backward;
        const bool backward = x->node[u].backward && x->node[v].backward && !(led[u] && led[v]);
        if ((forward && from > to) || (backward && from < to))
            return pl_err_set(err, PL_EMISMATCH, "edge %d: node %d in stage %d, node %d in %d", e,
                              u, from, v, to);
    }
    return true;
}

/* What each node makes is sent by and to each stage on a device that makes or reads it, where there
 * is more than one stage that does. */
static void add_sending(const pl_stages_problem *x, const pl_stages_cut *c, pl_arena *tmp,
                        double *load)
{
    bool *touches = PL_NEW_N(tmp, bool, c->n_stages);
    int *at = PL_NEW_N(tmp, int, x->n_nodes + 1), *reader = PL_NEW_N(tmp, int, x->n_edges);
    for (int e = 0; e < x->n_edges; e++) at[x->edge[e].from + 1]++;
    for (int u = 0; u < x->n_nodes; u++) at[u + 1] += at[u];
    int *fill = PL_NEW_N(tmp, int, x->n_nodes);
    for (int e = 0; e < x->n_edges; e++) {
        const int u = x->edge[e].from;
        reader[at[u] + fill[u]++] = x->edge[e].to;
    }
    for (int u = 0; u < x->n_nodes; u++) {
        int n = 1;
        for (int k = 0; k < c->n_stages; k++) touches[k] = k == c->stage_of[u];
        for (int i = at[u]; i < at[u + 1]; i++) {
            const int k = c->stage_of[reader[i]];
            n += !touches[k];
            touches[k] = true;
        }
        for (int k = 0; k < c->n_stages && n > 1; k++)
            if (touches[k] && !c->on_host[k]) load[k] += x->node[u].send;
    }
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bool check_loads(const pl_stages_problem *x, const pl_stages_cut *c, pl_arena *tmp,
                        pl_err *err)
{
    double *load = PL_NEW_N(tmp, double, c->n_stages), most = 0;
    int64_t *bytes = PL_NEW_N(tmp, int64_t, c->n_stages);
    int *nodes = PL_NEW_N(tmp, int, c->n_stages);
    for (int u = 0; u < x->n_nodes; u++) {
        const int k = c->stage_of[u];
        nodes[k]++;
        bytes[k] += x->node[u].bytes;
        load[k] += c->on_host[k] ? x->node[u].host_seconds : x->node[u].seconds;
    }
    add_sending(x, c, tmp, load);
    for (int k = 0; k < c->n_stages; k++) {
        if (!nodes[k]) return pl_err_set(err, PL_EMISMATCH, "stage %d has no node", k);
        if (x->bytes && !c->on_host[k] && bytes[k] > x->bytes)
            return pl_err_set(err, PL_EMISMATCH, "stage %d: %lld bytes on a device of %lld", k,
                              (long long)bytes[k], (long long)x->bytes);
        if (!is_close(load[k], c->load[k]))
            return pl_err_set(err, PL_EMISMATCH, "stage %d: %.12g s, not %.12g", k, load[k],
                              c->load[k]);
        most = fmax(most, load[k]);
    }
    if (!is_close(most, c->max_load))
        return pl_err_set(err, PL_EMISMATCH, "a stage takes %.12g s, not %.12g", most, c->max_load);
    if (!(c->bound <= c->max_load) || c->proven != (c->bound == c->max_load))
        return pl_err_set(err, PL_EMISMATCH, "a bound of %.12g, %.12g s, %sproven", c->bound,
                          c->max_load, c->proven ? "" : "not ");
    return true;
}

bool pl_stages_check(const pl_stages_problem *problem, const pl_stages_cut *cut, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("stages check");
    bool *led = PL_NEW_N(tmp, bool, problem->n_nodes);
    const bool ok = check_stages(problem, cut, err) && check_groups(problem, cut, tmp, led, err) &&
                    check_edges(problem, cut, led, err) && check_loads(problem, cut, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
