/* graph/sig.h - the signature of a node: which index of each operand is which.
 *
 *   text     = operand {"," operand} "->" operand {"," operand}
 *   operand  = {dim}                       no dim at all: a scalar
 *   dim      = letter                      one factor
 *            | "(" letter {letter} ")"     a composite dimension, major factor first
 *            | "[" letter "+" letter "]"   a window: output position + tap (convolution, pooling)
 *            | "..."                       the leading dimensions, the same wherever "..." stands;
 *                                          their factors are named 0, 1, 2 ...
 *
 * A letter is a *factor*: an index that can be split over devices.
 *   in an output             splitting it splits that output (it passes through)
 *   absent from an output    splitting it leaves that output a partial result, combined by the
 *                            operator's monoid
 * and an operator may mark letters:
 *   whole    may not be split (the row of a softmax)
 *   lookup   a table index (vocabulary, expert): a share treats what falls outside of its range as
 *            absent; so splitting it also leaves partial results where the letter is absent
 * A window's position letter needs a halo of its input; its tap letter is never split.
 *
 * Sizes come from the operands, from attributes named by one letter ("h=8"), and for windows from
 * stride, dilation and pad. Shardy's sharding rules (openxla/shardy), DTensor's einsum strategies
 * and Tofu's TDL (Wang et al., EuroSys 2019) are dialects of the same table. */
#ifndef PL_GRAPH_SIG_H
#define PL_GRAPH_SIG_H
#include "graph/type.h"

enum { PL_MAX_FACTORS = 20, PL_MAX_OPERANDS = 12, PL_MAX_COMPOSE = 5, PL_MAX_WINDOWS = 3 };

typedef struct pl_factor {
    char letter;  /* or a digit, for the dimensions of "..." */
    bool whole, lookup, tap;
    int64_t size; /* 0 until known */
} pl_factor;

/* input index = stride * position + dilation * tap - pad_lo */
typedef struct pl_window {
    int8_t position, tap; /* factors */
    int64_t stride, dilation, pad_lo, pad_hi;
} pl_window;

/* Small numbers: each node of a graph has a signature of its own. */
typedef struct pl_sig_dim {
    int8_t n;      /* factors, major first; a window has none */
    int8_t factor[PL_MAX_COMPOSE];
    int8_t window; /* index into pl_sig.window, or -1         */
} pl_sig_dim;

typedef struct pl_operand {
    int8_t rank;
    pl_sig_dim dim[PL_MAX_RANK];
} pl_operand;

typedef struct pl_sig {
    int n_factors, n_windows, n_in, n_out;
    pl_factor factor[PL_MAX_FACTORS];
    pl_window window[PL_MAX_WINDOWS];
    pl_operand operand[PL_MAX_OPERANDS]; /* inputs, then outputs */
} pl_sig;

/* Parse `text` for operands whose ranks are known (inputs only); "..." is expanded. Fails with
 * PL_EINPUT naming the position in the text. */
PL_MUST_CHECK bool pl_sig_parse(const char *text, int n_in, const pl_shape *const in[], pl_sig *out,
                                pl_err *err);

/* The sizes that the plain dimensions of the inputs give, beside those already set (attributes);
 * others stay 0. Fails naming the letter, both sizes and the operand. */
PL_MUST_CHECK bool pl_sig_solve_inputs(const char *text, pl_sig *sig, const pl_shape *const in[],
                                       pl_err *err);

/* All sizes, windows too; then the shapes of the outputs. `extent` [n_windows] gives the sizes of
 * windows that stand in outputs and in no input. Fails as above, or naming a letter whose size
 * nothing says. */
PL_MUST_CHECK bool pl_sig_solve(const char *text, pl_sig *sig, const pl_shape *const in[],
                                const int64_t extent[], pl_shape out[], pl_err *err);

int pl_sig_find(const pl_sig *sig, char letter);              /* factor index or -1             */
/* Also inside a window. */
bool pl_sig_has(const pl_operand *operand, const pl_sig *sig, int factor);
const pl_operand *pl_sig_out(const pl_sig *sig, int i);
/* The size of a window's dimension is not known here. */
int64_t pl_sig_dim_size(const pl_sig *sig, const pl_sig_dim *dim);

/* Memory step (in elements) of each factor in a row-major operand of this shape: 0 where the factor
 * does not occur. Windows contribute stride (position) and dilation (tap) times their dimension. */
void pl_sig_strides(const pl_sig *sig, const pl_operand *operand, const pl_shape *shape,
                    const int64_t size[PL_MAX_FACTORS], int64_t stride[PL_MAX_FACTORS]);

#endif
