/* program/account.h - what steps, states and values count as: shared by the summary and the
 * forecast, private to program/. */
#ifndef PL_PROGRAM_ACCOUNT_H
#define PL_PROGRAM_ACCOUNT_H
#include "program/program.h"

/* Bytes of the states of a store in the device's memory. */
typedef struct pl_account {
    int64_t weights;   /* and buffers           */
    int64_t optimizer; /* moments               */
    int64_t gradients; /* sums of micro-batches */
} pl_account;

pl_account pl_account_states(const pl_store *s);

/* Seconds of a message of p that has its links alone. A send and the receive behind it are a shift,
 * both at once: the send takes none. */
double pl_account_message(const pl_program *p, const pl_step *x);

#endif
