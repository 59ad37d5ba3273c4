/* layouts/roles.h - the forward pass under a strategy: what each axis of the mesh does in each
 * linear layer. All other nodes follow (follow.h).
 *
 *   expert   a factor that weights, activations and result share (the experts)
 *   tensor   the columns of W (n) where the activations arrive whole, as far as the nodes up to the
 *            next layer go on without communication; the rows (k) where they arrive split there. A
 *            table whose rows give the logits too is split by them (vocabulary parallel), another
 *            one stays copied.
 *   grid     one axis takes m, one n, one k; the weights at rest are split over all three
 *
 * What n-factor an axis takes (the heads of a fused query-key-value, not its three parts) is
 * found by trying: each is followed up to the next linear layer. */
#ifndef PL_LAYOUTS_ROLES_H
#define PL_LAYOUTS_ROLES_H
#include "layouts/follow.h"
#include "layouts/linear.h"
#include "layouts/strategy.h"

typedef struct pl_roles {
    const pl_strategy *strategy;
    pl_follow follow;
    int data, shard, expert, tensor, depth; /* axes, or -1                                       */
    int spatial;                            /* or -1                                             */
    int m, n, k;                            /* axes of the grid, or -1; n and k may change places */
    int n_forward;                          /* nodes before the backward pass                    */
    int *uses;                              /* [values] forward nodes that read it               */
    int8_t *feature;                        /* [values] axis that split the columns of the layer
                                               that it comes from; below 0: none                 */
    struct {
        bool used;                          /* some layer was split over it                      */
        int64_t widest;                     /* factor that a layer offered                       */
        const char *name;                   /* of that layer's weights                           */
    } axis[PL_MAX_AXES];
} pl_roles;

/* `arena` owns what is noted. The plan's mesh is that of the strategy. */
void pl_roles_init(pl_roles *r, const pl_strategy *s, pl_plan *p, pl_arena *arena);

/* Choose for all forward nodes, and where the states that they read are stored; states that
 * pl_follow_store has told of stay there. */
void pl_roles_walk(pl_roles *r);

/* Was some layer split over each axis that is there for that? Fails with PL_EINPUT: the axis, its
 * size, and the widest factor on offer. */
PL_MUST_CHECK bool pl_roles_check(const pl_roles *r, pl_err *err);

#endif
