#include "layouts/strategy.h"

#include "base/file.h"
#include "placement/speed.h"
#include "plan/file.h"
#include "layouts/roles.h"
#include "layouts/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- parse ------------------------------------------------------------------------------------- */

enum {
    DP,
    DDP,
    DP_N,
    ZERO,
    FSDP,
    FSDP_N,
    HSDP,
    HPZ,
    TP,
    TP_2D,
    TP_25D,
    TP_3D,
    SP,
    GRID,
    EP,
    SPATIAL,
    WIDE,
    AUTO,
    PLAN,
    N_WORDS
};

/* A word is a name and sizes AxBxC. Of those that set the same there may be one. */
static const struct {
    const char *name, *form;
    int n_sizes, sets;
    const char *about;
} words[N_WORDS] = {
    [DP] = { "dp", "dp", 0, DP,
             "data parallel: the batch over axis data, which takes the devices left over" },
    [DDP] = { "ddp", "ddp", 0, DP, "the same as dp, PyTorch's name for it" },
    [DP_N] = { "dp=", "dp=N", 1, DP,
               "the same over N devices, which have to be all that are left over" },
    [ZERO] = { "zero=", "zero=1|2|3", 1, ZERO,
               "states over axis data too: optimizer (1), gradients (2), weights (3, FSDP)" },
    [FSDP] = { "fsdp", "fsdp", 0, ZERO, "the same as zero=3, PyTorch's name for it" },
    [FSDP_N] = { "fsdp=", "fsdp=N", 1, HSDP, "the same as hsdp=N" },
    [HSDP] = { "hsdp=", "hsdp=N", 1, HSDP,
               "zero=3 over groups of N, axis shard, and copies over the others, axis data" },
    [HPZ] = { "hpz=", "hpz=N", 1, HSDP,
              "zero=3 over all; groups of N keep what the backward pass reads again (ZeRO++)" },
    [TP] = { "tp=", "tp=N", 1, TP,
             "Megatron: pairs of linear layers by columns, then by rows, over axis tensor" },
    [TP_2D] = { "tp=2d:", "tp=2d:QxQ", 2, TP, "SUMMA (Optimus), over axes row and column" },
    [TP_25D] = { "tp=2.5d:", "tp=2.5d:QxQxD", 3, TP,
                 "Tesseract: SUMMA on each of D layers, axis depth, which split the batch" },
    [TP_3D] = { "tp=3d:", "tp=3d:QxQxQ", 3, TP,
                "3-D: activations, weights and results each split over axes i, j and l" },
    [SP] = { "sp", "sp", 0, SP,
             "with tp=N: between the pairs activations are split over axis tensor too" },
    [GRID] = { "grid:", "grid:AxBxC", 3, TP,
               "any layer [m,k] x [k,n]: A parts of m, B of n, C of k; the next one A, C, B" },
    [EP] = { "ep=", "ep=N", 1, EP,
             "experts of routed layers over axis expert, which splits the batch too" },
    [SPATIAL] = { "spatial=", "spatial=N", 1, SPATIAL,
                  "rows of images over axis spatial; windows get their neighbours' border rows" },
    [WIDE] = { "reduce=f32", "reduce=f32", 0, WIDE,
               "with dtype=bf16: gradients are summed over devices in f32, which is twice the "
               "bytes" },
    [AUTO] = { "auto", "auto", 0, AUTO, "alone: the fastest layout that fits, found by a search" },
    [PLAN] = { "plan=", "plan=FILE", 0, PLAN, "alone: the one that pleat plan -o FILE wrote" },
};

void pl_strategy_words(pl_text *out)
{
    for (int i = 0; i < N_WORDS; i++)
        pl_text_add(out, "  %-14s  %s\n", words[i].form, words[i].about);
}

/* Sizes joined by x, each at least 1. */
static bool read_sizes(const char *at, int n, int size[])
{
    for (int i = 0; i < n; i++) {
        char *end;
        long x = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (x < 1 || x > 1 << 20 || *end != (i + 1 < n ? 'x' : 0)) return false;
        size[i] = (int)x;
        at = end + 1;
    }
    return true;
}

/* What other systems have words for and no layout here does: it begins with one of these. */
static const char *const later[][2] = {
    { "pp", "pipelines are not there yet" },
    { "vpp", "pipelines are not there yet" },
    { "pipeline", "pipelines are not there yet" },
    { "schedule", "pipelines are not there yet" },
    { "cp", "positions of a row cannot be shared yet (sp shares activations beside tp=N)" },
    { "context", "positions of a row cannot be shared yet (sp shares activations beside tp=N)" },
    { "recompute", "activations are not recomputed yet" },
    { "checkpoint", "activations are not recomputed yet" },
    { "offload", "states do not leave their device yet" },
    { "embrace", "sparse gradients of tables are not there yet" },
    { "micro", "micro-batches are an option of train and verify: --micro N" },
};

/* Is the word one of them, alone or with "=..."? */
static bool refuse_later(const char *word, pl_err *err)
{
    const size_t n = strcspn(word, "=:");
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strlen(later[i][0]) == n && !strncmp(word, later[i][0], n)) {
            pl_err_set(err, PL_EUNSUPPORTED, "strategy: '%s': %s", word, later[i][1]);
            return true;
        }
    return false;
}

static bool unknown_word(const char *word, pl_arena *a, pl_err *err)
{
    if (refuse_later(word, err)) return false;
    pl_text forms = { .arena = a };
    pl_near near = { .word = word, .within = 2 };
    for (int i = 0; i < N_WORDS; i++) {
        pl_near_offer(&near, words[i].form);
        pl_text_add(&forms, i ? ", %s" : "%s", words[i].form);
    }
    const char *hint = near.name ? pl_arena_fmt(a, "did you mean '%s'? ", near.name) : "";
    return pl_err_set(err, PL_EUSAGE, "strategy: '%s' is not one of its words (%sthey are: %s)",
                      word, hint, pl_text_get(&forms));
}

static bool find_word(const char *word, pl_arena *a, int *id, int size[3], pl_err *err)
{
    for (int i = 0; i < N_WORDS; i++) {
        size_t n = strlen(words[i].name);
        bool same =
            words[i].n_sizes ? !strncmp(word, words[i].name, n) : !strcmp(word, words[i].name);
        size[0] = size[1] = size[2] = 1;
        if (!same || !read_sizes(word + n, words[i].n_sizes, size)) continue;
        *id = i;
        return true;
    }
    return unknown_word(word, a, err);
}

static void set_grid(pl_strategy *s, int a, int b, int c, bool alternate)
{
    s->grid[0] = a, s->grid[1] = b, s->grid[2] = c;
    s->alternate = alternate;
}

static bool set_word(pl_strategy *s, int id, const int size[3], const char *word, pl_err *err)
{
    bool equal = size[0] == size[1] && (id != TP_3D || size[1] == size[2]);
    if (id == ZERO && size[0] > 3)
        return pl_err_set(err, PL_EUSAGE, "strategy: '%s': there are zero=1, 2 and 3", word);
    if ((id == TP_2D || id == TP_25D || id == TP_3D) && !equal)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy: '%s': its sides have to be equal (grid:AxBxC takes any)",
                          word);
    switch (id) {
    case DP_N: s->data = size[0]; break;
    case ZERO: s->zero = size[0]; break;
    case FSDP: s->zero = 3; break;
    case FSDP_N:
    case HSDP: s->shard = size[0]; break;
    case HPZ:
        s->shard = size[0];
        s->secondary = true;
        break;
    case TP: s->tensor = size[0]; break;
    case TP_2D: set_grid(s, size[0], size[1], 1, false); break;
    case TP_25D:
        set_grid(s, size[0], size[1], 1, false);
        s->depth = size[2];
        break;
    case TP_3D:
    case GRID: set_grid(s, size[0], size[1], size[2], true); break;
    case SP: s->sequence = true; break;
    case EP: s->expert = size[0]; break;
    case SPATIAL: s->spatial = size[0]; break;
    case WIDE: s->wide_sums = true; break;
    default: break;
    }
    return true;
}

static bool read_words(const char *text, pl_arena *a, pl_strategy *s, bool seen[], pl_err *err)
{
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ","), last = n;
        while (last && at[last - 1] == ' ') last--;
        const char *word = pl_arena_span(a, at, last);
        int id = DP, size[3];
        PL_TRY(find_word(word, a, &id, size, err));
        int sets = words[id].sets;
        if (seen[sets])
            return pl_err_set(err, PL_EUSAGE, "strategy '%s': '%s' after another %s", text, word,
                              sets == TP ? "tp or grid" : "of its kind");
        seen[sets] = true;
        PL_TRY(set_word(s, id, size, word, err));
        seen[DP_N] |= id == DP_N;
        at += n;
        if (!*at) return true;
    }
}

enum { N_DEGREES = 9 };

typedef struct degree {
    const char *name, *axis; /* in messages, in the mesh */
    int n;
} degree;

/* In the order of the mesh. */
static void list_degrees(const pl_strategy *s, degree out[N_DEGREES])
{
    const degree all[N_DEGREES] = {
        { "dp", "data", s->data },
        { s->secondary ? "hpz" : "hsdp", "shard", s->shard },
        { "ep", "expert", s->expert },
        { "depth", "depth", s->depth },
        { "spatial", "spatial", s->spatial },
        { "tp", "tensor", s->tensor },
        { "A", s->alternate ? "i" : "row", s->grid[0] },
        { "B", s->alternate ? "j" : "column", s->grid[1] },
        { "C", "l", s->grid[2] },
    };
    memcpy(out, all, sizeof all);
}

/* Devices that the words take, without dp unless it has a size: "tp=2 x ep=4". */
static int64_t count_devices(const pl_strategy *s, bool with_data, pl_text *product)
{
    degree part[N_DEGREES];
    int64_t all = 1;
    list_degrees(s, part);
    for (int i = with_data ? 0 : 1; i < N_DEGREES; i++) {
        if (part[i].n == 1) continue;
        pl_text_add(product, "%s%s=%d", product->n ? " x " : "", part[i].name, part[i].n);
        if (all < INT32_MAX) all *= part[i].n;
    }
    if (!product->n) pl_text_add(product, "1");
    return all;
}

static bool check_degrees(pl_strategy *s, int n, bool data_given, pl_arena *a, pl_err *err)
{
    pl_text product = { .arena = a };
    int64_t all = count_devices(s, data_given, &product);
    if (all > n || (data_given && all != n))
        return pl_err_set(err, PL_EUSAGE, "strategy '%s' takes %s = %lld devices, and there %s %d",
                          s->text, pl_text_get(&product), (long long)all, n == 1 ? "is" : "are", n);
    if (n % all)
        return pl_err_set(
            err, PL_EUSAGE, "strategy '%s': %d devices cannot be divided by %s%s", s->text, n,
            pl_text_get(&product),
            strchr(pl_text_get(&product), ' ') ? pl_arena_fmt(a, " = %lld", (long long)all) : "");
    if (!data_given) s->data = n / (int)all;
    degree part[N_DEGREES];
    int n_axes = 0;
    list_degrees(s, part);
    for (int i = 0; i < N_DEGREES; i++) n_axes += part[i].n > 1;
    if (n_axes > PL_MAX_AXES)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s' on %d devices has %d axes (dp=%d among them), and a mesh "
                          "has at most %d: leave a word out",
                          s->text, n, n_axes, s->data, PL_MAX_AXES);
    if (s->sequence && s->tensor == 1)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': sp splits activations over the devices of tp=N, and "
                          "there are none: add e.g. tp=2",
                          s->text);
    if (s->zero && s->data * s->shard == 1 && n > 1)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': zero=%d splits over dp, and of the %d devices none are "
                          "left for that",
                          s->text, s->zero, n);
    return true;
}

static bool read_file(const char *path, pl_arena *a, pl_strategy *s, pl_err *err)
{
    pl_plan_file *f = PL_NEW(a, pl_plan_file);
    const char *text;
    size_t n;
    PL_TRY(pl_file_read(path, PL_PLAN_FILE_BYTES, a, &text, &n, err));
    if (!pl_plan_file_read(text, n, a, f, err)) return pl_err_in(err, "%s", path);
    s->file = f;
    s->cluster = f->cluster;
    return pl_mesh_ranks(&f->mesh) == s->devices ||
           pl_err_set(err, PL_EINPUT,
                      "%s is a plan for %d devices, and here are %d: give --devices %d", path,
                      pl_mesh_ranks(&f->mesh), s->devices, pl_mesh_ranks(&f->mesh));
}

bool pl_strategy_parse(const char *text, int n_devices, pl_arena *arena, pl_strategy *out,
                       pl_err *err)
{
    bool seen[N_WORDS] = { 0 };
    *out = (pl_strategy){ .text = pl_arena_text(arena, text), .data = 1, .shard = 1, .expert = 1 };
    out->tensor = out->depth = out->spatial = 1;
    set_grid(out, 1, 1, 1, false);
    if (n_devices < 1)
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': for %d devices", text, n_devices);
    out->devices = n_devices;
    if (!strncmp(text, words[PLAN].name, strlen(words[PLAN].name)))
        return read_file(text + strlen(words[PLAN].name), arena, out, err);
    PL_TRY(read_words(text, arena, out, seen, err));
    out->automatic = seen[AUTO];
    if ((seen[AUTO] || seen[PLAN]) && strchr(text, ','))
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': %s stands alone", text,
                          words[seen[AUTO] ? AUTO : PLAN].form);
    if (seen[AUTO]) return true;
    if (seen[HSDP] && out->zero && out->zero < 3)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': hsdp, fsdp=N and hpz are zero=3 already: leave zero=%d "
                          "out",
                          text, out->zero);
    if (seen[HSDP]) out->zero = 3;
    return check_degrees(out, n_devices, seen[DP_N], arena, err);
}

/* -- mesh -------------------------------------------------------------------------------------- */

void pl_strategy_mesh(const pl_strategy *s, pl_mesh *out)
{
    degree part[N_DEGREES];
    *out = (pl_mesh){ 0 };
    if (s->file) {
        *out = s->file->mesh;
        return;
    }
    list_degrees(s, part);
    for (int i = 0; i < N_DEGREES; i++) {
        if (part[i].n == 1) continue;
        out->axis[out->n].size = part[i].n;
        snprintf(out->axis[out->n++].name, sizeof out->axis->name, "%s", part[i].axis);
    }
    if (out->n) return;
    *out = (pl_mesh){ .n = 1, .axis = { { .name = "data", .size = 1 } } };
    if (s->automatic && s->devices > 1)
        *out = (pl_mesh){ .n = 1, .axis = { { .name = "devices", .size = s->devices } } };
}

/* -- plan -------------------------------------------------------------------------------------- */

static bool check_batch(const pl_plan *p, pl_err *err)
{
    static const char *const axes[] = { "data", "shard", "expert" };
    int64_t n = 1;
    for (int k = 0; k < 3; k++) {
        int a = pl_mesh_find(&p->mesh, axes[k]);
        if (a >= 0) n *= p->mesh.axis[a].size;
    }
    for (int i = 0; i < p->graph->values.n; i++)
        if (p->graph->values.at[i]->role == PL_INPUT && p->graph->values.at[i]->shape.rank) n = 1;
    return n == 1 || pl_err_set(err, PL_EINPUT,
                                "strategy '%s': the graph has no input whose rows %lld devices "
                                "could share",
                                p->strategy, (long long)n);
}

static bool check_rows(const pl_plan *p, pl_err *err)
{
    int a = pl_mesh_find(&p->mesh, "spatial");
    bool split = a < 0;
    for (int i = 0; i < p->graph->values.n; i++) split |= pl_placement_find(&p->stored[i], a) >= 0;
    return split || pl_err_set(err, PL_EINPUT,
                               "strategy '%s': the graph has no images whose rows %d devices could "
                               "share",
                               p->strategy, p->mesh.axis[a].size);
}

static bool fill_plan(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *tmp,
                      pl_err *err)
{
    pl_roles r;
    if (!like) PL_TRY(check_batch(p, err));
    pl_states_inputs(p);
    if (!like) PL_TRY(check_rows(p, err));
    pl_roles_init(&r, s, p, tmp);
    if (s->paths) pl_follow_share(&r.follow, s->paths);
    pl_states_like(&r.follow, like);
    pl_roles_walk(&r);
    if (!like) PL_TRY(pl_roles_check(&r, err));
    pl_states_finish(&r, like);
    pl_follow_updates(&r.follow);
    if (r.spatial >= 0) r.follow.roam |= 1u << r.spatial; /* no image's gradient is made by rows */
    for (int i = r.n_forward; i < p->graph->nodes.n; i++)
        pl_follow_node(&r.follow, p->graph->nodes.at[i]);
    return pl_plan_check(p, err);
}

/* A plan of another graph on the mesh of `like`, with the states and inputs that both have where
 * they lie there; all else follows. */
static pl_plan *plan_like(const pl_graph *g, const pl_plan *like, pl_arena *out)
{
    pl_plan *p = pl_plan_single(g, out);
    p->mesh = like->mesh;
    p->strategy = like->strategy;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i],
                       *x = v->maker ? NULL : pl_graph_find(like->graph, v->name);
        if (x && !x->maker && pl_shape_same(&x->shape, &v->shape))
            p->stored[i] = like->stored[x->id];
    }
    pl_plan_follow(p);
    return p;
}

bool pl_strategy_plan(const pl_strategy *s, const pl_graph *g, const pl_plan *like, pl_arena *out,
                      pl_plan **plan, pl_err *err)
{
    if (like && (s->automatic || s->file)) {
        *plan = plan_like(g, like, out);
        return pl_plan_check(*plan, err);
    }
    if (s->file) return pl_plan_file_plan(s->file, g, out, plan, err);
    if (s->automatic)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "strategy 'auto' names no layout: a search finds one (planners/best.h)");
    pl_plan *p = *plan = pl_plan_single(g, out);
    p->strategy = s->text;
    pl_strategy_mesh(s, &p->mesh);
    if (s->cluster) PL_TRY(pl_speed_links(&p->mesh, s->cluster, err));
    pl_arena *tmp = pl_arena_new("strategy");
    bool ok = fill_plan(s, p, like, tmp, err);
    pl_arena_free(tmp);
    return ok;
}

/* -- all --------------------------------------------------------------------------------------- */

typedef struct list {
    pl_arena *arena;
    int devices, n, most;
    const char **text;
} list;

static void add_text(list *l, const char *text)
{
    pl_strategy s;
    pl_err why = { 0 };
    if (l->n < l->most && pl_strategy_parse(text, l->devices, l->arena, &s, &why))
        l->text[l->n++] = text;
}

int pl_strategy_all(int n_devices, bool experts, pl_arena *arena, int most, const char *text[])
{
    static const char *const any[] = {
        "dp",   "zero=1",  "zero=2",      "zero=3",      "hsdp=2",         "hpz=2",
        "tp=2", "tp=2,sp", "zero=1,tp=2", "zero=3,tp=2", "zero=3,tp=2,sp", "hsdp=2,tp=2"
    };
    list l = { arena, n_devices, 0, most, text };
    int n = n_devices;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) add_text(&l, any[i]);
    if (n > 2) {
        add_text(&l, pl_arena_fmt(arena, "tp=%d", n));
        add_text(&l, pl_arena_fmt(arena, "tp=%d,sp", n));
    }
    for (int q = 2; q * q <= n; q++) {
        add_text(&l, pl_arena_fmt(arena, "tp=2d:%dx%d", q, q));
        for (int d = 2; d * q * q <= n; d++)
            add_text(&l, pl_arena_fmt(arena, "tp=2.5d:%dx%dx%d", q, q, d));
        add_text(&l, pl_arena_fmt(arena, "tp=3d:%dx%dx%d", q, q, q));
    }
    for (int a = 1; a <= n; a++)
        for (int b = 1; a * b <= n; b++)
            if (n % (a * b) == 0)
                add_text(&l, pl_arena_fmt(arena, "grid:%dx%dx%d", a, b, n / a / b));
    for (int e = 2; e <= n && experts; e++) add_text(&l, pl_arena_fmt(arena, "ep=%d", e));
    return l.n;
}
