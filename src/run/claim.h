/* run/claim.h - a folder of checkpoints belongs to one run, and one process at a time writes there.
 *
 * While it is held, the folder has a file `lock` that names the process, under flock(2): a process
 * that is gone holds nothing, whatever file it left. */
#ifndef PL_RUN_CLAIM_H
#define PL_RUN_CLAIM_H
#include "base/arena.h"

#define PL_CLAIM_LOCK "lock"

typedef struct pl_claim_want {
    const char *dir;    /* the folder                                                       */
    const char *resume; /* checkpoint that the run goes on from (pl_checkpoint_open), or NULL */
    bool overwrite;     /* checkpoints of other runs in it are no obstacle                  */
} pl_claim_want;

typedef struct pl_claim {
    const char *lock; /* path; NULL: nothing is held                                       */
    int fd;           /* private                                                           */
    bool same_run;    /* `resume` is in this folder: the run that is resumed goes on there */
    bool unlocked;    /* the file system has no locks: nobody is kept out                  */
} pl_claim;

/* Take a folder that exists. Fails with PL_EINPUT when another process holds it (which one), when
 * it holds checkpoints that neither `resume` nor `overwrite` is about (how many, up to which step),
 * or when no file can be made there. `arena` owns the texts. */
PL_MUST_CHECK bool pl_claim_take(const pl_claim_want *want, pl_arena *arena, pl_claim *out,
                                 pl_err *err);

/* Gives it back; one that was never taken ({0}) is fine. */
void pl_claim_release(pl_claim *claim);

/* A name for a new run, that no other has: 16 random hexadecimal digits. */
const char *pl_claim_name_run(pl_arena *arena);

#endif
