#include "planners/planner.h"

#include "planners/greedy.h"
#include "planners/rules.h"
#include "planners/tapas.h"

#include <math.h>
#include <string.h>

static const double BRUTE_MOST = 2e7; /* plans; about as many table entries are read for each as it
                                         has pairs */

/* -- on the tables as they are ----------------------------------------------------------------- */

static bool run_exact(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_tables mine = *t; /* its chain changes */
    return pl_tables_min(&mine, cap, false, NULL, out, answer, err);
}

static bool run_tied(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_tables mine = *t;
    return pl_tables_min(&mine, cap, true, NULL, out, answer, err); /* bounds tied plans alone */
}

/* Every combination in turn, as two sums of which the larger counts (pl_tables_chain). */
static bool try_all(const pl_sum sum[2], double cap, int *value, pl_cost *best, pl_arena *tmp)
{
    int n = sum[0].n, *at = PL_NEW_N(tmp, int, n + 1);
    *best = (pl_cost){ INFINITY, 0 };
    for (int v = 0; v >= 0;) {
        pl_cost c = pl_sum_cost(&sum[0], at);
        if (c.memory <= cap && c.time < best->time) {
            c.time = fmax(c.time, pl_sum_cost(&sum[1], at).time);
            if (c.time < best->time) {
                *best = c;
                if (n) memcpy(value, at, (size_t)n * sizeof *value);
            }
        }
        for (v = n - 1; v >= 0 && ++at[v] == sum[0].n_values[v]; v--) at[v] = 0;
    }
    return isfinite(best->time);
}

static bool brute(const pl_tables *t, double cap, pl_arena *tmp, pl_arena *out, pl_answer *answer,
                  pl_err *err)
{
    const pl_chain chain[2] = { pl_tables_chain(t, 1, tmp), pl_tables_chain(t, 0, tmp) };
    const pl_sum s[2] = { pl_chain_unroll(&chain[0], tmp), pl_chain_unroll(&chain[1], tmp) };
    double plans = 1, digits = 0;
    pl_cost cost;
    for (int v = 0; v < s->n; v++) {
        plans *= s->n_values[v];
        digits += log10(s->n_values[v]);
    }
    if (plans > BRUTE_MOST)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "%d variables have 1e%.1f combinations of values, brute force takes "
                          "%.0g at most: use exact",
                          s->n, digits, BRUTE_MOST);
    *answer = (pl_answer){ .value = PL_NEW_N(out, int, s->n + 1), .proven = true };
    answer->work = (int64_t)plans * (s->n + s->n_pairs);
    if (!try_all(s, cap, answer->value, &cost, tmp))
        return pl_err_set(err, PL_EINFEASIBLE, "none of %.0f plans is legal and fits", plans);
    answer->time = answer->bound = cost.time;
    answer->memory = cost.memory;
    return true;
}

static bool run_brute(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("brute force");
    bool ok = brute(t, cap, tmp, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

/* -- one axis after the other: SoyBean, Tofu --------------------------------------------------- */

/* SoyBean (Wang, Huang, Li; arXiv:1805.04170) and Tofu (Wang, Huang, Li; EuroSys 2019) cut a graph
 * between groups of devices, then each group again: here axis by axis of the mesh, the slowest
 * first; each cut is the least of the messages, given the cuts before. In both partial results are
 * combined where they are made, and a gradient ends as its weight lies.
 *
 * Other than published:
 *   - a cut is n ways for an axis of n devices; for cuts in two give a mesh of axes of two;
 *   - messages are seconds on the mesh's links, not bytes; none counts as hidden by computing;
 *     equals, which their methods leave open, are told apart by computing;
 *   - legal forms come from signatures, so layers that their tables lack (attention, lookups,
 *     halos) can be cut; a tensor may lie otherwise for the backward pass, as the tables have it;
 *   - SoyBean's search by levels leaves out edges that skip a level, and is exponential in their
 *     width; Tofu's asks for a chain after coarsening. Here a cut is exact on any graph (or as good
 *     as pl_chain_min finds it). Neither coarsens here: nodes of a group may differ.
 *
 * SoyBean may store copies; products have to be cut: with computing left out of the objective a
 * graph of copies is the best of all. In Tofu ("partition-n-reduce") every operator and every
 * tensor is cut wherever anything can be. ICML18 is what Tofu's section 7 makes of Jia et al.,
 * "Exploring hidden dimensions in parallelizing convolutional neural networks" (ICML 2018): the
 * same without output reduction, so that no factor is cut that an operator sums over, where it has
 * another one. */
typedef struct cut_style {
    bool all;      /* whatever can be cut is; else products only */
    bool unsummed; /* but no factor that is summed               */
    bool anywhere; /* an axis may come before those already cut  */
} cut_style;

static void keep_step(pl_baseline_space *s, const pl_baseline_step *step, const cut_style *style)
{
    unsigned axis = 1u << step->axis;
    pl_baseline_space_reset(s);
    pl_baseline_space_only(s, pl_baseline_rules_extends, step);
    for (int v = 0; v < s->n; v++) {
        if (style->all || pl_baseline_rules_product(s, v))
            pl_baseline_space_prefer(s, v, pl_baseline_rules_split, &axis);
        if (style->unsummed) pl_baseline_space_prefer(s, v, pl_baseline_rules_unsummed, NULL);
    }
}

static bool are_copies_alike(const pl_tables *t, const int *value)
{
    int n = t->vars[1].n;
    const int *block = value + t->vars[0].n;
    for (int i = 1; i < t->copies; i++)
        if (n && memcmp(block, block + i * n, (size_t)n * sizeof *block)) return false;
    return true;
}

/* value[n] of the written out chain become what is fixed; copies that differ are written out. */
static void fix(pl_baseline_space *s, const int *value, int *fixed)
{
    if (!s->flat && !are_copies_alike(s->t, value)) pl_baseline_space_flatten(s);
    if (s->n) memcpy(fixed, value, (size_t)s->n * sizeof *fixed);
}

static int *find_copied(const pl_baseline_space *s, pl_arena *a)
{
    int *fixed = PL_NEW_N(a, int, pl_chain_variables(&s->chain) + 1);
    for (int v = 0; v < s->n; v++)
        while (!pl_baseline_rules_copied(s, v, fixed[v], NULL)) {
            fixed[v]++;
            PL_ASSERT_CMP(fixed[v], <, s->var[v]->n);
        }
    return fixed;
}

static bool cut_axes(pl_baseline_space *s, const cut_style *style, int *fixed, pl_arena *out,
                     pl_answer *answer, pl_err *err)
{
    const pl_mesh *m = s->t->mesh;
    for (int axis = 0; axis < m->n; axis++) {
        const pl_baseline_step step = { fixed, axis, style->anywhere };
        if (m->axis[axis].size == 1) continue;
        keep_step(s, &step, style);
        if (!pl_baseline_space_min(s, PL_BASELINE_MESSAGES, false, out, answer, err))
            return pl_err_in(err, "axis %s", m->axis[axis].name);
        fix(s, answer->value, fixed);
    }
    return true;
}

/* After the cuts, the least time with the same axes on the same factors, each in any order. Cuts in
 * turn nest the later axes in the earlier ones, which may be wrong for another operand: halves of
 * halves do not commute. The least of each of the two sums that a step is the larger of. */
static bool reorder(const pl_baseline_space *cuts, const int *fixed, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    const pl_tables *t = cuts->t;
    const pl_baseline_step step = { fixed, 0, true };
    for (int price = 0; price <= 1; price++) {
        pl_baseline_space s = pl_baseline_space_new(t, price, cuts->arena);
        pl_answer other;
        if (cuts->flat) pl_baseline_space_flatten(&s);
        pl_baseline_space_only(&s, pl_baseline_rules_reorders, &step);
        PL_TRY(pl_baseline_space_min(&s, PL_BASELINE_TIME, false, out, &other, err));
        double time = pl_tables_cost(t, other.value).time;
        if (time < pl_tables_cost(t, answer->value).time) *answer = other;
    }
    return true;
}

static bool cut_all(const pl_tables *t, const cut_style *style, bool order, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("cuts");
    pl_baseline_space s = pl_baseline_space_new(t, 0, tmp);
    pl_baseline_space_still(&s, pl_baseline_rules_home);
    int *fixed = find_copied(&s, tmp);
    *answer = (pl_answer){ .value = PL_NEW_N(out, int, pl_chain_variables(&t->chain) + 1) };
    for (int i = 0; i < pl_chain_variables(&t->chain); i++) {
        int n = t->vars[0].n;
        answer->value[i] = fixed[i < n ? i : n + (i - n) % t->vars[1].n];
    }
    bool ok = cut_axes(&s, style, fixed, out, answer, err) &&
              (!order || reorder(&s, fixed, out, answer, err));
    pl_arena_free(tmp);
    return ok;
}

static bool run_soybean(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer,
                        pl_err *err)
{
    (void)cap;
    return cut_all(t, &(cut_style){ .all = false }, false, out, answer, err);
}

static bool run_tofu(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    (void)cap;
    return cut_all(t, &(cut_style){ .all = true }, false, out, answer, err);
}

static bool run_icml18(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer,
                       pl_err *err)
{
    (void)cap;
    return cut_all(t, &(cut_style){ .all = true, .unsummed = true }, false, out, answer, err);
}

/* Where cuts in turn may not be nested otherwise, an axis takes the factor that suits the nesting:
 * so cuts are tried with it and without, and the order is chosen after both. */
static bool run_order(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_answer free;
    (void)cap;
    if (!cut_all(t, &(cut_style){ .all = true }, true, out, answer, err) ||
        !cut_all(t, &(cut_style){ .all = true, .anywhere = true }, true, out, &free, err))
        return false;
    if (pl_tables_cost(t, free.value).time < pl_tables_cost(t, answer->value).time) *answer = free;
    return true;
}

/* -- one dimension ----------------------------------------------------------------------------- */

/* EqualChop, of Tofu's section 7: as Tofu, but a tensor is cut over one dimension, all devices at
 * once. */
static bool run_chop(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("equal chop");
    pl_baseline_space s = pl_baseline_greedy_space(t, tmp);
    (void)cap;
    bool ok = pl_baseline_space_min(&s, PL_BASELINE_MESSAGES, false, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

/* AllRow-Greedy, of the same section: every tensor is cut over its first dimension where that can
 * be (else over another one), and each operator takes what moves least. What little is left to
 * choose is chosen by the exact search, not operator by operator. */
static bool run_rows(const pl_tables *t, double cap, pl_arena *out, pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("all rows");
    pl_baseline_space s = pl_baseline_greedy_space(t, tmp);
    (void)cap;
    for (int v = 0; v < s.n; v++) pl_baseline_space_prefer(&s, v, pl_baseline_rules_rows, NULL);
    bool ok = pl_baseline_space_min(&s, PL_BASELINE_MESSAGES, false, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

/* -- all --------------------------------------------------------------------------------------- */

// clang-format off
const pl_baseline pl_baselines[] = {
    { "exact",      "the least of all plans, with a bound",                    run_exact },
    { "tied",       "the least of those with equal blocks split alike",        run_tied },
    { "tapas",      "patterns per weight of a block, the mesh as one axis",    pl_baseline_tapas },
    { "soybean",    "the least messages, one axis after the other",            run_soybean },
    { "tofu",       "the same; each node and tensor is split where it can",    run_tofu },
    { "tofu+order", "that, then the best order of axes on each dimension",     run_order },
    { "icml18",     "as tofu, but nothing is split that is summed",            run_icml18 },
    { "equalchop",  "the least messages, a tensor split over one dimension",   run_chop },
    { "spartan",    "largest tensors first, each over its best dimension",     pl_baseline_greedy },
    { "allrow",     "everything over its first dimension",                     run_rows },
    { "bruteforce", "every plan in turn: tiny graphs only",                    run_brute },
    { 0 },
};
// clang-format on

bool pl_baseline_find(const char *name, const pl_baseline **out, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("baselines");
    pl_text names = { .arena = tmp };
    *out = NULL;
    for (const pl_baseline *b = pl_baselines; b->name; b++) {
        pl_text_add(&names, "%s%s", b == pl_baselines ? "" : ", ", b->name);
        if (!strcmp(b->name, name)) *out = b;
    }
    if (!*out)
        pl_err_set(err, PL_EUSAGE, "there is no search '%s'; there are: %s", name,
                   pl_text_get(&names));
    pl_arena_free(tmp);
    return *out != NULL;
}

bool pl_baseline_run(const pl_baseline *b, const pl_tables *t, double cap, pl_arena *out,
                     pl_answer *answer, pl_err *err)
{
    const bool proves = b->run == run_exact || b->run == run_brute;
    if (!b->run(t, cap, out, answer, err)) return pl_err_in(err, "search %s", b->name);
    if (proves) return true;
    pl_cost cost = pl_tables_cost(t, answer->value);
    answer->time = cost.time, answer->memory = cost.memory;
    answer->bound = 0, answer->proven = false, answer->price = 0;
    if (!isfinite(cost.time))
        return pl_err_set(err, PL_EINFEASIBLE, "search %s: found no legal plan", b->name);
    if (cost.memory > cap)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "search %s: its plan takes %.0f bytes of a device, %.0f may be taken (it "
                          "does not look at memory)",
                          b->name, cost.memory, cap);
    return true;
}
