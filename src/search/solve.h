/* search/solve.h - the least weighted sum: time * weights.time + memory * weights.memory, without a
 * cap. */
#ifndef PL_SEARCH_SOLVE_H
#define PL_SEARCH_SOLVE_H
#include "search/eliminate.h"
#include "search/net.h"

typedef struct pl_minimum {
    int *value;   /* the best choice; NULL: none is legal; if the bound is finite, none was found */
    double cost;  /* weighted, of `value`; INFINITY without one                                  */
    double bound; /* no legal choice costs less; equal to cost when that is proven               */
    int64_t work;
} pl_minimum;

/* The options with the defaults written out. */
pl_search_options pl_solve_defaults(const pl_search_options *options);

/* Past the time at which a search with an answer ends. */
bool pl_solve_is_late(const pl_search_options *options);

/* What a choice must cost less than to be worth finding. */
static inline double pl_solve_goal(double best, const pl_search_options *options)
{
    return pl_net_is_legal(best) ? best - options->gap * fabs(best) : best;
}

/* Whether rounds of passes still pay: asked after each, it looks at rounds 1, 2, 4, 8, ... whether
 * as many more have gained a part of the gap, or of the bound while there is no choice near it. */
typedef struct pl_solve_pace {
    int n, next;  /* rounds; at which it looks                                                   */
    double bound; /* when it last looked; -INFINITY                                              */
} pl_solve_pace;

bool pl_solve_goes_on(pl_solve_pace *pace, double bound, double best);

/* The least but `at` of least[n], which is sorted; INFINITY of none. */
double pl_solve_nth(double *least, int n, double at);

/* The bound that leaves about `each` values per variable that is open. */
double pl_solve_threshold(const pl_net *net, double each, pl_arena *arena);

/* Only values whose bound is at most that; NULL when a variable has none. */
pl_net *pl_solve_below(const pl_net *net, double most, pl_arena *arena);

/* Clears keep[x] but for the best quarter of a variable's values, at least four: a choice among
 * them is soon found and seldom far from the best. */
void pl_solve_best(const double *least, int size, bool *keep, pl_arena *arena);

/* Of a net, whose potentials and bound are raised on the way. */
pl_minimum pl_solve_net(pl_net *net, const pl_search_options *options, pl_arena *out);

pl_minimum pl_solve_sum(const pl_sum *sum, pl_cost weights, const pl_search_options *options,
                        pl_arena *out);

/* The tables of a net with their potentials taken in, ready to be eliminated. The constant is
 * net->bound. */
pl_eliminate *pl_solve_tables(const pl_net *net, pl_arena *arena);

double pl_solve_entries(const pl_net *net); /* of all tables */

/* Whether so much work has been done that dominance is worth its own. */
bool pl_solve_may_dominate(const pl_net *net, int64_t work, const pl_search_options *options);

/* A net without dominated values (except of `fixed` variables), those with one value taken into
 * their neighbours; NULL when a variable loses all. */
pl_net *pl_solve_cut(const pl_net *net, const bool *fixed, const pl_search_options *options,
                     pl_arena *arena);

#endif
