/* program/account.h - what steps, states and values count as: shared by the summary and the
 * forecast, private to program/. */
#ifndef PL_PROGRAM_ACCOUNT_H
#define PL_PROGRAM_ACCOUNT_H
#include "program/program.h"

/* Bytes of the states of a store. */
typedef struct pl_account {
    int64_t weights;   /* neither of the next                                                    */
    int64_t optimizer; /* not trained, changed by the update of a weight: moments                */
    int64_t gradients; /* not trained, read by the update of a weight in the weight's shape, and
                          not changed by it: sums over micro-batches                             */
} pl_account;

pl_account pl_account_states(const pl_store *s);

/* [nodes] What the backward pass has computed, or comes after it: nodes with an `of`, and those
 * that read what such a node has made (sums of gradients, updates). All others are forward. */
const bool *pl_account_late(const pl_graph *g, pl_arena *out);

/* [values] The state whose gradient a value is, or NULL: what the update of a weight reads in the
 * weight's shape, or what is late and added to a state that is not trained. Values of the graph
 * itself, no states. `late`: of pl_account_late. */
const pl_value *const *pl_account_gradients(const pl_graph *g, const bool *late, pl_arena *out);

/* Seconds of a message of p that has its links alone. A send and the receive behind it are a shift,
 * both at once: the send takes none. */
double pl_account_message(const pl_program *p, const pl_step *x);

#endif
