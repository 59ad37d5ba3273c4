/* verify/verify.h - does the split program compute what the whole one computes?
 *
 * The training step of a model is run twice from the same initial states and inputs: whole, on one
 * device, and split by a strategy over n ranks. Compared are the scalars reported in each step
 * (loss, gradient norm), the gradient of every weight in the first step, and every state (weights,
 * moments, running statistics) after the first and the last. Each rank compares the parts that it
 * holds; all ranks get the same findings.
 *
 * The gradients come from a run of their own, with the gradients as further outputs; then the
 * states are set back, and the steps are those of the programs that training runs. Memory is
 * poisoned before every step of a split program, so that what is read before it is written shows as
 * NaN.
 *
 * With micro-batches the ranks run the two programs that training runs then: one that sums
 * gradients up, for each micro-batch, and one that updates. They are compared with the whole step
 * in one piece, whose batch is all the micro-batches one after another. Where that is other
 * mathematics (the batch has statistics, or numbers are drawn for each micro-batch anew), they are
 * compared with the whole step in the same micro-batches: pl_verify_runs tells.
 *
 * The difference of two elements a (whole), b is |a - b| / m, where m is the largest magnitude in
 * the whole tensor, and at least a thousandth of that in any tensor of its kind (what is read after
 * the first step, or states whose names end alike): a gradient that is zero but for rounding has no
 * scale of its own.
 *
 * Differences over the tolerance are error or rounding, and rounding can be large: biases before a
 * norm have gradients that are nothing else, and adam makes steps of them. Then the split program,
 * with the same plan, runs once more in f64 beside the whole one in f64, and has to agree with it
 * to 1e-8, or to what rounding is seen to do in f64: no error in a program does. What is left is
 * the rounding of kernels, which may be ten times what it is seen to do to the whole run
 * (verify/noise.h). Both are run only when a case needs them. */
#ifndef PL_VERIFY_VERIFY_H
#define PL_VERIFY_VERIFY_H
#include "planners/find.h"
#include "run/exec.h"
#include "train/optim.h"

typedef struct pl_verify_options {
    const char *model;    /* spec                                                      */
    const pl_model_args *args; /* instead of it; NULL: none                            */
    int64_t steps;        /* at least 1                                                */
    int64_t micro;        /* micro-batches that the ranks take a step's batch in; 0: 1 */
    pl_optim optim;
    double lr;
    uint64_t seed;        /* of weights, data and dropout                              */
    double tolerance;     /* largest difference that is none; < 0: 1e-5, of a model that
                             computes in bf16 0.1, and what is over it is judged by rounding     */
    bool exact;           /* run in f64 even so; not with a tolerance                            */
    pl_plan_request plan; /* how plans are found and lowered; its strategy is not read         */
    pl_exec_options exec; /* of each rank, and of the whole run                        */
    /* For tests: damages a rank's program before it runs. NULL: leaves it as it is. */
    void (*spoil)(pl_program *p, void *arg);
    void *spoil_arg;
} pl_verify_options;

typedef struct pl_verify pl_verify;           /* the whole run, once per process       */
typedef struct pl_verify_case pl_verify_case; /* a strategy                            */

/* The largest difference of a tensor, and the rank that has it. */
typedef struct pl_verify_worst {
    double difference;
    int rank;
} pl_verify_worst;

typedef struct pl_verify_found {
    double difference;       /* the largest; infinite when one of them is not a number */
    const char *tensor;      /* where: "gradient of 'h.0.ln_1.bias'", "loss of step 2" */
    int rank;                /* that holds it                                          */
    const pl_verify_worst *worst; /* of each tensor; the case owns them                */
    /* Set by pl_verify_judge: */
    const char *first;       /* tensor over its limit, in the order of the graph       */
    double first_difference, first_limit;
    int first_rank;
    int n_tensors;           /* that are compared                                      */
    bool measured;           /* did the verdict need more than the tolerance?          */
    double exact_difference; /* then: the largest in f64                               */
    int n_rough;             /* tensors over the tolerance, when rounding was measured */
    const char *rough;       /* that of them which is nearest to its limit, or NULL    */
    double rough_difference, noise;
    double ratio;            /* the largest of such a tensor's difference by its noise */
    int n_blind;             /* tensors whose limit is their own size: nothing is seen there */
    /* Set by pl_verify_run: */
    const char *copies;      /* state of which two ranks hold copies that differ       */
    int copy_rank[2];
    const char *lost;        /* state of which no rank holds some elements             */
    /* Bytes received in one training step (all its micro-batches, and the update) by the rank that
     * receives most: the sum over the steps of its programs, and what the transport counted. Where
     * the two differ for a program, those of one run of it by the first such rank (bytes_rank, else
     * -1). */
    int64_t bytes_predicted, bytes_counted;
    int bytes_rank;
} pl_verify_found;

/* Build the graphs and run the whole program; `arena` owns the books. Fails with what the model or
 * the optimizer are refused for, with PL_EINPUT when the batch does not divide into micro-batches,
 * with PL_EINFEASIBLE when the model does not fit this machine, with PL_ERUN when the whole run
 * makes a number that is not finite. */
PL_MUST_CHECK bool pl_verify_new(const pl_verify_options *options, pl_arena *arena, pl_verify **out,
                                 pl_err *err);
void pl_verify_free(pl_verify *verify); /* NULL is fine */
const pl_graph *pl_verify_graph(const pl_verify *verify); /* of the whole run's step */
const char *pl_verify_model(const pl_verify *verify);     /* its spec, canonical     */
double pl_verify_tolerance(const pl_verify *verify);
const char *pl_verify_type(const pl_verify *verify);      /* that it computes in: "f32"      */
/* Micro-batches of the whole run: 1, or as many as the ranks have. */
int64_t pl_verify_runs(const pl_verify *verify);

/* Find the plan of a strategy. Fails as pl_plan_find does. */
PL_MUST_CHECK bool pl_verify_split(pl_verify *verify, const pl_strategy *strategy, pl_arena *arena,
                                   const pl_verify_case **out, pl_err *err);
const pl_plan *pl_verify_plan(const pl_verify_case *c); /* of the training step */

/* Run it as one rank and compare; comm NULL for a single rank. All ranks return the same verdict:
 * false when the program could not be made or run. What was found is no error here. */
PL_MUST_CHECK bool pl_verify_run(const pl_verify_case *c, pl_comm *comm, pl_verify_found *out,
                                 pl_err *err);

/* Is a difference over the tolerance, or f64 asked for (and nothing else wrong, and the tolerance
 * not the user's)? Then the case has to run once more in f64, as all ranks. */
bool pl_verify_doubts(const pl_verify_case *c, const pl_verify_found *found);
double pl_verify_flops(const pl_verify *verify, int64_t steps); /* of so many steps, whole */

/* Run the whole program in f64, once. Not while ranks run. Fails with PL_EINFEASIBLE when it does
 * not fit this machine, or with what a run reports. */
PL_MUST_CHECK bool pl_verify_measure(pl_verify *verify, pl_err *err);

/* The case in f64: for pl_verify_run. */
PL_MUST_CHECK bool pl_verify_exact(const pl_verify_case *c, pl_arena *arena,
                                   const pl_verify_case **out, pl_err *err);

/* `exact`: what was found in f64, or NULL. Fails with PL_EMISMATCH when the split program is not
 * the whole one: which tensor first, by how much, on which rank; or which copies differ, or which
 * bytes were not as predicted. Not while ranks run: it may repeat the whole run. */
PL_MUST_CHECK bool pl_verify_judge(const pl_verify_case *c, pl_verify_found *found,
                                   const pl_verify_found *exact, pl_err *err);

#endif
