/* cost/tables.h - what a plan of a graph on a mesh costs, as a sum of tables (search/chain.h).
 *
 * The variables, each of few values:
 *
 *   node     what a node does: a choice of its domain; the time of its share
 *   store    where an input, or a state with several readers, lies between steps: its memory
 *   lie      where a value lies for its readers of one phase, if there are several
 *   save     where a value of the forward pass is kept for the backward pass: its memory
 *
 * and between two of them what it takes to move a tensor from where the one has it to where the
 * other needs it (reshard/convert.h). So a value is moved once for all readers of a phase that need
 * it alike. States that one node reads and changes lie where that node works.
 *
 * Equal blocks of the graph (graph/fold.h) are the copies of the chain: one stands for all, and the
 * tables take no longer for more of them. Of two stacks of so many blocks each, an encoder and a
 * decoder, a copy is a block of the one and a block of the other. Single numbers cost nothing. */
#ifndef PL_COST_TABLES_H
#define PL_COST_TABLES_H
#include "graph/fold.h"
#include "placement/speed.h"
#include "cost/domain.h"
#include "search/chain.h"

typedef enum pl_var_kind { PL_VAR_NODE, PL_VAR_STORE, PL_VAR_LIE, PL_VAR_SAVE } pl_var_kind;

typedef struct pl_var {
    pl_var_kind kind;
    int id;             /* of the node or value; of a block: in the copy that stands for all     */
    int n;              /* choices of the node, spots of the value                               */
    double *time;       /* [n] seconds of computing; INFINITY: not here                          */
    double *memory;     /* [n] bytes of one device                                               */
} pl_var;

typedef struct pl_vars {
    int n, cap;
    pl_var *at;
} pl_vars;

/* What joins two variables: see pl_chain. */
typedef enum pl_pair_kind {
    PL_PAIR_OUTSIDE, PL_PAIR_BLOCK, PL_PAIR_LINK, PL_PAIR_FIRST, PL_PAIR_LAST, PL_PAIR_EVERY,
    PL_N_PAIRS
} pl_pair_kind;

typedef struct pl_pair {
    pl_sum_pair sum;    /* time: of messages, all of it                                          */
    double hidden;      /* share of it that can pass beside computing,                           */
    double window;      /* but not more than so many seconds                                     */
} pl_pair;

typedef struct pl_pairs {
    int n, cap;
    pl_pair *at;
} pl_pairs;

enum { PL_LEAST_COPIES = 3 }; /* fewer are not folded */

typedef struct pl_tables {
    const pl_graph *graph;
    const pl_mesh *mesh;
    pl_arena *arena;
    const pl_fold *fold;
    int n_classes;              /* of the fold that are folded here: a copy is an instance of    */
    bool *folded;               /* each of them. [fold->n_classes]                               */
    int copies, stands;         /* so many, of which this one stands for all                    */
    int first;                  /* instance of the fold that is copy 0: those before it, as those
                                   after the last copy, are not like the rest and are outside   */
    int *copy;                  /* [values] the copy that it belongs to, or -1                  */
    const pl_value **like;      /* [values] the same value of the copy that stands for all      */
    pl_vars vars[2];            /* outside, block                                               */
    pl_pairs pairs[PL_N_PAIRS];
    const pl_domain **domain;   /* [nodes] NULL: all its operands are single numbers, or another
                                   copy stands for it                                           */
    const int16_t **at;         /* [nodes * PL_MAX_OPERANDS] spot of the operand, by choice     */
    pl_spots *spot;             /* [values]                                                     */
    int *node, *store, *lie[2], *save; /* by node or value: variables, or -1                   */
    pl_chain chain;             /* priced at 1, or at what pl_tables_min found                  */
    double raw;                 /* log10 of the number of plans                                 */
} pl_tables;

/* `fold` may be NULL: every node has a variable of its own. The arena owns the tables. */
pl_tables *pl_tables_new(const pl_graph *g, const pl_fold *fold, const pl_mesh *m,
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
pl_chain pl_tables_chain(const pl_tables *t, double price, pl_arena *arena);

/* Seconds and bytes of a choice. */
pl_cost pl_tables_cost(const pl_tables *t, const int *value);

/* The fastest choice within the cap, as pl_chain_min, or with all copies alike (pl_chain_tied).
 * answer->bound is the best of those at all prices tried; t->chain is the chain at that price. */
PL_MUST_CHECK bool pl_tables_min(pl_tables *t, double cap, bool tied,
                                 const pl_search_options *options, pl_arena *out,
                                 pl_answer *answer, pl_err *err);

/* A choice that takes nearly the least memory: of those within a few percent of it a fast one, as
 * the very least of what tables count is often slow and takes more of what they do not. Fails with
 * PL_EINFEASIBLE when nothing is legal. */
PL_MUST_CHECK bool pl_tables_least(const pl_tables *t, pl_arena *out, pl_answer *answer,
                                   pl_err *err);

/* Nodes of one copy; 0: nothing is folded. */
int pl_tables_block(const pl_tables *t);

/* Is it of the backward pass, or what reads gradients beside the updates in place? */
bool pl_tables_late(const pl_node *n);

/* The copy that a node belongs to, or -1; the node that stands for it. */
int pl_tables_copy(const pl_tables *t, const pl_node *n);
const pl_node *pl_tables_stand(const pl_tables *t, const pl_node *n);

/* The plan of an answer to the chain; what has no variable follows. */
pl_plan *pl_tables_plan(const pl_tables *t, const int *value, const char *strategy, pl_arena *out);

/* The same tables, but every node and every stored tensor is as in a plan on a mesh of the same
 * sizes, equal blocks as in the one that stands for all. Fails as the next one does. */
PL_MUST_CHECK bool pl_tables_given(const pl_tables *t, const pl_plan *p, pl_arena *a,
                                   pl_tables *out, pl_err *err);

/* The chain written out, with every node and every stored tensor as in a plan on the same mesh: the
 * least that it can cost. Fails with PL_EINPUT when something of it is no value of its variable. */
PL_MUST_CHECK bool pl_tables_fix(const pl_tables *t, const pl_plan *p, pl_arena *a, pl_sum *out,
                                 pl_err *err);

#endif
