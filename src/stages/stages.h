/* stages/stages.h - where to cut a DAG into pipeline stages, so that the stage that takes longest
 * takes least: the max-load model of Tarnawski et al., "Efficient Algorithms for Device Placement
 * of DNN Graph Operators", NeurIPS 2020.
 *
 * Pure data: knows no graph and no program. Nodes are cut into stages, a device or a host each. An
 * edge between two forward nodes goes to the same stage or to a later one. Nodes of one group lie
 * in one stage; so backward nodes lie with the forward nodes whose gradients they make, and edges
 * to and from them ask for no order. Only where a backward node is in a group without any forward
 * node, edges between it and backward nodes go to the same stage or to an earlier one. Nodes that
 * these rules send round in a circle lie together.
 *
 * A stage on a device takes the seconds of its nodes, and those of sending what comes in and goes
 * out: for each node inside that has a reader outside, and each node outside that has a reader
 * inside, `send` once, however many readers there are. A stage on a host sends nothing: what
 * devices send lies in the memory of the host. */
#ifndef PL_STAGES_STAGES_H
#define PL_STAGES_STAGES_H
#include "base/arena.h"
#include <stdint.h>

enum { PL_STAGES_NODES = 1 << 14, PL_STAGES_DEVICES = 4096, PL_STAGES_HOSTS = 16 }; /* at most */

typedef struct pl_stages_node {
    double seconds;      /* of its work for one sample; this and the next two: >= 0          */
    double host_seconds; /* the same on a host                                               */
    double send;         /* of moving what it makes from a device to the host, or back       */
    int64_t bytes;       /* on a device, 0 .. INT64_MAX / 2^15                               */
    int group;           /* 0 .. n_nodes - 1; -1: of its own                                 */
    bool backward;
} pl_stages_node;

typedef struct pl_stages_edge {
    int from, to; /* never from a backward node to a forward one */
} pl_stages_edge;

typedef struct pl_stages_problem {
    int n_nodes, n_edges;
    const pl_stages_node *node; /* [n_nodes] */
    const pl_stages_edge *edge; /* [n_edges] */
    int n_devices, n_hosts;     /* at least one device */
    int64_t bytes;              /* of a device; 0: no limit */
} pl_stages_problem;

typedef struct pl_stages_cut {
    int n_stages;        /* none is empty                                                       */
    const int *stage_of; /* [n_nodes] stages are numbered in the order of the forward edges     */
    const bool *on_host; /* [n_stages]                                                          */
    const double *load;  /* [n_stages] seconds                                                  */
    double max_load;     /* of all stages                                                       */
    double bound;        /* no cut has a smaller one                                            */
    bool proven;         /* bound == max_load: no cut is better by more than 1e-9 of it         */
    int n_pieces;        /* what is left when nodes that lie together are one                   */
    int n_ideals;        /* prefixes of the order at which the search may cut                   */
    bool all_ideals;     /* these are all there are; else those that send least                 */
    int64_t effort;      /* pairs of prefixes looked at                                         */
} pl_stages_cut;

/* The cut with the least max_load, or the best one found within the effort (0: a default that ends
 * within seconds). `out` owns the cut. Fails with PL_EINPUT where the problem breaks the rules,
 * with PL_EINFEASIBLE where memory holds no cut, or none that was found. */
PL_MUST_CHECK bool pl_stages_find(const pl_stages_problem *problem, int64_t effort, pl_arena *out,
                                  pl_stages_cut *cut, pl_err *err);

/* The rules of the problem; fails with PL_EINPUT and the numbers. */
PL_MUST_CHECK bool pl_stages_validate(const pl_stages_problem *problem, pl_err *err);

/* Independent judge: places every node by the definition above, and compares the seconds with what
 * the cut says (relative 1e-9). Fails with PL_EMISMATCH: the stage, node or edge, what is wrong
 * there, the numbers. */
PL_MUST_CHECK bool pl_stages_check(const pl_stages_problem *problem, const pl_stages_cut *cut,
                                   pl_err *err);

#endif
