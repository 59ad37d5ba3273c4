#include "probe/measure_kernel.h"

#include "base/clock.h"
#include "base/rng.h"
#include "ops/lib/all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 31,          /* of a kernel, at most             */
    COPY_BYTES = 64 << 20, /* an array of one rank, at most    */
    ALL_BYTES = 1 << 30,   /* the arrays of all ranks together */
};

static const double sample_seconds = 1e-3; /* a sample lasts so long: the clock is coarse       */
static const double kernel_seconds = 0.4;  /* all samples of a kernel; a tenth where it is quick */
static const double most_seconds = 1;      /* no matmul that would take longer                  */

/* -- times ------------------------------------------------------------------------------------- */

typedef void call(void *arg);

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pl_measure_median(int n, double sample[])
{
    qsort(sample, (size_t)n, sizeof *sample, by_size);
    return sample[n / 2];
}

double pl_measured_flops(const pl_measured_kernel *k)
{
    return k->flops / k->seconds;
}

/* Median seconds of a call. Where threads take turns on a core, a sample is within one's turn or
 * has the turns of others in it: then the mean of all. */
static double time_calls(const pl_measure_rank *s, call *fn, void *arg)
{
    double sample[SAMPLES], begin, first;
    const double enough = s->effort * kernel_seconds;
    int n = 0;
    int64_t all = 0;
    fn(arg); /* warms caches, pages and threads */
    begin = pl_clock_now();
    fn(arg);
    first = pl_clock_now() - begin;
    const int calls = first < sample_seconds ? (int)(sample_seconds / fmax(first, 1e-7)) + 1 : 1;
    begin = pl_clock_now();
    do {
        double from = pl_clock_now();
        for (int i = 0; i < calls; i++) fn(arg);
        sample[n++ % SAMPLES] = (pl_clock_now() - from) / calls;
        all += calls;
    } while ((s->crowded || n < SAMPLES) && pl_clock_now() - begin < enough);
    if (s->crowded) return (pl_clock_now() - begin) / (double)all;
    return pl_measure_median(n, sample);
}

void pl_measure_step_run(const pl_measure_step *k)
{
    k->kernel->run(&k->share, k->env, k->state, k->in, k->out, k->scratch);
}

static void run_step(void *arg)
{
    pl_measure_step_run(arg);
}

/* -- nodes ------------------------------------------------------------------------------------- */

/* Random numbers in [-1, 1), the same ones again and again. */
static void *new_numbers(pl_measure_rank *s, pl_type type, const pl_shape *shape, uint64_t stream)
{
    enum { PERIOD = 4096 };
    const int64_t n = pl_shape_count(shape), bytes = pl_type_bytes(type);
    const pl_rng r = pl_rng_at(1, stream);
    char *p = pl_measure_room(s, n * bytes);
    for (int64_t i = 0; i < n && i < PERIOD; i++)
        pl_type_put(type, p, i, 2 * pl_rng_uniform(r, (uint64_t)i) - 1);
    for (int64_t i = PERIOD; i < n; i += PERIOD)
        memcpy(p + i * bytes, p, (size_t)((n - i < PERIOD ? n - i : PERIOD) * bytes));
    return p;
}

/* An element-wise kernel runs over its input, as in training. */
static bool make_step(pl_measure_rank *s, const pl_node *n, pl_arena *a, pl_measure_step *k,
                      const char **name, pl_err *err)
{
    const pl_backend *backend;
    int64_t scratch = 0;
    *k = (pl_measure_step){ .env = &s->env, .share = pl_share_whole(n) };
    PL_TRY(pl_kernel_find(&k->share, &s->env, a, &backend, &k->kernel, NULL, err));
    for (int i = 0; i < n->n_in; i++)
        k->in[i] = new_numbers(s, n->in[i]->type, &n->in[i]->shape, (uint64_t)i);
    int64_t bytes = pl_shape_count(&n->out[0]->shape) * pl_type_bytes(n->out[0]->type);
    k->out[0] = n->op->elementwise ? (void *)(uintptr_t)k->in[0] : pl_measure_room(s, bytes);
    if (k->kernel->make) PL_TRY(k->kernel->make(&k->share, &s->env, &k->state, &scratch, err));
    k->scratch = pl_measure_room(s, scratch);
    *name = pl_arena_fmt(a, "%s/%s", backend->name, k->kernel->name);
    return true;
}

void pl_measure_step_free(pl_measure_step *k)
{
    if (k->kernel && k->kernel->free) k->kernel->free(k->state);
}

/* Adds the node's time, flops and bytes to the row's. */
static bool time_node(pl_measure_rank *s, const pl_node *n, pl_arena *a, pl_measured_kernel *row,
                      pl_err *err)
{
    pl_measure_step k;
    const char *name;
    double seconds = 0;
    PL_TRY(make_step(s, n, a, &k, &name, err));
    snprintf(row->kernel, sizeof row->kernel, "%s", name);
    bool ok = pl_measure_meet(s, err);
    if (ok) seconds = time_calls(s, run_step, &k);
    pl_measure_step_free(&k);
    PL_TRY(ok && pl_measure_slowest(s, &seconds, err));
    row->seconds += seconds;
    row->flops += pl_op_work(&k.share);
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_value *v = pl_node_value(n, o);
        row->bytes += (double)pl_value_bytes(v);
    }
    return true;
}

/* Times the nodes of a graph, which `build` makes, as one row. */
static bool time_graph(pl_measure_rank *s, const char *what, pl_type type, int64_t size,
                       void (*build)(pl_builder *b, pl_type type, int64_t size),
                       pl_measured_kernel *row, pl_err *err)
{
    pl_arena *a = pl_arena_new("probe kernel");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "probe");
    pl_graph *g;
    *row = (pl_measured_kernel){ .what = what, .type = type, .size = size };
    build(&b, type, size);
    bool ok = pl_builder_done(&b, &g, err);
    for (int i = 0; ok && i < g->nodes.n; i++) {
        ok = time_node(s, g->nodes.at[i], a, row, err);
        pl_measure_clear(s);
    }
    PL_ASSERT_CMP(s->own->n_kernels, <, PL_MEASURE_KERNELS);
    if (ok) s->own->kernel[s->own->n_kernels++] = *row;
    pl_arena_free(a);
    return ok;
}

/* -- what is timed ----------------------------------------------------------------------------- */

static void add_output(pl_builder *b, const char *name, pl_value *v)
{
    if (v) pl_add_output(b, name, v);
}

static void add_pair(pl_builder *b, const char *op, const char *spec, pl_type type, pl_shape shape)
{
    pl_value *in[] = { pl_add_input(b, "x", type, shape), pl_add_input(b, "y", type, shape) };
    add_output(b, "z", pl_add_value(b, pl_ops_find(&pl_ops_all, op), NULL, spec, 2, in));
}

/* z = op(x, w), and the gradients of x and w from dz. */
static void add_with_gradients(pl_builder *b, const char *op, const char *spec, pl_type type,
                               pl_shape x, pl_shape w, pl_shape z)
{
    pl_value *in[] = { pl_add_input(b, "x", type, x), pl_add_input(b, "w", type, w) };
    pl_value *dz = pl_add_input(b, "dz", type, z), *d[2] = { 0 };
    pl_value *out = pl_add_value(b, pl_ops_find(&pl_ops_all, op), NULL, spec, 2, in);
    if (out) out->maker->op->grad(b, out->maker, &dz, d);
    add_output(b, "z", out);
    add_output(b, "dx", d[0]);
    add_output(b, "dw", d[1]);
}

static void build_matmul(pl_builder *b, pl_type type, int64_t size)
{
    add_pair(b, "einsum", "mk,kn->mn", type, PL_SHAPE(size, size));
}

static void build_add(pl_builder *b, pl_type type, int64_t size)
{
    add_pair(b, "add", NULL, type, PL_SHAPE(size));
}

static void build_gelu(pl_builder *b, pl_type type, int64_t size)
{
    pl_value *x = pl_add_input(b, "x", type, PL_SHAPE(size));
    add_output(b, "y", pl_add_value(b, pl_ops_find(&pl_ops_all, "gelu"), NULL, NULL, 1, &x));
}

/* A linear layer of `size` inputs, 1024 outputs and its gradients: products of which one operand or
 * the other is transposed, and whose operands come from far away. */
static void build_layer(pl_builder *b, pl_type type, int64_t size)
{
    const int64_t rows = 524288 / size;
    add_with_gradients(b, "einsum", "mk,kn->mn", type, PL_SHAPE(rows, size), PL_SHAPE(size, 1024),
                       PL_SHAPE(rows, 1024));
}

/* One of few rows, as a device has of a split batch: its weights come from far away. A quarter of
 * the flops of build_layer. */
static void build_wide(pl_builder *b, pl_type type, int64_t size)
{
    const int64_t rows = 524288 * 256 / size / size;
    add_with_gradients(b, "einsum", "mk,kn->mn", type, PL_SHAPE(rows, size), PL_SHAPE(size, size),
                       PL_SHAPE(rows, size));
}

/* A convolution of ResNets and its gradients: from 56 x 56 with 64 channels to 7 x 7 with 512, all
 * of as many flops. */
static void build_conv(pl_builder *b, pl_type type, int64_t size)
{
    const int64_t side = 3584 / size;
    const pl_shape image = PL_SHAPE(4, side, side, size);
    add_with_gradients(b, "conv2d", "n[y+r][x+s]c,ocrs->nyxo; pad=1", type, image,
                       PL_SHAPE(size, size, 3, 3), image);
}

/* From tiny, whose time is that of starting a kernel, to large. */
static bool time_matmuls(pl_measure_rank *s, pl_type type, pl_err *err)
{
    static const int64_t sizes[] = { 8, 128, 256, 512, 768, 1024 };
    pl_measured_kernel row = { 0 };
    for (size_t i = type == PL_F32 ? 0 : 1; i < sizeof sizes / sizeof *sizes; i++) {
        if (i > 1 && 8 * row.seconds > s->effort * most_seconds)
            break; /* twice the size takes 8 times as long */
        PL_TRY(time_graph(s, "matmul", type, sizes[i], build_matmul, &row, err));
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

int64_t pl_measure_array(const pl_measure_rank *s)
{
    const int64_t bytes = (int64_t)(s->effort * ALL_BYTES / 4 / s->own->n_ranks);
    return bytes > COPY_BYTES ? COPY_BYTES : bytes < 1 << 20 ? 1 << 20 : bytes;
}

static bool time_memory(pl_measure_rank *s, pl_err *err)
{
    const int64_t bytes = pl_measure_array(s);
    pl_measured_kernel row = {
        .what = "copy", .type = PL_F32, .size = bytes / 4, .bytes = 2 * (double)bytes
    };
    copy_step c = { pl_measure_room(s, bytes), pl_measure_room(s, bytes), bytes, s->env.n_threads };
    memset(c.to, 1, (size_t)bytes);
    memset((char *)(uintptr_t)c.from, 1, (size_t)bytes); /* else all its pages are one of zeros */
    PL_TRY(pl_measure_meet(s, err));
    row.seconds = time_calls(s, run_copy, &c);
    PL_TRY(pl_measure_slowest(s, &row.seconds, err));
    s->own->kernel[s->own->n_kernels++] = row;
    pl_measure_clear(s);
    return time_graph(s, "add", PL_F32, bytes / 4, build_add, &row, err);
}

bool pl_measure_kernels(pl_measure_rank *s, pl_err *err)
{
    pl_measured_kernel row;
    return time_matmuls(s, PL_F32, err) && time_matmuls(s, PL_BF16, err) && time_memory(s, err) &&
           time_graph(s, "gelu", PL_F32, pl_measure_array(s) / 16, build_gelu, &row, err) &&
           time_graph(s, "layer", PL_F32, 256, build_layer, &row, err) &&
           time_graph(s, "layer", PL_F32, 1024, build_layer, &row, err) &&
           time_graph(s, "layer", PL_F32, 2048, build_wide, &row, err) &&
           time_graph(s, "conv", PL_F32, 64, build_conv, &row, err) &&
           time_graph(s, "conv", PL_F32, 128, build_conv, &row, err) &&
           time_graph(s, "conv", PL_F32, 256, build_conv, &row, err) &&
           time_graph(s, "conv", PL_F32, 512, build_conv, &row, err);
}

bool pl_measure_matmul(pl_measure_rank *s, int64_t size, pl_arena *a, pl_measure_step *k,
                       pl_err *err)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "probe");
    pl_graph *g;
    const char *name;
    *k = (pl_measure_step){ 0 };
    build_matmul(&b, PL_F32, size);
    return pl_builder_done(&b, &g, err) && make_step(s, g->nodes.at[0], a, k, &name, err);
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Two arrays are not almost a multiple of 4 KiB apart: a core takes a load for that of a store a
 * little before it when their addresses end alike, and waits. */
void *pl_measure_room(pl_measure_rank *s, int64_t bytes)
{
    const size_t at = s->room_used;
    s->room_used += ((size_t)bytes + 63) / 64 * 64 + 17 * 64;
    PL_ASSERT(s->room_used <= s->room_bytes);
    return s->room + at;
}

void pl_measure_clear(pl_measure_rank *s)
{
    s->room_used = 0;
}
