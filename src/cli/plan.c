/* pleat plan: how a strategy splits a model: placements, memory of a device, messages; nothing is
 * run and no tensor has memory. */
#include "cli/commands.h"
#include "plan/strategy.h"
#include "program/summary.h"
#include "train/optim.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct plan_args {
    const char *strategy, *cluster, *optimizer;
    int64_t devices, batch, seq, bucket, ahead, steps_over;
    bool json, full;
} plan_args;

#define AT(f) offsetof(plan_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "strategy",  TEXT(strategy),  "TEXT", NULL,    "how it is split; words below" },
    { "cluster",   TEXT(cluster),   "NAME", NULL,    "local:N, N devices of this machine" },
    { "devices",   INT(devices),    "N",    NULL,    "the same as --cluster local:N", 1, 65536 },
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
    pl_summary sum;
    int n;
    group *group;
} view;

/* -- making ------------------------------------------------------------------------------------ */

static bool find_devices(const plan_args *a, int *n, pl_err *err)
{
    int64_t of_cluster = 0;
    if (!a->cluster && !a->devices)
        return pl_err_set(err, PL_EUSAGE, "give --cluster local:N or --devices N");
    if (a->cluster && strncmp(a->cluster, "local:", 6))
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "cluster '%s': `local:N` is what is known yet, N devices of this machine",
                          a->cluster);
    if (a->cluster &&
        (!pl_text_int(a->cluster + 6, &of_cluster) || of_cluster < 1 || of_cluster > 65536))
        return pl_err_set(err, PL_EUSAGE, "--cluster %s: N is a number from 1 to 65536",
                          a->cluster);
    if (a->cluster && a->devices && a->devices != of_cluster)
        return pl_err_set(err, PL_EUSAGE, "--cluster %s and --devices %lld: give one of them",
                          a->cluster, (long long)a->devices);
    *n = (int)(a->cluster ? of_cluster : a->devices);
    return true;
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

static void print_text(const view *v, pl_arena *a)
{
    const pl_mesh *m = &v->plan->mesh;
    int n = pl_mesh_ranks(m);
    printf("%s: %lld parameters, %d nodes\n%s on %d device%s:", v->graph->name,
           (long long)pl_graph_params(v->graph), v->graph->nodes.n, v->plan->strategy, n,
           n == 1 ? "" : "s");
    for (int i = 0; i < m->n; i++) printf(" %s=%d", m->axis[i].name, m->axis[i].size);
    printf("\n\n");
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

static bool show(const plan_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    int n = 0;
    pl_graph *g;
    pl_plan *plan;
    pl_program *program;
    pl_strategy s;
    const pl_lower_options lower = { .bucket_bytes = a->bucket,
                                     .ahead_bytes = a->ahead ? a->ahead : -1,
                                     .step_bytes = a->steps_over };
    PL_TRY(find_devices(a, &n, err));
    if (!a->strategy) return pl_err_set(err, PL_EUSAGE, "--strategy is missing, e.g. dp or tp=2");
    if (a->full && a->json) return pl_err_set(err, PL_EUSAGE, "--full is text: leave out --json");
    PL_TRY(build(a, spec, arena, &g, err));
    PL_TRY(pl_strategy_parse(a->strategy, n, arena, &s, err));
    PL_TRY(pl_strategy_plan(&s, g, NULL, arena, &plan, err));
    if (a->full) {
        pl_text out = { .arena = arena };
        pl_plan_print(plan, &out);
        fputs(pl_text_get(&out), stdout);
        return true;
    }
    const pl_store *store = pl_store_new(plan, 0, arena);
    PL_TRY(pl_program_lower(plan, 0, store, &lower, arena, &program, err));
    view v = { .graph = g, .plan = plan };
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
    .about = "how a strategy splits a model: placements, memory of a device, messages",
    .more = "example: pleat plan gpt2-xl --strategy tp=8,sp,zero=1 --cluster local:64 --batch 64",
    .opts = opts,
    .run = run,
};
