/* program/repeat.h - the program of a deep model, told by that of a short one and what repeats in
 * it.
 *
 * A model of equal blocks is lowered with few of them (graph/shorten.h). In the steps of that
 * program the blocks come in turn, in the forward pass and again in the backward pass: stretches in
 * which the same steps follow each other period by period. One more block is one more period in
 * each. So a stretch of three equal periods in the middle stands for any number of them, and the
 * whole program is never made to say what it takes. */
#ifndef PL_PROGRAM_REPEAT_H
#define PL_PROGRAM_REPEAT_H
#include "graph/shorten.h"
#include "program/program.h"

/* Sums of bytes that are in use while a step runs: of all, of some kinds of these, and in the
 * host's memory. */
enum {
    PL_CHANGE_ALL, PL_CHANGE_GRADIENTS, PL_CHANGE_ACTIVATIONS, PL_CHANGE_BUFFERS, PL_CHANGE_HOST,
    PL_N_CHANGES
};

/* Bytes that come with a step and go with another one (the number of steps: never). */
typedef struct pl_step_life {
    const pl_value *value; /* NULL: nobody says                                         */
    int first, end;        /* steps                                                     */
    int sum;               /* that they are in beside that of all; PL_CHANGE_ALL: none;
                              PL_CHANGE_HOST: in that alone                             */
    int64_t bytes;
} pl_step_life;

/* The first sum that they are in. */
static inline int pl_step_life_sum(const pl_step_life *x)
{
    return x->sum == PL_CHANGE_HOST ? PL_CHANGE_HOST : PL_CHANGE_ALL;
}

/* Bytes of the work blocks, in whole lines, that a step has more in use than the one before it. */
typedef struct pl_memory_changes {
    int64_t *of[PL_N_CHANGES]; /* [steps] */
    int n_lives;
    const pl_step_life *life;  /* [n_lives] what they are the sums of */
} pl_memory_changes;

/* Steps [at, at + n), a period of a stretch that begins with step `first`, run `times` times more
 * than they stand there. */
typedef struct pl_repeat {
    int first, at, n, times;
    int cut; /* whose blocks they put back: of pl_short */
} pl_repeat;

/* What a device does with the blocks that were left out put back. */
typedef struct pl_timeline {
    const pl_program *program;
    int n, n_computes, n_messages;
    int *step;          /* [n] of the program                                                    */
    int *wait, *after;  /* [n] as pl_step's, counted in the whole                                */
    int64_t *extra[PL_N_CHANGES]; /* [steps of the program] by how many bytes what is alive
                           changes there for the blocks that were left out, all at once; NULL:
                           by none                                                               */
    int64_t *grown;     /* [steps of the program] elements that a bucket has more in the whole   */
    int64_t more_bytes; /* of states, of the blocks that were left out                           */
    int64_t more_host;  /* the same in the host's memory                                         */
    int64_t more[PL_N_STATE_KINDS]; /* the same by kind, without what alignment adds             */
} pl_timeline;

/* Every step once, as it stands. */
pl_timeline pl_timeline_plain(const pl_program *p, pl_arena *out);

/* What the micro-batches before the last run of it. */
pl_timeline pl_timeline_micro(const pl_timeline *t, pl_arena *out);

/* The steps of the whole graph's program, from those of the short one's, which take so many
 * seconds[step]. False where no period is
 * found, or blocks are shared out among buckets and gathers so that more of them are needed to see
 * one. */
bool pl_timeline_fold(const pl_program *p, const pl_short *s, const double seconds[],
                      const pl_memory_changes *changes, pl_arena *out, pl_timeline *t);

#endif
