/* planners/rules.h - what published methods ask of a value: rules of planners/space.h. */
#ifndef PL_PLANNERS_RULES_H
#define PL_PLANNERS_RULES_H
#include "planners/space.h"

unsigned pl_rules_axes(const pl_mesh *m); /* of more than one device, a bit each */

/* -- tests of a value; `with` of those over axes: const unsigned *axes ------------------------- */

/* Partial results are combined where they are made: none is passed on, none lies anywhere. */
pl_space_test pl_rules_plain;
pl_space_test pl_rules_copied;  /* nothing is split */
pl_space_test pl_rules_split;   /* by every one of the axes */
pl_space_test pl_rules_uniform; /* copied, or one factor or dimension is split by all
                                               axes of the mesh, in its order */
pl_space_test pl_rules_unsummed; /* no axis splits a factor that output 0 lacks: no
                                               sums are left to combine */
pl_space_test pl_rules_rows;    /* what lies there, or output 0, is split by all axes
                                               over its first dimension */

typedef struct pl_rules_step { /* an axis is decided after another */
    const int *fixed;             /* [variables] of the space: what the axes before gave          */
    int axis;
    bool anywhere;                /* it may come before them where it splits the same             */
} pl_rules_step;
/* As fixed but for the axis, which splits what those before it left, or they what it leaves.
 * `with`: pl_rules_step. */
pl_space_test pl_rules_extends;
/* The same axes split the same factors and dimensions, in any order. `with`: pl_rules_step. */
pl_space_test pl_rules_reorders;

/* -- tests of a variable ----------------------------------------------------------------------- */

/* A node that sums products: a factor of two inputs that its output lacks. */
bool pl_rules_product(const pl_space *s, int var);

/* -- what may not move ------------------------------------------------------------------------- */

pl_space_rule pl_rules_home;    /* a state is changed where it is stored */
pl_space_rule pl_rules_weights; /* weights are read where they are stored */

/* -- spaces ------------------------------------------------------------------------------------ */

/* What EqualChop, Spartan and AllRow-Greedy choose from: one factor or dimension over all devices,
 * and something wherever anything can be split. */
pl_space pl_rules_one_dimension(const pl_problem *problem, pl_arena *arena);

#endif
