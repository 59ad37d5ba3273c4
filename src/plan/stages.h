/* plan/stages.h - a plan in pipeline stages: which stage a node is of, where states lie then, and
 * the schedule that says when passes run.
 *
 * Ranks that differ on one axis of the mesh, which splits nothing, have other stages. A stage's
 * forward nodes are one pass of the schedule (schedules/pipeline.h), its backward nodes another;
 * updates come after all passes, on the stage where the state lies. What another stage reads is
 * sent to it. */
#ifndef PL_PLAN_STAGES_H
#define PL_PLAN_STAGES_H
#include "placement/region.h"
#include "placement/speed.h"
#include "plan/plan.h"
#include "schedules/pipeline.h"

#define PL_STAGE_AXIS "pipe" /* the axis's name in meshes that strategies make */

enum { PL_EVERYWHERE = -1 }; /* in place of a stage: each rank runs the node, or has the state */

struct pl_stages {
    int axis;                 /* of the mesh                                                   */
    const pl_pipeline *order; /* which place on the axis has a stage, and its passes           */
    const int *of;            /* [nodes]                                                       */
    const int *home;          /* [values] of states                                            */
    const int *micro;         /* [nodes] the micro-batch, -1 of updates, where the graph is unrolled
                                 (plan/unroll.h); NULL: it is of one                           */
};

/* The devices of one stage among themselves: nothing moves over the axis of the stages, which is
 * one of PL_STAGE_AXIS as long as the plan is not cut. */
pl_mesh pl_stages_mesh(const pl_plan *p);

/* A rank's place on the axis of the stages; 0 without stages. */
int pl_plan_place(const pl_plan *p, int rank);
/* The first rank at a place. */
int pl_stages_rank(const pl_plan *p, int place);
/* The place that has a stage. */
int pl_stages_place(const pl_stages *s, int stage);

bool pl_plan_runs(const pl_plan *p, const pl_node *n, int rank);
bool pl_plan_holds(const pl_plan *p, const pl_value *state, int rank);

/* The elements of a state that a rank stores; none of one that it does not hold. */
pl_region pl_plan_region(const pl_plan *p, const pl_value *state, int rank);

/* What a node needs to read v: v itself, or the state that v is cast from, as casts are made where
 * they are read. */
const pl_value *pl_stages_read(const pl_value *v);

/* The stage that leaves v: that of its maker, or where the state lies. */
int pl_stages_source(const pl_stages *s, const pl_value *v);

/* From the stages of forward nodes ([nodes], ascending along edges): a backward node is where the
 * one is whose gradient it makes, a sum of gradients at the earliest stage that gives to it, a
 * state where it is read first. `out` owns the result, which shares `order`. */
const pl_stages *pl_stages_make(const pl_graph *g, int axis, const pl_pipeline *order,
                                const int *forward, pl_arena *out);

/* The stages of another graph, whose states are those of `like`, by name, and lie where those do:
 * each forward node as early as what it reads lets it be. */
const pl_stages *pl_stages_like(const pl_graph *g, const pl_plan *like, pl_arena *out);

/* Devices [*first, *first + *n) of a cluster hold a place: some in a row, where the axis is the
 * slowest of the mesh; else all. */
void pl_stages_devices(const pl_mesh *m, int axis, int place, int *first, int *n);

/* Of the slowest of them. */
pl_speed pl_stages_speed(const pl_mesh *m, int axis, const pl_cluster *c, int place);

/* [places] The first place that does the same work for other blocks, on devices of the same
 * speed[place], as many of them and between places that give and take as much: its program takes as
 * long, pass by pass, and as much memory for each micro-batch. */
void pl_stages_alike(const pl_plan *p, const pl_fold *fold, const pl_speed speed[], int like[]);

/* Has every stage a node? That of a training step is to: of an evaluation, whose nodes are as early
 * as can be, a stage without weights may have none. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_plan_check_full(const pl_plan *p, pl_err *err);

/* The part of pl_plan_check about them. */
PL_MUST_CHECK bool pl_plan_check_stages(const pl_plan *p, pl_err *err);

#endif
