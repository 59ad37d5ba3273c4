/* States of a device (pl_store_new), and the order of the lowering (pl_program_lower). */
#include "program/program.h"

#include "graph/op.h"
#include "plan/stages.h"
#include "program/lower.h"

/* -- states ------------------------------------------------------------------------------------ */

/* States of one kind, stored alike: their ports differ in the value and the slot alone. */
typedef struct alike {
    pl_placement stored;
    pl_shape shape;
    bool held;
    pl_port port;
    int64_t room; /* elements of the largest part */
} alike;

typedef struct kinds {
    int n, cap;
    alike *at;
    pl_map by_hash;
} kinds;

static alike make_alike(const pl_plan *plan, int rank, const pl_value *v, pl_arena *out)
{
    alike x = { .stored = plan->stored[v->id], .shape = v->shape };
    pl_region *region = PL_NEW(out, pl_region);
    pl_port *port = &x.port;
    x.held = pl_plan_holds(plan, v, rank);
    *region = pl_plan_region(plan, v, rank);
    port->region = region;
    port->where = pl_placement_normal(&x.stored, &plan->mesh, &v->shape);
    port->slot = (pl_slot){ .state = true, .host = port->where.host };
    port->shape = pl_placement_local(&port->where, &plan->mesh, &v->shape, rank);
    for (int d = 0; !x.held && d < port->shape.rank; d++) port->shape.dim[d] = 0;
    x.room = x.held ? pl_placement_room(&port->where, &plan->mesh, &v->shape) : 0;
    return x;
}

static const alike *find_alike(kinds *k, const pl_plan *plan, int rank, const pl_value *v,
                               pl_arena *tmp, pl_arena *out)
{
    const pl_placement *stored = &plan->stored[v->id];
    const bool held = pl_plan_holds(plan, v, rank);
    uint64_t hash = pl_hash_mix(pl_placement_hash(stored), held);
    hash = pl_hash_span(hash, v->shape.dim, (size_t)v->shape.rank * sizeof *v->shape.dim);
    PL_MAP_EACH (&k->by_hash, hash, i) {
        const alike *x = &k->at[i.value];
        if (x->held == held && pl_shape_same(&x->shape, &v->shape) &&
            pl_placement_same(&x->stored, stored))
            return x;
    }
    pl_map_put(&k->by_hash, hash, k->n, tmp);
    const alike made = make_alike(plan, rank, v, out);
    PL_PUSH(tmp, k, made);
    return &k->at[k->n - 1];
}

pl_store *pl_store_new(const pl_plan *plan, int rank, pl_arena *out)
{
    const pl_graph *g = plan->graph;
    pl_arena *tmp = pl_arena_new("kinds of states");
    pl_store *s = PL_NEW(out, pl_store);
    kinds all = { 0 };
    int n = 0;
    for (int i = 0; i < g->values.n; i++) n += g->values.at[i]->role == PL_STATE;
    s->state = PL_NEW_N(out, pl_port, n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_STATE) continue;
        const alike *like = find_alike(&all, plan, rank, v, tmp, out);
        pl_port *x = &s->state[s->n++];
        int64_t *end = like->port.where.host ? &s->host_bytes : &s->bytes;
        *x = like->port;
        x->value = v;
        x->slot.at = *end;
        x->bytes = like->room * pl_type_bytes(v->type);
        *end += (x->bytes + PL_WORK_ALIGN - 1) / PL_WORK_ALIGN * PL_WORK_ALIGN;
    }
    pl_arena_free(tmp);
    return s;
}

/* -- lowering ---------------------------------------------------------------------------------- */

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
    if (ok) p->ahead_bytes = pl_lower_ahead(&l);
    if (ok && plan->stages) pl_lower_sends(&l);
    ok = ok && pl_lower_spare(&l, p, err);
    ok = ok && pl_lower_places(&l, p, err);
    p->bucket_bytes = l.options.bucket_bytes;
    pl_arena_free(l.tmp);
    return ok;
}
