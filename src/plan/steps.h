/* plan/steps.h - a node that does its share in steps, one block of a factor after another.
 *
 * Time is one more axis of the mesh, which splits the factor below all others: what a device reads
 * and makes in step i is the part of the device with coordinate i on that axis, and an output
 * without the factor is a sum over the axis, pending until the steps are added up. */
#ifndef PL_PLAN_STEPS_H
#define PL_PLAN_STEPS_H
#include "plan/plan.h"
#include "placement/region.h"

typedef struct pl_steps {
    const pl_node *node;
    int factor, n;    /* n steps, each does 1/n of every device's range of the factor */
    pl_mesh mesh;     /* the plan's and, last, the axis of time                       */
    pl_choice choice;
} pl_steps;

/* False when there are no such steps: a factor that may not be split or belongs to a window, ranges
 * that n does not divide, a mesh that has no room for another axis, or a node whose shares are
 * uneven or windows, so that steps would not be alike on all devices. */
PL_MUST_CHECK bool pl_steps_find(const pl_plan *p, const pl_node *node, int factor, int n,
                                 pl_steps *out);

/* What rank `rank` of the plan's mesh computes in step i; what it then holds of operand o (inputs,
 * then outputs). */
pl_share pl_steps_share(const pl_steps *s, int rank, int i);
pl_region pl_steps_region(const pl_steps *s, int o, int rank, int i);

#endif
