/* train/train.h - a training job: made once per process, run by every rank. */
#ifndef PL_TRAIN_TRAIN_H
#define PL_TRAIN_TRAIN_H
#include "cache/cache.h"
#include "cluster/cluster.h"
#include "models/model.h"
#include "planners/find.h"
#include "run/exec.h"
#include "data/data.h"
#include "train/optim.h"
#include <stdatomic.h>

/* When the steps of a program began and ended: pl_exec_times. */
typedef struct pl_train_times {
    const pl_program *program;
    const double *begin, *end;
} pl_train_times;

/* The last training step of a rank as it ran: its last micro-batch. */
typedef struct pl_train_record {
    pl_arena *arena;      /* owns the rest; the caller frees it. NULL: nothing is here, as no step
                             ran or the run failed                          */
    pl_train_times times;
} pl_train_record;

typedef struct pl_train_options {
    const char *model;    /* spec, batch and seq included                   */
    const pl_model_args *args; /* instead of it; NULL: none                 */
    const char *strategy; /* text as in layouts/strategy.h; NULL: "dp"         */
    pl_plan_request plan; /* how its plan is found; a strategy without a text
                             is parsed from `strategy`                      */
    const char *data;     /* file (pl_data_kind_of), or "synthetic"         */
    const char *words;    /* vocabulary of a text (data/vocab.h); NULL: its
                             bytes are its tokens                           */
    pl_fed fed;           /* instead of it: what inputs read                */
    bool in_order;        /* rows of tensors or pictures as they lie there  */
    const char *augment;  /* of pictures: pl_augment_parse; NULL: nothing   */
    double train_share;   /* of the file; the rest validates                */
    const char *weights;  /* pl_weights_open, or NULL: initial values       */
    bool weights_partial; /* states that it does not have start from initial values */
    int64_t steps;        /* updates in all, those before a resume included */
    int64_t micro;        /* micro-batches that a step's batch is taken in,
                             one after another; 0: as the strategy says     */
    pl_optim optim;
    double lr, lr_min;    /* peak, after linear warm-up; pl_rate.lr_min     */
    const char *lr_schedule; /* pl_rate_read; NULL: cosine                  */
    const char *lr_scaling;  /* pl_rate_scale, of lr and lr_min; NULL: as it is */
    int64_t warmup;       /* steps                                          */
    uint64_t seed;
    int64_t eval_every;   /* 0: only at the end                             */
    int64_t eval_batches; /* 0: never validate                              */
    const char *save;     /* folder for checkpoints, or NULL                */
    bool overwrite;       /* checkpoints of another run in it are no
                             obstacle; they go once this run has one        */
    int64_t save_every;   /* steps; 0: only at the end                      */
    double save_seconds;  /* or when so much time has passed since the last
                             one; 0: no                                     */
    int keep;             /* newest checkpoints of this run kept            */
    int rank;             /* the first of this process: that of rank 0
                             holds the folder                               */
    bool apart;           /* ranks are processes, which share no memory     */
    const pl_cache_policy *policy; /* of caches of tables                   */
    int64_t ahead;        /* steps whose ids are known ahead                */
    const char *resume;   /* folder or manifest, or NULL                    */
    const atomic_int *stop; /* the number of a signal, once one asks for the end
                             of the run; NULL: none does                    */
    pl_train_record *record; /* [ranks of this process] that pl_train_run fills; NULL:
                             nothing is recorded                            */
    pl_exec_options exec;
} pl_train_options;

typedef struct pl_train_job pl_train_job;

/* What rank 0 tells while it runs. */
typedef enum pl_train_what {
    PL_TOLD_START,
    PL_TOLD_STEP,
    PL_TOLD_EVAL,
    PL_TOLD_SAVE,
    PL_TOLD_END
} pl_train_what;

/* Shares that a graph for evaluation may have as outputs, f32 scalars. */
typedef enum pl_train_share {
    PL_SHARE_ACCURACY, /* rows of which the largest logit is the label's                     */
    PL_SHARE_DROPPED,  /* tokens' choices of experts that had no slot left (models/routed.h) */
    PL_SHARE_UNUSED,   /* experts that no token chose                                        */
    PL_N_SHARES
} pl_train_share;

extern const char *const pl_train_share_names[]; /* [PL_N_SHARES] of the outputs */

typedef struct pl_train_part {
    const char *name; /* of the objective */
    double loss;
} pl_train_part;

typedef struct pl_train_event {
    pl_train_what what;
    int64_t step;               /* updates done                                                  */
    int stopped;                /* END: the signal that ended it; 0: none                        */
    bool ok;                    /* END: no error                                                 */
    double loss;                /* nats; STEP: of the batch, before its update; EVAL: validation */
    double auc;                 /* EVAL: train/auc.h; < 0: the model gives no scores             */
    double share[PL_N_SHARES];  /* EVAL: what the model says of these; < 0: nothing              */
    int n_parts;                /* STEP: losses of objectives that loss is the sum of; 0: of one */
    const struct pl_train_part *part; /* [n_parts]                                               */
    double lr, grad_norm;       /* STEP; grad_norm < 0 without clipping                          */
    double seconds;             /* STEP: of this step; SAVE: of writing                          */
    int64_t tokens;             /* STEP: rows x positions of the batch (rows for images)         */
    const char *path;           /* SAVE: the folder; END: if the last step is saved there        */
    const pl_cache_stats *cached; /* END: of caches of tables; NULL: there are none              */
    const pl_exec_stats *stats; /* START, END                                                    */
    const pl_exec *exec;        /* START, END: for pl_exec_explain, pl_exec_profile              */
    const pl_program *const *program; /* START, END: of exec, by pl_train_program; then those of
                                   steps in which not all objectives train                       */
    int n_programs;
    const pl_program *micro;    /* START, END: the one of PL_TRAIN_MICRO; NULL: there is none    */
} pl_train_event;

/* The programs of a job, the first ones: the step alone when nothing validates; all with
 * micro-batches, the last of which is the step, and MICRO each one before. */
typedef enum pl_train_program { PL_TRAIN_STEP, PL_TRAIN_EVAL, PL_TRAIN_MICRO } pl_train_program;

/* Parse model and strategy, open data and checkpoint, build graphs and the plans for n ranks:
 * everything that can be refused is refused here, before any rank starts. `arena` owns the job. */
PL_MUST_CHECK bool pl_train_new(const pl_train_options *options, int n_ranks, pl_arena *arena,
                                pl_train_job **out, pl_err *err);
void pl_train_free(pl_train_job *job);
const char *pl_train_model(const pl_train_job *job); /* its spec, with the batch of a step */
const pl_graph *pl_train_graph(const pl_train_job *job); /* of the step */
const pl_data *pl_train_data(const pl_train_job *job);
/* What pl_train_event.tokens counts: "tokens" of a model that reads text, else "samples". */
const char *pl_train_unit(const pl_train_job *job);
/* The plan that runs is its `take`. */
const pl_found *pl_train_found(const pl_train_job *job);
/* What forecasts are worth telling on: the cluster that the options or the plan file name, or that
 * was searched. NULL: all of its figures would be guesses. */
const pl_cluster *pl_train_cluster(const pl_train_job *job);
/* What a resumed run does otherwise than the saved one ("lr was 0.01, is 0.02; ..."): the user may
 * want that, but it is not the run that would have been. Empty: the same run, to the last bit. */
const char *pl_train_notes(const pl_train_job *job);
/* What a guess of the model's weights leaves open (pl_model_doubts), or "". */
const char *pl_train_doubts(const pl_train_job *job);
/* What the weights were good for (pl_weights_match), or "". */
const char *pl_train_weights(const pl_train_job *job);

/* Bytes of the tables that devices have caches of; 0: there are none. */
int64_t pl_train_tables(const pl_train_job *job);

/* Does nothing keep a second run out of the folder, as its file system has no locks? */
bool pl_train_unlocked(const pl_train_job *job);

/* Run it as one rank; comm NULL for a single rank. `tell` is called on rank 0 only. All ranks
 * return the same verdict.
 *
 * When a rank finds options.stop set at the end of a step, all end there: the step is saved, if
 * anything is, and *stopped (NULL is fine) becomes the signal; else 0. That is no error. */
PL_MUST_CHECK bool pl_train_run(const pl_train_job *job, pl_comm *comm,
                                void (*tell)(void *to, const pl_train_event *e), void *to,
                                int *stopped, pl_err *err);

#endif
