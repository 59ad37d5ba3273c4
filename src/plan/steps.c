/* Nodes that do their share in steps, so that a gather's blocks are used as they come:
 * pl_steps_find(). */
#include "plan/steps.h"

static bool has_window(const pl_node *n, int factor)
{
    for (int w = 0; w < n->sig->n_windows; w++)
        if (n->sig->window[w].position == factor || n->sig->window[w].tap == factor) return true;
    return false;
}

/* Devices that share out the factor. */
static int64_t parts_of(const pl_mesh *m, const pl_choice *c, int factor)
{
    int64_t parts = 1;
    for (int a = 0; a < m->n; a++)
        if (c->factor[a] == factor) parts *= m->axis[a].size;
    return parts;
}

bool pl_steps_find(const pl_plan *p, const pl_node *node, int factor, int n, pl_steps *out)
{
    const pl_choice *c = &p->choice[node->id];
    enum { LAST = 127 };
    if (p->mesh.n == PL_MAX_AXES || n < 2 || !pl_share_can_cut(node, factor)) return false;
    for (int f = 0; f < node->sig->n_factors; f++) {
        int64_t parts = parts_of(&p->mesh, c, f) * (f == factor ? n : 1);
        if (node->sig->factor[f].size % parts || (parts > 1 && has_window(node, f))) return false;
    }
    *out = (pl_steps){ .node = node, .factor = factor, .n = n, .mesh = p->mesh, .choice = *c };
    int time = out->mesh.n++;
    out->mesh.axis[time].size = n;
    out->choice.factor[time] = (int8_t)factor;
    out->choice.level[time] = LAST;
    return true;
}

pl_share pl_steps_share(const pl_steps *s, int rank, int i)
{
    return pl_choice_share(&s->choice, s->node, &s->mesh, rank * s->n + i);
}

pl_region pl_steps_region(const pl_steps *s, int o, int rank, int i)
{
    const pl_node *n = s->node;
    pl_placement where = pl_choice_operand(&s->choice, n, &s->mesh, o);
    const pl_value *v = pl_node_value(n, o);
    return pl_region_of(&where, &s->mesh, &v->shape, rank * s->n + i);
}
