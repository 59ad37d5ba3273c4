/* verify/side.h - one side of a verification: the training step of a model, whole or a rank's
 * part of it, in one piece or in micro-batches, as programs that run.
 *
 * The graph STEP is a training step, in micro-batches the last of them; GRADIENTS is the same with
 * the gradients of all weights as outputs WEIGHT.gradient, for a first step. MICRO is the program
 * of each micro-batch before. */
#ifndef PL_VERIFY_SIDE_H
#define PL_VERIFY_SIDE_H
#include "data/ids.h"
#include "models/model.h"
#include "plan/unroll.h"
#include "verify/verify.h"

enum { PL_VERIFY_STEP, PL_VERIFY_GRADIENTS, PL_VERIFY_MICRO, PL_VERIFY_PROGRAMS };
enum { PL_VERIFY_GRAPHS = PL_VERIFY_GRADIENTS + 1 };

typedef struct pl_verify_graphs {
    const char *model;        /* canonical spec, with the batch of a training step               */
    pl_model_args args;       /* `batch` is the rows of a micro-batch                            */
    int64_t runs;             /* micro-batches of a training step                                */
    int n;                    /* programs: all, or in one piece those before MICRO               */
    const pl_graph *draw;     /* whose inputs are drawn: STEP of the side in micro-batches, many
                                 of which lie side by side in the batch of this one              */
    bool alone;               /* the loss of a batch is the mean of those of its micro-batches   */
    pl_limits limits, draws;  /* synthetic integers: of the graphs, and of `draw`                */
    pl_graph *graph[PL_VERIFY_GRAPHS];
} pl_verify_graphs;

/* Bytes that a rank received in so many runs: the sum over the steps of its program, and what the
 * transport counted. */
typedef struct pl_verify_book {
    int64_t runs, predicted, counted;
} pl_verify_book;

/* A rank's side. Set the first rows, then start it. */
typedef struct pl_verify_side {
    const pl_verify_options *options; const pl_verify_graphs *graphs;
    pl_comm *comm; pl_arena *arena;
    int rank;
    const pl_verify_graphs *narrow; /* of a twin in f64: the graphs it is of. It starts from their
                                       weights and inputs, as their types round them; or NULL    */
    double stir;                    /* weights start moved at random by up to this part of each  */
    uint64_t stirring;              /* which random numbers                                      */
    const pl_store *store;
    const pl_program *program[PL_VERIFY_PROGRAMS];
    pl_unrolled pipeline[PL_VERIFY_GRAPHS]; /* of plans in stages: what runs, once a step       */
    int n;                                  /* programs                                         */
    pl_exec *exec;
    pl_verify_book book[PL_VERIFY_PROGRAMS]; /* of each program                         */
    pl_verify_book steps;                    /* of training steps                       */
    int n_scalars;
    struct pl_verify_scalar {
        const char *name;
        double value;                        /* of the last training step               */
    } *scalar;
} pl_verify_side;

/* Build the graphs of a step in `runs` micro-batches of o->model. `draw`: graphs of the same model
 * in micro-batches, whose data this one shall read; NULL: its own. `arena` owns them. Fails with
 * what the model or the optimizer are refused for, and when the batch does not divide. */
PL_MUST_CHECK bool pl_verify_side_build(const pl_verify_options *options, int64_t runs,
                                        const pl_verify_graphs *draw, pl_arena *arena,
                                        pl_verify_graphs *out, pl_err *err);

/* Build the graphs of `of` once more, which read the same data; then, when a plan for these is
 * made, let all their floats be f64. So a twin has the plan of what it is a twin of. */
PL_MUST_CHECK bool pl_verify_side_twin(const pl_verify_options *options, const pl_verify_graphs *of,
                                       pl_arena *arena, pl_verify_graphs *out, pl_err *err);
void pl_verify_side_widen(pl_verify_graphs *graphs);

/* Lower the plans, which are those of the graphs, and make ready to run. The programs of a rank are
 * checked, spoiled (o->spoil) and poisoned when `split`. All ranks return the same verdict. */
PL_MUST_CHECK bool pl_verify_side_start(pl_verify_side *side, const pl_plan *const plan[],
                                        bool split, pl_err *err);
void pl_verify_side_free(pl_verify_side *side); /* what was not started is fine */

/* From the initial states, the first training step; its gradients can be read afterwards. */
PL_MUST_CHECK bool pl_verify_side_first(pl_verify_side *side, pl_err *err);

/* A training step, from 0; number 0 starts from the initial states. */
PL_MUST_CHECK bool pl_verify_side_step(pl_verify_side *side, int64_t step, pl_err *err);

/* A scalar output of the last training step: of micro-batches their mean. */
double pl_verify_side_scalar(const pl_verify_side *side, const char *name);

/* This rank's part of an output of GRADIENTS, there after the first step, or of a state. */
const pl_port *pl_verify_side_port(const pl_verify_side *side, bool output, const char *name);

#endif
