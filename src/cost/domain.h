/* cost/domain.h - all that one node may do on a mesh: its legal choices, and where each of them has
 * the node's operands. */
#ifndef PL_COST_DOMAIN_H
#define PL_COST_DOMAIN_H
#include "base/map.h"
#include "plan/plan.h"

/* Different placements of one tensor, in normal form. */
typedef struct pl_placement_set {
    int n, cap;
    pl_placement *at;
    pl_map map;    /* of `at`, by placement                                 */
    uint64_t hash; /* of the list: equal ones have the same                 */
    bool lent;     /* `at` and `map` are another list's: copied when it grows */
} pl_placement_set;

/* The index of a placement, which is added where it is new. */
int pl_placement_set_add(pl_placement_set *s, const pl_placement *x, pl_arena *arena);

/* The same list; the other one must outlive it and grow no more. */
pl_placement_set pl_placement_set_share(const pl_placement_set *s);

typedef struct pl_domain {
    int n;
    const pl_choice *choice;    /* [n]; the first has all copied                          */
    pl_placement_set placements[PL_MAX_OPERANDS]; /* of each operand, inputs first         */
    const int16_t *at[PL_MAX_OPERANDS]; /* [n] index into them                             */
} pl_domain;

/* Every factor that can be split, on every axis, in every order of the axes on one factor; a factor
 * is shared out evenly, or such that the largest part is at most 1/16 larger than the mean. `arena`
 * owns what is in it. */
pl_domain pl_domain_of(const pl_node *n, const pl_mesh *m, pl_arena *arena);

#endif
