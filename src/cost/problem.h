/* cost/problem.h - the cost problem: what a plan of a graph on a mesh costs, as a sum of tables
 * over variables and edges (search/chain.h).
 *
 * The variables, each of few values:
 *
 *   node     what a node does: a choice of its domain; the time of its share
 *   stored   where an input, or a state with several readers, lies between steps: its memory
 *   read     where a value lies for its readers of one phase, if there are several
 *   saved    where a value of the forward pass is kept for the backward pass: its memory
 *   again    what of a block is made again instead (pl_problem_recompute alone)
 *
 * and on an edge between two of them what it takes to move a tensor from where the one has it to
 * where the other needs it (reshard/convert.h). So a value is moved once for all readers of a phase
 * that need it alike. States that one node reads and changes lie where that node works.
 *
 * Of a step in micro-batches (graph.micro) times are those of all of them.
 *
 * Equal blocks of the graph (graph/fold.h) are the copies of the chain: one represents all, and the
 * tables take no longer for more of them. Of two stacks of so many blocks each, an encoder and a
 * decoder, a copy is a block of the one and a block of the other. Single numbers cost nothing. */
#ifndef PL_COST_PROBLEM_H
#define PL_COST_PROBLEM_H
#include "graph/shorten.h"
#include "placement/speed.h"
#include "cost/domain.h"
#include "chain/pair.h"
#include "reshard/reshard.h"

typedef enum pl_variable_kind {
    PL_VARIABLE_NODE, PL_VARIABLE_STORED, PL_VARIABLE_READ, PL_VARIABLE_SAVED, PL_VARIABLE_AGAIN
} pl_variable_kind;

typedef struct pl_variable {
    pl_variable_kind kind;
    int id;             /* of the node or value, of a block in the representative copy; or -1    */
    int n;              /* choices of the node, placements of the value                          */
    double *time;       /* [n] seconds of computing; INFINITY: not here                          */
    double *memory;     /* [n] bytes of one device                                               */
} pl_variable;

typedef struct pl_variables {
    int n, cap;
    pl_variable *at;
} pl_variables;

/* What joins two variables: see pl_chain. */
typedef enum pl_edge_kind {
    PL_EDGE_OUTSIDE, PL_EDGE_BLOCK, PL_EDGE_LINK, PL_EDGE_FIRST, PL_EDGE_LAST, PL_EDGE_EVERY,
    PL_N_EDGES
} pl_edge_kind;

typedef struct pl_edge {
    pl_sum_edge sum;    /* time: of messages, all of it                                          */
    double hidden;      /* share of it that can pass beside computing,                           */
    double window;      /* but not more than so many seconds                                     */
    bool computing;     /* time: of computing instead, as a node's                               */
} pl_edge;

typedef struct pl_edges {
    int n, cap;
    pl_edge *at;
} pl_edges;

enum { PL_LEAST_COPIES = 3 }; /* fewer are not folded */
enum { PL_MOST_AGAIN = 3 };

typedef struct pl_problem {
    const pl_graph *graph;
    const pl_mesh *mesh;
    pl_arena *arena;
    const pl_fold *fold;
    int n_classes;              /* of the fold that are folded here: a copy is an instance of    */
    bool *folded;               /* each of them. [fold->n_classes]                               */
    int copies, representative; /* so many, of which this one represents all                    */
    int first;                  /* instance of the fold that is copy 0: those before it, as those
                                   after the last copy, are not like the rest and are outside   */
    int *copy;                  /* [values] the copy that it belongs to, or -1                  */
    const pl_value **counterpart; /* [values] the same value of the representative copy         */
    pl_variables vars[2]; /* outside, block */
    pl_edges edges[PL_N_EDGES];
    const pl_domain **domain;   /* [nodes] NULL: all its operands are single numbers, or another
                                   copy represents it                                          */
    const int16_t **at;         /* [nodes * PL_MAX_OPERANDS] index of the operand's placement in
                                   its set, by choice                                           */
    pl_placement_set *placements; /* [values] where a value may be                               */
    int *node, *stored, *read[2], *saved; /* by node or value: variables, or -1                */
    pl_chain chain;             /* priced at 1, or at what pl_problem_min found                  */
    double log10_plans;         /* of the number of plans                                       */
    int n_again;                /* values of the variables below; 0: there are none             */
    const bool *again[PL_MOST_AGAIN]; /* [values] what is made again with each of them          */
    int says[2];                /* outside, block: the variable that says it, or -1             */
} pl_problem;

/* `fold` may be NULL: every node has a variable of its own. The arena owns the tables. */
pl_problem *pl_problem_new(const pl_graph *g, const pl_fold *fold, const pl_mesh *m,
                         const pl_speed *speed, pl_arena *arena);

/* The tables as one chain. Messages of states and of their gradients can pass beside computing:
 * those to an update or from it beside what comes after them, those to a reader beside what comes
 * before it (each node at its fastest; of equal blocks the one for which that is most). A step
 * takes
 *
 *   max(computing, what can be hidden) + the other messages:
 *
 * the larger of two sums of tables. Price 1 gives the one (all is hidden that can be), price 0 the
 * other (computing is hidden instead), and between them lies a bound on both (Lagrange). */
pl_chain pl_problem_chain(const pl_problem *problem, double price, pl_arena *arena);

/* All computing and all messages in full, in one chain: of no plan's time the sum, but what the two
 * sums are made of. */
pl_chain pl_problem_raw(const pl_problem *problem, pl_arena *arena);

/* The same problem where what stays inside a block may be made again for the backward pass
 * (plan/recompute.h): it takes no memory then, and the nodes that make it run twice. Each block
 * makes all of it again, or what is large, or nothing, and no less than the blocks after it, as
 * these are gone through backward first; with `always` all of it. Not counted: the messages among
 * such nodes that pass twice, and what the block has in memory while it is gone through backward.
 * `out` owns what differs; the rest is shared. */
pl_problem *pl_problem_recompute(const pl_problem *problem, bool always, pl_arena *out);

/* What an answer makes again of a copy, or with copy -1 outside: a place in problem->again. */
int pl_problem_again(const pl_problem *problem, const int *value, int copy);

/* Does it make a value again, and keep nothing of it? */
bool pl_problem_is_again(const pl_problem *problem, const int *value, int id);

/* Seconds and bytes of a choice. */
pl_cost pl_problem_cost(const pl_problem *problem, const int *value);

/* The fastest choice within the cap, as pl_chain_min, or with all copies alike (pl_chain_tied).
 * answer->bound is the best of those at all prices tried; problem->chain is the chain at that
 * price. */
PL_MUST_CHECK bool pl_problem_min(pl_problem *problem, double cap, bool tied,
                                 const pl_search_options *options, pl_arena *out,
                                 pl_answer *answer, pl_err *err);

/* The same of several searches of one problem below caps: *opened is as of pl_chain_pair_min. */
PL_MUST_CHECK bool pl_problem_below(pl_problem *problem, double cap, bool tied,
                                   const pl_search_options *options, pl_chain_opened **opened,
                                   pl_arena *out, pl_answer *answer, pl_err *err);

/* A choice that takes nearly the least memory: of those within a few percent of it a fast one, as
 * the very least of what tables count is often slow and takes more of what they do not. Fails with
 * PL_EINFEASIBLE when nothing is legal. */
PL_MUST_CHECK bool pl_problem_least(const pl_problem *problem, pl_arena *out, pl_answer *answer,
                                   pl_err *err);

/* Bytes that no choice is below: of states and inputs, of what is kept for the backward pass of
 * states (casts), and of all else. */
typedef struct pl_floor {
    double states, casts, saved;
} pl_floor;

pl_floor pl_problem_floor(const pl_problem *problem);

/* Nodes of one copy; 0: nothing is folded. */
int pl_problem_block(const pl_problem *problem);

/* Is it of the backward pass, or what reads gradients beside the updates in place? */
bool pl_problem_is_backward(const pl_node *n);

/* The copy that a node belongs to, or -1; its counterpart in the representative copy. */
int pl_problem_copy(const pl_problem *problem, const pl_node *n);
const pl_node *pl_problem_counterpart(const pl_problem *problem, const pl_node *n);

/* The plan of an answer to the chain; what has no variable follows. With `s`, unless it is NULL,
 * that of the graph with fewer blocks: what pl_plan_shorten makes of the whole plan, without it.
 * `paths` between placements are kept from plan to plan; NULL: its own. */
pl_plan *pl_problem_plan(const pl_problem *problem, const int *value, const pl_short *s,
                         const char *strategy, pl_paths *paths, pl_arena *out);

/* Stretches of copies that an answer treats alike, as instances of the fold: no more than `most`
 * are written; returns their number. 0: blocks of another class could be planned differently. */
int pl_problem_stretches(const pl_problem *problem, const int *value, int most, pl_cut out[]);

/* The same tables, but every node and every stored tensor is as in a plan on a mesh of the same
 * sizes, equal blocks as in the representative. Fails as the next one does. */
PL_MUST_CHECK bool pl_problem_given(const pl_problem *problem, const pl_plan *p, pl_arena *a,
                                   pl_problem *out, pl_err *err);

/* The chain written out, with every node and every stored tensor as in a plan on the same mesh: the
 * least that it can cost. Fails with PL_EINPUT when something of it is no value of its variable. */
PL_MUST_CHECK bool pl_problem_fix(const pl_problem *problem, const pl_plan *p, pl_arena *a,
                                  pl_sum *out, pl_err *err);

#endif
