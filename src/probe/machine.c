/* From measurements to a cluster: rates are fitted to kernels of a kind (fit_products), curves of
 * links are the messages as they were timed. */
#include "probe/machine.h"

#include "base/text.h"

#ifdef PLEAT_HAVE_HWLOC
#include <hwloc.h>
#endif
#include <math.h>
#include <string.h>
#include <unistd.h>

pl_machine pl_machine_look(int cores)
{
    pl_machine m = { .cores = cores,
                     .memory_bytes =
                         (double)sysconf(_SC_PAGESIZE) * (double)sysconf(_SC_PHYS_PAGES) };
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

/* The fastest matmul of a type is the peak. */
static const pl_measured_kernel *find_peak(const pl_measure *m, pl_type type)
{
    const pl_measured_kernel *best = NULL;
    for (int i = 0; i < m->n_kernels; i++) {
        const pl_measured_kernel *k = &m->kernel[i];
        if (strcmp(k->what, "matmul") || k->type != type) continue;
        if (!best || pl_measured_flops(k) > pl_measured_flops(best)) best = k;
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

static pl_device_class make_class(const pl_measure *m, const pl_machine *host, pl_arena *a)
{
    const pl_measured_kernel *f32 = find_peak(m, PL_F32), *bf16 = find_peak(m, PL_BF16);
    const pl_measured_kernel *copy = find_kernel(m, "copy"), *add = find_kernel(m, "add");
    const double copied = copy->bytes / copy->seconds, added = add->bytes / add->seconds;
    const double peak = pl_measured_flops(f32);
    const product_fit layers = fit_products(m, "layer", added);
    const double convs = find_rate(m, "conv", layers.exposed, added);
    const char *by =
        pl_arena_fmt(a, "measured, %d rank%s of %d thread%s", m->n_ranks, m->n_ranks > 1 ? "s" : "",
                     m->n_threads, m->n_threads > 1 ? "s" : "");
    const double memory = floor(host->memory_bytes / m->per_host / 0x1p20) * 0x1p20;
    return (pl_device_class){
        .name = "cpu",
        .memory = { memory, pl_arena_fmt(a, "1/%d of the machine", m->per_host) },
        .f32_flops = { four_digits(pl_measured_flops(f32)),
                       pl_arena_fmt(a, "%s: %s, %lld^3", by, f32->kernel, (long long)f32->size) },
        .bf16_flops = { four_digits(pl_measured_flops(bf16)),
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
        .vector_flops = { four_digits(pl_measured_flops(find_kernel(m, "gelu"))),
                          pl_arena_fmt(a, "%s: gelu", by) },
        .kernel_start = { four_digits(m->kernel[0].seconds),
                          pl_arena_fmt(a, "%s: matmul of 8^3", by) },
        .memory_exposed = { four_digits(layers.exposed),
                            pl_arena_fmt(a, "%s: layers of few rows and of many", by) },
        .host_memory = { memory, "the same memory as the device's" },
        .host_bandwidth = { four_digits(copied / 2), pl_arena_fmt(a, "%s: copy", by) },
        .host_stream = { four_digits(added), pl_arena_fmt(a, "%s: add", by) },
        .host_overlap = { 0, "none: all cores compute" },
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

bool pl_machine_cluster(const pl_machine *machine, const pl_measure *m, const char *ranks,
                        pl_arena *out, pl_cluster **cluster, pl_err *err)
{
    PL_TRY(pl_cluster_find("local:1", out, cluster, err));
    pl_cluster *c = *cluster;
    c->name = pl_arena_fmt(out, "%d %s, probed", m->n_ranks, ranks);
    c->class[0] = make_class(m, machine, out);
    if (m->n_levels) {
        c->level = PL_NEW_N(out, pl_level, m->n_levels);
        c->n_levels = m->n_levels;
        c->n_parts = 0;
    }
    for (int i = 0; i < m->n_levels; i++) make_level(&m->level[i], m, out, &c->level[i]);
    return pl_cluster_finish(c, out, err);
}

double pl_machine_predict(const pl_cluster *c, const pl_measured_call *x)
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
