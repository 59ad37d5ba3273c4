/* planners/floor.h - what no plan of any kind is below. */
#ifndef PL_PLANNERS_FLOOR_H
#define PL_PLANNERS_FLOOR_H
#include "cluster/cluster.h"
#include "graph/graph.h"

/* Seconds of a step on a cluster: what the nodes of the graph, of a whole batch, take by the
 * roofline of placement/speed.h without starting them, shared out evenly over all devices; but for
 * what hosts may do where the cluster has some (pl_plan_can_run_on_host). No layout, schedule or
 * number of micro-batches does any of that work away.
 *
 * Of devices that are not equally fast: for any weights w of theirs that add up to 1 over all
 * devices, the sum over the nodes of the least that w times its seconds is on any of them (the dual
 * of sharing out the nodes, each in any parts, so that the last device is ready soonest). Here w is
 * as 1 / seconds of the whole graph. */
double pl_floor_of(const pl_graph *g, const pl_cluster *c);

#endif
