/* TAPAS (Shi et al., arXiv:2302.00247: "TAP"): repeated blocks are searched once. In a block each
 * weight has a pattern (copied, split over its input dimension, or over its output dimension), all
 * combinations are enumerated, the tensors in between are routed from pattern to pattern, and what
 * counts is communication. Its full text was not at hand and there is no public code: this follows
 * its abstract and what its readers tell.
 *
 * Other than there, or not known:
 *   - a weight is one of a linear layer (layouts/linear.h); copied means that its layer splits the
 *     activations' own factors (data parallel). The mesh is one axis: every split is over all
 *     devices. Partial results are combined where they are made;
 *   - weights lie where their layer reads them and are changed there (no ZeRO);
 *   - all else follows: it is chosen by an exact search, with equal blocks alike, which is at least
 *     as good as a walk in topological order; products split something wherever they can, as
 *     otherwise, with computing left out, the best would be not to split at all;
 *   - combinations are a tree, and branches whose least is no better than the best one are not
 *     walked: the winner is that of walking all (mostly the first search tells it already);
 *   - weights outside of the block that repeats have no patterns enumerated, they follow. So on a
 *     graph without equal blocks nothing is enumerated;
 *   - messages are seconds by the tables: of those of gradients what is not hidden by computing. */
#include "planners/list.h"
#include "planners/tapas.h"

#include "planners/rules.h"
#include "layouts/linear.h"

#include <math.h>
#include <string.h>

enum { PATTERNS = 3, MOST_COUNTED = 10000 };

typedef struct weight {
    int var;
    bool *legal[PATTERNS]; /* [values] */
    int n_legal[PATTERNS];
} weight;

typedef struct tapas {
    pl_space s;
    pl_arena *tmp;
    int n, cap;
    weight *at;
    bool all; /* count, do not prune */
    bool found;
    pl_answer best;
    pl_tapas_patterns count;
} tapas;

/* -- patterns ---------------------------------------------------------------------------------- */

static bool is_linear(const pl_space *s, int var, pl_linear *l)
{
    if (s->var[var]->kind != PL_VARIABLE_NODE) return false;
    const pl_node *n = s->problem->graph->nodes.at[s->var[var]->id];
    return n->phase == PL_FORWARD && pl_linear_find(n, l) && !l->lookup;
}

/* Values by the factor that they split; a layer that cannot split its activations is copied. */
static void add_weight(tapas *x, int var, const pl_linear *l)
{
    const pl_space *s = &x->s;
    const pl_domain *d = s->problem->domain[s->var[var]->id];
    const uint32_t sets[PATTERNS] = { l->m, l->k, l->n };
    unsigned axes = pl_rules_axes(s->problem->mesh);
    int axis = 0;
    weight w = { .var = var };
    while (!(axes >> axis & 1) && axis + 1 < s->problem->mesh->n) axis++;
    for (int p = 0; p < PATTERNS; p++) {
        w.legal[p] = PL_NEW_N(x->tmp, bool, d->n);
        for (int i = 0; i < d->n; i++) {
            int f = d->choice[i].factor[axis];
            w.legal[p][i] = s->keep[var][i] && f >= 0 && sets[p] >> f & 1;
            w.n_legal[p] += w.legal[p][i];
        }
    }
    for (int i = 0; i < d->n && !w.n_legal[0]; i++)
        w.legal[0][i] = s->keep[var][i] && pl_rules_copied(s, var, i, NULL);
    if (!w.n_legal[0]) w.n_legal[0] = 1;
    PL_PUSH(x->tmp, x, w);
}

/* The weights of the block have the union of their patterns until one is tried. */
static void open_space(tapas *x, const pl_problem *problem)
{
    unsigned axes = pl_rules_axes(problem->mesh);
    pl_linear l;
    x->s = pl_space_new(problem, 1, x->tmp);
    pl_space_still(&x->s, pl_rules_home);
    pl_space_still(&x->s, pl_rules_weights);
    pl_space_only(&x->s, pl_rules_uniform, NULL);
    for (int v = problem->vars[0].n; v < x->s.n; v++)
        if (is_linear(&x->s, v, &l)) add_weight(x, v, &l);
    for (int v = 0; v < x->s.n; v++)
        if (pl_rules_product(&x->s, v)) pl_space_prefer(&x->s, v, pl_rules_split, &axes);
    for (int i = 0; i < x->n; i++) {
        weight *w = &x->at[i];
        for (int k = 0; k < x->s.var[w->var]->n; k++)
            x->s.keep[w->var][k] = w->legal[0][k] || w->legal[1][k] || w->legal[2][k];
    }
    x->count = (pl_tapas_patterns){ .weights = x->n, .candidates = 1 };
    for (int i = 0; i < x->n; i++) {
        int patterns = 0;
        for (int p = 0; p < PATTERNS; p++) patterns += x->at[i].n_legal[p] > 0;
        x->count.candidates *= patterns;
    }
}

/* -- combinations ------------------------------------------------------------------------------ */

/* All else under what is open so far. Whatever it is, it is a plan of one combination; and no
 * combination that is still open is below its bound. False: there is none, or none better. */
static bool route(tapas *x, bool last)
{
    pl_answer a;
    pl_err why = { 0 };
    x->count.tried++;
    if (!pl_space_min(&x->s, PL_SPACE_MESSAGES, true, x->tmp, &a, &why)) return false;
    x->count.valid += last;
    if (!x->found || a.time < x->best.time) x->best = a;
    x->found = true;
    return a.bound < x->best.time * (1 - 1e-9);
}

static void walk(tapas *x, int depth)
{
    bool last = depth == x->n;
    if ((last || !x->all) && !route(x, last) && !x->all) return;
    if (last) return;
    const weight *w = &x->at[depth];
    bool *open = x->s.keep[w->var];
    for (int p = 0; p < PATTERNS; p++) {
        x->s.keep[w->var] = w->legal[p];
        if (w->n_legal[p]) walk(x, depth + 1);
    }
    x->s.keep[w->var] = open;
}

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    pl_arena *tmp = pl_arena_new("patterns");
    int64_t n = pl_chain_variables(&problem->chain);
    tapas x = { .tmp = tmp };
    (void)cap;
    open_space(&x, problem);
    walk(&x, 0);
    *answer = x.best;
    answer->value = PL_NEW_N(out, int, n + 1);
    if (x.found && n) memcpy(answer->value, x.best.value, (size_t)n * sizeof(int));
    pl_arena_free(tmp);
    if (x.found) return true;
    return pl_err_set(err, PL_EINFEASIBLE, "none of %.0f combinations of patterns has a way",
                      x.count.candidates);
}

bool pl_tapas_count(const pl_problem *problem, pl_tapas_patterns *out, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("patterns");
    tapas x = { .tmp = tmp, .all = true };
    open_space(&x, problem);
    bool ok = x.count.candidates <= MOST_COUNTED;
    if (ok) walk(&x, 0);
    *out = x.count;
    pl_arena_free(tmp);
    if (ok) return true;
    return pl_err_set(err, PL_EUNSUPPORTED,
                      "%.3g combinations of patterns of %d weights; at most %d "
                      "are counted",
                      out->candidates, out->weights, MOST_COUNTED);
}

const pl_planner pl_planner_tapas = {
    .name = "tapas",
    .about = "patterns per weight of a block, the mesh as one axis",
    .source = "Shi et al., arXiv:2302.00247",
    .run = run,
};
