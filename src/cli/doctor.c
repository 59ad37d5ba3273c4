/* pleat doctor: what was found on this machine. Never fails on what is optional. */
#include "backends/native/native.h"
#include "base/cpu.h"
#include "base/table.h"
#include "cli/list.h"
#include "api/launch.h"
#include "layouts/layout.h"
#include "models/model.h"
#include "ops/lib/all.h"
#include "planners/planner.h"
#ifdef PLEAT_HAVE_ONEDNN
#include "backends/onednn/onednn.h"
#endif

#include <dirent.h>
#ifdef PLEAT_HAVE_HWLOC
#include <hwloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct doctor_args {
    bool json;
} doctor_args;

// clang-format off
static const pl_opt opts[] = {
    { "json", PL_OPT_FLAG, offsetof(doctor_args, json), NULL, NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

typedef struct finding {
    pl_text *text;      /* for people                            */
    pl_json_out *facts; /* what --json prints: numbers and names */
} finding;

static void find_cpu(finding *f)
{
    char line[512], *colon;
    const char *name = "unknown";
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
            colon[strcspn(colon, "\n")] = 0;
            name = colon + 2;
            break;
        }
    if (in) fclose(in);
    pl_text_add(f->text, "%s", name);
    pl_json_put_text(f->facts, "cpu", name);
}

/* The native kernels end in an illegal instruction on a lesser processor than that they were
 * compiled for. */
static void find_build(finding *f)
{
    bool lacks = false;
    pl_json_open(f->facts, "cpu_lacks", PL_JSON_LIST);
    for (int i = 0; pl_native_needs[i]; i++) {
        if (pl_cpu_has(pl_native_needs[i])) continue;
        if (!lacks)
            pl_text_add(f->text, "for another CPU: build it here, or with -DPLEAT_NATIVE=OFF; this "
                                 "one lacks");
        lacks = true;
        pl_text_add(f->text, " %s", pl_native_needs[i]);
        pl_json_put_text(f->facts, NULL, pl_native_needs[i]);
    }
    if (!lacks) pl_text_add(f->text, "this CPU has all that it was compiled for");
    pl_json_close(f->facts);
}

static void find_cores(finding *f)
{
    int n = pl_launch_cores();
    pl_text_add(f->text, "%d usable", n);
    pl_json_put_int(f->facts, "cores_usable", n);
#ifdef PLEAT_HAVE_HWLOC
    hwloc_topology_t t;
    if (hwloc_topology_init(&t)) return;
    if (hwloc_topology_load(t) == 0) {
        int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE),
            threads = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU),
            nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
        pl_text_add(f->text, "; machine: %d cores, %d threads, %d memory nodes", cores, threads,
                    nodes);
        PL_JSON_PUT(f->facts, "cores", cores, "threads", threads, "memory_nodes", nodes);
    }
    hwloc_topology_destroy(t);
#endif
}

static void find_memory(finding *f)
{
    double page = (double)sysconf(_SC_PAGESIZE), all = page * (double)sysconf(_SC_PHYS_PAGES);
    double free_bytes = page * (double)sysconf(_SC_AVPHYS_PAGES);
    pl_text_add(f->text, "%.1f GiB, %.1f GiB free", all / 0x1p30, free_bytes / 0x1p30);
    PL_JSON_PUT(f->facts, "memory_bytes", (int64_t)all, "memory_free_bytes", (int64_t)free_bytes);
}

static void find_huge_pages(finding *f)
{
    FILE *in = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    char line[96] = "";
    if (in && !fgets(line, sizeof line, in)) line[0] = 0;
    if (in) fclose(in);
    const bool off = strstr(line, "[never]") != NULL;
    pl_text_add(f->text, off ? "off: training pays for page faults" : *line ? "on" : "unknown");
    if (*line)
        pl_json_put_bool(f->facts, "huge_pages", !off);
    else
        pl_json_put_null(f->facts, "huge_pages");
}

static void find_onednn(finding *f)
{
#ifdef PLEAT_HAVE_ONEDNN
    char isa[256];
    const bool starts = pl_onednn_isa(isa, sizeof isa);
    pl_text_add(f->text, "%s", starts ? isa : "found, does not start");
    pl_json_put_text(f->facts, "onednn", starts ? isa : NULL);
#else
    pl_text_add(f->text, "not built in (install libdnnl-dev): the native kernels are used");
    pl_json_put_null(f->facts, "onednn");
#endif
}

static void find_mpi(finding *f)
{
#ifdef PLEAT_HAVE_MPI
    const bool is_there = true;
#else
    const bool is_there = false;
#endif
    pl_text_add(f->text,
                is_there ? "built in; start with mpirun -n N pleat train ..."
                         : "not built in (install libopenmpi-dev openmpi-bin): ranks are threads");
    pl_json_put_bool(f->facts, "mpi", is_there);
}

static void find_gpu(finding *f)
{
    int n = 0;
    DIR *d = opendir("/dev");
    for (struct dirent *e; d && (e = readdir(d));)
        n += !strncmp(e->d_name, "nvidia", 6) && e->d_name[6] >= '0' && e->d_name[6] <= '9';
    if (d) closedir(d);
    if (n)
        pl_text_add(f->text, "%d NVIDIA device%s seen; this pleat runs on CPUs", n,
                    n > 1 ? "s" : "");
    else
        pl_text_add(f->text, "none (not needed)");
    pl_json_put_int(f->facts, "gpus", n);
}

static void find_built_in(finding *f)
{
    int models = 0;
    while (pl_model_at(models)) models++;
    pl_text_add(f->text, "%d operators, %d models", pl_ops_all.n, models);
    PL_JSON_PUT(f->facts, "operators", pl_ops_all.n, "models", models);
}

static void add_name(finding *f, const char *name)
{
    pl_text_add(f->text, "%s%s", f->text->n ? ", " : "", name);
    pl_json_put_text(f->facts, NULL, name);
}

static void find_layouts(finding *f)
{
    pl_json_open(f->facts, "layouts", PL_JSON_LIST);
    for (int i = 0; pl_layouts[i]; i++) add_name(f, pl_layouts[i]->name);
    pl_json_close(f->facts);
}

static void find_planners(finding *f)
{
    pl_json_open(f->facts, "searches", PL_JSON_LIST);
    for (int i = 0; pl_planners[i]; i++) add_name(f, pl_planners[i]->name);
    pl_json_close(f->facts);
}

static const struct {
    const char *name;
    void (*find)(finding *);
} checks[] = {
    { "cpu", find_cpu },
    { "build", find_build },
    { "cores", find_cores },
    { "memory", find_memory },
    { "huge pages", find_huge_pages },
    { "oneDNN", find_onednn },
    { "MPI", find_mpi },
    { "GPU", find_gpu },
    { "built in", find_built_in },
    { "layouts", find_layouts },
    { "searches", find_planners },
};

static int run(const pl_command *c, int argc, char **argv)
{
    doctor_args a = { 0 };
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 0, 0, NULL, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("doctor");
    pl_json_out facts = pl_json_begin(arena);
    pl_table table = pl_table_new(arena, "\t");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        pl_text text = { .arena = arena };
        checks[i].find(&(finding){ &text, &facts });
        pl_table_add(&table, "%s\t%s", checks[i].name, pl_text_get(&text));
    }
    if (a.json)
        puts(pl_json_end(&facts));
    else
        fputs(pl_table_text(&table), stdout);
    pl_arena_free(arena);
    return PL_OK;
}

const pl_command pl_command_doctor = {
    .name = "doctor",
    .operands = "",
    .about = "what was found on this machine",
    .opts = opts,
    .run = run,
};
