#include "program/program.h"

#include "graph/op.h"
#include "plan/stages.h"
#include "program/lower.h"

pl_store *pl_store_new(const pl_plan *plan, int rank, pl_arena *out)
{
    const pl_graph *g = plan->graph;
    pl_store *s = PL_NEW(out, pl_store);
    int n = 0;
    for (int i = 0; i < g->values.n; i++) n += g->values.at[i]->role == PL_STATE;
    s->state = PL_NEW_N(out, pl_port, n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_STATE) continue;
        pl_port *x = &s->state[s->n++];
        *x = (pl_port){ .value = v };
        x->where = pl_placement_normal(&plan->stored[i], &plan->mesh, &v->shape);
        int64_t *end = x->where.host ? &s->host_bytes : &s->bytes;
        x->slot = (pl_slot){ .state = true, .host = x->where.host, .at = *end };
        x->shape = pl_placement_local(&x->where, &plan->mesh, &v->shape, rank);
        x->region = pl_plan_region(plan, v, rank);
        if (!pl_plan_holds(plan, v, rank)) {
            for (int d = 0; d < x->shape.rank; d++) x->shape.dim[d] = 0;
            continue;
        }
        int64_t room = pl_placement_room(&x->where, &plan->mesh, &v->shape);
        x->bytes = room * pl_type_bytes(v->type);
        *end += (x->bytes + PL_WORK_ALIGN - 1) / PL_WORK_ALIGN * PL_WORK_ALIGN;
    }
    return s;
}

bool pl_program_lower(const pl_plan *plan, int rank, const pl_store *store,
                      const pl_lower_options *options, pl_arena *out, pl_program **program,
                      pl_err *err)
{
    lowering l = { .plan = plan, .store = store, .options = *options, .rank = rank, .out = out };
    pl_program *p = *program = PL_NEW(out, pl_program);
    *p = (pl_program){ .plan = plan, .store = store, .rank = rank };
    p->n_ranks = pl_mesh_ranks(&plan->mesh);
    l.tmp = pl_arena_new("lowering");
    pl_mesh *mesh = PL_NEW(l.tmp, pl_mesh);
    *mesh = pl_stages_mesh(plan);
    l.reshard = options->paths ? pl_paths_on(options->paths, mesh) : pl_reshard_new(mesh, l.tmp);
    l.reshard.mask = true;
    l.reshard.no_strided = options->no_strided;
    if (plan->stages) pl_lower_pipeline(plan, rank, &l.stage, l.tmp);
    bool ok = pl_lower_tasks(&l, err);
    if (ok) pl_lower_steps(&l);
    if (ok) pl_lower_overwrites(&l);
    if (ok) pl_lower_once(&l);
    if (ok) pl_lower_order(&l);
    if (ok && plan->stages) pl_lower_sends(&l);
    ok = ok && pl_lower_spare(&l, p, err);
    ok = ok && pl_lower_places(&l, p, err);
    p->bucket_bytes = l.options.bucket_bytes;
    pl_arena_free(l.tmp);
    return ok;
}
