/* Models of checkpoints, started on one device. */
#include "train/infer.h"

#include "ops/lib/all.h"
#include "train/state.h"

#include <string.h>

bool pl_infer_open(const char *path, pl_arena *arena, pl_infer *out, pl_err *err)
{
    *out = (pl_infer){ .arena = arena, .path = path };
    PL_TRY(pl_checkpoint_open(path, arena, &out->from, err));
    if (pl_model_parse(out->from.manifest.model, arena, &out->args, err)) return true;
    pl_infer_free(out);
    return false;
}

void pl_infer_free(pl_infer *m)
{
    if (m->exec) pl_exec_free(m->exec);
    if (m->arena) pl_checkpoint_free(&m->from);
    *m = (pl_infer){ 0 };
}

bool pl_infer_build(pl_infer *m, int64_t rows, void (*add)(pl_builder *b), pl_err *err)
{
    const char *batch = pl_arena_fmt(m->arena, "%lld", (long long)rows);
    pl_model_args args;
    pl_graph *graph;
    PL_TRY(pl_model_set(&m->args, "batch", batch, m->arena, &args, err));
    pl_builder b = pl_builder_new(m->arena, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_INFER);
    if (add && !b.err.code) add(&b);
    PL_TRY(pl_builder_done(&b, &graph, err));
    m->graph = graph;
    return true;
}

bool pl_infer_start(pl_infer *m, const pl_exec_options *exec, pl_err *err)
{
    const pl_lower_options options = { 0 };
    const pl_plan *plan = pl_plan_single(m->graph, m->arena);
    const pl_store *store = pl_store_new(plan, 0, m->arena);
    pl_program *p;
    PL_TRY(pl_program_lower(plan, 0, store, &options, m->arena, &p, err));
    m->program = p;
    PL_TRY(pl_exec_new(exec, NULL, 1, &m->program, m->arena, &m->exec, err));
    return pl_state_load(m->exec, store, &m->from, err) || pl_err_in(err, "%s", m->path);
}

const pl_port *pl_infer_input(const pl_infer *m, const char *name)
{
    return pl_port_find(m->program->n_inputs, m->program->input, name);
}

const pl_port *pl_infer_output(const pl_infer *m, const char *name)
{
    return pl_port_find(m->program->n_outputs, m->program->output, name);
}

void pl_infer_put(pl_infer *m, const pl_port *input, const void *from)
{
    void *to = pl_exec_map(m->exec, input, PL_WRITE);
    if (to) memcpy(to, from, (size_t)pl_value_bytes(input->value));
    pl_exec_unmap(m->exec, input, PL_WRITE, to);
}
