/* A strategy applied to a graph: inputs and layers are placed as its layouts say, then the states,
 * and all else follows. */
#include "layouts/storage.h"
#include "placement/speed.h"
#include "plan/file.h"
#include "plan/stages.h"

/* With `like` anything that cannot be split is left whole, and what cannot be recomputed kept. */
static bool fill_plan(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                      pl_arena *tmp, pl_err *err)
{
    pl_forward r;
    pl_err why = { 0 };
    if (!pl_storage_inputs(s, p, like ? &why : err) && !like) return false;
    pl_forward_open(&r, s, p, tmp);
    pl_storage_rows(&r);
    pl_storage_like(&r.follow, like);
    pl_forward_walk(&r);
    if (!like) PL_TRY(pl_forward_check(&r, err));
    pl_storage_finish(&r, like);
    pl_propagate_updates(&r.follow);
    r.follow.roam |= pl_strategy_axes(s, PL_AXIS_BACKWARD);
    for (int i = r.n_forward; i < p->graph->nodes.n; i++)
        pl_propagate_node(&r.follow, p->graph->nodes.at[i]);
    for (int i = 0; i < p->graph->values.n; i++)
        if (r.again[i]) pl_plan_keep(p, p->graph->values.at[i], r.again[i], out);
    for (int i = 0; pl_layouts[i]; i++) {
        const pl_layout *x = pl_layouts[i];
        if (x->finish && !x->finish(s, p, like, out, like ? &why : err) && !like) return false;
    }
    if (like && like->stages) p->stages = pl_stages_like(p->graph, like, out);
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
    if (like->stages) p->stages = pl_stages_like(g, like, out);
    pl_plan_propagate(p, like);
    return p;
}

bool pl_strategy_plan(const pl_strategy *s, const pl_graph *g, const pl_plan *like, pl_arena *out,
                      pl_plan **plan, pl_err *err)
{
    if (like && (s->automatic || s->plan_path)) {
        *plan = plan_like(g, like, out);
        return pl_plan_check(*plan, err);
    }
    if (s->automatic)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "strategy 'auto' names no layout: a search finds one (pl_plan_find)");
    if (s->plan_path) {
        PL_ASSERT(s->file); /* pl_strategy_read */
        return pl_plan_file_plan(s->file, g, out, plan, err);
    }
    if (!like && pl_strategy_said(s, "masters") && !pl_graph_has_masters(g))
        return pl_err_set(
            err, PL_EINPUT,
            "strategy '%s': no weight of the model is cast to 16 bits that could have "
            "a master: say dtype=bf16",
            s->text);
    pl_plan *p = *plan = pl_plan_single(g, out);
    p->strategy = s->text;
    p->mesh = s->mesh;
    if (s->cluster) PL_TRY(pl_speed_links(&p->mesh, s->cluster, err));
    pl_arena *tmp = pl_arena_new("strategy");
    bool ok = fill_plan(s, p, like, out, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
