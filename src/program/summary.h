/* program/summary.h - what a program costs its device, for people: bytes, and messages by kind. */
#ifndef PL_PROGRAM_SUMMARY_H
#define PL_PROGRAM_SUMMARY_H
#include "program/forecast.h"

/* Messages of one kind over the same axes, of tensors that differ by the number of a block only. */
typedef struct pl_summary_row {
    pl_collective collective;
    unsigned axes;           /* the group: mesh axes, as bits                                    */
    const char *tensor;      /* folded: "h.*.mlp.fc", "gradient of h.*.ln_1.bias", "new ..." of a
                                state after its update; of a bucket "... and others"             */
    const char *kind;        /* what it is: "gradients", "weights", "inputs", "states", "updated
                                states", "activations"                                           */
    const char *told;        /* the tensor for people (program/names.h)                          */
    int64_t count;           /* messages in one step                                             */
    int64_t bytes;           /* received in one step                                             */
    double seconds;          /* predicted, one after another                                     */
} pl_summary_row;

typedef struct pl_summary {
    int64_t weights_bytes;   /* states that are neither of the next                              */
    int64_t optimizer_bytes; /* states that the update of a weight changes beside it: moments    */
    int64_t work_bytes, work_bound_bytes;
    int64_t message_bytes;   /* received in one step                                             */
    double message_seconds;  /* predicted, one after another: nothing overlaps                   */
    int n;
    pl_summary_row *row;     /* [n], the most bytes first                                        */
} pl_summary;

/* Of the rank that p is for; rank 0 has the largest parts. `out` owns the rows. */
void pl_summary_make(const pl_program *p, pl_arena *out, pl_summary *s);

/* The same of a program that may have few of the blocks that it tells of: messages alone. */
void pl_summary_fold_make(const pl_program *p, const pl_forecast *f, pl_arena *out, pl_summary *s);

/* The name with every number that stands alone replaced: "h.3.ln_1.bias" -> "h.*.ln_1.bias". */
const char *pl_summary_fold(pl_arena *a, const char *name);

/* "data,tensor": names of the axes in a set, in the order of the mesh; "host": none, as of a copy
 * to or from there. */
const char *pl_summary_axes(pl_arena *a, const pl_mesh *m, unsigned axes);

#endif
