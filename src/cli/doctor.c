/* pleat doctor: what was found on this machine. Never fails on what is optional. */
#include "cli/commands.h"
#include "cli/launch.h"
#include "models/model.h"
#include "ops/lib/all.h"
#include "graph/json.h"
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
    const char *name;
    char text[160];
} finding;

static void find_cpu(finding *f)
{
    char line[512], *colon;
    FILE *in = fopen("/proc/cpuinfo", "r");
    snprintf(f->text, sizeof f->text, "unknown");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
            snprintf(f->text, sizeof f->text, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    if (in) fclose(in);
}

static void find_cores(finding *f)
{
    int n = pl_launch_cores();
    snprintf(f->text, sizeof f->text, "%d usable", n);
#ifdef PLEAT_HAVE_HWLOC
    hwloc_topology_t t;
    if (hwloc_topology_init(&t)) return;
    if (hwloc_topology_load(t) == 0)
        snprintf(
            f->text, sizeof f->text, "%d usable; machine: %d cores, %d threads, %d memory nodes", n,
            hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU),
            hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE));
    hwloc_topology_destroy(t);
#endif
}

static void find_memory(finding *f)
{
    double page = (double)sysconf(_SC_PAGESIZE), all = page * (double)sysconf(_SC_PHYS_PAGES);
    double free_bytes = page * (double)sysconf(_SC_AVPHYS_PAGES);
    snprintf(f->text, sizeof f->text, "%.1f GiB, %.1f GiB free", all / 0x1p30, free_bytes / 0x1p30);
}

static void find_huge_pages(finding *f)
{
    FILE *in = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    char line[96] = "";
    if (in && !fgets(line, sizeof line, in)) line[0] = 0;
    if (in) fclose(in);
    snprintf(f->text, sizeof f->text, "%s",
             strstr(line, "[never]") ? "off: training pays for page faults"
             : *line                 ? "on"
                                     : "unknown");
}

static void find_onednn(finding *f)
{
#ifdef PLEAT_HAVE_ONEDNN
    if (!pl_onednn_isa(f->text, sizeof f->text))
        snprintf(f->text, sizeof f->text, "found, does not start");
#else
    snprintf(f->text, sizeof f->text,
             "not built in (install libdnnl-dev): the native kernels are used");
#endif
}

static void find_mpi(finding *f)
{
#ifdef PLEAT_HAVE_MPI
    snprintf(f->text, sizeof f->text, "built in; start with mpirun -n N pleat train ...");
#else
    snprintf(f->text, sizeof f->text,
             "not built in (install libopenmpi-dev openmpi-bin): ranks are threads");
#endif
}

static void find_gpu(finding *f)
{
    int n = 0;
    DIR *d = opendir("/dev");
    for (struct dirent *e; d && (e = readdir(d));)
        n += !strncmp(e->d_name, "nvidia", 6) && e->d_name[6] >= '0' && e->d_name[6] <= '9';
    if (d) closedir(d);
    if (n)
        snprintf(f->text, sizeof f->text, "%d NVIDIA device%s seen; this pleat runs on CPUs", n,
                 n > 1 ? "s" : "");
    else
        snprintf(f->text, sizeof f->text, "none (not needed)");
}

static void find_built_in(finding *f)
{
    int models = 0;
    while (pl_model_at(models)) models++;
    snprintf(f->text, sizeof f->text, "%d operators, %d models", pl_ops_all.n, models);
}

static const struct {
    const char *name;
    void (*find)(finding *);
} checks[] = {
    { "cpu", find_cpu },       { "cores", find_cores },
    { "memory", find_memory }, { "huge pages", find_huge_pages },
    { "oneDNN", find_onednn }, { "MPI", find_mpi },
    { "GPU", find_gpu },       { "built in", find_built_in },
};

static int run(const pl_command *c, int argc, char **argv)
{
    doctor_args a = { 0 };
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 0, 0, NULL, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("doctor");
    pl_text json = { .arena = arena };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        finding f = { .name = checks[i].name };
        checks[i].find(&f);
        pl_text_add(&json, "%s\"%s\": ", i ? ", " : "{", f.name);
        pl_json_print_text(&json, f.text);
        if (!a.json) printf("%-11s %s\n", f.name, f.text);
    }
    if (a.json) printf("%s}\n", json.at);
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
