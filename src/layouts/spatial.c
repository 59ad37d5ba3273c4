/* Spatial parallelism (Dryden et al., IPDPS 2019): axis `spatial` splits the rows of images, the
 * dimension that the first window slides over. That neighbours give each other the border rows of a
 * window follows (reshard/halo.h). */
#include "layouts/list.h"
#include "layouts/strategy.h"

static bool say(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    /* No image's gradient is made by rows: the backward pass is free to split otherwise. */
    return pl_strategy_axis(s, &pl_layout_spatial, "spatial", "spatial", size[0], PL_AXIS_BACKWARD);
}

/* The dimension of an input that the first window slides over, or -1. */
static int find_rows(const pl_graph *g, const pl_value *x)
{
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const pl_operand *o = &g->nodes.at[i]->sig->operand[k];
            for (int d = 0; d < o->rank && pl_graph_leaf(g->nodes.at[i]->in[k]) == x; d++)
                if (o->dim[d].window >= 0) return d;
        }
    return -1;
}

static bool split_images(pl_plan *p, pl_err *err)
{
    const int axis = pl_mesh_find(&p->mesh, "spatial");
    bool split = axis < 0;
    for (int v = 0; v < p->graph->values.n && axis >= 0; v++) {
        const pl_value *x = p->graph->values.at[v];
        int rows = x->role == PL_INPUT && x->shape.rank ? find_rows(p->graph, x) : -1;
        if (rows <= 0) continue;
        pl_placement_split(&p->stored[v], rows, axis);
        split = true;
    }
    return split || pl_err_set(err, PL_EINPUT,
                               "strategy '%s': the graph has no images whose rows %d devices could "
                               "share",
                               p->strategy, p->mesh.axis[axis].size);
}

const pl_layout pl_layout_spatial = {
    .name = "spatial",
    .about = "spatial parallelism (Dryden et al., IPDPS 2019)",
    .words =
        (const pl_word[]){
            { "spatial=", "spatial=N", 1, "spatial",
              "rows of images over axis spatial; windows get their neighbours' border rows", say },
            { 0 },
        },
    .inputs = split_images,
};
