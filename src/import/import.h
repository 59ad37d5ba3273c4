/* import/import.h - what the parts of the importer share, private to import/.
 *
 * A name of the file stands for an item: a constant whose elements are known (shapes, masks), a
 * tensor in a file (weights), or a value of the graph. Nodes whose inputs are all known are
 * computed on the spot by the reference kernels of what they map to. */
#ifndef PL_IMPORT_IMPORT_H
#define PL_IMPORT_IMPORT_H
#include "base/map.h"
#include "graph/graph.h"
#include "import/onnx.h"

enum {
    PL_MOST_INPUTS = 512,   /* of a node of the file                                       */
    PL_MOST_LISTED = 65536, /* elements of a constant that a state's initial value may list */
};

typedef struct pl_item {
    const char *name, *label;  /* label: of the state that it becomes        */
    pl_value *value;           /* NULL: not in the graph so far              */
    const pl_tensor *constant; /* NULL: computed                             */
    bool trains;               /* a weight: not computed with on the spot    */
    bool running;              /* a statistic that batch norms move: neither */
    struct pl_item *tied;      /* the weight that it is, transposed; or NULL */
    struct pl_item *part;      /* [n_parts] of a sequence; NULL: a tensor    */
    int n_parts;
    int line;                  /* of the node that makes it, from 1; 0: none */
} pl_item;

/* The names of the graph, or of one run of a body of control flow, which sees those around it. */
typedef struct pl_items {
    int n, cap;
    pl_item *at;
    pl_map names;
    const struct pl_items *outer;
} pl_items;

typedef struct pl_import {
    pl_builder *b;
    pl_arena *a;
    const pl_onnx *onnx;
    const pl_onnx_options *options;
    bool trial;        /* computing a node on the spot: b is a scratch graph */
    bool known_only;   /* a loop is tried (bags.c): no node may be left for the graph */
    int n_dropouts;
    pl_items items;
    int depth;         /* bodies around the node */
    int64_t unrolled;  /* bytes of the bodies run so far */
    struct {
        int n, cap;
        pl_item *at; /* states of small constants, one of each content */
    } small;
    bool told; /* the error names the node */
    /* the node being mapped */
    const Onnx__NodeProto *node;
    int n_in;
    pl_item *in[PL_MOST_INPUTS]; /* NULL: left out */
    pl_item *out;                /* [node->n_output] */
} pl_import;

/* -- items.c ----------------------------------------------------------------------------------- */
/* Room for n names, none taken; `outer` as in pl_items. */
pl_items pl_items_new(pl_arena *a, size_t n, const pl_items *outer);
pl_item *pl_item_find(pl_import *m, const char *name); /* or NULL */
/* Fails when the name is taken. */
PL_MUST_CHECK bool pl_item_add(pl_import *m, const pl_item *x);
const pl_shape *pl_item_shape(const pl_item *x);
pl_type pl_item_type(const pl_item *x);
bool pl_item_known(const pl_item *x); /* its elements are in memory, and no weight */
/* Its value in the graph, which it becomes now if it was none. NULL after an error. */
pl_value *pl_item_value(pl_import *m, pl_item *x);

/* Is there something that the name stands for: a value, a constant, or a sequence? */
bool pl_item_is(const pl_item *x);

/* -- onnx.c ------------------------------------------------------------------------------------ */
/* Names that nodes of g give and take, at most; and its nodes in turn. */
size_t pl_import_names(const Onnx__GraphProto *g);
PL_MUST_CHECK bool pl_import_nodes(pl_import *m, const Onnx__GraphProto *g);

/* -- weights.c --------------------------------------------------------------------------------- */
/* Are all its elements *x? False also where they cannot be read. */
bool pl_weight_is_uniform(const pl_tensor *t, double *x);
/* Which initializers train, as pl_onnx_add says; the items are theirs, in order. */
PL_MUST_CHECK bool pl_weights_mark(pl_import *m);

/* -- doubts.c ---------------------------------------------------------------------------------- */
/* What a guess leaves open, into options->doubts; fails at what would learn badly. */
PL_MUST_CHECK bool pl_doubts_tell(pl_import *m);

/* -- node.c: what mappers ask of the node and tell --------------------------------------------- */
bool pl_has(const pl_import *m, int k); /* input k is there */
pl_value *pl_in(pl_import *m, int k);   /* its value; NULL: not there, or after an error */
/* The elements of a known input; NULL with an error set when they are not known, or more. */
const int64_t *pl_in_ints(pl_import *m, int k, int most, int *n);
PL_MUST_CHECK bool pl_in_real(pl_import *m, int k, double *x); /* one element that is known */

PL_MUST_CHECK bool pl_in_int(pl_import *m, int k, int64_t *x);  /* likewise, a whole one     */

int64_t pl_attr_int(const pl_import *m, const char *name, int64_t usual);
double pl_attr_real(const pl_import *m, const char *name, double usual);
const char *pl_attr_text(pl_import *m, const char *name, const char *usual);
/* The whole numbers of an attribute; NULL: it is not there. */
const int64_t *pl_attr_ints(const pl_import *m, const char *name, int *n);
const Onnx__AttributeProto *pl_attr_find(const pl_import *m, const char *name);

/* Input `k` if there (from the opset on where it is one), else the attribute, as whole numbers;
 * *n = -1: neither. False after an error. */
PL_MUST_CHECK bool pl_ints_of(pl_import *m, int k, const char *name, int most, const int64_t **at,
                              int *n);
/* Likewise one number. */
PL_MUST_CHECK bool pl_real_of(pl_import *m, int k, const char *name, double usual, double *x);
/* Axis as an index of `rank` dimensions; an error if it is none. */
PL_MUST_CHECK bool pl_axis(pl_import *m, int64_t axis, int rank, int *out);

void pl_out(pl_import *m, int k, pl_value *v);
void pl_out_item(pl_import *m, int k, const pl_item *x); /* what x stands for, under another name */
void pl_out_constant(pl_import *m, int k, pl_type type, const pl_shape *shape, const void *data);
/* Both return false, so that a mapper writes `return pl_map_fail(...)`. */
bool pl_map_fail(pl_import *m, const char *fmt, ...) PL_PRINTF(2, 3);
bool pl_map_refuse(pl_import *m, const char *fmt, ...) PL_PRINTF(2, 3); /* unsupported */

/* -- shape.c: specs out of shapes -------------------------------------------------------------- */
enum { PL_LETTERS = PL_MAX_RANK + 1 };
char pl_letter(int dim);                             /* 'A' for dimension 0 */
const char *pl_letters(pl_import *m, int from, int n); /* "ABC", or "BC" from 1 */
/* The same elements under another shape, as reshapes; x itself if it is the same. */
pl_value *pl_shaped(pl_import *m, pl_value *x, const pl_shape *to);
/* With dimension `dim` taken out (of size 1), or put in. */
pl_value *pl_squeezed(pl_import *m, pl_value *x, int dim);
pl_value *pl_unsqueezed(pl_import *m, pl_value *x, int dim);
pl_value *pl_transposed(pl_import *m, pl_value *x, const int order[]);
/* Dimension `a` made the last, or the last made dimension `a`. */
pl_value *pl_moved_last(pl_import *m, pl_value *x, int a);
pl_value *pl_moved_back(pl_import *m, pl_value *x, int a);
/* [at, at + n) of a dimension. */
pl_value *pl_sliced(pl_import *m, pl_value *x, int dim, int64_t at, int64_t n);
/* Shapes that differ by dimensions of 1 or that lack leading ones, as numpy broadcasts them. */
PL_MUST_CHECK bool pl_common_shape(pl_import *m, int n, const pl_shape *const of[], pl_shape *out);
pl_value *pl_expanded(pl_import *m, pl_value *x, const pl_shape *to);
/* An element-wise operator of n values that are broadcast. attrs: "; alpha=1", or "". */
pl_value *pl_each_of(pl_import *m, const struct pl_op *op, const char *attrs, int n,
                  pl_value *const x[]);
#define PL_EACH(m, op, attrs, ...)                                                                 \
    pl_each_of((m), (op), (attrs), PL_COUNT_(__VA_ARGS__), (pl_value *const[]){ __VA_ARGS__ })
/* A sum, maximum, ... over the dimensions with a bit in `axes`. */
pl_value *pl_reduced(pl_import *m, const struct pl_op *op, pl_value *x, unsigned axes, bool keep);
pl_value *pl_scaled(pl_import *m, pl_value *x, double by);
pl_value *pl_filled(pl_import *m, pl_type type, double x, const pl_shape *s);
pl_value *pl_constant(pl_import *m, pl_type type, double x); /* a scalar */
pl_value *pl_cast_to(pl_import *m, pl_value *x, pl_type type);

/* -- attend.c ---------------------------------------------------------------------------------- */
/* p v as one node where p is the softmax of scores q k^T; NULL: it is none, or after an error. */
pl_value *pl_attended(pl_import *m, const pl_value *p, pl_value *v);

/* -- fold.c ------------------------------------------------------------------------------------ */
/* The node of m, of which all inputs are known, computed; false: it was not, map it. */
bool pl_fold_node(pl_import *m, bool (*map)(pl_import *m));

/* -- the mappers: map_*.c, listed in table.c --------------------------------------------------- */
typedef struct pl_mapping {
    const char *op;
    bool (*map)(pl_import *m);
    const char *with; /* an operator of pleat's, for those that need no more than its name */
    bool sequences;   /* inputs may be sequences                                           */
} pl_mapping;
const pl_mapping *pl_mapping_find(const char *op);

#endif
