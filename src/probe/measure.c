#include "probe/measure_kernel.h"

#include "base/clock.h"
#include "base/rng.h"
#include "run/lane.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    FEW = 5,
    MANY = 500,       /* how often a message is sent              */
    ROOM = 224 << 20, /* of a rank: two arrays of 64 MiB, or less */
};

/* A tenth where it is to be quick. */
static const double message_seconds = 0.3;  /* so long are all samples of a message          */
static const double overlap_seconds = 0.03; /* and computing and messages side by side        */

typedef pl_measure_rank session;

/* -- all ranks together ------------------------------------------------------------------------ */

bool pl_measure_meet(const session *s, pl_err *err)
{
    const pl_message m = { .kind = PL_BARRIER, .label = "probe" };
    return !s->comm || pl_comm_run(s->comm, s->comm->world, &m, err);
}

bool pl_measure_slowest(const session *s, double *seconds, pl_err *err)
{
    int64_t ps = (int64_t)(*seconds * 1e12); /* there are no messages of doubles */
    const pl_message m = { .kind = PL_ALL_REDUCE,
                           .type = PL_I64,
                           .monoid = PL_MAX,
                           .count = 1,
                           .send = &ps,
                           .recv = &ps,
                           .label = "probe" };
    if (s->comm) PL_TRY(pl_comm_run(s->comm, s->comm->world, &m, err));
    *seconds = (double)(ps > 0 ? ps : 1) * 1e-12;
    return true;
}

/* -- messages ---------------------------------------------------------------------------------- */

/* The longest message that is timed. */
static int64_t most_bytes(const session *s)
{
    return s->own->n_ranks > 32 ? 1 << 20 : 16 << 20;
}

/* Of an array that messages go out from or come into. */
static int64_t array_bytes(const session *s)
{
    const int64_t bytes = pl_measure_array(s), most = most_bytes(s);
    return bytes > most ? bytes : most;
}

/* Messages of time k read and write `bytes` of their arrays, from another place each time: what a
 * step sends is not in a cache since the last one. */
static pl_message shift(const session *s, pl_message m, int64_t bytes, int k)
{
    const int64_t at = k % (array_bytes(s) / bytes) * bytes;
    if (m.send) m.send = (const char *)m.send + at;
    if (m.recv) m.recv = (char *)m.recv + at;
    return m;
}

/* `times` times n messages that are under way together: a collective, or a send and a receive.
 * Through the lane, as a step of training has them: the calling thread lets each start, and waits
 * for its end. The first time is not counted: the lane's thread starts. Median seconds. */
static bool time_round(const session *s, int n, const pl_message m[], int64_t bytes, int times,
                       double *seconds, pl_err *err)
{
    pl_arena *a = pl_arena_new("probe lane");
    pl_lane_message *list = PL_NEW_N(a, pl_lane_message, n * (times + 1));
    double *sample = PL_NEW_N(a, double, times);
    pl_lane *lane = NULL;
    for (int i = 0; i < n * (times + 1); i++)
        list[i] =
            (pl_lane_message){ shift(s, m[i % n], bytes, i / n), s->comm->world, i / n, i - i % n };
    bool ok = pl_measure_meet(s, err) &&
              pl_lane_new(s->comm, s->env.stream, &(pl_lane_options){ .most = n * (times + 1) }, a,
                          &lane, err);
    if (ok) {
        pl_lane_begin(lane, n * (times + 1), list);
        ok = pl_lane_wait(lane, n, err);
    }
    for (int i = 0; ok && i < times; i++) {
        double from = pl_clock_now();
        pl_lane_advance(lane, i + 1);
        ok = pl_lane_wait(lane, n * (i + 2), err);
        sample[i] = pl_clock_now() - from;
    }
    ok = ok && pl_lane_agree(lane, &(int){ 0 }, err);
    pl_lane_free(lane);
    *seconds = pl_measure_median(times, sample);
    pl_arena_free(a);
    return ok && pl_measure_slowest(s, seconds, err);
}

/* How often is agreed on: each rank must do it as often as the others. */
static bool time_messages(const session *s, int n, const pl_message m[], int64_t bytes,
                          double *seconds, pl_err *err)
{
    PL_TRY(time_round(s, n, m, bytes, FEW, seconds, err));
    const double fit = s->effort * message_seconds / *seconds;
    return time_round(s, n, m, bytes, fit < FEW ? FEW : fit > MANY ? MANY : (int)fit, seconds, err);
}

/* An array to send from or receive to: else all its pages are one of zeros, or come late. */
static float *new_array(session *s)
{
    float *p = pl_measure_room(s, array_bytes(s));
    memset(p, 0, (size_t)array_bytes(s));
    return p;
}

static bool time_level(session *s, pl_measured_level *l, pl_err *err)
{
    const int at = s->rank / l->stride % l->size, first = s->rank - at * l->stride;
    const int next = first + (at + 1) % l->size * l->stride;
    const int last = first + (at + l->size - 1) % l->size * l->stride;
    float *from = new_array(s), *to = new_array(s);
    bool ok = true;
    for (int64_t bytes = 1 << 10; ok && bytes <= most_bytes(s); bytes *= 4) {
        const pl_message m[] = {
            { .kind = PL_SEND, .count = bytes / 4, .send = from, .peer = next, .label = "probe" },
            { .kind = PL_RECV, .count = bytes / 4, .recv = to, .peer = last, .label = "probe" },
        };
        double seconds;
        ok = time_messages(s, 2, m, bytes, &seconds, err);
        if (ok) l->point[l->n++] = (pl_point){ (double)bytes, seconds };
    }
    pl_measure_clear(s);
    return ok;
}

static bool time_collectives(session *s, pl_err *err)
{
    static const pl_collective kinds[] = { PL_ALL_REDUCE, PL_ALL_GATHER, PL_REDUCE_SCATTER,
                                           PL_ALL_TO_ALL };
    const int64_t ranks = s->own->n_ranks, most = array_bytes(s) / 2;
    float *from = new_array(s), *to = new_array(s);
    bool ok = true;
    for (int i = 0; ok && i < PL_MEASURE_CALLS; i++) {
        const pl_collective kind = kinds[i / 2];
        const int64_t all = i % 2 ? 4 << 20 < most ? 4 << 20 : most : 64 << 10;
        const int64_t block = all / ranks / 64 * 16 + 16; /* elements */
        const pl_message m = { .kind = kind,
                               .count = kind == PL_ALL_REDUCE ? block * ranks : block,
                               .send = from,
                               .recv = to,
                               .label = "probe" };
        double seconds;
        ok = time_messages(s, 1, &m, 4 * block * ranks, &seconds, err);
        if (ok) s->own->call[s->own->n_calls++] = (pl_measured_call){ kind, 4 * block, seconds };
    }
    pl_measure_clear(s);
    return ok;
}

/* Seconds of so many runs of a kernel alone, of the messages alone, and of both at the same time:
 * medians of this rank. */
static bool time_both(const pl_measure_step *k, int runs, pl_lane *lane, int n,
                      const pl_lane_message list[], double seconds[3], pl_err *err)
{
    double sample[3][FEW];
    for (int i = 0; i < 3 * FEW; i++) {
        const int what = i % 3; /* in turn, so that what disturbs disturbs all */
        double from = pl_clock_now();
        if (what) pl_lane_begin(lane, n, list);
        for (int r = 0; what != 1 && r < runs; r++) pl_measure_step_run(k);
        if (what) PL_TRY(pl_lane_wait(lane, n, err));
        sample[what][i / 3] = pl_clock_now() - from;
        PL_TRY(pl_lane_agree(lane, &(int){ 0 }, err)); /* ranks start the next together */
    }
    for (int what = 0; what < 3; what++) seconds[what] = pl_measure_median(FEW, sample[what]);
    return true;
}

/* Matmuls and messages to the next rank that take about as long alone: how much of the shorter one
 * is gone when both run? */
static bool time_overlap(session *s, double *share, pl_err *err)
{
    const int ranks = s->own->n_ranks, next = (s->rank + 1) % ranks;
    const int64_t bytes = 1 << 20;
    const pl_measured_level *l = &s->own->level[0];
    const pl_measured_kernel *matmul = &s->own->kernel[1]; /* 128^3: short */
    pl_arena *a = pl_arena_new("probe overlap");
    float *from = pl_measure_room(s, bytes), *to = pl_measure_room(s, bytes);
    double once = 1e-3, t[3] = { 0 };
    for (int i = 0; i < l->n; i++)
        if (l->point[i].bytes <= (double)bytes) once = l->point[i].seconds;
    const int times = (int)fmin(fmax(s->effort * overlap_seconds / once, 1), MANY);
    const int runs = (int)fmax(s->effort * overlap_seconds / matmul->seconds, 1);
    pl_lane_message *list = PL_NEW_N(a, pl_lane_message, 2 * times);
    memset(from, 0, (size_t)bytes);
    for (int i = 0; i < times; i++) {
        const pl_message send = {
            .kind = PL_SEND, .count = bytes / 4, .send = from, .peer = next, .label = "probe"
        };
        const pl_message receive = { .kind = PL_RECV,
                                     .count = bytes / 4,
                                     .recv = to,
                                     .peer = (s->rank + ranks - 1) % ranks,
                                     .label = "probe" };
        list[2 * i] = (pl_lane_message){ send, s->comm->world, 0, 2 * i };
        list[2 * i + 1] = (pl_lane_message){ receive, s->comm->world, 0, 2 * i };
    }
    pl_measure_step k;
    pl_lane *lane = NULL;
    bool made = pl_measure_matmul(s, matmul->size, a, &k, err);
    bool ok = made && pl_measure_meet(s, err) &&
              pl_lane_new(s->comm, s->env.stream, &(pl_lane_options){ .most = 2 * times }, a, &lane,
                          err) &&
              time_both(&k, runs, lane, 2 * times, list, t, err);
    pl_lane_free(lane);
    for (int i = 0; i < 3; i++) ok = ok && pl_measure_slowest(s, &t[i], err);
    pl_measure_step_free(&k);
    pl_measure_clear(s);
    pl_arena_free(a);
    *share = fmin(fmax((t[0] + t[1] - t[2]) / fmin(t[0], t[1]), 0), 1);
    return ok;
}

/* -- hosts ------------------------------------------------------------------------------------- */

/* Ranks per host, of ranks that stand in equal, consecutive groups. */
static bool count_per_host(const session *s, int *per_host, pl_err *err)
{
    char name[256] = "";
    const int n = s->own->n_ranks;
    int64_t *host = PL_NEW_N(s->arena, int64_t, n), mine;
    if (gethostname(name, sizeof name - 1)) name[0] = 0;
    mine = (int64_t)pl_rng_name(name);
    const pl_message m = { .kind = PL_ALL_GATHER,
                           .type = PL_I64,
                           .count = 1,
                           .send = &mine,
                           .recv = host,
                           .label = "probe" };
    PL_TRY(pl_comm_run(s->comm, s->comm->world, &m, err));
    int k = 1;
    while (k < n && host[k] == host[0]) k++;
    *per_host = k;
    for (int i = 0; i < n; i++) {
        bool starts = i % k == 0;
        if (n % k || (i > 0 && (host[i] != host[i - 1]) != starts))
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "%d ranks, of which the first %d are on one host, but not so the "
                              "others: start equally many on each host, one host after the other",
                              n, k);
    }
    return true;
}

static bool find_levels(session *s, pl_err *err)
{
    pl_measure *o = s->own;
    PL_TRY(count_per_host(s, &o->per_host, err));
    const int k = o->per_host;
    if (k > 1)
        o->level[o->n_levels++] = (pl_measured_level){ .name = "cores", .size = k, .stride = 1 };
    if (k < o->n_ranks)
        o->level[o->n_levels++] =
            (pl_measured_level){ .name = "network", .size = o->n_ranks / k, .stride = k };
    return true;
}

/* -- the whole --------------------------------------------------------------------------------- */

static bool measure_all(session *s, int cores, pl_err *err)
{
    if (s->comm) PL_TRY(find_levels(s, err));
    s->crowded = s->own->per_host * s->own->n_threads > cores;
    PL_TRY(pl_measure_kernels(s, err));
    if (!s->comm) return true;
    for (int i = 0; i < s->own->n_levels; i++) PL_TRY(time_level(s, &s->own->level[i], err));
    return time_collectives(s, err) && time_overlap(s, &s->own->overlap, err);
}

bool pl_measure_run(pl_comm *comm, const pl_kernel_env *env, int cores, bool quick, pl_measure *out,
                    pl_err *err)
{
    session s = { .own = out,
                  .arena = pl_arena_new("probe"),
                  .comm = comm,
                  .rank = comm ? comm->rank : 0,
                  .effort = quick ? 0.1 : 1,
                  .env = *env,
                  .room_bytes = ROOM };
    const pl_device *d = env->backends[0]->device;
    *out = (pl_measure){ .n_ranks = comm ? comm->size : 1,
                         .n_threads = env->n_threads,
                         .per_host = 1 };
    pl_kernel_thread(env->n_threads);
    bool ok = d->stream_new(s.rank, &s.env.stream, err) && d->alloc(s.room_bytes, &s.room, err) &&
              measure_all(&s, cores, err) && pl_measure_meet(&s, err);
    d->free(s.room, s.room_bytes);
    if (s.env.stream) d->stream_free(s.env.stream);
    pl_arena_free(s.arena);
    return ok;
}
