/* graph/graph.h - the training step of one device: nodes in topological order.
 *
 * A graph is built once through a pl_builder and is then const. Everything lives in its arena. */
#ifndef PL_GRAPH_GRAPH_H
#define PL_GRAPH_GRAPH_H
#include "base/map.h"
#include "graph/sig.h"

struct pl_op;
struct pl_ops;
typedef struct pl_node pl_node;

typedef enum pl_role {
    PL_COMPUTED, /* the output of a node                                            */
    PL_INPUT,    /* fed before each step: tokens, learning rate                     */
    PL_STATE,    /* lives from step to step: weights, moments; has an initial value */
} pl_role;

/* What a state is to the training. */
typedef enum pl_state_kind {
    PL_BUFFER,   /* none of the others: running statistics, masks, weights that are frozen      */
    PL_ROWS,     /* a row for each row of the batch: what a method keeps of it, step by step    */
    PL_WEIGHT,   /* changed by its gradient                                                     */
    PL_MOMENT,   /* of a weight: what the optimizer remembers beside it                         */
    PL_MASTER,   /* of a weight in a narrow type: the same in f32, which updates change; it is cast
                    from that then                                                              */
    PL_GRAD_SUM, /* of a weight: its gradients of the micro-batches so far, added up            */
    PL_N_STATE_KINDS
} pl_state_kind;

/* What a node is there for. */
typedef enum pl_phase {
    PL_FORWARD,  /* the loss and what is reported                                               */
    PL_BACKWARD, /* gradients, and their sums over micro-batches                                */
    PL_UPDATE,   /* what a step leaves in weights and moments                                   */
    PL_N_PHASES
} pl_phase;

typedef struct pl_value {
    int id;
    const char *name;
    pl_type type;
    pl_shape shape;
    pl_role role;
    pl_node *maker;          /* COMPUTED: the node, and which of its outputs               */
    int out;
    const char *init;        /* STATE: "normal std=0.02", "zeros", "ones", "uniform a=0.1" */
    pl_state_kind kind;      /* STATE                                                      */
    struct pl_value *of;     /* MOMENT, MASTER, GRAD_SUM, and the gradient of a weight: the
                                weight                                                     */
    const char *parts;       /* STATE: files have row i of it under this name, where "{}" is i,
                                and "{3}" is 3 + i: "experts.{}.w1.weight"; NULL: it is one
                                tensor there too                                           */
    int64_t rows;            /* STATE: it is a cache of so many rows of a table: the first dimension
                                counts those that have room; 0: it is the whole state      */
    struct pl_value *next;   /* STATE: what a step leaves in it; NULL: the step only reads */
} pl_value;

typedef struct pl_attr {
    const char *name, *text;
} pl_attr;

struct pl_node {
    int id;
    const char *name;        /* "h0.fc", unique                                            */
    const struct pl_op *op;
    pl_phase phase;
    const pl_node *of;       /* BACKWARD: the node whose gradient it helps to make, if one     */
    const char *spec;        /* the signature text that was given or the operator's        */
    int n_attrs;
    const pl_attr *attr;     /* as given; defaults stand in op->attrs                      */
    const pl_sig *sig;       /* solved: every factor has its size                          */
    int n_in, n_out;
    pl_value *in[PL_MAX_OPERANDS], *out[PL_MAX_OPERANDS];
};

enum { PL_GRAPH_MICRO = 1 << 20 }; /* micro-batches at most */

typedef struct pl_graph {
    pl_arena *arena;
    const struct pl_ops *ops;
    const char *name;        /* the model spec it was built from                           */
    int64_t micro;           /* micro-batches of a step: the graph is of one of them, whose forward
                                and backward passes run so often, and whose updates once, after
                                the last; 1: the whole batch                               */
    struct { int n, cap; pl_value **at; } values;  /* inputs and states too; index = id    */
    struct { int n, cap; pl_node **at; } nodes;    /* in topological order; index = id     */
    struct { int n, cap; pl_value **at; } outputs; /* values reported after a step         */
    pl_map names;            /* of the values: pl_graph_find; one that was renamed has both */
} pl_graph;

/* How often a node runs in a step. */
static inline int64_t pl_graph_runs(const pl_graph *graph, const pl_node *node)
{
    return node->phase == PL_UPDATE ? 1 : graph->micro;
}

/* Kinds of nodes that were added so far: infer.h. */
typedef struct pl_kinds {
    int n, cap;
    struct pl_kind *at;
    pl_map by_hash;
} pl_kinds;

/* -- building: a sticky error makes every later call do nothing and return NULL ---------------- */
typedef struct pl_builder {
    pl_graph *graph;
    pl_err err;
    const char *scope;       /* prefix of the names of new nodes and states, "h3."         */
    pl_phase phase;          /* of new nodes; of those that read a later one's values: its own */
    const pl_node *of;       /* the same; such nodes are backward                          */
    /* Mixed precision (Micikevicius et al., ICLR 2018, as FSDP has it): weights and inputs of f32
     * are cast to this type for the nodes that take it, right before the first of them; the states
     * and what changes them stay f32. PL_F32, which is 0: no casts. */
    pl_type compute;
    struct { int n, cap; pl_value **at; } narrow; /* [values] the cast of a leaf, or NULL   */
    pl_kinds kinds;
} pl_builder;

/* `arena` will own the graph; ops stays the caller's. */
pl_builder pl_builder_new(pl_arena *arena, const struct pl_ops *ops, const char *name);
const char *pl_builder_fmt(pl_builder *b, const char *fmt, ...) PL_PRINTF(2, 3); /* in its arena */

pl_value *pl_add_input(pl_builder *b, const char *name, pl_type type, pl_shape shape);
pl_value *pl_add_state(pl_builder *b, const char *name, pl_type type, pl_shape shape,
                       const char *init, pl_state_kind kind);

/* A MOMENT, MASTER or GRAD_SUM of a weight: f32 in its shape. */
pl_value *pl_add_state_of(pl_builder *b, pl_value *weight, pl_state_kind kind, const char *name,
                          const char *init);

/* A MOMENT that is one number for each row of a weight, f32[rows, 1]. */
pl_value *pl_add_row_moment(pl_builder *b, pl_value *weight, const char *name, const char *init);

/* Say that files have the rows of a state, its slices along the first dimension, one by one
 * (pl_value.parts): `pattern` follows the scope and has one "{}", or "{3}". Returns the value. */
pl_value *pl_add_parts(pl_builder *b, pl_value *value, const char *pattern);
/* The name of row i. */
const char *pl_graph_part(pl_arena *arena, const pl_value *value, int64_t i);

/* Add a node. `spec` is "signature; attr=value ..." (either part may be missing: NULL or "" for the
 * operator's own signature, "; p=0.1" for attributes only). `name` NULL: made from the operator. */
pl_node *pl_add_node(pl_builder *b, const struct pl_op *op, const char *name, const char *spec,
                     int n_in, pl_value *const in[]);
/* The same for one output: PL_ADD(b, &pl_op_mul, NULL, x, y) gives the value. */
#define PL_ADD(b, op, spec, ...)                                                                   \
    pl_add_value((b), (op), NULL, (spec), PL_COUNT_(__VA_ARGS__),                                  \
                 (pl_value *const[]){ __VA_ARGS__ })
#define PL_ADD_AS(b, op, name, spec, ...)                                                          \
    pl_add_value((b), (op), (name), (spec), PL_COUNT_(__VA_ARGS__),                                \
                 (pl_value *const[]){ __VA_ARGS__ })
#define PL_COUNT_(...) (int)(sizeof((pl_value *const[]){ __VA_ARGS__ }) / sizeof(pl_value *))
pl_value *pl_add_value(pl_builder *b, const struct pl_op *op, const char *name, const char *spec,
                       int n_in, pl_value *const in[]);
/* The spec of a node that talks of the same factors as `node`: "{k}" in `pattern` becomes operand k
 * of it (inputs first, then outputs) with every letter written out. Added as attributes are the
 * sizes that the text alone does not give, and its stride, dilation, pad and extent where windows
 * need them. Attributes of your own may follow in the pattern.
 *   pl_spec(b, matmul, "{2},{1}->{0}")   is "mn,kn->mk"
 *   pl_spec(b, conv, "{2},{1}->{0}")     is "noyx,ocrs->nc[y+r][x+s]; stride=2,2 extent=8,8" */
const char *pl_spec(pl_builder *b, const pl_node *node, const char *pattern);
#define PL_SHAPE(...)                                                                              \
    ((pl_shape){ (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#define PL_SCALAR ((pl_shape){ 0, { 0 } })

void pl_add_output(pl_builder *b, const char *name, pl_value *value); /* renames it */

/* Of a forward pass in mixed precision: a weight that is read in the narrow type alone is stored in
 * it, and not cast each time. */
void pl_add_narrow_weights(pl_builder *b);

/* Prune what no output and no state needs, renumber, check. The builder is used up. */
PL_MUST_CHECK bool pl_builder_done(pl_builder *b, pl_graph **out, pl_err *err);

/* -- reading ----------------------------------------------------------------------------------- */
/* The input or state that a value is, or is made of alone, element by element (its cast to another
 * type). NULL: it is neither. */
const pl_value *pl_graph_leaf(const pl_value *value);
/* The same if it is a state: where such a value lies follows from where the state is stored. */
const pl_value *pl_graph_state(const pl_value *value);

/* The losses of a step that works towards several, its outputs "loss.NAME", in their order. At most
 * `most` are written; returns how many there are. */
int pl_graph_losses(const pl_graph *graph, int most, pl_value *loss[]);
/* NAME of such an output; NULL: it is none. */
const char *pl_graph_objective(const pl_value *output);

int pl_graph_forward(const pl_graph *graph); /* nodes of the forward pass, which stand first */
int64_t pl_value_bytes(const pl_value *value); /* of all its elements */
pl_value *pl_graph_find(const pl_graph *graph, const char *name); /* a value by name, or NULL */
void pl_graph_rename(pl_graph *graph, pl_value *value, const char *name); /* which is not copied */
pl_shape pl_graph_whole(const pl_value *state); /* its shape, of a cache that of the whole table */
int64_t pl_graph_params(const pl_graph *graph); /* elements of the weights, as wholes */

/* The state as whose contents files, and people, know this one's: of a master the weight. */
const pl_value *pl_graph_known(const pl_value *state);
/* Is it a weight that is made of its master? Then nobody else's contents are in it. */
bool pl_graph_is_copy(const pl_value *state);
bool pl_graph_has_masters(const pl_graph *graph);

/* Operand o of a node: inputs first, then outputs. */
pl_value *pl_node_value(const pl_node *node, int o);

/* Attribute of a node; the operator's default where the node says nothing. `k`-th of a
 * comma-separated list; the last one repeats. Asking for an unknown attribute is our bug. */
double pl_node_real(const pl_node *node, const char *name, int k);
int64_t pl_node_int(const pl_node *node, const char *name, int k);
bool pl_node_is(const pl_node *node, const char *name, const char *text); /* no list: one word */
const char *pl_node_text(const pl_node *node, const char *name);

/* "buffer", "rows", "weight", "moment", "gradient-sum"; "forward", "backward", "update". */
const char *pl_state_kind_name(pl_state_kind kind);
const char *pl_phase_name(pl_phase phase);

/* Independent check of every invariant: order, ids, unique names, shapes and types again from the
 * signatures, in-place rules; whose moments, sums and gradients values are; no phase reads what a
 * later one makes. */
PL_MUST_CHECK bool pl_graph_check(const pl_graph *graph, pl_err *err);

/* Text form, one line per input, state, node (its phase comes first), output, next value of a state
 * and gradient of a weight; pl_graph_parse(print(graph)) prints the same. */
void pl_graph_print(const pl_graph *graph, pl_text *out);
PL_MUST_CHECK bool pl_graph_parse(const char *text, const struct pl_ops *ops, pl_arena *arena,
                                  pl_graph **out, pl_err *err);

#endif
