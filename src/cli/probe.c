/* pleat probe: measures this machine's kernels, memory and messages, and writes them as a cluster
 * file. */
#include "base/output.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/measure.h"
#include "cluster/cluster.h"
#include "cluster/unit.h"

#ifdef PLEAT_HAVE_HWLOC
#include <hwloc.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct probe_args {
    const char *out;
    int64_t devices, threads;
    double timeout;
    bool quick, json;
} probe_args;

#define AT(f) offsetof(probe_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "out",     TEXT(out),     "FILE", NULL, "write a cluster file, YAML; -o FILE does too" },
    { "devices", INT(devices),  "N",    NULL, "ranks: threads (one per core), or of mpirun", 1 },
    { "threads", INT(threads),  "N",    NULL, "per rank; default: its share", 1, 4096 },
    { "timeout", REAL(timeout), "SECS", "60", "a rank silent for longer is lost", 0.1 },
    { "quick",   FLAG(quick),   NULL,   NULL, "in a few seconds, and rougher" },
    { "json",    FLAG(json),    NULL,   NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* -- this machine ------------------------------------------------------------------------------ */

typedef struct machine {
    int cores;           /* usable by this process           */
    int all_cores;       /* of the machine; 0: not known     */
    double memory_bytes; /* of the machine                   */
} machine;

static machine look(void)
{
    machine m = { .cores = pl_launch_cores(),
                  .memory_bytes = (double)sysconf(_SC_PAGESIZE) * (double)sysconf(_SC_PHYS_PAGES) };
#ifdef PLEAT_HAVE_HWLOC
    hwloc_topology_t t;
    if (hwloc_topology_init(&t)) return m;
    if (hwloc_topology_load(t) == 0) {
        int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
        double bytes = (double)hwloc_get_root_obj(t)->total_memory;
        if (n > 0) m.all_cores = n;
        if (bytes > 0) m.memory_bytes = bytes;
    }
    hwloc_topology_destroy(t);
#endif
    return m;
}

/* -- from measurements to a cluster ------------------------------------------------------------ */

/* More digits are noise. */
static double four_digits(double x)
{
    return pl_text_round(x, 4);
}

static double flops_of(const pl_measured_kernel *k)
{
    return k->flops / k->seconds;
}

/* The fastest matmul of a type is the peak. */
static const pl_measured_kernel *find_peak(const pl_measure *m, pl_type type)
{
    const pl_measured_kernel *best = NULL;
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        if (strcmp(k->what, "matmul") || k->type != type) continue;
        if (!best || flops_of(k) > flops_of(best)) best = k;
    }
    PL_ASSERT(best);
    return best;
}

static const pl_measured_kernel *find_kernel(const pl_measure *m, const char *what)
{
    for (int i = 0; i < m->n_kernels; i++)
        if (!strcmp(m->kernel[i].what, what)) return &m->kernel[i];
    pl_bug(__FILE__, __LINE__, "no '%s' was measured", what);
}

/* seconds = flops / rate + exposed bytes / stream of f32 kernels of a kind. */
typedef struct product_fit {
    double rate, exposed;
} product_fit;

static bool is_of(const pl_measured_kernel *k, const char *what)
{
    return !strcmp(k->what, what) && k->type == PL_F32;
}

/* The rate that all kernels of a kind reach together, beside what memory is known to take: of noise
 * no more than half. */
static double find_rate(const pl_measure *m, const char *what, double exposed, double stream)
{
    double flops = 0, seconds = 0;
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        if (!is_of(k, what)) continue;
        flops += k->flops;
        seconds += fmax(k->seconds - exposed * k->bytes / stream, k->seconds / 2);
    }
    return flops / seconds;
}

/* Least squares of the errors' shares, exposed in 0 .. 1. */
static product_fit fit_products(const pl_measure *m, const char *what, double stream)
{
    double xx = 0, xy = 0, yy = 0, x = 0, y = 0;
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        if (!is_of(k, what)) continue;
        const double f = k->flops / k->seconds, b = k->bytes / stream / k->seconds;
        xx += f * f, xy += f * b, yy += b * b, x += f, y += b;
    }
    const double exposed = (xx * y - xy * x) / (xx * yy - xy * xy);
    product_fit fit = { 0, exposed > 0 ? fmin(exposed, 1) : 0 };
    fit.rate = find_rate(m, what, fit.exposed, stream);
    return fit;
}

static pl_device_class make_class(const pl_measure *m, const machine *host, pl_arena *a)
{
    const pl_measured_kernel *f32 = find_peak(m, PL_F32), *bf16 = find_peak(m, PL_BF16);
    const pl_measured_kernel *copy = find_kernel(m, "copy"), *add = find_kernel(m, "add");
    const double copied = copy->bytes / copy->seconds, added = add->bytes / add->seconds;
    const double peak = flops_of(f32);
    const product_fit layers = fit_products(m, "layer", added);
    const double convs = find_rate(m, "conv", layers.exposed, added);
    const char *by =
        pl_arena_fmt(a, "measured, %d rank%s of %d thread%s", m->n_ranks, m->n_ranks > 1 ? "s" : "",
                     m->n_threads, m->n_threads > 1 ? "s" : "");
    const double memory = floor(host->memory_bytes / m->per_host / 0x1p20) * 0x1p20;
    return (pl_device_class){
        .name = "cpu",
        .memory = { memory, pl_arena_fmt(a, "1/%d of the machine", m->per_host) },
        .f32_flops = { four_digits(flops_of(f32)),
                       pl_arena_fmt(a, "%s: %s, %lld^3", by, f32->kernel, (long long)f32->size) },
        .bf16_flops = { four_digits(flops_of(bf16)),
                        pl_arena_fmt(a, "%s: %s, %lld^3", by, bf16->kernel,
                                     (long long)bf16->size) },
        .memory_bandwidth = { four_digits(fmax(copied, added)),
                              pl_arena_fmt(a, "%s: %s", by, copied > added ? "copy" : "add") },
        .matmul_efficiency = { four_digits(fmin(layers.rate / peak, 1)),
                               pl_arena_fmt(a, "%s: layers and their gradients", by) },
        .stream_efficiency = { four_digits(added / fmax(copied, added)),
                               pl_arena_fmt(a, "%s: add", by) },
        .conv_efficiency = { four_digits(fmin(convs / peak, 1)),
                             pl_arena_fmt(a, "%s: 3 x 3, with gradients", by) },
        .vector_flops = { four_digits(flops_of(find_kernel(m, "gelu"))),
                          pl_arena_fmt(a, "%s: gelu", by) },
        .kernel_start = { four_digits(m->kernel[0].seconds),
                          pl_arena_fmt(a, "%s: matmul of 8^3", by) },
        .memory_exposed = { four_digits(layers.exposed),
                            pl_arena_fmt(a, "%s: layers of few rows and of many", by) },
    };
}

/* A collective has more hops than a message, and both start once: what does a start cost? From
 * call = start + hops (message - start). */
static double find_start(const pl_measure *m, const pl_link *l)
{
    const pl_measured_call *x = &m->call[0]; /* a short all-reduce */
    const int hops = 2 * (m->n_ranks - 1);
    const double message = pl_link_seconds(l, (double)x->block_bytes);
    const double start = (hops * message - x->seconds) / (hops - 1);
    PL_ASSERT(x->kind == PL_ALL_REDUCE);
    return fmin(fmax(start, 0), l->point[0].seconds);
}

static void make_level(const pl_measured_level *m, const pl_measure *all, pl_arena *a,
                       pl_level *out)
{
    *out =
        (pl_level){ .name = m->name,
                    .size = m->size,
                    .overlap = { four_digits(all->overlap), "measured: messages beside matmuls" },
                    .curve_source = pl_arena_fmt(a, "measured, %d ranks at once", all->n_ranks) };
    out->link.n_points = m->n;
    for (int i = 0; i < m->n; i++)
        out->link.point[i] = (pl_point){ m->point[i].bytes, four_digits(m->point[i].seconds) };
    out->start = (pl_figure){ four_digits(find_start(all, &out->link)),
                              "measured: a message against a short all-reduce" };
}

/* One rank sends nothing: its level keeps the guess of local:1. */
static bool make_cluster(const pl_measure *m, const machine *host, bool mpi, pl_arena *a,
                         pl_cluster **out, pl_err *err)
{
    PL_TRY(pl_cluster_find("local:1", a, out, err));
    pl_cluster *c = *out;
    c->name = pl_arena_fmt(a, "%d %s, probed", m->n_ranks, mpi ? "processes" : "threads");
    c->class[0] = make_class(m, host, a);
    if (m->n_levels) {
        c->level = PL_NEW_N(a, pl_level, m->n_levels);
        c->n_levels = m->n_levels;
        c->n_parts = 0;
    }
    for (int i = 0; i < m->n_levels; i++) make_level(&m->level[i], m, a, &c->level[i]);
    return pl_cluster_finish(c, a, err);
}

/* Seconds of a collective of all ranks by the cluster's numbers: rings, and the copy of the rank's
 * own block. */
static double predict(const pl_cluster *c, const pl_measured_call *x)
{
    const int n = c->n_devices;
    const double block = (double)x->block_bytes;
    const double own = 2 * block / c->class[0].memory_bandwidth.value;
    pl_link l;
    pl_err none = { 0 };
    if (!pl_cluster_axes(c, 1, &n, &l, &none)) pl_bug(__FILE__, __LINE__, "%s", none.msg);
    switch (x->kind) {
    case PL_ALL_REDUCE: return pl_link_hops(&l, 2 * (n - 1), block);
    case PL_ALL_TO_ALL: return l.start + (n - 1) * (l.latency + block * l.exchange_per_byte) + own;
    default: return pl_link_hops(&l, n - 1, block) + own;
    }
}

/* -- telling ----------------------------------------------------------------------------------- */

static const char *rate_text(pl_arena *a, double per_second, const char *unit)
{
    double x = per_second >= 1e12 ? 1e12 : per_second >= 1e9 ? 1e9 : 1e6;
    return pl_arena_fmt(a, "%.4g %s%s", per_second / x, x > 1e9 ? "T" : x > 1e6 ? "G" : "M", unit);
}

static const char *time_text(pl_arena *a, double seconds)
{
    return seconds < 1e-3 ? pl_arena_fmt(a, "%.4g us", 1e6 * seconds)
                          : pl_arena_fmt(a, "%.4g ms", 1e3 * seconds);
}

static void print_kernels(const pl_measure *m, pl_arena *a)
{
    pl_table t = pl_table_new(a, "kernel\ttype\t>size\t>time\t>flops\t>memory\tby");
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        pl_table_add(&t, "%s\t%s\t%lld\t%s\t%s\t%s\t%s", k->what, pl_type_name(k->type),
                     (long long)k->size, time_text(a, k->seconds),
                     k->flops > 0 ? rate_text(a, flops_of(k), "FLOP/s") : "-",
                     rate_text(a, k->bytes / k->seconds, "B/s"), *k->kernel ? k->kernel : "memcpy");
    }
    printf("\n%s", pl_table_text(&t));
}

static void print_messages(const pl_measure *m, const pl_cluster *c, pl_arena *a)
{
    if (!m->n_levels) {
        printf("\none device: no messages\n");
        return;
    }
    pl_table sends = pl_table_new(a, "message over\t>size\t>time\t>line\t>bandwidth");
    pl_table calls = pl_table_new(a, "collective\t>block\t>time\t>predicted");
    for (int i = 0; i < m->n_levels; i++)
        for (int k = 0; k < m->level[i].n; k++) {
            const pl_point *p = &m->level[i].point[k];
            const pl_link *l = &c->level[i].link;
            pl_table_add(&sends, "%s\t%s\t%s\t%s\t%s", m->level[i].name, pl_text_size(a, p->bytes),
                         time_text(a, p->seconds),
                         time_text(a, l->start + l->latency + p->bytes * l->per_byte),
                         rate_text(a, p->bytes / p->seconds, "B/s"));
        }
    for (int i = 0; i < m->n_calls; i++)
        pl_table_add(&calls, "%s\t%s\t%s\t%s", pl_collective_name(m->call[i].kind),
                     pl_text_size(a, (double)m->call[i].block_bytes),
                     time_text(a, m->call[i].seconds), time_text(a, predict(c, &m->call[i])));
    printf("\n%s\n%s\n%.0f %% of the time of messages is hidden when ranks compute\n",
           pl_table_text(&sends), pl_table_text(&calls), 100 * m->overlap);
}

static void print_text(const pl_measure *m, const machine *host, const pl_cluster *c, pl_arena *a)
{
    printf("%d device%s of %d thread%s, %s each; %d cores usable", m->n_ranks,
           m->n_ranks > 1 ? "s" : "", m->n_threads, m->n_threads > 1 ? "s" : "",
           pl_text_size(a, c->class[0].memory.value), host->cores);
    if (host->all_cores) printf(" of %d", host->all_cores);
    printf("\n");
    print_kernels(m, a);
    print_messages(m, c, a);
}

static void put_kernels(const pl_measure *m, pl_json_out *out)
{
    pl_json_open(out, "kernels", PL_JSON_LIST);
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        PL_JSON_ROW(out, NULL, "what", k->what, "type", pl_type_name(k->type), "size", k->size,
                    "seconds", k->seconds, "flops_per_second", flops_of(k), "bytes_per_second",
                    k->bytes / k->seconds, "kernel", *k->kernel ? k->kernel : "memcpy");
    }
    pl_json_close(out);
}

static void put_levels(const pl_measure *m, const pl_cluster *c, pl_json_out *out)
{
    pl_json_open(out, "levels", PL_JSON_LIST);
    for (int i = 0; i < m->n_levels; i++) {
        const pl_measured_level *l = &m->level[i];
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        PL_JSON_PUT(out, "name", l->name, "size", l->size, "latency_seconds",
                    c->level[i].link.latency, "seconds_per_byte", c->level[i].link.per_byte);
        pl_json_open(out, "messages", PL_JSON_LIST);
        for (int k = 0; k < l->n; k++) {
            PL_JSON_ROW(out, NULL, "bytes", l->point[k].bytes, "seconds", l->point[k].seconds);
        }
        pl_json_close(out);
        pl_json_close(out);
    }
    pl_json_close(out);
}

static void put_calls(const pl_measure *m, const pl_cluster *c, pl_json_out *out)
{
    pl_json_open(out, "collectives", PL_JSON_LIST);
    for (int i = 0; i < m->n_calls; i++) {
        const pl_measured_call *x = &m->call[i];
        PL_JSON_ROW(out, NULL, "kind", pl_collective_name(x->kind), "block_bytes", x->block_bytes,
                    "seconds", x->seconds, "predicted_seconds", predict(c, x));
    }
    pl_json_close(out);
}

static void put_device(const pl_device_class *d, pl_json_out *out)
{
    pl_json_open(out, "device", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "memory_bytes", d->memory.value, "f32_flops_per_second", d->f32_flops.value,
                "bf16_flops_per_second", d->bf16_flops.value, "memory_bytes_per_second",
                d->memory_bandwidth.value, "matmul_efficiency", d->matmul_efficiency.value,
                "stream_efficiency", d->stream_efficiency.value, "conv_efficiency",
                d->conv_efficiency.value, "vector_flops_per_second", d->vector_flops.value);
    PL_JSON_PUT(out, "kernel_start_seconds", d->kernel_start.value, "memory_exposed",
                d->memory_exposed.value);
    pl_json_close(out);
}

static void print_json(const pl_measure *m, const pl_cluster *c, pl_arena *a)
{
    pl_json_out out = pl_json_begin(a);
    PL_JSON_PUT(&out, "schema", "pleat.probe/1", "devices", m->n_ranks, "threads", m->n_threads,
                "overlap", m->overlap);
    put_device(&c->class[0], &out);
    put_kernels(m, &out);
    put_levels(m, c, &out);
    put_calls(m, c, &out);
    puts(pl_json_end(&out));
}

/* -- the command ------------------------------------------------------------------------------- */

/* What is written parses, and prints the same: else it is not written. */
static bool write_file(const pl_cluster *c, pl_output *file, pl_arena *a, pl_err *err)
{
    pl_text text = { .arena = a }, again = { .arena = a };
    pl_cluster *back;
    pl_cluster_print(c, &text);
    if (!pl_cluster_parse(text.at, text.n, file->path, a, &back, err))
        pl_bug(__FILE__, __LINE__, "%s", err->msg);
    pl_cluster_print(back, &again);
    PL_ASSERT(!strcmp(text.at, again.at));
    return pl_output_write(file, text.at, text.n, err);
}

static bool probe(const probe_args *a, pl_world *w, pl_arena *arena, pl_err *err)
{
    const machine host = look();
    const int share = host.cores / w->n_local;
    pl_output file;
    pl_measure *m = PL_NEW(arena, pl_measure);
    pl_cluster *c;
    if (a->out && w->rank == 0) (void)!pl_output_open(a->out, arena, &file, err);
    PL_TRY(pl_launch_agree(w, err));
    PL_TRY(pl_measure_run(w,
                          a->threads  ? (int)a->threads
                          : share > 1 ? share
                                      : 1,
                          a->quick, m, err));
    PL_TRY(make_cluster(m, &host, w->mpi, arena, &c, err));
    if (w->rank == 0) {
        if (a->json)
            print_json(m, c, arena);
        else
            print_text(m, &host, c, arena);
        if (a->out && write_file(c, &file, arena, err)) fprintf(stderr, "wrote %s\n", a->out);
    }
    return pl_launch_agree(w, err);
}

/* Without a number and a launcher: a rank for each core. */
static bool open_world(const probe_args *a, pl_world *w, pl_err *err)
{
    int cores = pl_launch_cores();
    PL_TRY(pl_launch_open(a->devices, a->timeout, w, err));
    if (a->devices || w->mpi) return true;
    return pl_launch_open(cores < 256 ? cores : 256, a->timeout, w, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    probe_args a = { 0 };
    pl_err err = { 0 };
    pl_world w = { 0 };
    int n, code;
    char out[] = "--out";
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "-o")) argv[i] = out;
    if (!pl_opt_parse(c, argc, argv, &a, 0, 0, NULL, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("probe");
    if (open_world(&a, &w, &err)) (void)!probe(&a, &w, arena, &err);
    pl_arena_free(arena);
    return pl_launch_close(&w, &err, pl_opt_fail);
}

const pl_command pl_command_probe = {
    .name = "probe",
    .operands = "",
    .about = "measures this machine: kernels, memory, messages; writes a cluster file",
    .more =
        "All ranks measure at the same time, as in training. Takes some 10 seconds; other work\n"
        "on the machine makes the numbers worse.\n"
        "example: pleat probe -o cluster.yaml --devices 2",
    .opts = opts,
    .run = run,
    .computes = true,
};
