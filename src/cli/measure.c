#include "cli/measure.h"

#include "base/clock.h"
#include "base/rng.h"
#include "ops/lib/all.h"
#include "run/lane.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SAMPLES = 31, /* of a kernel, at most             */
    FEW = 5,
    MANY = 500,            /* how often a message is sent      */
    COPY_BYTES = 64 << 20, /* an array of one rank, at most    */
    ALL_BYTES = 1 << 30,   /* the arrays of all ranks together */
};

/* The three in the middle are a tenth where it is to be quick. */
static const double sample_seconds = 1e-3;  /* a sample lasts so long: the clock is coarse */
static const double kernel_seconds = 0.4;   /* so long are all samples of a kernel          */
static const double message_seconds = 0.3;  /* and those of a message                       */
static const double overlap_seconds = 0.03; /* and computing and messages side by side        */
static const double most_seconds = 1;       /* no matmul that would take longer             */

/* One rank. */
typedef struct session {
    pl_measure *own; /* every rank has the same in the end */
    pl_arena *arena;
    pl_comm *comm; /* NULL: one rank */
    int rank;
    double effort; /* 1, or less where it is to be quick */
    pl_kernel_env env;
} session;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* -- all ranks together ------------------------------------------------------------------------ */

static bool meet(const session *s, pl_err *err)
{
    const pl_message m = { .kind = PL_BARRIER, .label = "probe" };
    return !s->comm || pl_comm_run(s->comm, s->comm->world, &m, err);
}

/* Makes it that of the slowest rank, on all. */
static bool take_slowest(const session *s, double *seconds, pl_err *err)
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

/* -- kernels ----------------------------------------------------------------------------------- */

typedef void call(void *arg);

/* Median seconds of a call. */
static double time_calls(const session *s, call *fn, void *arg)
{
    double sample[SAMPLES], begin, first;
    int n = 0;
    fn(arg); /* warms caches, pages and threads */
    begin = pl_clock_now();
    fn(arg);
    first = pl_clock_now() - begin;
    const int calls = first < sample_seconds ? (int)(sample_seconds / fmax(first, 1e-7)) + 1 : 1;
    do {
        double from = pl_clock_now();
        for (int i = 0; i < calls; i++) fn(arg);
        sample[n++] = (pl_clock_now() - from) / calls;
    } while (n < SAMPLES && pl_clock_now() - begin < s->effort * kernel_seconds);
    qsort(sample, (size_t)n, sizeof *sample, by_size);
    return sample[n / 2];
}

typedef struct step {
    const pl_kernel *kernel;
    const pl_kernel_env *env;
    pl_share share;
    void *state, *scratch;
    const void *in[2];
    void *out[1];
} step;

static void run_step(void *arg)
{
    step *k = arg;
    k->kernel->run(&k->share, k->env, k->state, k->in, k->out, k->scratch);
}

/* Aligned as run/exec.c has it. */
static void *new_block(pl_arena *a, int64_t bytes)
{
    char *p = pl_arena_get(a, (size_t)bytes + 64, 1);
    return p + (64 - (uintptr_t)p % 64);
}

static bool make_node(const char *op, const char *spec, pl_type type, pl_shape shape, pl_arena *a,
                      const pl_node **out, pl_err *err)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "probe");
    pl_value *in[2];
    pl_graph *g;
    for (int i = 0; i < 2; i++) in[i] = pl_add_input(&b, i ? "y" : "x", type, shape);
    pl_value *z = pl_add_value(&b, pl_ops_find(&pl_ops_all, op), NULL, spec, 2, in);
    if (z) pl_add_output(&b, "z", z);
    PL_TRY(pl_builder_done(&b, &g, err));
    *out = g->nodes.at[0];
    return true;
}

/* Random numbers in [-1, 1), the same ones again and again. */
static void *new_numbers(pl_arena *a, pl_type type, const pl_shape *shape, uint64_t stream)
{
    enum { PERIOD = 4096 };
    const int64_t n = pl_shape_count(shape), bytes = pl_type_bytes(type);
    const pl_rng r = pl_rng_at(1, stream);
    char *p = new_block(a, n * bytes);
    for (int64_t i = 0; i < n && i < PERIOD; i++)
        pl_type_put(type, p, i, 2 * pl_rng_uniform(r, (uint64_t)i) - 1);
    for (int64_t i = PERIOD; i < n; i += PERIOD)
        memcpy(p + i * bytes, p, (size_t)((n - i < PERIOD ? n - i : PERIOD) * bytes));
    return p;
}

/* A node's kernel with everything that a run of it needs. */
static bool make_step(const session *s, const pl_node *n, pl_arena *a, step *k, const char **name,
                      pl_err *err)
{
    const pl_backend *backend;
    int64_t scratch = 0;
    *k = (step){ .env = &s->env, .share = pl_share_whole(n) };
    PL_TRY(pl_kernel_find(s->env.n_backends, s->env.backends, &k->share, &s->env, &backend,
                          &k->kernel, NULL, err));
    for (int i = 0; i < 2; i++)
        k->in[i] = new_numbers(a, n->in[i]->type, &n->in[i]->shape, (uint64_t)i);
    k->out[0] = new_block(a, pl_shape_count(&n->out[0]->shape) * pl_type_bytes(n->out[0]->type));
    if (k->kernel->make) PL_TRY(k->kernel->make(&k->share, &s->env, &k->state, &scratch, err));
    k->scratch = new_block(a, scratch);
    *name = pl_arena_fmt(a, "%s/%s", backend->name, k->kernel->name);
    return true;
}

static void free_step(step *k)
{
    if (k->kernel->free) k->kernel->free(k->state);
}

static bool time_node(session *s, const pl_node *n, pl_arena *a, pl_measured_kernel *row,
                      pl_err *err)
{
    step k;
    const char *name;
    PL_TRY(make_step(s, n, a, &k, &name, err));
    snprintf(row->kernel, sizeof row->kernel, "%s", name);
    bool ok = meet(s, err);
    if (ok) row->seconds = time_calls(s, run_step, &k);
    free_step(&k);
    return ok && take_slowest(s, &row->seconds, err);
}

static void note_kernel(session *s, const pl_measured_kernel *row)
{
    PL_ASSERT_CMP(s->own->n_kernels, <, PL_MEASURE_KERNELS);
    s->own->kernel[s->own->n_kernels++] = *row;
}

static bool time_matmul(session *s, pl_type type, int64_t size, double *seconds, pl_err *err)
{
    const double n = (double)size, bytes = 3 * n * n * (double)pl_type_bytes(type);
    pl_measured_kernel row = {
        .what = "matmul", .type = type, .size = size, .flops = 2 * n * n * n, .bytes = bytes
    };
    pl_arena *a = pl_arena_new("probe matmul");
    const pl_node *node;
    bool ok = make_node("einsum", "mk,kn->mn", type, PL_SHAPE(size, size), a, &node, err) &&
              time_node(s, node, a, &row, err);
    if (ok) note_kernel(s, &row);
    *seconds = row.seconds;
    pl_arena_free(a);
    return ok;
}

/* From tiny, whose time is that of starting a kernel, to large. */
static bool time_matmuls(session *s, pl_type type, pl_err *err)
{
    static const int64_t sizes[] = { 8, 128, 256, 512, 768, 1024 };
    double seconds = 0;
    for (size_t i = type == PL_F32 ? 0 : 1; i < sizeof sizes / sizeof *sizes; i++) {
        if (i > 1 && 8 * seconds > s->effort * most_seconds)
            break; /* twice the size takes 8 times as long */
        PL_TRY(time_matmul(s, type, sizes[i], &seconds, err));
    }
    return true;
}

typedef struct copy_step {
    char *to;
    const char *from;
    int64_t bytes;
    int n_threads;
} copy_step;

static void run_copy(void *arg)
{
    const copy_step *c = arg;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int i = 0; i < c->n_threads; i++) {
        const int64_t lo = c->bytes * i / c->n_threads, hi = c->bytes * (i + 1) / c->n_threads;
        memcpy(c->to + lo, c->from + lo, (size_t)(hi - lo));
    }
}

static bool time_memory(session *s, pl_err *err)
{
    int64_t bytes = (int64_t)(s->effort * ALL_BYTES / 4 / s->own->n_ranks);
    bytes = bytes > COPY_BYTES ? COPY_BYTES : bytes < 1 << 20 ? 1 << 20 : bytes;
    const int64_t count = bytes / 4;
    const double moved = (double)bytes;
    pl_measured_kernel copy = { .what = "copy", .type = PL_F32, .size = count, .bytes = 2 * moved };
    pl_measured_kernel add = { .what = "add", .type = PL_F32, .size = count, .bytes = 3 * moved };
    pl_arena *a = pl_arena_new("probe memory");
    const pl_node *node;
    copy_step c = { new_block(a, bytes), new_block(a, bytes), bytes, s->env.n_threads };
    memset(c.to, 1, (size_t)bytes);
    memset((char *)(uintptr_t)c.from, 1, (size_t)bytes); /* else all its pages are one of zeros */
    bool ok = meet(s, err);
    if (ok) copy.seconds = time_calls(s, run_copy, &c);
    ok = ok && take_slowest(s, &copy.seconds, err) &&
         make_node("add", NULL, PL_F32, PL_SHAPE(count), a, &node, err) &&
         time_node(s, node, a, &add, err);
    if (ok) note_kernel(s, &copy), note_kernel(s, &add);
    pl_arena_free(a);
    return ok;
}

/* -- messages ---------------------------------------------------------------------------------- */

/* `times` times n messages that are under way together: a collective, or a send and a receive.
 * Through the lane, as a step of training has them: the calling thread lets each start, and waits
 * for its end. The first time is not counted: the lane's thread starts. Median seconds. */
static bool time_round(const session *s, int n, const pl_message m[], int times, double *seconds,
                       pl_err *err)
{
    pl_arena *a = pl_arena_new("probe lane");
    pl_lane_message *list = PL_NEW_N(a, pl_lane_message, n * (times + 1));
    double *sample = PL_NEW_N(a, double, times);
    pl_lane *lane = NULL;
    for (int i = 0; i < n * (times + 1); i++)
        list[i] = (pl_lane_message){ m[i % n], s->comm->world, i / n, i - i % n };
    bool ok = meet(s, err) && pl_lane_new(s->comm, a, &lane, err);
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
    ok = ok && pl_lane_agree(lane, err);
    pl_lane_free(lane);
    if (ok) qsort(sample, (size_t)times, sizeof *sample, by_size);
    *seconds = sample[times / 2];
    pl_arena_free(a);
    return ok && take_slowest(s, seconds, err);
}

/* How often is agreed on: each rank must do it as often as the others. */
static bool time_messages(const session *s, int n, const pl_message m[], double *seconds,
                          pl_err *err)
{
    PL_TRY(time_round(s, n, m, FEW, seconds, err));
    const double fit = s->effort * message_seconds / *seconds;
    return time_round(s, n, m, fit < FEW ? FEW : fit > MANY ? MANY : (int)fit, seconds, err);
}

static bool time_level(session *s, pl_measured_level *l, pl_err *err)
{
    const int at = s->rank / l->stride % l->size, first = s->rank - at * l->stride;
    const int next = first + (at + 1) % l->size * l->stride;
    const int last = first + (at + l->size - 1) % l->size * l->stride;
    pl_arena *a = pl_arena_new("probe messages");
    const int64_t most = s->own->n_ranks > 32 ? 1 << 20 : 16 << 20;
    float *from = new_block(a, most), *to = new_block(a, most);
    bool ok = true;
    memset(from, 0, (size_t)most);
    for (int64_t bytes = 1 << 10; ok && bytes <= most; bytes *= 4) {
        const pl_message m[] = {
            { .kind = PL_SEND, .count = bytes / 4, .send = from, .peer = next, .label = "probe" },
            { .kind = PL_RECV, .count = bytes / 4, .recv = to, .peer = last, .label = "probe" },
        };
        double seconds;
        ok = time_messages(s, 2, m, &seconds, err);
        if (ok) l->point[l->n++] = (pl_point){ (double)bytes, seconds };
    }
    pl_arena_free(a);
    return ok;
}

static bool time_collectives(session *s, pl_err *err)
{
    static const pl_message_kind kinds[] = { PL_ALL_REDUCE, PL_ALL_GATHER, PL_REDUCE_SCATTER,
                                             PL_ALL_TO_ALL };
    const int64_t ranks = s->own->n_ranks;
    pl_arena *a = pl_arena_new("probe collectives");
    bool ok = true;
    for (int i = 0; ok && i < PL_MEASURE_CALLS; i++) {
        const pl_message_kind kind = kinds[i / 2];
        const int64_t block = (i % 2 ? 4 << 20 : 64 << 10) / ranks / 64 * 16 + 16; /* elements */
        float *from = new_block(a, 4 * block * ranks), *to = new_block(a, 4 * block * ranks);
        const pl_message m = { .kind = kind,
                               .count = kind == PL_ALL_REDUCE ? block * ranks : block,
                               .send = from,
                               .recv = to,
                               .label = "probe" };
        double seconds;
        memset(from, 0, (size_t)(4 * block * ranks)); /* else all its pages are one of zeros */
        ok = time_messages(s, 1, &m, &seconds, err);
        if (ok) s->own->call[s->own->n_calls++] = (pl_measured_call){ kind, 4 * block, seconds };
    }
    pl_arena_free(a);
    return ok;
}

/* Seconds of so many runs of a kernel alone, of the messages alone, and of both at the same time:
 * medians of this rank. */
static bool time_both(step *k, int runs, pl_lane *lane, int n, const pl_lane_message list[],
                      double seconds[3], pl_err *err)
{
    double sample[3][FEW];
    for (int i = 0; i < 3 * FEW; i++) {
        const int what = i % 3; /* in turn, so that what disturbs disturbs all */
        double from = pl_clock_now();
        if (what) pl_lane_begin(lane, n, list);
        for (int r = 0; what != 1 && r < runs; r++) run_step(k);
        if (what) PL_TRY(pl_lane_wait(lane, n, err));
        sample[what][i / 3] = pl_clock_now() - from;
        PL_TRY(pl_lane_agree(lane, err)); /* ranks start the next together */
    }
    for (int what = 0; what < 3; what++) {
        qsort(sample[what], FEW, sizeof *sample[what], by_size);
        seconds[what] = sample[what][FEW / 2];
    }
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
    float *from = new_block(a, bytes), *to = new_block(a, bytes);
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
    const pl_node *node;
    const char *name;
    step k;
    pl_lane *lane = NULL;
    bool made = make_node("einsum", "mk,kn->mn", PL_F32, PL_SHAPE(matmul->size, matmul->size), a,
                          &node, err) &&
                make_step(s, node, a, &k, &name, err);
    bool ok = made && meet(s, err) && pl_lane_new(s->comm, a, &lane, err) &&
              time_both(&k, runs, lane, 2 * times, list, t, err);
    pl_lane_free(lane);
    for (int i = 0; i < 3; i++) ok = ok && take_slowest(s, &t[i], err);
    if (made) free_step(&k);
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
        o->level[o->n_levels++] = (pl_measured_level){ .name = "memory", .size = k, .stride = 1 };
    if (k < o->n_ranks)
        o->level[o->n_levels++] =
            (pl_measured_level){ .name = "network", .size = o->n_ranks / k, .stride = k };
    return true;
}

/* -- the whole --------------------------------------------------------------------------------- */

static bool measure_rank(session *s, pl_err *err)
{
    PL_TRY(time_matmuls(s, PL_F32, err));
    PL_TRY(time_matmuls(s, PL_BF16, err));
    PL_TRY(time_memory(s, err));
    if (!s->comm) return true;
    PL_TRY(find_levels(s, err));
    for (int i = 0; i < s->own->n_levels; i++) PL_TRY(time_level(s, &s->own->level[i], err));
    return time_collectives(s, err) && time_overlap(s, &s->own->overlap, err);
}

typedef struct start {
    pl_measure *out;
    int first; /* rank of this process */
    double effort;
    pl_kernel_env env;
} start;

static bool run_rank(void *arg, pl_comm *comm, pl_err *err)
{
    const start *from = arg;
    pl_measure own = *from->out;
    session s = { .own = &own,
                  .arena = pl_arena_new("probe"),
                  .comm = comm,
                  .rank = comm ? comm->rank : 0,
                  .effort = from->effort,
                  .env = from->env };
    pl_kernel_thread(s.env.n_threads);
    bool ok = measure_rank(&s, err) && meet(&s, err);
    if (ok && s.rank == from->first) *from->out = own;
    pl_arena_free(s.arena);
    return ok;
}

bool pl_measure_run(pl_world *w, int threads, bool quick, pl_measure *out, pl_err *err)
{
    start s = {
        .out = out, .first = w->rank, .effort = quick ? 0.1 : 1, .env = { .n_threads = threads }
    };
    *out = (pl_measure){ .n_ranks = w->n_ranks, .n_threads = threads, .per_host = 1 };
    s.env.backends = pl_launch_backends("auto", &s.env.n_backends, err);
    return s.env.backends && pl_launch_run(w, run_rank, &s, err);
}
