/* explain/reason.h - why a found plan is as it is: what else a node could do, or where else a
 * tensor could lie, and what the whole step would take then.
 *
 * All numbers are those of the tables (cost/problem.h), and an alternative is the fastest of all
 * plans on the mesh in which that one choice is made, not the found plan with one thing changed. A
 * step takes the larger of two sums (pl_problem_chain); parts of a plan's time are the terms of the
 * one that is larger in that plan, so that they add up to its seconds: where computing is longer
 * than what can be hidden beside it, messages count without what is hidden; else all messages count
 * and computing does not. */
#ifndef PL_EXPLAIN_REASON_H
#define PL_EXPLAIN_REASON_H
#include "planners/auto.h"
#include "reshard/reshard.h"

/* A plan on one mesh with its tables, which are asked about. */
typedef struct pl_reason {
    const pl_problem *problem;
    const pl_answer *answer;        /* value: of tables->chain                                   */
    const pl_plan *plan;            /* pl_problem_plan of it                                      */
    double cap;                     /* on memory, bytes; INFINITY: none                          */
    bool tied;                      /* equal blocks were planned alike                           */
    double seconds, memory;         /* of the answer                                             */
} pl_reason;

/* About one mesh of a search with these options (NULL: the usual ones). `out` owns what is new. */
pl_reason pl_reason_open(const pl_auto_mesh *found, const pl_auto_options *options, pl_arena *out);

/* About an answer to a problem, of which no bound is known. */
pl_reason pl_reason_answer(const pl_problem *problem, const int *value,
                           const pl_auto_options *options, pl_arena *out);

/* The least that a given plan costs in the tables of its mesh, as something to ask about. The cap
 * of `options` is kept where it can be; where it cannot, memory > cap. `fold` may be NULL: with one
 * all equal blocks are as the one that stands for them is in the plan. Fails with PL_EINPUT when
 * something of the plan is no choice of the search (pl_problem_given). */
PL_MUST_CHECK bool pl_reason_price(const pl_plan *p, const pl_fold *fold, const pl_speed *speed,
                                   const pl_auto_options *options, pl_arena *out, pl_reason *r,
                                   pl_err *err);

/* -- alternatives ------------------------------------------------------------------------------ */

typedef struct pl_alternative {
    const char *text;    /* "data: b, tensor: n"; of a tensor its placement: "[data;]", "whole"  */
    int value;           /* of the variable                                                      */
    int taken;           /* so many copies of the block do this in the found plan                */
    double seconds;      /* of the fastest plan that was found in which all copies do this, under
                            the same cap;                                                        */
    double bound;        /* none of them is faster than that: equal but for rounding, or less where
                            the search for more would take long                                  */
    double more;         /* seconds - those of the found plan; the next three add up to it       */
    double compute;      /* its own computing                                                    */
    double messages;     /* those of its operands; of a tensor to and from where it lies         */
    double rest;         /* all others, which may do other things then                           */
    double memory;       /* bytes more                                                           */
    int n_others;        /* nodes that do other things then, one for all copies of a block       */
    const pl_node *const *other;
} pl_alternative;

/* Choices that have all operands in the same places count once. */
typedef struct pl_alternatives {
    const pl_variable *var;
    int copies;          /* of the block; outside of it 1                                        */
    int n;
    pl_alternative *at;  /* [n] the fastest first                                                */
    int n_more;          /* so many others, each of them at least                                */
    double at_least;     /* so many seconds slower than the found plan                           */
    int n_illegal;       /* values that are illegal, or with which no plan fits the cap          */
} pl_alternatives;

/* The taken ones and the `most` fastest others (to a thousandth of the step: of two that are nearer
 * to each other than that either may be left out), or less where the search for them is long.
 * Fails with PL_EINPUT when the node has no choice: all its operands are single numbers. */
PL_MUST_CHECK bool pl_reason_node(const pl_reason *r, const pl_node *n, int most, pl_arena *out,
                                  pl_alternatives *a, pl_err *err);

/* -- tensors ----------------------------------------------------------------------------------- */

/* Where a tensor lies, in the order in which it comes there. */
typedef enum pl_stop_kind {
    PL_STOP_STORED,  /* between steps                                                            */
    PL_STOP_MADE,    /* by its node                                                              */
    PL_STOP_EARLY,   /* for its readers of the forward pass, or for all of a later value         */
    PL_STOP_SAVED,   /* from the forward to the backward pass                                    */
    PL_STOP_AGAIN,   /* for the backward pass, by its node once more                             */
    PL_STOP_LATE,    /* for its readers of the backward pass                                     */
    PL_STOP_READER,  /* where one reader wants it                                                */
    PL_STOP_NEXT,    /* what a step leaves in a state, as it was made                            */
    PL_N_STOPS
} pl_stop_kind;

const char *pl_reason_stop(pl_stop_kind k); /* "kept for the backward pass" */

typedef struct pl_stop {
    pl_stop_kind kind, from;     /* `from`: the earlier stop where it comes from, or the same    */
    const pl_node *node;         /* MADE, READER, NEXT; else NULL                                */
    pl_placement at;
    int64_t bytes;               /* of one device                                                */
    pl_path path;                /* the moves from there (NEXT: back to where it is stored); n ==
                                    0: it lies as it did, or the part was kept on the way        */
} pl_stop;

typedef struct pl_reason_tensor {
    const pl_value *value;
    const pl_node *owner;        /* a leaf that lies where this one node works; or NULL          */
    int n_stops;
    pl_stop *stop;
    double seconds;              /* of all its moves, once                                       */
    pl_variable_kind about; /* what the alternatives are of */
    pl_alternatives other;       /* where it is stored; a computed one: kept, or lies for its
                                    readers. n == 0: that follows from its maker or owner        */
} pl_reason_tensor;

/* What else a variable of a value could be: STORE, SAVE or LIE (of the forward pass), where the
 * tables have it. */
PL_MUST_CHECK bool pl_reason_ask(const pl_reason *r, const pl_value *v, pl_variable_kind kind,
                                 int most, pl_arena *out, pl_alternatives *a, pl_err *err);

/* Fails with PL_EINPUT for a single number. */
PL_MUST_CHECK bool pl_reason_value(const pl_reason *r, const pl_value *v, int most, pl_arena *out,
                                   pl_reason_tensor *t, pl_err *err);

/* -- texts ------------------------------------------------------------------------------------- */

/* The name of a node or value with "*" where those of other copies differ: "h.*.attn.qkv". What the
 * update of a weight reads is "gradient of h.*.mlp.fc.weight". */
const char *pl_reason_node_name(const pl_problem *t, const pl_node *n, pl_arena *out);
const char *pl_reason_value_name(const pl_problem *t, const pl_value *v, pl_arena *out);

const char *pl_reason_kind(pl_collective k);   /* "all-reduce" */
const char *pl_reason_axes(const pl_mesh *m, unsigned axes, pl_arena *out); /* "data,tensor" */

/* What a choice does: "data: b, tensor: n"; axes on one factor major first: "node+gpu: b"; "all
 * copied". */
const char *pl_reason_choice(const pl_choice *c, const pl_node *n, const pl_mesh *m, pl_arena *out);

#endif
