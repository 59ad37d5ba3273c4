/* pleat probe: measures this machine's kernels, memory and messages, and writes them as a cluster
 * file. */
#include "api/probe.h"
#include "base/output.h"
#include "base/table.h"
#include "cli/list.h"

#include <stdio.h>
#include <string.h>

typedef struct probe_args {
    const char *out;
    int64_t devices, threads;
    double timeout;
    bool quick, json;
} probe_args;

#define AT(f) offsetof(probe_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "out",     PATH(out),     "FILE", NULL, "write a cluster file, YAML; -o FILE does too" },
    { "devices", INT(devices),  "N",    NULL, "ranks: threads (one per core), or of mpirun", 1 },
    { "threads", INT(threads),  "N",    NULL, "per rank; default: its share", 1, 4096 },
    { "timeout", REAL(timeout), "SECS", "60", "a rank silent for longer is lost", 0.1 },
    { "quick",   FLAG(quick),   NULL,   NULL, "in a few seconds, and rougher" },
    { "json",    FLAG(json),    NULL,   NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

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
                     k->flops > 0 ? rate_text(a, pl_measured_flops(k), "FLOP/s") : "-",
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
                     time_text(a, m->call[i].seconds),
                     time_text(a, pl_machine_predict(c, &m->call[i])));
    printf("\n%s\n%s\n%.0f %% of the time of messages is hidden when ranks compute\n",
           pl_table_text(&sends), pl_table_text(&calls), 100 * m->overlap);
}

static void print_text(const pl_probe *p, pl_arena *a)
{
    const pl_measure *m = &p->measure;
    const pl_cluster *c = p->cluster;
    printf("%d device%s of %d thread%s, %s each; %d cores usable", m->n_ranks,
           m->n_ranks > 1 ? "s" : "", m->n_threads, m->n_threads > 1 ? "s" : "",
           pl_text_size(a, c->class[0].memory.value), p->machine.cores);
    if (p->machine.all_cores) printf(" of %d", p->machine.all_cores);
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
                    "seconds", k->seconds, "flops_per_second", pl_measured_flops(k),
                    "bytes_per_second", k->bytes / k->seconds, "kernel",
                    *k->kernel ? k->kernel : "memcpy");
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
                    "seconds", x->seconds, "predicted_seconds", pl_machine_predict(c, x));
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
                d->conv_efficiency.value, "attention_efficiency", d->attention_efficiency.value);
    PL_JSON_PUT(out, "vector_flops_per_second", d->vector_flops.value, "kernel_start_seconds",
                d->kernel_start.value, "memory_exposed", d->memory_exposed.value);
    pl_json_close(out);
}

static void print_json(const pl_probe *p, pl_arena *a)
{
    const pl_measure *m = &p->measure;
    const pl_cluster *c = p->cluster;
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
    pl_output file;
    pl_probe *p = PL_NEW(arena, pl_probe);
    if (a->out && w->rank == 0) (void)!pl_output_open(a->out, arena, &file, err);
    PL_TRY(pl_launch_agree(w, err));
    PL_TRY(pl_probe_run(w, (int)a->threads, a->quick, arena, p, err));
    if (w->rank == 0) {
        if (a->json)
            print_json(p, arena);
        else
            print_text(p, arena);
        if (a->out && write_file(p->cluster, &file, arena, err))
            fprintf(stderr, "wrote %s\n", a->out);
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
