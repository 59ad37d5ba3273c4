/* pleat plan: how a strategy splits a model: placements, memory of a device, messages; nothing is
 * run and no tensor has memory. */
#include "cli/commands.h"
#include "cluster/cluster.h"
#include "plan/auto.h"
#include "plan/strategy.h"
#include "program/summary.h"
#include "train/optim.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct plan_args {
    const char *strategy, *cluster, *optimizer;
    int64_t devices, batch, seq, bucket, ahead, steps_over, memory, axes;
    bool json, full;
} plan_args;

#define AT(f) offsetof(plan_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "strategy",  TEXT(strategy),  "TEXT", "auto",  "how it is split; words below" },
    { "cluster",   TEXT(cluster),   "NAME", NULL,    "devices and links; names below, or a file" },
    { "devices",   INT(devices),    "N",    NULL,    "the same as --cluster local:N", 1, 65536 },
    { "memory",    BYTES(memory),   "SIZE", NULL,    "auto: of a device; default: all it has", 1 },
    { "axes",      INT(axes),       "N",    NULL,    "auto: of a mesh at most; default: 2", 1, 6 },
    { "batch",     INT(batch),      "N",    NULL,    "all devices' rows (model key batch)", 1 },
    { "seq",       INT(seq),        "N",    NULL,    "positions per row (model key seq)", 1 },
    { "optimizer", TEXT(optimizer), "NAME", PL_OPTIM_NAME, "adamw, adam or sgd" },
    { "bucket",    BYTES(bucket),   "SIZE", "16MiB", "gradients reduced in one message", 1 },
    { "gathers-ahead", BYTES(ahead), "SIZE", "32MiB", "weights gathered before they are read" },
    { "gather-steps", BYTES(steps_over), "SIZE", "0",    "larger gathers run in steps; 0: none" },
    { "full",      FLAG(full),      NULL,   NULL,    "the whole plan instead, a line per node" },
    { "json",      FLAG(json),      NULL,   NULL,    "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* Weights that differ by the number of a block only. */
typedef struct group {
    const char *name, *shape, *stored, *used; /* used: where the forward pass reads it */
    int count;
    int64_t bytes; /* of one device, all of them */
} group;

typedef struct view {
    const pl_graph *graph;
    const pl_plan *plan;
    const pl_auto *found; /* NULL: the plan of a strategy */
    pl_summary sum;
    int n;
    group *group;
} view;

/* -- making ------------------------------------------------------------------------------------ */

static bool find_cluster(const plan_args *a, pl_arena *arena, pl_cluster **c, pl_err *err)
{
    if (!a->cluster && !a->devices)
        return pl_err_set(err, PL_EUSAGE, "give --cluster NAME, e.g. 2x8xv100, or --devices N");
    const char *name =
        a->cluster ? a->cluster : pl_arena_fmt(arena, "local:%lld", (long long)a->devices);
    PL_TRY(pl_cluster_find(name, arena, c, err));
    return !a->devices || a->devices == (*c)->n_devices ||
           pl_err_set(err, PL_EUSAGE, "--cluster %s has %d devices, --devices says %lld", name,
                      (*c)->n_devices, (long long)a->devices);
}

static bool build(const plan_args *a, const char *spec, pl_arena *arena, pl_graph **g, pl_err *err)
{
    pl_model_args args;
    const pl_optim o = pl_optim_usual(a->optimizer);
    PL_TRY(pl_model_parse(pl_model_sized(arena, spec, a->batch, a->seq), arena, &args, err));
    pl_builder b = pl_optim_step(&args, &o, arena);
    return pl_builder_done(&b, g, err);
}

static const char *placement_text(const view *v, const pl_placement *p, int rank, pl_arena *arena)
{
    return p->n || p->pending ? pl_placement_text(arena, p, &v->plan->mesh, rank) : "whole";
}

/* [values] where the first forward node that reads it wants it; its own update does not count. */
static pl_placement *find_uses(const view *v, pl_arena *arena)
{
    pl_placement *use = PL_NEW_N(arena, pl_placement, v->graph->values.n + 1);
    for (int i = 0; i < v->graph->values.n; i++) {
        const pl_value *x = v->graph->values.at[i];
        if (x->role == PL_STATE)
            use[i] = pl_placement_normal(&v->plan->stored[i], &v->plan->mesh, &x->shape);
    }
    for (int i = v->graph->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = v->graph->nodes.at[i];
        for (int k = 0; k < n->n_in && !n->of; k++) {
            const pl_value *x = n->in[k];
            if (x->trainable && !(x->next && x->next->maker == n))
                use[x->id] = pl_plan_operand(v->plan, n->id, k);
        }
    }
    return use;
}

static bool is_same_group(const group *a, const group *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->shape, b->shape) &&
           !strcmp(a->stored, b->stored) && !strcmp(a->used, b->used);
}

static void fold_weights(view *v, const pl_store *store, pl_arena *arena)
{
    const pl_placement *use = find_uses(v, arena);
    v->group = PL_NEW_N(arena, group, store->n + 1);
    for (int i = 0; i < store->n; i++) {
        const pl_value *x = store->state[i].value;
        int k = 0, rank = x->shape.rank;
        if (!x->trainable) continue;
        group g = { .name = pl_summary_fold(arena, x->name),
                    .shape = pl_shape_text(arena, x->type, &x->shape),
                    .stored = placement_text(v, &store->state[i].where, rank, arena),
                    .used = placement_text(v, &use[x->id], rank, arena) };
        while (k < v->n && !is_same_group(&v->group[k], &g)) k++;
        if (k == v->n) v->group[v->n++] = g;
        v->group[k].count++;
        v->group[k].bytes += store->state[i].bytes;
    }
}

/* -- telling ----------------------------------------------------------------------------------- */

static int wider(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

static void print_weights(const view *v, pl_arena *a)
{
    int name = 6, shape = 5, stored = 6, used = 4;
    for (int i = 0; i < v->n; i++) {
        name = wider(name, v->group[i].name);
        shape = wider(shape, v->group[i].shape);
        stored = wider(stored, v->group[i].stored);
        used = wider(used, v->group[i].used);
    }
    printf("%-*s  %5s  %-*s  %-*s  %-*s  %10s\n", name, "weight", "", shape, "shape", stored,
           "stored", used, "used", "one device");
    for (int i = 0; i < v->n; i++) {
        const group *g = &v->group[i];
        const char *count = g->count > 1 ? pl_arena_fmt(a, "x%d", g->count) : "";
        printf("%-*s  %5s  %-*s  %-*s  %-*s  %10s\n", name, g->name, count, shape, g->shape, stored,
               g->stored, used, g->used, pl_text_size(a, (double)g->bytes));
    }
}

static void print_memory(const pl_summary *s, pl_arena *a)
{
    int64_t all = s->weights_bytes + s->optimizer_bytes + s->work_bytes;
    printf("\nmemory of the device that holds most\n");
    printf("  weights    %10s\n", pl_text_size(a, (double)s->weights_bytes));
    printf("  optimizer  %10s\n", pl_text_size(a, (double)s->optimizer_bytes));
    printf("  work       %10s  (no layout of this order is below %s)\n",
           pl_text_size(a, (double)s->work_bytes), pl_text_size(a, (double)s->work_bound_bytes));
    printf("  all        %10s\n", pl_text_size(a, (double)all));
}

static void print_messages(const view *v, pl_arena *a)
{
    const pl_summary *s = &v->sum;
    int tensor = 6, axes = 4;
    int64_t count = 0;
    if (!s->n) {
        printf("\nno messages\n");
        return;
    }
    for (int i = 0; i < s->n; i++) {
        tensor = wider(tensor, s->row[i].tensor);
        axes = wider(axes, pl_summary_axes(a, &v->plan->mesh, s->row[i].axes));
        count += s->row[i].count;
    }
    printf("\n%-14s  %-*s  %-*s  %6s  %10s  %10s\n", "message", axes, "over", tensor, "tensor",
           "times", "received", "predicted");
    for (int i = 0; i < s->n; i++) {
        const pl_summary_row *r = &s->row[i];
        printf("%-14s  %-*s  %-*s  %6lld  %10s  %7.3f ms\n", pl_collective_name(r->collective),
               axes, pl_summary_axes(a, &v->plan->mesh, r->axes), tensor, r->tensor,
               (long long)r->count, pl_text_size(a, (double)r->bytes), 1e3 * r->seconds);
    }
    printf("%-14s  %-*s  %-*s  %6lld  %10s  %7.3f ms\n", "one step", axes, "", tensor, "",
           (long long)count, pl_text_size(a, (double)s->message_bytes), 1e3 * s->message_seconds);
}

static const char *mesh_text(const pl_mesh *m, pl_arena *a)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < m->n; i++)
        pl_text_add(&t, "%s%s=%d", i ? " " : "", m->axis[i].name, m->axis[i].size);
    return pl_text_get(&t);
}

static double gap_of(double seconds, double bound)
{
    return seconds > 0 ? 100 * (seconds - bound) / seconds : 0;
}

/* The meshes that were tried, the best first. */
static void print_search(const pl_auto *x, pl_arena *a)
{
    const pl_tables *t = x->mesh[x->best].tables;
    int width = 4;
    printf("\nstep %.3f ms; no plan on these meshes is below %.3f ms (gap %.2f %%)\n",
           1e3 * x->seconds, 1e3 * x->bound, gap_of(x->seconds, x->bound));
    printf("search %.0f ms among 1e%.0f plans", 1e3 * x->search_seconds, t->raw);
    if (t->class >= 0)
        printf("; %d equal blocks of %d nodes count once", t->copies, x->fold.at[t->class].n_nodes);
    printf("\n\n");
    for (int i = 0; i < x->n; i++) width = wider(width, mesh_text(&x->mesh[i].mesh, a));
    printf("%-*s  %12s  %12s  %8s  %10s\n", width, "mesh", "step", "bound", "gap", "memory");
    for (int i = 0; i < x->n; i++) {
        const pl_auto_mesh *m = &x->mesh[i];
        const char *name = mesh_text(&m->mesh, a);
        if (m->fits)
            printf("%-*s  %9.3f ms  %9.3f ms  %6.2f %%  %10s%s\n", width, name, 1e3 * m->seconds,
                   1e3 * m->bound, gap_of(m->seconds, m->bound), pl_text_size(a, m->memory),
                   i == x->best ? "  taken" : "");
        else
            printf("%-*s  nothing fits\n", width, name);
    }
}

static void print_text(const view *v, pl_arena *a)
{
    const pl_mesh *m = &v->plan->mesh;
    int n = pl_mesh_ranks(m);
    printf("%s: %lld parameters, %d nodes\n%s on %d device%s:", v->graph->name,
           (long long)pl_graph_params(v->graph), v->graph->nodes.n, v->plan->strategy, n,
           n == 1 ? "" : "s");
    printf(" %s\n", mesh_text(m, a));
    if (v->found) print_search(v->found, a);
    printf("\n");
    print_weights(v, a);
    print_memory(&v->sum, a);
    print_messages(v, a);
}

static json_t *axes_json(const pl_mesh *m, unsigned axes)
{
    json_t *list = json_array();
    for (int i = 0; i < m->n; i++)
        if (axes >> i & 1) json_array_append_new(list, json_string(m->axis[i].name));
    return list;
}

static json_t *messages_json(const view *v)
{
    json_t *list = json_array();
    for (int i = 0; i < v->sum.n; i++) {
        const pl_summary_row *r = &v->sum.row[i];
        json_t *row =
            json_pack("{s:s, s:o, s:s, s:I, s:I}", "kind", pl_collective_name(r->collective),
                      "axes", axes_json(&v->plan->mesh, r->axes), "tensor", r->tensor, "count",
                      (json_int_t)r->count, "bytes", (json_int_t)r->bytes);
        json_array_append_new(list, row);
    }
    return list;
}

static void print_json(const view *v)
{
    const pl_summary *s = &v->sum;
    const pl_mesh *m = &v->plan->mesh;
    json_t *mesh = json_array();
    for (int i = 0; i < m->n; i++)
        json_array_append_new(
            mesh, json_pack("{s:s, s:i}", "axis", m->axis[i].name, "size", m->axis[i].size));
    json_t *all = json_pack("{s:s, s:{s:s, s:I, s:i}, s:s, s:o, s:{s:I, s:I, s:I, s:I}, s:o, s:I}",
                            "schema", "pleat.plan/1", "model", "name", v->graph->name, "params",
                            (json_int_t)pl_graph_params(v->graph), "nodes", v->graph->nodes.n,
                            "strategy", v->plan->strategy, "mesh", mesh, "per_device",
                            "weights_bytes", (json_int_t)s->weights_bytes, "optimizer_bytes",
                            (json_int_t)s->optimizer_bytes, "work_bytes", (json_int_t)s->work_bytes,
                            "work_bound_bytes", (json_int_t)s->work_bound_bytes, "collectives",
                            messages_json(v), "bytes_per_step", (json_int_t)s->message_bytes);
    PL_ASSERT(all);
    json_dumpf(all, stdout, 0);
    printf("\n");
    json_decref(all);
}

/* The least memory of any device, unless the user says less. */
static double find_memory(const plan_args *a, const pl_cluster *c)
{
    double least = a->memory ? (double)a->memory : INFINITY;
    for (int i = 0; i < c->n_classes; i++) least = fmin(least, c->class[i].memory.value);
    return least;
}

static bool make_plan(const plan_args *a, const pl_strategy *s, const pl_graph *g, pl_arena *arena,
                      view *v, pl_err *err)
{
    pl_plan *plan;
    pl_auto *found;
    const pl_auto_options o = { .memory = find_memory(a, s->cluster), .axes = (int)a->axes };
    if (s->automatic && s->devices > 1) {
        PL_TRY(pl_auto_plan(g, s->cluster, &o, arena, &found, err));
        v->found = found;
        v->plan = found->plan;
        return true;
    }
    PL_TRY(pl_strategy_plan(s, g, NULL, arena, &plan, err));
    v->plan = plan;
    return true;
}

static bool show(const plan_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    pl_cluster *c;
    pl_graph *g;
    pl_program *program;
    pl_strategy s;
    const pl_lower_options lower = { .bucket_bytes = a->bucket,
                                     .ahead_bytes = a->ahead ? a->ahead : -1,
                                     .step_bytes = a->steps_over };
    PL_TRY(find_cluster(a, arena, &c, err));
    if (a->full && a->json) return pl_err_set(err, PL_EUSAGE, "--full is text: leave out --json");
    PL_TRY(build(a, spec, arena, &g, err));
    PL_TRY(pl_strategy_parse(a->strategy, c->n_devices, arena, &s, err));
    s.cluster = c;
    view v = { .graph = g };
    PL_TRY(make_plan(a, &s, g, arena, &v, err));
    if (a->full) {
        pl_text out = { .arena = arena };
        pl_plan_print(v.plan, &out);
        fputs(pl_text_get(&out), stdout);
        return true;
    }
    const pl_store *store = pl_store_new(v.plan, 0, arena);
    PL_TRY(pl_program_lower(v.plan, 0, store, &lower, arena, &program, err));
    pl_summary_make(program, arena, &v.sum);
    fold_weights(&v, store, arena);
    if (a->json)
        print_json(&v);
    else
        print_text(&v, arena);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    plan_args a = { 0 };
    const char *spec;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &spec, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("plan");
    bool ok = show(&a, spec, arena, &err);
    pl_arena_free(arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}

const pl_command pl_command_plan = {
    .name = "plan",
    .operands = "MODEL",
    .about =
        "the fastest way to split a model, or that of a strategy: placements, memory, messages",
    .more = "example: pleat plan gpt2-xl --cluster 2x8xa100 --batch 64\n"
            "         pleat plan gpt2-xl --strategy tp=8,sp,zero=1 --cluster local:64 --batch 64",
    .opts = opts,
    .run = run,
};
