/* layouts/propagate.h - complete a plan from a few decisions: each node, in order, takes the choice
 * that moves the fewest bytes, given the placements in which its inputs lie.
 *
 * It starts no split of its own. A node may split a factor over an axis where an input is split
 * that way (or stay copied, or pass on a pending sum that all inputs of a linear set have); over
 * an axis of `roam`, where an input is split at all, any factor will do; over one of `digits`, any
 * of the dimension that is split. */
#ifndef PL_LAYOUTS_PROPAGATE_H
#define PL_LAYOUTS_PROPAGATE_H
#include "layouts/known.h"
#include "plan/plan.h"
#include "reshard/reshard.h"

enum { PL_FREE = 127 }; /* a factor in a pl_choice: not decided yet */

typedef struct pl_places {
    int n, cap;
    pl_placement *at;
} pl_places;

typedef struct pl_trail { /* what was noted of a value before */
    int value, n_have;
    bool open;
} pl_trail;

typedef struct pl_propagation {
    pl_plan *plan;
    pl_arena *arena;
    pl_reshard reshard; /* on the devices of one stage, where there are stages */
    unsigned roam;
    unsigned digits;   /* axes that may split another digit of a dimension that is split         */
    unsigned exchange; /* axes over which a factor is rather exchanged than gathered              */
    unsigned local;    /* axes over which a state of `open` storage is stored as it is first read */
    bool wide_sums;    /* sums of a narrow float type should rather be combined after a cast      */
    pl_places *have;   /* [values] where it lies: as it was made first, then as it was moved      */
    pl_places *want;   /* [values] where a later reader is known to need it                       */
    bool *open;        /* [values] a state whose storage is not decided yet                       */
    bool *done;        /* [nodes] chosen ahead of its turn (pl_propagate_updates)                 */
    const pl_value **state_of; /* [values] the state whose next value it is, or NULL              */
    const pl_value **cast;     /* [values] of states: what is made of it alone (pl_graph_state) for
                                  the forward pass, at the same places as it; or NULL             */
    pl_known known;    /* what nodes chose                                                        */
    struct { int n, cap; pl_trail *at; } trail; /* for undoing                                    */
    int64_t bytes;     /* that a device has received for what was kept so far                     */
    double cost;       /* of it, in the greedy measure: bytes of memory traffic                   */
} pl_propagation;

/* All states open; what the plan says of inputs holds. `arena` owns what is noted. */
void pl_propagate_init(pl_propagation *f, pl_plan *p, pl_arena *arena);

/* Paths are looked up, and kept, where those of other plans are. Before the first choice. */
void pl_propagate_share(pl_propagation *f, pl_paths *paths);

/* What is said of a state's storage from now on holds. */
void pl_propagate_store(pl_propagation *f, const pl_value *v, const pl_placement *where);

/* A reader to come needs v there: its maker, where nothing that this reads says how to split it,
 * makes it so. */
void pl_propagate_want(pl_propagation *f, const pl_value *v, const pl_placement *where);

/* Choose for a node; on axes where `fixed` is not PL_FREE that is the choice; it must be legal. */
void pl_propagate_choose(pl_propagation *f, const pl_node *n, const pl_choice *fixed);
/* Note where the node's inputs and outputs lie under its choice, and what that took. */
void pl_propagate_keep(pl_propagation *f, const pl_node *n);

int pl_propagate_mark(const pl_propagation *f);
void pl_propagate_undo(pl_propagation *f, int mark); /* where things lie since; else it stays */

/* What an all-reduce over one axis costs of a value that lies at `x`. */
double pl_propagate_reduce_cost(pl_propagation *f, const pl_value *v, const pl_placement *x,
                                int axis);

/* Nodes that change states in place work where most of those are stored; the inputs they need there
 * are noted in `want`. For states that are not open. */
void pl_propagate_updates(pl_propagation *f);

/* Choose and keep: a forward node freely, a node of the backward pass by the letters of the node it
 * is of, where it has them. */
void pl_propagate_node(pl_propagation *f, const pl_node *n);

/* Where a value is best taken from: where a reader is known to want it, else as it was made. */
const pl_placement *pl_propagate_home(const pl_propagation *f, const pl_value *v);

/* The factors of operand o that a placement of it splits, by axis; PL_COPIED where it does not, or
 * splits what is no factor. */
pl_choice pl_propagate_letters(const pl_plan *p, const pl_node *n, int o, const pl_placement *x);

/* Choose for every node of a plan whose stored placements are given. Those that read states do what
 * those of the same names do in `like`, a plan of another graph on the same mesh; NULL: none is. */
void pl_plan_propagate(pl_plan *p, const pl_plan *like);

#endif
