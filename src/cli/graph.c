/* pleat graph: what a model is: operators, parameters, flops, bytes; or its whole text form. */
#include "base/table.h"
#include "cli/list.h"
#include "options/sizes.h"
#include "ops/lib/all.h"
#include "train/optim.h"

#include <stdio.h>
#include <string.h>

typedef struct graph_args {
    const char *optimizer;
    pl_sizes sizes;
    bool json, text, forward;
} graph_args;

#define AT(f) offsetof(graph_args, f)
// clang-format off
static const pl_opt opts[] = {
    PL_SIZES_OPTS(sizes),
    { "optimizer", TEXT(optimizer), "NAME", PL_OPTIM_NAME, "of the training step",
      .needs = "!forward method!=admm" },
    { "forward",   FLAG(forward),   NULL,   NULL,    "the forward pass only" },
    { "text",      FLAG(text),      NULL,   NULL,    "the whole graph, a line per node",
      .needs = "!json" },
    { "json",      FLAG(json),      NULL,   NULL,    "one JSON object on stdout" },
    { 0 },
};
// clang-format on

typedef struct tensors {
    int n;
    int64_t numbers, bytes;
} tensors;

typedef struct summary {
    const pl_graph *graph;
    int n_forward;  /* nodes of the forward pass                        */
    int64_t tokens; /* of a batch; 0: the model reads no text           */
    int count[256]; /* nodes by operator, index into pl_ops_all         */
    double flops[256], flops_forward, flops_backward, flops_all;
    tensors trained, kept,
        optimizer; /* states: weights; what else the forward pass reads; others */
    tensors
        saved; /* made by the forward pass, not of a weight alone, and read by the backward pass */
} summary;

static bool build(const graph_args *a, const char *spec, pl_arena *arena, pl_model_args *args,
                  pl_graph **g, pl_err *err)
{
    PL_TRY(pl_model_parse(pl_sizes_spec(&a->sizes, spec, arena), arena, args, err));
    pl_optim o = pl_optim_usual(a->optimizer);
    o.clip = 0;
    pl_builder b = pl_optim_step(args, a->forward ? NULL : &o, 1, arena);
    return pl_builder_done(&b, g, err);
}

static int find_op(const pl_op *op)
{
    int k = 0;
    while (pl_ops_all.at[k] != op) k++;
    return k;
}

static void add(tensors *t, const pl_value *v)
{
    t->n++;
    t->numbers += pl_shape_count(&v->shape);
    t->bytes += pl_value_bytes(v);
}

static void count_nodes(summary *s)
{
    const pl_graph *g = s->graph;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        pl_share whole = pl_share_whole(n);
        double f = pl_op_flops(&whole);
        int k = find_op(n->op);
        s->count[k]++, s->flops[k] += f, s->flops_all += f;
        if (n->phase == PL_FORWARD) s->n_forward++, s->flops_forward += f;
        if (n->phase == PL_BACKWARD) s->flops_backward += f;
    }
}

static void count_values(summary *s, pl_arena *a)
{
    const pl_graph *g = s->graph;
    bool *forward = PL_NEW_N(a, bool, g->values.n), *later = PL_NEW_N(a, bool, g->values.n);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++)
            (g->nodes.at[i]->phase == PL_FORWARD ? forward : later)[g->nodes.at[i]->in[k]->id] =
                true;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role == PL_STATE)
            add(v->kind == PL_WEIGHT ? &s->trained : forward[i] ? &s->kept : &s->optimizer, v);
        if (v->maker && v->maker->phase == PL_FORWARD && later[i] && !pl_graph_leaf(v))
            add(&s->saved, v);
    }
}

static void print_states(const char *what, const tensors *t, pl_arena *a)
{
    if (t->n)
        printf("  %-12s %lld numbers in %d tensors, %s\n", what, (long long)t->numbers, t->n,
               pl_text_size(a, (double)t->bytes));
}

static void print_summary(const summary *s, pl_arena *a)
{
    const pl_graph *g = s->graph;
    printf("%s\n  parameters   %lld\n", g->name, (long long)pl_graph_params(g));
    print_states("trained", &s->trained, a);
    print_states("not trained", &s->kept, a);
    print_states("optimizer's", &s->optimizer, a);
    printf("  activations  %s saved for the backward pass\n",
           pl_text_size(a, (double)s->saved.bytes));
    printf("  nodes        %d (%d forward)\n", g->nodes.n, s->n_forward);
    printf("  flops        %.4g forward, %.4g backward, %.4g in all\n", s->flops_forward,
           s->flops_backward, s->flops_all);
    if (s->tokens)
        printf("  per token    %.4g forward, %.4g forward and backward\n",
               s->flops_forward / (double)s->tokens,
               (s->flops_forward + s->flops_backward) / (double)s->tokens);
    pl_table t = pl_table_new(a, "  operator\t>nodes\t>flops\t>share");
    for (int k = 0; k < pl_ops_all.n; k++)
        if (s->count[k])
            pl_table_add(&t, "  %s\t%d\t%.4g\t%.2f %%", pl_ops_all.at[k]->name, s->count[k],
                         s->flops[k], s->flops_all > 0 ? 100 * s->flops[k] / s->flops_all : 0);
    printf("\n%s", pl_table_text(&t));
}

/* Data files have tensors of these names and shapes, with rows for the batch. */
static void print_inputs(const pl_graph *g, pl_arena *a)
{
    const char *const own[] = { "lr", "step", "seed" };
    printf("\n  data, a row of each:\n");
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        bool fed = v->role == PL_INPUT && v->shape.rank;
        for (int k = 0; k < 3; k++) fed &= strcmp(v->name, own[k]) != 0;
        if (!fed) continue;
        pl_shape row = { v->shape.rank - 1, { 0 } };
        memcpy(row.dim, v->shape.dim + 1, (size_t)row.rank * sizeof *row.dim);
        const bool image = row.rank == 3 && pl_type_is_float(v->type);
        printf("    %-22s %s%s\n", v->name, pl_shape_text(a, v->type, &row),
               !image                              ? ""
               : row.dim[2] <= 4 && row.dim[0] > 4 ? " (height, width, channels)"
               : row.dim[0] <= 4 && row.dim[2] > 4 ? " (channels, height, width)"
                                                   : "");
    }
}

/* Lines of pl_model_doubts. */
static void print_doubts(const char *doubts)
{
    if (!*doubts) return;
    printf("\n  which tensors train is a guess: the file does not say (examples/pleat_export.py "
           "writes it; --train, --freeze)\n");
    for (size_t n; *doubts; doubts += n + (doubts[n] == '\n')) {
        n = strcspn(doubts, "\n");
        printf("    %.*s\n", (int)n, doubts);
    }
}

static void print_json(const summary *s, pl_arena *a)
{
    pl_json_out out = pl_json_begin(a);
    PL_JSON_PUT(&out, "model", s->graph->name, "params", pl_graph_params(s->graph), "nodes",
                s->graph->nodes.n, "nodes_forward", s->n_forward, "flops", s->flops_all,
                "flops_forward", s->flops_forward, "flops_backward", s->flops_backward);
    if (s->tokens)
        pl_json_put_real(&out, "flops_per_token",
                         (s->flops_forward + s->flops_backward) / (double)s->tokens);
    PL_JSON_PUT(&out, "state_bytes", s->trained.bytes + s->kept.bytes + s->optimizer.bytes,
                "trained_bytes", s->trained.bytes, "activation_bytes", s->saved.bytes);
    pl_json_open(&out, "ops", PL_JSON_OBJECT);
    for (int k = 0; k < pl_ops_all.n; k++) {
        if (!s->count[k]) continue;
        PL_JSON_ROW(&out, pl_ops_all.at[k]->name, "nodes", s->count[k], "flops", s->flops[k]);
    }
    puts(pl_json_end(&out));
}

static bool show(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const graph_args *a = args;
    pl_graph *g;
    pl_model_args m;
    (void)n;
    PL_TRY(build(a, operand[0], arena, &m, &g, err));
    pl_sizes_tell(&m);
    if (a->text) {
        pl_text out = { .arena = arena };
        pl_graph_print(g, &out);
        fputs(pl_text_get(&out), stdout);
        return true;
    }
    summary s = { .graph = g };
    if (!strcmp(m.model->data, "text"))
        s.tokens = pl_model_int(&m, "batch") * pl_model_int(&m, "seq");
    PL_ASSERT_CMP(pl_ops_all.n, <=, 256);
    count_nodes(&s);
    count_values(&s, arena);
    if (a->json)
        print_json(&s, arena);
    else
        print_summary(&s, arena);
    if (!a->json) print_inputs(g, arena);
    if (!a->json) print_doubts(pl_model_doubts(&m));
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(graph_args){ 0 }, 1, 1, show);
}

const pl_command pl_command_graph = {
    .name = "graph",
    .operands = "MODEL",
    .about = "nodes by operator, parameters, flops, bytes; or the text form",
    .opts = opts,
    .run = run,
};
