/* graph/op.h - the operator contract. Everything known about an operator stands in one pl_op, in one
 * file of ops/. Nothing else in pleat names an operator. */
#ifndef PL_GRAPH_OP_H
#define PL_GRAPH_OP_H
#include "graph/share.h"

struct pl_builder;

/* A case of the generic tests: inputs (random, within [lo, hi) for floats; integers 0 .. below-1). */
typedef struct pl_example {
    const char *spec;  /* signature and attributes, or NULL for the operator's own             */
    struct {
        int rank;
        int64_t dim[PL_MAX_RANK];
        const char *type; /* NULL: f32                                                         */
        double lo, hi;    /* both 0: [-1, 1) for floats, [0, 4) for integers                   */
    } in[PL_MAX_OPERANDS];
    /* The function whose gradient is checked, when it is not the operator alone (batch_norm needs the
     * statistics of its input): builds it from the inputs. NULL: the operator alone. */
    pl_value *(*build)(struct pl_builder *b, pl_value *const in[]);
} pl_example;

typedef struct pl_op {
    const char *name;

    /* -- what the planner reads ------------------------------------------------------------- */
    const char *sig;     /* default signature; NULL: every node gives its own                      */
    const char *whole;   /* letters of the signature that may not be split                         */
    const char *lookup;  /* letters that are table indices                                         */
    const char *linear;  /* operand sets in which the operator is linear, for which a pending sum
                            passes: "0|1" alone in each, "01" jointly                              */
    pl_monoid monoid;    /* how partial outputs combine; PL_SUM unless said                        */
    const char *inplace; /* per output the input whose memory it takes over: "023", '-' none       */
    bool view;           /* output 0 *is* input 0 with another shape: nothing moves                */
    bool elementwise;    /* output 0 may be written over input 0 (same index, read before written) */

    /* -- what makes a node -------------------------------------------------------------------- */
    const char *types;   /* per operand: 'f' any float, 'i' any integer, 't' any, 'F' f32, 'a' as the
                            attribute "to" says; equal letters f, i, t mean equal types.
                            NULL: all 'f'                                                           */
    const char *attrs;   /* known attributes with their defaults, "p=0.1 axis=0"; "x=" has none     */
    /* Extra checks and sizes that the signature cannot say: may set sig->factor[].size and the window
     * fields before shapes are solved. Optional. */
    bool (*infer)(const pl_node *n, pl_sig *sig, pl_err *err);

    /* -- what it computes --------------------------------------------------------------------- */
    /* Build the gradient: dy[i] is the gradient of output i, or NULL when nothing flows there; set
     * dx[i] for each float input that has one (the rest stays NULL; unneeded nodes are pruned).
     * NULL: the operator has no gradient. */
    void (*grad)(struct pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);
    double (*flops)(const pl_share *s);  /* NULL: pl_op_flops' default                             */
    /* Portable reference kernel of a share: arrays are row-major, of the share's shapes. Must be
     * right for every legal share; need not be fast. Outputs of `inplace` arrive in place. */
    void (*ref)(const pl_share *s, const void *const in[], void *const out[]);
    const pl_example *examples;          /* ends with {0}                                          */
} pl_op;

/* 2 x the product of all factors when one is summed away, else the elements of the outputs. */
double pl_op_flops(const pl_share *s);

/* A set of operators: names to rows. */
typedef struct pl_ops {
    int n;
    const pl_op *const *at;
} pl_ops;

const pl_op *pl_ops_find(const pl_ops *ops, const char *name); /* or NULL */

#endif
