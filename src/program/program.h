/* program/program.h - what one device does in a step: kernels, messages and copies over buffers
 * with fixed offsets.
 *
 * Two lanes run side by side, each in program order: compute (kernels, copies) and communication
 * (messages). Messages start in order, and may be under way together. A step waits until `wait`
 * messages are finished (all of the first so many); a message also until `after` compute steps are.
 * Buffers never move and nothing is allocated while a program runs. */
#ifndef PL_PROGRAM_PROGRAM_H
#define PL_PROGRAM_PROGRAM_H
#include "graph/share.h"
#include "plan/plan.h"

/* A place in memory: bytes from the start of the state block or of the work block. */
typedef struct pl_slot {
    bool state;
    int64_t at;
} pl_slot;

typedef enum pl_step_kind { PL_KERNEL, PL_MESSAGE, PL_COPY } pl_step_kind;

typedef enum pl_collective { PL_COLLECTIVE_REDUCE, PL_COLLECTIVE_GATHER } pl_collective;

typedef struct pl_step {
    pl_step_kind kind;
    const char *label;          /* the node, or the tensors of a message                      */
    const pl_share *share;      /* KERNEL                                                     */
    int n_in, n_out;
    pl_slot in[PL_MAX_OPERANDS], out[PL_MAX_OPERANDS];  /* MESSAGE, COPY: one of each          */
    int wait;                   /* messages that must be finished before it starts            */
    /* MESSAGE */
    pl_collective collective;   /* reduce: all-reduce; gather: all-gather                     */
    unsigned axes;              /* group: ranks that differ on these mesh axes only           */
    pl_type type;
    pl_monoid monoid;
    int64_t count;              /* elements that this rank puts in                            */
    int after;                  /* compute steps that must be finished before it starts       */
    /* COPY: for i, j: `bytes` from in + i from[0] + j from[1] to out + i to[0] + j to[1]      */
    int64_t n[2], from[2], to[2], bytes;
} pl_step;

/* A named tensor that the outside writes or reads: this device's part of it. */
typedef struct pl_port {
    const pl_value *value;
    pl_placement where;
    pl_shape shape;             /* local                                                      */
    int64_t lo[PL_MAX_RANK];    /* where the part starts in the whole                         */
    pl_slot slot;
    int64_t bytes;
} pl_port;

/* Index in the whole tensor (row-major) of element i of the part. */
int64_t pl_port_global(const pl_port *p, int64_t i);
/* Copy the part out of, or into, the whole tensor. */
void pl_port_take(const pl_port *p, const void *whole, void *part);
void pl_port_give(const pl_port *p, const void *part, void *whole);

/* States: the same block for every program of a device (training and evaluation). */
typedef struct pl_store {
    int n;
    pl_port *state;
    int64_t bytes;
} pl_store;

typedef struct pl_program {
    const pl_plan *plan;
    const pl_store *store;
    int rank, n_ranks;
    int n_steps, n_compute, n_messages;
    pl_step *step;
    int n_inputs, n_outputs;
    pl_port *input, *output;
    int64_t work_bytes;         /* height of the work block                                   */
    int64_t work_bound;         /* no layout of this order is lower                           */
    int64_t message_bytes;      /* that this rank puts into messages in one step              */
    double flops;               /* of this rank's kernels                                     */
} pl_program;

/* How lowering may arrange things; {0} gives the defaults. */
typedef struct pl_lower_options {
    int64_t bucket_bytes;       /* reductions are joined up to this size; default 16 MiB      */
    int64_t work_limit;         /* bytes of device memory for the work block; 0: no limit     */
    bool no_reuse;              /* every buffer its own memory: the slow twin of the layout   */
} pl_lower_options;

/* Where rank `rank` keeps the states of a plan. */
pl_store *pl_store_new(const pl_plan *plan, int rank, pl_arena *out);

/* Lower a checked plan for one rank. `store` may come from another plan's graph (an evaluation that
 * reads the weights a training step keeps): states are matched by name.
 *
 * Fails with PL_EINFEASIBLE when the work block does not fit work_limit (step, bytes live, limit),
 * with PL_EINPUT when the store lacks a state or places it otherwise. */
PL_MUST_CHECK bool pl_program_lower(const pl_plan *plan, int rank, const pl_store *store,
                                    const pl_lower_options *options, pl_arena *out,
                                    pl_program **program, pl_err *err);

/* Independent check over every byte range: nothing is read before it is written, written while a
 * message uses it, or overwritten before its last reader; offsets lie inside the blocks. Fails with
 * PL_EMISMATCH naming both steps. */
PL_MUST_CHECK bool pl_program_check(const pl_program *p, pl_err *err);

/* One line per step: lane, kind, label, slots, waits. */
void pl_program_print(const pl_program *p, pl_text *out);

#endif
