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

/* The same of a call that makes a model, a cluster or a plan, which are written with numbers: fails
 * with PL_EUNSUPPORTED where the process has a locale in which "0.5" is none. */
PL_MUST_CHECK bool pl_context_ready(pl_context *c, pl_err **err);

/* What a caller's options say over the defaults in *out, which are `size` bytes; those of an older
 * header are shorter, none at all is NULL. The first field of both is their size. `type`
 * and `defaults` are their names. Fails with PL_EUSAGE. */
PL_MUST_CHECK bool pl_context_options(const void *given, const char *type, const char *defaults,
                                      size_t size, void *out, pl_err *err);

#endif
