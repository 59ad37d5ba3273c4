/* planners/space.h - the tables of cost/problem.h with fewer values: what a method that does
 * not look at all plans may choose from. */
#ifndef PL_PLANNERS_SPACE_H
#define PL_PLANNERS_SPACE_H
#include "cost/problem.h"

typedef struct pl_space {
    const pl_problem *problem;
    pl_arena *arena;
    bool flat;                 /* the chain is written out: every copy has variables of its own  */
    pl_chain chain;            /* the tables at one price                                        */
    int n;                     /* variables: of outside, of the block (flat: of each copy)       */
    const pl_variable **var; /* [n] what it stands for */
    bool **keep;               /* [n][values] may be chosen                                      */
} pl_space;

/* Is this value of a variable one of ...? */
typedef bool pl_space_test(const pl_space *s, int var, int value, const void *with);

/* Concerns this edge of variables, about `v`, a rule? */
typedef bool pl_space_rule(const pl_variable *a, const pl_variable *b, const pl_value *v);

/* What the search makes least. */
typedef enum pl_space_aim {
    PL_SPACE_TIME,     /* what the chain says                                                 */
    PL_SPACE_MESSAGES, /* without computing, which decides among equals only                  */
} pl_space_aim;

/* With all values that are legal; the chain of the tables at this price (pl_problem_chain): at 0
 * all messages count in full, at 1 those that computing can hide do not. `arena` owns it. */
pl_space pl_space_new(const pl_problem *problem, double price, pl_arena *arena);
void pl_space_reset(pl_space *s); /* all legal values again */

/* Write the copies out; each keeps the values that the block has kept. */
void pl_space_flatten(pl_space *s);

/* Where a rule concerns an edge, the tensor may not move between the two. Not of a flat space. */
void pl_space_still(pl_space *s, pl_space_rule *rule);

/* Drop the values of a variable that are not such, if then any is left; returns whether one is. */
bool pl_space_prefer(pl_space *s, int var, pl_space_test *test,
                              const void *with);
/* The same of every variable, and one of each must be left: else it is our bug. */
void pl_space_only(pl_space *s, pl_space_test *test, const void *with);

/* What a value costs by itself. */
double pl_space_own(const pl_space *s, pl_space_aim aim, int var, int value);

/* The least of what is kept: values of the written out chain of the tables, in their numbers there,
 * and time by `aim`. Memory has no limit. Fails with PL_EINFEASIBLE. */
PL_MUST_CHECK bool pl_space_min(const pl_space *s, pl_space_aim aim, bool tied,
                                         pl_arena *out, pl_answer *answer, pl_err *err);

#endif
