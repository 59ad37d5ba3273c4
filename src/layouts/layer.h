/* layouts/layer.h - the forward pass under a strategy: what each axis of the mesh does in each
 * linear layer (linear.h). Layouts decide that with what stands here; all other nodes follow
 * (propagate.h), but what is drawn from a seed for rows of the batch is split as those are.
 *
 * What n-factor an axis takes (the heads of a fused query-key-value, not its three parts) is found
 * by trying: each is followed up to the next linear layer. */
#ifndef PL_LAYOUTS_LAYER_H
#define PL_LAYOUTS_LAYER_H
#include "layouts/propagate.h"
#include "layouts/linear.h"
#include "layouts/strategy.h"

typedef struct pl_forward {
    const pl_strategy *strategy;
    pl_propagation follow;
    int n_forward;         /* nodes before the backward pass                              */
    int *uses;             /* [values] forward nodes that read it                         */
    uint8_t *again;        /* [values] axes over which the backward pass gathers it again: what
                              the forward pass has of it is not kept put together over them */
    int8_t *feature;       /* [values] axis that split the columns of the layer that it
                              comes from; below 0: none                                   */
    struct {
        bool used;         /* some layer was split over it                                */
        int64_t widest;    /* factor that a layer offered                                 */
        const char *name;  /* of that layer's weights                                     */
    } axis[PL_MAX_AXES];
} pl_forward;

/* `arena` owns what is noted. The plan's mesh is that of the strategy. */
void pl_forward_open(pl_forward *r, const pl_strategy *s, pl_plan *p, pl_arena *arena);

/* Choose for all forward nodes, and where the states that they read are stored; states that
 * pl_propagate_store has told of stay there. */
void pl_forward_walk(pl_forward *r);

/* Was some layer split over each axis that is there for that? Fails with PL_EINPUT: the axis, its
 * size, and the widest factor on offer. */
PL_MUST_CHECK bool pl_forward_check(const pl_forward *r, pl_err *err);

/* -- for layouts ------------------------------------------------------------------------------- */

/* One layer that is being decided. Sets of factors have a bit for each (pl_linear). */
typedef struct pl_layer {
    pl_forward *on;
    const pl_node *n;
    pl_linear l;
    pl_choice fixed;   /* decided so far, else PL_FREE                         */
    pl_choice arrives; /* factors that the activations are split over          */
    bool open;         /* the weights' storage is not decided yet              */
    pl_choice stored;  /* factors that they are split over, where it is        */
    unsigned back;     /* axes over which the result goes on split as X arrived                   */
    int at_rest;       /* axis over which the weights at rest are split too, by the dimension that
                          is summed over; -1: none                                                */
} pl_layer;

bool pl_layer_has(uint32_t set, int factor);               /* false below 0              */
int pl_layer_axis(const pl_layer *x, const char *name);    /* of the mesh, or -1         */
int pl_layer_uses(const pl_layer *x);                      /* forward nodes that read W  */

/* Does X arrive split over the axis along a dimension that is summed? */
bool pl_layer_arrives_by_k(const pl_layer *x, int axis);

/* The axis that split the columns of the layer that X comes from; and what Y takes on from here. */
int pl_layer_came_by(const pl_layer *x);
void pl_layer_goes_by(pl_layer *x, int axis);

/* A factor with at least as many positions as the axis has devices, or -1 when there is none:
 *   pick              the first of a set
 *   pick_rows         the one by which X arrives split already, else one of m, else of the batch
 *   pick_columns      of n, the one after which all costs least up to the next layer
 *   pick_free_columns the same when it is worth it: no more has to move up to the next layer than
 *                     when W stays copied, or all is cheaper even with the gradient of X summed */
int pl_layer_pick(const pl_layer *x, int axis, uint32_t set);
int pl_layer_pick_rows(const pl_layer *x, int axis);
int pl_layer_pick_columns(pl_layer *x, int axis);
int pl_layer_pick_free_columns(pl_layer *x, int axis);

/* The axis may split a factor of this set: for the message when that is too little everywhere. */
void pl_layer_offer(const pl_layer *x, int axis, uint32_t set);

/* The axis splits this factor (below 0: what follows decides); with copies of W, so that the layer
 * counts as not split. */
void pl_layer_take(pl_layer *x, int axis, int factor);
void pl_layer_copy_rows(pl_layer *x, int axis, int factor);

/* The backward pass gathers an operand again; what the forward pass gathered is not kept. */
void pl_layer_regather(pl_layer *x, int operand);

#endif
