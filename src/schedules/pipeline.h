/* schedules/pipeline.h - a pipeline schedule as data: which rank takes which micro-batch through
 * which stage, and in which order.
 *
 * Pure data: knows no graph and no program. A model is cut into stages; stage 0 reads the inputs,
 * each other one what the stage before it made, the last makes the loss. A stage lies on one rank;
 * a rank may have several. For each stage and micro-batch there is one forward pass, F, and the
 * backward pass in one piece, B, or in two: I makes the gradients of what the stage read, W those
 * of its weights, which nobody waits for (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR
 * 2024).
 *
 * A rank does one pass after the other in the order of its row. F of stage s waits for F of s - 1
 * of the same micro-batch; B or I of s for its own F and for B or I of s + 1; W for its I. */
#ifndef PL_SCHEDULES_PIPELINE_H
#define PL_SCHEDULES_PIPELINE_H
#include "base/arena.h"
#include "base/text.h"

enum { PL_PIPELINE_RANKS = 4096, PL_PIPELINE_PASSES = 1 << 24 }; /* at most, of all ranks */

typedef enum pl_pass_kind { PL_PASS_F, PL_PASS_B, PL_PASS_I, PL_PASS_W, PL_N_PASSES } pl_pass_kind;

typedef struct pl_pass {
    uint8_t kind; /* pl_pass_kind */
    int stage, micro;
} pl_pass;

typedef struct pl_pass_row {
    int n, cap;
    pl_pass *at; /* [n] */
} pl_pass_row;

typedef struct pl_pipeline {
    const char *name;
    int n_ranks, n_stages, n_micro;
    const int *rank_of;     /* [n_stages] */
    const pl_pass_row *row; /* [n_ranks] passes in their order */
    bool apart;             /* no pass waits for another stage's: each has work of its own */
} pl_pipeline;

#define PL_PIPELINE_APART "apart" /* the name of schedules that are */
#define PL_PASS_LETTERS "FBIW" /* by kind */

/* Its text in PyTorch's files, "2F0": stage, kind, micro-batch (written into the arena). */
const char *pl_pass_text(const pl_pass *p, pl_arena *arena);

/* Whether a schedule can be run: every pass there once, on the rank of its stage, backward passes
 * whole or in two, none before what it waits for, and no ranks that wait for each other for ever.
 * Independent of the generators and of play.h. Fails with PL_EINPUT: rank, place in its row, what
 * is wrong there; of a deadlock who waits for whom. */
PL_MUST_CHECK bool pl_pipeline_check(const pl_pipeline *s, pl_err *err);

#endif
