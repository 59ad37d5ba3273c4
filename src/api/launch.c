/* Ranks as threads or under MPI (pl_launch_open, pl_launch_run), and backends by name. */
#include "api/launch.h"

#include "backends/local/local.h"
#include "backends/native/native.h"
#include "backends/null/null.h"
#include "backends/ref/ref.h"
#include "backends/widen/widen.h"
#include "base/cpu.h"
#ifdef PLEAT_HAVE_MPI
#include "backends/mpi/mpi.h"
#endif
#ifdef PLEAT_HAVE_ONEDNN
#include "backends/onednn/onednn.h"
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BACKENDS = 4 };

static const struct preference {
    const char *name;
    const pl_backend *list[MOST_BACKENDS];
} preferences[] = {
#ifdef PLEAT_HAVE_ONEDNN
    { "onednn", { &pl_backend_onednn, &pl_backend_native, &pl_backend_widen, &pl_backend_ref } },
#endif
    { "native", { &pl_backend_native, &pl_backend_widen, &pl_backend_ref } },
    { "ref", { &pl_backend_ref } },
    { "null", { &pl_backend_null } },
};

enum { N_PREFERENCES = sizeof preferences / sizeof *preferences };

const pl_backend *const *pl_launch_backends(const char *name, int *n, pl_err *err)
{
    for (int i = 0; pl_native_needs[i]; i++) {
        if (pl_cpu_has(pl_native_needs[i])) continue;
        pl_err_set(
            err, PL_EUNSUPPORTED,
            "this pleat was compiled for a CPU with %s, which this one lacks: build it here, "
            "or with cmake -DPLEAT_NATIVE=OFF",
            pl_native_needs[i]);
        return NULL;
    }
    char names[128] = "";
    for (int i = 0; i < N_PREFERENCES; i++) {
        const struct preference *p = &preferences[i];
        for (*n = 0; *n < MOST_BACKENDS && p->list[*n];) ++*n;
        if (!strcmp(p->name, name) || !strcmp(name, "auto")) return p->list;
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", p->name);
    }
    pl_err_set(err, PL_EUSAGE, "no backend '%s' (built in:%s)", name, names);
    return NULL;
}

int pl_launch_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

int pl_launch_threads(int64_t asked, int n_ranks)
{
    const int share = pl_launch_cores() / n_ranks;
    return asked ? (int)asked : share > 1 ? share : 1;
}

/* A number that launchers hand to every process, under one of some names; 0 when there is none. */
static int find_launched(int n_names, const char *const names[])
{
    for (int i = 0; i < n_names; i++) {
        const char *n = getenv(names[i]);
        if (n) return atoi(n);
    }
    return 0;
}

int pl_launch_started(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE" };
    return find_launched(3, names);
}

bool pl_launch_is_first(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK" };
    return find_launched(3, names) == 0;
}

#ifdef PLEAT_HAVE_MPI
/* Processes that the launcher left on the same cores as this one. One that it bound to a part of
 * the machine has that part for itself. */
static int find_local(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS" };
    int n = find_launched(2, names);
    return n > 1 && pl_launch_cores() == (int)sysconf(_SC_NPROCESSORS_ONLN) ? n : 1;
}

static bool open_mpi(pl_world *w, pl_err *err)
{
    PL_TRY(pl_mpi_new(w->timeout_seconds, &w->comm, err));
    w->mpi = true;
    w->n_local = find_local();
    w->n_ranks = w->comm->size;
    w->rank = w->comm->rank;
    return true;
}
#else
static bool open_mpi(pl_world *w, pl_err *err)
{
    (void)w;
    return pl_err_set(err, PL_EUNSUPPORTED,
                      "started by an MPI launcher, but built without MPI: install "
                      "libopenmpi-dev and build again");
}
#endif

bool pl_launch_open(int64_t devices, double timeout_seconds, pl_world *out, pl_err *err)
{
    int n = devices ? (int)devices : 1;
    *out = (pl_world){ .n_ranks = n, .n_local = n, .timeout_seconds = timeout_seconds };
    if (!pl_launch_started())
        return devices <= PL_LOCAL_RANKS ||
               pl_err_set(err, PL_EUSAGE, "--devices %lld: at most %d in one process",
                          (long long)devices, PL_LOCAL_RANKS);
    PL_TRY(open_mpi(out, err));
    if (!devices || devices == out->n_ranks) return true;
    return pl_err_set(err, PL_EUSAGE, "--devices %lld, but the launcher started %d ranks",
                      (long long)devices, out->n_ranks);
}

/* -- threads as ranks -------------------------------------------------------------------------- */

typedef struct local_rank {
    bool (*fn)(void *arg, pl_comm *comm, pl_err *err);
    void *arg;
    pl_comm *comm;
    pl_err err;
    bool ok;
    pthread_t thread;
} local_rank;

static void *run_rank(void *p)
{
    local_rank *r = p;
    r->ok = r->fn(r->arg, r->comm, &r->err);
    if (!r->ok) r->comm->ops->abort(r->comm, (int)r->err.code); /* whoever waits for it fails now */
    return NULL;
}

static bool run_threads(local_rank *r, int n, pl_err *err)
{
    int started = 0, rc = 0;
    while (started < n && !rc) {
        rc = pthread_create(&r[started].thread, NULL, run_rank, &r[started]);
        if (!rc) started++;
    }
    if (rc) {
        pl_err_set(err, PL_ERUN, "cannot start the thread of rank %d: %s", started, strerror(rc));
        for (int i = 0; i < n; i++) r[i].comm->ops->abort(r[i].comm, PL_ERUN);
    }
    for (int i = 0; i < started; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < started; i++)
        if (!r[i].ok && !err->code) *err = r[i].err;
    return err->code == PL_OK;
}

bool pl_launch_agree(const pl_world *w, pl_err *err)
{
    return w->mpi && w->n_ranks > 1 ? pl_comm_agree(w->comm, err) : err->code == PL_OK;
}

bool pl_launch_run(pl_world *w, bool (*fn)(void *arg, pl_comm *comm, pl_err *err), void *arg,
                   pl_err *err)
{
    if (w->mpi) return fn(arg, w->n_ranks > 1 ? w->comm : NULL, err);
    if (w->n_ranks == 1) return fn(arg, NULL, err);
    pl_comm *comm[PL_LOCAL_RANKS];
    local_rank rank[PL_LOCAL_RANKS];
    PL_TRY(pl_local_new(w->n_ranks, w->timeout_seconds, comm, err));
    for (int i = 0; i < w->n_ranks; i++)
        rank[i] = (local_rank){ .fn = fn, .arg = arg, .comm = comm[i] };
    bool ok = run_threads(rank, w->n_ranks, err);
    for (int i = 0; i < w->n_ranks; i++) pl_comm_free(comm[i]);
    return ok;
}

/* After a rank was lost every rank that is left holds the error, and nobody knows who the first of
 * them is. So each waits its turn: the first one speaks and then ends all. Whoever stood still and
 * was given up comes last: it was woken only to be ended. */
static void await_turn(const pl_world *w)
{
    enum { TURN_MS = 500, LONGEST = 20 };
    bool last = w->comm->given_up || w->rank >= LONGEST;
    long ms = TURN_MS * (last ? LONGEST : w->rank + 1);
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

int pl_launch_close(pl_world *w, const pl_err *err, int (*tell)(const pl_err *err))
{
    if (w->mpi && err->code == PL_ERUN) await_turn(w);
    if (err->code && (!w->mpi || w->rank == 0 || err->code == PL_ERUN)) (void)tell(err);
    if (w->comm) {
        if (err->code == PL_ERUN) w->comm->ops->abort(w->comm, (int)err->code);
        pl_comm_free(w->comm);
    }
    return (int)err->code;
}
