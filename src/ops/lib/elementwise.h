/* ops/lib/elementwise.h - what the operators share that make an element from one of each input.
 * Their files hold a formula, which is a function of numbers alone, and its gradient: see sin.c,
 * sub.c and, with attributes, elu.c.
 *
 * A signature such as "...n,n->...n" repeats the smaller operand of a binary operator (a bias). */
#ifndef PL_OPS_LIB_ELEMENTWISE_H
#define PL_OPS_LIB_ELEMENTWISE_H
#include "graph/op.h"
#include "ops/list.h"

/* The fields that are always the same: of y = f(x), of y = f(a, b), and of the gradient of a unary
 * operator, dx = f(x, dy) or f(y, dy). */
#define PL_UNARY(f)                                                                                \
    .sig = "...->...", .elementwise = true, .ref = pl_elementwise_ref, .unary = (f)
#define PL_BINARY(f)                                                                               \
    .sig = "...,...->...", .form = "012 02 12", .elementwise = true, .ref = pl_elementwise_ref,    \
    .binary = (f)
#define PL_UNARY_GRAD(f)                                                                           \
    .sig = "...,...->...", .linear = "1", .elementwise = true, .ref = pl_elementwise_ref,          \
    .binary = (f)

/* Reference kernel: op->unary, binary or element of the inputs' elements at each place. */
void pl_elementwise_ref(const pl_share *s, const void *const in[], void *const out[]);

/* The same, but a whole number that its type lacks is 0, as after a division by 0. */
void pl_elementwise_ref_fit(const pl_share *s, const void *const in[], void *const out[]);
double pl_elementwise_fit(pl_type t, double y);

/* Examples of a smooth unary operator, with x in [from, to). */
#define PL_UNARY_EXAMPLES(from, to)                                                                \
    PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = (from), .hi = (to) } } },                     \
                { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = (from), .hi = (to) } } })
extern const pl_example pl_elementwise_compared[], pl_elementwise_logical[]; /* of binary ones */

/* A node of the gradient of n whose operands are all like output 0 of n: PL_LIKE(b, n, &pl_op_mul,
 * NULL, x, y) gives x y. `attrs` as in a spec, without the semicolon. */
#define PL_LIKE(b, n, op, attrs, ...)                                                              \
    pl_elementwise_add((b), (n), (op), (attrs), PL_COUNT_(__VA_ARGS__),                            \
                       (pl_value *const[]){ __VA_ARGS__ })
pl_value *pl_elementwise_add(pl_builder *b, const pl_node *n, const pl_op *op, const char *attrs,
                             int n_in, pl_value *const in[]);

/* "name=number ..." of all attributes of n, for a gradient that has the same. */
const char *pl_elementwise_attrs(pl_builder *b, const pl_node *n);

/* pl_spec(b, n, pattern) where n has a signature of its own, so that its gradient has the same
 * factors; else only the attributes of the pattern: the default signature says the same in fewer
 * words. */
const char *pl_elementwise_spec(pl_builder *b, const pl_node *n, const char *pattern);

/* The gradient g, of the output's shape, summed to the shape of input i where the signature repeats
 * that input. */
pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g);

/* Gradient hooks: of what is flat but for jumps, so that nothing flows; and of the larger or the
 * smaller of two, to the one that was taken, to the first when they are equal. */
void pl_elementwise_flat(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);
void pl_elementwise_larger(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);
void pl_elementwise_smaller(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);

#endif
