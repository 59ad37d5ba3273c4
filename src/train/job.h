/* train/job.h - the inside of a training job: job.c makes it, train.c runs it. */
#ifndef PL_TRAIN_JOB_H
#define PL_TRAIN_JOB_H
#include "plan/unroll.h"
#include "planners/find.h"
#include "run/checkpoint.h"
#include "run/claim.h"
#include "data/augment.h"
#include "data/counts.h"
#include "train/rate.h"
#include "train/rests.h"
#include "train/tables.h"
#include "train/train.h"
#include "data/weights.h"

enum { PL_JOB_GRAPHS = PL_TRAIN_EVAL + 1 };

struct pl_train_job {
    pl_train_options options;
    int n_ranks;
    pl_arena *arena;
    pl_model_args args;  /* as asked for: a step's batch    */
    pl_model_args micro; /* of the graphs: a micro-batch    */
    pl_augment augment;
    pl_data data;
    int n_graphs;        /* the step's, and the evaluation's where there is one */
    pl_graph *graph[PL_JOB_GRAPHS];
    const pl_plan *plan[PL_JOB_GRAPHS];
    pl_unrolled whole;   /* of a pipeline: the step's plan with all micro-batches; graph NULL: none.
                            Then it is what runs, once a step                               */
    int n_programs;      /* of a rank */
    pl_rests rests;      /* steps in which not all objectives train              */
    pl_unrolled whole_rest[PL_MOST_RESTS]; /* of a pipeline, as `whole`           */
    int rest_program[PL_MOST_RESTS];       /* its index; that of micro-batches before the last
                                              follows it                          */
    pl_found *found;    /* the plan of the first of them */
    pl_checkpoint from; /* when resuming */
    pl_claim claim;     /* of the folder that it saves to */
    pl_tables tables;   /* that devices have caches of                             */
    pl_counts counts;   /* how often rows of them are in the data, where it has rows */
    const char *spec;   /* of the model, as its checkpoints say it */
    const char *run;    /* the name that its checkpoints have */
    pl_weights weights; /* to start from */
    const char *weights_note;
    const char *settings;
    const char *notes; /* settings that differ from the checkpoint's */
    int64_t tokens;    /* per step */
    pl_rate rate;
};

/* Which of the rests the step after so many is like; -1: all objectives train in it. */
int pl_job_rest_at(const pl_train_job *job, int64_t done);

/* Where states begin, without a checkpoint. */
pl_init pl_train_initial(const pl_train_job *job);

#endif
