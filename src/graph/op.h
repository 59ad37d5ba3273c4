/* graph/op.h - the operator contract. All that pleat knows about an operator stands in one pl_op,
 * in the one file ops/<name>.c; the build lists the files, and nothing else names an operator.
 *
 * To write one, start from ops/sin.c (one element each), ops/softmax.c (letters with a role) or
 * ops/conv2d.c (windows): give name, sig, ref and examples; zero means no in every other field.
 * test/ops holds it to its word on each example: shapes and text form, the gradient against central
 * differences, every cut of a factor against the whole, and the claims linear, inplace, view,
 * elementwise.
 *
 * Operands are numbered from 0, inputs first, then outputs; texts name them by one digit. */
#ifndef PL_GRAPH_OP_H
#define PL_GRAPH_OP_H
#include "graph/share.h"

/* A case of the generic tests. The row that ends a list has no spec, and in[0] of rank 0 without a
 * type: so an example of one scalar names its type. */
typedef struct pl_example {
    const char *spec;     /* of the node, as in pl_add_node; NULL: the operator's own signature   */
    struct {              /* the inputs, which are random                                         */
        int rank;
        int64_t dim[PL_MAX_RANK];
        const char *type; /* NULL: f32                                                            */
        double lo, hi;    /* numbers in [lo, hi); both 0: [-1, 1) for floats, 0 .. 3 for integers */
    } in[PL_MAX_OPERANDS];
    /* The function whose gradient is checked, where it is not all outputs of the node: batch_norm
     * needs the statistics of its input, layer_norm has a gradient in its first output alone. */
    pl_value *(*build)(pl_builder *b, const char *spec, pl_value *const in[]);
} pl_example;

/* The examples of an operator, with the row that ends the list. */
#define PL_EXAMPLES(...) (const pl_example[]){ __VA_ARGS__, { 0 } }

typedef struct pl_op {
    const char *name;

    /* -- what the planner reads ---------------------------------------------------------------- */
    const char *sig;     /* default signature (sig.h); NULL: every node gives its own             */
    const char *form;    /* where the letters of a node's own signature may stand (form.h);
                            NULL: where those of sig stand. Neither: infer checks all of it       */
    const char *whole;   /* letters that may not be split, such as softmax's row                  */
    const char *lookup;  /* letters that are table indices (sig.h). Those of sig that are whole or
                            lookup are needed in a node's own signature too                       */
    const char *rows;    /* "1>03": of inputs 0 and 3, which have the lookup letter, only the rows
                            are read, or written, that the ids in input 1 name                    */
    const char *linear;  /* sets of operands in which it is linear, so that a pending sum passes:
                            "0|1" in each alone, "01" in both together; not said of nodes that
                            make whole numbers of floats                                          */
    pl_monoid monoid;    /* how partial outputs combine; PL_SUM unless said                       */
    const char *inplace; /* per output the input whose memory it *must* take over; '-': none      */
    bool view;           /* output 0 *is* input 0 in another shape: nothing moves                 */
    bool elementwise;    /* output 0 *may* lie over an input of its type that has the same factors
                            in the same order (pl_share_same_index): an element is read before the
                            same one is written. An input with all letters of output 0 has to be
                            laid out like it, which is checked                                    */

    /* -- what makes a node --------------------------------------------------------------------- */
    const char *types;   /* per operand: 'f' any float, 'i' any integer, 't' any, where equal
                            letters are equal types; 'F' f32; 'b' u8, a truth value of 0 or 1; 'a'
                            what the attribute "to" says. Outputs follow a '>', also where a node
                            has not all inputs; ",-" are for the eye; one letter is for all;
                            NULL: "f"                                                             */
    const char *attrs;   /* known attributes with defaults, "p=0.1 axis=0"; "x=" has none. A default
                            that is a number wants numbers                                        */
    const char *ordinal_attr; /* an attribute that only numbers nodes: equal blocks differ in it  */
    /* What the texts cannot say: checks of attributes and sizes, and sizes that nothing else gives.
     * Runs when attributes and the plain dimensions of the inputs have given what they can: a size
     * that still is 0 may be set here; one that stays 0 is the solver's to refuse. Windows' fields
     * may be set too: their positions are solved afterwards. NULL: nothing to add. */
    bool (*infer)(const pl_node *n, pl_sig *sig, pl_err *err);

    /* -- what it computes ---------------------------------------------------------------------- */
    /* Build the gradient: dy[i] is that of output i, or NULL when nothing flows there; set dx[i] of
     * each float input that has one. Unneeded nodes are pruned. pl_spec writes specs in the letters
     * of n. NULL: the operator has no gradient. */
    void (*grad)(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);
    double flops_per_in, flops_per_out;  /* per element of input 0, and of output 0              */
    double (*flops)(const pl_share *s);  /* where these do not say it; none of the three: see
                                            pl_op_flops                                           */
    double (*most_flops)(const pl_share *s); /* where they depend on where a share lies: those of
                                            the heaviest of its size, for which the others wait   */
    bool multiplies;     /* its flops are those of matrix products inside: see pl_op_multiplies   */
    double work_per_out; /* additions that an element of output 0 takes as long as, where its flops
                            are fewer: an exponential is a dozen                                  */
    /* Reference kernel of a share: arrays are row-major, of the share's shapes; walk.h loops over
     * them. Must be right for every legal share; need not be fast. An answer that depends on where
     * an element lies reads s->factor[f].lo; whole sizes are in s->node->sig. With `inplace`,
     * out[i] is that input. */
    void (*ref)(const pl_share *s, const void *const in[], void *const out[]);
    /* The formula of an operator whose ref is pl_elementwise_ref (ops/lib/elementwise.h), one of
     * these: an element of output 0 from those of the inputs. `attr` are the numbers of attrs, in
     * their order. */
    double (*unary)(double x);
    double (*binary)(double a, double b);
    double (*element)(const double x[], const double attr[]);
    const pl_example *examples;          /* PL_EXAMPLES, at least one                             */
} pl_op;

/* Does it leave a result in an input, as fused updates do? */
bool pl_op_changes_state(const pl_op *op);

/* Of a share: as its operator says, or 2 x the product of all factors when one is summed away,
 * else the elements of the outputs; of a graph: of all that its nodes do in a step. */
double pl_op_flops(const pl_share *share);
/* What a step waits for: flops, those of the heaviest share of this size, or work_per_out where
 * that is more. */
double pl_op_work(const pl_share *share);
/* Matrix products: two operands, summed over some factor (einsum, conv2d), or the row says it. */
bool pl_op_multiplies(const pl_node *node);
double pl_graph_flops(const pl_graph *graph);

/* A set of operators: names to rows. */
typedef struct pl_ops {
    int n;
    const pl_op *const *at;
} pl_ops;

const pl_op *pl_ops_find(const pl_ops *ops, const char *name); /* or NULL */

#endif
