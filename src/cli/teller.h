/* cli/teller.h - what pleat train tells of a run: results on stdout, narration on stderr. */
#ifndef PL_CLI_TELLER_H
#define PL_CLI_TELLER_H
#include "cli/scalars.h"
#include "train/train.h"

/* What the user wants to see. */
typedef struct pl_teller_options {
    bool json, timings, explain, profile, program;
    bool measured;              /* the figures of the links are the user's, no guesses */
    int64_t log_every;          /* steps are told whose number it divides, and the last */
    pl_scalars_options scalars; /* the files they are written to                       */
} pl_teller_options;

typedef struct pl_teller {
    const pl_teller_options *show;
    const pl_train_options *o;
    const pl_train_job *job;
    bool tty;
    pl_scalars *scalars;
    double begin, first_end, shown; /* seconds on the clock               */
    double delay;                   /* seconds without a core, at START   */
    int64_t first_step, tokens, steps;
    bool live;                      /* a live line stands on the terminal */
    bool saved;                     /* a checkpoint                       */
    int stopped;                    /* the signal that ended the run      */
} pl_teller;

/* All are the caller's and outlive it. */
pl_teller pl_teller_new(const pl_teller_options *show, const pl_train_options *o,
                        const pl_train_job *job, pl_scalars *scalars);

/* For pl_train_run, with the teller as `to`. */
void pl_teller_tell(void *teller, const pl_train_event *e);

/* No line is left half written on the terminal. */
void pl_teller_close(pl_teller *t);

#endif
