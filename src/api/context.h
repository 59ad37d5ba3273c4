/* api/context.h - what stands behind the handles of pleat.h. */
#ifndef PL_API_CONTEXT_H
#define PL_API_CONTEXT_H
#include "api/job.h"

struct pl_context {
    pl_arena *arena; /* of all that belongs to it */
    pl_err err;      /* of the last failure       */
    pl_watch watch;
    pl_run *runs;    /* that are not freed yet    */
};

struct pl_model {
    pl_context *context;
    pl_model_args args;
    pl_family own; /* of a caller's model; its build asks: */
    void (*build)(pl_builder *b, int64_t batch, pl_mode mode, void *self);
    void *self;
};

/* A pl_plan of the library is one that a handle holds: the handle is its address, and what only the
 * library knows of it stands behind it. */
typedef struct pl_held_plan {
    pl_plan plan; /* first */
    pl_context *context;
    const pl_model *model;
    pl_job job;
    pl_found *found;
} pl_held_plan;

const pl_held_plan *pl_held_plan_of(const pl_plan *p);

/* A call that may fail begins with no error, and ends with what went wrong, if anything did. */
pl_err *pl_context_begin(pl_context *c);

#endif
