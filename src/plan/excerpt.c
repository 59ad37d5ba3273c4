/* The plan of a part of a step: what the whole one's says of it. */
#include "plan/plan.h"

#include "plan/stages.h"

static const pl_stages *take_stages(const pl_stages *s, const pl_excerpt *e, pl_arena *out)
{
    pl_stages *y = PL_NEW(out, pl_stages);
    int *of = PL_NEW_N(out, int, e->graph->nodes.n + 1),
        *home = PL_NEW_N(out, int, e->graph->values.n + 1);
    for (int i = 0; i < e->graph->nodes.n; i++) of[i] = s->of[e->node[i]];
    for (int i = 0; i < e->graph->values.n; i++) home[i] = s->home[e->value[i]];
    *y = (pl_stages){ .axis = s->axis, .order = s->order, .of = of, .home = home };
    return y;
}

pl_plan *pl_plan_excerpt(const pl_plan *p, const pl_excerpt *e, pl_arena *out)
{
    pl_plan *y = pl_plan_single(e->graph, out);
    y->mesh = p->mesh;
    y->strategy = p->strategy;
    for (int i = 0; i < e->graph->nodes.n; i++) {
        y->choice[i] = p->choice[e->node[i]];
        y->on_host[i] = p->on_host[e->node[i]];
    }
    for (int i = 0; i < e->graph->values.n; i++) {
        const int v = e->value[i];
        y->stored[i] = p->stored[v];
        y->kept[i] = p->kept[v];
        y->recompute[i] = p->recompute[v];
    }
    if (p->stages) y->stages = take_stages(p->stages, e, out);
    return y;
}
