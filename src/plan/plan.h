/* plan/plan.h - a mesh, a factor per (node, mesh axis), and where every stored tensor lives.
 *
 * That is all a plan decides: the placements that a node needs of its inputs and gives its outputs
 * follow from its factors and its signature, and the messages follow from the placements
 * (program/). Nothing about gradients or any published scheme stands in a plan. */
#ifndef PL_PLAN_PLAN_H
#define PL_PLAN_PLAN_H
#include "graph/excerpt.h"
#include "graph/shorten.h"
#include "placement/placement.h"

/* What a node does on one mesh axis. */
enum {
    PL_COPIED = -1, /* the same work on every device of the axis                            */
    PL_LINEAR = -2, /* PL_LINEAR - k: it is linear in operand set k, whose inputs are pending */
};

typedef struct pl_choice {
    int8_t factor[PL_MAX_AXES]; /* factor index, or one of the above                              */
    int8_t level[PL_MAX_AXES];  /* of axes on the same factor those of a lower level are major; of
                                   the same level those that come first in the mesh              */
} pl_choice;

typedef struct pl_stages pl_stages;

typedef struct pl_plan {
    const pl_graph *graph;
    pl_mesh mesh;
    const char *strategy; /* how it was asked for: "dp=4"                                       */
    pl_choice *choice;    /* [nodes]                                                            */
    pl_placement *stored; /* [values] of inputs and states; unused for computed values          */
    const pl_placement **kept; /* [values] where what forward nodes make or read is kept for
                             backward ones (pl_node.of), which start from there; a state also where
                             it is stored. NULL: each part that there is, where it lies         */
    bool *recompute;      /* [values] it is not kept at all, but made again before the first
                             backward node that reads it, by the same node                      */
    bool *on_host;        /* [nodes] the host's processor runs it, on operands in its memory    */
    const pl_stages *stages; /* of a pipeline (plan/stages.h); NULL: every rank runs all nodes   */
} pl_plan;

/* The placement that operand o (inputs, then outputs) of a node has under a choice, in normal
 * form. */
pl_placement pl_choice_operand(const pl_choice *c, const pl_node *n, const pl_mesh *m, int o);
pl_placement pl_plan_operand(const pl_plan *p, int node, int o);

/* The axes of the mesh in the order in which a choice has them split factors, major first. */
void pl_choice_order(const pl_choice *c, const pl_mesh *m, int axes[PL_MAX_AXES]);

/* What rank computes of a node. */
pl_share pl_choice_share(const pl_choice *c, const pl_node *n, const pl_mesh *m, int rank);
pl_share pl_plan_share(const pl_plan *p, int node, int rank);

/* Inputs in operand set k of op->linear, as a bit mask; 0 when there is no such set. */
unsigned pl_plan_linear_set(const pl_node *n, int k);

/* A value is kept for backward nodes as it is stored or made, but put together over the axes that
 * are not in the set (bits), where that can be. Its maker has its choice. `out` owns the
 * placement. */
void pl_plan_keep(pl_plan *p, const pl_value *v, unsigned axes, pl_arena *out);

/* May it be made again? A forward node makes it that changes no state. */
bool pl_plan_can_recompute(const pl_value *v);

/* May the host's processor run it under the plan's choice? What updates or casts a state may, what
 * is element-wise behind the forward pass, and, where all devices have as much of it, all of an
 * update. */
bool pl_plan_can_run_on_host(const pl_plan *p, const pl_node *n);

/* Does node i of one plan do the same, and in the same place, as node k of another on a mesh of the
 * same axes? */
bool pl_plan_runs_alike(const pl_plan *a, int i, const pl_plan *b, int k);

/* Is value u of one plan kept, or made again, as value v of another is? */
bool pl_plan_kept_alike(const pl_plan *a, int u, const pl_plan *b, int v);

/* Independent check: every choice legal, sizes divide, placements legal, nothing made again that
 * cannot be. Fails with PL_EINPUT naming the node or tensor, the sizes and the axis. */
PL_MUST_CHECK bool pl_plan_check(const pl_plan *p, pl_err *err);

/* The part of pl_plan_check about one node. */
PL_MUST_CHECK bool pl_plan_check_node(const pl_plan *p, const pl_node *n, pl_err *err);

/* Stretches of equal blocks that a plan plans alike: [from, to) of instances, ascending. At most
 * `most` are written; returns how many there are. */
int pl_plan_stretches(const pl_plan *p, const pl_fold *fold, int most, pl_cut out[]);

/* The plan of a graph that is short of some blocks (graph/shorten.h), as a plan of the whole graph
 * has it; NULL: it does not plan the blocks that are left out as those beside them. `out` owns it,
 * and it shares the texts of the other. */
pl_plan *pl_plan_shorten(const pl_plan *p, const pl_fold *fold, const pl_short *s, pl_arena *out);

/* The plan of a part of the step: each node and state as in the whole one. `out` owns it, and it
 * shares the texts of the other. */
pl_plan *pl_plan_excerpt(const pl_plan *p, const pl_excerpt *e, pl_arena *out);

/* Everything whole on one device; `out` owns the plan. */
pl_plan *pl_plan_single(const pl_graph *g, pl_arena *out);

/* Text form, one line per stored tensor and per node. */
void pl_plan_print(const pl_plan *p, pl_text *out);

#endif
