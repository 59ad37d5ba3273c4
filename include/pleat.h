/* pleat.h - plan the training of a model on many devices, explain the plan, and run it.
 *
 *     pl_context *c = pl_context_new();
 *     pl_model *m = pl_model_open(c, "gpt2:layers=4,batch=8");
 *     pl_plan *p = pl_plan_new(m, pl_cluster_open(c, "2x8xv100"), NULL);
 *     if (!p) fprintf(stderr, "%s\n", pl_context_error(c));
 *     else puts(pl_plan_text(p));
 *     pl_context_free(c);
 *
 * Everything belongs to a context and is freed with it; a run may be ended before (pl_run_free).
 * Texts that are returned live as long as the context. A context and what belongs to it are used by
 * one thread at a time; several contexts are independent of each other. Numbers in texts have a
 * '.': in a process whose LC_NUMERIC says otherwise (setlocale) nothing is begun.
 *
 * What fails returns NULL or false, and pl_context_error says what, with the numbers, and what to
 * do next. Nothing here ends the process, but for two things: the host has no memory left for
 * pleat's own data (not for tensors: that is an error), or there is a bug in pleat.
 *
 * Options are structs whose first field is their size: begin with PL_PLAN_OPTIONS or
 * PL_RUN_OPTIONS, which hold the defaults, then set fields. NULL stands for all defaults. Zeros and
 * NULLs in a field mean its default. */
#ifndef PLEAT_H
#define PLEAT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PL_VERSION_MAJOR 0
#define PL_VERSION_MINOR 1
#define PL_VERSION_PATCH 0

#if defined(__GNUC__)
#define PL_API __attribute__((visibility("default")))
#else
#define PL_API
#endif

/* Of the library that runs, "0.1.0"; a program was compiled for PL_VERSION_.... While the major
 * version is 0, a minor one may change what stands here; a patch does not. */
PL_API const char *pl_version(void);

/* -- contexts ---------------------------------------------------------------------------------- */

typedef struct pl_context pl_context; /* owner of all that follows        */
typedef struct pl_model pl_model;     /* what is trained                  */
typedef struct pl_cluster pl_cluster; /* devices and links                */
typedef struct pl_plan pl_plan;       /* what each device does of a model */
typedef struct pl_run pl_run;         /* a training run of a plan         */

/* Why something failed; also the exit codes of the command. */
typedef enum pl_code {
    PL_OK = 0,
    PL_EINTERNAL = 1,    /* a bug in pleat                                              */
    PL_EUSAGE = 2,       /* wrong arguments                                             */
    PL_EINPUT = 3,       /* a file, model or plan that is wrong, or may not be written  */
    PL_EUNSUPPORTED = 4, /* right, and not there (yet)                                  */
    PL_EINFEASIBLE = 5,  /* nothing fits in memory                                      */
    PL_EMISMATCH = 6,    /* a check found a difference                                  */
    PL_ERUN = 7,         /* a run failed, or a disk is full                             */
} pl_code;

PL_API pl_context *pl_context_new(void);
PL_API void pl_context_free(pl_context *c); /* NULL is fine */

/* Of the last call that failed in this context; "" and PL_OK before the first. */
PL_API const char *pl_context_error(const pl_context *c);
PL_API pl_code pl_context_code(const pl_context *c);

/* Long work tells what it is at: part i of n of `what`; NULL when it is over. Called by the thread
 * that called pleat, or by one that works for it, one at a time. */
PL_API void pl_context_watch(pl_context *c, void (*see)(void *self, const char *what, int i, int n),
                             void *self);

/* -- models ------------------------------------------------------------------------------------ */

/* A model by its spec: a name that pleat knows with keys over its defaults
 * ("gpt2:layers=96,hidden=768,batch=8"), a folder of Hugging Face or its config.json, or a file
 * MODEL.onnx, with keys behind a colon. The training step has the batch of all devices. */
PL_API pl_model *pl_model_open(pl_context *c, const char *spec);

PL_API const char *pl_model_spec(const pl_model *m);   /* as pleat understood it */
PL_API int64_t pl_model_parameters(const pl_model *m); /* numbers that train     */

/* The training step as text, a line per node: forward, backward, and the optimizer's update. */
PL_API const char *pl_model_text(const pl_model *m);

/* -- models built node by node ----------------------------------------------------------------- */

typedef struct pl_builder pl_builder; /* a graph that is being built: only during `build`        */
typedef struct pl_value pl_value;     /* a tensor in it                                          */

/* What a graph is built for. */
typedef enum pl_mode {
    PL_TRAIN, /* loss, with dropout and batch statistics      */
    PL_EVAL,  /* loss, without dropout, running statistics    */
    PL_INFER, /* outputs the logits, needs no targets         */
} pl_mode;

/* A model of one's own. `build` adds inputs, weights and nodes, and the output "loss"
 * (pl_build_output): a scalar, the mean over `batch` rows. It is called whenever a graph is needed,
 * for PL_TRAIN and PL_EVAL, with the batch that this graph has, and has to build the same each time
 * but for that and the mode. Gradients and updates follow by themselves. `name` has letters, digits
 * and any of _.-; checkpoints have it. */
PL_API pl_model *pl_model_new(pl_context *c, const char *name, int64_t batch,
                              void (*build)(pl_builder *b, int64_t batch, pl_mode mode, void *self),
                              void *self);

/* All of these return NULL once something was wrong, and accept NULL for a value then: only
 * pl_plan_new has to be asked whether all went well. Element types: "f32", "bf16", "f64", "i32",
 * "i64", "bool". Names are unique among inputs, weights and outputs. */

/* What a step reads. Dimension 0 has the rows of the batch. */
PL_API pl_value *pl_build_input(pl_builder *b, const char *name, const char *type, int rank,
                          const int64_t dim[]);

/* What training changes, in f32. `init`: "zeros", "ones", "constant X", "normal std=X" or
 * "uniform X" (in [-X, X)); every device draws the same numbers. */
PL_API pl_value *pl_build_weight(pl_builder *b, const char *name, int rank, const int64_t dim[],
                           const char *init);

/* A node of an operator of `pleat ops`, and its first result. `spec` is "signature; attribute=value
 * ...": the signature says which index of each input is which index of the results ("bm,mf->bf"),
 * where the operator has none of its own; either part may be missing. NULL: neither is needed.
 * `name` NULL: one is made. */
PL_API pl_value *pl_build_node(pl_builder *b, const char *name, const char *op, const char *spec,
                               int n_in, pl_value *const in[]);

/* The mean cross-entropy of logits [..., classes] and targets i32[...]: a loss. */
PL_API pl_value *pl_build_cross_entropy(pl_builder *b, pl_value *logits, pl_value *targets);

/* Result i of the node that made a value, for nodes with several. */
PL_API pl_value *pl_build_result(pl_value *v, int i);

PL_API void pl_build_output(pl_builder *b, pl_value *v, const char *name);

PL_API int pl_build_rank(const pl_value *v);
PL_API int64_t pl_build_dim(const pl_value *v, int d);

/* The model cannot be built: why. */
PL_API void pl_build_refuse(pl_builder *b, const char *why);

/* -- clusters ---------------------------------------------------------------------------------- */

/* "2x8xv100", "64xh100", "local:4" (guesses of this machine), a name of `pleat plan --help`, or a
 * file of docs/cluster.md. */
PL_API pl_cluster *pl_cluster_open(pl_context *c, const char *name);

/* This machine, measured as `pleat probe` does: kernels, memory and messages of so many devices,
 * which are threads of this process and work at the same time. Other work on the machine makes the
 * numbers worse. pl_cluster_text has them as a file, for pl_cluster_open and --cluster.
 *
 *   devices  1 to 256; 0: one per core
 *   threads  of each device; 0: its share of the cores
 *   quick    in some 3 seconds, and rougher; else in 5 to 15
 *
 * Fails with PL_EUSAGE for other numbers, with PL_ERUN when a device has no memory or no thread. */
PL_API pl_cluster *pl_cluster_probe(pl_context *c, int devices, int threads, bool quick);

PL_API int pl_cluster_devices(const pl_cluster *c);
PL_API const char *pl_cluster_text(pl_context *c, const pl_cluster *cluster); /* as such a file */

/* -- plans ------------------------------------------------------------------------------------- */

typedef struct pl_plan_options {
    size_t size;
    const char *strategy;  /* "auto", or words of README.md: "zero=3,tp=8,sp"                    */
    const char *optimizer; /* "adamw", "adam", "adabelief", "lamb", "sgd", "adagrad",
                              "rowwise-adagrad", "lazy-adam", "lazy-adamw"                     */
    double memory;         /* bytes of a device; 0: all it has                                   */
    const char *search;    /* a published search for "auto"; NULL: the least, with a proof       */
    int effort;            /* of "auto": 1: equal blocks are planned alike; 2: exact;
                              3: pipelines are looked at, too                                    */
    int axes;              /* of "auto": of a mesh at most; 0: 2, or the levels of the cluster   */
    int64_t bucket_bytes;  /* gradients reduced in one message; 0: 16 MiB                        */
    int64_t ahead_bytes;   /* weights gathered before they are read; 0: 32 MiB; -1: none         */
    int64_t step_bytes;    /* larger gathers run in steps; 0: none do                            */
    double seconds;        /* of "auto": then the best plan so far is taken; 0: no limit         */
    const char *objectives; /* of a model of several losses, which optimizer trains the weights of
                              each, at which share of the rate, and in every how many steps:
                              "generator:optimizer=adabelief,rate=0.5,every=5;discriminator:..."
                              (docs/words.md); NULL: what the model says                       */
} pl_plan_options;

#define PL_PLAN_OPTIONS \
    { .size = sizeof(pl_plan_options), .strategy = "auto", .optimizer = "adamw", .effort = 2 }

/* The fastest plan that fits, or that of a strategy. The same model, cluster and options give the
 * same plan, here and in the command. Fails with PL_EINFEASIBLE when nothing fits. */
PL_API pl_plan *pl_plan_new(const pl_model *m, const pl_cluster *c, const pl_plan_options *options);

/* A plan file (docs/plan.md). `m`: the model that it is of; NULL: what its spec says. */
PL_API pl_plan *pl_plan_open(pl_context *c, const char *path, const pl_model *m);
PL_API bool pl_plan_save(const pl_plan *p, const char *path);

PL_API int pl_plan_devices(const pl_plan *p);
/* That was taken: "zero=3,tp=8", or "auto". */
PL_API const char *pl_plan_strategy(const pl_plan *p);
PL_API double pl_plan_seconds(const pl_plan *p);       /* of a step, predicted                    */
PL_API double pl_plan_bytes(const pl_plan *p);         /* of the heaviest device, at the peak     */
PL_API bool pl_plan_fits(const pl_plan *p);            /* in the memory that was asked for        */

/* What `pleat plan` prints, and what it prints with --json. */
PL_API const char *pl_plan_text(const pl_plan *p);
PL_API const char *pl_plan_json(const pl_plan *p);

/* Of an operator or tensor, by name (of equal blocks all of them with * for what differs): what the
 * plan does with it, what else could be done, and what that would cost, as `pleat explain` tells
 * it. For plans of "auto". NULL: nothing has that name (the error has those that are near). */
PL_API const char *pl_plan_explain(const pl_plan *p, const char *name, bool json);

/* A strategy beside a plan of "auto": where its seconds and bytes go, as `pleat why-not` tells it.
 * */
PL_API const char *pl_plan_why_not(const pl_plan *p, const char *strategy, bool json);

/* The work memory of a device (all but states: activations, gradients, messages) under several
 * orders of its steps and layouts of its buffers, beside what no order goes below: what
 * `pleat memory` tells. The plan stays as it is. Seconds, of large models minutes.
 *
 *   order   of steps: "program", "lescea", "pleat"; NULL: all of them
 *   layout  of buffers: a name of `pleat memory --help`; NULL: several; of one order "pleat"
 *
 * Fails with PL_EUSAGE for other names. */
PL_API const char *pl_plan_memory(const pl_plan *p, const char *order, const char *layout,
                                  bool json);

/* -- runs -------------------------------------------------------------------------------------- */

typedef struct pl_run_options {
    size_t size;
    const char *data;        /* a text, FILE.safetensors, a log of clicks, pictures (a file or a
                                folder), "synthetic"; NULL: pl_run_feed                         */
    double lr, lr_min;       /* peak after warm-up; where it ends; lr_min < 0: see pleat train   */
    int64_t steps, warmup;   /* that the schedule of lr is for                                   */
    uint64_t seed;           /* of weights, data order and dropout                               */
    const char *save;        /* folder for checkpoints; NULL: none                               */
    const char *resume;      /* a folder to go on from; NULL: initial values                     */
    const char *weights;     /* safetensors to start from; NULL: initial values                  */
    const char *backend;     /* "auto", "onednn", "native", "ref"                                */
    int threads;             /* of each device; 0: its share of this machine's cores             */
    double timeout;          /* seconds after which a silent device is lost; 0: 120              */
    const char *words;       /* the vocabulary of a text (pleat data words); NULL: its bytes are
                                its tokens                                                      */
    const char *augment;     /* of pictures that train: "crop,flip,scale=0.08"; NULL: none       */
    const char *lr_schedule; /* as of pleat train --lr-schedule; NULL: "cosine"                  */
} pl_run_options;

#define PL_RUN_OPTIONS \
    { .size = sizeof(pl_run_options), .lr = 1e-3, .lr_min = -1, .steps = 100, .seed = 1 }

/* A step as it went. */
typedef struct pl_step_result {
    int64_t step;      /* done so far, this one included                       */
    double loss;       /* mean over the batch, before the update               */
    double lr;         /* that it was done with                                */
    double grad_norm;  /* below 0: gradients are not clipped                   */
    double seconds;
} pl_step_result;

/* The devices of a plan become threads of this process; weights get their first values. */
PL_API pl_run *pl_run_new(const pl_plan *p, const pl_run_options *options);
PL_API void pl_run_free(pl_run *r); /* ends it; NULL is fine */

/* What the next steps read for an input: the whole batch, row-major, of the input's type, `bytes`
 * long. It is copied. An input keeps it until it is fed again. */
PL_API bool pl_run_feed(pl_run *r, const char *input, const void *data, size_t bytes);

/* One step of training. Fails with PL_EUSAGE when an input was never fed, PL_ERUN when a device was
 * lost or the loss is not finite; the run can only be freed then. `result` may be NULL. */
PL_API bool pl_run_step(pl_run *r, pl_step_result *result);

/* Mean loss of what was fed, or of a validation batch of the data, without dropout. */
PL_API bool pl_run_evaluate(pl_run *r, double *loss);

/* States by name (weights; "NAME.m" and "NAME.v" of adam): whole, row-major, of their type. */
PL_API int pl_run_states(const pl_run *r);
PL_API const char *pl_run_state(const pl_run *r, int i, size_t *bytes); /* its name */
PL_API bool pl_run_read(pl_run *r, const char *state, void *to, size_t bytes);
PL_API bool pl_run_write(pl_run *r, const char *state, const void *from, size_t bytes);

/* A checkpoint in options->save: loads under any plan, by pleat train --resume too. */
PL_API bool pl_run_save(pl_run *r);

#ifdef __cplusplus
}
#endif

#endif
