/* Copies at the ends of a stack that are not like the others, and are not folded:
 * pl_problem_ends_trim(). */
#include "cost/ends.h"

#include "graph/op.h"

#include <string.h>

static bool reads(const pl_node *n, const pl_value *v)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == v) return true;
    return false;
}

bool pl_problem_ends_shared(const pl_problem *problem, const pl_value *v, const pl_node *reader,
                            int operand)
{
    if (problem->copy[v->id] < 0) return pl_problem_counterpart(problem, reader)->in[operand] == v;
    return reads(reader, problem->counterpart[v->id]);
}

/* -- readers ----------------------------------------------------------------------------------- */

/* Where a reader is, seen from a value of a copy. */
enum { BEFORE = 1, SAME = 2, AFTER = 4, OUTSIDE = 8, ANYWHERE = 15 };

static int side_of(const pl_problem *problem, const pl_value *v, const pl_node *reader)
{
    int copy = pl_problem_copy(problem, reader);
    return copy < 0 ? OUTSIDE : 1 << (copy - problem->copy[v->id] + 1);
}

/* The operand's placements, by the choices of the node. */
static const int16_t *placements_of(const pl_problem *problem, const pl_node *n, int operand,
                                    int *choices)
{
    *choices = problem->domain[pl_problem_counterpart(problem, n)->id]->n;
    return problem->at[n->id * PL_MAX_OPERANDS + operand];
}

/* Readers of a value: how many of each phase, and at which placements they want it. */
typedef struct tally {
    int n[2];
    bool *placement; /* of the representative copy */
} tally;

static void mark(const pl_problem *problem, const pl_node *n, int operand, tally *y)
{
    int choices;
    const int16_t *at = placements_of(problem, n, operand, &choices);
    for (int i = 0; i < choices; i++) y->placement[at[i]] = true;
}

static void count(const pl_problem *problem, const pl_readers *readers, const pl_value *v,
                  int sides, tally *y)
{
    bool two = !v->maker || !pl_problem_is_backward(v->maker);
    for (int i = 0; i < readers->n; i++) {
        const pl_node *n = readers->at[i];
        if (!(side_of(problem, v, n) & sides)) continue;
        for (int o = 0; o < n->n_in; o++) {
            if (n->in[o] != v) continue;
            y->n[two && pl_problem_is_backward(n)]++;
            mark(problem, n, o, y);
        }
    }
}

/* -- the ends ---------------------------------------------------------------------------------- */

/* A stop more costs nothing (no way is shorter than the price of a conversion), what is kept more
 * costs memory. */
static bool stops_alike(const int all[2], const int end[2])
{
    bool saves = all[0] && all[1], stops = all[0] > 1 || saves;
    bool end_saves = end[0] && end[1], end_stops = end[0] > 1 || end_saves;
    return saves == end_saves && stops >= end_stops && (all[1] > 1) >= (end[1] > 1);
}

/* Is a value of the first or the last copy read as it is in the middle? There `s` has what the end
 * lacks on one side, and the end has readers outside instead. */
static bool is_alike(const pl_problem *problem, const pl_readers readers[], const pl_value *v,
                     const pl_value *s, pl_arena *tmp)
{
    if (!v->maker != !s->maker) return false; /* a leaf stands where a copy before it would */
    int n = problem->placements[s->id].n, missing = problem->copy[v->id] == 0 ? BEFORE : AFTER;
    tally all = { .placement = PL_NEW_N(tmp, bool, n + 1) },
          end = { .placement = PL_NEW_N(tmp, bool, n + 1) };
    for (int k = 0; k < 2 && s->maker; k++)
        mark(problem, s->maker, s->maker->n_in + s->out, k ? &end : &all);
    count(problem, &readers[s->id], s, ANYWHERE, &all);
    count(problem, &readers[s->id], s, ANYWHERE & ~missing & ~OUTSIDE, &end);
    count(problem, &readers[v->id], v, OUTSIDE, &end);
    return stops_alike(all.n, end.n) && !memcmp(all.placement, end.placement, (size_t)n);
}

/* -- the middle -------------------------------------------------------------------------------- */

/* Does a reader outside have v where it has the same value of the representative copy? */
static bool has_both(const pl_problem *problem, const pl_node *n, int operand, const pl_value *s)
{
    int choices;
    const int16_t *at = placements_of(problem, n, operand, &choices);
    for (int o = 0; o < n->n_in; o++)
        if (n->in[o] == s &&
            !memcmp(placements_of(problem, n, o, &choices), at, sizeof *at * (size_t)choices))
            return true;
    return false;
}

/* Nodes outside read this value of all copies, or of none: an edge of a chain says no more. */
static bool is_shared(const pl_problem *problem, const pl_readers readers[], const pl_value *v)
{
    const pl_value *s = problem->counterpart[v->id];
    bool end = problem->copy[v->id] == 0 || problem->copy[v->id] == problem->copies - 1;
    int n_all = 0, n = 0;
    for (int i = 0; i < readers[s->id].n; i++)
        n_all += side_of(problem, s, readers[s->id].at[i]) == OUTSIDE;
    for (int i = 0; i < readers[v->id].n; i++) {
        const pl_node *r = readers[v->id].at[i];
        if (side_of(problem, v, r) != OUTSIDE) continue;
        if (end && !reads(r, s)) continue;
        for (int o = 0; o < r->n_in; o++)
            if (r->in[o] == v && !has_both(problem, r, o, s)) return false;
        n++;
    }
    return n == n_all;
}

/* -- both -------------------------------------------------------------------------------------- */

static void unfold(pl_problem *problem, const pl_node *n)
{
    if (n) problem->folded[problem->fold->class_of[n->id]] = false, problem->n_classes--;
    if (n && problem->n_classes) return;
    problem->n_classes = 0, problem->first = problem->representative = 0, problem->copies = 1;
}

bool pl_problem_ends_trim(pl_problem *problem, const pl_readers readers[])
{
    pl_arena *tmp = pl_arena_new("ends of a chain");
    bool odd[2] = { false, false };
    const pl_node *torn = NULL;
    for (int i = 0; i < problem->graph->values.n && problem->n_classes && !torn; i++) {
        const pl_value *v = problem->graph->values.at[i];
        int copy = problem->copy[i];
        if (copy < 0 || !v->shape.rank) continue;
        if (v->maker && !is_shared(problem, readers, v)) torn = v->maker;
        bool last = copy == problem->copies - 1;
        if ((copy == 0 || last) && !odd[last])
            odd[last] = !is_alike(problem, readers, v, problem->counterpart[i], tmp);
    }
    pl_arena_free(tmp);
    if (torn) {
        unfold(problem, torn);
        return true;
    }
    problem->first += odd[0];
    problem->copies -= odd[0] + odd[1];
    if (problem->n_classes && problem->copies < PL_LEAST_COPIES) unfold(problem, NULL);
    return odd[0] || odd[1];
}
