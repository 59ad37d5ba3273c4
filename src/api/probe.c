/* A machine measured: each rank measures, and what the first one of this process has becomes a
 * cluster. */
#include "api/probe.h"

#include "api/context.h"
#include "backends/local/local.h"

typedef struct start {
    pl_kernel_env env;
    int cores, first; /* the rank of this process whose result is kept */
    bool quick;
    pl_measure *out;
} start;

static bool run_rank(void *arg, pl_comm *comm, pl_err *err)
{
    const start *s = arg;
    pl_measure own;
    PL_TRY(pl_measure_run(comm, &s->env, s->cores, s->quick, &own, err));
    if (!comm || comm->rank == s->first) *s->out = own;
    return true;
}

bool pl_probe_run(pl_world *w, int threads, bool quick, pl_arena *out, pl_probe *probe, pl_err *err)
{
    const int cores = pl_launch_cores();
    start s = { .cores = cores, .first = w->rank, .quick = quick, .out = &probe->measure };
    s.env.n_threads = pl_launch_threads(threads, w->n_local);
    s.env.backends = pl_launch_backends("auto", &s.env.n_backends, err);
    probe->machine = pl_machine_look(cores);
    return s.env.backends && pl_launch_run(w, run_rank, &s, err) &&
           pl_machine_cluster(&probe->machine, &probe->measure, w->mpi ? "processes" : "threads",
                              out, &probe->cluster, err);
}

pl_cluster *pl_cluster_probe(pl_context *c, int devices, int threads, bool quick)
{
    enum { TIMEOUT_SECONDS = 60 };
    pl_err *err;
    const int cores = pl_launch_cores();
    const int n = devices ? devices : cores < PL_LOCAL_RANKS ? cores : PL_LOCAL_RANKS;
    if (!pl_context_ready(c, &err)) return NULL;
    if (n < 1 || n > PL_LOCAL_RANKS) {
        pl_err_set(err, PL_EUSAGE, "devices is %d; there are 1 to %d", devices, PL_LOCAL_RANKS);
        return NULL;
    }
    if (threads < 0) {
        pl_err_set(err, PL_EUSAGE, "threads is %d", threads);
        return NULL;
    }
    pl_world w = { .n_ranks = n, .n_local = n, .timeout_seconds = TIMEOUT_SECONDS };
    pl_probe *p = PL_NEW(c->arena, pl_probe);
    return pl_probe_run(&w, threads, quick, c->arena, p, err) ? p->cluster : NULL;
}
