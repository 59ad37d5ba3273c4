/* A cluster by its name. Read pl_cluster_find() at the end: local:N, a file, or a size and a
 * kind, for which make() fills in a preset. */
#include "base/file.h"
#include "cluster/kind.h"
#include "cluster/yaml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NEAR = 3 }; /* "did you mean": one letter in so many may differ */

const char *pl_cluster_kinds(pl_arena *arena)
{
    pl_text t = { .arena = arena };
    for (const pl_kind *k = pl_kinds; k->name; k++)
        pl_text_add(&t, "%s%s", k == pl_kinds ? "" : ", ", k->name);
    return pl_text_get(&t);
}

void pl_cluster_words(pl_text *out)
{
    static const char *const forms[][2] = {
        { "NODESxDEVICESxKIND", "2x8xv100: 2 nodes of 8 devices each" },
        { "NxKIND", "64xh100: N devices in nodes of 8; of instances, N nodes" },
        { "local:N", "N ranks of this machine; the numbers are a guess until probed" },
        { "FILE", "YAML or JSON, as pleat probe -o writes" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        pl_text_add(out, "  %-20s %s\n", forms[i][0], forms[i][1]);
    pl_text_add(out, "kinds:\n");
    for (const pl_kind *k = pl_kinds; k->name; k++)
        pl_text_add(out, "  %-20s %s\n", k->name, k->about);
}

/* -- names ------------------------------------------------------------------------------------- */

static bool make(const pl_kind *kind, int nodes, int devices, const char *name, pl_arena *arena,
                 pl_cluster **out, pl_err *err)
{
    pl_cluster *cluster = *out = PL_NEW(arena, pl_cluster);
    cluster->name = name;
    cluster->n_classes = 1;
    cluster->class = PL_NEW(arena, pl_device_class);
    cluster->class[0] = kind->device;
    cluster->n_levels = kind->between.name ? 2 : 1;
    cluster->level = PL_NEW_N(arena, pl_level, 2);
    cluster->level[0] = kind->inside;
    cluster->level[0].size = devices;
    cluster->level[1] = kind->between;
    cluster->level[1].size = nodes;
    if (pl_cluster_finish(cluster, arena, err)) return true;
    err->code = PL_EUSAGE; /* the rows of kinds are right: the counts are not */
    return pl_err_in(err, "cluster '%s'", name);
}

static bool read_count(const char *text, const char *digits, size_t n, int *out, pl_err *err)
{
    int64_t v = 0;
    pl_arena *tmp = pl_arena_new("count");
    bool ok = pl_text_int(pl_arena_span(tmp, digits, n), &v) && v >= 1 && v <= PL_CLUSTER_DEVICES;
    pl_arena_free(tmp);
    *out = (int)v;
    return ok || pl_err_set(err, PL_EUSAGE, "cluster '%.60s': '%.*s' is not a number from 1 to %d",
                            text, n < 40 ? (int)n : 40, digits, PL_CLUSTER_DEVICES);
}

/* The longest name that this one begins with (h100-sxm), else one that differs in few letters;
 * NULL: there is none. */
static const pl_kind *find_near(const char *name)
{
    const pl_kind *near = NULL, *begin = NULL;
    int least = (int)strlen(name) / NEAR + 1;
    for (const pl_kind *k = pl_kinds; k->name; k++) {
        const size_t n = strlen(k->name);
        const int d = pl_text_distance(name, k->name);
        const bool begins = !strncasecmp(name, k->name, n) && !isdigit((unsigned char)name[n]);
        if (begins && (!begin || n > strlen(begin->name))) begin = k;
        if (d < least) least = d, near = k;
    }
    return begin ? begin : near;
}

static const pl_kind *find_kind(const char *text, const char *name, pl_err *err)
{
    for (const pl_kind *k = pl_kinds; k->name; k++)
        if (!strcasecmp(name, k->name)) return k;
    const pl_kind *near = find_near(name);
    pl_arena *tmp = pl_arena_new("kinds");
    pl_err_set(err, PL_EUSAGE,
               "cluster '%.60s': unknown kind '%.40s'%s%s%s (kinds: %s; for any other give a "
               "file, see docs/cluster.md: pleat probe -o FILE writes one to begin with)",
               text, name, near ? ", did you mean '" : "", near ? near->name : "", near ? "'?" : "",
               pl_cluster_kinds(tmp));
    pl_arena_free(tmp);
    return NULL;
}

/* N alone: devices in full nodes, or one node with fewer; of an instance, nodes. */
static bool spread(const pl_kind *kind, const char *text, int n, int *nodes, int *devices,
                   pl_err *err)
{
    *nodes = kind->instance ? n : n > kind->node ? n / kind->node : 1;
    *devices = kind->instance || n > kind->node ? kind->node : n;
    return kind->instance || *nodes * *devices == n ||
           pl_err_set(err, PL_EUSAGE,
                      "cluster '%.60s': %d devices are no whole number of nodes of %d; write "
                      "NODESxDEVICESx%s",
                      text, n, kind->node, kind->name);
}

/* "2x8xv100" or "64xh100". */
static bool find_sized(const char *text, pl_arena *arena, pl_cluster **out, pl_err *err)
{
    int count[2] = { 1, 1 }, n = 0;
    const char *p = text;
    while (n < 2 && isdigit((unsigned char)*p)) {
        size_t digits = strspn(p, "0123456789");
        if (p[digits] != 'x') break;
        PL_TRY(read_count(text, p, digits, &count[n++], err));
        p += digits + 1;
    }
    const pl_kind *k = find_kind(text, p, err);
    if (!k) return false;
    if (n == 1) PL_TRY(spread(k, text, count[0], &count[0], &count[1], err));
    const char *name = pl_arena_fmt(arena, "%dx%dx%s", count[0], count[1], k->name);
    return make(k, count[0], count[1], name, arena, out, err);
}

static bool find_local(const char *text, pl_arena *a, pl_cluster **out, pl_err *err)
{
    int n;
    PL_TRY(read_count(text, text + 6, strlen(text + 6), &n, err));
    return make(&pl_kind_local, 1, n, pl_arena_fmt(a, "local:%d", n), a, out, err);
}

/* -- files ------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static bool find_file(const char *path, pl_arena *arena, pl_cluster **out, pl_err *err)
{
    const char *text;
    size_t n;
    PL_TRY(pl_file_read(path, PL_YAML_BYTES, arena, &text, &n, err));
    return pl_cluster_parse(text, n, path, arena, out, err);
}

bool pl_cluster_find(const char *text, pl_arena *arena, pl_cluster **out, pl_err *err)
{
    const size_t digits = strspn(text, "0123456789");
    if (!strncmp(text, "local:", 6)) return find_local(text, arena, out, err);
    if (strchr(text, '/') || ends_in(text, ".yaml") || ends_in(text, ".yml") ||
        ends_in(text, ".json"))
        return find_file(text, arena, out, err);
    if (digits && text[digits] == 'x') return find_sized(text, arena, out, err);
    if (access(text, F_OK) == 0) return find_file(text, arena, out, err);
    return pl_err_set(
        err, PL_EUSAGE,
        "cluster '%.60s' is no file and no name: write NODESxDEVICESxKIND such as "
        "2x8xv100, NxKIND, or local:N (kinds: %s; for any other give a file: pleat probe -o FILE "
        "writes one to begin with)",
        text, pl_cluster_kinds(arena));
}
