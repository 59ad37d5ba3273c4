/* backends/native/loops.h - the factors of a share as few nested loops.
 *
 * Factors of size 1 are dropped, and adjacent factors whose steps nest in every operand become one
 * loop: "bsn,n->bsn" is rows of n, "bsn,bsn->bsn" a single row. */
#ifndef PL_BACKENDS_NATIVE_LOOPS_H
#define PL_BACKENDS_NATIVE_LOOPS_H
#include "run/kernel.h"

enum {
    PL_LOOPS_SERIAL = 32768, /* elements: up to here, starting threads costs more than it saves */
    PL_LOOPS_PIECE = 4096,   /* elements of a piece of work: all operands of it fit a cache     */
};

typedef struct pl_loops {
    int n;                                         /* at least 1, outermost first           */
    int64_t size[PL_MAX_FACTORS];
    int64_t step[PL_MAX_FACTORS][PL_MAX_OPERANDS]; /* in elements, inputs first; 0: repeats */
} pl_loops;

/* Loops over the factors in `mask` (bit = factor), in the order of falling steps of operand `lead`.
 * The node has no windows. */
pl_loops pl_loops_make(const pl_share *s, uint32_t mask, int lead);

/* The same by hand: start from {0}, add each loop where its step of `lead` says, close. */
void pl_loops_add(pl_loops *l, int64_t size, const int64_t step[], int n_operands, int lead);
void pl_loops_close(pl_loops *l, int n_operands);

/* Points of the loops [from, to), 1 when there are none. */
int64_t pl_loops_count(const pl_loops *l, int from, int to);

/* Add the steps of point i of the loops [from, to) to at[operand], for n_operands of them. */
void pl_loops_seek(const pl_loops *l, int from, int to, int64_t i, int n_operands, int64_t at[]);

/* n elements of every operand, starting at at[operand]; the steps are those of the last loop. */
typedef void pl_loops_row(const void *arg, int64_t n, const int64_t at[]);

/* Call `row` for every point of the outer loops, on pieces of the last one, in parallel. The pieces
 * do not depend on n_threads. */
void pl_loops_run(const pl_loops *l, int n_operands, int n_threads, pl_loops_row *row,
                  const void *arg);

#endif
