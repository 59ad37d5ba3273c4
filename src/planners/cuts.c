/* One axis of the mesh after the other: pl_cuts_run(), cut_axes(). */
#include "planners/cuts.h"

#include "planners/rules.h"

#include <string.h>

static void keep_step(pl_space *s, const pl_rules_step *step, const pl_cuts *style)
{
    unsigned axis = 1u << step->axis;
    pl_space_reset(s);
    pl_space_only(s, pl_rules_extends, step);
    for (int v = 0; v < s->n; v++) {
        if (style->all || pl_rules_product(s, v)) pl_space_prefer(s, v, pl_rules_split, &axis);
        if (style->unsummed) pl_space_prefer(s, v, pl_rules_unsummed, NULL);
    }
}

static bool are_copies_alike(const pl_problem *problem, const int *value)
{
    int n = problem->vars[1].n;
    const int *block = value + problem->vars[0].n;
    for (int i = 1; i < problem->copies; i++)
        if (n && memcmp(block, block + i * n, (size_t)n * sizeof *block)) return false;
    return true;
}

/* value[n] of the written out chain become what is fixed; copies that differ are written out. */
static void fix(pl_space *s, const int *value, int *fixed)
{
    if (!s->flat && !are_copies_alike(s->problem, value)) pl_space_flatten(s);
    if (s->n) memcpy(fixed, value, (size_t)s->n * sizeof *fixed);
}

static int *find_copied(const pl_space *s, pl_arena *a)
{
    int *fixed = PL_NEW_N(a, int, pl_chain_variables(&s->chain) + 1);
    for (int v = 0; v < s->n; v++)
        while (!pl_rules_copied(s, v, fixed[v], NULL)) {
            fixed[v]++;
            PL_ASSERT_CMP(fixed[v], <, s->var[v]->n);
        }
    return fixed;
}

static bool cut_axes(pl_space *s, const pl_cuts *style, int *fixed, pl_arena *out,
                     pl_answer *answer, pl_err *err)
{
    const pl_mesh *m = s->problem->mesh;
    for (int axis = 0; axis < m->n; axis++) {
        const pl_rules_step step = { fixed, axis, style->anywhere };
        if (m->axis[axis].size == 1) continue;
        keep_step(s, &step, style);
        if (!pl_space_min(s, PL_SPACE_MESSAGES, false, out, answer, err))
            return pl_err_in(err, "axis %s", m->axis[axis].name);
        fix(s, answer->value, fixed);
    }
    return true;
}

/* After the cuts, the least time with the same axes on the same factors, each in any order. Cuts in
 * turn nest the later axes in the earlier ones, which may be wrong for another operand: halves of
 * halves do not commute. The least of each of the two sums that a step is the larger of. */
static bool reorder(const pl_space *cuts, const int *fixed, pl_arena *out, pl_answer *answer,
                    pl_err *err)
{
    const pl_problem *problem = cuts->problem;
    const pl_rules_step step = { fixed, 0, true };
    for (int price = 0; price <= 1; price++) {
        pl_space s = pl_space_new(problem, price, cuts->arena);
        pl_answer other;
        if (cuts->flat) pl_space_flatten(&s);
        pl_space_only(&s, pl_rules_reorders, &step);
        PL_TRY(pl_space_min(&s, PL_SPACE_TIME, false, out, &other, err));
        double time = pl_problem_cost(problem, other.value).time;
        if (time < pl_problem_cost(problem, answer->value).time) *answer = other;
    }
    return true;
}

bool pl_cuts_run(const pl_cuts *style, const pl_problem *problem, pl_arena *out, pl_answer *answer,
                 pl_err *err)
{
    pl_arena *tmp = pl_arena_new("cuts");
    pl_space s = pl_space_new(problem, 0, tmp);
    pl_space_still(&s, pl_rules_home);
    int *fixed = find_copied(&s, tmp);
    *answer = (pl_answer){ .value = PL_NEW_N(out, int, pl_chain_variables(&problem->chain) + 1) };
    for (int i = 0; i < pl_chain_variables(&problem->chain); i++) {
        int n = problem->vars[0].n;
        answer->value[i] = fixed[i < n ? i : n + (i - n) % problem->vars[1].n];
    }
    bool ok = cut_axes(&s, style, fixed, out, answer, err) &&
              (!style->order || reorder(&s, fixed, out, answer, err));
    pl_arena_free(tmp);
    return ok;
}
