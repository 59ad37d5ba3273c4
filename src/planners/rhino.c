/* Rhino (Zhang et al., arXiv:2302.08141; its implementation is TePDist): tensors split over all
 * devices of a stage at once, and pipelines of 1, 2, 4, ... stages of equally many devices, of
 * which the cheapest is taken (train/pipelines.h asks for each).
 *
 * Within a stage only products and convolutions are decided: each is split, over a factor of its
 * rows, of its columns or of what it sums. All else follows. The least messages are found over the
 * whole graph, as by its highest level; weights are read and changed where they lie. Where more
 * lies on a device from step to step than it has memory, the largest weights that are whole are
 * split, one after the other.
 *
 * Other than published:
 *   - messages are seconds on the mesh's links, not bytes;
 *   - what follows is chosen by the same exact search, and so at least as good as by inference;
 *     there is no need for its cones and segments, which make its integer program small;
 *   - any factor that a signature has can be split, strided or not, also unevenly;
 *   - a pipeline is cut where stages take equally long (layouts/pipeline.c), not where fewest bytes
 *     pass among cuts that share the work out within 8 %, and forecast with its schedule, GPipe's,
 *     by the figures that all plans here are. */
#include "planners/list.h"
#include "planners/rules.h"

/* What lies on a device from step to step. */
static double find_stored(const pl_problem *problem, const int *value, pl_arena *tmp)
{
    const pl_plan *p = pl_problem_plan(problem, value, NULL, "rhino", NULL, tmp);
    double bytes = 0;
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *v = p->graph->values.at[i];
        if (v->maker) continue;
        bytes += (double)pl_placement_room(&p->stored[i], &p->mesh, &v->shape) *
                 (double)pl_type_bytes(v->type);
    }
    return bytes;
}

/* The weight that a product reads; -1: none. */
static int find_weight(const pl_space *s, int var)
{
    const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
    for (int o = 0; o < n->n_in; o++) {
        const pl_value *state = pl_graph_state(n->in[o]);
        if (state && state->kind == PL_WEIGHT) return o;
    }
    return -1;
}

static bool splits_operand(const pl_space *s, int var, int value, const void *with)
{
    const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
    const pl_choice *c = &s->problem->domain[n->id]->choice[value];
    return pl_choice_operand(c, n, s->problem->mesh, *(const int *)with).n > 0;
}

/* Has any copy of the block the operand whole? All of them have the same values to choose from. */
static bool is_whole(const pl_space *s, int var, int operand, const int *value)
{
    const int outside = s->problem->vars[0].n, block = s->problem->vars[1].n;
    const int copies = var < outside ? 1 : s->problem->copies;
    for (int i = 0; i < copies; i++)
        if (!splits_operand(s, var, value[var + i * block], &operand)) return true;
    return false;
}

static bool split_largest(pl_space *s, const int *value)
{
    double most = 0;
    int var = -1, operand = 0;
    for (int v = 0; v < s->n; v++) {
        const int o = pl_rules_product(s, v) ? find_weight(s, v) : -1;
        if (o < 0 || !is_whole(s, v, o, value)) continue;
        const pl_value *w = s->problem->graph->nodes.at[s->var[v]->id]->in[o];
        const double bytes = (double)pl_value_bytes(w);
        if (bytes > most) most = bytes, var = v, operand = o;
    }
    return var >= 0 && pl_space_prefer(s, var, splits_operand, &operand);
}

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    pl_arena *tmp = pl_arena_new("rhino");
    pl_space s = pl_space_new(problem, 0, tmp);
    const unsigned axes = pl_rules_axes(problem->mesh);
    pl_space_still(&s, pl_rules_home);
    pl_space_still(&s, pl_rules_weights);
    pl_space_only(&s, pl_rules_uniform, NULL);
    for (int v = 0; v < s.n; v++)
        if (pl_rules_product(&s, v)) pl_space_prefer(&s, v, pl_rules_split, &axes);
    bool ok = pl_space_min(&s, PL_SPACE_MESSAGES, false, out, answer, err);
    while (ok && find_stored(problem, answer->value, tmp) > cap && split_largest(&s, answer->value))
        ok = pl_space_min(&s, PL_SPACE_MESSAGES, false, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

static int count_micro(int stages)
{
    return 2 * stages - 1;
}

const pl_planner pl_planner_rhino = {
    .name = "rhino",
    .about = "products split over all devices of a stage, in 1, 2, 4, ... stages",
    .source = "Zhang et al., arXiv:2302.08141",
    .run = run,
    .schedule = "gpipe",
    .micro = count_micro,
};
